"""Summary sheet of an annotated workbook, which lists its findings."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap

from lxml import etree

from xlbridge.i18n import Text
from xlbridge.resources.findings import SEVERITY_WORDS, Finding, Severity, show_invisible
from xlbridge.workbook import style
from xlbridge.workbook.address import cell_address, column_letters
from xlbridge.workbook.edit import xml_elements as xml
from xlbridge.workbook.edit.editable_package import EditablePackage
from xlbridge.workbook.edit.sheets import SheetList
from xlbridge.workbook.edit.styles import WorkbookStyles
from xlbridge.workbook.signature import SUMMARY_TITLE

_SUBJECT = Text(
    pt="{file}, planilha “{sheet}”, recurso {resource}", en="{file}, sheet “{sheet}”, {resource}"
)
_SUBJECT_OF_SEVERAL = Text(pt="{file}, planilhas {sheets}", en="{file}, sheets {sheets}")
_COUNTS = Text(
    pt="Linhas conferidas: {rows}. Erros: {errors}. Avisos: {warnings}.",
    en="Rows checked: {rows}. Errors: {errors}. Warnings: {warnings}.",
)
_TRUNCATED = Text(
    pt=" Aqui estão os primeiros {shown} dos {total} achados.",
    en=" The first {shown} of {total} findings are listed here.",
)
_SHEET_HEADER = (Text(pt="Planilha", en="Sheet"), 20)
_HEADERS: tuple[tuple[Text, int], ...] = (
    (Text(pt="Célula", en="Cell"), 10),
    (Text(pt="Coluna", en="Column"), 28),
    (Text(pt="Gravidade", en="Severity"), 13),
    (Text(pt="Valor", en="Value"), 28),
    (Text(pt="O que está errado", en="What is wrong"), 52),
    (Text(pt="O que fazer", en="What to do"), 52),
    (Text(pt="Código", en="Code"), 22),
)
_HEADER_ROW = 5
_MAX_VALUE_LENGTH = 80
_LINE_HEIGHT, _PADDING = 15, 3
_A4 = "9"


@dataclass(frozen=True, slots=True)
class AnnotationSummary:
    """Validated sheet, and the number of its findings.

    ``resources`` has the resource of each sheet, by the sheet's name.
    """

    file: str
    resources: Mapping[str, str]
    rows: int
    errors: int
    warnings: int

    @property
    def headers(self) -> Sequence[tuple[Text, int]]:
        """Titles of the list's columns, and their widths in characters.

        Several sheets have a column for the sheet's name.
        """
        return (_SHEET_HEADER, *_HEADERS) if len(self.resources) > 1 else _HEADERS

    @property
    def subject(self) -> Text:
        """Description of the validated sheet."""
        if len(self.resources) == 1:
            [(sheet, resource)] = self.resources.items()
            return _SUBJECT.format(file=self.file, sheet=sheet, resource=resource)
        sheets = ", ".join(f"“{name}” ({resource})" for name, resource in self.resources.items())
        return _SUBJECT_OF_SEVERAL.format(file=self.file, sheets=sheets)


def replace_summary_sheet(
    package: EditablePackage,
    sheets: SheetList,
    styles: WorkbookStyles,
    findings: Sequence[tuple[str, Finding]],
    summary: AnnotationSummary,
) -> None:
    """Add or replace the sheet that lists findings, and activate it.

    Each of ``findings`` has the name of its sheet. A new list is the last sheet, so that the
    analyst's sheets keep their positions.
    """
    name = sheets.add_summary_sheet(f"${_HEADER_ROW}:${_HEADER_ROW}")
    root = etree.Element(f"{{{sheets.namespace}}}worksheet", nsmap={None: sheets.namespace})
    last_row = _HEADER_ROW + len(findings)
    _write_sheet_start(root, summary)
    rows = xml.add_child(root, "sheetData")
    style_ids = _add_styles(styles)
    _write_summary(rows, style_ids, len(findings), summary)
    links = etree.Element(xml.tag_like(root, "hyperlinks"))
    linked = column_letters(len(summary.headers) - len(_HEADERS))
    for row, (sheet, finding) in enumerate(findings, start=_HEADER_ROW + 1):
        _write_finding(rows, row, sheet, finding, summary, style_ids)
        if finding.cell:
            quoted = sheet.replace("'", "''")
            location = f"'{quoted}'!{finding.cell}"
            xml.add_child(links, "hyperlink", ref=f"{linked}{row}", location=location)
    last_column = column_letters(len(summary.headers) - 1)
    xml.add_child(root, "autoFilter", ref=f"A{_HEADER_ROW}:{last_column}{last_row}")
    if len(links):
        root.append(links)
    xml.add_child(root, "pageSetup", paperSize=_A4, orientation="landscape", fitToHeight="0")
    package.write(sheets.part(name), xml.to_bytes(root))
    sheets.activate(name)


def _add_styles(styles: WorkbookStyles) -> dict[str, str]:
    """Return the ids of the sheet's styles, by use or severity."""

    def font(colour: str | None, marks: str = "", size: int = style.FONT_SIZE) -> str:
        return f'{marks}<sz val="{size}"/>' + (f'<color rgb="FF{colour}"/>' if colour else "")

    wrapped = 'vertical="top" wrapText="1"'
    return {
        "title": styles.cell(font(style.STRONG, "<b/>", 16)),
        "subject": styles.cell(font(style.QUIET)),
        "counts": styles.cell(font(None, "<b/>")),
        "header": styles.cell(font("FFFFFF", "<b/>"), style.STRONG, 'vertical="center"'),
        "text": styles.cell(font(None), alignment=wrapped, quoted=True),
        "link": styles.cell(font("0563C1", "<u/>"), alignment=wrapped),
    } | {
        severity: styles.cell(font(style.SEVERITY_FONTS[severity]), colour, wrapped)
        for severity, colour in style.SEVERITY_FILLS.items()
    }


