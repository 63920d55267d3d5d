"""Scans of .xls and .xlsb workbooks' records for facts that the parser does not return.

Both binary formats of Excel have styles, rich texts, errors and formulas, in records of other
widths: what both share comes first. Run only with limited memory and time. Sources: [MS-XLS],
BIFF8; [MS-XLSB].
"""

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from io import BytesIO

from olefile import OleFileIO

from xlbridge.workbook.address import CellRange
from xlbridge.workbook.encryption import decrypted
from xlbridge.workbook.formats import format_code, significant_styles
from xlbridge.workbook.read.archive import WorkbookArchive
from xlbridge.workbook.read.cells import RawSheet, SheetLayout
from xlbridge.workbook.read.package import PackageParts, document_properties
from xlbridge.workbook.read.refusals import damaged, encrypted, other_ole_file
from xlbridge.workbook.signature import TEMPLATE_PROPERTY, exported_resource

_ERRORS: Mapping[int, str] = {
    0x00: "#NULL!", 0x07: "#DIV/0!", 0x0F: "#VALUE!", 0x17: "#REF!", 0x1D: "#NAME?",
    0x24: "#NUM!", 0x2A: "#N/A", 0x2B: "#GETTING_DATA",
}  # fmt: skip
_AREA = frozenset({0x25, 0x45, 0x65})
_CALL = frozenset({0x22, 0x42, 0x62})
_SUM_MARK = b"\x19\x10"
_CALL_SIZE = 4
_COLUMN_MASK = 0x3FFF
_SUMMING = frozenset({0, 4, 5, 6, 7, 169})
"""Numbers of COUNT, SUM, AVERAGE, MIN, MAX and COUNTA."""

_SUBTOTAL = 344


StruckText = tuple[list[tuple[int, int]], int]
"""Begins and ends of the struck pieces of a text, and its length."""


@dataclass
class BookStyles:
    """Styles and dates of a workbook, filled record by record.

    ``codes``: the file's number formats by number; ``fonts``: whether each font strikes cells
    through; ``cells``: the number format and the font of each cell style. ``struck_texts``: the
    indexes of shared texts that are struck through, with the struck pieces and the text's length.
    """

    codes: dict[int, str] = field(default_factory=dict)
    fonts: list[bool] = field(default_factory=list)
    cells: list[tuple[int, int]] = field(default_factory=list)
    struck_texts: dict[int, StruckText] = field(default_factory=dict)
    uses_1904_dates: bool = False

    @cached_property
    def _significant(self) -> tuple[dict[int, str], frozenset[int]]:
        return significant_styles(
            (self.format_code(number), self._is_struck(font)) for number, font in self.cells
        )

    def format_code(self, number: int) -> str:
        """Return the code of a number format by its number."""
        return format_code(str(number), self.codes.get(number, ""))

    def _is_struck(self, font: int) -> bool:
        return font < len(self.fonts) and self.fonts[font]

    def struck_text(self, index: int) -> StruckText:
        """Return the struck pieces of a shared text, and its length if there are any."""
        return self.struck_texts.get(index, ([], 0))

    def struck_pieces(self, runs: bytes, length: int) -> list[tuple[int, int]]:
        """Return the begins and the ends of the struck pieces of a rich text of some length;
        ``runs`` are the first characters and the fonts of its runs."""
        found = [(min(start, length), font) for start, font in struct.iter_unpack("<HH", runs)]
        ends = [*(start for start, _ in found[1:]), length]
        return [
            (start, end)
            for (start, font), end in zip(found, ends, strict=False)
            if self._is_struck(font)
        ]

    def new_sheet(self) -> RawSheet:
        """Return the facts of a sheet without cells."""
        formats, struck = self._significant
        return RawSheet(formats=formats, struck=struck, uses_1904_dates=self.uses_1904_dates)


def conditional_formats(
    ranges: Iterable[tuple[int, int, int, int]], codes: Iterable[str]
) -> list[tuple[str, CellRange]]:
    """Return number formats of a conditional format with its ranges: the first and the last row,
    then the columns, all zero-based."""
    corners = [(top + 1, left, bottom + 1, right) for top, bottom, left, right in ranges]
    return [(code, corner) for code in codes for corner in corners]


