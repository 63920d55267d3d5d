"""The sheet of an annotated workbook that lists its findings."""

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import shorten, wrap

from openpyxl.cell.cell import Cell, MergedCell
from openpyxl.styles import Alignment, Font, PatternFill
from openpyxl.workbook import Workbook
from openpyxl.worksheet.hyperlink import Hyperlink
from openpyxl.worksheet.properties import PageSetupProperties
from openpyxl.worksheet.worksheet import Worksheet

from xlbridge.findings import SEVERITY_WORDS, Finding, Severity
from xlbridge.i18n import Text
from xlbridge.workbook import style
from xlbridge.workbook.address import column_letters
from xlbridge.workbook.cell_text import cell_text
from xlbridge.workbook.signature import SUMMARY_SHEET

_TITLE = Text(pt="Resultado da conferência do xlbridge", en="What xlbridge found")
_PLACE = Text(
    pt="{file}, planilha “{sheet}”, recurso {resource}", en="{file}, sheet “{sheet}”, {resource}"
)
_COUNTS = Text(
    pt="Linhas conferidas: {rows}. Erros: {errors}. Avisos: {warnings}.",
    en="Rows checked: {rows}. Errors: {errors}. Warnings: {warnings}.",
)
_CUT = Text(
    pt=" Aqui estão os primeiros {shown} dos {total} achados.",
    en=" The first {shown} of {total} findings are listed here.",
)
_HEADERS: tuple[tuple[Text, int], ...] = (
    (Text(pt="Célula", en="Cell"), 10),
    (Text(pt="Coluna", en="Column"), 28),
    (Text(pt="Gravidade", en="Severity"), 13),
    (Text(pt="Valor", en="Value"), 28),
    (Text(pt="O que há", en="What is wrong"), 52),
    (Text(pt="O que fazer", en="What to do"), 52),
    (Text(pt="Código", en="Code"), 22),
)
_HEADER_ROW = 5
_LONGEST_VALUE = 80
_LINE_HEIGHT, _PADDING = 15, 3
_A4 = 9

_WRAPPED = Alignment(wrap_text=True, vertical="top")
_LINK = Font(style.FONT, style.FONT_SIZE, color="0563C1", underline="single")
_FILLS = {s: PatternFill("solid", fgColor=colour) for s, colour in style.SEVERITY_FILLS.items()}
_FONTS = {
    severity: Font(style.FONT, style.FONT_SIZE, color=colour)
    for severity, colour in style.SEVERITY_FONTS.items()
}


@dataclass(frozen=True, slots=True)
class Summary:
    """What was judged, and how much was found in all."""

    file: str
    resource: str
    rows: int
    errors: int
    warnings: int


def replace_summary_sheet(
    book: Workbook, sheet: str, findings: Sequence[Finding], summary: Summary
) -> None:
    """Add the sheet that lists ``findings``, in place of an earlier one, and show it on opening.

    It stands last, so that the analyst's own sheets keep their places.
    """
    for earlier in [own for own in book.worksheets if _is_summary(own) and own.title != sheet]:
        book.remove(earlier)
    listing: Worksheet = book.create_sheet(SUMMARY_SHEET)
    _write_summary(listing, sheet, len(findings), summary)
    for row, finding in enumerate(findings, start=_HEADER_ROW + 1):
        _write_finding(listing, row, sheet, finding)
    _set_up(listing, _HEADER_ROW + len(findings))
    for other in book.worksheets:
        other.sheet_view.tabSelected = False
    book.active = listing


def _is_summary(sheet: Worksheet) -> bool:
    return sheet.title == SUMMARY_SHEET and sheet["A1"].value in (_TITLE.pt, _TITLE.en)


def _write_summary(listing: Worksheet, sheet: str, shown: int, summary: Summary) -> None:
    total = summary.errors + summary.warnings
    place = _PLACE.format(file=summary.file, sheet=sheet, resource=summary.resource)
    counts = str(
        _COUNTS.format(rows=summary.rows, errors=summary.errors, warnings=summary.warnings)
    )
    if shown < total:
        counts += str(_CUT.format(shown=shown, total=total))
    _write(listing["A1"], str(_TITLE)).font = Font(style.FONT, 16, bold=True, color=style.STRONG)
    _write(listing["A2"], str(place)).font = Font(style.FONT, style.FONT_SIZE, color=style.QUIET)
    _write(listing["A3"], counts).font = Font(style.FONT, style.FONT_SIZE, bold=True)
    listing.row_dimensions[_HEADER_ROW].height = 20
    for index, (title, width) in enumerate(_HEADERS):
        cell = _write(listing.cell(_HEADER_ROW, index + 1), str(title))
        cell.font = Font(style.FONT, style.FONT_SIZE, bold=True, color="FFFFFF")
        cell.alignment = Alignment(vertical="center")
        cell.fill = PatternFill("solid", fgColor=style.STRONG)
        listing.column_dimensions[column_letters(index)].width = width


def _write_finding(listing: Worksheet, row: int, sheet: str, finding: Finding) -> None:
    severity = finding.kind.severity
    texts = (
        finding.cell or "",
        finding.column or "",
        str(SEVERITY_WORDS[severity]),
        shorten(finding.value or "", _LONGEST_VALUE, placeholder="…"),
        str(finding.message),
        str(finding.hint),
        finding.kind.code,
    )
    for index, text in enumerate(texts, start=1):
        _write(listing.cell(row, index), text).alignment = _WRAPPED
    graded = listing.cell(row, 3)
    graded.fill, graded.font = _FILLS[severity], _FONTS[severity]
    if finding.cell:
        _link(listing.cell(row, 1), sheet, finding.cell)
    lines = max(len(wrap(text, width)) for text, (_, width) in zip(texts, _HEADERS, strict=True))
    listing.row_dimensions[row].height = _PADDING + _LINE_HEIGHT * lines


def _write(cell: Cell | MergedCell, text: str) -> Cell | MergedCell:
    """Write text as text: what begins with ``=`` is no formula."""
    cell.value = cell_text(text)
    cell.data_type = "s"
    return cell


def _link(cell: Cell | MergedCell, sheet: str, address: str) -> None:
    quoted = sheet.replace("'", "''")
    cell.hyperlink = Hyperlink(ref=cell.coordinate, location=f"'{quoted}'!{address}")
    cell.font = _LINK


def _set_up(listing: Worksheet, last_row: int) -> None:
    listing.freeze_panes = f"A{_HEADER_ROW + 1}"
    listing.auto_filter.ref = f"A{_HEADER_ROW}:{column_letters(len(_HEADERS) - 1)}{last_row}"
    listing.sheet_properties.tabColor = style.SEVERITY_FONTS[Severity.ERROR]
    listing.page_setup.orientation = "landscape"
    listing.page_setup.paperSize = _A4
    listing.page_setup.fitToHeight = 0
    listing.sheet_properties.pageSetUpPr = PageSetupProperties(fitToPage=True)
    listing.print_title_rows = f"{_HEADER_ROW}:{_HEADER_ROW}"
