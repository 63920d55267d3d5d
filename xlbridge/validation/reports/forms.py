"""Forms of the validation report; each is a function of the report's model.

Nothing heavy is imported before a form is asked for.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xlbridge.pages import ReportForms

if TYPE_CHECKING:
    from xlbridge.validation.reports.model import Report


def report_forms(report: "Report") -> ReportForms:
    """Return the forms of a report: text, JSON, a page, a marked copy of its workbook."""

    def document() -> dict[str, Any]:
        from xlbridge.validation.reports.json_report import report_document

        return report_document(report)

    def json_pieces() -> Iterator[str]:
        from xlbridge.validation.reports.json_report import document_pieces

        return document_pieces(report)

    def lines() -> Iterator[str]:
        from xlbridge.validation.reports.text_report import closing_lines, report_lines

        yield from report_lines(report)
        yield from closing_lines(report)

    def page() -> str:
        from xlbridge.validation.reports.html_report import report_page

        return report_page(report)

    def workbook(target: Path) -> None:
        from xlbridge.validation.reports.annotated_copy import write_annotated_copy

        write_annotated_copy(report, target)

    return ReportForms(document, lines, page, workbook, json_pieces)
