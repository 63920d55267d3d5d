"""Detection of rows that are not records: totals, notes, struck-through rows, repeated headers.

Such a row has one finding, an error, and is not sent; its cells are not validated. If only few
cells of a row are struck through, each of them has a finding.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from xlbridge.resources import Column, Kind
from xlbridge.validation.cells.column_cells import BoolArray, ColumnCells, Positions
from xlbridge.workbook.read import CellColumn, CellKind

if TYPE_CHECKING:
    from xlbridge.validation.cells.displayed_cells import FormatLookup
    from xlbridge.validation.cells.typed_rows import TypedRows

_COUNTED = r"(?:clientes|registros|linhas|itens)\b"
_OF = r"(?:d[aeo]s?|em|por)\s"
_TOTAL = re.compile(
    # "Total Distribuidora" is a company's name; "Subtotal", whatever follows, is none.
    rf"sub-?\s?tota(?:l|is)\b.*"
    rf"|(?:grand\s+)?tota(?:l|is)(?:\s+(?:gera(?:l|is)|parcia(?:l|is)|{_OF}.*|{_COUNTED}.*|r\$.*))?"
    rf"\s*(?:[:=].*|(?:[–-]\s*)?\(?\d[\d.,]*\)?(?:\s+{_COUNTED})?)?"
    rf"|(?:qtde?\b\.?|quantidade|n[uú]mero|contagem)(?:\s+(?:total|geral|{_OF}[^:=]*))?\s*[:=].*"
    rf"|contagem\s+(?:geral|{_OF}.*)",
    re.IGNORECASE,
)
_STATISTIC = re.compile(
    r"(?:soma(?:t[óo]ri[ao])?|m[ée]dia|contagem|m[áa]xim[oa]|m[íi]nim[oa]|sum|average|count"
    r"|qtde?\.?|quantidade|n[uú]mero)"
    rf"(?:\s+(?:geral|total|{_OF}.*))?\s*(?:[:=].*)?",
    re.IGNORECASE,
)
_NOTE = re.compile(
    r"(?:obs\b|observa[çc](?:ão|ao|ões|oes)\b|notas?\s*:|fonte\s*:|p[áa]gina\s+\d|\(?\*+\)?\s"
    r"|(?:emitid|gerad|impress|atualizad)[oa]\s+(?:em|por|às)\b).*",
    re.IGNORECASE | re.DOTALL,
)
_LINE = re.compile(r"[-=_*~.–—]{3,}")
_WORDS = re.compile(r"[^\W\d_]+\s+\S+")
_MAX_CELLS = 2
_LAST_ROWS = 10


def is_total(text: str) -> bool:
    """Return whether a text marks its row as a total."""
    return _TOTAL.fullmatch(text.strip()) is not None


def _is_statistic(text: str) -> bool:
    return _STATISTIC.fullmatch(text.strip()) is not None


def report_non_records(typed: "TypedRows", formats_of: "FormatLookup") -> Mapping[int, str]:
    """Report the rows that are not records; return their Excel numbers with the codes of their
    findings."""
    marks = _Marks(typed)
    for found in typed.problems.values():
        marks.add(found.positions_of("row-header-again").tolist(), "row-header-again")
    struck = _struck_columns(marks, formats_of)
    mostly = (p for p, names in struck.items() if 2 * len(names) > len(marks.filled_columns(p)))
    marks.add(mostly, "row-struck")
    layout = typed.cells.raw.layout
    marks.add(marks.positions_of_rows(layout.totals_rows | layout.summed_rows), "row-total")
    rows, counts = _sparse_rows(marks)
    _mark_totals(marks, rows, counts)
    _mark_lines(marks)
    # A sparse row with one cell that is not a value of its column is a note: a text below a gap
    # among the last rows, a typical remark, or words instead of a number or a date.
    trailing = set(_trailing_rows(typed))
    for position in map(int, rows):
        if position in marks.found or len(names := marks.filled_columns(position)) != 1:
            continue
        text = marks.value(position, names[0])
        if not isinstance(text, str):
            continue
        is_text = typed.resource.by_name[names[0]].kind.is_text
        is_remark = (_NOTE if is_text else _WORDS).match(text.strip()) is not None
        if is_remark or position in trailing:
            marks.add([position], "row-note", names[0])
    marks.report()
    for position, columns in struck.items():
        for name in columns if position not in marks.found else ():
            typed.problems[name].add(position, "cell-struck")
    return {typed.rows[position]: code for position, (code, _) in sorted(marks.found.items())}


@dataclass(frozen=True)
class _Marks:
    """Rows of a sheet that are not records: ``found`` has the code of the finding by position, and
    the column of the cell to name, None for the first filled one."""

    typed: "TypedRows"
    found: dict[int, tuple[str, str | None]] = field(default_factory=dict)

    def add(self, positions: Iterable[int], code: str, column: str | None = None) -> None:
        for position in positions:
            self.found.setdefault(position, (code, column))

    def positions_of_rows(self, rows: Collection[int]) -> list[int]:
        return list(map(int, np.flatnonzero(np.isin(self.typed.rows, list(rows)))))

    @property
    def columns(self) -> list[Column]:
        """Columns that the sheet has."""
        present = self.typed.header.columns
        return [one for one in self.typed.resource.columns if one.name in present]

    @cached_property
    def names(self) -> list[str]:
        """Names of these columns in the sheet's order."""
        indexes = self.typed.header.source_columns()
        return sorted(indexes, key=indexes.__getitem__)

    def filled_columns(self, position: int) -> list[str]:
        """Return the columns that are filled in a row, in the sheet's order."""
        at = self.typed.rows[position] - 1
        return [name for name in self.names if self._column(name).kind(at) is not CellKind.EMPTY]

    def value(self, position: int, column: str) -> object:
        return self._column(column).value(self.typed.rows[position] - 1)

    def report(self) -> None:
        """Replace all problems of each row's cells by the finding of the row."""
        positions = [p for p, (code, _) in self.found.items() if code != "row-header-again"]
        if not positions:
            return
        for problems in self.typed.problems.values():
            problems.clear(np.array(positions, dtype=np.intp))
        for position in positions:
            code, column = self.found[position]
            name = column or next(iter(self.filled_columns(position)), self.names[0])
            self.typed.problems[name].add(position, code)
            self.typed.problems[name].failed[position] = True

    def _column(self, name: str) -> CellColumn:
        return self.typed.cells.columns[self.typed.header.columns[name]]


