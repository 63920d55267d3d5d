"""Checks of a sheet's layout: merged and hidden cells, formulas, unnamed columns, rows that are
longer or shorter than the header, 1904 dates, a CPF among the CNPJs."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain

import numpy as np
import numpy.typing as npt

from xlbridge.i18n import Text
from xlbridge.resources import Column, Kind, Resource
from xlbridge.resources.checks import CATALOGUE, DOCUMENTS, bare_document
from xlbridge.resources.findings import Finding
from xlbridge.validation.cells.text import display, quoted
from xlbridge.validation.cells.typed_rows import TypedRows
from xlbridge.validation.headers.header_matching import normalise_header
from xlbridge.validation.headers.header_row import Header
from xlbridge.workbook import cell_address
from xlbridge.workbook.read import SheetCells


def check_layout(
    resource: Resource, header: Header, cells: SheetCells, typed: TypedRows
) -> list[Finding]:
    """Add to the columns' problems what concerns cells, and return what concerns the sheet."""
    places = {name: cells.first_column + place for name, place in header.own_places().items()}
    for area in cells.raw.layout.merged:
        _note_merged(area, places, typed)
    for name, place in places.items():
        _note_formulas(cells, name, place, typed)
    return [
        *_hidden_rows_and_columns(header, cells, places, typed),
        *_unnamed_columns(resource, header, cells),
        *_old_date_system(resource, header, cells, typed),
    ]


def _note_merged(
    area: tuple[int, int, int, int], places: Mapping[str, int], typed: TypedRows
) -> None:
    """Note merged cells: only the first holds a value, what the others mean is a guess."""
    top, left, bottom, right = area
    rows = np.array(typed.rows)
    positions = np.flatnonzero((rows >= top) & (rows <= bottom))
    names = [name for name, place in places.items() if left <= place <= right]
    if len(positions) * len(names) < 2:
        return
    first = min(names, key=lambda name: places[name])
    shown = f"{cell_address(top, left)}:{cell_address(bottom, right)}"
    if not typed.problems[first].failed[positions[0]]:
        typed.problems[first].add(int(positions[0]), "cells-merged", {"range": shown})
    for name in names:
        typed.problems[name].failed[positions] = True


def _note_formulas(cells: SheetCells, name: str, place: int, typed: TypedRows) -> None:
    """Say once for a column that stored results are read; one that is empty is not."""
    runs = cells.raw.layout.formulas.get(place, ())
    position_of = {row: position for position, row in enumerate(typed.rows)} if runs else {}
    for row in chain.from_iterable(range(first, last + 1) for first, last in runs):
        is_stored = (row, place) not in cells.raw.unvalued and (row, place) not in cells.raw.errors
        result = cells.columns[place - cells.first_column].value(row - 1)
        # LibreOffice writes true and false themselves as formulas.
        is_read = result != "" and not isinstance(result, bool)
        position = position_of.get(row)
        if position is None or not (is_stored and is_read) or typed.problems[name].failed[position]:
            continue
        typed.problems[name].add(position, "formula-result")
        return


def _hidden_rows_and_columns(
    header: Header, cells: SheetCells, places: Mapping[str, int], typed: TypedRows
) -> Iterator[Finding]:
    marks = cells.raw.layout
    if rows := sorted(marks.hidden_rows.intersection(typed.rows)):
        details = {"rows": _row_ranges(rows), "count": len(rows)}
        yield Finding(CATALOGUE["rows-hidden"], row=header.row, details=details)
    for name, place in places.items():
        if any(first <= place <= last for first, last in marks.hidden_columns):
            cell = cell_address(header.row, place)
            yield Finding(CATALOGUE["column-hidden"], header.row, name, cell)


def _unnamed_columns(resource: Resource, header: Header, cells: SheetCells) -> Iterator[Finding]:
    """Tell of the columns with data whose header is no text: such a one is looked for nowhere."""
    told = {finding.cell for finding in header.findings}
    moved = _moved_cells(header, cells)
    if moved is not None:
        yield moved
    for place, column in enumerate(cells.columns):
        name = column.value(header.row - 1)
        cell = cell_address(header.row, cells.first_column + place)
        if normalise_header(name) or cell in told or not any(column.kinds[header.row :]):
            continue
        if isinstance(name, str):
            if moved is None:
                yield Finding(CATALOGUE["column-unnamed"], row=header.row, cell=cell)
        else:
            details = {"header": quoted(display(name)), "resource": resource.name}
            yield Finding(
                CATALOGUE["column-unknown"], header.row, display(name), cell, None, details
            )


