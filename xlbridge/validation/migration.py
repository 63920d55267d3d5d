"""Migration of the data of an older template to the current one, column by column."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from xlbridge.errors import UsageError
from xlbridge.i18n import Text, joined
from xlbridge.resources import Catalogue, Fingerprint, Resource
from xlbridge.settings import Headers, WorkbookLimits
from xlbridge.validation.headers.header_row import find_header_row, header_key, match_header
from xlbridge.validation.headers.sheet_choice import choose_sheet
from xlbridge.validation.layout_checks import cut_off_row, long_rows
from xlbridge.workbook import CellPosition, cell_address, column_letters
from xlbridge.workbook.read import SheetCells, WorkbookCells, read_workbook
from xlbridge.workbook.write import MigratedColumn, OlderWorkbook, as_xlsx

_FIRST_LAYOUT = 1


@dataclass(frozen=True, slots=True)
class Migration:
    """Outcome of migrating a workbook.

    ``moved`` maps the old headers to current columns; ``new`` are the current columns without
    data; ``kept`` the analyst's own columns, which come last; ``dropped`` maps removed headers to
    their numbers of filled cells. ``remarks`` name what else was not migrated.
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
    headers: Headers = "titles",
) -> Migration:
    """Write the rows of a workbook into a new workbook of the resource's current template.

    Values stay unchanged and are not validated. Raises ``WorkbookRefused`` if the source cannot be
    read, ``UsageError`` if it has no header row of the resource, one with a repeated column or
    below it rows of a .csv file that are longer or cut off, or if the target cannot be written.
    """
    workbook = read_workbook(source, limits, sheet)
    sheets, known = ([], workbook) if sheet is None else ([sheet], None)
    with as_xlsx(source, sheets, limits, known) as xlsx:
        layout = _FIRST_LAYOUT if resource.changes else resource.layout
        found = Fingerprint.parse(workbook.fingerprint)
        if found is not None and found.resource == resource.name:
            layout = found.layout
        # The resource with the column names of the earlier layout, without removed columns.
        changes = resource.column_changes_since(layout)
        old_names = {new: old for old, new in changes.items() if new is not None}
        columns = (replace(c, name=old_names.get(c.name, c.name)) for c in resource.columns)
        earlier = replace(resource, columns=tuple(columns))
        cells = choose_sheet(workbook, Catalogue([earlier]), resource.name, sheet).cells
        position = find_header_row(cells, earlier)
        if position is None:
            raise UsageError(
                Text(
                    pt="{source} não tem uma linha com os nomes das colunas de {resource}.",
                    en="{source} has no row with the column names of {resource}.",
                ).format(source=source, resource=resource.name)
            )
        planned, dropped = _plan_columns(cells, position, resource, earlier, layout)
        moved = {column.header: column.name for column in planned if column.name is not None}
        older = OlderWorkbook(xlsx, cells.name)
        hidden, without_value = cells.raw.layout.hidden_rows, _without_value(cells)
        older.write(
            target,
            resource,
            planned,
            position + 1,
            cells.height,
            hidden,
            without_value,
            headers,
        )
        return Migration(
            rows=sum(
                any(column.value(row) != "" for column in cells.columns)
                for row in range(position + 1, cells.height)
            ),
            moved=moved,
            new=[c.name for c in resource.columns if c.name not in moved.values()],
            kept=[cell.header for cell in planned if cell.name is None],
            dropped=dropped,
            remarks=list(_remarks(cells, position, older, workbook, resource)),
        )


def _without_value(cells: SheetCells) -> set[CellPosition]:
    """Return the cells with an error, or a formula without a result."""
    return {*cells.raw.errors, *cells.raw.without_result}


def _plan_columns(
    cells: SheetCells, position: int, resource: Resource, earlier: Resource, layout: int
) -> tuple[list[MigratedColumn], dict[str, int]]:
    """Return the columns to write, those of the resource and the analyst's own, and the headers of
    removed columns with their numbers of filled cells."""
    header = match_header(cells, position, earlier)
    confused = [f for f in header.findings if f.kind.code == "column-duplicate"]
    # The values of such rows are in the wrong columns.
    if longer := long_rows(cells, position + 1):
        confused.append(longer)
    if cells.raw.widths:
        last = max(header.columns.values())
        cut_off = cut_off_row(cells, position + 1, last, range(position + 2, cells.height + 1))
        confused += [] if cut_off is None else [cut_off]
    if confused:
        raise UsageError(confused[0].message, confused[0].hint)
    pairs = zip(earlier.columns, resource.columns, strict=True)
    current = {old.name: new.name for old, new in pairs}
    names = {index: current[name] for name, index in header.columns.items()}
    changes = resource.column_changes_since(layout)
    removed = {header_key(old) for old, new in changes.items() if new is None}
    columns: list[MigratedColumn] = []
    dropped: dict[str, int] = {}
    for index, column in enumerate(cells.columns):
        name, title = names.get(index), str(column.value(position)).strip()
        filled = sum(column.value(row) != "" for row in range(position + 1, cells.height))
        if name is None and header_key(title) in removed:
            dropped[title] = filled
        elif name is not None or title or filled:
            in_sheet = cells.first_column + index
            title = title or f"({column_letters(in_sheet)})"
            if name is None and title in {moved.header for moved in columns}:
                title = f"{title} ({column_letters(in_sheet)})"
            columns.append(MigratedColumn(name, title, column, in_sheet))
    return columns, dropped


def _remarks(
    cells: SheetCells,
    position: int,
    older: OlderWorkbook,
    workbook: WorkbookCells,
    resource: Resource,
) -> Iterator[Text]:
    children = {child.sheet for child in resource.children}
    empty = {one.name for one in workbook.sheets if one.name in children and one.height <= 1}
    others = [name for name in older.other_sheets if name not in {cells.name, *empty}]
    if others:
        yield Text(
            pt="Outras planilhas não são copiadas: {names}.",
            en="Other sheets are not copied: {names}.",
        ).format(names=", ".join(others))
    if any(any(column.kinds[:position]) for column in cells.columns):
        yield Text(
            pt="As linhas acima do cabeçalho (linha {row}) não são copiadas.",
            en="The rows above the header (row {row}) are not copied.",
        ).format(row=position + 1)
    if older.formulas:
        yield Text(
            pt="Fórmulas são copiadas como os seus resultados: {n}.",
            en="Formulas are copied as their results: {n}.",
        ).format(n=older.formulas)
    layout = cells.raw.layout
    if layout.hidden_columns:
        ends = (tuple(map(column_letters, columns)) for columns in layout.hidden_columns)
        shown = [first if first == last else f"{first}–{last}" for first, last in ends]
        yield Text(
            pt="Colunas ocultas voltam a aparecer: {columns}.",
            en="Hidden columns become visible: {columns}.",
        ).format(columns=", ".join(shown))
    if layout.merged:
        yield Text(
            pt="Células mescladas são separadas: {n}; o valor fica na primeira.",
            en="Merged cells are unmerged: {n}; the value stays in the first.",
        ).format(n=len(layout.merged))
    if older.lost:
        yield Text(pt="Não são copiados: {what}.", en="Not copied: {what}.").format(
            what=joined(older.lost, ", ")
        )
    if lost := _without_value(cells):
        shown = [cell_address(row, column) for row, column in sorted(lost)]
        rest = f" … ({len(shown)})" if len(shown) > 10 else ""
        yield Text(
            pt="Células que mostram um erro, ou sem resultado gravado, ficam vazias: {cells}.",
            en="Cells that show an error, or have no stored result, are left empty: {cells}.",
        ).format(cells=", ".join(shown[:10]) + rest)