def _struck_columns(marks: _Marks, formats_of: "FormatLookup") -> Mapping[int, Sequence[str]]:
    """Return the columns whose filled cells are struck through, by the position of the row."""
    cells, columns = marks.typed.cells, marks.typed.header.columns
    if not (cells.raw.struck or cells.raw.struck_texts) or not columns:
        return {}
    indexes = {cells.first_column + index for index in columns.values()}
    struck = {*formats_of(dict.fromkeys(cells.raw.struck, ""), indexes), *cells.raw.struck_texts}
    return {
        position: [
            name
            for name in marks.filled_columns(position)
            if (marks.typed.rows[position], cells.first_column + columns[name]) in struck
        ]
        for position in marks.positions_of_rows({row for row, _ in struck})
    }


def _mark_totals(marks: _Marks, rows: Positions, counts: Positions) -> None:
    """Mark the rows with a text such as "total": sparse ones, with ``counts`` of their
    cells other than numbers, and those, however full, with the sum of the rows above."""
    sums = _positions_of_sums(marks)
    for name in marks.typed.header.columns:
        for position in sums if marks.typed.resource.by_name[name].kind.is_text else ():
            value = marks.value(position, name)
            if isinstance(value, str) and (is_total(value) or _is_statistic(value)):
                marks.add([position], "row-total", name)
    if not len(rows):
        return
    names = {index: name for name, index in marks.typed.header.source_columns().items()}
    numbers = np.array(marks.typed.rows, dtype=np.int64)[rows]
    for index, column in enumerate(marks.typed.cells.columns):
        if CellKind.TEXT not in column.kinds:
            continue
        texts = ColumnCells(column, numbers).distinct_texts
        totals = {index for index, text in enumerate(texts.values) if is_total(text)}
        statistics = {index for index, text in enumerate(texts.values) if _is_statistic(text)}
        named = names.get(index)
        is_counted = named is not None and not marks.typed.resource.by_name[named].kind.is_number
        for at, text in texts.cells_with(totals | statistics):
            # The words of a statistic also occur in names: no other text may be in the row.
            if text in totals or counts[at] == is_counted:
                marks.add([int(rows[at])], "row-total", named)


