"""The report as a copy of the analyst's workbook with the findings marked and listed."""

from collections.abc import Sequence
from pathlib import Path

from xlbridge.validation.results import ValidatedSheet
from xlbridge.workbook.edit import AnnotatedSheet, AnnotationSummary, annotate


def annotate_sheets(
    sheets: Sequence[ValidatedSheet], target: Path, limit: int | None = None
) -> None:
    """Write a copy of a workbook with the findings of its judged sheets marked, and one more sheet
    that lists them.

    Where the workbook was mended, the findings are what is left: the mended copy is marked.
    ``limit`` caps the findings that are marked and listed; the counts are of all.
    Raises ``WorkbookRefused`` when the workbook cannot be copied, ``UsageError`` when the copy
    cannot be written.
    """
    mending = sheets[0].mending
    file = sheets[0].file if mending is None else mending.file
    summary = AnnotationSummary(
        file=file.name,
        resources={item.sheet: item.resource.name if item.resource else "?" for item in sheets},
        rows=sum(len(item.rows) for item in sheets),
        errors=sum(item.errors for item in sheets),
        warnings=sum(item.warnings for item in sheets),
    )
    marked = [
        AnnotatedSheet(item.sheet, item.findings, min(item.columns.values(), default=0))
        for item in sheets
    ]
    annotate(file, target, marked, summary, limit=limit)
