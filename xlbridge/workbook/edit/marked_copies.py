"""Marked copies of the analyst's workbook: findings at their cells, or texts next to the rows.

The cells of an annotated copy are kept byte for byte: their colours are conditional formats, so
that styles, stored results of formulas, pictures and everything else stay unchanged.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import groupby, islice
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar

from lxml import etree

from xlbridge import titles
from xlbridge.i18n import Text
from xlbridge.report_forms import Report, Tone, more_text
from xlbridge.resources.findings import SEVERITY_WORDS, Finding, Severity, show_invisible
from xlbridge.workbook import style
from xlbridge.workbook.address import (
    CellPosition,
    cell_address,
    cell_place,
    cell_position,
    cell_range,
    range_text,
)
from xlbridge.workbook.edit.comments import replace_comments
from xlbridge.workbook.edit.editable_cells import SheetRows, WorkbookStyles, text_cell
from xlbridge.workbook.edit.editable_package import (
    SHEET_ORDER,
    EditablePackage,
    Element,
    SheetList,
    add_child,
    add_text,
    allowed_text,
    edit_package,
    edit_sheet_without_cells,
    find_or_insert,
    insert_in_order,
    keep_in_view,
    merged_ranges,
    print_on_two_pages,
    set_widths,
    tag_like,
    xml_bytes,
)
from xlbridge.workbook.signature import SUMMARY_TITLE, UPLOAD_SUMMARY_SHEET, WorkbookOrigin

_CONDITION = '"xlbridge"="xlbridge"'
"""Condition that is always true, and identifies the conditional formats of xlbridge."""

_RANGES_PER_FORMAT = 200
_NO_ROWS: Mapping[int, Severity] = MappingProxyType({})


_SUBJECT = Text(
    pt="{file}, planilha “{sheet}”: {resource}", en="{file}, sheet “{sheet}”: {resource}"
)
_SUBJECT_OF_SEVERAL = Text(pt="{file}, planilhas {sheets}", en="{file}, sheets {sheets}")
_COUNTS = Text(
    pt="Linhas conferidas: {rows}. Erros: {errors}. Avisos: {warnings}.",
    en="Rows checked: {rows}. Errors: {errors}. Warnings: {warnings}.",
)
_TRUNCATED = Text(
    pt=" Aqui estão os primeiros {shown} dos {total} problemas.",
    en=" The first {shown} of {total} findings are listed here.",
)
_SHEET_HEADER = (titles.SHEET, 20)
_HEADERS: tuple[tuple[Text, int], ...] = (
    (titles.CELL, 10),
    (titles.COLUMN, 28),
    (titles.SEVERITY, 13),
    (titles.VALUE, 28),
    (titles.WHAT_IS_WRONG, 52),
    (titles.WHAT_TO_DO, 52),
    (Text(pt="Código", en="Code"), 22),
)
_HEADER_ROW = 5
_MAX_VALUE_LENGTH = 80
_PADDING, _TITLE_HEIGHT = 3, 24
_A4 = "9"


@dataclass(frozen=True, slots=True)
class AnnotatedSheet:
    """Sheet to annotate. ``first_column`` is the zero-based column of marks for findings without a
    cell. ``extra_cells`` are addresses of further cells to colour. At most ``MAX_SHOWN`` findings
    are marked and listed."""

    MAX_SHOWN: ClassVar = 10_000

    name: str
    findings: Sequence[Finding]
    first_column: int = 0
    extra_cells: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class AnnotationSummary:
    """Validated sheet, and the number of its findings.

    ``resources`` has the title of each sheet's resource, by the sheet's name.
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


