"""OpenDocument spreadsheets: a cover, then a sheet for each table, as of an .xlsx export.

Rows are written as XML while they are fetched, and go into the file as they are: memory does not
grow with them. Numbers keep their digits.

Source: OpenDocument 1.3, Part 2 (package) and Part 3 (``table``, ``text``, ``style``, ``number``).
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from time import localtime
from typing import IO, Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from xlbridge import __version__, titles
from xlbridge.export.formats.base import (
    COMPRESSION_LEVEL,
    WIDEST_COLUMN,
    LineFormat,
    OutputWriter,
    Table,
    WorksheetRows,
    WriteValue,
    column_widths,
    compressed_member,
    is_on_the_right,
    printed_columns,
    repeated_columns,
    summed_columns,
)
from xlbridge.export.formats.ods_charts import (
    CHART_STYLES,
    CHART_TYPE,
    DECLARATION,
    MARKUP,
    SPACES,
    add_chart,
    xml_attribute,
)
from xlbridge.export.formats.xlsx import (
    FIRST_SAFE_DAY,
    CellStyle,
    has_exact_cell,
    require_fitting,
)
from xlbridge.export.sheets import ExportColumn, Sheet, value_reader
from xlbridge.files import replace_atomically
from xlbridge.i18n import active_language
from xlbridge.report_forms import Report, Tone, Value, value_text
from xlbridge.resources import Kind
from xlbridge.settings import Headers
from xlbridge.workbook import COVER_SHEET, MAX_ROWS, WorkbookOrigin, column_letters, style

_MEDIA_TYPE = "application/vnd.oasis.opendocument.spreadsheet"
_EMPTY = "<table:table-cell/>"
_END_OF_ROW = "</table:table-row>\n"
_ANY_LENGTH = 255  # of names

_STYLE_OF_KIND: Mapping[Kind, CellStyle] = {
    Kind.INTEGER: CellStyle.INTEGER,
    Kind.NUMBER: CellStyle.NUMBER,
    Kind.MONEY: CellStyle.MONEY,
    Kind.DATE: CellStyle.DAY,
    Kind.BOOLEAN: CellStyle.BOOLEAN,
}
"""Style of a column's cells that name none; other kinds have that of texts."""

_DAY_PARTS = (
    '<number:day number:style="long"/><number:text>/</number:text><number:month '
    'number:style="long"/><number:text>/</number:text><number:year number:style="long"/>'
)
_TIME_PARTS = (
    '<number:text> </number:text><number:hours number:style="long"/><number:text>:</number:text>'
    '<number:minutes number:style="long"/>'
)
_NUMBER = '<number:number number:decimal-places="{}" number:min-decimal-places="{}" {}/>'
_GROUPED = 'number:min-integer-digits="1" number:grouping="true"'
_DATA_STYLES: Mapping[CellStyle, tuple[str, str]] = {
    CellStyle.TEXT: ("text", "<number:text-content/>"),
    CellStyle.LINES: ("text", "<number:text-content/>"),
    CellStyle.INTEGER: ("number", _NUMBER.format(0, 0, 'number:min-integer-digits="1"')),
    CellStyle.NUMBER: ("number", _NUMBER.format(6, 2, _GROUPED)),
    CellStyle.MONEY: ("number", _NUMBER.format(2, 2, _GROUPED)),
    CellStyle.DAY: ("date", _DAY_PARTS),
    CellStyle.MOMENT: ("date", _DAY_PARTS + _TIME_PARTS),
    CellStyle.BOOLEAN: ("boolean", "<number:boolean/>"),
}

_UNKNOWN_CHARACTERS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_LINE_END = re.compile("\r\n?|\n")
_WHITE_SPACE = re.compile(r"^ +| +$| {2,}|\t")
_NEEDS_MARKUP = re.compile(r"[&<>\x00-\x1f\ufffe\uffff]|  |^ | $").search


