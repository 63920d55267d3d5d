"""Requests to validate files, and progress: plain data, importable without pandas and pandera."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from xlbridge.settings import ParseOptions, WorkbookLimits
from xlbridge.validation.acceptance import AcceptedFindings

if TYPE_CHECKING:
    from xlbridge.validation.mapping import SheetMapping

_DEFAULT_OPTIONS = ParseOptions()
_NOTHING_ACCEPTED = AcceptedFindings()


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationRequest:
    """A file to validate, with its ``resource`` and ``sheet``, None to detect them.

    ``all_sheets`` selects every sheet with data for a resource, and excludes ``sheet``.
    ``mapping`` maps a sheet with its own header. ``links``: columns whose cells identify records
    by other values than their codes (``xlbridge.resources.references.Links``). ``accepted``:
    findings that a person accepts.
    """

    file: Path
    resource: str | None = None
    sheet: str | None = None
    all_sheets: bool = False
    reading: ParseOptions = _DEFAULT_OPTIONS
    mapping: "SheetMapping | None" = None
    links: Mapping[str, str] = field(default_factory=dict)
    accepted: AcceptedFindings = _NOTHING_ACCEPTED

    def limits(self, limits: WorkbookLimits) -> WorkbookLimits:
        """Return limits with the headers of the mapping, for reading the file."""
        return limits if self.mapping is None else limits.with_headers([self.mapping])

    @property
    def all_links(self) -> Mapping[str, str]:
        """Linked columns of the mapping and of the request."""
        return {**(self.mapping.links if self.mapping else {}), **self.links}


@dataclass(frozen=True, slots=True)
class ColumnProgress:
    """Next column of a sheet: its name, its number out of ``count``, and the number of rows."""

    name: str
    number: int
    count: int
    rows: int


OnColumn = Callable[[ColumnProgress], None]
"""Callback that is called for each column before it is typed."""
