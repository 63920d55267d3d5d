"""From a file to findings: the whole way of judging a workbook, one step a line."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from xlbridge.findings import CATALOGUE, Finding, Severity
from xlbridge.limits import WorkbookLimits
from xlbridge.resources.catalogue import Catalogue
from xlbridge.resources.resource import Resource
from xlbridge.validation.cell_findings import cell_findings
from xlbridge.validation.changes import Mending
from xlbridge.validation.collector import without_collector
from xlbridge.validation.columns import OnColumn, TypedRows, typed_rows
from xlbridge.validation.display import display, quoted
from xlbridge.validation.headers.choice import Choice, choose, listed
from xlbridge.validation.headers.header import (
    Header,
    find_header_row,
    find_meant_header_row,
    match_header,
)
from xlbridge.validation.headers.joined_columns import joined_columns
from xlbridge.validation.headers.outdated import outdated_template
from xlbridge.validation.judge import judge
from xlbridge.validation.layout import note_layout
from xlbridge.validation.no_records import note_no_records
from xlbridge.validation.reading import Reading
from xlbridge.validation.sheet_findings import SheetFindings, errors_among
from xlbridge.workbook.address import cell_address
from xlbridge.workbook.reading.assembly import WorkbookSource
from xlbridge.workbook.reading.cells import CellColumn, SheetCells
from xlbridge.workbook.reading.code_formats import number_formats_of
from xlbridge.workbook.reading.reader import read_workbook


@dataclass(slots=True)
class ValidatedSheet:
    """A judged sheet.

    ``frame`` has one typed column for each of the resource's, missing where a cell is empty or
    unusable; ``rows`` gives Excel's row number of each of its rows, ``columns`` the zero-based
    position in the sheet of each column that is there, ``own`` the cells as they are of those that
    hold codes. ``findings`` are those of the layout, then
    those of the cells ordered by row and column. ``resource`` is None only where the workbook is
    empty and nothing tells what it is for. ``mending`` tells of the copy in which what is certain
    was mended: then the findings are those that are left.
    """

    file: Path
    resource: Resource | None
    sheet: str
    header_row: int | None = None
    frame: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False)
    rows: Sequence[int] = field(default_factory=list, repr=False)
    columns: dict[str, int] = field(default_factory=dict)
    own: Mapping[str, CellColumn] = field(default_factory=dict, repr=False)
    findings: Sequence[Finding] = field(default_factory=list, repr=False)
    mending: Mending | None = field(default=None, repr=False)

    @property
    def errors(self) -> int:
        """How many findings stop an upload."""
        return errors_among(self.findings)

    @property
    def warnings(self) -> int:
        """How many findings are only worth a look."""
        return len(self.findings) - self.errors

    @property
    def ok(self) -> bool:
        """Whether the sheet may be uploaded."""
        return self.errors == 0

    @property
    def readable(self) -> bool:
        """Whether the layout has no error, so that all cells could be read."""
        header = self.header_row
        wrong = (f.row or 0 for f in self.findings if f.kind.severity is Severity.ERROR)
        return header is not None and all(row > header for row in wrong)

    def finding(
        self, code: str, column: str, position: int, details: Mapping[str, object]
    ) -> Finding:
        """Return a finding of the cell of a column in the row at ``position`` of ``frame``."""
        row, place = self.rows[position], self.columns.get(column)
        own = self.own.get(column)
        value: Any = self.frame[column].iat[position] if own is None else own.value(row - 1)
        return Finding(
            CATALOGUE[code],
            row=row,
            column=column,
            cell=None if place is None else cell_address(row, place),
            value=None if pd.isna(value) else display(value),
            details=details,
            numeric=isinstance(value, float),
        )

    def add(self, found: Iterable[Finding]) -> None:
        """Add findings of cells, each at its place: by row, then by column."""
        found = list(found)
        if not found:
            return
        header = self.header_row or 0
        layout = [f for f in self.findings if (f.row or 0) <= header]
        cells = [f for f in self.findings if (f.row or 0) > header]
        cells = sorted(
            [*cells, *found], key=lambda f: (f.row, self.columns.get(f.column or "", -1))
        )
        self.findings = [*layout, *cells]


def validate_workbook(
    path: Path,
    catalogue: Catalogue,
    *,
    resource: str | None = None,
    sheet: str | None = None,
    reading: Reading = Reading(),  # noqa: B008 - frozen
    limits: WorkbookLimits = WorkbookLimits(),  # noqa: B008 - frozen
    workbook: WorkbookSource | None = None,
    on_column: OnColumn = lambda *_: None,
) -> ValidatedSheet:
    """Judge one sheet of a workbook by its resource's schema; every error comes out at once.

    ``workbook`` waits for the cells where the file is being read already. ``on_column`` is told
    how far it is.

    Raises ``WorkbookRefused`` when the file is no readable .xlsx, ``UsageError`` when the file,
    sheet or resource does not exist or the resource cannot be told.
    """
    with without_collector():
        cells = workbook() if workbook else read_workbook(path, limits, sheet)
        choice = choose(cells, catalogue, resource, sheet)
        return judge_sheet(path, cells.fingerprint, choice, reading, on_column)


def judge_sheet(
    path: Path,
    fingerprint: str | None,
    choice: Choice,
    reading: Reading,
    on_column: OnColumn = lambda *_: None,
) -> ValidatedSheet:
    """Judge the cells of a sheet that was chosen; ``fingerprint`` is that of its workbook."""
    cells, wanted = choice.cells, choice.resource
    position = None if wanted is None else find_header_row(cells, wanted)
    if wanted is not None and position is None:
        position = find_meant_header_row(cells, wanted)
    if wanted is None or position is None:
        findings = [_no_header(wanted, cells), *_hidden(choice, None)]
        return ValidatedSheet(path, wanted, cells.name, findings=findings)
    header = match_header(cells, position, wanted)
    formats_of = partial(number_formats_of, path, cells.raw.part)
    typed = typed_rows(wanted, header, cells, reading, on_column, formats_of)
    _mute_broken_columns(header, typed)
    layout = note_layout(wanted, header, cells, typed)
    note_no_records(wanted, typed)
    judge(typed.frame, wanted, typed.problems)
    columns = {name: cells.first_column + place for name, place in header.columns.items()}
    layout = [*outdated_template(fingerprint, wanted, cells, position), *header.findings, *layout]
    # Where no column could be read, nothing is known of the rows.
    if not typed.rows and (header.columns or not cells.has_data(header.row)):
        layout += [Finding(CATALOGUE["sheet-empty"], row=header.row), *_hidden(choice, header.row)]
    codes = {name for name, column in wanted.by_name.items() if column.kind.is_code}
    return ValidatedSheet(
        path,
        wanted,
        cells.name,
        header.row,
        typed.frame,
        typed.rows,
        columns,
        own={n: cells.columns[place] for n, place in header.columns.items() if n in codes},
        findings=SheetFindings(layout, cell_findings(wanted, typed, columns, cells)),
    )


def _no_header(resource: Resource | None, cells: SheetCells) -> Finding:
    if resource is None or not cells.has_data(0):
        return Finding(CATALOGUE["sheet-empty"])
    if joined := joined_columns(cells, resource):
        details = {"separator": quoted(joined.separator)}
        kind = CATALOGUE["columns-joined"]
        return Finding(kind, row=joined.row, cell=joined.cell, details=details)
    return Finding(CATALOGUE["header-not-found"], details={"resource": resource.name})


def _hidden(choice: Choice, row: int | None) -> list[Finding]:
    """Tell of the sheets where the data may be that this one lacks."""
    if not choice.hidden:
        return []
    return [Finding(CATALOGUE["sheets-hidden"], row=row, details={"listed": listed(choice.hidden)})]


def _mute_broken_columns(header: Header, typed: TypedRows) -> None:
    """A column that is missing or twice there has its finding on the header, none on its cells."""
    for finding in header.findings:
        if finding.kind.severity is Severity.ERROR and finding.column is not None:
            typed.problems[finding.column].failed[:] = True
