"""Encoder of a sheet's rows, and the limits of cells and text for a workbook's sheets together."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from xlbridge.i18n import Text
from xlbridge.settings import WorkbookLimits
from xlbridge.workbook.address import MAX_ROWS
from xlbridge.workbook.read.cells import CellEncoder
from xlbridge.workbook.read.messages import RowsRead
from xlbridge.workbook.read.refusals import cells_too_far_apart, text_too_long, too_large

_MAX_SHORT_TEXT = 256
"""Maximum size, in bytes with markup, of a short shared text."""

_END_OF_TEXT = re.compile(rb"</(?:\w+:)?si\s*>|<(?:\w+:)?si\s*/>")
_MARKUP = re.compile(rb"<[^>]*>")
_RUN = re.compile(rb"<(?:\w+:)?r\s*>.*?</(?:\w+:)?r\s*>", re.DOTALL)
_STRUCK = re.compile(rb"""<(?:\w+:)?strike\s*(?:/|>|val\s*=\s*["'](?:1|true|on))""")
_REFERENCE = re.compile(
    rb"""\bt\s*=\s*["']s["'][^>]*>(?:\s*<(?:\w+:)?f\b[^>]*>[^<]*</(?:\w+:)?f>)?"""
    rb"""\s*<(?:\w+:)?v\b[^>]*>\s*(\d{1,9})"""
)
_LONGEST_REFERENCE = 4096


class SharedTexts:
    """Shared texts of a workbook: lengths of the long ones, indexes of those struck through.

    However many cells refer to a text, it is in the file once: a few kilobytes can become
    gigabytes. So the lengths of long texts are summed before a parser copies them for each cell;
    short ones cannot exceed a sheet's own XML by much.
    """

    def __init__(self, content: bytes) -> None:
        """Scan the part of the shared texts."""
        *texts, _ = _END_OF_TEXT.split(content)
        self.lengths = {
            index: len(_MARKUP.sub(b"", text).decode("utf-8", "replace"))
            for index, text in enumerate(texts)
            if len(text) > _MAX_SHORT_TEXT
        }
        self.struck = {index for index, text in enumerate(texts) if _is_struck(text)}

    def text_length(self, pieces: Iterable[bytes]) -> tuple[int, int]:
        """Return the total length of long texts in a sheet, and its number of rows."""
        length, rows, rest = 0, 0, b""
        for piece in pieces if self.lengths else ():
            block, end = rest + piece, 0
            rows += piece.count(b"row>")
            for found in _REFERENCE.finditer(block):
                if found.end() == len(block):
                    break
                end = found.end()
                length += self.lengths.get(int(found[1]), 0)
            rest = block[max(end, len(block) - _LONGEST_REFERENCE) :]
        return length, min(rows, MAX_ROWS)


def _is_struck(text: bytes) -> bool:
    """Return whether each run of a text is struck through."""
    runs = _RUN.findall(text) if b"strike" in text else []
    return bool(runs) and all(_STRUCK.search(run) for run in runs)


_CELL_TEXT = Text(pt="o texto das células", en="the cells' text")
_ROWS_PER_BATCH = 4096


class Budget:
    """Budget of cells and text for all sheets of a workbook together."""

    def __init__(self, limits: WorkbookLimits) -> None:
        self._limits = limits
        self._cells = 0
        self._text_length = 0

    def check_cells(self, cells: int) -> None:
        """Raise ``WorkbookRefused`` if a sheet has more cells than are left."""
        if self._cells + cells > self._limits.cells:
            raise cells_too_far_apart()

    def check_texts(self, sheet: str, encoders: Collection[CellEncoder]) -> None:
        """Raise ``WorkbookRefused`` if one of a sheet's texts is too long, or all together."""
        if max(encoder.longest for encoder in encoders) > self._limits.text_length:
            raise text_too_long(sheet, self._limits.text_length)
        length = sum(encoder.text_length for encoder in encoders)
        self.check_text_length(length, max(encoder.filled for encoder in encoders))

    def check_text_length(self, length: int, rows: int) -> None:
        """Raise ``WorkbookRefused`` if a sheet of ``rows`` has more text than is left."""
        limit = self._limits.text_size + rows * self._limits.text_per_row
        if self._text_length + length > limit:
            raise too_large(_CELL_TEXT, limit)

    def end_sheet(self, cells: int, encoders: Iterable[CellEncoder]) -> None:
        """Deduct the cells and texts of a sheet."""
        self._cells += cells
        self._text_length += sum(encoder.text_length for encoder in encoders)


class SheetEncoder:
    """Encoder of one sheet: converts the parser's rows into messages, within the budget.

    ``shared_texts`` are needed if the rows hold indexes of them.
    """

    def __init__(self, name: str, budget: Budget, shared_texts: Sequence[str] = ()) -> None:
        self._name = name
        self._budget = budget
        self._encoders = defaultdict[int, CellEncoder](lambda: CellEncoder(shared_texts))
        self._height = 0
        self._columns = range(0)

    def reserve(self, bottom: int, left: int, right: int) -> None:
        """Reserve cells down to the zero-based row ``bottom``. Raises ``WorkbookRefused``."""
        known = self._columns or range(left, right + 1)
        self._columns = range(min(known.start, left), max(known.stop, right + 1))
        self._height = max(self._height, bottom + 1)
        self._budget.check_cells(self._height * len(self._columns))

    def encode(self, top: int, left: int, rows: Iterable[list[Any]]) -> Iterator[RowsRead]:
        """Yield rows that start in the zero-based row ``top`` and column ``left``."""
        remaining = iter(rows)
        while batch := list(islice(remaining, _ROWS_PER_BATCH)):
            encoders = [self._encoders[left + index] for index in range(len(batch[0]))]
            columns = [
                encoder.encode(values)
                for encoder, values in zip(encoders, zip(*batch, strict=True), strict=True)
            ]
            if encoders:
                self._budget.check_texts(self._name, self._encoders.values())
            yield RowsRead(top, left, columns)
            top += len(batch)

    def end(self) -> None:
        """Deduct the sheet from the budget."""
        self._budget.end_sheet(self._height * len(self._columns), self._encoders.values())
