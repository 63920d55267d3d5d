"""A dropped workbook: its cells, the edits so far, and its findings after each of them.

One sheet is chosen, and judged with the sheets of its records' lists; one of them is shown. The
original file is never written. An edit is applied to the cells in memory, and the sheet is
validated as the command does; the corrected copy is the original with the edited cells changed.
"""

import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import RLock
from typing import Any

from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.resources import Catalogue, Column
from xlbridge.resources.findings import CorrectedValue, Severity
from xlbridge.resources.references import linked_catalogue
from xlbridge.settings import ParseOptions, WorkbookLimits
from xlbridge.ui.cell_edits import KeptPart, WorkbookEdits, displayed_text, is_computed, typed_value
from xlbridge.ui.reading_progress import ReadingProgress
from xlbridge.ui.row_remarks import REFUSED, Refusals, RowRemarks, ShownFindings
from xlbridge.validation import (
    ValidatedSheet,
    ValidationRequest,
    blank_children,
    row_numbers,
    validate_workbook,
)
from xlbridge.validation.cells import ColumnMemo
from xlbridge.validation.mapping import SheetMapping
from xlbridge.workbook import CellPosition, cell_address, column_letters
from xlbridge.workbook.edit import EditableCells, edit_package
from xlbridge.workbook.read import SheetCells, WorkbookCells, read_workbook
from xlbridge.workbook.write import as_xlsx

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
MAPPING = "mapping.yaml"  # of a sheet, beside its copy
_MOST_ROWS = 1_048_576
_PLANNED = "plan:"
"""Begins the name of a view of the rows that have an action in the plan."""


@dataclass(frozen=True, slots=True)
class BatchUnit:
    """Workbook of a batch: the batch, the step, and the file that the plan takes."""

    batch: str
    step: str
    path: str


@dataclass(frozen=True, slots=True)
class SheetChoice:
    """Choice of resource, sheet, mapping, conventions and links; None leaves it open."""

    resource: str | None = None
    sheet: str | None = None
    mapping: SheetMapping | None = None
    reading: ParseOptions = ParseOptions()  # noqa: RUF009 - frozen
    links: Mapping[str, str] = field(default_factory=dict)


