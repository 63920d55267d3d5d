"""Encoder of a sheet's rows, and the budget of cells and text that a workbook's sheets share."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from xlbridge.i18n import Text
from xlbridge.settings import WorkbookLimits
from xlbridge.workbook.address import MAX_ROWS
from xlbridge.workbook.read.cells import CellEncoder
from xlbridge.workbook.read.messages import RowsRead
from xlbridge.workbook.read.refusals import cells_too_far_apart, text_too_long, too_large

_LONG = 256
"""Bytes of a shared text with its markup up to which it is a short one."""

_END_OF_TEXT = re.compile(rb"</(?:\w+:)?si\s*>|<(?:\w+:)?si\s*/>")
_MARKUP = re.compile(rb"<[^>]*>")
_RUN = re.compile(rb"<(?:\w+:)?r\s*>.*?</(?:\w+:)?r\s*>", re.DOTALL)
_STRUCK = re.compile(rb"""<(?:\w+:)?strike\s*(?:/|>|val\s*=\s*["'](?:1|true|on))""")
_REFERENCE = re.compile(
    rb"""\bt\s*=\s*["']s["'][^>]*>(?:\s*<(?:\w+:)?f\b[^>]*>[^<]*</(?:\w+:)?f>)?"""
    rb"""\s*<(?:\w+:)?v\b[^>]*>\s*(\d{1,9})"""
)
_LONGEST_REFERENCE = 4096


@dataclass(frozen=True, slots=True)
class SharedTexts:
    """The shared texts of a workbook that are told apart, by their index: how many letters the long
    ones have, and which are struck through as a whole.

    A text stands in the file once, however many cells refer to it: a few kilobytes can stand for
    gigabytes. So the long ones are summed before a parser copies each of them; short ones cannot
    grow a sheet much beyond its own XML.
    """

    letters: Mapping[int, int]
    struck: Collection[int]

    @classmethod
    def of(cls, content: bytes) -> "SharedTexts":
        """Look at the texts of a part."""
        *texts, _ = _END_OF_TEXT.split(content)
        letters = {
            index: len(_MARKUP.sub(b"", text).decode("utf-8", "replace"))
            for index, text in enumerate(texts)
            if len(text) > _LONG
        }
        return cls(letters, {index for index, text in enumerate(texts) if _is_struck(text)})

    def letters_in(self, pieces: Iterable[bytes]) -> tuple[int, int]:
        """Return how many letters of long texts the cells of a sheet have, and its rows."""
        letters, rows, rest = 0, 0, b""
        for piece in pieces if self.letters else ():
            block, end = rest + piece, 0
            rows += piece.count(b"row>")
            for found in _REFERENCE.finditer(block):
                if found.end() == len(block):
                    break
                end = found.end()
                letters += self.letters.get(int(found[1]), 0)
            rest = block[max(end, len(block) - _LONGEST_REFERENCE) :]
        return letters, min(rows, MAX_ROWS)


def _is_struck(text: bytes) -> bool:
    """Return whether each run of a text is struck through."""
    runs = _RUN.findall(text) if b"strike" in text else []
    return bool(runs) and all(_STRUCK.search(run) for run in runs)


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
        self.check_letters(_text_length(encoders), max(encoder.filled for encoder in encoders))

    def check_letters(self, letters: int, rows: int) -> None:
        """Raise ``WorkbookRefused`` when a sheet of so many rows has more letters than are left."""
        most = self._limits.text_size + rows * self._limits.text_per_row
        if self._letters + letters > most:
            raise too_large(_CELL_TEXT, most)

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
        self._encoders = defaultdict[int, CellEncoder](lambda: CellEncoder(shared))
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
            encoders = [self._encoders[left + place] for place in range(len(batch[0]))]
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