def annotate(
    source: Path, target: Path, sheets: Sequence[AnnotatedSheet], summary: AnnotationSummary
) -> None:
    """Write a copy of ``source`` with the findings of its sheets marked.

    Each cell gets the colour of its worst finding, and a comment with all of them below its own
    comment. A sheet that lists the findings is added and active on opening. The marks of an
    earlier annotation are replaced. The counts include the findings that are not marked.

    Raises ``WorkbookRefused`` if the workbook cannot be copied, ``UsageError`` if the copy cannot
    be written.
    """
    listed: list[tuple[str, Finding]] = []
    with edit_package(source) as package:
        sheet_list, styles = SheetList(package), WorkbookStyles(package)
        for sheet in sheets:
            shown = sheet.findings[: sheet.MAX_SHOWN - len(listed)]
            listed += [(sheet.name, finding) for finding in shown]
            part = sheet_list.part(sheet.name)
            with edit_sheet_without_cells(package, part) as worksheet:
                merged = merged_ranges(worksheet)
                severities = dict.fromkeys(sheet.extra_cells, Severity.WARNING)
                remarks: defaultdict[str, list[str]] = defaultdict(list)
                for finding in shown:
                    if finding.row is None:
                        continue
                    address = finding.cell or cell_address(finding.row, sheet.first_column)
                    if merged:
                        row, column = cell_position(address)
                        for (top, left, bottom, right), visible in merged.items():
                            if top <= row <= bottom and left <= column <= right:
                                address = visible
                                break
                    severity = finding.kind.severity
                    if severities.get(address) is not Severity.ERROR:
                        severities[address] = severity
                    words = SEVERITY_WORDS[severity]
                    remarks[address].append(f"{words}: {finding.message} {finding.hint}")
                _colour_cells(worksheet, severities, styles)
                texts = {address: "\n".join(found) for address, found in remarks.items()}
                replace_comments(package, part, worksheet, texts)
        _replace_summary_sheet(package, sheet_list, styles, listed, summary)
        styles.save()
        sheet_list.save()
        package.save(target)


def _colour_cells(
    worksheet: Element,
    severities: Mapping[str, Severity],
    styles: WorkbookStyles,
    rows: Mapping[int, Severity] = _NO_ROWS,
    last_column: int = 0,
) -> None:
    """Colour cells by a condition that is always true, replacing earlier colours.

    ``severities`` has the severity of each cell, by address; ``rows`` those of whole rows, up to a
    zero-based ``last_column``, which are paler.
    """
    for block in worksheet.findall("{*}conditionalFormatting"):
        if any(item.text == _CONDITION for item in block.iter("{*}formula")):
            worksheet.remove(block)
    cells = {cell_position(address): found for address, found in severities.items()}
    batches: list[tuple[str, Sequence[str]]] = []
    # The first format of a cell counts.
    for areas, right, fills, fonts in (
        (cells, None, style.SEVERITY_FILLS, style.SEVERITY_FONTS),
        ({(row, 0): it for row, it in rows.items()}, last_column, style.ROW_FILLS, style.ROW_FONTS),
    ):
        for severity in Severity:
            of_one = sorted((column, row) for (row, column), it in areas.items() if it is severity)
            ranges = []
            # Runs of vertically adjacent cells.
            for _, run in groupby(enumerate(of_one), key=lambda it: (it[1][0], it[1][1] - it[0])):
                area = [cell for _, cell in run]
                (column, top), (_, bottom) = area[0], area[-1]
                ranges.append(range_text((top, column, bottom, right or column)))
            starts = range(0, len(ranges), _RANGES_PER_FORMAT)
            colour = styles.highlight(fills[severity], fonts[severity]) if ranges else ""
            batches += [(colour, ranges[start : start + _RANGES_PER_FORMAT]) for start in starts]
    for rule in worksheet.iter("{*}cfRule"):
        rule.set("priority", str(int(rule.get("priority", "1")) + len(batches)))
    first = worksheet.find("{*}conditionalFormatting")
    for priority, (colour, batch) in enumerate(batches, start=1):
        tag = tag_like(worksheet, "conditionalFormatting")
        block = etree.Element(tag, sqref=" ".join(batch))
        rule = add_child(block, "cfRule", type="expression", dxfId=colour)
        rule.set("priority", str(priority))
        add_child(rule, "formula").text = _CONDITION
        if first is None:
            insert_in_order(worksheet, block, SHEET_ORDER)
        else:
            # With colour scales on the same cell, LibreOffice applies formats in this order.
            first.addprevious(block)