def _moved_cells(header: Header, cells: SheetCells) -> Finding | None:
    """Tell of the rows of a .csv file that go on beyond the end of its header."""
    above = header.row - 1
    end = int(_widths(cells)[above]) if cells.raw.widths else len(cells.columns)
    beyond = [column.kinds for column in cells.columns[end:] if column.value(above) == ""]
    rows = [1 + at for at in range(header.row, cells.height) if any(kinds[at] for kinds in beyond)]
    if not rows:
        return None
    cell = cell_address(rows[0], cells.first_column + end)
    details = {"rows": _row_ranges(rows), "count": len(rows)}
    return Finding(CATALOGUE["row-longer"], row=header.row, cell=cell, details=details)


def short_rows(
    header: Header, cells: SheetCells, typed: TypedRows, not_records: Collection[int]
) -> Iterator[Finding]:
    """Tell of the rows of a .csv file that end before its header does.

    Programs that leave out empty cells at the end do so in many rows. Where the last row alone is
    short, and no line break ends it, the file was cut off.
    """
    named = [p for p, column in enumerate(cells.columns) if column.value(header.row - 1) != ""]
    if not cells.raw.widths or not named:
        return
    numbers = np.array([row for row in typed.rows if row not in not_records], dtype=np.intp)
    widths = _widths(cells)[numbers - 1]
    if not len(short := np.flatnonzero(widths <= named[-1])):
        return
    rows = numbers[short].tolist()
    cell = cell_address(rows[0], cells.first_column + int(widths[short[0]]))
    if rows == [cells.height] and cells.raw.is_open:
        yield Finding(CATALOGUE["row-cut-off"], header.row, cell=cell, details={"row": rows[0]})
    else:
        details = {"rows": _row_ranges(rows), "count": len(rows)}
        yield Finding(CATALOGUE["row-shorter"], header.row, cell=cell, details=details)


def _widths(cells: SheetCells) -> "npt.NDArray[np.intp]":
    """Return how many cells each row of a .csv file has."""
    firsts, widths = np.array(cells.raw.widths, dtype=np.intp).T
    return np.repeat(widths, np.diff(firsts, append=cells.height))


def _old_date_system(
    resource: Resource, header: Header, cells: SheetCells, typed: TypedRows
) -> Iterator[Finding]:
    dates = [column.name for column in resource.columns if column.kind is Kind.DATE]
    if cells.raw.counts_from_1904 and typed.frame[dates].notna().to_numpy().any():
        yield Finding(CATALOGUE["date-system-old"], row=header.row)


def _row_ranges(rows: Iterable[int]) -> str:
    """Write row numbers with their runs drawn together, the first few of them."""
    runs: list[list[int]] = []
    for row in rows:
        if runs and row == runs[-1][1] + 1:
            runs[-1][1] = row
        else:
            runs.append([row, row])
    shown = [f"{first}–{last}" if last > first else str(first) for first, last in runs[:10]]
    return ", ".join(shown) + (" …" if len(runs) > len(shown) else "")


_OTHERS = {Kind.CNPJ: Kind.CPF, Kind.CPF: Kind.CNPJ}
_PLACE = Text(pt="a coluna {column}", en="the column {column}")
_ELSEWHERE = Text(pt="outra coluna", en="another column")


def note_misplaced_documents(
    resource: Resource, places: Mapping[str, int], typed: TypedRows
) -> None:
    """Note the documents in the column of the other kind, by their length and check digits.

    Where the sheet has the other column, given in ``places``, and its cell is empty, the document
    belongs there: the finding tells so as a correction.
    """
    for column in resource.columns:
        if column.kind in _OTHERS:
            others = [c for c in resource.columns if c.kind is _OTHERS[column.kind]]
            other = others[0] if len(others) == 1 else None
            _note_misplaced(column, other, other is not None and other.name in places, typed)


def _note_misplaced(column: Column, other: Column | None, is_there: bool, typed: TypedRows) -> None:
    kind = _OTHERS[column.kind]
    values, problems = typed.frame[column.name], typed.problems[column.name]
    usual = values.str.fullmatch(f"[0-9A-Z]{{{column.width}}}", na=True)
    odd = ~usual.to_numpy(dtype=bool) & ~problems.failed
    for position in np.flatnonzero(odd).tolist():
        document = bare_document(str(values.iat[position]))
        if not DOCUMENTS[kind].is_valid(document):
            continue
        place = _ELSEWHERE if other is None else _PLACE.format(column=other.name)
        details: dict[str, object] = {"kind": kind.value.upper(), "place": place}
        is_empty = False
        if is_there and other is not None:
            is_missing = bool(typed.frame[other.name].isna().iat[position])
            is_empty = is_missing and not typed.problems[other.name].failed[position]
        if is_empty and other is not None:
            details |= {"moved_to": other.name, "document": DOCUMENTS[kind].masked(document)}
        problems.add(position, "document-misplaced", details, corrected="" if is_empty else None)
        problems.failed[position] = True
