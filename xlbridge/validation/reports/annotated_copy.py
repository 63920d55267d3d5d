"""The report as a copy of the analyst's workbook with the findings marked and listed."""

from pathlib import Path

from xlbridge.validation.reports.model import Report, SheetReport
from xlbridge.workbook.edit import MOST_SHOWN, AnnotatedSheet, AnnotationSummary, annotate
from xlbridge.workbook.write import as_xlsx


def write_annotated_copy(report: Report, target: Path) -> None:
    """Write a copy of the one workbook of a report with the findings of its validated sheets
    marked, and one more sheet that lists them.

    Where the workbook was fixed, the findings are what is left: the fixed copy is marked. The
    report's limit is for what is printed, not for the copy. Errors come first in the list. Of a
    file of another kind than .xlsx the copy is a plain workbook.
    Raises ``WorkbookRefused`` when the workbook cannot be copied, ``UsageError`` when the copy
    cannot be written.
    """
    sheets, totals = report.sheets, report.totals
    first = sheets[0]
    file = first.file if first.fixes is None else first.fixes.file
    summary = AnnotationSummary(
        file=file.name,
        resources={item.sheet: item.resource.name if item.resource else "?" for item in sheets},
        rows=totals.rows,
        errors=totals.errors,
        warnings=totals.warnings,
    )
    marked = [
        AnnotatedSheet(
            item.sheet,
            SheetReport(item, MOST_SHOWN).told(),
            min(item.columns.values(), default=0),
            SheetReport(item).widespread_cells(),
        )
        for item in sheets
    ]
    with as_xlsx(file, [item.sheet for item in sheets], first.limits) as workbook:
        annotate(workbook, target, marked, summary)