def _replace_summary_sheet(
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
    widths = [width for _, width in summary.headers]
    page = _AddedSheet(sheets.namespace, widths, _HEADER_ROW)
    ids = _add_styles(styles)
    total = summary.errors + summary.warnings
    counts = str(
        _COUNTS.format(rows=summary.rows, errors=summary.errors, warnings=summary.warnings)
    )
    if len(findings) < total:
        counts += str(_TRUNCATED.format(shown=len(findings), total=total))
    page.add((SUMMARY_TITLE, ids["title"]))
    page.add((summary.subject, ids["subject"]), across=True)
    page.add((counts, ids["counts"]), across=True)
    page.row = _HEADER_ROW - 1
    page.add(*((title, ids["header"]) for title, _ in summary.headers))
    plain = ids["text"]
    for sheet, finding in findings:
        severity = finding.kind.severity
        names = [(sheet, plain)] * (len(widths) - len(_HEADERS))
        shown = show_invisible(finding.display_value or "")
        page.add(
            *names,
            (finding.cell or "", ids["link"]),
            (finding.column_label or "", plain),
            (SEVERITY_WORDS[severity], ids[severity]),
            (shown[:_MAX_VALUE_LENGTH] + "…" * (len(shown) > _MAX_VALUE_LENGTH), plain),
            (finding.message, plain),
            (finding.hint, plain),
            (finding.kind.code, plain),
        )
        if finding.cell:
            page.link(len(names), cell_place(sheet, finding.cell))
    package.write(sheets.part(name), page.content())
    sheets.activate(name)


class _AddedSheet:
    """Sheet that xlbridge adds, written from top to bottom and printed in landscape, one page wide.

    ``widths`` are those of its columns, in characters. The rows below a ``header_row`` are a list
    with a filter, and scroll below it.
    """

    def __init__(self, namespace: str, widths: Sequence[int], header_row: int = 0) -> None:
        self.row = 0
        self._widths = widths
        self._header_row = header_row
        self._root = root = etree.Element(f"{{{namespace}}}worksheet", nsmap={None: namespace})
        properties = add_child(root, "sheetPr")
        if header_row:
            colour = style.SEVERITY_FONTS[Severity.ERROR]
            add_child(properties, "tabColor", rgb=f"FF{colour}")
        add_child(properties, "pageSetUpPr", fitToPage="1")
        view = add_child(add_child(root, "sheetViews"), "sheetView", workbookViewId="0")
        if header_row:
            below = f"A{header_row + 1}"
            pane = {"ySplit": str(header_row), "topLeftCell": below, "activePane": "bottomLeft"}
            add_child(view, "pane", **pane, state="frozen")
            add_child(view, "selection", pane="bottomLeft", activeCell=below, sqref=below)
        else:
            view.set("showGridLines", "0")
        columns = add_child(root, "cols")
        for number, width in enumerate(map(str, widths), start=1):
            index = str(number)
            add_child(columns, "col", min=index, max=index, width=width, customWidth="1")
        self._rows = add_child(root, "sheetData")
        self._merged = etree.Element(tag_like(root, "mergeCells"))
        self._links = etree.Element(tag_like(root, "hyperlinks"))

    def add(self, *cells: tuple[object, str], across: bool = False) -> None:
        """Add a row of values with their styles; its only text may go ``across`` all columns."""
        self.row += 1
        row = add_child(self._rows, "row", r=str(self.row), customHeight="1")
        last = len(self._widths) - 1
        widths = [sum(self._widths)] if across else self._widths
        texts = zip((str(value) for value, _ in cells), widths, strict=False)
        height = _PADDING + style.LINE_HEIGHT * style.wrapped_lines(texts)
        row.set("ht", str(_TITLE_HEIGHT if self.row == 1 else height))
        for column, (value, style_id) in enumerate(cells):
            if isinstance(value, int | Decimal):
                cell = add_child(row, "c", r=cell_address(self.row, column), s=style_id)
                add_child(cell, "v").text = str(value)
            elif text := str(value):
                cell = add_child(row, "c", r=cell_address(self.row, column), s=style_id)
                cell.set("t", "inlineStr")
                add_text(add_child(cell, "is"), text)
        if across:
            add_child(self._merged, "mergeCell", ref=range_text((self.row, 0, self.row, last)))

    def link(self, column: int, location: str, row: int | None = None) -> None:
        """Link a cell of a row, by default the last one, to a place in the workbook."""
        address = cell_address(row or self.row, column)
        add_child(self._links, "hyperlink", ref=address, location=location)

    def content(self) -> bytes:
        """Return the part."""
        root = self._root
        if self._header_row:
            area = self._header_row, 0, self.row, len(self._widths) - 1
            add_child(root, "autoFilter", ref=range_text(area))
        root.extend(item for item in (self._merged, self._links) if len(item))
        sides = dict.fromkeys(("left", "right", "top", "bottom"), "0.4")
        add_child(root, "pageMargins", **sides, header="0.2", footer="0.2")
        add_child(root, "pageSetup", paperSize=_A4, orientation="landscape", fitToHeight="0")
        return xml_bytes(root)


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
        "number header": styles.cell(
            font("FFFFFF", "<b/>"), style.STRONG, 'vertical="center" horizontal="right"'
        ),
        "plain": styles.cell(font(None), quoted=True),
        "text": styles.cell(font(None), alignment=wrapped, quoted=True),
        "link": styles.cell(font("0563C1", "<u/>"), alignment=wrapped),
    } | {
        severity: styles.cell(font(style.SEVERITY_FONTS[severity]), colour, wrapped)
        for severity, colour in style.SEVERITY_FILLS.items()
    }