def _write_sheet_start(root: xml.Element, summary: AnnotationSummary) -> None:
    properties = xml.add_child(root, "sheetPr")
    xml.add_child(properties, "tabColor", rgb=f"FF{style.SEVERITY_FONTS[Severity.ERROR]}")
    xml.add_child(properties, "pageSetUpPr", fitToPage="1")
    view = xml.add_child(xml.add_child(root, "sheetViews"), "sheetView", workbookViewId="0")
    below = f"A{_HEADER_ROW + 1}"
    pane = {"ySplit": str(_HEADER_ROW), "topLeftCell": below, "activePane": "bottomLeft"}
    xml.add_child(view, "pane", **pane, state="frozen")
    xml.add_child(view, "selection", pane="bottomLeft", activeCell=below, sqref=below)
    columns = xml.add_child(root, "cols")
    for index, (_, width) in enumerate(summary.headers, start=1):
        number = str(index)
        xml.add_child(columns, "col", min=number, max=number, width=str(width), customWidth="1")


def _write_summary(
    rows: xml.Element, style_ids: Mapping[str, str], shown: int, summary: AnnotationSummary
) -> None:
    total = summary.errors + summary.warnings
    counts = str(
        _COUNTS.format(rows=summary.rows, errors=summary.errors, warnings=summary.warnings)
    )
    if shown < total:
        counts += str(_TRUNCATED.format(shown=shown, total=total))
    _add_row(rows, 1, [(str(SUMMARY_TITLE), style_ids["title"])], 24)
    _add_row(rows, 2, [(str(summary.subject), style_ids["subject"])])
    _add_row(rows, 3, [(counts, style_ids["counts"])])
    titles = [(str(title), style_ids["header"]) for title, _ in summary.headers]
    _add_row(rows, _HEADER_ROW, titles, 20)


def _write_finding(
    rows: xml.Element,
    row: int,
    sheet: str,
    finding: Finding,
    summary: AnnotationSummary,
    style_ids: Mapping[str, str],
) -> None:
    severity = finding.kind.severity
    widths = [width for _, width in summary.headers]
    names = [sheet] * (len(widths) - len(_HEADERS))
    shown = show_invisible(finding.display_value or "")
    texts = (
        *names,
        finding.cell or "",
        finding.column_label or "",
        str(SEVERITY_WORDS[severity]),
        shown[:_MAX_VALUE_LENGTH] + "…" * (len(shown) > _MAX_VALUE_LENGTH),
        str(finding.message),
        str(finding.hint),
        finding.kind.code,
    )
    lines = max(len(wrap(text, width)) for text, width in zip(texts, widths, strict=True))
    plain = style_ids["text"]
    styles = [*[plain] * len(names), style_ids["link"], plain, style_ids[severity], *[plain] * 4]
    _add_row(rows, row, zip(texts, styles, strict=True), _PADDING + _LINE_HEIGHT * lines)


def _add_row(
    rows: xml.Element, number: int, cells: Iterable[tuple[str, str]], height: int | None = None
) -> None:
    """Add a row of inline texts, which are never formulas, with their styles."""
    row = xml.add_child(rows, "row", r=str(number))
    if height is not None:
        row.attrib.update({"ht": str(height), "customHeight": "1"})
    for index, (text, style_id) in enumerate(cells):
        if text:
            address = cell_address(number, index)
            cell = xml.add_child(row, "c", r=address, s=style_id, t="inlineStr")
            xml.add_text(xml.add_child(cell, "is"), text)