def _paragraphs(text: str) -> str:
    """Return a text as paragraphs; XML has no control characters, so these become ``\\ufffd``."""
    if not _NEEDS_MARKUP(text):
        return f"<text:p>{text}</text:p>"

    def marked(found: re.Match[str]) -> str:
        spaces = found[0]
        return "<text:tab/>" if spaces == "\t" else f'<text:s text:c="{len(spaces)}"/>'

    known = _UNKNOWN_CHARACTERS.sub("\N{REPLACEMENT CHARACTER}", text).translate(MARKUP)
    lines = (_WHITE_SPACE.sub(marked, line) for line in _LINE_END.split(known))
    return "".join(f"<text:p>{line}</text:p>" for line in lines)


def _styled(cell_style: CellStyle | None) -> str:
    name = "" if cell_style is None else f' table:style-name="{cell_style}"'
    return f"<table:table-cell{name} office:value-type="


def _cell_writer(column: ExportColumn, _index: int) -> WriteValue:
    read: Callable[[Any], Any] = value_reader(column)
    own = None if column.kind not in _STYLE_OF_KIND else CellStyle.TEXT

    def as_text(text: str) -> str:
        require_fitting(text)
        styled = _styled(CellStyle.LINES if "\n" in text else own)
        return f'{styled}"string">{_paragraphs(text)}</table:table-cell>'

    if column.is_list:
        return lambda value: as_text("\n".join(read(value)))

    def number(value: Any) -> str:
        digits = read(value)
        if not has_exact_cell(digits):
            return as_text(digits)
        finer = column.kind is Kind.MONEY and digits.rfind(".", 0, -3) >= 0
        start = _styled(CellStyle.NUMBER if finer else None)
        return f'{start}"float" office:value="{digits}"/>'

    def moment(value: Any) -> str:
        text = read(value)
        time = datetime.fromisoformat(text).replace(tzinfo=None, microsecond=0)
        if time.toordinal() < FIRST_SAFE_DAY:
            return as_text(text)
        if time.time() == datetime.min.time():
            return f'{_styled(None)}"date" office:date-value="{time.date()}"/>'
        return f'{_styled(CellStyle.MOMENT)}"date" office:date-value="{time.isoformat()}"/>'

    match column.kind:
        case Kind.INTEGER | Kind.NUMBER | Kind.MONEY:
            return number
        case Kind.DATE:
            return moment
        case Kind.BOOLEAN:
            start = f'{_styled(None)}"boolean" office:boolean-value="'
            return lambda value: f'{start}{str(read(value)).lower()}"/>'
        case _:
            return lambda value: as_text(read(value))


def _affixes(column: ExportColumn, _index: int) -> tuple[str, str]:
    if column.kind is Kind.TEXT:
        return f'{_styled(None)}"string"><text:p>', "</text:p></table:table-cell>"
    return f'{_styled(None)}"float" office:value="', '"/>'


def _are_plain(texts: Sequence[str]) -> bool:
    joined = "|".join(texts)
    return not _NEEDS_MARKUP(joined) and "|".join(map(str.strip, texts)) == joined


_NUMBER_CELL = re.compile('<table:table-cell(?:[^>]*office:value="([^"]*)")?')


_LINE_FORMAT = LineFormat(
    _cell_writer,
    _affixes,
    are_plain=_are_plain,
    numbers=lambda cells: (one for one in enumerate(_NUMBER_CELL.findall(cells)) if one[1]),
    empty_cell=lambda _column: _EMPTY,
    prefix="<table:table-row>",
    suffix=_END_OF_ROW,
)


@contextmanager
def open_ods(
    path: Path,
    sheets: Sequence[Sheet],
    rows_per_sheet: int = MAX_ROWS,
    headers: Headers = "names",
    resource: str = "",
) -> Iterator[OutputWriter]:
    """Open a spreadsheet; rows beyond ``rows_per_sheet`` go to ``name (2)``, ``name (3)`` and so
    on."""
    with replace_atomically(path, shared=True) as temporary:
        origin = WorkbookOrigin(export=sheets[0].name, resource=resource)
        yield _OdsOutput(temporary, origin, rows_per_sheet, headers)


