"""The columns of a sheet, and what their cells hold."""

from dataclasses import dataclass

from xlbridge.resources.column import Kind

Cell = str | bool | list[str] | None
"""What one cell holds on its way from an answer to a file.

The column's kind tells what a text is: of a whole number, a number or an amount it is the exact
digits, with a decimal point and without an exponent; of a date it is ISO 8601, naive local time. A
format that has no lists writes several texts as one, a line each.
"""


@dataclass(frozen=True, slots=True)
class ExportColumn:
    """One column, and what its cells hold.

    ``source`` is the field that they come from, where it is called otherwise. ``is_list`` says
    that the field is a list of texts, which share one cell; ``is_secret`` that it is an address
    whose query lets its holder in, so that only what stands before it is written.
    """

    name: str
    kind: Kind
    is_list: bool = False
    is_secret: bool = False
    source: str = ""

    @property
    def field(self) -> str:
        """The field of a record that the cells come from."""
        return self.source or self.name


def key_column(name: str, *, text: bool = False) -> ExportColumn:
    """Return a column for a part of a key that the records themselves do not carry, or a text."""
    return ExportColumn(name, Kind.TEXT if text else Kind.INTEGER)
