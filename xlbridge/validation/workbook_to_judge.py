"""A file that is to be judged, with all that is known of it beforehand."""

from dataclasses import dataclass
from pathlib import Path

from xlbridge.errors import UsageError, WorkbookRefused
from xlbridge.limits import WorkbookLimits
from xlbridge.resources.catalogue import Catalogue
from xlbridge.validation.all_sheets import JudgedWorkbook, validate_all_sheets
from xlbridge.validation.columns import OnColumn
from xlbridge.validation.reading import Reading
from xlbridge.validation.reports.judged import Judged, RefusedFile, SkippedSheet
from xlbridge.validation.validate import validate_workbook
from xlbridge.workbook.reading.assembly import WorkbookSource

_NO_READING = Reading()


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkbookToJudge:
    """A file, and which of its sheets are judged by what: see ``validate_workbook``.

    ``all_sheets`` judges every sheet that has data for a resource, and leaves no ``sheet`` to name.
    """

    file: Path
    resource: str | None = None
    sheet: str | None = None
    all_sheets: bool = False
    reading: Reading = _NO_READING

    def judge(
        self,
        catalogue: Catalogue,
        limits: WorkbookLimits,
        workbook: WorkbookSource | None = None,
        on_column: OnColumn = lambda *_: None,
    ) -> JudgedWorkbook:
        """Judge the file. Raises what ``validate_workbook`` raises."""
        if self.all_sheets:
            return validate_all_sheets(
                self.file,
                catalogue,
                resource=self.resource,
                reading=self.reading,
                limits=limits,
                workbook=workbook,
                on_column=on_column,
            )
        sheet = validate_workbook(
            self.file,
            catalogue,
            resource=self.resource,
            sheet=self.sheet,
            reading=self.reading,
            limits=limits,
            workbook=workbook,
            on_column=on_column,
        )
        return JudgedWorkbook([sheet])

    def found(
        self,
        catalogue: Catalogue,
        limits: WorkbookLimits,
        workbook: WorkbookSource | None = None,
        on_column: OnColumn = lambda *_: None,
    ) -> list[Judged]:
        """Return what a report tells of the file, be it that it is refused."""
        try:
            judged = self.judge(catalogue, limits, workbook, on_column)
        except (WorkbookRefused, UsageError) as refusal:
            return [RefusedFile(self.file, refusal)]
        return [*judged.sheets, *(SkippedSheet(self.file, name) for name in judged.skipped)]
