"""Scan of an .xlsb workbook's records for facts that the parser does not return ([MS-XLSB]).

Runs only with limited memory and time.
"""

import struct
from collections.abc import Iterator, Sequence

from xlbridge.workbook.read.archive import WorkbookArchive
from xlbridge.workbook.read.cells import RawSheet
from xlbridge.workbook.read.package import PackageParts, document_properties
from xlbridge.workbook.read.refusals import damaged
from xlbridge.workbook.read.xls_scan import BookStyles, add_formula, conditional_formats, error_name
from xlbridge.workbook.signature import TEMPLATE_PROPERTY, exported_resource

_CUSTOM = "docprops/custom.xml"
_PROPERTIES, _SHEET, _CALCULATION = 153, 156, 157
_FORMAT, _FONT, _STYLE, _STYLES_BEGIN, _STYLES_END = 44, 43, 47, 617, 618
_CONDITIONAL_STYLE, _CONDITIONAL_RANGES, _CONDITIONAL_RULE = 507, 461, 463
_FORMAT_PROPERTY, _FORMAT_NUMBER_PROPERTY = 0x26, 0x29
_ROW, _COLUMNS, _MERGED, _TABLE = 0, 60, 176, 343
_ERROR, _FORMULA_TEXT, _FORMULA_NUMBER, _FORMULA_BOOLEAN, _FORMULA_ERROR = 3, 8, 9, 10, 11
_BLANK, _CELLS = 1, range(1, 12)
_SHARED_TEXT, _SHARED_TEXT_CELL, _RICH_TEXT_CELL = 19, 7, 62
_FORMULA_VALUE = {_FORMULA_NUMBER: 8, _FORMULA_BOOLEAN: 1, _FORMULA_ERROR: 1}
_STRUCK, _HIDDEN_ROW, _CALCULATED_ON_LOAD = 0x8, 0x10, 0x1
_MAX_SIZE_BYTES = 4


