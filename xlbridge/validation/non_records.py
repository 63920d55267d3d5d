"""Detection of the rows that are not records: totals, balances, notes, titles of groups, rows that
are struck through, repeated headers.

Such a row has one finding, an error, and is not sent; its cells are not validated. No sign decides
alone: a row is held if two agree, and has a warning if only one speaks.

- Words: a text such as "Total recebido", "Vendedor: 3 - João", "Página 1 de 2".
- Gaps: of the cells that nearly all rows fill, few are filled.
- Sums: an amount is the sum of the rows above.

If only few cells of a row are struck through, each of them has a finding.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Literal

import numpy as np
import numpy.typing as npt

from xlbridge.resources import Column, Kind
from xlbridge.settings import ParseOptions
from xlbridge.validation.cells.contents import (
    HINTS,
    BoolArray,
    ColumnCells,
    Positions,
    RowWord,
    row_word,
)
from xlbridge.validation.cells.suspect_cells import FormatLookup
from xlbridge.validation.cells.typed_rows import ColumnMemo, TypedRows
from xlbridge.validation.header_row import header_key
from xlbridge.workbook.read import CellColumn, CellKind

_LINE = re.compile(r"[-=_*~.–—]{3,}")
_WORDS = re.compile(r"[^\W\d_]+\s+\S+")
_LAST_ROWS = 10
_MIN_SHARE = 1 / 2
"""Share of rows that fill a usual column."""
_MAX_EMPTY_SHARE = 1 / 10
"""Share of rows that leave a column empty which nearly all rows fill."""
_MIN_COLUMNS = 3
"""Number of usual columns from which a row that fills few of them is sparse: at most a third."""
_MAX_SPARSE_SHARE = 1 / 3
"""Share of sparse rows without a further sign from which they are ordinary."""
_MAX_TITLE_CELLS = 2
_MAX_SUM_SHARE = 1 / 3
"""Share of rows that may be sums: with two rows in each group."""
_MIN_SUMMED = 3
"""Number of rows whose sum is hardly chance."""
_PASSES = 3
"""Levels of sums: of rows, of groups, of the sheet."""


def report_non_records(
    typed: TypedRows,
    reading: ParseOptions,
    formats_of: FormatLookup,
    memo: ColumnMemo | None = None,
) -> Mapping[int, str]:
    """Report the rows that are not records; return their Excel numbers with the codes of their
    findings. Rows of a kind that a person accepts are records. A ``memo`` keeps which columns have
    no word of a total."""
    marks = _Marks(typed, reading, ColumnMemo() if memo is None else memo)
    for found in typed.problems.values():
        marks.add(found.positions_of("row-header-again").tolist(), "row-header-again")
    struck = marks.struck_columns(formats_of)
    mostly = (p for p, names in struck.items() if 2 * len(names) > len(marks.filled_columns(p)))
    marks.add(mostly, "row-struck")
    layout = typed.cells.raw.layout
    marks.add(marks.positions_of_rows(layout.totals_rows | layout.summed_rows), "row-total")
    marks.mark_lines()
    marks.mark_by_signs()
    marks.report()
    for position, columns in struck.items():
        for name in columns if position not in marks.found else ():
            typed.problems[name].add(position, "cell-struck")
    # The texts of records of which a part is struck through.
    partly = typed.cells.raw.partly_struck_texts
    for name, index in typed.header.source_columns().items() if partly else ():
        rows = [row for row, other in partly if other == typed.cells.first_column + index]
        for position in map(int, np.flatnonzero(np.isin(typed.rows, rows))):
            if position not in marks.found:
                typed.problems[name].add(position, "text-struck-in-part")
    return {typed.rows[position]: code for position, (code, _) in sorted(marks.found.items())}


@dataclass(frozen=True)
class _Marks:
    """Rows of a sheet that are not records: ``found`` has the code of the finding by position, and
    the column of the cell to name, None for the first filled one. ``doubtful`` are the rows with a
    single sign."""

    typed: TypedRows
    reading: ParseOptions
    memo: ColumnMemo
    found: dict[int, tuple[str, str | None]] = field(default_factory=dict)
    doubtful: dict[int, str | None] = field(default_factory=dict)

    def add(self, positions: Iterable[int], code: str, column: str | None = None) -> None:
        for position in positions:
            name = column or self.first_column(position)
            if self.reading.accepts(code, name):
                self.typed.problems[name].add(position, code)
            else:
                self.found.setdefault(position, (code, column))

    def positions_of_rows(self, rows: Collection[int]) -> list[int]:
        return list(map(int, np.flatnonzero(np.isin(self.typed.rows, list(rows)))))

    @cached_property
    def names(self) -> list[str]:
        """Names of the resource's columns that the sheet has, in the sheet's order."""
        indexes = self.typed.header.source_columns()
        return sorted(indexes, key=indexes.__getitem__)

    def first_column(self, position: int) -> str:
        """Return the first filled column of a row."""
        return next(iter(self.filled_columns(position)), self.names[0])

    def filled_columns(self, position: int) -> list[str]:
        """Return the columns that are filled in a row, in the sheet's order."""
        at = self.typed.rows[position] - 1
        return [name for name in self.names if self._column(name).kind(at) is not CellKind.EMPTY]

    def report(self) -> None:
        """Replace all problems of each row's cells by the finding of the row."""
        problems = self.typed.problems
        positions = [p for p, (code, _) in self.found.items() if code != "row-header-again"]
        for column in problems.values() if positions else ():
            column.clear(np.array(positions, dtype=np.intp))
        for position in positions:
            code, name = self.found[position]
            name = name or self.first_column(position)
            problems[name].add(position, code)
            problems[name].failed[position] = True
        for position, name in self.doubtful.items():
            # A row without a required value has errors of its own.
            if position not in self.found and self._is_complete(position):
                problems[name or self.first_column(position)].add(position, "row-doubtful")

    def _column(self, name: str) -> CellColumn:
        return self.typed.cells.columns[self.typed.header.columns[name]]

    def struck_columns(self, formats_of: FormatLookup) -> Mapping[int, Sequence[str]]:
        """Return the columns whose filled cells are struck through, by the row's position."""
        cells, columns = self.typed.cells, self.typed.header.columns
        if not (cells.raw.struck or cells.raw.struck_texts) or not columns:
            return {}
        indexes = {cells.first_column + index for index in columns.values()}
        struck = {
            *formats_of(dict.fromkeys(cells.raw.struck, ""), indexes),
            *cells.raw.struck_texts,
        } - cells.raw.partly_struck_texts.keys()
        return {
            position: [
                name
                for name in self.filled_columns(position)
                if (self.typed.rows[position], cells.first_column + columns[name]) in struck
            ]
            for position in self.positions_of_rows({row for row, _ in struck})
        }

    def mark_lines(self) -> None:
        """Mark the rows whose filled cells hold only lines of dashes or similar characters."""
        typed = self.typed
        resource = typed.resource
        has_texts_only = np.ones(len(typed.rows), dtype=bool)
        for name in self.names:
            if not resource.by_name[name].kind.is_text and has_texts_only.any():
                has_texts_only &= typed.frame[name].isna().to_numpy()
        candidates = np.flatnonzero(has_texts_only)
        if not len(candidates):
            return
        numbers = np.array(typed.rows, dtype=np.int64)[candidates]
        line_cells: Counter[int] = Counter()
        for index in typed.header.columns.values():
            texts = ColumnCells(typed.cells.columns[index], numbers).distinct_texts
            lines = [i for i, text in enumerate(texts.values) if _LINE.fullmatch(text.strip())]
            line_cells.update(int(candidates[position]) for position, _ in texts.cells_with(lines))
        rows = (p for p, count in line_cells.items() if count == len(self.filled_columns(p)))
        self.add(rows, "row-note")

    def mark_by_signs(self) -> None:
        """Mark the rows that words, gaps and sums show not to be records."""
        gaps = _Gaps.of(self.typed, self.memo)
        columns = map(self.typed.resource.by_name.__getitem__, self.names)
        amounts = [column for column in columns if column.kind is Kind.MONEY]
        sums: dict[int, bool] = {}
        for number in range(_PASSES):
            known, totals = sums, frozenset(self.found)
            versions = tuple(self.typed.versions[column.name] for column in amounts)
            read = bytes(self.typed.rows), versions, totals
            find = partial(self._sums, amounts, totals)
            sums = self.memo.result(("sums", number), read, find).value
            self._mark_totals(gaps, sums, has_amounts=bool(amounts))
            if sums.keys() <= known.keys():
                break
        self._mark_notes(gaps)

    def _mark_totals(self, gaps: "_Gaps", sums: Mapping[int, bool], *, has_amounts: bool) -> None:
        lacking = np.flatnonzero(gaps.sparse | gaps.lacking | gaps.partial)
        likely = np.union1d(lacking, np.array(sorted(sums), dtype=np.intp))
        found = self._words("likely", likely)
        for position, (word, name) in found.items():
            is_sparse, is_sum = bool(gaps.sparse[position]), position in sums
            match word:
                case RowWord.TOTAL:
                    is_held = True
                case RowWord.TOTAL_OF if is_sum or is_sparse or gaps.lacking[position]:
                    is_held = is_sparse or is_sum or gaps.filled[position] == 1
                case RowWord.STATISTIC if is_sum or is_sparse or gaps.lacking[position]:
                    # Words of a statistic also occur in names, beside other columns of texts.
                    others = (one for one in self.filled_columns(position) if one != name)
                    by_name = self.typed.resource.by_name
                    has_texts = any(by_name[one].kind.is_text for one in others)
                    is_held = is_sum or (is_sparse and not has_texts)
                case RowWord.LIKE_TOTAL if is_sum or is_sparse:
                    is_held = False  # a company may have such a name, and nothing else
                case _:
                    continue
            if is_held:
                self.add([position], "row-total", name)
            else:
                self.doubtful.setdefault(position, name)
        last = len(self.typed.rows) - 1
        for position, is_of_all in sums.items():
            is_lacking = bool(gaps.lacking[position])
            if gaps.sparse[position] or (is_of_all and is_lacking):
                self.add([position], "row-total")
            elif is_lacking or (is_of_all and position == last):
                self.doubtful.setdefault(position, None)
        if has_amounts:
            complete = np.flatnonzero(~(gaps.sparse | gaps.lacking | gaps.partial))
            for position, (word, name) in self._words("complete", complete).items():
                if word is RowWord.TOTAL and position not in self.found:
                    self.doubtful.setdefault(position, name)

    def _mark_notes(self, gaps: "_Gaps") -> None:
        """Mark rows with one or two cells: a footer, the title of a group, words instead of a
        number or a date, a text below a gap among the last rows."""
        few = (gaps.sparse & (gaps.filled <= _MAX_TITLE_CELLS)) | (
            gaps.lacking & (gaps.filled == 1)
        )
        words = self._words("few cells", np.flatnonzero(few))
        gap = self._last_gap(gaps)
        sparse = np.flatnonzero(gaps.sparse | few | (gaps.filled == 1))
        unexplained = []
        for position in (p for p in map(int, sparse) if p not in self.found):
            word, name = words.get(position, (None, None))
            filled = self.filled_columns(position)
            column = filled[0] if len(filled) == 1 else None
            text = None if column is None else self._text(position, column)
            kind = None if column is None else self.typed.resource.by_name[column].kind
            is_misplaced = text is not None and kind is not None and not kind.is_text
            # In a registry of few columns, "Tipo 2" may be the name of a complete record.
            is_label = word is RowWord.LABEL
            may_be_name = is_label and text is not None and not {":", "="} & {*text}
            if may_be_name and not gaps.sparse[position] and self._is_complete(position):
                self.doubtful.setdefault(position, name)
            elif (
                is_label
                or word is RowWord.NOTE
                or (
                    text is not None
                    and (position >= gap or (is_misplaced and _WORDS.match(text.strip())))
                )
            ):
                self.add([position], "row-note", name or column)
            elif gaps.sparse[position]:
                unexplained.append(position)
        if len(unexplained) <= _MAX_SPARSE_SHARE * len(self.typed.rows):
            self.doubtful.update(dict.fromkeys(unexplained))

    def _last_gap(self, gaps: "_Gaps") -> int:
        """Return the position of the first of the last rows that has a single cell and a blank row
        above it, below all rows with more; the number of rows if there is none."""
        rows, counts = self.typed.rows, gaps.filled[-_LAST_ROWS - 1 :]
        others = np.flatnonzero(counts != 1)
        if not len(others):
            return len(rows)
        first = len(rows) - len(counts) + int(others[-1]) + 1
        at = range(first, len(rows))
        return next((p for p in at if rows[p] - rows[p - 1] > 1), len(rows))

    def _text(self, position: int, column: str) -> str | None:
        value = self._column(column).value(self.typed.rows[position] - 1)
        return value if isinstance(value, str) else None

    def _is_complete(self, position: int) -> bool:
        """Return whether a row lacks no required value."""
        frame, header = self.typed.frame, self.typed.header
        required = [name for name in self.typed.resource.required if name in header.columns]
        return bool(frame[required].iloc[position].notna().all())

    def _words(
        self, about: Literal["likely", "few cells", "complete"], positions: Positions
    ) -> Mapping[int, tuple[RowWord, str | None]]:
        """Return the first word of each row that has one, and the column of its cell; of complete
        rows, which are many, only those of totals, outside of codes."""
        found: dict[int, tuple[RowWord, str | None]] = {}
        if not len(positions):
            return found
        order, hinted = list(RowWord).index, about == "complete"
        names = {index: name for name, index in self.typed.header.source_columns().items()}
        numbers = np.array(self.typed.rows, dtype=np.int64)[positions]
        by_name = self.typed.resource.by_name
        codes = {index for index, name in names.items() if by_name[name].kind.is_code}

        def find(column: CellColumn) -> list[tuple[int, RowWord]]:
            texts = ColumnCells(column, numbers).distinct_texts
            words = {
                at: word
                for at, text in enumerate(texts.values)
                if (not hinted or _has_hint([text])) and (word := row_word(text)) is not None
            }
            return [(int(positions[at]), words[text]) for at, text in texts.cells_with(words)]

        for index, column in _own_columns(self.typed):
            if CellKind.TEXT not in column.kinds:
                continue
            if hinted and (index in codes or not self._may_have_totals(index, column)):
                continue
            versions = column.edits, positions.tobytes(), numbers.tobytes()
            key = "words", about, index
            for position, word in self.memo.result(
                key, versions, partial(find, column), column
            ).value:
                if position not in found or order(word) < order(found[position][0]):
                    found[position] = word, names.get(index)
        return found

    def _may_have_totals(self, index: int, column: CellColumn) -> bool:
        """Return whether a text of a column, or one that it had, has a word of a total."""
        key = "hint", index
        read, has_hint = self.memo.known(key, column) or (0, False)

        def find() -> tuple[int, bool]:
            return len(column.texts), has_hint or _has_hint(column.texts[read:])

        return bool(self.memo.result(key, column.edits, find, column).value[1])

    def _sums(self, amounts: Sequence[Column], totals: Collection[int]) -> dict[int, bool]:
        """Return the positions at which an amount is the sum of two or more rows directly above,
        without the ``totals`` among them, each with whether it is that of all, of three or more."""
        found: dict[int, bool] = {}
        for column in amounts:
            cents = np.round(100 * self.typed.frame[column.name].to_numpy(float, na_value=0.0))
            cents[list(totals)] = 0
            sums = np.concatenate([[0.0], np.cumsum(cents)])
            distinct, firsts = np.unique(sums, return_index=True)
            before = sums[:-1] - cents
            indexes = np.minimum(np.searchsorted(distinct, before), len(distinct) - 1)
            amounts_before = np.concatenate([[0], np.cumsum(cents != 0)])
            count = amounts_before[:-1] - amounts_before[firsts[indexes]]
            is_sum = (distinct[indexes] == before) & (cents != 0) & (count > 1)
            # Among few different amounts, sums are chance.
            if is_sum.sum() <= max(_PASSES, _MAX_SUM_SHARE * len(cents)):
                is_of_all = (before == 0) & (count >= _MIN_SUMMED)
                for position in np.flatnonzero(is_sum).tolist():
                    found[position] = found.get(position, False) or bool(is_of_all[position])
        return found


