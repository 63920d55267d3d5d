"""A dropped workbook: its cells, the edits so far, and its findings after each of them.

The original file is never written. An edit is applied to the cells in memory, and the sheet is
validated as the command does; the corrected copy is the original with the edited cells changed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np
import numpy.typing as npt

from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.resources import Catalogue, Column
from xlbridge.resources.findings import CorrectedValue, Finding, Severity
from xlbridge.settings import WorkbookLimits
from xlbridge.ui.cell_texts import shown_text, typed_value, value_text
from xlbridge.validation import (
    ParseOptions,
    ValidatedSheet,
    count_corrected,
    row_numbers,
    validate_workbook,
)
from xlbridge.validation.reports import RuleKey, by_rule
from xlbridge.workbook import CellPosition, cell_address, column_letters
from xlbridge.workbook.edit import EditableCells, edit_package
from xlbridge.workbook.read import CellColumn, CellEncoder, SheetCells, WorkbookCells, read_workbook

_COMPUTED = Text(
    pt="{cell}: o valor vem de uma fórmula; corrija a fórmula no Excel.",
    en="{cell}: a formula gives the value; correct the formula in Excel.",
)
_OUTSIDE = Text(
    pt="{cell}: a planilha não tem essa linha ou coluna.",
    en="{cell}: the sheet has no such row or column.",
)
_NOTHING_OPEN = Text(
    pt="Nenhuma planilha foi reconhecida no arquivo.", en="No sheet was recognised in the workbook."
)
ALL, WRONG = "all", "wrong"


@dataclass(frozen=True, slots=True)
class SheetChoice:
    """Resource, sheet and conventions that the analyst chose; None leaves it to the file."""

    resource: str | None = None
    sheet: str | None = None
    reading: ParseOptions = ParseOptions()  # noqa: RUF009 - frozen


@dataclass(frozen=True, slots=True)
class _CellState:
    """Cell as it was before an edit: its content, and what the sheet's XML says of it."""

    cell: CellColumn
    error: str | None
    scaled: float | None
    unvalued: bool
    edit: CorrectedValue | None
    edited: bool


_Step = dict[CellPosition, tuple[_CellState, CorrectedValue]]
"""Cells that were edited at once, each with what it was and what it became."""