class _OdsOutput(OutputWriter):
    def __init__(
        self, path: Path, origin: WorkbookOrigin, rows_per_sheet: int, headers: Headers
    ) -> None:
        self._path = path
        self._origin = origin
        self._rows_per_sheet = rows_per_sheet
        self._headers = headers

    def line_format(self, sheet: Sheet) -> LineFormat:
        return replace(_LINE_FORMAT, summed=summed_columns(sheet, self._headers))

    def write(self, tables: Sequence[Table], cover: Report, system: str) -> None:
        origin = replace(self._origin, language=active_language(), system=system)
        frozen, charts = list[str](), list[str]()
        with ZipFile(self._path, "w", ZIP_DEFLATED, compresslevel=COMPRESSION_LEVEL) as archive:
            # First and not compressed, so that programs recognise the file by its first bytes.
            kind = ZipInfo("mimetype", date_time=localtime()[:6])
            archive.writestr(kind, _MEDIA_TYPE, ZIP_STORED)
            with compressed_member(archive, "content.xml") as content:
                content.write(_start_of_content().encode())
                content.write(_cover(cover, charts).encode())
                ranges = list[str]()
                for table in tables:
                    lines = self.line_format(table.sheet)
                    for part in table.worksheets(lines, self._rows_per_sheet, _ANY_LENGTH):
                        rows = self._write_part(content, part)
                        frozen.append(part.name)
                        last = f"{column_letters(len(table.sheet.columns) - 1)}{rows + 1}"
                        ranges.append(
                            f'<table:database-range table:name="tabela_{len(ranges) + 1}" '
                            f'table:target-range-address="{_range(part.name, last)}" '
                            'table:display-filter-buttons="true"/>'
                        )
                content.write(
                    f"<table:database-ranges>{''.join(ranges)}</table:database-ranges>"
                    "</office:spreadsheet></office:body></office:document-content>".encode()
                )
            archive.writestr("styles.xml", _STYLES)
            archive.writestr("settings.xml", _settings(frozen))
            archive.writestr("meta.xml", _meta(origin))
            for number, chart in enumerate(charts, start=1):
                archive.writestr(f"Object {number}/content.xml", chart)
            archive.writestr("META-INF/manifest.xml", _manifest(len(charts)))

    def _write_part(self, content: IO[bytes], part: WorksheetRows) -> int:
        """Write a sheet; return its number of rows, of which there is one at least."""
        sheet = part.table.sheet
        content.write(self._start_of_table(part).encode())
        for lines in part.blocks():
            content.write(b"".join(lines))
        summed = summed_columns(sheet, self._headers)
        if summed:
            if not part.rows:
                content.write(f"<table:table-row>{_EMPTY}{_END_OF_ROW}".encode())
            by_column = dict(zip(summed, part.sums, strict=True))
            totals = _totals_row(len(sheet.columns), by_column, max(part.rows, 1))
            content.write(totals.encode())
        content.write(b"</table:table>\n")
        return max(part.rows, 1) if summed else part.rows

    def _start_of_table(self, part: WorksheetRows) -> str:
        table = part.table
        columns, titled = table.sheet.columns, self._headers == "titles"
        texts = [column.title if titled else column.name for column in columns]
        widths = column_widths(table, texts)
        printed = printed_columns(table.sheet, widths)
        repeated = repeated_columns(table.sheet, widths)
        pages = style.pages_to_fit(widths[:printed], repeated)
        sheet = "sheet-hidden" if part.is_hidden else f"sheet-{pages}"
        area = ""
        if printed < len(columns):
            rows = max(part.rows, 1) + (2 if summed_columns(table.sheet, self._headers) else 1)
            last = f"{column_letters(printed - 1)}{rows}"
            area = f' table:print-ranges="{_range(part.name, last)}"'
        name = xml_attribute(part.name)
        pieces = [f'<table:table table:name="{name}" table:style-name="{sheet}"{area}>']
        for index, (column, width) in enumerate(zip(columns, widths, strict=True)):
            kind = Kind.TEXT if column.is_list else column.kind
            if index == repeated.start and repeated:
                pieces.append("<table:table-header-columns>")
            pieces.append(
                f'<table:table-column table:style-name="width-{width}" table:default-cell-style-'
                f'name="{_STYLE_OF_KIND.get(kind, CellStyle.TEXT)}"/>'
            )
            if index == repeated.stop - 1:
                pieces.append("</table:table-header-columns>")
        pieces.append("<table:table-header-rows><table:table-row>")
        for column, text in zip(columns, texts, strict=True):
            note = f"<office:annotation>{_paragraphs(column.name)}</office:annotation>"
            name = "number-heading" if is_on_the_right(column) else "heading"
            pieces.append(
                f'<table:table-cell table:style-name="{name}" office:value-type="string">'
                f"{note if titled else ''}{_paragraphs(text)}</table:table-cell>"
            )
        pieces.append(f"{_END_OF_ROW}</table:table-header-rows>\n")
        return "".join(pieces)


