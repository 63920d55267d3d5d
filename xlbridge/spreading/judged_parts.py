"""A judged file on its way from the worker that judged it."""

from dataclasses import dataclass, field, replace
from pathlib import Path

from xlbridge.resources.catalogue import Catalogue
from xlbridge.spreading.frame_parts import ColumnParts, frame_of, frame_parts
from xlbridge.validation.reports.judged import Judged
from xlbridge.validation.validate import ValidatedSheet


@dataclass(frozen=True, slots=True)
class JudgedPart:
    """One item of a file's report. A sheet's resource crosses by its name, its frame as columns."""

    item: Judged
    resource: str | None = None
    frame: list[ColumnParts] = field(default_factory=list, repr=False)

    @classmethod
    def of(cls, item: Judged, with_frame: bool) -> "JudgedPart":
        """Take an item apart; without its frame where nobody needs it."""
        if not isinstance(item, ValidatedSheet):
            return cls(item)
        name = None if item.resource is None else item.resource.name
        columns = frame_parts(item.frame) if with_frame else []
        own = item.own if with_frame else {}
        return cls(replace(item, resource=None, own=own), name, columns)

    def whole(self, file: Path, catalogue: Catalogue) -> Judged:
        """Put the item together, as if it had been judged here."""
        if not isinstance(self.item, ValidatedSheet):
            return replace(self.item, file=file)
        resource = None if self.resource is None else catalogue[self.resource]
        sheet = replace(self.item, file=file, resource=resource)
        if self.frame:
            sheet.frame = frame_of(self.frame, len(sheet.rows))
        return sheet
