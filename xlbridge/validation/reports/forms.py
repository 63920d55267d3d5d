"""Forms of the validation report: text, JSON, a page, a marked copy of its workbook.

Nothing that a form needs is imported before the form is asked for.
"""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from xlbridge.pages import ReportForms
from xlbridge.validation.reports.model import Report, SheetReport


def report_forms(report: Report) -> ReportForms:
    """Return the forms of a report."""

    def lines() -> Iterator[str]:
        from xlbridge.validation.reports.text_report import closing_lines, report_lines

        yield from report_lines(report)
        yield from closing_lines(report)

    def page() -> str:
        from xlbridge.validation.reports.html_report import report_page

        return report_page(report)

    def json_pieces() -> Iterator[str]:
        from xlbridge.validation.reports.json_report import document_pieces

        return document_pieces(report)

    return ReportForms(
        document=lambda: json.loads("".join(json_pieces())),
        lines=lines,
        page=page,
        workbook=partial(_write_annotated_copy, report),
        json_pieces=json_pieces,
    )


def _write_annotated_copy(report: Report, target: Path) -> None:
    """Write a copy of the one workbook of a report with the findings of its validated sheets
    marked, and one more sheet that lists them.

    Where the workbook was fixed, the findings are what is left: the fixed copy is marked. The
    report's limit is for what is printed, not for the copy. Errors come first in the list. Of a
    file of another kind than .xlsx the copy is a plain workbook.
    Raises ``WorkbookRefused`` when the workbook cannot be copied, ``UsageError`` when the copy
    cannot be written.
    """
    from xlbridge.workbook.edit import MOST_SHOWN, AnnotatedSheet, AnnotationSummary, annotate
    from xlbridge.workbook.write import as_xlsx

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
