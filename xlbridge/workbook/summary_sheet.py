"""The sheet of an annotated workbook that lists its findings."""

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import shorten, wrap

from lxml import etree

from xlbridge.findings import SEVERITY_WORDS, Finding, Severity
from xlbridge.i18n import Text
from xlbridge.workbook import style
from xlbridge.workbook.address import cell_address, column_letters
from xlbridge.workbook.cell_text import cell_text
from xlbridge.workbook.changed_package import ChangedPackage, Element, serialised, within
from xlbridge.workbook.looks import Looks
from xlbridge.workbook.sheet_list import SheetList
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
_A4 = "9"
_SPACE = "{http://www.w3.org/XML/1998/namespace}space"


@dataclass(frozen=True, slots=True)
class Summary:
    """What was judged, and how much was found in all."""

    file: str
    resource: str
    rows: int
    errors: int
    warnings: int


@dataclass(frozen=True, slots=True)
class _Styles:
    """The ids of the styles that the sheet uses."""

    title: str
    place: str
    counts: str
    header: str
    text: str
    link: str
    severity: dict[Severity, str]


def replace_summary_sheet(
    package: ChangedPackage,
    sheets: SheetList,
    looks: Looks,
    sheet: str,
    findings: Sequence[Finding],
    summary: Summary,
) -> None:
    """Add the sheet that lists ``findings``, or write it anew, and show it on opening.

    It stands last when it is new, so that the analyst's own sheets keep their places.
    """
    name = sheets.own(SUMMARY_SHEET, f"${_HEADER_ROW}:${_HEADER_ROW}")
    root = etree.Element(f"{{{sheets.space}}}worksheet", nsmap={None: sheets.space})
    last_row = _HEADER_ROW + len(findings)
    _begin(root)
    rows = within(root, "sheetData")
    styles = _styles(looks)
    _write_summary(rows, styles, sheet, len(findings), summary)
    for row, finding in enumerate(findings, start=_HEADER_ROW + 1):
        _write_finding(rows, row, finding, styles)
    _end(root, sheet, findings, last_row)
    package.put(sheets.part(name), serialised(root))
    sheets.show(name)


def _styles(looks: Looks) -> _Styles:
    size = str(style.FONT_SIZE)
    wrapped = {"wrapText": "1"}
    return _Styles(
        title=looks.cell(font={"sz": "16", "b": "", "color": style.STRONG}),
        place=looks.cell(font={"sz": size, "color": style.QUIET}),
        counts=looks.cell(font={"sz": size, "b": ""}),
        header=looks.cell(
            font={"sz": size, "b": "", "color": "FFFFFF"},
            fill=style.STRONG,
            alignment={"vertical": "center"},
        ),
        text=looks.cell(font={"sz": size}, alignment=wrapped),
        link=looks.cell(font={"sz": size, "u": "", "color": "0563C1"}, alignment=wrapped),
        severity={
            severity: looks.cell(
                font={"sz": size, "color": style.SEVERITY_FONTS[severity]},
                fill=colour,
                alignment=wrapped,
            )
            for severity, colour in style.SEVERITY_FILLS.items()
        },
    )


def _begin(root: Element) -> None:
    properties = within(root, "sheetPr")
    within(properties, "tabColor", rgb=f"FF{style.SEVERITY_FONTS[Severity.ERROR]}")
    within(properties, "pageSetUpPr", fitToPage="1")
    view = within(within(root, "sheetViews"), "sheetView", workbookViewId="0")
    below = f"A{_HEADER_ROW + 1}"
    pane = {"ySplit": str(_HEADER_ROW), "topLeftCell": below, "activePane": "bottomLeft"}
    within(view, "pane", **pane, state="frozen")
    within(view, "selection", pane="bottomLeft", activeCell=below, sqref=below)
    columns = within(root, "cols")
    for place, (_, width) in enumerate(_HEADERS, start=1):
        number = str(place)
        within(columns, "col", min=number, max=number, width=str(width), customWidth="1")


def _end(root: Element, sheet: str, findings: Sequence[Finding], last_row: int) -> None:
    within(root, "autoFilter", ref=f"A{_HEADER_ROW}:{column_letters(len(_HEADERS) - 1)}{last_row}")
    quoted = sheet.replace("'", "''")
    cells = [(row, f.cell) for row, f in enumerate(findings, start=_HEADER_ROW + 1) if f.cell]
    if cells:
        links = within(root, "hyperlinks")
    for row, address in cells:
        within(links, "hyperlink", ref=f"A{row}", location=f"'{quoted}'!{address}")
    within(root, "pageSetup", paperSize=_A4, orientation="landscape", fitToHeight="0")


def _write_summary(
    rows: Element, styles: _Styles, sheet: str, shown: int, summary: Summary
) -> None:
    total = summary.errors + summary.warnings
    place = _PLACE.format(file=summary.file, sheet=sheet, resource=summary.resource)
    counts = str(
        _COUNTS.format(rows=summary.rows, errors=summary.errors, warnings=summary.warnings)
    )
    if shown < total:
        counts += str(_CUT.format(shown=shown, total=total))
    _write(within(rows, "row", r="1", ht="24", customHeight="1"), 0, str(_TITLE), styles.title)
    _write(within(rows, "row", r="2"), 0, str(place), styles.place)
    _write(within(rows, "row", r="3"), 0, counts, styles.counts)
    header = within(rows, "row", r=str(_HEADER_ROW), ht="20", customHeight="1")
    for index, (title, _) in enumerate(_HEADERS):
        _write(header, index, str(title), styles.header)


def _write_finding(rows: Element, row: int, finding: Finding, styles: _Styles) -> None:
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
    lines = max(len(wrap(text, width)) for text, (_, width) in zip(texts, _HEADERS, strict=True))
    line = within(rows, "row", r=str(row), ht=str(_PADDING + _LINE_HEIGHT * lines))
    line.set("customHeight", "1")
    looks = [styles.link, styles.text, styles.severity[severity], *[styles.text] * 4]
    for index, (text, look) in enumerate(zip(texts, looks, strict=True)):
        _write(line, index, text, look)


def _write(row: Element, index: int, text: str, look: str) -> None:
    """Write text as text: what begins with ``=`` is no formula."""
    if not text:
        return
    address = cell_address(int(row.get("r")), index)
    cell = within(row, "c", r=address, s=look, t="inlineStr")
    content = within(within(cell, "is"), "t")
    content.set(_SPACE, "preserve")
    content.text = cell_text(text)
