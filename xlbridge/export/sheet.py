"""What a sheet is: its columns, and where in a record its rows are."""

from dataclasses import dataclass, replace

from xlbridge.export.columns import ExportColumn


@dataclass(frozen=True, slots=True)
class Sheet:
    """One sheet of a listing.

    ``within`` are the fields that lead from a record to this sheet's rows, none for the records
    themselves. ``key`` names the columns that join the sheets of a listing. ``joined`` says that
    each row is a record's followed by the one of a child at ``within``: ``own`` columns are the
    record's.
    """

    name: str
    columns: tuple[ExportColumn, ...]
    within: tuple[str, ...]
    key: tuple[str, ...]
    own: int = 0

    @property
    def is_joined(self) -> bool:
        """Whether rows hold a record and one of its children."""
        return self.own > 0


def flat(sheets: tuple[Sheet, ...], child: str) -> tuple[Sheet, ...]:
    """Return one sheet in place of all: a row for each child, the record's columns in front.

    Of a column that both have the child's is called ``child.column``, and left out where it is
    part of the key.
    """
    record = sheets[0]
    joined = next(sheet for sheet in sheets[1:] if sheet.name == child)
    names = {column.name for column in record.columns}
    columns = (
        replace(c, name=f"{child}.{c.name}", source=c.name) if c.name in names else c
        for c in joined.columns
        if c.name not in joined.key
    )
    return (
        replace(
            record,
            columns=(*record.columns, *columns),
            within=joined.within,
            own=len(record.columns),
        ),
    )