def _has_hint(texts: Iterable[str]) -> bool:
    joined = "\n".join(texts).casefold()
    return any(hint in joined for hint in HINTS)


def _own_columns(typed: TypedRows) -> Iterator[tuple[int, CellColumn]]:
    """Yield the columns of the analyst's sheet, without those that a mapping added."""
    for index, column in enumerate(typed.cells.columns):
        if index not in typed.header.sources:
            yield index, column


@dataclass(frozen=True)
class _Gaps:
    """Filled cells of each row in the analyst's own columns with a header.

    ``filled``: their number; ``sparse``: at most a third of the usual ones; ``partial``: at most
    half of them; ``lacking``: one is empty that nearly all rows fill.
    """

    filled: npt.NDArray[np.intp]
    sparse: BoolArray
    partial: BoolArray
    lacking: BoolArray

    @classmethod
    def of(cls, typed: TypedRows, memo: ColumnMemo) -> "_Gaps":
        """Count the filled cells of each row."""
        rows, header = np.array(typed.rows, dtype=np.int64), typed.header
        # A row for each item may leave the cells of its record empty.
        used = set(header.source_columns().values()) if header.shares_rows else None
        counted = [
            (index, column)
            for index, column in _own_columns(typed)
            if used is None or index in used
            if header_key(column.value(header.row - 1))
        ]

        def find_filled(column: CellColumn) -> bytes:
            below = rows > len(column.kinds)
            kinds = np.frombuffer(column.kinds, dtype=np.uint8)
            is_filled = kinds[np.minimum(rows, max(len(kinds), 1)) - 1] != CellKind.EMPTY
            is_filled[below] = False
            return bytes(is_filled.tobytes())

        place = bytes(typed.rows)
        patterns = tuple(
            memo.result(
                ("filled", index), (column.edits, place), partial(find_filled, column), column
            ).value
            for index, column in counted
        )
        whole: _Gaps = memo.result(
            "gaps", (patterns, len(rows)), lambda: cls.counted(patterns, len(rows))
        ).value
        return whole

    @classmethod
    def counted(cls, patterns: Sequence[bytes], size: int) -> "_Gaps":
        """Count by the filled rows of each column, a byte for each row."""
        filled, usual, lacking = (np.zeros(size, dtype=np.intp) for _ in range(3))
        columns = 0
        for pattern in patterns:
            is_filled = np.frombuffer(pattern, dtype=np.bool_)
            filled += is_filled
            count = int(is_filled.sum())
            if count >= _MIN_SHARE * size:
                columns += 1
                usual += is_filled
            if count and size - count <= max(1, _MAX_EMPTY_SHARE * size):
                lacking += ~is_filled
        is_sparse = (columns >= _MIN_COLUMNS) & (usual <= columns // _MIN_COLUMNS)
        is_sparse &= filled <= max(columns // _MIN_COLUMNS, 1)
        return cls(filled, is_sparse, 2 * usual <= columns, lacking > 0)