def error_name(number: int) -> str:
    """Return an error by its number ([MS-XLSB], 2.5.97.2)."""
    return _ERRORS.get(number, "#N/A")


def add_formula(raw: RawSheet, row: int, column: int, tokens: bytes, row_format: str) -> None:
    """Add a formula; mark its row if it sums a part of its own column, or is a subtotal.

    ``row_format`` is the struct format of row numbers in its ``tokens``.
    """
    raw.layout.add_formula(row, column)
    called = None
    if len(tokens) >= _CALL_SIZE and tokens[-_CALL_SIZE] in _CALL:
        called = struct.unpack_from("<H", tokens, len(tokens) - 2)[0] & 0x7FFF
    area = struct.Struct(f"<B{row_format}{row_format}HH")
    is_sum = called == _SUBTOTAL
    if len(tokens) == area.size + _CALL_SIZE and tokens[0] in _AREA:
        *_, first, last = area.unpack_from(tokens)
        if called in _SUMMING or tokens[area.size :].startswith(_SUM_MARK):
            is_sum |= first & _COLUMN_MASK == last & _COLUMN_MASK == column
    if is_sum:
        raw.layout.summed_rows.add(row)


_STREAM, _SUMMARY = "Workbook", "\x05SummaryInformation"


def _workbook_stream(content: bytes) -> tuple[bytes, bool]:
    """Return the stream of the workbook in an OLE file, and whether the file has a summary.

    Raises ``WorkbookRefused``.
    """
    try:
        with OleFileIO(BytesIO(content)) as file:
            file.loadminifat()
            stream: bytes = file.openstream(_STREAM).read()
            for entry in filter(None, file.direntries):
                _require_end(entry.isectStart, file.minifat if entry.is_minifat else file.fat)
            for start in (file.first_dir_sector, file.first_mini_fat_sector):
                _require_end(start, file.fat)
            if len(stream) != file.get_size(_STREAM):
                raise damaged()
            return stream, bool(file.exists(_SUMMARY))
    except (OSError, IndexError, OverflowError) as error:
        raise damaged() from error


def _require_end(sector: int, following: Sequence[int]) -> None:
    """Raise ``WorkbookRefused`` if a chain of sectors has no end: the parser would not end."""
    for _ in range(len(following) + 1):
        if sector >= len(following):
            return
        sector = following[sector]
    raise damaged()


_BOF, _EOF = 0x809, 0x0A
_FONT, _FORMAT, _STYLE = 0x31, 0x41E, 0xE0
_FILEPASS, _DATEMODE, _BOUNDSHEET = 0x2F, 0x22, 0x85
_ROW, _COLUMNS, _MERGED, _FORMULA, _ERROR = 0x208, 0x7D, 0xE5, 0x06, 0x205
_RUNS = {0xBD: 6, 0xBE: 2}
"""Records of several cells of a row, numbers or blanks, with the size of a cell."""

_SHARED_TEXTS, _CONTINUE, _SHARED_TEXT_CELL, _RICH_TEXT_CELL = 0xFC, 0x3C, 0xFD, 0xD6
_CELLS = frozenset(
    {_FORMULA, _ERROR, _SHARED_TEXT_CELL, _RICH_TEXT_CELL, 0x201, 0x203, 0x204, 0x27E}
)
_CONDITIONAL_RANGES, _CONDITIONAL_RULE = 0x1B0, 0x1B1
_LATER_CONDITIONAL_RANGES, _LATER_CONDITIONAL_RULE, _LATER_HEADER = 0x879, 0x87A, 12
"""Conditional formats of Excel 2007 and later, whose records start with a header of this size."""

_FEATURES, _TABLE = frozenset({0x872, 0x878}), 5
"""Shared features of a sheet, and the one of them that is a table, as Excel 2003 and later write
it."""