def _totals_row(columns: int, sums: Mapping[int, Decimal], rows: int) -> str:
    """Return the row with the sums of columns, of a sheet with as many rows of data."""
    cells = [_named_text(titles.TOTAL, "verdict")]
    for index in range(1, columns):
        if index in sums:
            area = "[.{0}2:.{0}{1}]".format(column_letters(index), rows + 1)
            cells.append(
                '<table:table-cell table:style-name="money-sum" table:formula="of:=SUBTOTAL(109;'
                f'{area})" office:value-type="float" office:value="{sums[index]:f}"/>'
            )
        else:
            cells.append(_EMPTY)
    return f"<table:table-row>{''.join(cells)}{_END_OF_ROW}"


def _range(sheet: str, last: str) -> str:
    """Return the address of the cells from the first one to ``last``, as an attribute."""
    quoted = xml_attribute("'" + sheet.replace("'", "''") + "'")
    return f"{quoted}.A1:{quoted}.{last}"


_COVER_WIDTHS = (44, *[18] * 4)
_ROWS_OF_PAGE = 50
"""Rows of a printed page that are certain to fit it."""
_CENTIMETRES = 0.2
"""Width of a character of a column."""

_HEADING_CELL = f' fo:wrap-option="wrap" fo:background-color="#{style.SOFT}"'
_BESIDE_NUMBERS = '<style:paragraph-properties fo:text-align="start" fo:margin-left="0.2cm"/>'
"""Properties of texts that keep them apart from the numbers on their left."""

_NAMED_CELLS = "".join(
    f'<style:style style:name="{name}" style:family="table-cell"{data}>'
    '<style:table-cell-properties style:vertical-align="top"'
    f"{_HEADING_CELL if 'heading' in name else ''}/>"
    f"{paragraph}<style:text-properties {text}/></style:style>"
    for name, data, paragraph, text in (
        ("heading", "", _BESIDE_NUMBERS, 'fo:font-weight="bold"'),
        (
            *("number-heading", "", '<style:paragraph-properties fo:text-align="end"/>'),
            'fo:font-weight="bold"',
        ),
        ("title", "", "", f'fo:font-weight="bold" fo:font-size="16pt" fo:color="#{style.STRONG}"'),
        ("verdict", "", "", 'fo:font-weight="bold" fo:font-size="12pt"'),
        ("label", "", "", f'fo:color="#{style.QUIET}"'),
        ("count", ' style:data-style-name="N-count"', "", 'fo:font-weight="normal"'),
        ("count-sum", ' style:data-style-name="N-count"', "", 'fo:font-weight="bold"'),
        ("money-sum", ' style:data-style-name="N-money"', "", 'fo:font-weight="bold"'),
    )
)
_COUNT = (
    '<number:number-style style:name="N-count">'
    f"{_NUMBER.format(0, 0, _GROUPED)}</number:number-style>"
)
_SCALES = {
    "Default": f'style:scale-to="{style.PRINT_SCALE}%"',
    "OnePage": 'style:scale-to-X="1"',
    "TwoPages": 'style:scale-to-X="2"',
}
"""Scales of master pages, in the order of ``style.pages_to_fit``."""
_SHEET_STYLES = "".join(
    f'<style:style style:name="sheet-{pages}" style:family="table" style:master-page-name="{page}">'
    f'<style:table-properties table:display="{str(pages != "hidden").lower()}"/></style:style>'
    for pages, page in (*enumerate(_SCALES), ("hidden", "Default"))
)


