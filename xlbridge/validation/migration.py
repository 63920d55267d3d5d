"""Move the data of an older template to the current one, column by column."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.resources import Catalogue, Fingerprint, Resource
from xlbridge.settings import WorkbookLimits
from xlbridge.validation.headers.header_matching import normalise_header
from xlbridge.validation.headers.header_row import (
    at_layout,
    find_header_row,
    match_header,
)
from xlbridge.validation.headers.sheet_choice import choose_sheet
from xlbridge.workbook import cell_address, column_letters
from xlbridge.workbook.read import SheetCells, WorkbookCells, read_workbook
from xlbridge.workbook.write import MigratedColumn, OlderWorkbook, as_xlsx

_FIRST_LAYOUT = 1


@dataclass(frozen=True, slots=True)
class Migration:
    """Outcome of moving an older workbook's content.

    ``moved`` maps the headers that were found to today's columns; ``new`` are today's columns
    without data; ``kept`` the analyst's own, which stand behind; ``dropped`` maps the headers
    that are gone to how many filled cells they had. ``remarks`` say what else was not carried over.
    """

    rows: int
    moved: Mapping[str, str]
    new: Sequence[str]
    kept: Sequence[str]
    dropped: Mapping[str, int]
    remarks: Sequence[Text]


def migrate(
    source: Path,
    target: Path,
    resource: Resource,
    limits: WorkbookLimits,
    sheet: str | None = None,
) -> Migration:
    """Write the rows of a workbook into a new workbook of the resource's current template.

    Values stay as the cells hold them; nothing is validated. Raises ``WorkbookRefused`` when the
    source cannot be read, ``UsageError`` when it has no header of the resource's or one twice,
    or the target cannot be written.
    """
    with as_xlsx(source, [] if sheet is None else [sheet], limits) as workbook:
        return _migrate(workbook, target, resource, limits, sheet)


def _migrate(
    source: Path, target: Path, resource: Resource, limits: WorkbookLimits, sheet: str | None
) -> Migration:
    workbook = read_workbook(source, limits, sheet)
    layout = _FIRST_LAYOUT if resource.changes else resource.layout
    found = Fingerprint.parse(workbook.fingerprint)
    if found is not None and found.resource == resource.name:
        layout = found.layout
    earlier = at_layout(resource, layout)
    cells = choose_sheet(workbook, Catalogue([earlier]), resource.name, sheet).cells
    position = find_header_row(cells, earlier)
    if position is None:
        raise UsageError(
            Text(
                pt="{source} não tem uma linha com os nomes das colunas de {resource}.",
                en="{source} has no row with the column names of {resource}.",
            ).format(source=source, resource=resource.name)
        )
    plan = _ColumnPlan(cells, position, resource, earlier, layout)
    older = OlderWorkbook(source, cells.name)
    columns = plan.moved_columns()
    hidden = cells.raw.layout.hidden_rows
    older.write(target, resource, columns, position + 1, cells.height, hidden)
    return Migration(
        rows=sum(any(c.value(row) != "" for c in cells.columns) for row in plan.rows),
        moved=plan.moved,
        new=[c.name for c in resource.columns if c.name not in plan.moved.values()],
        kept=[cell.header for cell in columns if cell.name is None],
        dropped=plan.dropped,
        remarks=_remarks(workbook, cells, position, older),
    )


class _ColumnPlan:
    """Plan of where each column of a sheet goes."""

    def __init__(
        self, cells: SheetCells, position: int, resource: Resource, earlier: Resource, layout: int
    ) -> None:
        header = match_header(cells, position, earlier)
        doubled = [f for f in header.findings if f.kind.code == "column-duplicate"]
        if doubled:
            raise UsageError(doubled[0].message, doubled[0].hint)
        self._cells, self._position = cells, position
        self.rows = range(position + 1, cells.height)
        today = {
            old.name: new.name for old, new in zip(earlier.columns, resource.columns, strict=True)
        }
        self._names = {place: today[name] for name, place in header.columns.items()}
        self.moved = {self._header(place): name for place, name in sorted(self._names.items())}
        gone = {
            normalise_header(o)
            for o, n in resource.column_changes_since(layout).items()
            if n is None
        }
        self._gone = {
            place
            for place in range(len(cells.columns))
            if place not in self._names and normalise_header(self._header(place)) in gone
        }
        self.dropped = {self._header(place): self._filled(place) for place in sorted(self._gone)}

    def moved_columns(self) -> list[MigratedColumn]:
        """Return the columns to write: those of the resource, then the analyst's own."""
        columns: list[MigratedColumn] = []
        for place, column in enumerate(self._cells.columns):
            if place in self._gone:
                continue
            name = self._names.get(place)
            if name is None and not self._header(place) and not self._filled(place):
                continue
            at = self._cells.first_column + place
            header = self._header(place) or f"({column_letters(at)})"
            if name is None and header in {moved.header for moved in columns}:
                header = f"{header} ({column_letters(at)})"
            columns.append(MigratedColumn(name, header, column, at))
        return columns

    def _header(self, place: int) -> str:
        return str(self._cells.columns[place].value(self._position)).strip()

    def _filled(self, place: int) -> int:
        return sum(self._cells.columns[place].value(row) != "" for row in self.rows)


def _remarks(
    workbook: WorkbookCells, cells: SheetCells, position: int, older: OlderWorkbook
) -> list[Text]:
    remarks = []
    others = [name for name in older.other_sheets if name != cells.name]
    if others:
        told = Text(
            pt="Outras planilhas não passam: {names}.", en="Other sheets stay behind: {names}."
        )
        remarks.append(told.format(names=", ".join(others)))
    if any(any(column.kinds[:position]) for column in cells.columns):
        told = Text(
            pt="As linhas acima do cabeçalho (linha {row}) não passam.",
            en="The rows above the header (row {row}) stay behind.",
        )
        remarks.append(told.format(row=position + 1))
    if older.formulas:
        told = Text(
            pt="Fórmulas passam como os seus resultados: {n}.",
            en="Formulas are carried over as their results: {n}.",
        )
        remarks.append(told.format(n=older.formulas))
    remarks += _layout_remarks(cells)
    lost = [*cells.raw.errors, *cells.raw.unvalued]
    if lost:
        told = Text(
            pt="Células que mostram um erro, ou sem resultado gravado, ficam vazias: {cells}.",
            en="Cells that show an error, or have no stored result, are left empty: {cells}.",
        )
        shown = [cell_address(row, column) for row, column in sorted(lost)]
        rest = f" … ({len(shown)})" if len(shown) > 10 else ""
        remarks.append(told.format(cells=", ".join(shown[:10]) + rest))
    return remarks


def _layout_remarks(cells: SheetCells) -> Iterator[Text]:
    marks = cells.raw.layout
    if marks.hidden_columns:
        told = Text(
            pt="Colunas ocultas voltam a aparecer: {columns}.",
            en="Hidden columns are shown again: {columns}.",
        )
        ends = [
            (column_letters(first), column_letters(last)) for first, last in marks.hidden_columns
        ]
        shown = [first if first == last else f"{first}–{last}" for first, last in ends]
        yield told.format(columns=", ".join(shown))
    if marks.merged:
        told = Text(
            pt="Células mescladas se separam: {n}; o valor fica na primeira.",
            en="Merged cells are taken apart: {n}; the value stays in the first.",
        )
        yield told.format(n=len(marks.merged))