_HAS_FORMAT, _HAS_OWN_FORMAT = 1 << 25, 1
_WIDE, _HAS_PHONETICS, _HAS_RUNS = 0x1, 0x4, 0x8
_BIFF8 = 0x600
_STRUCK, _HIDDEN_ROW = 0x8, 0x20
_NO_NUMBER, _IS_ERROR, _IS_EMPTY = 0xFFFF, 2, 3
_CALCULATED_ON_LOAD = 0x2
_NOT_CALCULATED = 0x5E
_YEAR_OF_OTHERS = 1996
"""Year in the first record of files by other programs, or by Excel 97; later ones have another."""

_SKIPPED_FONT = 4
"""Font number that is never used: the following fonts have numbers higher by one."""


def without_password(content: bytes) -> bytes:
    """Return an .xls workbook as it is without Excel's default password.

    Raises ``WorkbookRefused`` if it has another password.
    """
    stream, _ = _workbook_stream(content)
    if all(kind != _FILEPASS for kind, _ in _records(stream, 0)):
        return content
    if (plain := decrypted(content)) is None:
        raise encrypted()
    return plain


class XlsScan:
    """Scan of an .xls workbook."""

    def __init__(self, content: bytes) -> None:
        """Raise ``WorkbookRefused`` or ``struct.error`` if the records are damaged."""
        # Custom properties of the format are not read.
        self.fingerprint: str | None = None
        self.exported: str | None = None
        self._stream, has_summary = _workbook_stream(content)
        self._offsets: dict[str, int] = {}
        self._styles = styles = BookStyles()
        texts, in_texts = list[bytes](), False
        for kind, data in _records(self._stream, 0):
            in_texts = kind == _SHARED_TEXTS or (in_texts and kind == _CONTINUE)
            if in_texts:
                texts.append(data)
            elif kind == _FONT:
                if len(styles.fonts) == _SKIPPED_FONT:
                    styles.fonts.append(False)
                styles.fonts.append(bool(struct.unpack_from("<H", data, 2)[0] & _STRUCK))
            elif kind == _FORMAT:
                styles.codes[struct.unpack_from("<H", data)[0]] = _text(data, 2, "<H")
            elif kind == _STYLE:
                font, number = struct.unpack_from("<HH", data)
                styles.cells.append((number, font))
            elif kind == _BOF:
                version, year, marks = struct.unpack_from("<H4xHI", data)
                if version != _BIFF8:
                    raise other_ole_file()
                self._is_foreign = year == _YEAR_OF_OTHERS
                self._cannot_calculate = not marks and not has_summary
            elif kind == _DATEMODE:
                styles.uses_1904_dates = data[:1] == b"\x01"
            elif kind == _BOUNDSHEET:
                self._offsets[_text(data, 6, "<B")] = struct.unpack_from("<I", data)[0]
        if any(styles.fonts):
            for index, (length, runs) in enumerate(_SharedTexts(texts).runs()):
                if runs and (pieces := styles.struck_pieces(runs, length)):
                    styles.struck_texts[index] = pieces, length

    def sheet(self, name: str) -> RawSheet:
        """Return the facts of a sheet."""
        raw = self._styles.new_sheet()
        is_calculated = True
        ranges: Sequence[tuple[int, int, int, int]] = ()
        start = self._offsets.get(name, len(self._stream))
        for kind, data in _records(self._stream, start):
            if kind in _CELLS:
                index, column, style = struct.unpack_from("<HHH", data)
                row = index + 1
                raw.add_style(row, column, style)
                if kind == _ERROR:
                    number, is_error = struct.unpack_from("<BB", data, 6)
                    if is_error:
                        raw.errors[row, column] = error_name(number)
                elif kind == _FORMULA:
                    self._add_formula(raw, row, column, data, is_calculated)
                elif kind in (_SHARED_TEXT_CELL, _RICH_TEXT_CELL):
                    raw.add_struck_text(row, column, *self._struck_text(kind, data))
            elif kind in _RUNS:
                row, first = struct.unpack_from("<HH", data)
                for column, offset in enumerate(range(4, len(data) - 3, _RUNS[kind]), first):
                    raw.add_style(row + 1, column, struct.unpack_from("<H", data, offset)[0])
            elif kind == _NOT_CALCULATED:
                is_calculated = False
            elif kind in (_CONDITIONAL_RANGES, _LATER_CONDITIONAL_RANGES):
                offset = 12 + _LATER_HEADER * (kind == _LATER_CONDITIONAL_RANGES)
                (count,) = struct.unpack_from("<H", data, offset)
                data = data[offset + 2 : offset + 2 + 8 * count]
                ranges = list(struct.iter_unpack("<HHHH", data))
            elif kind in (_CONDITIONAL_RULE, _LATER_CONDITIONAL_RULE):
                codes = filter(None, [self._conditional_code(kind, data)])
                raw.conditional_formats += conditional_formats(ranges, codes)
            else:
                _add_layout(raw.layout, kind, data)
        return raw

    def _struck_text(self, kind: int, data: bytes) -> StruckText:
        """Return the struck pieces of a cell's text, and its length if there are any."""
        if kind == _SHARED_TEXT_CELL:
            (index,) = struct.unpack_from("<I", data, 6)
            return self._styles.struck_text(index)
        length, wide = struct.unpack_from("<HB", data, 6)
        end = 9 + length * (1 + (wide & _WIDE))
        (count,) = struct.unpack_from("<H", data, end)
        runs = data[end + 2 : end + 2 + 4 * count]
        return self._styles.struck_pieces(runs[: len(runs) // 4 * 4], length), length

    def _conditional_code(self, kind: int, data: bytes) -> str:
        """Return the number format of a rule of a conditional format, empty if it has none."""
        offset = 6
        if kind == _LATER_CONDITIONAL_RULE:
            offset += _LATER_HEADER
            (size,) = struct.unpack_from("<I", data, offset)
            offset += 4
            if not size:
                return ""
        flags, own = struct.unpack_from("<IH", data, offset)
        if not flags & _HAS_FORMAT:
            return ""
        if own & _HAS_OWN_FORMAT:
            return _text(data, offset + 8, "<H")
        return self._styles.format_code(data[offset + 7])

    def _add_formula(
        self, raw: RawSheet, row: int, column: int, data: bytes, is_calculated: bool
    ) -> None:
        """Add a cell with a formula.

        Programs that cannot calculate write zero or an empty text, to be calculated on opening;
        in files of Excel both are results.
        """
        kind, number, mark, flags = struct.unpack_from("<BxB3xHH", data, 6)
        has_number = mark != _NO_NUMBER
        if not has_number and kind == _IS_ERROR:
            raw.errors[row, column] = error_name(number)
        if has_number:
            is_deferred = self._is_foreign and bool(flags & _CALCULATED_ON_LOAD)
            is_missing = not any(data[6:14]) and (is_deferred or not is_calculated)
        else:
            is_missing = kind == _IS_EMPTY and (self._cannot_calculate or not is_calculated)
        if is_missing:
            raw.without_result.add((row, column))
        (size,) = struct.unpack_from("<H", data, 20)
        add_formula(raw, row, column, data[22 : 22 + size], "H")


def _add_layout(layout: SheetLayout, kind: int, data: bytes) -> None:
    """Add a record of rows, columns, merged cells or a table."""
    if kind == _ROW:
        row, height, flags = struct.unpack_from("<H4xH4xH", data)
        if flags & _HIDDEN_ROW or not height:
            layout.hidden_rows.add(row + 1)
    elif kind == _COLUMNS:
        first, last, width, flags = struct.unpack_from("<HHH2xH", data)
        if flags & 1 or not width:
            layout.hidden_columns.append((first, last))
    elif kind == _MERGED:
        (count,) = struct.unpack_from("<H", data)
        for number in range(count):
            top, bottom, left, right = struct.unpack_from("<HHHH", data, 2 + 8 * number)
            layout.merged.append((top + 1, left, bottom + 1, right))
    elif kind in _FEATURES and struct.unpack_from("<H", data, 12)[0] == _TABLE:
        (ranges,) = struct.unpack_from("<H", data, 19)
        (last,) = struct.unpack_from("<2xH", data, 27)
        (count,) = struct.unpack_from("<12xI", data, 27 + 8 * ranges)
        layout.add_totals_rows(last + 1, count)


def _records(stream: bytes, start: int) -> Iterator[tuple[int, bytes]]:
    """Yield the records of the substream at an offset, without nested ones."""
    offset, depth = start, 0
    while offset + 4 <= len(stream):
        kind, size = struct.unpack_from("<HH", stream, offset)
        data = stream[offset + 4 : offset + 4 + size]
        offset += 4 + size
        depth += (kind == _BOF) - (kind == _EOF)
        if depth <= 0:
            return
        if depth == 1:
            yield kind, data


class _SharedTexts:
    """Shared texts of a workbook, in a record and its continuations."""

    def __init__(self, records: Sequence[bytes]) -> None:
        self._records = records
        self._number, self._offset = 0, 0

    def runs(self) -> Iterator[tuple[int, bytes]]:
        """Yield the length of each text and its runs of characters, empty for a plain text."""
        if not self._records:
            return
        _, count = struct.unpack("<II", self._take(8))
        for _ in range(count):
            length, flags = struct.unpack("<HB", self._take(3))
            run_count = struct.unpack("<H", self._take(2))[0] if flags & _HAS_RUNS else 0
            size = struct.unpack("<I", self._take(4))[0] if flags & _HAS_PHONETICS else 0
            self._skip_characters(length, flags & _WIDE)
            runs = self._take(4 * run_count)
            self._take(size)
            yield length, runs

    def _take(self, size: int) -> bytes:
        """Return the next bytes, over the ends of records. Raises ``struct.error`` at the end."""
        taken = bytearray()
        while len(taken) < size:
            if self._offset == len(self._records[self._number]):
                self._number, self._offset = self._number + 1, 0
                if self._number == len(self._records):
                    raise struct.error
            piece = self._records[self._number][self._offset :][: size - len(taken)]
            self._offset += len(piece)
            taken += piece
        return bytes(taken)

    def _skip_characters(self, length: int, wide: int) -> None:
        """Skip characters; each record in which they continue says anew how wide they are."""
        while length:
            size = len(self._records[self._number]) - self._offset
            count = min(length, size // (1 + wide))
            self._offset += count * (1 + wide)
            length -= count
            if length:
                wide = self._take(1)[0] & _WIDE


def _text(data: bytes, offset: int, length_format: str) -> str:
    (length,) = struct.unpack_from(length_format, data, offset)
    offset += struct.calcsize(length_format)
    (wide,) = struct.unpack_from("<B", data, offset)
    if wide & 1:
        return data[offset + 1 : offset + 1 + 2 * length].decode("utf-16-le", "replace")
    return data[offset + 1 : offset + 1 + length].decode("latin-1")


_CUSTOM = "docprops/custom.xml"
_PROPERTIES, _SHEET, _CALCULATION = 153, 156, 157
_XLSB_FORMAT, _XLSB_FONT, _XLSB_STYLE, _STYLES_BEGIN, _STYLES_END = 44, 43, 47, 617, 618
_CONDITIONAL_STYLE, _XLSB_CONDITIONAL_RANGES, _XLSB_CONDITIONAL_RULE = 507, 461, 463
_FORMAT_PROPERTY, _FORMAT_NUMBER_PROPERTY = 0x26, 0x29
_XLSB_ROW, _XLSB_COLUMNS, _XLSB_MERGED, _XLSB_TABLE = 0, 60, 176, 343
_XLSB_ERROR, _FORMULA_TEXT, _FORMULA_NUMBER, _FORMULA_BOOLEAN, _FORMULA_ERROR = 3, 8, 9, 10, 11
_BLANK, _XLSB_CELLS = 1, range(1, 12)
_SHARED_TEXT, _XLSB_SHARED_TEXT_CELL, _XLSB_RICH_TEXT_CELL = 19, 7, 62
_FORMULA_VALUE = {_FORMULA_NUMBER: 8, _FORMULA_BOOLEAN: 1, _FORMULA_ERROR: 1}
_XLSB_STRUCK, _XLSB_HIDDEN_ROW, _XLSB_CALCULATED_ON_LOAD = 0x8, 0x10, 0x1
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
            elif kind == _XLSB_FORMAT:
                self._styles.codes[struct.unpack_from("<H", data)[0]] = _xlsb_text(data, 2)[0]
            elif kind == _XLSB_FONT:
                is_struck = bool(struct.unpack_from("<H", data, 2)[0] & _XLSB_STRUCK)
                self._styles.fonts.append(is_struck)
            elif kind == _XLSB_STYLE and within:
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
                self._is_calculated = not flags & _XLSB_CALCULATED_ON_LOAD
            elif kind == _SHEET:
                relation, offset = _xlsb_text(data, 8)
                name, _ = _xlsb_text(data, offset)
                self._sheets[name] = parts.sheet(relation)
        properties = document_properties(archive.read(_CUSTOM))
        self.fingerprint = properties.get(TEMPLATE_PROPERTY)
        self.exported = exported_resource(properties)

    def sheet(self, name: str) -> RawSheet:
        """Return the facts of a sheet."""
        raw, row = self._styles.new_sheet(), 0
        part = self._sheets.get(name, "")
        for kind, data in (it for table in self._parts.tables(part) for it in self._records(table)):
            if kind == _XLSB_TABLE:
                last, count = struct.unpack_from("<4xI20xI", data)
                raw.layout.add_totals_rows(last + 1, count)
        ranges: Sequence[tuple[int, int, int, int]] = ()
        for kind, data in self._records(part):
            if kind == _XLSB_ROW:
                index, height, flags = struct.unpack_from("<I4xHxB", data)
                row = index + 1
                if flags & _XLSB_HIDDEN_ROW or not height:
                    raw.layout.hidden_rows.add(row)
            elif kind in _XLSB_CELLS:
                column, style = struct.unpack_from("<II", data)
                raw.add_style(row, column, style & 0xFFFFFF)
                if kind != _BLANK:
                    raw.extent.add(row, column)
                self._add_content(raw, row, column, kind, data)
            elif kind == _XLSB_RICH_TEXT_CELL:
                column, style = struct.unpack_from("<II", data)
                raw.add_style(row, column, style & 0xFFFFFF)
                raw.extent.add(row, column)
                # The parser leaves these cells out.
                text, pieces = self._rich_text(data[8:])
                raw.replaced[row, column] = text
                raw.add_struck_text(row, column, pieces, len(text))
            elif kind == _XLSB_CONDITIONAL_RANGES:
                (count,) = struct.unpack_from("<8xI", data)
                ranges = list(struct.iter_unpack("<IIII", data[12 : 12 + 16 * count]))
            elif kind == _XLSB_CONDITIONAL_RULE:
                (style,) = struct.unpack_from("<8xI", data)
                codes = self._conditional_codes[style : style + 1]
                raw.conditional_formats += conditional_formats(ranges, filter(None, codes))
            elif kind == _XLSB_COLUMNS:
                first, last, width, flags = struct.unpack_from("<III4xH", data)
                if flags & 1 or not width:
                    raw.layout.hidden_columns.append((first, last))
            elif kind == _XLSB_MERGED:
                top, bottom, left, right = struct.unpack_from("<IIII", data)
                raw.layout.merged.append((top + 1, left, bottom + 1, right))
        return raw

    def _add_content(self, raw: RawSheet, row: int, column: int, kind: int, data: bytes) -> None:
        """Add a cell's struck text, its error or its formula."""
        if kind == _XLSB_SHARED_TEXT_CELL and self._styles.struck_texts:
            (index,) = struct.unpack_from("<I", data, 8)
            raw.add_struck_text(row, column, *self._styles.struck_text(index))
        if kind in (_XLSB_ERROR, _FORMULA_ERROR):
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
        (flags,), (text, end) = struct.unpack_from("<B", data), _xlsb_text(data, 1)
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


def _xlsb_text(data: bytes, offset: int) -> tuple[str, int]:
    (length,) = struct.unpack_from("<I", data, offset)
    end = offset + 4 + 2 * length
    return data[offset + 4 : end].decode("utf-16-le", "replace"), end
