"""Every sheet of a workbook that has data for a resource, judged alone and then together."""

from dataclasses import dataclass, field
from pathlib import Path

from xlbridge.limits import WorkbookLimits
from xlbridge.resources.catalogue import Catalogue
from xlbridge.validation.collector import without_collector
from xlbridge.validation.columns import OnColumn
from xlbridge.validation.headers.choice import choose_all
from xlbridge.validation.reading import Reading
from xlbridge.validation.together import judge_together
from xlbridge.validation.validate import ValidatedSheet, judge_sheet
from xlbridge.workbook.reading.assembly import WorkbookSource
from xlbridge.workbook.reading.reader import read_workbook


@dataclass(frozen=True, slots=True)
class JudgedWorkbook:
    """The sheets that were judged, and the names of those that are for no resource."""

    sheets: list[ValidatedSheet]
    skipped: list[str] = field(default_factory=list)


def validate_all_sheets(
    path: Path,
    catalogue: Catalogue,
    *,
    resource: str | None = None,
    reading: Reading = Reading(),  # noqa: B008 - frozen
    limits: WorkbookLimits = WorkbookLimits(),  # noqa: B008 - frozen
    workbook: WorkbookSource | None = None,
    on_column: OnColumn = lambda *_: None,
) -> JudgedWorkbook:
    """Judge the sheets of a workbook, those for one ``resource`` or each by its own.

    Hidden sheets and those that templates add are no data, and not skipped either. Raises what
    ``validate_workbook`` raises.
    """
    with without_collector():
        cells = workbook() if workbook else read_workbook(path, limits)
        choices, skipped = choose_all(cells, catalogue, resource)
        sheets = [
            judge_sheet(path, cells.fingerprint, choice, reading, on_column) for choice in choices
        ]
        for sheet, found in zip(sheets, judge_together(sheets), strict=True):
            sheet.add(found)
        return JudgedWorkbook(sheets, skipped)