_REMARK_WIDTHS = (26, 60, 50, 22)


@dataclass(frozen=True, slots=True)
class RemarkColumns:
    """Remarks on the rows of one sheet.

    ``remarks`` maps Excel's row numbers to texts, one for each of ``titles``, which are written in
    ``header_row``. The columns follow the last filled one, or replace those of an earlier copy
    from the zero-based ``first_column`` on. The rows of ``severities`` are coloured, and the cells
    ``wrong`` more strongly; ``notes`` are comments of cells by address.
    """

    sheet: str
    header_row: int
    titles: Sequence[str]
    remarks: Mapping[int, Sequence[str]]
    first_column: int | None = None
    severities: Mapping[int, Severity] = field(default_factory=dict)
    wrong: Mapping[str, Severity] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OpenRow:
    """Row that someone has to see to: the sheet and the address of its first cell to correct, what
    became of it, and what names its record."""

    sheet: str
    address: str
    state: str
    reason: str
    what_to_do: str
    record: str
    amount: Decimal | None


def write_remark_columns(
    source: Path,
    target: Path,
    sheets: Sequence[RemarkColumns],
    origin: WorkbookOrigin,
    summary: Report,
    open_rows: Sequence[OpenRow],
) -> None:
    """Write a copy of ``source`` with remarks on the rows of some of its sheets.

    The copy begins with the ``summary`` of the upload and its ``open_rows``, and carries
    ``origin``. The sheet's filter, which is added if needed, includes the new columns; its header
    and first columns stay in view unless it has panes of its own. Raises ``WorkbookRefused`` if
    the workbook cannot be copied, ``UsageError`` if the copy cannot be written.
    """
    with edit_package(source) as package:
        styles = WorkbookStyles(package)
        for sheet in sheets:
            part = SheetList(package).part(sheet.sheet)
            header_row, first = sheet.header_row, sheet.first_column
            texts = {**sheet.remarks, header_row: sheet.titles}
            rows = SheetRows(package, part)
            if not rows.rows:
                raise ValueError(f"{part} is not a worksheet with rows")
            if first is None:
                cells = (cell for row in rows.rows.values() for cell in row.cells())
                first = max((cell.column for cell in cells if cell.is_filled), default=-1) + 1
            remark_style = styles.for_remark(0)
            written = dict[CellPosition, bytes]()
            for number in texts.keys() & rows.rows.keys():
                cell_style = remark_style
                if number == header_row:
                    before = {c: cell for c, cell in rows.cells(number).items() if c < first}
                    cell_style = before[max(before)].style if before else "0"
                for column, text in enumerate(map(allowed_text, texts[number]), first):
                    address = cell_address(number, column)
                    written[number, column] = (
                        text_cell(rows.prefix, address, cell_style, text) if text else b""
                    )
            package.write(part, rows.with_cells(written))
            with edit_sheet_without_cells(package, part) as root:
                for dimension in root.findall("{*}dimension"):
                    root.remove(dimension)
                last = first + len(texts[header_row]) - 1
                set_widths(root, first, [*_REMARK_WIDTHS])
                print_on_two_pages(root, last)
                existing = root.find("{*}autoFilter")
                if existing is not None:
                    top, left, low, right = cell_range(existing.get("ref", "")) or (0, 0, 0, 0)
                    if top == header_row:
                        existing.set("ref", range_text((top, left, low, max(right, last))))
                elif root.find("{*}tableParts") is None:
                    # A table has its own filter.
                    area = f"A{header_row}:{cell_address(max(rows.rows), last)}"
                    find_or_insert(root, "autoFilter", SHEET_ORDER).set("ref", area)
                keep_in_view(root, header_row, first)
                _colour_cells(root, sheet.wrong, styles, sheet.severities, last)
                if sheet.notes or package.related(part, "comments"):
                    notes = dict(islice(sheet.notes.items(), AnnotatedSheet.MAX_SHOWN))
                    replace_comments(package, part, root, notes)
        titled = replace(summary, title=origin.summary_title)
        _replace_upload_summary(package, styles, titled, sheets[0].sheet, open_rows)
        styles.save()
        package.set_properties(origin.properties())
        package.save(target)


