"""Checks of a sheet's layout: merged and hidden cells, formulas, unnamed columns, rows that are
longer or shorter than the header, 1904 dates, a CPF in the column of CNPJs; findings that say more
about a column than about its cells.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain

import numpy as np
import numpy.typing as npt

from xlbridge.i18n import Text
from xlbridge.resources import KEY, Kind
from xlbridge.resources.checks import CATALOGUE, DOCUMENTS, bare_document
from xlbridge.resources.findings import Finding
from xlbridge.validation.cells.contents import (
    BoolArray,
    display,
    quoted,
)
from xlbridge.validation.cells.typed_rows import TypedRows
from xlbridge.validation.headers.header_row import header_key
from xlbridge.workbook import cell_address
from xlbridge.workbook.read import SheetCells

_MAX_RANGES = 10


def check_layout(typed: TypedRows) -> list[Finding]:
    """Report problems of cells in their columns, and return the findings of the sheet."""
    header, cells = typed.header, typed.cells
    columns = {name: cells.first_column + index for name, index in header.source_columns().items()}
    _report_merged(columns, typed)
    _report_formulas(columns, typed)
    layout, findings = cells.raw.layout, list[Finding]()
    if layout.hidden_rows and (rows := sorted(layout.hidden_rows.intersection(typed.rows))):
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
    longer = long_rows(cells, header.row)
    if longer is not None:
        yield longer
    for index, column in enumerate(cells.columns):
        name = column.value(header.row - 1)
        cell = cell_address(header.row, cells.first_column + index)
        if header_key(name) or cell in reported or not any(column.kinds[header.row :]):
            continue
        if isinstance(name, str):
            if longer is None:
                yield Finding(CATALOGUE["column-unnamed"], row=header.row, cell=cell)
        else:
            details = {"header": quoted(display(name)), "resource": typed.resource.title}
            yield Finding(
                CATALOGUE["column-unknown"], header.row, display(name), cell, None, details
            )


def long_rows(cells: SheetCells, header_row: int) -> Finding | None:
    """Return the finding of the rows of a .csv file that are longer than its header, even by empty
    cells; None if there is none."""
    if not cells.raw.widths:
        return None
    widths = _widths(cells)
    end = int(widths[header_row - 1])
    is_longer = np.any([np.frombuffer(c.kinds, dtype=bool) for c in cells.columns], axis=0)
    is_longer &= widths > end
    rows = (np.flatnonzero(is_longer[header_row:]) + header_row + 1).tolist()
    if not rows:
        return None
    cell = cell_address(rows[0], cells.first_column + end)
    return Finding(CATALOGUE["row-longer"], header_row, cell=cell, details=_row_details(rows))


def short_rows(typed: TypedRows, non_records: Collection[int]) -> Iterator[Finding]:
    """Report the rows of a .csv file that are shorter than its header.

    Programs that omit empty cells at the end do so in many rows. If only the last row is short,
    and it does not end in a line break, the file was cut off.
    """
    header, cells = typed.header, typed.cells
    named = [
        index
        for index, column in enumerate(cells.columns)
        if index not in header.sources and column.value(header.row - 1) != ""
    ]
    if not cells.raw.widths or not named:
        return
    rows = [row for row in typed.rows if row not in non_records]
    if (cut_off := cut_off_row(cells, header.row, named[-1], rows)) is not None:
        yield cut_off
    elif len(short := _short_rows(cells, named[-1], rows)):
        cell = cell_address(short[0], cells.first_column + int(_widths(cells)[short[0] - 1]))
        yield Finding(CATALOGUE["row-shorter"], header.row, cell=cell, details=_row_details(short))


def cut_off_row(
    cells: SheetCells, header_row: int, last: int, rows: Sequence[int]
) -> Finding | None:
    """Return the finding of a .csv file that ends within its last row; None if it does not.

    ``last`` is the index of the last column with a header, ``rows`` are those of records.
    """
    if not cells.raw.is_unterminated or _short_rows(cells, last, rows) != [cells.height]:
        return None
    cell = cell_address(cells.height, cells.first_column + int(_widths(cells)[-1]))
    return Finding(CATALOGUE["row-cut-off"], header_row, cell=cell, details={"row": cells.height})


def _short_rows(cells: SheetCells, last: int, rows: Sequence[int]) -> list[int]:
    numbers = np.array(rows, dtype=np.intp)
    short: list[int] = numbers[_widths(cells)[numbers - 1] <= last].tolist()
    return short


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

    If the sheet has the other column elsewhere and its cell is empty, the finding has the
    correction to move the document there.
    """
    columns, places = typed.resource.columns, typed.header.source_columns()
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
                other is not None
                and places.get(other) not in {None, places.get(column.name)}
                and bool(typed.frame[other].isna().iat[position])
                and not typed.problems[other].failed[position]
            ):
                details |= {"moved_to": other, "document": DOCUMENTS[kind].masked(document)}
                corrected = ""
            problems.add(position, "document-misplaced", details, corrected=corrected)
            problems.failed[position] = True


def report_records_of_export(typed: TypedRows, numbered: BoolArray) -> None:
    """Report what an exported listing lacks for the rows of new records.

    A required column without any value, or absent, is not required of the ``numbered`` rows, which
    have the system's own number: their records keep what the sheet does not show.
    """
    if KEY in typed.header.made_of:
        problems, main = typed.problems[KEY], typed.resource.name.partition(".")[0]
        for code, of_record in _OF_RECORDS.items():
            found = problems.positions_of(code)
            problems.drop(code)
            problems.add_all(found, of_record, {"resource": main})
    for column in typed.resource.columns if numbered.any() else ():
        if column.required and typed.frame[column.name].isna().all():
            problems = typed.problems[column.name]
            missing = problems.positions_of(_MISSING)
            problems.drop(_MISSING)
            new = missing[~numbered[missing]]
            details = [{"row": typed.rows[at], "resource": typed.resource.name} for at in new]
            problems.add_all(new, "new-record-lacks", details)


_MISSING = "required-missing"
_OF_RECORDS = {_MISSING: "record-number-missing", "duplicate-in-sheet": "record-again"}
"""Findings of the key that is made of a record's number, by those of a key that a person fills."""
