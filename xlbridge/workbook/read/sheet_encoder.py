"""Encoder of a sheet's rows, and the budget of cells and text that a workbook's sheets share.

A text stands in the file once, however many cells refer to it: a few kilobytes can stand for
gigabytes. The shared texts are summed before a parser copies each of them; only long ones are
looked into, as short ones cannot grow a sheet much beyond its own XML.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from xlbridge.i18n import Text
from xlbridge.settings import WorkbookLimits
from xlbridge.workbook.read.cells import CellEncoder
from xlbridge.workbook.read.messages import RowsRead
from xlbridge.workbook.read.refusals import cells_too_far_apart, text_too_long, too_large

if TYPE_CHECKING:
    from xlbridge.workbook.read.package import Package


_LONG = 256
"""Bytes of a shared text with its markup up to which it is a short one."""

_MAX_COUNTED = 16
"""Long texts whose references are counted one by one, which is quick, before all are looked at."""

_MAX_ROWS = 2**20
_END_OF_TEXT = re.compile(rb"</(?:\w+:)?si\s*>|<(?:\w+:)?si\s*/>")
_ODD_ENDS = (b":si", b"<si/", b"<si ", b"</si ")
_MARKUP = re.compile(rb"<[^>]*>")
_RUN = re.compile(rb"<(?:\w+:)?r\s*>.*?</(?:\w+:)?r\s*>", re.DOTALL)
_STRUCK = re.compile(rb"""<(?:\w+:)?strike\s*(?:/|>|val\s*=\s*["'](?:1|true|on))""")
_REFERENCE = re.compile(
    rb"""\bt\s*=\s*["']s["'][^>]*>(?:\s*<(?:\w+:)?f\b[^>]*>[^<]*</(?:\w+:)?f>)?"""
    rb"""\s*<(?:\w+:)?v\b[^>]*>\s*(\d{1,9})"""
)
_LONGEST_REFERENCE = 4096


class SharedTexts:
    """The shared texts of a workbook that are long, by their index."""

    def __init__(self, package: "Package") -> None:
        self._package = package
        self._long: dict[int, int] | None = None

    def letters_beyond(self, sheet: str, most: int, per_row: int) -> int | None:
        """Return the most letters that a sheet's cells may have, where those of its texts are more.

        That is ``most``, and ``per_row`` more for each row; None where the texts keep to it.
        """
        if self._long is None:
            self._long = dict(_long_texts(self._package.shared_pieces()))
        if not self._long:
            return None
        most, letters = most + self._rows(sheet, per_row) * per_row, 0
        if self._letters_at_most(sheet) <= most:
            return None
        for index in _references(self._package.sheet_pieces(sheet)):
            letters += self._long.get(index, 0)
            if letters > most:
                return most
        return None

    def struck(self) -> frozenset[int]:
        """Return the indexes of the rich texts that are struck through as a whole."""
        content = b"".join(self._package.shared_pieces())
        if b"strike" not in content:
            return frozenset()
        texts = _split_texts(content)
        return frozenset(index for index, text in enumerate(texts) if _is_struck(text))

    def _rows(self, sheet: str, per_row: int) -> int:
        if not per_row:
            return 0
        ends = sum(piece.count(b"row>") for piece in self._package.sheet_pieces(sheet))
        return min(ends, _MAX_ROWS)

    def _letters_at_most(self, sheet: str) -> int:
        """Return how many letters the long texts can have at most; numbers may look like them."""
        long = self._long or {}
        if len(long) > _MAX_COUNTED:
            return self._package.sheet_size(sheet) * max(long.values())
        letters = 0
        for piece in self._package.sheet_pieces(sheet):
            letters += sum(piece.count(b">%d<" % index) * size for index, size in long.items())
        return letters


def _is_struck(text: bytes) -> bool:
    """Return whether each run of a text is struck through."""
    runs = _RUN.findall(text)
    return bool(runs) and all(_STRUCK.search(run) for run in runs)


def _long_texts(pieces: Iterable[bytes]) -> Iterator[tuple[int, int]]:
    """Yield the index and the length of each long text."""
    index, rest = 0, b""
    for piece in pieces:
        *texts, rest = _split_texts(rest + piece)
        for number, text in enumerate(texts, index):
            if len(text) > _LONG:
                yield number, len(_MARKUP.sub(b"", text).decode("utf-8", "replace"))
        index += len(texts)


def _split_texts(block: bytes) -> list[bytes]:
    """Split a block after each text; nearly every program writes their ends in one way."""
    if any(odd in block for odd in _ODD_ENDS):
        return _END_OF_TEXT.split(block)
    return block.split(b"</si>")


def _references(pieces: Iterable[bytes]) -> Iterator[int]:
    """Yield the index of each shared text that a cell refers to."""
    rest = b""
    for piece in pieces:
        block, end = rest + piece, 0
        for found in _REFERENCE.finditer(block):
            if found.end() == len(block):
                break
            end = found.end()
            yield int(found[1])
        rest = block[max(end, len(block) - _LONGEST_REFERENCE) :]


_CELL_TEXT = Text(pt="o texto das células", en="the cells' text")
_ROWS_AT_ONCE = 4096


class Budget:
    """Budget of cells and text that all sheets of a workbook share, whatever its format."""

    def __init__(self, limits: WorkbookLimits) -> None:
        self._limits = limits
        self._cells = 0
        self._letters = 0

    def check_cells(self, cells: int) -> None:
        """Raise ``WorkbookRefused`` when a sheet has more cells than are left."""
        if self._cells + cells > self._limits.cells:
            raise cells_too_far_apart()

    def check_texts(self, sheet: str, encoders: Collection[CellEncoder]) -> None:
        """Raise ``WorkbookRefused`` when a sheet's texts are too long, one of them or all."""
        if max(encoder.longest for encoder in encoders) > self._limits.text_length:
            raise text_too_long(sheet, self._limits.text_length)
        rows = max(encoder.filled for encoder in encoders)
        most = self._limits.text_size + rows * self._limits.text_per_row
        if self._letters + _text_length(encoders) > most:
            raise too_large(_CELL_TEXT, most)

    def check_shared(self, sheet: str, shared: "SharedTexts") -> None:
        """Raise ``WorkbookRefused`` when a sheet refers to longer shared texts than it may."""
        left = self._limits.text_size - self._letters
        most = shared.letters_beyond(sheet, left, self._limits.text_per_row)
        if most is not None:
            raise too_large(_CELL_TEXT, most + self._letters)

    def end_sheet(self, cells: int, encoders: Iterable[CellEncoder]) -> None:
        """Take the cells and the texts of a whole sheet off the budget."""
        self._cells += cells
        self._letters += _text_length(encoders)


def _text_length(encoders: Iterable[CellEncoder]) -> int:
    return sum(encoder.letters for encoder in encoders)


class SheetEncoder:
    """Encoder of one sheet: turns the rows that a parser gives into messages, under the budget.

    ``shared`` are the shared texts by their index, where the rows hold references to them.
    """

    def __init__(self, name: str, budget: Budget, shared: Sequence[str] = ()) -> None:
        self._name = name
        self._budget = budget
        self._shared = shared
        self._encoders: dict[int, CellEncoder] = {}
        self._height = 0
        self._columns = range(0)

    def reserve(self, bottom: int, left: int, right: int) -> None:
        """Make room for cells down to the zero-based row ``bottom``; raise ``WorkbookRefused``."""
        known = self._columns or range(left, right + 1)
        self._columns = range(min(known.start, left), max(known.stop, right + 1))
        self._height = max(self._height, bottom + 1)
        self._budget.check_cells(self._height * len(self._columns))

    def encode(self, top: int, left: int, rows: Iterable[list[Any]]) -> Iterator[RowsRead]:
        """Yield rows that begin in the zero-based row ``top`` and column ``left``."""
        remaining = iter(rows)
        while batch := list(islice(remaining, _ROWS_AT_ONCE)):
            encoders = [self._encoder(left + place) for place in range(len(batch[0]))]
            columns = [
                encoder.encode(values)
                for encoder, values in zip(encoders, zip(*batch, strict=True), strict=True)
            ]
            if encoders:
                self._budget.check_texts(self._name, self._encoders.values())
            yield RowsRead(top, left, columns)
            top += len(batch)

    def end(self) -> None:
        """Take the sheet off the budget."""
        self._budget.end_sheet(self._height * len(self._columns), self._encoders.values())

    def _encoder(self, column: int) -> CellEncoder:
        if column not in self._encoders:
            self._encoders[column] = CellEncoder(self._shared)
        return self._encoders[column]