def _positions_of_sums(marks: _Marks) -> list[int]:
    """Return the positions at which an amount is the sum of two or more rows directly above."""
    found: set[int] = set()
    for column in marks.columns:
        if column.kind is not Kind.MONEY:
            continue
        cents = np.round(100 * marks.typed.frame[column.name].to_numpy(float, na_value=0.0))
        sums = np.concatenate([[0.0], np.cumsum(cents)])
        distinct, firsts = np.unique(sums, return_index=True)
        before = sums[:-1] - cents
        indexes = np.minimum(np.searchsorted(distinct, before), len(distinct) - 1)
        count = np.arange(len(cents)) - firsts[indexes]
        is_sum = (distinct[indexes] == before) & (cents != 0) & (count > 1)
        found.update(np.flatnonzero(is_sum).tolist())
    return sorted(found)


def _mark_lines(marks: _Marks) -> None:
    """Mark the rows whose filled cells hold only lines of dashes or similar characters."""
    typed = marks.typed
    others = [column.name for column in marks.columns if not column.kind.is_text]
    candidates = np.flatnonzero(typed.frame[others].isna().all(axis="columns"))
    if not len(candidates):
        return
    numbers = np.array(typed.rows, dtype=np.int64)[candidates]
    line_cells: Counter[int] = Counter()
    for index in typed.header.columns.values():
        texts = ColumnCells(typed.cells.columns[index], numbers).distinct_texts
        lines = [i for i, text in enumerate(texts.values) if _LINE.fullmatch(text.strip())]
        line_cells.update(int(candidates[position]) for position, _ in texts.cells_with(lines))
    rows = (p for p, count in line_cells.items() if count == len(marks.filled_columns(p)))
    marks.add(rows, "row-note")


def _sparse_rows(marks: _Marks) -> tuple[Positions, Positions]:
    """Return the rows with few filled cells other than numbers, and the counts of those cells.

    These rows also have few numbers, or lack a required value."""
    typed, columns = marks.typed, marks.columns
    rows = np.arange(len(typed.rows))
    filled = np.zeros(len(rows), dtype=np.intp)
    # Text columns come last, as missing texts take longer to find.
    for column in sorted(columns, key=lambda column: column.kind.is_text):
        if not column.kind.is_number:
            filled += _is_filled(typed, column.name, rows)
            sparse = filled <= _MAX_CELLS
            rows, filled = rows[sparse], filled[sparse]
            if not len(rows):
                return rows, filled
    total, is_incomplete = filled.copy(), np.zeros(len(rows), dtype=bool)
    for column in columns:
        if column.kind.is_number:
            total += _is_filled(typed, column.name, rows)
        if column.required:
            is_incomplete |= ~_is_filled(typed, column.name, rows)
    kept = (total <= _MAX_CELLS) | is_incomplete
    return rows[kept], filled[kept]


def _is_filled(typed: "TypedRows", name: str, rows: Positions) -> BoolArray:
    filled: BoolArray = typed.frame[name].iloc[rows].notna().to_numpy()
    return filled | typed.problems[name].failed[rows]


def _trailing_rows(typed: "TypedRows") -> Iterator[int]:
    """Yield the last rows with one cell each that are below a gap."""
    last = typed.frame.iloc[-_LAST_ROWS - 1 :].notna().to_numpy()
    failed = [problems.failed[-_LAST_ROWS - 1 :] for problems in typed.problems.values()]
    counts = (last | np.array(failed).T).sum(axis=1)
    others = np.flatnonzero(counts != 1)
    if len(others):
        rows = typed.rows
        first = len(rows) - len(counts) + int(others[-1]) + 1
        gap = next((p for p in range(first, len(rows)) if rows[p] - rows[p - 1] > 1), len(rows))
        yield from range(gap, len(rows))
