"""Migration of a workbook made from an older template to the current one, in a copy of itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from xlbridge.errors import UsageError
from xlbridge.i18n import Text, untranslated
from xlbridge.resources import Catalogue, Fingerprint, Resource
from xlbridge.settings import Headers, WorkbookLimits
from xlbridge.validation.headers.header_row import (
    Header,
    find_header_row,
    header_key,
    match_header,
)
from xlbridge.validation.headers.sheet_choice import choose_sheet
from xlbridge.validation.layout_checks import cut_off_row, long_rows
from xlbridge.workbook import CellPosition, WorkbookOrigin
from xlbridge.workbook.edit import EditableCells, edit_package
from xlbridge.workbook.read import SheetCells, read_workbook
from xlbridge.workbook.write import as_xlsx, header_text

_FIRST_LAYOUT = 1


@dataclass(frozen=True, slots=True)
class Migration:
    """Outcome of migrating a workbook.

    ``renamed`` maps old headers to current columns; ``new`` are the current columns that were
    added; ``removed`` maps headers that are no columns any more to their numbers of filled cells.
    """

    rows: int
    renamed: Mapping[str, str]
    new: Sequence[str]
    removed: Mapping[str, int]


def migrate(
    source: Path,
    target: Path,
    resource: Resource,
    limits: WorkbookLimits,
    sheet: str | None = None,
    headers: Headers = "titles",
) -> Migration:
    """Write a copy of a workbook with the header of the resource's current template.

    Renamed columns get their new header, with ``headers="names"`` all get their names, and new ones
    follow the last column; nothing else changes. The note of a header tells the column of a title
    that is not known any more. Values are not validated. Raises ``WorkbookRefused`` if the source
    cannot be read, ``UsageError`` if it has no header row of the resource, one with a repeated
    column or below it rows of a .csv file that are longer or cut off, or if the target cannot be
    written.
    """
    workbook = read_workbook(source, limits, sheet)
    found = Fingerprint.parse(workbook.fingerprint)
    layout = _FIRST_LAYOUT if resource.changes else resource.layout
    if found is not None and found.resource == resource.name:
        layout = found.layout
    # The resource with the column names of the earlier layout, without removed columns.
    changes = resource.column_changes_since(layout)
    old_names = {new: old for old, new in changes.items() if new is not None}
    columns = (replace(c, name=old_names.get(c.name, c.name)) for c in resource.columns)
    earlier = replace(resource, columns=tuple(columns))
    cells = choose_sheet(workbook, Catalogue([earlier]), resource.name, sheet).cells
    removed = {header_key(old) for old, name in changes.items() if name is None}
    old_names_listed = found.listed if found is not None else ()
    current = Fingerprint.parse(resource.fingerprint)
    template = current and replace(
        current, listed=tuple(changes.get(name) or name for name in old_names_listed)
    )
    known = workbook if sheet is None else None
    with (
        as_xlsx(source, [] if sheet is None else [sheet], limits, known) as xlsx,
        edit_package(xlsx) as package,
    ):
        editable = EditableCells(package, cells.name)
        noted = _titles_by_note(cells, editable.notes())
        removed |= {
            header_key(noted[old]) for old, name in changes.items() if name is None and old in noted
        }
        titled = (
            replace(c, title=untranslated(noted[c.name])) if c.name in noted else c
            for c in earlier.columns
        )
        earlier = replace(earlier, columns=tuple(titled))
        position = find_header_row(cells, earlier)
        if position is None:
            raise UsageError(
                Text(
                    pt="{source} não tem uma linha com os nomes das colunas de {resource}.",
                    en="{source} has no row with the column names of {resource}.",
                ).format(source=source, resource=resource.name)
            )
        header = match_header(cells, position, earlier)
        _require_clear_columns(cells, header)
        titles = dict(enumerate(map(str, cells.row(position))))
        renamed: dict[str, str] = {}
        new: list[str] = []
        texts: dict[int, str] = {}
        for old, column in zip(earlier.columns, resource.columns, strict=True):
            index = header.columns.get(old.name)
            if index is None:
                texts[len(cells.columns) + len(new)] = header_text(column, headers)
                new.append(column.name)
            elif resource.headers.get(header_key(titles[index])) != column.name or (
                headers == "names" and titles[index] != column.name
            ):
                texts[index] = header_text(column, headers)
                renamed[titles[index].strip()] = column.name
        first = cells.first_column
        editable.write_headers(position + 1, {first + index: text for index, text in texts.items()})
        origin = WorkbookOrigin.of(source) or WorkbookOrigin()
        origin = replace(origin, resource=resource.name, template=str(template), export="")
        package.set_properties(origin.properties())
        package.save(target)
    below = range(position + 1, cells.height)
    return Migration(
        rows=sum(any(column.kind(row) for column in cells.columns) for row in below),
        renamed=renamed,
        new=new,
        removed={
            title.strip(): sum(bool(cells.columns[index].kind(row)) for row in below)
            for index, title in titles.items()
            if index not in header.columns.values() and header_key(title) in removed
        },
    )


def _titles_by_note(cells: SheetCells, notes: Mapping[CellPosition, str]) -> dict[str, str]:
    """Return the titles in a sheet by the names of their columns, with which their notes end."""
    found = dict[str, str]()
    for (row, column), note in notes.items():
        index = column - cells.first_column
        if row <= cells.height and 0 <= index < len(cells.columns):
            found[note.strip().rpartition(": ")[2]] = str(cells.row(row - 1)[index])
    return found


def _require_clear_columns(cells: SheetCells, header: Header) -> None:
    """Raise ``UsageError`` if values may be in the wrong columns."""
    confused = [f for f in header.findings if f.kind.code == "column-duplicate"]
    if longer := long_rows(cells, header.row):
        confused.append(longer)
    if cells.raw.widths:
        rows = range(header.row + 1, cells.height + 1)
        cut_off = cut_off_row(cells, header.row, max(header.columns.values()), rows)
        confused += [] if cut_off is None else [cut_off]
    if confused:
        raise UsageError(confused[0].message, confused[0].hint)
