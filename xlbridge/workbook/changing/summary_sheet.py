"""The sheet of an annotated workbook that lists its findings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap

from lxml import etree

from xlbridge.findings import SEVERITY_WORDS, Finding, Severity
from xlbridge.findings.unseen import with_signs
from xlbridge.i18n import Text
from xlbridge.workbook import style
from xlbridge.workbook.address import cell_address, column_letters
from xlbridge.workbook.changing.cell_text import cell_text
from xlbridge.workbook.changing.changed_package import ChangedPackage, Element, serialised, within
from xlbridge.workbook.changing.looks import Looks
from xlbridge.workbook.changing.sheet_list import SheetList
from xlbridge.workbook.signature import SUMMARY_SHEET, SUMMARY_TITLE

_PLACE = Text(
    pt="{file}, planilha “{sheet}”, recurso {resource}", en="{file}, sheet “{sheet}”, {resource}"
)
_PLACES = Text(pt="{file}, planilhas {sheets}", en="{file}, sheets {sheets}")
_COUNTS = Text(
    pt="Linhas conferidas: {rows}. Erros: {errors}. Avisos: {warnings}.",
    en="Rows checked: {rows}. Errors: {errors}. Warnings: {warnings}.",
)
_CUT = Text(
    pt=" Aqui estão os primeiros {shown} dos {total} achados.",
    en=" The first {shown} of {total} findings are listed here.",
)
_SHEET_HEADER = (Text(pt="Planilha", en="Sheet"), 20)
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
    """What was judged, and how much was found in all.

    ``resources`` has the resource of each sheet, by the sheet's name.
    """

    file: str
    resources: Mapping[str, str]
    rows: int
    errors: int
    warnings: int

    @property
    def headers(self) -> Sequence[tuple[Text, int]]:
        """The titles of the listing's columns, and their widths in characters.

        The sheet has a column of its own where there are several.
        """
        return (_SHEET_HEADER, *_HEADERS) if len(self.resources) > 1 else _HEADERS

    @property
    def place(self) -> Text:
        """What was judged, in words."""
        if len(self.resources) == 1:
            [(sheet, resource)] = self.resources.items()
            return _PLACE.format(file=self.file, sheet=sheet, resource=resource)
        sheets = ", ".join(f"“{name}” ({resource})" for name, resource in self.resources.items())
        return _PLACES.format(file=self.file, sheets=sheets)


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
    findings: Sequence[tuple[str, Finding]],
    summary: Summary,
) -> None:
    """Add the sheet that lists findings, or write it anew, and show it on opening.

    Each of ``findings`` has the name of its sheet. The list stands last when it is new, so that the
    analyst's own sheets keep their places.
    """
    name = sheets.own(SUMMARY_SHEET, f"${_HEADER_ROW}:${_HEADER_ROW}")
    root = etree.Element(f"{{{sheets.space}}}worksheet", nsmap={None: sheets.space})
    last_row = _HEADER_ROW + len(findings)
    _begin(root, summary)
    rows = within(root, "sheetData")
    styles = _styles(looks)
    _write_summary(rows, styles, len(findings), summary)
    for row, (sheet, finding) in enumerate(findings, start=_HEADER_ROW + 1):
        _write_finding(rows, row, sheet, finding, summary, styles)
    _end(root, findings, summary, last_row)
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


def _begin(root: Element, summary: Summary) -> None:
    properties = within(root, "sheetPr")
    within(properties, "tabColor", rgb=f"FF{style.SEVERITY_FONTS[Severity.ERROR]}")
    within(properties, "pageSetUpPr", fitToPage="1")
    view = within(within(root, "sheetViews"), "sheetView", workbookViewId="0")
    below = f"A{_HEADER_ROW + 1}"
    pane = {"ySplit": str(_HEADER_ROW), "topLeftCell": below, "activePane": "bottomLeft"}
    within(view, "pane", **pane, state="frozen")
    within(view, "selection", pane="bottomLeft", activeCell=below, sqref=below)
    columns = within(root, "cols")
    for place, (_, width) in enumerate(summary.headers, start=1):
        number = str(place)
        within(columns, "col", min=number, max=number, width=str(width), customWidth="1")


def _end(
    root: Element, findings: Sequence[tuple[str, Finding]], summary: Summary, last_row: int
) -> None:
    last_column = column_letters(len(summary.headers) - 1)
    within(root, "autoFilter", ref=f"A{_HEADER_ROW}:{last_column}{last_row}")
    cells = [
        (row, sheet.replace("'", "''"), finding.cell)
        for row, (sheet, finding) in enumerate(findings, start=_HEADER_ROW + 1)
        if finding.cell
    ]
    if cells:
        links = within(root, "hyperlinks")
    linked = column_letters(len(summary.headers) - len(_HEADERS))
    for row, quoted, address in cells:
        within(links, "hyperlink", ref=f"{linked}{row}", location=f"'{quoted}'!{address}")
    within(root, "pageSetup", paperSize=_A4, orientation="landscape", fitToHeight="0")


def _write_summary(rows: Element, styles: _Styles, shown: int, summary: Summary) -> None:
    total = summary.errors + summary.warnings
    counts = str(
        _COUNTS.format(rows=summary.rows, errors=summary.errors, warnings=summary.warnings)
    )
    if shown < total:
        counts += str(_CUT.format(shown=shown, total=total))
    _write(
        within(rows, "row", r="1", ht="24", customHeight="1"), 0, str(SUMMARY_TITLE), styles.title
    )
    _write(within(rows, "row", r="2"), 0, str(summary.place), styles.place)
    _write(within(rows, "row", r="3"), 0, counts, styles.counts)
    header = within(rows, "row", r=str(_HEADER_ROW), ht="20", customHeight="1")
    for index, (title, _) in enumerate(summary.headers):
        _write(header, index, str(title), styles.header)


def _write_finding(
    rows: Element, row: int, sheet: str, finding: Finding, summary: Summary, styles: _Styles
) -> None:
    severity = finding.kind.severity
    widths = [width for _, width in summary.headers]
    names = [sheet] * (len(widths) - len(_HEADERS))
    texts = (
        *names,
        finding.cell or "",
        finding.column or "",
        str(SEVERITY_WORDS[severity]),
        _value(finding),
        str(finding.message),
        str(finding.hint),
        finding.kind.code,
    )
    lines = max(len(wrap(text, width)) for text, width in zip(texts, widths, strict=True))
    line = within(rows, "row", r=str(row), ht=str(_PADDING + _LINE_HEIGHT * lines))
    line.set("customHeight", "1")
    looks = [
        *[styles.text] * len(names),
        styles.link,
        styles.text,
        styles.severity[severity],
        *[styles.text] * 4,
    ]
    for index, (text, look) in enumerate(zip(texts, looks, strict=True)):
        _write(line, index, text, look)


def _value(finding: Finding) -> str:
    shown = with_signs(finding.shown or "")
    return shown[:_LONGEST_VALUE] + "…" * (len(shown) > _LONGEST_VALUE)


def _write(row: Element, index: int, text: str, look: str) -> None:
    """Write text as text: what begins with ``=`` is no formula."""
    if not text:
        return
    address = cell_address(int(row.get("r")), index)
    cell = within(row, "c", r=address, s=look, t="inlineStr")
    content = within(within(cell, "is"), "t")
    content.set(_SPACE, "preserve")
    content.text = cell_text(text)
