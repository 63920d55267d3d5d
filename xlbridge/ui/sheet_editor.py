"""Editor of an opened workbook: its cells, edits, and the findings after each edit.

One sheet is chosen and validated with its child sheets; one of these sheets is shown. The original
file is never written: edits are applied to the cells in memory, and the corrected copy is the
original with the edited cells changed.
"""

import shutil
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import RLock

import pandas as pd

from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.resources import Catalogue, Column, Kind
from xlbridge.resources.findings import CorrectedValue
from xlbridge.resources.links import linked_catalogue
from xlbridge.settings import ParseOptions, WorkbookLimits
from xlbridge.ui.cell_edits import (
    CellEdits,
    StoredEdits,
    WorkbookEdits,
    displayed_text,
    is_computed,
    typed_value,
)
from xlbridge.ui.row_order import SheetLayout
from xlbridge.ui.row_remarks import REFUSED, FindingsView, Refusals, RowRemarks
from xlbridge.validation import (
    AcceptedFindings,
    ColumnProgress,
    ValidatedSheet,
    ValidationRequest,
    blank_children,
    row_numbers,
    validate_workbook,
)
from xlbridge.validation.cells import ColumnMemo
from xlbridge.validation.mapping import SheetMapping
from xlbridge.workbook import CellPosition, cell_address
from xlbridge.workbook.edit import (
    EditableCells,
    OdsWorkbook,
    edit_csv,
    edit_package,
    place_rows,
)
from xlbridge.workbook.read import SheetCells, read_workbook
from xlbridge.workbook.write import as_xlsx

_COMPUTED = Text(
    pt="{cell}: o valor vem de uma fórmula; corrija a fórmula no Excel.",
    en="{cell}: the value comes from a formula; correct the formula in Excel.",
)
_OUTSIDE = Text(
    pt="{cell}: essa linha ou coluna não existe na planilha.",
    en="{cell}: the sheet has no such row or column.",
)
_NOTHING_OPEN = Text(
    pt="Nenhuma planilha foi reconhecida no arquivo.", en="No sheet was recognised in the workbook."
)
_OTHER_KIND = Text(
    pt="{file} não é .xlsx, .csv nem .ods: baixe a planilha corrigida, salve-a na pasta do lote e "
    "tire dali o arquivo anterior.",
    en="{file} is no .xlsx, .csv or .ods: download the corrected workbook, save it in the batch's "
    "folder, and remove the earlier file there.",
)
_HAS_FORMULAS = Text(
    pt="{file} tem fórmulas, e o resultado delas pode mudar: corrija-o no LibreOffice, salve e "
    "abra-o de novo em Lotes.",
    en="{file} has formulas, whose results may change: correct it in LibreOffice, save, and open "
    "it again under Batches.",
)
MAPPING = "mapping.yaml"
"""Name of the mapping file in a workbook's folder."""

_SENT = "sent"
"""Name of the folder of the copy that is sent, in a workbook's folder."""

MAX_ROWS = 1_048_576


@dataclass(frozen=True, slots=True)
class BatchUnit:
    """Workbook of a batch: the batch, the step, and the plan's file with its digest."""

    batch: str
    step: str
    path: str
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class SheetChoice:
    """Choice of resource, sheet, mapping, conventions and links; None means it is recognised.
    ``accepted`` are the findings that the user accepts, as ``CODE`` or ``CODE:COLUMN``."""

    resource: str | None = None
    sheet: str | None = None
    mapping: SheetMapping | None = None
    reading: ParseOptions = ParseOptions()  # noqa: RUF009 - frozen
    links: Mapping[str, str] = field(default_factory=dict)
    accepted: tuple[str, ...] = ()


class ReadingStopped(BaseException):
    """The user stopped the reading between two steps, as Ctrl-C does."""


class ReadingProgress:
    """Progress of reading a workbook, updated from any thread."""

    def __init__(self) -> None:
        self.is_reading = False
        self._is_stopped = False
        self._step: dict[str, object] = {}

    def on_rows(self, rows: int) -> None:
        """Record the number of rows read. Raises ``ReadingStopped``."""
        self._step = {"rows": rows}
        self.raise_if_stopped()

    def on_column(self, column: ColumnProgress) -> None:
        """Record the column that is validated next. Raises ``ReadingStopped``."""
        self._step = {"column": column.name, "number": column.number, "count": column.count}
        self.raise_if_stopped()

    def raise_if_stopped(self) -> None:
        """Raise ``ReadingStopped`` if the user has stopped the reading."""
        if self._is_stopped:
            raise ReadingStopped

    def stop(self) -> None:
        """Stop the reading before its next step."""
        self._is_stopped = True

    def to_json(self) -> dict[str, object]:
        """Return the progress for the page."""
        return {"reading": self.is_reading, **self._step}


