"""Requests to validate files: plain data, which needs neither pandas nor pandera.

A request says which file, which of its sheets by which resource, and how to parse text dates and
numbers. ``ColumnProgress`` tells whoever waits how far it is.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from xlbridge.settings import ParseOptions

if TYPE_CHECKING:
    from xlbridge.validation.mapping import SheetMapping

_DEFAULT_OPTIONS = ParseOptions()


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationRequest:
    """A file, and which of its sheets are validated by which resource; None leaves it to the file.

    ``all_sheets`` takes every sheet that has data for a resource, and leaves no ``sheet`` to name.
    ``mapping`` reads one sheet with a header of its own. ``links`` are the columns whose cells name
    records by something else than their codes (``xlbridge.resources.references.Links``).
    """

    file: Path
    resource: str | None = None
    sheet: str | None = None
    all_sheets: bool = False
    reading: ParseOptions = _DEFAULT_OPTIONS
    mapping: "SheetMapping | None" = None
    links: Mapping[str, str] = field(default_factory=dict)

    @property
    def all_links(self) -> Mapping[str, str]:
        """The columns whose cells name records, the mapping's and the request's own."""
        return {**(self.mapping.links if self.mapping else {}), **self.links}


@dataclass(frozen=True, slots=True)
class ColumnProgress:
    """Column of a sheet that is next: its name, its number of how many, and the sheet's rows."""

    name: str
    number: int
    count: int
    rows: int


OnColumn = Callable[[ColumnProgress], None]
"""Told each column before it is typed."""