class SheetEditor:
    """Editor of one sheet of a workbook. Rows are Excel's numbers, columns count from zero."""

    def __init__(
        self,
        path: Path,
        catalogue: Catalogue,
        limits: WorkbookLimits,
        progress: ReadingProgress | None = None,
    ) -> None:
        """Read the workbook. Raises ``WorkbookRefused`` when that cannot be done safely."""
        self._progress = progress or ReadingProgress()
        self.source = path
        self.path = path
        """The .xlsx workbook with these cells; that of a .csv is made when it is needed."""
        self.lock = RLock()
        self.choice = SheetChoice()
        self._own_catalogue = self._catalogue = catalogue
        self.limits = limits
        self.workbook = read_workbook(path, limits, on_rows=self._progress.on_rows)
        self._validated: ValidatedSheet | None = None
        self._blank: Sequence[ValidatedSheet] = ()
        self._found: ShownFindings | None = None
        self._shown = ""
        self._memo = ColumnMemo()
        self._sheet = ""
        self._edits = WorkbookEdits(self.sheet_named)
        self._views: dict[tuple[str, str], Sequence[int]] = {}
        self.remarks = RowRemarks()
        self.job: str | None = None
        """The last upload of the sheet, whose refused rows go again as its retry."""
        self.unit: BatchUnit | None = None
        """The workbook of a batch that this one is a copy of."""
        self.version = 0
        """Number of choices and steps so far: a plan goes for the version that it was made of."""

    @property
    def copy(self) -> Path:
        """The path of the corrected copy, which keeps its name from send to send."""
        return self.path.with_name(f"{self.path.stem}-corrigida.xlsx")

    @property
    def id(self) -> str:
        """Identifier that tells this sheet of this opened workbook from any other."""
        return f"{self.path.parent.name}-{self.sheet_names.index(self.found.sheet.sheet)}"

    @property
    def sheet_names(self) -> list[str]:
        """Names of the sheets that may be chosen."""
        return [sheet.name for sheet in self.workbook.sheets]

    def sheet_named(self, name: str) -> SheetCells:
        """Return the cells of a sheet, edits included. Raises ``UsageError`` without one."""
        found = next((sheet for sheet in self.workbook.sheets if sheet.name == name), None)
        if found is None:
            raise UsageError(_NOTHING_OPEN)
        return found

    @property
    def is_recognised(self) -> bool:
        """True once the sheet was validated; an empty workbook has none."""
        return self._validated is not None and self._validated.resource is not None

    @property
    def validated(self) -> ValidatedSheet:
        """The chosen sheet as it was validated last, with the sheets of its records' lists.

        Raises ``UsageError`` when none was recognised.
        """
        if self._validated is None:
            raise UsageError(_NOTHING_OPEN)
        return self._validated

    @property
    def found(self) -> ShownFindings:
        """The findings of the sheet that is shown. Raises ``UsageError`` as ``validated`` does."""
        if self._found is None:
            raise UsageError(_NOTHING_OPEN)
        return self._found

    @property
    def cells(self) -> SheetCells:
        """The cells of the sheet that is shown, edits included."""
        return self.sheet_named(self.found.sheet.sheet)

    @property
    def edited(self) -> int:
        """Number of cells that differ from the original's, in all sheets."""
        return self._edits.count

    @property
    def set_aside(self) -> set[int]:
        """Rows of the sheet that is shown that are no records, as a person has seen."""
        return self._edits.aside.get(self.found.sheet.sheet, set())

    @property
    def shows_chosen(self) -> bool:
        """True where the chosen sheet is shown, not one of its records' lists."""
        return self.found.sheet is self.validated

    @property
    def parts(self) -> Sequence[ValidatedSheet]:
        """The chosen sheet and those of its records' lists, also those without rows so far."""
        return (*self.validated.with_children, *self._blank)

    def show_part(self, name: str) -> None:
        """Show the chosen sheet, or one of its records' lists. Raises ``UsageError`` without it."""
        if name not in {part.sheet for part in self.parts}:
            raise UsageError(_NOTHING_OPEN)
        self._shown = name
        self._find_shown()

    def _find_shown(self) -> None:
        parts = {part.sheet: part for part in self.parts}
        self._found = ShownFindings(parts.get(self._shown, self.validated))
        self._shown = self._found.sheet.sheet

    def choose(self, choice: SheetChoice) -> None:
        """Validate the sheet that was chosen; edits of another sheet are dropped.

        Raises ``UsageError`` when the sheet or the resource cannot be told or does not exist, or
        the mapping does not fit.
        """
        before, self.choice = self.choice, choice
        self.version += 1
        self._memo = ColumnMemo()
        asked = ValidationRequest(file=self.path, mapping=choice.mapping, links=choice.links)
        self._catalogue = linked_catalogue(asked.all_links, self._own_catalogue)
        try:
            self._validate()
        except UsageError:
            self.choice = before if self._validated is not None else choice
            raise
        if self._sheet != self.validated.sheet:
            if self.edited:
                self.workbook = read_workbook(self.source, self.limits)
                self._validate()
            self._sheet = self._shown = self.validated.sheet
            self._edits = WorkbookEdits(self.sheet_named)
            self.remarks, self.job = RowRemarks(), None
            self._find_shown()
        self._views.clear()

    def _validate(self) -> None:
        choice = self.choice
        resource, sheet = choice.resource, choice.sheet
        if choice.mapping is not None:
            resource = None
        validated = validate_workbook(
            self.path,
            self._catalogue,
            resource=resource,
            sheet=sheet,
            reading=choice.reading,
            workbook=self._sheets_to_validate,
            on_column=self._progress.on_column,
            mapping=choice.mapping,
            memo=self._memo,
        )
        self._validated = validated
        self._blank = blank_children(validated, self.workbook.sheets)
        self._find_shown()
        if choice.mapping is None and validated.resource is not None:
            # What was recognised need not be looked for again after each edit.
            self.choice = replace(choice, resource=validated.resource.name, sheet=validated.sheet)

    def _sheets_to_validate(self) -> WorkbookCells:
        """Return the workbook's cells, the chosen sheet first."""
        name = self.choice.sheet
        sheets = sorted(self.workbook.sheets, key=lambda sheet: sheet.name != name)
        return replace(self.workbook, sheets=sheets)

    def edit(self, values: Mapping[CellPosition, str]) -> None:
        """Write what a person typed into cells, and validate the sheet again.

        Raises ``UsageError`` for a cell that a formula computes, or that is not in the sheet.
        """
        columns = {place: self._column(place) for place in {column for _, column in values}}
        self.put({it: typed_value(columns[it[1]], text) for it, text in values.items()})

    def put(self, values: Mapping[CellPosition, CorrectedValue]) -> None:
        """Put values into cells, as one step that can be undone. Raises as ``edit`` does."""
        last = self._last_row
        new = {row for row, _ in values if row > last}
        self._require_editable(values, min(last + len(new), _MOST_ROWS))
        self._edits.make(self._shown, values)
        self._step(self._shown, list(values))

    def refuse(self, reasons: Refusals) -> None:
        """Take the reasons for which the system refuses cells, in place of earlier ones."""
        self.remarks.refuse(reasons)
        self._views.clear()

    def forget_uploads(self) -> None:
        """Forget what one environment said of the rows, as another one is chosen."""
        self.remarks, self.job = RowRemarks(), None
        self.version += 1
        self._views.clear()

    def put_aside(self, rule: str) -> None:
        """Set aside the rows of a rule that are no records: they are not sent, and not shown."""
        non_records = self.found.sheet.non_records
        rows = row_numbers(self.found.of_rule(rule))
        self._edits.put_aside(self._shown, (row for row in rows if row in non_records))
        self._views.clear()

    def kept_parts(self) -> dict[str, KeptPart]:
        """Return the edits by sheet as plain data, to be kept."""
        return self._edits.kept_parts()

    def repeat(self, parts: Mapping[str, KeptPart]) -> None:
        """Make the edits that were kept."""
        for name, part in parts.items():
            self._step(name, self._edits.repeat(name, part["edits"]))
            self._edits.aside[name] = set(part["set_aside"])

    def undo(self) -> None:
        """Take the last step back, where there is one, and show its sheet."""
        self._show_step(self._edits.undo())

    def redo(self) -> None:
        """Do the last step again that was taken back, and show its sheet."""
        self._show_step(self._edits.redo())

    def _show_step(self, step: tuple[str, Sequence[CellPosition]] | None) -> None:
        if step is None:
            return
        sheet, places = step
        if places:
            self._step(sheet, places)
        else:
            self.show_part(sheet)
            self._views.clear()

    def _step(self, sheet: str, places: Sequence[CellPosition]) -> None:
        if not places:
            return
        self.version += 1
        self._shown = sheet
        self.remarks.edited(sheet, places)
        self._validate()

    def fixes(self, rule: str) -> dict[CellPosition, tuple[str, CorrectedValue]]:
        """Return the certain corrections of a rule: of each cell the old text, the new value."""
        found = self.found.fixes(rule)
        cells = self.cells
        return {place: fix for place, fix in found.items() if not is_computed(cells, place)}

    def view(self, name: str, *, renew: bool) -> Sequence[int]:
        """Return the numbers of a view's rows: all, the wrong ones, or those of a rule.

        A view stays as it is until it is renewed, so that rows do not vanish while they are
        corrected. Below all rows stands an empty one, in which a new row may begin.
        """
        if name == ALL:
            last = min(self._last_row + 1, _MOST_ROWS)
            return range((self.found.sheet.header_row or 0) + 1, last + 1)
        key = self._shown, name
        if renew or key not in self._views:
            self._views[key] = self._rows_of(name)
        return self._views[key]

    def _rows_of(self, name: str) -> list[int]:
        if name.startswith(_PLANNED):
            action = name.removeprefix(_PLANNED)
            planned = self.remarks.planned if self.shows_chosen else {}
            return sorted(row for row, it in planned.items() if it.action == action)
        if name.startswith(REFUSED):
            return self.remarks.rows_of(self._shown, name)
        header = self.found.sheet.header_row or 0
        rows = {row for row in self.found.rows(None if name == WRONG else name) if row > header}
        if name == WRONG:
            rows = rows - self.set_aside | {row for row, _ in self.remarks.refused(self._shown)}
        return sorted(rows)

    def rows(self, numbers: Sequence[int]) -> list[dict[str, Any]]:
        """Return rows of the sheet: the texts of their cells, and the remarks on them."""
        cells, edited = self.cells, self._edits.of(self._shown).values
        columns = range(cells.first_column, cells.first_column + len(cells.columns))
        return [
            {
                "row": row,
                "cells": [displayed_text(cells, (row, column)) for column in columns],
                "marks": {} if row in self.set_aside else self._marks(row),
                "aside": row in self.set_aside,
                "edited": [at for at, column in enumerate(columns) if (row, column) in edited],
            }
            for row in numbers
        ]

    def columns(self) -> list[dict[str, Any]]:
        """Return the columns of the sheet: letters, the analyst's header, the resource's column."""
        cells, sheet = self.cells, self.found.sheet
        header = sheet.header_row
        return [
            {
                "letters": column_letters(place),
                "header": "" if header is None else displayed_text(cells, (header, place)),
                "name": " + ".join(self.found.names(place)) or None,
                "required": (column := self._column(place)) is not None and column.required,
            }
            for place in range(cells.first_column, cells.first_column + len(cells.columns))
        ]

    def next_error(self, row: int, column: int) -> CellPosition | None:
        """Return the next wrong or refused cell after a place, from the top again after the last;
        where there is none, the next one with a warning.

        Source: the product brief, contract of the page.
        """
        refused = list(self.remarks.refused(self._shown))
        for severity in (Severity.ERROR, Severity.WARNING):
            for after in ((row, column), (0, -1)):
                found = self.found.next_of(severity, after, self.set_aside)
                later = [
                    place for place in (found, *refused) if place is not None and place > after
                ]
                if later:
                    return min(later)
        return None

    def save_corrected(self, target: Path) -> None:
        """Write the corrected copy: the original with the edited cells, styles kept.

        Raises ``UsageError`` or ``WorkbookRefused`` when it cannot be written.
        """
        if not self.path.exists():
            with as_xlsx(self.source, (), self.limits) as made:
                shutil.copy(made, self.path)
        with edit_package(self.path) as package:
            for name, edits in self._edits.by_sheet.items():
                if edits.values:
                    cells = EditableCells(package, name)
                    cells.add_rows(edits.new_rows)
                    for place in sorted(cells.locked_cells(frozenset(edits.values))):
                        raise UsageError(_COMPUTED.format(cell=cell_address(*place)))
                    cells.write_values(edits.values)
            package.save(target)

    @property
    def _last_row(self) -> int:
        """The last row of the sheet that is shown, below which new ones may begin."""
        edits = self._edits.of(self._shown)
        return max(edits.height, edits.new_rows.stop - 1)

    def _marks(self, row: int) -> dict[int, list[dict[str, Any]]]:
        """Return what is told of a row's cells, by their places in the row."""
        marks: dict[int, list[dict[str, Any]]] = {}
        first = self.cells.first_column
        told = [*self.found.marks(row), *self.remarks.marks(self._shown, row)]
        if self.shows_chosen:
            told += self.remarks.planned_marks(row, self.validated.columns, first)
        for column, mark in told:
            marks.setdefault(column - first, []).append(mark)
        return marks

    def _column(self, place: int) -> Column | None:
        """Return the resource's column whose values the cells of a column are as they stand."""
        sheet, names = self.found.sheet, self.found.names(place)
        mapping = self.choice.mapping if self.shows_chosen else None
        direct = {one.name for one in mapping.columns if one.is_direct} if mapping else set(names)
        if sheet.resource is None or len(names) != 1 or names[0] not in direct:
            return None
        return sheet.resource.by_name.get(names[0])

    def _require_editable(self, places: Iterable[CellPosition], last_row: int) -> None:
        cells, header = self.cells, self.found.sheet.header_row or 0
        columns = range(cells.first_column, cells.first_column + len(cells.columns))
        rows = range(header + 1, last_row + 1)
        for row, column in places:
            if column not in columns or row not in rows:
                raise UsageError(_OUTSIDE.format(cell=cell_address(row, max(column, 0))))
            if is_computed(cells, (row, column)):
                raise UsageError(_COMPUTED.format(cell=cell_address(row, column)))