def own_name(sent: Path) -> str:
    """Return the name of the user's file of which a copy was sent; of any other file, its own."""
    if sent.parent.name != _SENT:
        return sent.name
    converted = (one.name for one in sent.parent.parent.glob("*.*") if one.stem == sent.stem)
    return min(converted, key=lambda name: name == sent.name, default=sent.name)


def _kept(edits: CellEdits) -> list[int]:
    """Return the rows that are not deleted, in their order."""
    return [row for row in edits.order if row not in edits.deleted]


def _frame(sheet: ValidatedSheet, order: Sequence[int]) -> pd.DataFrame:
    """Return the values of a sheet with its rows in an order."""
    places = {row: at for at, row in enumerate(order)}
    arranged = sorted(range(len(sheet.rows)), key=lambda at: places[sheet.rows[at]])
    return sheet.frame.iloc[arranged].reset_index(drop=True)


class SheetEditor:
    """Editor of one sheet of a workbook. Rows are Excel's numbers, columns count from zero."""

    def __init__(
        self,
        path: Path,
        catalogue: Catalogue,
        limits: WorkbookLimits,
        progress: ReadingProgress | None = None,
        accepted: Path | None = None,
    ) -> None:
        """Read the workbook; ``accepted`` is the folder of accepted findings.

        Raises ``WorkbookRefused`` if it cannot be read safely.
        """
        self._progress = progress or ReadingProgress()
        self.name = path.name
        """Name of the file that was opened."""
        self.source = path
        self.path = path
        """The .xlsx workbook with these cells; for a .csv it is created when needed."""
        self.lock = RLock()
        self.choice = SheetChoice()
        self._accepted = accepted
        self._base_catalogue = self._catalogue = catalogue
        self.limits = limits
        self.workbook = read_workbook(path, limits, on_rows=self._progress.on_rows)
        self._validated: ValidatedSheet | None = None
        self._blank_children: Sequence[ValidatedSheet] = ()
        self._findings_view: FindingsView | None = None
        self._shown = ""
        self._memo = ColumnMemo()
        self._sheet = ""
        self._edits = WorkbookEdits(self.sheet_cells)
        self.layouts: dict[str, SheetLayout] = {}
        """Layout of the rows and columns of each sheet."""
        self.renewals = 0
        """Number of changes after which other rows may belong to a view."""
        self.remarks = RowRemarks()
        self.job: str | None = None
        """The last upload of the sheet, whose refused rows are sent again as a retry."""
        self.unit: BatchUnit | None = None
        """The workbook of a batch of which this one is a copy."""
        self.version = 0
        """Number of choices and steps so far; a plan is valid for one version."""

    @property
    def sent_path(self) -> Path:
        """Path of the copy that is sent, the same for all uploads; it has the workbook's name."""
        return self.path.parent / _SENT / self.path.name

    @property
    def id(self) -> str:
        """Identifier of the shown sheet of this opened workbook."""
        return f"{self.path.parent.name}-{self.sheet_names.index(self.findings_view.sheet.sheet)}"

    @property
    def sheet_names(self) -> list[str]:
        """Names of all sheets of the workbook."""
        return [sheet.name for sheet in self.workbook.sheets]

    def sheet_cells(self, name: str) -> SheetCells:
        """Return the edited cells of a sheet. Raises ``UsageError`` if it does not exist."""
        cells = next((sheet for sheet in self.workbook.sheets if sheet.name == name), None)
        if cells is None:
            raise UsageError(_NOTHING_OPEN)
        return cells

    @property
    def is_recognised(self) -> bool:
        """True once a sheet with a known resource has been validated."""
        return self._validated is not None and self._validated.resource is not None

    @property
    def validated(self) -> ValidatedSheet:
        """The chosen sheet as last validated, with its child sheets.

        Raises ``UsageError`` if none was recognised.
        """
        if self._validated is None:
            raise UsageError(_NOTHING_OPEN)
        return self._validated

    @property
    def findings_view(self) -> FindingsView:
        """Findings of the shown sheet. Raises ``UsageError`` as ``validated`` does."""
        if self._findings_view is None:
            raise UsageError(_NOTHING_OPEN)
        return self._findings_view

    @property
    def cells(self) -> SheetCells:
        """Edited cells of the shown sheet."""
        return self.sheet_cells(self.findings_view.sheet.sheet)

    @property
    def edits(self) -> CellEdits:
        """Edits of the shown sheet."""
        return self._edits.of(self._shown)

    @property
    def layout(self) -> SheetLayout:
        """Layout of the rows and columns of the shown sheet."""
        return self.layouts.get(self._shown, SheetLayout())

    @layout.setter
    def layout(self, layout: SheetLayout) -> None:
        for column in layout.columns.difference(self.column_indexes):
            raise UsageError(_OUTSIDE.format(cell=str(column)))
        self.layouts[self._shown] = layout
        self.renewals += 1

    @property
    def column_indexes(self) -> range:
        """Columns of the shown sheet."""
        cells = self.cells
        return range(cells.first_column, cells.first_column + len(cells.columns))

    @property
    def edited(self) -> int:
        """Number of cells that differ from the original, in all sheets."""
        return self._edits.count

    @property
    def next_undo(self) -> str:
        """Text of what ``undo`` restores, empty if there is no step."""
        return self._edits.next_undo

    @property
    def next_redo(self) -> str:
        """Text of what ``redo`` writes again, empty if there is no step."""
        return self._edits.next_redo

    @property
    def set_aside(self) -> set[int]:
        """Rows of the shown sheet that the user has set aside as non-records."""
        return self._edits.aside.get(self.findings_view.sheet.sheet, set())

    @property
    def shows_chosen(self) -> bool:
        """True if the chosen sheet is shown, not a child sheet."""
        return self.findings_view.sheet.sheet == self.validated.sheet

    @property
    def parts(self) -> Sequence[ValidatedSheet]:
        """The chosen sheet, with the lists in its rows, and its child sheets, including those
        without rows; without the findings of rows that the user has set aside."""
        parts = (*self.validated.with_lists.with_children, *self._blank_children)
        return [part.without_rows(self._edits.aside.get(part.sheet, ())) for part in parts]

    def count_errors(self) -> int:
        """Count the errors of all sheets, whoever found them."""
        return sum(part.errors + self.remarks.count(part.sheet) for part in self.parts)

    def show_part(self, name: str) -> None:
        """Show the chosen sheet or a child sheet. Raises ``UsageError`` if it does not exist."""
        if name not in {part.sheet for part in self.parts}:
            raise UsageError(_NOTHING_OPEN)
        self._shown = name
        self._update_shown()

    def _update_shown(self) -> None:
        parts = {part.sheet: part for part in self.parts}
        shown = parts.get(self._shown, next(iter(parts.values())))
        self._findings_view = FindingsView(shown)
        self._shown = self._findings_view.sheet.sheet

    def choose(self, choice: SheetChoice) -> None:
        """Validate by a choice; edits of another sheet are dropped.

        Raises ``UsageError`` if the sheet or resource does not exist or is not recognised, or the
        mapping does not fit.
        """
        before, self.choice = self.choice, choice
        old = self._validated
        self.version += 1
        self._memo = ColumnMemo()
        request = ValidationRequest(file=self.path, mapping=choice.mapping, links=choice.links)
        self._catalogue = linked_catalogue(request.all_links, self._base_catalogue)
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
            self._edits = WorkbookEdits(self.sheet_cells)
            self.remarks, self.job = RowRemarks(), None
            self._update_shown()
        elif old is not None and before.mapping is not choice.mapping:
            self.set_refusals(self.remarks.still_refused(old, self.validated))
        self.renewals += 1

    @property
    def accepted(self) -> AcceptedFindings:
        """Findings that the user accepts, now or for an earlier sheet with this header."""
        if self._accepted is None:
            return AcceptedFindings(self.choice.accepted)
        return AcceptedFindings.of(self.choice.accepted, self._accepted)

    def remember_accepted(self) -> None:
        """Store the accepted findings for later sheets with this header."""
        if self._accepted is not None:
            self.accepted.remember(self._accepted, self.validated.with_children)

    def _validate(self) -> None:
        choice, name = self.choice, self.choice.sheet
        validated = validate_workbook(
            self.path,
            self._catalogue,
            resource=choice.resource if choice.mapping is None else None,
            sheet=choice.sheet,
            reading=choice.reading,
            # The chosen sheet first.
            workbook=lambda: replace(
                self.workbook, sheets=sorted(self.workbook.sheets, key=lambda s: s.name != name)
            ),
            on_column=self._progress.on_column,
            mapping=choice.mapping,
            memo=self._memo,
            accepted=self.accepted,
        )
        self._validated = validated
        self._blank_children = blank_children(validated, self.workbook.sheets)
        self._update_shown()
        if choice.mapping is None and validated.resource is not None:
            # Saves recognising the sheet again after each edit.
            self.choice = replace(choice, resource=validated.resource.name, sheet=validated.sheet)

    def edit(self, values: Mapping[CellPosition, str]) -> None:
        """Write typed texts into cells, and validate the sheet again; emptying an empty cell is no
        change.

        Raises ``UsageError`` for a computed cell, or one outside the sheet.
        """
        values = self.edits.changes(values)
        columns = {column: self.column_at(column) for column in {column for _, column in values}}
        self.set_values(
            {cell: typed_value(columns[cell[1]], text) for cell, text in values.items()}
        )

    def set_values(
        self,
        values: Mapping[CellPosition, CorrectedValue],
        deleted: Collection[int] = (),
        inserted: Mapping[int, int] | None = None,
    ) -> None:
        """Write values into cells as one step that can be undone; it may delete rows whose cells it
        empties, and show new ones below others. Raises as ``edit`` does."""
        last = self.edits.last_row
        new = {row for row, _ in values if row > last}
        cells, header = self.cells, self.findings_view.sheet.header_row or 0
        columns = self.column_indexes
        rows = range(header + 1, min(last + len(new), MAX_ROWS) + 1)
        for row, column in values:
            if column not in columns or row not in rows:
                raise UsageError(_OUTSIDE.format(cell=cell_address(row, max(column, 0))))
            if is_computed(cells, (row, column)):
                raise UsageError(_COMPUTED.format(cell=cell_address(row, column)))
        self._edits.edit(self._shown, values, deleted, inserted)
        self._validate_step(self._shown, list(values))

    def set_refusals(self, reasons: Refusals) -> None:
        """Replace the reasons for which the system refuses cells."""
        self.remarks.set_refusals(reasons, self.content_of)
        self.renewals += 1

    def forget_uploads(self) -> None:
        """Drop the remarks and the job of the previous environment."""
        self.remarks, self.job = RowRemarks(), None
        self.version += 1
        self.renewals += 1

    def set_aside_rows(self, rule: str) -> None:
        """Set aside the non-records among the rows of a rule; their findings are not shown."""
        non_records = self.findings_view.sheet.non_records
        rows = row_numbers(self.findings_view.of_rule(rule))
        self._edits.set_aside_rows(self._shown, (row for row in rows if row in non_records))
        self._update_shown()
        self.renewals += 1

    def edits_json(self) -> dict[str, StoredEdits]:
        """Return the edits by sheet for storage."""
        return self._edits.to_json()

    def load_edits(self, stored: Mapping[str, StoredEdits]) -> None:
        """Restore stored edits."""
        for name, part in stored.items():
            self._validate_step(name, self._edits.load(name, part))
        self._update_shown()

    def undo(self) -> None:
        """Undo the last step, if any, and show its sheet."""
        self._show_step(self._edits.undo())

    def redo(self) -> None:
        """Redo the step undone last, if any, and show its sheet."""
        self._show_step(self._edits.redo())

    def _show_step(self, step: tuple[str, Sequence[CellPosition]] | None) -> None:
        if step is None:
            return
        sheet, positions = step
        if positions:
            self._validate_step(sheet, positions)
        else:
            self.show_part(sheet)
            self.renewals += 1

    def _validate_step(self, sheet: str, positions: Sequence[CellPosition]) -> None:
        if not positions:
            return
        self.version += 1
        self._shown = sheet
        self.remarks.update(sheet, positions, self.content_of)
        self._validate()

    def fixes(self, rule: str) -> dict[CellPosition, tuple[str, CorrectedValue]]:
        """Return the certain corrections of a rule: the old text and new value of each cell."""
        fixes, cells = self.findings_view.fixes(rule), self.cells
        return {
            position: fix for position, fix in fixes.items() if not is_computed(cells, position)
        }

    def values(self, rule: str) -> Counter[str]:
        """Return the values of the cells of a rule, with their numbers of cells."""
        return Counter(self.text(cell) for cell in self._cells_of(rule))

    def replace_value(self, rule: str, before: str, after: str) -> None:
        """Write a text into all cells of a rule that have a value, as one step. Raises as ``edit``
        does."""
        same = [cell for cell in self._cells_of(rule) if self.text(cell) == before]
        self.edit(dict.fromkeys(same, after))

    def _cells_of(self, rule: str) -> list[CellPosition]:
        """Return the cells of a rule that are not computed."""
        if rule.startswith(REFUSED):
            found = self.remarks.cells_of(self._shown, rule)
        else:
            found = self.findings_view.cells_of(rule)
        return [cell for cell in found if not is_computed(self.cells, cell)]

    def text(self, cell: CellPosition) -> str:
        """Return a cell's content as it is shown."""
        return displayed_text(self.cells, cell, self.kind(cell[1]))

    def content_of(self, sheet: str, cell: CellPosition) -> str:
        """Return a cell's content in the general format."""
        return displayed_text(self.sheet_cells(sheet), cell)

    def save_corrected(self, target: Path, *, placed: bool = False) -> None:
        """Write the corrected copy: the original with the edited cells, styles preserved. With
        ``placed``, inserted rows stand where they are shown, unless the workbook has formulas.

        Raises ``UsageError`` or ``WorkbookRefused`` if it cannot be written.
        """
        if not self.path.exists():
            with as_xlsx(self.source, (), self.limits) as workbook:
                shutil.copy(workbook, self.path)
        with edit_package(self.path) as package:
            for name, edits in self._edits.by_sheet.items():
                if edits.values:
                    cells = EditableCells(package, name)
                    for position in sorted(cells.locked_cells(edits.values)):
                        raise UsageError(_COMPUTED.format(cell=cell_address(*position)))
                    cells.write_values(edits.values)
                if placed and edits.inserted:
                    place_rows(package, name, edits.order)
            package.save(target)

    @property
    def original(self) -> Path:
        """The file that was opened, in the folder of the workbook."""
        return self.path.parent / self.name

    def save_in_place(self, target: Path) -> None:
        """Write the corrected file in the form of the original: an .xlsx as ``save_corrected``
        does, a .csv or .ods file with the other rows and cells as they are.

        Raises ``UsageError`` if files of its kind, or with formulas, are not written.
        """
        if self.workbook.csv is not None:
            edits = self._edits.of(self.validated.sheet)
            reading = self.choice.reading
            order = _kept(edits)
            content = self.original.read_bytes()
            target.write_bytes(edit_csv(content, self.workbook.csv, reading, edits.values, order))
        elif self.original.suffix.lower() == ".ods":
            book = OdsWorkbook(self.original.read_bytes())
            if book.has_formulas:
                raise UsageError(_HAS_FORMULAS.format(file=self.name))
            for name, edits in self._edits.by_sheet.items():
                book.edit(name, edits.values, _kept(edits), edits.height)
            target.write_bytes(book.save())
        elif self.original.suffix.lower() in {".xlsx", ".xlsm"}:
            self.save_corrected(target, placed=True)
        else:
            raise UsageError(_OTHER_KIND.format(file=self.name))

    def is_same_as(self, other: "SheetEditor") -> bool:
        """Return whether another workbook has the rows of this one, in the order of the page."""
        parts = self.validated.with_children, other.validated.with_children
        if [part.sheet for part in parts[0]] != [part.sheet for part in parts[1]]:
            return False
        return all(
            _frame(one, self._edits.of(one.sheet).order).equals(_frame(copied, copied.rows))
            for one, copied in zip(*parts, strict=True)
        )

    def kind(self, index: int) -> Kind | None:
        """Return the kind of the column read from a column of the sheet."""
        column = self.column_at(index)
        return None if column is None else column.kind

    def registry(self, index: int) -> str | None:
        """Return the registry whose codes or names are in a column, None if it has none."""
        column = self.column_at(index)
        if column is None or column.link is None:
            return None if column is None else column.references
        return column.link.registry

    def column_at(self, index: int) -> Column | None:
        """Return the resource's column read from a column without conversion, None if none is; of
        names only some may be converted."""
        sheet, names = self.findings_view.sheet, self.findings_view.names(index)
        mapping = self.choice.mapping if self.shows_chosen else None
        direct = set(names)
        if mapping is not None:
            direct = {n for n, one in mapping.by_path.items() if one.is_direct or one.link}
        if sheet.resource is None or len(names) != 1 or names[0] not in direct:
            return None
        return sheet.resource.column_at(names[0])