def _start_of_content() -> str:
    data_styles = "".join(
        f'<number:{kind}-style style:name="N-{name}">{parts}</number:{kind}-style>'
        for name, (kind, parts) in _DATA_STYLES.items()
    )
    wrap = ' fo:wrap-option="wrap"'
    cells = "".join(
        f'<style:style style:name="{name}" style:family="table-cell" style:data-style-name='
        f'"N-{name}"><style:table-cell-properties style:vertical-align="top"'
        f"{wrap if name is CellStyle.LINES else ''}/>"
        f"{_BESIDE_NUMBERS if kind == 'text' else ''}</style:style>"
        for name, (kind, _) in _DATA_STYLES.items()
    )
    widths = "".join(
        f'<style:style style:name="width-{width}" style:family="table-column">'
        f'<style:table-column-properties style:column-width="{width * _CENTIMETRES:.2f}cm"/>'
        "</style:style>"
        for width in range(1, WIDEST_COLUMN + 1)
    )
    return (
        f"{DECLARATION}<office:document-content{SPACES}><office:automatic-styles>"
        f"{data_styles}{_COUNT}{widths}{_SHEET_STYLES}{CHART_STYLES}{cells}{_NAMED_CELLS}"
        "</office:automatic-styles><office:body><office:spreadsheet>\n"
    )


def _cover(report: Report, charts: list[str]) -> str:
    """Return the sheet of a report: its texts, its facts, and its tables below, each with its chart
    beside it; add the documents of the charts to ``charts``."""
    name = str(COVER_SHEET)
    columns = max((len(table.headings) for table in report.tables), default=1)
    widths = _COVER_WIDTHS[: max(columns, 2)]
    pieces = [
        f'<table:table table:name="{xml_attribute(name)}" table:style-name="sheet-0">',
        *(f'<table:table-column table:style-name="width-{width}"/>' for width in widths),
        '<table:table-column table:style-name="chart-column"/>',
    ]
    row, top = 0, 0

    def add(*cells: str, form: str = "") -> None:
        nonlocal row
        styled = f' table:style-name="{form}"' if form else ""
        pieces.append(f"<table:table-row{styled}>{''.join(cells) or _EMPTY}{_END_OF_ROW}")
        row += 1

    add(_named_text(report.title, "title"))
    add()
    add(_named_text(report.verdict, "verdict"))
    for text in (*report.remarks, *report.problems, *report.next_steps):
        add(_named_text(text))
    add()
    for fact, value in report.facts:
        add(_named_text(fact, "label"), _named_text(value_text(value)))
    for table in report.tables:
        rows = max(table.chart.rows if table.chart else 0, len(table.lines) + 1)
        # A chart is never cut by the end of a page.
        breaks = row - top + rows + 1 > _ROWS_OF_PAGE
        top = row if breaks else top
        add(form="new-page" if breaks else "")
        end = row + rows
        headings = [
            _named_text(heading.title, "number-heading" if table.is_numeric(at) else "heading")
            for at, heading in enumerate(table.headings)
        ]
        add(*headings, add_chart(charts, table, name, row))
        for line in table.lines:
            cells = (_cover_cell(value, is_sum=line.tone is Tone.SUM) for value in line.values)
            add(*cells, form="chart-row")
        while row < end:
            add(form="chart-row")
    pieces.append("</table:table>\n")
    return "".join(pieces)


def _named_text(text: object, name: str = "") -> str:
    named = f' table:style-name="{name}"' if name else ""
    content = _paragraphs("" if text is None else str(text))
    return f'<table:table-cell{named} office:value-type="string">{content}</table:table-cell>'


def _cover_cell(value: Value, *, is_sum: bool) -> str:
    if isinstance(value, int | Decimal):
        kind = "money" if isinstance(value, Decimal) else "count"
        named = f"{kind}-sum" if is_sum else kind
        number = f'office:value-type="float" office:value="{value:f}"'
        return f'<table:table-cell table:style-name="{named}" {number}/>'
    return _named_text("" if value is None else value_text(value), "verdict" if is_sum else "")