_LABEL_WIDTH, _CELL_WIDTH, _AMOUNT_WIDTH = 60, 18, 30
_OPEN_ROWS = Text(pt="Linhas a ver", en="Rows to see to")
_RECORD = Text(pt="Registro", en="Record")
_MAX_OPEN_ROWS = 2_000


def _replace_upload_summary(
    package: EditablePackage,
    styles: WorkbookStyles,
    report: Report,
    main: str,
    open_rows: Sequence[OpenRow],
) -> None:
    """Add or replace the first sheet, which says what became of the upload, and activate it.

    The open rows of the sheet ``main`` are listed below its tables, each with a link to the cell to
    correct.
    """
    has_amounts = any(row.amount is not None for row in open_rows)
    amount_title = report.tables[0].headings[-1].title if report.tables else titles.AMOUNT
    columns = [
        (titles.REASON, _LABEL_WIDTH),
        (titles.CELL, _CELL_WIDTH),
        *([(amount_title, _AMOUNT_WIDTH)] if has_amounts else []),
        (titles.STATE, 25 if has_amounts else _AMOUNT_WIDTH),
        (titles.WHAT_TO_DO, 42),
        (_RECORD, 50),
    ]
    sheets = SheetList(package)
    name = sheets.add_summary_sheet("$1:$1", str(UPLOAD_SUMMARY_SHEET), first=True)
    page = _AddedSheet(sheets.namespace, [width for _, width in columns])
    ids = _add_styles(styles)
    wrapped, size = 'vertical="top" wrapText="1"', f'<sz val="{style.FONT_SIZE}"/>'
    colour, ground = style.GRADE_COLOURS[report.grade]
    verdict = styles.cell(f'<b/><sz val="12"/><color rgb="FF{colour}"/>', ground, wrapped)
    remark = styles.cell(size, ground, wrapped, quoted=True)
    caption = styles.cell(f'<b/><sz val="13"/><color rgb="FF{style.STRONG}"/>')
    bold = styles.cell(f"<b/>{size}", alignment=wrapped, quoted=True)
    beside = styles.cell(size, alignment=f'{wrapped} horizontal="left" indent="1"', quoted=True)
    # Of a line that is a sum or not: the styles of its label, its counts and its amounts.
    of_lines = {
        is_sum: (label, counts, str(styles.for_amount(int(counts))))
        for is_sum, label in ((False, ids["text"]), (True, bold))
        for counts in [styles.cell(f"<b/>{size}" if is_sum else size)]
    }
    page.add((report.title, ids["title"]))
    page.add((report.verdict, verdict), across=True)
    for step in report.next_steps:
        page.add((step, remark), across=True)
    for fact, value in report.facts:
        page.add((fact, ids["subject"]), (str(value), ids["plain"]))
    if open_rows:
        page.add((_OPEN_ROWS, ids["link"]))
    to_rows = page.row
    for table in report.tables:
        page.row += 1
        page.add((table.title, caption))
        first, *others = (heading.title for heading in table.headings)
        page.add((first, ids["header"]), *((title, ids["number header"]) for title in others))
        for line in table.lines:
            label, count, amount = of_lines[line.tone is Tone.SUM]
            numbers = (
                (value, amount if isinstance(value, Decimal) else count)
                for value in line.values[1:]
            )
            page.add((line.values[0], label), *numbers)
    if open_rows:
        page.row += 1
        page.add((_OPEN_ROWS, caption))
        page.add(*((title, ids["header"]) for title, _ in columns))
        page.link(0, cell_place(name, cell_address(page.row, 0)), to_rows)
    for row in open_rows[:_MAX_OPEN_ROWS]:
        place = row.address if row.sheet == main else f"{row.sheet}!{row.address}"
        texts = ((text, beside) for text in (row.state, row.what_to_do, row.record))
        sums = [(row.amount or "", of_lines[False][2])] if has_amounts else []
        page.add((row.reason, ids["text"]), (place, ids["link"]), *sums, *texts)
        page.link(1, cell_place(row.sheet, row.address))
    if len(open_rows) > _MAX_OPEN_ROWS:
        page.add((more_text(len(open_rows) - _MAX_OPEN_ROWS), ids["text"]))
    package.write(sheets.part(name), page.content())
    sheets.activate(name)
    sheets.save()
