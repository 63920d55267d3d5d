"""Minimal writer of .xlsb workbooks: converts an .xlsx workbook to Excel's binary records.

LibreOffice cannot write .xlsb. Covers the parts of [MS-XLSB] that tests need: values, rich texts,
number formats, also of conditional formats, struck-through fonts, hidden rows and columns, merged
ranges, formulas, tables.
"""

import datetime as dt
import re
import struct
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import openpyxl
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.utils import column_index_from_string, range_boundaries
from openpyxl.utils.datetime import CALENDAR_MAC_1904, to_excel

_TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" '
    'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="bin" '
    'ContentType="application/vnd.ms-excel.sheet.binary.macroEnabled.main"/></Types>'
)
_RELATION = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_ERRORS = {
    "#NULL!": 0x00, "#DIV/0!": 0x07, "#VALUE!": 0x0F, "#REF!": 0x17, "#NAME?": 0x1D,
    "#NUM!": 0x24, "#N/A": 0x2A,
}  # fmt: skip
_SUM = re.compile(r"=(SUM|SUBTOTAL)\((?:9,)?\$?([A-Z]+)\$?(\d+):\$?([A-Z]+)\$?(\d+)\)")
_NOTHING = b"\x1e\x00\x00"


def write_xlsb(source: Path, target: Path, *, inline: bool = False) -> Path:
    """Write an .xlsx workbook's sheets as .xlsb; ``inline``: with rich texts in their cells."""
    formulas = openpyxl.load_workbook(source, rich_text=True)
    values = openpyxl.load_workbook(source, data_only=True)
    styles = _Styles(None if inline else [])
    names = formulas.sheetnames
    sheets = [b"".join(_sheet(formulas[name], values[name], styles)) for name in names]
    tables = [(n, list(formulas[name].tables.values())) for n, name in enumerate(names, start=1)]
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", _TYPES)
        archive.writestr("_rels/.rels", _relations(["xl/workbook.bin"], "officeDocument"))
        archive.writestr("xl/workbook.bin", _workbook(formulas))
        archive.writestr(
            "xl/_rels/workbook.bin.rels",
            _relations(
                [f"worksheets/sheet{n}.bin" for n in range(1, len(names) + 1)],
                "worksheet",
                styles="styles.bin",
                sharedStrings="sharedStrings.bin",
            ),
        )
        archive.writestr("xl/sharedStrings.bin", styles.shared_texts())
        archive.writestr("xl/styles.bin", styles.part())
        for number, sheet in enumerate(sheets, start=1):
            archive.writestr(f"xl/worksheets/sheet{number}.bin", sheet)
        for number, of_sheet in tables:
            paths = [f"tables/table{number}-{at}.bin" for at, _ in enumerate(of_sheet)]
            relations = _relations([f"../{path}" for path in paths], "table")
            archive.writestr(f"xl/worksheets/_rels/sheet{number}.bin.rels", relations)
            for path, table in zip(paths, of_sheet, strict=True):
                archive.writestr(f"xl/{path}", _table(table))
    return target


def _relations(targets: Sequence[str], kind: str, **others: str) -> str:
    """Return a part of relations to ``targets`` of one kind, then to others by their kinds."""
    entries = "".join(
        f'<Relationship Id="rId{number}" Type="{_RELATION}/{kind}" Target="{target}"/>'
        for number, (kind, target) in enumerate(
            [*((kind, target) for target in targets), *others.items()], start=1
        )
    )
    space = "http://schemas.openxmlformats.org/package/2006/relationships"
    return f'<Relationships xmlns="{space}">{entries}</Relationships>'


def record(kind: int, data: bytes = b"") -> bytes:
    """Return a record: its kind and size, as variable-length numbers, then its data."""
    return _variable(kind) + _variable(len(data)) + data


def _variable(number: int) -> bytes:
    pieces = bytearray()
    while True:
        number, low = number >> 7, number & 0x7F
        pieces.append(low | (0x80 if number else 0))
        if not number:
            return bytes(pieces)