class SheetEditor:
    """Editor of one sheet of a workbook. Rows are Excel's numbers, columns count from zero."""

    def __init__(self, path: Path, catalogue: Catalogue, limits: WorkbookLimits) -> None:
        """Read the workbook. Raises ``WorkbookRefused`` when that cannot be done safely."""
        self.path = path
        self.lock = RLock()
        self.choice = SheetChoice()
        self._catalogue = catalogue
        self._limits = limits
        self._workbook = read_workbook(path, limits)
        self._validated: ValidatedSheet | None = None
        self._finding_rows: npt.NDArray[np.intc] = np.empty(0, np.intc)
        self._edits: dict[CellPosition, CorrectedValue] = {}
        self._undone: list[_Step] = []
        self._done: list[_Step] = []
        self._views: dict[str, list[int]] = {}
        self.remarks: dict[CellPosition, str] = {}
        """Reasons for which the system refused rows, by their cells."""

    @property
    def sheet_names(self) -> list[str]:
        """Names of the sheets that may be chosen."""
        return [sheet.name for sheet in self._workbook.sheets]

    @property
    def validated(self) -> ValidatedSheet:
        """The sheet as it was validated last. Raises ``UsageError`` when none was recognised."""
        if self._validated is None:
            raise UsageError(_NOTHING_OPEN)
        return self._validated

    @property
    def cells(self) -> SheetCells:
        """The cells of the sheet, edits included."""
        name = self.validated.sheet
        return next(sheet for sheet in self._workbook.sheets if sheet.name == name)

    @property
    def edited(self) -> int:
        """Number of cells that differ from the original's."""
        return len(self._edits)

    def choose(self, choice: SheetChoice) -> None:
        """Validate the sheet that was chosen; edits of another sheet are dropped.

        Raises ``UsageError`` when the sheet or the resource cannot be told or does not exist.
        """
        before = None if self._validated is None else self._validated.sheet
        self.choice = choice
        self._validate()
        if before not in {None, self.validated.sheet} and self._edits:
            self._workbook = read_workbook(self.path, self._limits)
            self._edits, self._done, self._undone = {}, [], []
            self._validate()

    def _validate(self) -> None:
        validated = validate_workbook(
            self.path,
            self._catalogue,
            resource=self.choice.resource,
            sheet=self.choice.sheet,
            reading=self.choice.reading,
            workbook=self._chosen_sheets,
        )
        self._validated = validated
        self._finding_rows = np.array(row_numbers(validated.findings), dtype=np.intc)

    def _chosen_sheets(self) -> WorkbookCells:
        wanted = self.choice.sheet
        if wanted is None:
            return self._workbook
        sheets = [sheet for sheet in self._workbook.sheets if sheet.name == wanted]
        return replace(self._workbook, sheets=sheets)

    def edit(self, values: Mapping[CellPosition, str]) -> None:
        """Write what a person typed into cells, and validate the sheet again.

        Raises ``UsageError`` for a cell that a formula computes, or that is not in the sheet.
        """
        self.put(
            {place: typed_value(self._column(place[1]), text) for place, text in values.items()}
        )

    def put(self, values: Mapping[CellPosition, CorrectedValue]) -> None:
        """Put values into cells, as one step that can be undone. Raises as ``edit`` does."""
        for place in values:
            self._require_editable(place)
        step = {place: (self._state(place), value) for place, value in values.items()}
        for place, (_, value) in step.items():
            self._write(place, value)
        self._done.append(step)
        self._undone.clear()
        self._validate()

    def undo(self) -> list[CellPosition]:
        """Take the last step back; return its cells, none where there is no step."""
        if not self._done:
            return []
        step = self._done.pop()
        for place, (state, _) in step.items():
            self._restore(place, state)
        self._undone.append(step)
        self._validate()
        return list(step)

    def redo(self) -> list[CellPosition]:
        """Do the last step again that was taken back; return its cells."""
        if not self._undone:
            return []
        step = self._undone.pop()
        for place, (_, value) in step.items():
            self._write(place, value)
        self._done.append(step)
        self._validate()
        return list(step)

    def fixes(self, rule: str) -> dict[CellPosition, tuple[str, CorrectedValue]]:
        """Return the certain corrections of a rule: of each cell the old text, the new value."""
        sheet = self.validated
        doubted = {f.column for f in sheet.findings if f.kind.code == "dates-swapped"}
        return {
            (finding.row, sheet.columns[finding.column]): (finding.value or "", finding.corrected)
            for finding in self._findings_of(rule)
            if finding.corrected is not None
            and finding.row is not None
            and finding.column in sheet.columns
            and finding.column not in doubted
            and "moved_to" not in finding.details
            and not self._is_computed((finding.row, sheet.columns[finding.column]))
        }

    def rules(self) -> list[dict[str, Any]]:
        """Return the findings by rule, errors first: how many there are, and what can be fixed."""
        return [
            {
                "key": _rule_text(rule),
                "column": rule[0],
                "code": rule[1],
                "severity": found[0].kind.severity.value,
                "message": str(found[0].message if len(found) == 1 else found[0].kind.summary),
                "hint": str(found[0].hint if len(found) == 1 else ""),
                "count": len(found),
                "fixable": count_corrected(found),
                "cell": found[0].cell,
            }
            for rule, found in by_rule(self.validated.findings).items()
        ]

    def view(self, name: str, *, renew: bool) -> list[int]:
        """Return the numbers of a view's rows: all, the wrong ones, or those of a rule.

        A view stays as it is until it is renewed, so that rows do not vanish while they are
        corrected.
        """
        if renew or name not in self._views:
            self._views[name] = self._rows_of(name)
        return self._views[name]

    def _rows_of(self, name: str) -> list[int]:
        header = self.validated.header_row or 0
        if name == ALL:
            return list(range(header + 1, self.cells.height + 1))
        refused = {row for row, _ in self.remarks}
        if name == WRONG:
            wrong = np.unique(self._finding_rows[self._finding_rows > header]).tolist()
            return sorted({*wrong, *refused})
        return sorted(row for row in set(row_numbers(self._findings_of(name))) if row > header)

    def _findings_of(self, rule: str) -> Sequence[Finding]:
        groups = by_rule(self.validated.findings)
        return next((found for key, found in groups.items() if _rule_text(key) == rule), ())

    def rows(self, numbers: Sequence[int]) -> list[dict[str, Any]]:
        """Return rows of the sheet: the texts of their cells, and the remarks on them."""
        cells = self.cells
        return [
            {
                "row": row,
                "cells": [
                    shown_text(cells, (row, cells.first_column + place))
                    for place in range(len(cells.columns))
                ],
                "marks": self._marks(row),
                "edited": [
                    place
                    for place in range(len(cells.columns))
                    if (row, cells.first_column + place) in self._edits
                ],
            }
            for row in numbers
        ]

    def columns(self) -> list[dict[str, Any]]:
        """Return the columns of the sheet: letters, the analyst's header, the resource's column."""
        cells, sheet = self.cells, self.validated
        names = {place: name for name, place in sheet.columns.items()}
        header = sheet.header_row
        return [
            {
                "letters": column_letters(place),
                "header": "" if header is None else shown_text(cells, (header, place)),
                "name": names.get(place),
                "required": (column := self._column(place)) is not None and column.required,
            }
            for place in range(cells.first_column, cells.first_column + len(cells.columns))
        ]

    def next_error(self, row: int, column: int) -> CellPosition | None:
        """Return the next wrong or refused cell after a place, from the top again after the last.

        Source: the product brief, contract of the page.
        """
        after = self._first_wrong(row, column)
        refused = [place for place in self.remarks if place > (row, column)]
        later = [place for place in (after, min(refused, default=None)) if place is not None]
        if later:
            return min(later)
        if (row, column) <= (0, -1):
            return None
        return self.next_error(0, -1)

    def _first_wrong(self, row: int, column: int) -> CellPosition | None:
        """Return the first cell with a finding after a place, None where there is none."""
        findings = self.validated.findings
        for at in range(int(np.searchsorted(self._finding_rows, row)), len(findings)):
            place = self._place(findings[at])
            if place is not None and place > (row, column):
                return place
        return None

    def save_corrected(self, target: Path) -> None:
        """Write the corrected copy: the original with the edited cells, styles kept.

        Raises ``UsageError`` or ``WorkbookRefused`` when it cannot be written.
        """
        with edit_package(self.path) as package:
            if self._edits:
                cells = EditableCells(package, self.validated.sheet)
                places = frozenset(self._edits)
                for place in sorted(cells.locked(places)):
                    raise UsageError(_COMPUTED.format(cell=cell_address(*place)))
                cells.change(self._edits)
            package.save(target)

    def _marks(self, row: int) -> dict[int, list[dict[str, Any]]]:
        """Return the findings of a row's cells, by their places in the row."""
        first = int(np.searchsorted(self._finding_rows, row, "left"))
        last = int(np.searchsorted(self._finding_rows, row, "right"))
        marks: dict[int, list[dict[str, Any]]] = {}
        for finding in self.validated.findings[first:last]:
            place = self._place(finding)
            if place is not None:
                marks.setdefault(place[1] - self.cells.first_column, []).append(_mark(finding))
        for (refused, column), text in self.remarks.items():
            if refused == row:
                mark = {"severity": "refused", "message": text, "hint": "", "code": "refused"}
                marks.setdefault(column - self.cells.first_column, []).append(mark)
        return marks

    def _place(self, finding: Finding) -> CellPosition | None:
        if finding.row is None or finding.column is None:
            return None
        column = self.validated.columns.get(finding.column)
        header = self.validated.header_row or 0
        return None if column is None or finding.row <= header else (finding.row, column)

    def _column(self, place: int) -> Column | None:
        sheet = self.validated
        names = {at: name for name, at in sheet.columns.items()}
        return None if sheet.resource is None else sheet.resource.by_name.get(names.get(place, ""))

    def _require_editable(self, place: CellPosition) -> None:
        row, column = place
        cells = self.cells
        inside = cells.first_column <= column < cells.first_column + len(cells.columns)
        if not inside or not (self.validated.header_row or 0) < row <= cells.height:
            raise UsageError(_OUTSIDE.format(cell=cell_address(row, max(column, 0))))
        if self._is_computed(place):
            raise UsageError(_COMPUTED.format(cell=cell_address(row, column)))

    def _is_computed(self, place: CellPosition) -> bool:
        runs = self.cells.raw.layout.formulas.get(place[1], ())
        return any(first <= place[0] <= last for first, last in runs)

    def _state(self, place: CellPosition) -> _CellState:
        raw, column = self.cells.raw, self.cells.columns[place[1] - self.cells.first_column]
        return _CellState(
            column.cell(place[0] - 1),
            raw.errors.get(place),
            raw.scaled.get(place),
            place in raw.unvalued,
            self._edits.get(place),
            place in self._edits,
        )

    def _write(self, place: CellPosition, value: CorrectedValue) -> None:
        raw, column = self.cells.raw, self.cells.columns[place[1] - self.cells.first_column]
        content = float(value) if isinstance(value, Decimal) else value
        column.put(place[0] - 1, CellEncoder().encode((content,)))
        raw.errors.pop(place, None)
        raw.scaled.pop(place, None)
        raw.unvalued.discard(place)
        self.remarks.pop(place, None)
        self._edits[place] = value

    def _restore(self, place: CellPosition, state: _CellState) -> None:
        raw, column = self.cells.raw, self.cells.columns[place[1] - self.cells.first_column]
        column.put(place[0] - 1, state.cell)
        if state.error is not None:
            raw.errors[place] = state.error
        if state.scaled is not None:
            raw.scaled[place] = state.scaled
        if state.unvalued:
            raw.unvalued.add(place)
        if state.edited and state.edit is not None:
            self._edits[place] = state.edit
        else:
            del self._edits[place]


def _rule_text(rule: RuleKey) -> str:
    return f"{rule[0] or ''}:{rule[1]}"


def _mark(finding: Finding) -> dict[str, Any]:
    is_error = finding.kind.severity is Severity.ERROR
    return {
        "severity": "error" if is_error else "warning",
        "code": finding.kind.code,
        "message": str(finding.message),
        "hint": str(finding.hint),
        "corrected": None if finding.corrected is None else value_text(finding.corrected),
    }
