"""The analyst's own workbook with the findings marked in it."""

from pathlib import Path

from xlbridge.validation.validate import ValidatedSheet
from xlbridge.workbook.annotate import annotate
from xlbridge.workbook.summary_sheet import Summary


def annotate_sheet(judged: ValidatedSheet, target: Path, limit: int | None = None) -> None:
    """Write a copy of a judged workbook with its findings marked, and a sheet that lists them.

    ``limit`` caps the findings that are marked and listed; the counts are of all.
    Raises ``WorkbookRefused`` when the workbook cannot be copied, ``UsageError`` when the copy
    cannot be written.
    """
    summary = Summary(
        file=judged.file.name,
        resource=judged.resource.name if judged.resource else "?",
        rows=len(judged.rows),
        errors=judged.errors,
        warnings=judged.warnings,
    )
    annotate(
        judged.file,
        target,
        judged.sheet,
        judged.findings,
        summary,
        first_column=min(judged.columns.values(), default=0),
        limit=limit,
    )
