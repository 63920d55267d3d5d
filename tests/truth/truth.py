"""Outcomes of what an author meant: right, reported, or changed silently.

A case is something that an analyst's program may write, with the value that its author meant. It
is ``right`` if that value would be sent, ``reported`` if it has a finding or the workbook is
refused, and ``silent`` if another value would be sent without a finding. None may be silent.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import xlsxwriter
from sheets import GOOD, Dollars, ErrorCell, Formula, Padded, Percent

from xlbridge.errors import XlbridgeError
from xlbridge.resources import load_catalogue
from xlbridge.validation import ValidatedSheet, validate_workbook


class Outcome(StrEnum):
    RIGHT = "right"
    REPORTED = "reported"
    SILENT = "silent"


class Refused:
    """Marker for cells without a right value: they must be reported."""

    def __repr__(self) -> str:
        return "refused"


REFUSED = Refused()


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Several values, any of which is right."""

    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Formatted:
    """Number with a number format."""

    value: float
    form: str


@dataclass(frozen=True, slots=True)
class Case:
    """Cell of a column, and what its author meant.

    ``column_cells`` are the other cells of its column; with ``alone`` there are none. Both kinds
    have their own workbook. ``row_cells`` are other cells of its row.
    """

    group: str
    name: str
    resource: str
    column: str
    cell: Any
    meant: Any
    column_cells: tuple[Any, ...] = ()
    alone: bool = False
    row_cells: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.group}: {self.column}: {self.name}"


Outcomes = dict[str, Outcome]


@cache
def _catalogue() -> Any:
    return load_catalogue()


def validated(path: Path, **options: Any) -> ValidatedSheet | None:
    """Return the validated sheet, None if the workbook was refused or needs a choice."""
    try:
        return validate_workbook(path, _catalogue(), **options)
    except XlbridgeError:
        return None


def evaluate(cases: Sequence[Case], folder: Path, every: int) -> Outcomes:
    """Evaluate cases; those that need no workbook of their own share one for each resource.

    Of those that do, only each ``every``-th is evaluated.
    """
    shared: dict[str, list[Case]] = {}
    outcomes: Outcomes = {}
    for number, case in enumerate([one for one in cases if one.column_cells or one.alone][::every]):
        outcomes |= _evaluate_sheet(folder / f"{number}.xlsx", case.resource, [case])
    for case in cases:
        if not (case.column_cells or case.alone):
            shared.setdefault(case.resource, []).append(case)
    for resource, group in shared.items():
        outcomes |= _evaluate_sheet(folder / f"{resource}.xlsx", resource, group)
    return outcomes


def _evaluate_sheet(path: Path, resource: str, cases: Sequence[Case]) -> Outcomes:
    """Write one row for each case, then the other cells of its column; evaluate the cases."""
    rows = [{case.column: case.cell, **case.row_cells} for case in cases]
    rows += [{case.column: cell} for case in cases for cell in case.column_cells]
    write_sheet(path, resource, rows)
    sheet = validated(path)
    return {
        str(case): outcome_of(sheet, row, case.column, case.meant, case.row_cells)
        for row, case in enumerate(cases, start=2)
    }


def write_sheet(path: Path, resource: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write good rows of a resource with the given cells changed."""
    changed = {name for row in rows for name in row}
    names = list(dict.fromkeys([*GOOD[resource], *sorted(changed)]))
    with xlsxwriter.Workbook(path) as book:
        page = book.add_worksheet("Plan1")
        page.write_row(0, 0, names)
        day = book.add_format({"num_format": "dd/mm/yyyy"})
        for number, row in enumerate(rows, start=1):
            for column, name in enumerate(names):
                write_cell(book, page, number, column, {**GOOD[resource], **row}.get(name), day)


_FORMATS = {Percent: "0.0%", Padded: "00000", Dollars: "[$US$-409] #,##0.00"}


def write_cell(book: Any, page: Any, row: int, column: int, cell: Any, day: Any) -> None:
    """Write a cell by its type; ``day`` is the format of dates."""
    match cell:
        case None:
            pass
        case Formatted():
            form = book.add_format({"num_format": cell.form})
            page.write_number(row, column, cell.value, form)
        case Percent() | Padded() | Dollars():
            form = book.add_format({"num_format": _FORMATS[type(cell)]})
            page.write_number(row, column, cell, form)
        case time():
            page.write_datetime(row, column, cell, book.add_format({"num_format": "hh:mm"}))
        case ErrorCell():
            page.write_formula(row, column, "=NA()", None, str(cell))
        case Formula():
            page.write_formula(row, column, str(cell), None, "")
        case bool():
            page.write_boolean(row, column, cell)
        case str():
            page.write_string(row, column, cell)
        case date():
            page.write_datetime(row, column, cell, day)
        case _:
            page.write_number(row, column, cell)


def outcome_of(
    sheet: ValidatedSheet | None, row: int, column: str, meant: Any, related: Iterable[str] = ()
) -> Outcome:
    """Return the outcome of a cell, by its row in the workbook and the name of its column.

    Findings in the ``related`` columns of its row count for the cell, too. A row that is held has
    a finding, and none of its cells is sent.
    """
    if sheet is None or row in sheet.non_records:
        return Outcome.REPORTED
    if row in sheet.rows and column in sheet.frame:
        sent = sheet.frame[column].iloc[sheet.rows.index(row)]
        if is_meant(sent, meant):
            return Outcome.RIGHT
    is_reported = any(
        (finding.row == row and finding.column in (column, None, *related))
        or (finding.column == column and finding.row in (None, sheet.header_row))
        for finding in sheet.findings
    )
    return Outcome.REPORTED if is_reported else Outcome.SILENT


def is_meant(sent: Any, meant: Any) -> bool:
    """Return whether a value of a typed column is the one that was meant."""
    if meant is REFUSED:
        return False
    if isinstance(meant, AnyOf):
        return any(is_meant(sent, one) for one in meant.values)
    if meant is None:
        return bool(pd.isna(sent))
    if sent is None or pd.isna(sent):
        return False
    if isinstance(meant, bool) or isinstance(sent, bool | str):
        return bool(type(meant) is type(sent) or isinstance(meant, bool)) and bool(sent == meant)
    if isinstance(meant, date):
        day = meant if isinstance(meant, datetime) else datetime.combine(meant, datetime.min.time())
        return bool(pd.Timestamp(sent) == day)
    if isinstance(meant, str):
        return False
    return Decimal(str(sent)) == Decimal(str(meant))
