"""What became of what an author meant: right, named, or changed in silence.

A case is something that an analyst's program may write, with the value that its author meant.
It is ``right`` when that value would be sent, ``named`` when a finding stands on it or the workbook
is refused, and ``silent`` when another value would be sent without a word. None may be silent.
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
    NAMED = "named"
    SILENT = "silent"


class Refused:
    """Stands for a meaning that no value has: only a finding is right."""

    def __repr__(self) -> str:
        return "refused"


REFUSED = Refused()


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Values of which each is what was meant."""

    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Shown:
    """Number that is shown by a number format."""

    value: float
    form: str


@dataclass(frozen=True, slots=True)
class Case:
    """Cell of a column, and what its author meant.

    ``among`` are the other cells of its column; with ``alone`` there are none, and either has a
    workbook of its own. ``beside`` are other cells of its row.
    """

    group: str
    name: str
    resource: str
    column: str
    cell: Any
    meant: Any
    among: tuple[Any, ...] = ()
    alone: bool = False
    beside: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.group}: {self.column}: {self.name}"


Outcomes = dict[str, Outcome]


@cache
def _catalogue() -> Any:
    return load_catalogue()


def validated(path: Path, **options: Any) -> ValidatedSheet | None:
    """Return a judged sheet, None where the workbook was refused, or a question asked."""
    try:
        return validate_workbook(path, _catalogue(), **options)
    except XlbridgeError:
        return None


def judge(cases: Sequence[Case], folder: Path, every: int) -> Outcomes:
    """Judge cases, all that need no company in one workbook for each resource.

    Of those that have a workbook of their own, each ``every``-th.
    """
    together: dict[str, list[Case]] = {}
    outcomes: Outcomes = {}
    for number, case in enumerate([one for one in cases if one.among or one.alone][::every]):
        outcomes |= _judge_sheet(folder / f"{number}.xlsx", case.resource, [case])
    for case in cases:
        if not (case.among or case.alone):
            together.setdefault(case.resource, []).append(case)
    for resource, some in together.items():
        outcomes |= _judge_sheet(folder / f"{resource}.xlsx", resource, some)
    return outcomes


def _judge_sheet(path: Path, resource: str, cases: Sequence[Case]) -> Outcomes:
    """Write one row for each case, then those among which a single one stands; judge them."""
    rows = [{case.column: case.cell, **case.beside} for case in cases]
    rows += [{case.column: cell} for case in cases for cell in case.among]
    write_sheet(path, resource, rows)
    sheet = validated(path)
    return {
        str(case): outcome_of(sheet, row, case.column, case.meant, case.beside)
        for row, case in enumerate(cases, start=2)
    }


def write_sheet(path: Path, resource: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write good rows of a resource with those cells changed; columns that nobody needs are out."""
    given = {name for row in rows for name in row}
    names = list(dict.fromkeys([*GOOD[resource], *sorted(given)]))
    with xlsxwriter.Workbook(path) as book:
        page = book.add_worksheet("Plan1")
        page.write_row(0, 0, names)
        day = book.add_format({"num_format": "dd/mm/yyyy"})
        for number, row in enumerate(rows, start=1):
            for place, name in enumerate(names):
                write_cell(book, page, number, place, {**GOOD[resource], **row}.get(name), day)


_FORMATS = {Percent: "0.0%", Padded: "00000", Dollars: "[$US$-409] #,##0.00"}


def write_cell(book: Any, page: Any, row: int, place: int, cell: Any, day: Any) -> None:
    """Write a cell as what it is; ``day`` is the format of dates."""
    match cell:
        case None:
            pass
        case Shown():
            form = book.add_format({"num_format": cell.form})
            page.write_number(row, place, cell.value, form)
        case Percent() | Padded() | Dollars():
            form = book.add_format({"num_format": _FORMATS[type(cell)]})
            page.write_number(row, place, cell, form)
        case time():
            page.write_datetime(row, place, cell, book.add_format({"num_format": "hh:mm"}))
        case ErrorCell():
            page.write_formula(row, place, "=NA()", None, str(cell))
        case Formula():
            page.write_formula(row, place, str(cell), None, "")
        case bool():
            page.write_boolean(row, place, cell)
        case str():
            page.write_string(row, place, cell)
        case date():
            page.write_datetime(row, place, cell, day)
        case _:
            page.write_number(row, place, cell)


def outcome_of(
    sheet: ValidatedSheet | None, row: int, column: str, meant: Any, beside: Iterable[str] = ()
) -> Outcome:
    """Tell what becomes of a cell, by its row in the workbook and the name of its column.

    What is said of the columns ``beside`` it in its row is said of the cell too.
    """
    if sheet is None:
        return Outcome.NAMED
    if row in sheet.rows and column in sheet.frame:
        sent = sheet.frame[column].iloc[sheet.rows.index(row)]
        if is_meant(sent, meant):
            return Outcome.RIGHT
    told = any(
        (finding.row == row and finding.column in (column, None, *beside))
        or (finding.column == column and finding.row in (None, sheet.header_row))
        for finding in sheet.findings
    )
    return Outcome.NAMED if told else Outcome.SILENT


def is_meant(sent: Any, meant: Any) -> bool:
    """Tell whether a value of a typed column is the one that was meant."""
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