_STYLES = (
    f"{DECLARATION}<office:document-styles{SPACES}><office:styles>"
    '<style:default-style style:family="table-cell"><style:text-properties '
    f'fo:font-family="{style.FONT}" fo:font-size="{style.FONT_SIZE}pt"/></style:default-style>'
    '<style:style style:name="Default" style:family="table-cell"/></office:styles>'
    "<office:automatic-styles>"
    + "".join(
        f'<style:page-layout style:name="{page}"><style:page-layout-properties '
        'fo:page-width="29.7cm" fo:page-height="21cm" style:print-orientation="landscape" '
        'fo:margin-left="1cm" fo:margin-right="1cm" fo:margin-top="1.5cm" fo:margin-bottom="1.5cm" '
        f'style:print-page-order="ltr" {scale}/><style:footer-style>'
        '<style:header-footer-properties fo:min-height="0.8cm" fo:margin-top="0.2cm"/>'
        "</style:footer-style></style:page-layout>"
        for page, scale in _SCALES.items()
    )
    + "</office:automatic-styles><office:master-styles>"
    + "".join(
        f'<style:master-page style:name="{page}" style:page-layout-name="{page}"><style:footer>'
        "<text:p><text:sheet-name/> · <text:page-number>1</text:page-number> / "
        "<text:page-count>1</text:page-count></text:p></style:footer></style:master-page>"
        for page in _SCALES
    )
    + "</office:master-styles></office:document-styles>"
)


def _settings(sheets: Sequence[str]) -> str:
    """Return the settings of the views: the header of each sheet stays in view."""

    def item(name: str, kind: str, value: str) -> str:
        return (
            f'<config:config-item config:name="{name}" config:type="{kind}">{value}'
            "</config:config-item>"
        )

    frozen = item("VerticalSplitMode", "short", "2") + item("VerticalSplitPosition", "int", "1")
    frozen += item("ActiveSplitRange", "short", "2") + item("PositionBottom", "int", "1")
    views = "".join(
        f'<config:config-item-map-entry config:name="{xml_attribute(name)}">{frozen}'
        "</config:config-item-map-entry>"
        for name in sheets
    )
    return (
        f"{DECLARATION}<office:document-settings{SPACES}><office:settings>"
        '<config:config-item-set config:name="ooo:view-settings">'
        '<config:config-item-map-indexed config:name="Views"><config:config-item-map-entry>'
        f'{item("ViewId", "string", "view1")}<config:config-item-map-named config:name="Tables">'
        f"{views}</config:config-item-map-named></config:config-item-map-entry>"
        "</config:config-item-map-indexed></config:config-item-set></office:settings>"
        "</office:document-settings>"
    )


def _meta(origin: WorkbookOrigin) -> str:
    carried = "".join(
        f'<meta:user-defined meta:name="{name}">{value.translate(MARKUP)}</meta:user-defined>'
        for name, value in origin.properties().items()
    )
    now = datetime.now(UTC).replace(tzinfo=None, microsecond=0).isoformat()
    return (
        f"{DECLARATION}<office:document-meta{SPACES}><office:meta>"
        f"<meta:generator>xlbridge/{__version__}</meta:generator><dc:title>{origin.export}</dc:title>"
        f"<meta:creation-date>{now}Z</meta:creation-date>{carried}</office:meta>"
        "</office:document-meta>"
    )


def _manifest(charts: int) -> str:
    objects = range(1, charts + 1)
    parts = {f"{part}.xml": "text/xml" for part in ("content", "styles", "settings", "meta")}
    parts |= {f"Object {number}/": CHART_TYPE for number in objects}
    parts |= {f"Object {number}/content.xml": "text/xml" for number in objects}
    return (
        f"{DECLARATION}<manifest:manifest manifest:version="
        '"1.3" xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
        '<manifest:file-entry manifest:full-path="/" manifest:version="1.3" '
        f'manifest:media-type="{_MEDIA_TYPE}"/>'
        + "".join(
            f'<manifest:file-entry manifest:full-path="{part}" manifest:media-type="{kind}"/>'
            for part, kind in parts.items()
        )
        + "</manifest:manifest>"
    )