class XlsbScan:
    """Scan of an .xlsb workbook."""

    def __init__(self, archive: WorkbookArchive) -> None:
        """Raise ``WorkbookRefused`` or ``struct.error`` if the records are damaged."""
        self._archive = archive
        self._sheets: dict[str, str] = {}
        self._is_calculated = True
        self._conditional_codes: list[str] = []
        self._parts = parts = PackageParts(archive)
        self._styles, within = BookStyles(), False
        for kind, data in self._records(parts.styles or ""):
            if kind in (_STYLES_BEGIN, _STYLES_END):
                within = kind == _STYLES_BEGIN
            elif kind == _FORMAT:
                self._styles.codes[struct.unpack_from("<H", data)[0]] = _text(data, 2)[0]
            elif kind == _FONT:
                is_struck = bool(struct.unpack_from("<H", data, 2)[0] & _STRUCK)
                self._styles.fonts.append(is_struck)
            elif kind == _STYLE and within:
                self._styles.cells.append(struct.unpack_from("<2xHH", data))
            elif kind == _CONDITIONAL_STYLE:
                self._conditional_codes.append(self._conditional_code(data))
        if parts.texts is not None and any(self._styles.fonts):
            texts = (data for kind, data in self._records(parts.texts) if kind == _SHARED_TEXT)
            for index, data in enumerate(texts):
                text, pieces = self._rich_text(data)
                if pieces:
                    self._styles.struck_texts[index] = pieces, len(text)
        for kind, data in self._records(parts.workbook):
            if kind == _PROPERTIES:
                self._styles.uses_1904_dates = bool(struct.unpack_from("<I", data)[0] & 1)
            elif kind == _CALCULATION:
                flags = struct.unpack_from("<24xH", data)[0] if len(data) >= 26 else 0
                self._is_calculated = not flags & _CALCULATED_ON_LOAD
            elif kind == _SHEET:
                relation, offset = _text(data, 8)
                name, _ = _text(data, offset)
                self._sheets[name] = parts.sheet(relation)
        properties = document_properties(archive.read(_CUSTOM))
        self.fingerprint = properties.get(TEMPLATE_PROPERTY)
        self.exported = exported_resource(properties)

    def sheet(self, name: str) -> RawSheet:
        """Return the facts of a sheet."""
        raw, row = self._styles.new_sheet(), 0
        part = self._sheets.get(name, "")
        for kind, data in (it for table in self._parts.tables(part) for it in self._records(table)):
            if kind == _TABLE:
                last, count = struct.unpack_from("<4xI20xI", data)
                raw.layout.add_totals_rows(last + 1, count)
        ranges: Sequence[tuple[int, int, int, int]] = ()
        for kind, data in self._records(part):
            if kind == _ROW:
                index, height, flags = struct.unpack_from("<I4xHxB", data)
                row = index + 1
                if flags & _HIDDEN_ROW or not height:
                    raw.layout.hidden_rows.add(row)
            elif kind in _CELLS:
                column, style = struct.unpack_from("<II", data)
                raw.add_style(row, column, style & 0xFFFFFF)
                if kind != _BLANK:
                    raw.extent.add(row, column)
                self._add_content(raw, row, column, kind, data)
            elif kind == _RICH_TEXT_CELL:
                column, style = struct.unpack_from("<II", data)
                raw.add_style(row, column, style & 0xFFFFFF)
                raw.extent.add(row, column)
                # The parser leaves these cells out.
                text, pieces = self._rich_text(data[8:])
                raw.replaced[row, column] = text
                raw.add_struck_text(row, column, pieces, len(text))
            elif kind == _CONDITIONAL_RANGES:
                (count,) = struct.unpack_from("<8xI", data)
                ranges = list(struct.iter_unpack("<IIII", data[12 : 12 + 16 * count]))
            elif kind == _CONDITIONAL_RULE:
                (style,) = struct.unpack_from("<8xI", data)
                codes = self._conditional_codes[style : style + 1]
                raw.conditional_formats += conditional_formats(ranges, filter(None, codes))
            elif kind == _COLUMNS:
                first, last, width, flags = struct.unpack_from("<III4xH", data)
                if flags & 1 or not width:
                    raw.layout.hidden_columns.append((first, last))
            elif kind == _MERGED:
                top, bottom, left, right = struct.unpack_from("<IIII", data)
                raw.layout.merged.append((top + 1, left, bottom + 1, right))
        return raw

    def _add_content(self, raw: RawSheet, row: int, column: int, kind: int, data: bytes) -> None:
        """Add a cell's struck text, its error or its formula."""
        if kind == _SHARED_TEXT_CELL and self._styles.struck_texts:
            (index,) = struct.unpack_from("<I", data, 8)
            raw.add_struck_text(row, column, *self._styles.struck_text(index))
        if kind in (_ERROR, _FORMULA_ERROR):
            raw.errors[row, column] = error_name(struct.unpack_from("<B", data, 8)[0])
        if kind < _FORMULA_TEXT:
            return
        value = 4 + 2 * struct.unpack_from("<I", data, 8)[0] if kind == _FORMULA_TEXT else 0
        offset = 8 + (value or _FORMULA_VALUE[kind]) + 2
        if not self._is_calculated and kind == _FORMULA_NUMBER and not any(data[8:16]):
            raw.without_result.add((row, column))
        (size,) = struct.unpack_from("<I", data, offset)
        add_formula(raw, row, column, data[offset + 4 : offset + 4 + size], "I")

    def _conditional_code(self, data: bytes) -> str:
        """Return the number format of a conditional format's style, empty if it has none."""
        (count,), offset, code = struct.unpack_from("<4xH", data), 6, ""
        for _ in range(count):
            kind, size = struct.unpack_from("<HH", data, offset)
            if kind == _FORMAT_NUMBER_PROPERTY and not code:
                code = self._styles.format_code(struct.unpack_from("<H", data, offset + 4)[0])
            elif kind == _FORMAT_PROPERTY:
                (length,) = struct.unpack_from("<H", data, offset + 4)
                code = data[offset + 6 : offset + 6 + 2 * length].decode("utf-16-le", "replace")
            offset += max(size, 4)
        return code

    def _rich_text(self, data: bytes) -> tuple[str, list[tuple[int, int]]]:
        """Return a text, and the begins and the ends of its struck pieces."""
        (flags,), (text, end) = struct.unpack_from("<B", data), _text(data, 1)
        if not flags & 1:
            return text, []
        (count,) = struct.unpack_from("<I", data, end)
        runs = data[end + 4 : end + 4 + 4 * count]
        return text, self._styles.struck_pieces(runs[: len(runs) // 4 * 4], len(text))

    def _records(self, part: str) -> Iterator[tuple[int, bytes]]:
        content = self._archive.read(part)
        offset = 0
        while offset < len(content):
            kind, offset = _variable_integer(content, offset, 2)
            size, offset = _variable_integer(content, offset, _MAX_SIZE_BYTES)
            yield kind, content[offset : offset + size]
            offset += size


def _variable_integer(content: bytes, offset: int, max_bytes: int) -> tuple[int, int]:
    """Return an integer of seven bits per byte, and the offset after it."""
    number = shift = 0
    for byte in content[offset : offset + max_bytes]:
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80 or shift == 7 * max_bytes:
            return number, offset + shift // 7
    raise damaged()


def _text(data: bytes, offset: int) -> tuple[str, int]:
    (length,) = struct.unpack_from("<I", data, offset)
    end = offset + 4 + 2 * length
    return data[offset + 4 : end].decode("utf-16-le", "replace"), end