def _text(text: str) -> bytes:
    encoded = text.encode("utf-16-le")
    return struct.pack("<I", len(encoded) // 2) + encoded


def _workbook(book: Any) -> bytes:
    from_1904 = book.epoch == CALENDAR_MAC_1904
    sheets = b"".join(
        record(
            156,
            struct.pack("<II", book[name].sheet_state != "visible", number)
            + _text(f"rId{number}")
            + _text(name),
        )
        for number, name in enumerate(book.sheetnames, start=1)
    )
    properties = record(153, struct.pack("<II", from_1904, 0) + _text(""))
    return record(131) + properties + record(143) + sheets + record(144) + record(132)


class _Styles:
    """Distinct styles of the cells, in order of first use, and rich texts, None if in their cells;
    ``conditional`` are the number formats of conditional formats."""

    def __init__(self, rich_texts: list[bytes] | None) -> None:
        self._known: dict[tuple[str, bool], int] = {("General", False): 0}
        self.rich_texts = rich_texts
        self.conditional: list[str] = []

    def shared_texts(self) -> bytes:
        texts = self.rich_texts or []
        count = struct.pack("<II", len(texts), len(texts))
        return record(159, count) + b"".join(record(19, text) for text in texts) + record(160)

    def number(self, cell: Any) -> int:
        key = cell.number_format, bool(cell.font.strike)
        return self._known.setdefault(key, len(self._known))

    def part(self) -> bytes:
        formats = b"".join(
            record(44, struct.pack("<H", 200 + number) + _text(code))
            for (code, _), number in self._known.items()
        )
        fonts = b"".join(
            record(43, struct.pack("<HH", 220, 0x8 * struck) + bytes(17) + _text("Calibri"))
            for struck in (False, True)
        )
        styles = b"".join(
            record(47, struct.pack("<HHHHH", 0, 200 + number, struck, 0, 0) + bytes(6))
            for (_, struck), number in self._known.items()
        )
        count = struct.pack("<I", len(self._known))
        return b"".join(
            (
                record(278),
                record(615, count) + formats + record(616),
                record(611, struct.pack("<I", 2)) + fonts + record(612),
                record(617, count) + styles + record(618),
                record(505, struct.pack("<I", len(self.conditional))),
                *(record(507, _conditional_style(code)) for code in self.conditional),
                record(506),
                record(279),
            )
        )


def _conditional_style(code: str) -> bytes:
    """Return a style that is bold and has a number format, by code or by number."""
    properties = [struct.pack("<HHH", 0x19, 6, 700)]
    if code.isdecimal():
        properties.append(struct.pack("<HHH", 0x29, 6, int(code)))
    else:
        text = code.encode("utf-16-le")
        properties.append(struct.pack("<HHH", 0x26, 6 + len(text), len(code)) + text)
        properties.append(struct.pack("<HHH", 0x29, 6, 170))
    return struct.pack("<HHH", 0, 0, len(properties)) + b"".join(properties)


def _conditional(page: Any, styles: _Styles) -> Iterator[bytes]:
    """Yield the conditional formats of a sheet that have a number format."""
    for one in page.conditional_formatting:
        for rule in one.rules:
            if rule.dxf is None or rule.dxf.numFmt is None:
                continue
            ranges = b"".join(
                struct.pack("<IIII", r.min_row - 1, r.max_row - 1, r.min_col - 1, r.max_col - 1)
                for r in one.cells.ranges
            )
            yield record(461, struct.pack("<III", 1, 0, len(one.cells.ranges)) + ranges)
            yield record(463, struct.pack("<IIII", 1, 0, len(styles.conditional), 1) + bytes(26))
            yield record(464) + record(462)
            code = rule.dxf.numFmt.formatCode
            styles.conditional.append({"0%": "9"}.get(code, code))


def _table(table: Any) -> bytes:
    left, top, right, bottom = range_boundaries(table.ref)
    place = struct.pack("<IIII", top - 1, bottom - 1, left - 1, right - 1)
    return record(343, place + struct.pack("<IIII", 0, 1, 1, table.totalsRowCount or 0) + bytes(32))


def _rich_text(text: CellRichText) -> bytes:
    """Return a text with its runs: the first has the font of the cell."""
    runs, start = b"", 0
    for number, part in enumerate(text):
        struck = isinstance(part, TextBlock) and bool(part.font.strike)
        if number or struck:
            runs += struct.pack("<HH", start, struck)
        start += len(str(part))
    return b"\1" + _text(str(text)) + struct.pack("<I", len(runs) // 4) + runs


def _sheet(page: Any, stored: Any, styles: _Styles) -> Iterator[bytes]:
    yield record(129)
    last_row, last_column = page.max_row - 1, page.max_column - 1
    yield record(148, struct.pack("<IIII", 0, last_row, 0, last_column))
    hidden = [entry for entry in page.column_dimensions.values() if entry.hidden]
    yield record(390)
    for entry in hidden:
        first, last = entry.min - 1, entry.max - 1
        yield record(60, struct.pack("<IIIIH", first, last, 2560, 0, 1))
    yield record(391)
    yield record(145)
    for number, cells in enumerate(page.iter_rows(), start=1):
        is_hidden = bool(page.row_dimensions[number].hidden)
        flags = struct.pack("<HBBB", 300, 0, 0x10 * is_hidden, 0)
        yield record(0, struct.pack("<II", number - 1, 0) + flags + struct.pack("<I", 0))
        for cell in cells:
            yield from _cell(cell, stored[cell.coordinate].value, styles)
    yield record(146)
    if ranges := page.merged_cells.ranges:
        yield record(177, struct.pack("<I", len(ranges)))
        for one in ranges:
            rows, columns = (one.min_row - 1, one.max_row - 1), (one.min_col - 1, one.max_col - 1)
            yield record(176, struct.pack("<IIII", *rows, *columns))
        yield record(178)
    yield from _conditional(page, styles)
    yield record(130)


def _cell(cell: Any, stored: Any, styles: _Styles) -> Iterator[bytes]:
    if cell.value is None:
        return
    place = struct.pack("<II", cell.column - 1, styles.number(cell))
    tokens = b""
    if cell.data_type == "f":
        code = _formula(str(cell.value))
        tokens = struct.pack("<HI", 0, len(code)) + code
    if isinstance(cell.value, CellRichText):
        text = _rich_text(cell.value)
        if styles.rich_texts is None:
            yield record(62, place + text)
        else:
            yield record(7, place + struct.pack("<I", len(styles.rich_texts)))
            styles.rich_texts.append(text)
        return
    match stored:
        case None:
            if tokens:
                yield record(9, place + struct.pack("<d", 0.0) + tokens)
        case bool():
            yield record(10 if tokens else 4, place + struct.pack("<B", stored) + tokens)
        case int() | float():
            yield record(9 if tokens else 5, place + struct.pack("<d", stored) + tokens)
        case dt.date() | dt.time() | dt.timedelta():
            number = to_excel(stored, cell.parent.parent.epoch)
            yield record(9 if tokens else 5, place + struct.pack("<d", number) + tokens)
        case str() if stored in _ERRORS and cell.data_type in {"e", "f"}:
            yield record(11 if tokens else 3, place + bytes([_ERRORS[stored]]) + tokens)
        case _:
            yield record(8 if tokens else 6, place + _text(str(stored)) + tokens)


def _formula(text: str) -> bytes:
    """Return the tokens of a formula: of a sum or subtotal exactly, of any other the number 0."""
    found = _SUM.fullmatch(text)
    if found is None:
        return _NOTHING
    name, left, top, right, bottom = found.groups()
    columns = column_index_from_string(left) - 1, column_index_from_string(right) - 1
    area = struct.pack("<BIIHH", 0x25, int(top) - 1, int(bottom) - 1, *columns)
    if name == "SUM":
        return area + b"\x19\x10\x00\x00"
    return b"\x1e\x09\x00" + area + struct.pack("<BBH", 0x42, 2, 344)
