"""Checks of a sheet's layout, and detection of rows that are not records.

The layout: merged and hidden cells, formulas, unnamed columns, rows that are longer or shorter than
the header, 1904 dates, a CPF in the column of CNPJs.

Totals, notes, struck-through rows and repeated headers are no records: such a row has one finding,
an error, and is not sent; its cells are not validated. If only few cells of a row are struck
through, each of them has a finding.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain

import numpy as np
import numpy.typing as npt

from xlbridge.i18n import Text
from xlbridge.resources import Column, Kind
from xlbridge.resources.checks import CATALOGUE, DOCUMENTS, bare_document
from xlbridge.resources.findings import Finding
from xlbridge.settings import ParseOptions
from xlbridge.validation.cells.column_cells import BoolArray, ColumnCells, Positions
from xlbridge.validation.cells.displayed_cells import FormatLookup
from xlbridge.validation.cells.text import display, is_statistic, is_total, quoted
from xlbridge.validation.cells.typed_rows import TypedRows
from xlbridge.validation.headers.header_row import header_key
from xlbridge.workbook import cell_address
from xlbridge.workbook.read import CellColumn, CellKind, SheetCells

_MAX_RANGES = 10


def check_layout(typed: TypedRows) -> list[Finding]:
    """Report problems of cells in their columns, and return the findings of the sheet."""
    header, cells = typed.header, typed.cells
    columns = {name: cells.first_column + index for name, index in header.source_columns().items()}
    _report_merged(columns, typed)
    _report_formulas(columns, typed)
    layout, findings = cells.raw.layout, list[Finding]()
    if rows := sorted(layout.hidden_rows.intersection(typed.rows)):
        findings.append(
            Finding(CATALOGUE["rows-hidden"], row=header.row, details=_row_details(rows))
        )
    for name, index in columns.items():
        if any(first <= index <= last for first, last in layout.hidden_columns):
            cell = cell_address(header.row, index)
            findings.append(Finding(CATALOGUE["column-hidden"], header.row, name, cell))
    findings += _unnamed_columns(typed)
    dates = [column.name for column in typed.resource.columns if column.kind is Kind.DATE]
    if cells.raw.uses_1904_dates and typed.frame[dates].notna().to_numpy().any():
        findings.append(Finding(CATALOGUE["date-system-old"], row=header.row))
    return findings


def _report_merged(columns: Mapping[str, int], typed: TypedRows) -> None:
    """Report merged cells: only the first holds a value, so the others are ambiguous."""
    rows = np.array(typed.rows)
    for top, left, bottom, right in typed.cells.raw.layout.merged:
        positions = np.flatnonzero((rows >= top) & (rows <= bottom))
        names = [name for name, index in columns.items() if left <= index <= right]
        if len(positions) * len(names) < 2:
            continue
        first = min(names, key=lambda name: columns[name])
        shown = f"{cell_address(top, left)}:{cell_address(bottom, right)}"
        if not typed.problems[first].failed[positions[0]]:
            typed.problems[first].add(int(positions[0]), "cells-merged", {"range": shown})
        for name in names:
            typed.problems[name].failed[positions] = True


def _report_formulas(columns: Mapping[str, int], typed: TypedRows) -> None:
    """Report once for each column that stored results of formulas are read."""
    cells = typed.cells
    all_runs = {name: cells.raw.layout.formulas.get(index, ()) for name, index in columns.items()}
    position_of = {row: at for at, row in enumerate(typed.rows)} if any(all_runs.values()) else {}
    for name, runs in all_runs.items():
        source, problems = cells.columns[columns[name] - cells.first_column], typed.problems[name]
        for row in chain.from_iterable(range(first, last + 1) for first, last in runs):
            result, position = source.value(row - 1), position_of.get(row)
            # LibreOffice writes TRUE and FALSE as formulas.
            is_read = result != "" and not isinstance(result, bool)
            if position is not None and is_read and not problems.failed[position]:
                problems.add(position, "formula-result")
                break


def _unnamed_columns(typed: TypedRows) -> Iterator[Finding]:
    """Report columns with data but without a text header, which no other check covers."""
    header, cells = typed.header, typed.cells
    reported = {finding.cell for finding in header.findings}
    # Rows of a .csv file that are longer than its header.
    above = header.row - 1
    end = int(_widths(cells)[above]) if cells.raw.widths else len(cells.columns)
    is_longer = np.zeros(cells.height, dtype=bool)
    for column in cells.columns[end:]:
        if column.value(above) == "":
            is_longer |= np.frombuffer(column.kinds, dtype=bool)
    longer = (np.flatnonzero(is_longer[header.row :]) + header.row + 1).tolist()
    if longer:
        cell = cell_address(longer[0], cells.first_column + end)
        yield Finding(CATALOGUE["row-longer"], header.row, cell=cell, details=_row_details(longer))
    for index, column in enumerate(cells.columns):
        name = column.value(header.row - 1)
        cell = cell_address(header.row, cells.first_column + index)
        if header_key(name) or cell in reported or not any(column.kinds[header.row :]):
            continue
        if isinstance(name, str):
            if not longer:
                yield Finding(CATALOGUE["column-unnamed"], row=header.row, cell=cell)
        else:
            details = {"header": quoted(display(name)), "resource": typed.resource.name}
            yield Finding(
                CATALOGUE["column-unknown"], header.row, display(name), cell, None, details
            )


def short_rows(typed: TypedRows, non_records: Collection[int]) -> Iterator[Finding]:
    """Report the rows of a .csv file that are shorter than its header.

    Programs that omit empty cells at the end do so in many rows. If only the last row is short,
    and it does not end in a line break, the file was cut off.
    """
    header, cells = typed.header, typed.cells
    named = [i for i, column in enumerate(cells.columns) if column.value(header.row - 1) != ""]
    if not cells.raw.widths or not named:
        return
    numbers = np.array([row for row in typed.rows if row not in non_records], dtype=np.intp)
    widths = _widths(cells)[numbers - 1]
    if not len(short := np.flatnonzero(widths <= named[-1])):
        return
    rows = numbers[short].tolist()
    cell = cell_address(rows[0], cells.first_column + int(widths[short[0]]))
    if rows == [cells.height] and cells.raw.is_unterminated:
        yield Finding(CATALOGUE["row-cut-off"], header.row, cell=cell, details={"row": rows[0]})
    else:
        yield Finding(CATALOGUE["row-shorter"], header.row, cell=cell, details=_row_details(rows))


def _widths(cells: SheetCells) -> "npt.NDArray[np.intp]":
    """Return the number of cells in each row of a .csv file."""
    firsts, widths = np.array(cells.raw.widths, dtype=np.intp).T
    return np.repeat(widths, np.diff(firsts, append=cells.height))


def _row_details(rows: Sequence[int]) -> Mapping[str, object]:
    """Return the first few rows as text, in ranges, and their count."""
    gaps = np.flatnonzero(np.diff(rows) > 1) + 1
    runs = np.split(np.array(rows), gaps[:_MAX_RANGES])[:_MAX_RANGES]
    shown = [f"{run[0]}–{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs]
    text = ", ".join(shown) + (" …" if len(gaps) >= _MAX_RANGES else "")
    return {"rows": text, "count": len(rows)}


_FEW_CELLS = 2
"""Number of cells that have a finding each, even if it says more about their column."""


def findings_of_columns(typed: TypedRows) -> Iterator[Finding]:
    """Replace the findings that say more about a column than about its cells, if there are more
    than a few, by one finding for the column."""
    for name, problems in typed.problems.items():
        for code in set(problems.finding_codes()) & _OF_COLUMNS:
            positions = problems.positions_of(code)
            if len(positions) <= _FEW_CELLS:
                continue
            first = int(positions.min())
            details = problems.details_at(first, code)
            problems.drop(code)
            row, header = typed.rows[first], typed.header
            index = header.source_columns()[name]
            yield Finding(
                CATALOGUE[code],
                header.row,
                name,
                cell_address(row, typed.cells.first_column + index),
                display(typed.cells.columns[index].value(row - 1)),
                details,
                header=header.names.get(name),
                cells=len(positions),
            )


_OF_COLUMNS = {kind.code for kind in CATALOGUE.values() if kind.of_column}
_OTHERS = {Kind.CNPJ: Kind.CPF, Kind.CPF: Kind.CNPJ}
_PLACE = Text(pt="a coluna {column}", en="the column {column}")
_ELSEWHERE = Text(pt="outra coluna", en="another column")


def report_misplaced_documents(typed: TypedRows) -> None:
    """Report documents in the column of the other kind, by their length and check digits.

    If the sheet has the other column and its cell is empty, the finding has the correction to move
    the document there.
    """
    columns = typed.resource.columns
    for column in [column for column in columns if column.kind in _OTHERS]:
        kind = _OTHERS[column.kind]
        others = [c.name for c in columns if c.kind is kind]
        other = others[0] if len(others) == 1 else None
        place = _ELSEWHERE if other is None else _PLACE.format(column=other)
        values, problems = typed.frame[column.name], typed.problems[column.name]
        usual = values.str.fullmatch(f"[0-9A-Z]{{{column.width}}}", na=True)
        unusual = ~usual.to_numpy(dtype=bool) & ~problems.failed
        for position in np.flatnonzero(unusual).tolist():
            document = bare_document(str(values.iat[position]))
            if not DOCUMENTS[kind].is_valid(document):
                continue
            details: dict[str, object] = {"kind": kind.value.upper(), "place": place}
            corrected = None
            if (
                other in typed.header.columns
                and bool(typed.frame[other].isna().iat[position])
                and not typed.problems[other].failed[position]
            ):
                details |= {"moved_to": other, "document": DOCUMENTS[kind].masked(document)}
                corrected = ""
            problems.add(position, "document-misplaced", details, corrected=corrected)
            problems.failed[position] = True


_NOTE = re.compile(
    r"(?:obs\b|observa[çc](?:ão|ao|ões|oes)\b|notas?\s*:|fonte\s*:|p[áa]gina\s+\d|\(?\*+\)?\s"
    r"|(?:emitid|gerad|impress|atualizad)[oa]\s+(?:em|por|às)\b).*",
    re.IGNORECASE | re.DOTALL,
)
_LINE = re.compile(r"[-=_*~.–—]{3,}")
_WORDS = re.compile(r"[^\W\d_]+\s+\S+")
_MAX_CELLS = 2
_LAST_ROWS = 10


def report_non_records(
    typed: TypedRows, reading: ParseOptions, formats_of: FormatLookup
) -> Mapping[int, str]:
    """Report the rows that are not records; return their Excel numbers with the codes of their
    findings. Rows of a kind that a person accepts are records."""
    marks = _Marks(typed, reading)
    for found in typed.problems.values():
        marks.add(found.positions_of("row-header-again").tolist(), "row-header-again")
    struck = marks.struck_columns(formats_of)
    mostly = (p for p, names in struck.items() if 2 * len(names) > len(marks.filled_columns(p)))
    marks.add(mostly, "row-struck")
    layout = typed.cells.raw.layout
    marks.add(marks.positions_of_rows(layout.totals_rows | layout.summed_rows), "row-total")
    rows, counts = marks.sparse_rows()
    marks.mark_totals(rows, counts)
    marks.mark_lines()
    marks.mark_notes(rows)
    marks.report()
    for position, columns in struck.items():
        for name in columns if position not in marks.found else ():
            typed.problems[name].add(position, "cell-struck")
    return {typed.rows[position]: code for position, (code, _) in sorted(marks.found.items())}


@dataclass(frozen=True)
class _Marks:
    """Rows of a sheet that are not records: ``found`` has the code of the finding by position, and
    the column of the cell to name, None for the first filled one."""

    typed: TypedRows
    reading: ParseOptions
    found: dict[int, tuple[str, str | None]] = field(default_factory=dict)

    def add(self, positions: Iterable[int], code: str, column: str | None = None) -> None:
        for position in positions:
            name = column or next(iter(self.filled_columns(position)), self.names[0])
            if self.reading.accepts(code, name):
                self.typed.problems[name].add(position, code)
            else:
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

    def struck_columns(self, formats_of: FormatLookup) -> Mapping[int, Sequence[str]]:
        """Return the columns whose filled cells are struck through, by the row's position."""
        cells, columns = self.typed.cells, self.typed.header.columns
        if not (cells.raw.struck or cells.raw.struck_texts) or not columns:
            return {}
        indexes = {cells.first_column + index for index in columns.values()}
        struck = {
            *formats_of(dict.fromkeys(cells.raw.struck, ""), indexes),
            *cells.raw.struck_texts,
        }
        return {
            position: [
                name
                for name in self.filled_columns(position)
                if (self.typed.rows[position], cells.first_column + columns[name]) in struck
            ]
            for position in self.positions_of_rows({row for row, _ in struck})
        }

    def mark_totals(self, rows: Positions, counts: Positions) -> None:
        """Mark the rows with a text such as "total": sparse ones, with ``counts`` of their
        cells other than numbers, and those, however full, with the sum of the rows above."""
        sums = self.positions_of_sums()
        for name in self.typed.header.columns:
            for position in sums if self.typed.resource.by_name[name].kind.is_text else ():
                value = self.value(position, name)
                if isinstance(value, str) and (is_total(value) or is_statistic(value)):
                    self.add([position], "row-total", name)
        if not len(rows):
            return
        names = {index: name for name, index in self.typed.header.source_columns().items()}
        numbers = np.array(self.typed.rows, dtype=np.int64)[rows]
        for index, column in enumerate(self.typed.cells.columns):
            if CellKind.TEXT not in column.kinds:
                continue
            texts = ColumnCells(column, numbers).distinct_texts
            totals = {index for index, text in enumerate(texts.values) if is_total(text)}
            statistics = {index for index, text in enumerate(texts.values) if is_statistic(text)}
            named = names.get(index)
            is_counted = named is not None and not self.typed.resource.by_name[named].kind.is_number
            for at, text in texts.cells_with(totals | statistics):
                # The words of a statistic also occur in names: no other text may be in the row.
                if text in totals or counts[at] == is_counted:
                    self.add([int(rows[at])], "row-total", named)

    def positions_of_sums(self) -> list[int]:
        """Return the positions at which an amount is the sum of two or more rows directly above."""
        found: set[int] = set()
        for column in self.columns:
            if column.kind is not Kind.MONEY:
                continue
            cents = np.round(100 * self.typed.frame[column.name].to_numpy(float, na_value=0.0))
            sums = np.concatenate([[0.0], np.cumsum(cents)])
            distinct, firsts = np.unique(sums, return_index=True)
            before = sums[:-1] - cents
            indexes = np.minimum(np.searchsorted(distinct, before), len(distinct) - 1)
            count = np.arange(len(cents)) - firsts[indexes]
            is_sum = (distinct[indexes] == before) & (cents != 0) & (count > 1)
            found.update(np.flatnonzero(is_sum).tolist())
        return sorted(found)

    def mark_lines(self) -> None:
        """Mark the rows whose filled cells hold only lines of dashes or similar characters."""
        typed = self.typed
        others = [column.name for column in self.columns if not column.kind.is_text]
        candidates = np.flatnonzero(typed.frame[others].isna().all(axis="columns"))
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

    def sparse_rows(self) -> tuple[Positions, Positions]:
        """Return the rows with few filled cells other than numbers, and the counts of those cells.

        These rows also have few numbers, or lack a required value."""
        typed, columns = self.typed, self.columns
        rows = np.arange(len(typed.rows))
        filled = np.zeros(len(rows), dtype=np.intp)
        # Text columns come last, as missing texts take longer to find.
        for column in sorted(columns, key=lambda column: column.kind.is_text):
            if not column.kind.is_number:
                filled += self.is_filled(column.name, rows)
                sparse = filled <= _MAX_CELLS
                rows, filled = rows[sparse], filled[sparse]
                if not len(rows):
                    return rows, filled
        total, is_incomplete = filled.copy(), np.zeros(len(rows), dtype=bool)
        for column in columns:
            if column.kind.is_number:
                total += self.is_filled(column.name, rows)
            if column.required:
                is_incomplete |= ~self.is_filled(column.name, rows)
        kept = (total <= _MAX_CELLS) | is_incomplete
        return rows[kept], filled[kept]

    def is_filled(self, name: str, rows: Positions) -> BoolArray:
        filled: BoolArray = self.typed.frame[name].iloc[rows].notna().to_numpy()
        return filled | self.typed.problems[name].failed[rows]

    def mark_notes(self, rows: Positions) -> None:
        """Mark sparse rows with one cell that is not a value of its column: a text below a gap
        among the last rows, a typical remark, or words instead of a number or a date."""
        typed = self.typed
        last = typed.frame.iloc[-_LAST_ROWS - 1 :].notna().to_numpy()
        failed = [problems.failed[-_LAST_ROWS - 1 :] for problems in typed.problems.values()]
        counts = (last | np.array(failed).T).sum(axis=1)
        others = np.flatnonzero(counts != 1)
        gap = len(typed.rows)
        if len(others):
            first = len(typed.rows) - len(counts) + int(others[-1]) + 1
            at = range(first, len(typed.rows))
            gap = next((p for p in at if typed.rows[p] - typed.rows[p - 1] > 1), gap)
        for position in map(int, rows):
            if position in self.found or len(names := self.filled_columns(position)) != 1:
                continue
            text = self.value(position, names[0])
            if not isinstance(text, str):
                continue
            is_text = typed.resource.by_name[names[0]].kind.is_text
            is_remark = (_NOTE if is_text else _WORDS).match(text.strip()) is not None
            if is_remark or position >= gap:
                self.add([position], "row-note", names[0])
