"""Copies of the analyst's workbook: with every certain correction, validated again; or migrated
from an older template to the current one.

All other cells stay unchanged, to the byte.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from xlbridge.errors import UsageError
from xlbridge.i18n import Text, untranslated
from xlbridge.resources import Catalogue, Fingerprint, Resource
from xlbridge.resources.findings import Finding
from xlbridge.settings import Headers, WorkbookLimits
from xlbridge.validation.header_row import Header, find_header_row, header_key, match_header
from xlbridge.validation.request import ValidationRequest
from xlbridge.validation.results import FixedCopy, UnfixedCell, ValidatedSheet, ValidationResult
from xlbridge.validation.sheet_checks import cut_off_row, long_rows
from xlbridge.validation.sheet_choice import choose_sheet
from xlbridge.workbook import CellPosition, WorkbookOrigin, cell_address, cell_position
from xlbridge.workbook.edit import EditableCells, EditablePackage, edit_package
from xlbridge.workbook.read import SheetCells, read_workbook
from xlbridge.workbook.write import as_xlsx, header_text

_BY_CONVENTION = frozenset({"number-as-text", "date-as-text"})
_COMPUTED = Text(
    pt="o valor vem de uma fórmula; corrija a fórmula.",
    en="a formula gives the value; correct the formula.",
)
_RICH_TEXT = Text(
    pt="partes do texto têm formatação própria, que se perderia; corrija-o na célula.",
    en="parts of the text have formats of their own that would be lost; correct it in the cell.",
)
_FORMULA_DEPENDS = Text(
    pt="uma fórmula da coluna dá um texto cujo sentido pode depender deste.",
    en="a formula of the column gives a text whose meaning may depend on this one.",
)
_DOUBTED = Text(
    pt="as datas da coluna podem ter dia e mês trocados; confira-as antes.",
    en="day and month of the column's dates may be swapped; check them first.",
)
_OTHERS_DEPEND = Text(
    pt="o sentido de outros textos da coluna depende deste; declare a escrita com --dates ou "
    "--numbers, ou corrija-os antes.",
    en="the meaning of other texts of the column depends on this one; declare how to read them "
    "with --dates or --numbers, or correct them first.",
)


def fix_workbook(
    results: Sequence[ValidationResult],
    request: ValidationRequest,
    target: Path,
    catalogue: Catalogue,
    limits: WorkbookLimits,
) -> list[ValidationResult]:
    """Write a fixed copy of the request's file, validate it and return the remaining findings.

    ``results`` are those of the file. The returned sheets have the original file name and their
    ``fixes``; other results are returned unchanged. Nothing is written if no sheet was validated.
    Raises the errors of ``write_fixed_copy``.
    """
    # Late: a migration validates nothing.
    from xlbridge.validation.pipeline import validate_sheets

    sheets = [item for item in results if isinstance(item, ValidatedSheet)]
    if not sheets:
        return list(results)
    with as_xlsx(request.file, [sheet.sheet for sheet in sheets], limits) as workbook:
        read_as = sheets[0].read_as
        if workbook != request.file:
            # Text numbers and dates, normal in a .csv, are findings in the .xlsx and can be fixed.
            converted = validate_sheets(replace(request, file=workbook), catalogue, limits).sheets
            by_name = {(sheet.sheet, sheet.resource_name): sheet for sheet in converted}
            sheets = [by_name[sheet.sheet, sheet.resource_name] for sheet in sheets]
        copies = write_fixed_copy(sheets, target)
    remaining = validate_sheets(replace(request, file=target), catalogue, limits).sheets
    by_name = {(sheet.sheet, sheet.resource_name): sheet for sheet in remaining}
    fixed = [
        replace(
            by_name[sheet.sheet, sheet.resource_name],
            file=request.file,
            fixes=fixes,
            read_as=read_as,
        )
        for sheet, fixes in zip(sheets, copies, strict=True)
    ]
    return [*fixed, *(item for item in results if not isinstance(item, ValidatedSheet))]


def write_fixed_copy(sheets: Sequence[ValidatedSheet], target: Path) -> list[FixedCopy]:
    """Write a copy of a workbook with the certain corrections of its validated sheets.

    Return the fixes of each sheet. The copy is written even if there are none. Raises
    ``WorkbookRefused`` if the workbook cannot be changed, ``UsageError`` if the copy cannot be
    written.
    """
    with edit_package(sheets[0].file) as package:
        copies = [FixedCopy(target, *_fix_sheet(package, sheet)) for sheet in sheets]
        package.save(target)
    return copies


def _fix_sheet(
    package: EditablePackage, sheet: ValidatedSheet
) -> tuple[list[Finding], list[UnfixedCell]]:
    proposed = {_position(f): f for f in sheet.findings if f.corrected is not None and f.cell}
    doubted = {f.column for f in sheet.findings if f.kind.code == "dates-swapped"}
    left = [
        UnfixedCell(finding, _DOUBTED if finding.column in doubted else _OTHERS_DEPEND)
        for finding in sheet.findings
        if finding.corrected is None and finding.kind.code in _BY_CONVENTION
    ]
    if not proposed:
        return [], left
    cells = EditableCells(package, sheet.sheet)
    # A misplaced value is moved: its new cell has a finding, too.
    moves = dict[CellPosition, Finding]()
    for at, f in proposed.items():
        name, value = f.details.get("moved_to"), f.details.get("document")
        if f.row is not None and isinstance(name, str) and isinstance(value, str):
            cell = cell_address(f.row, sheet.columns[name])
            moves[at] = replace(f, column=name, cell=cell, value=None, corrected=value, details={})
    proposed |= {_position(move): move for move in moves.values()}
    reasons = _reasons(proposed, cells)
    for source, finding in moves.items():
        target = _position(finding)
        for one, other in ((source, target), (target, source)):
            if one in reasons:
                reasons.setdefault(other, reasons[one])
    left += [UnfixedCell(proposed[at], reason) for at, reason in reasons.items()]
    fixed = {at: finding for at, finding in proposed.items() if at not in reasons}
    values = {at: f.corrected for at, f in fixed.items() if f.corrected is not None}
    if values:
        cells.write_values(values)
    return list(fixed.values()), left


def _reasons(
    proposed: Mapping[CellPosition, Finding], cells: EditableCells
) -> dict[CellPosition, Text]:
    """Return the reasons for which some of the proposed cells must not be changed."""
    locked = cells.locked_cells(proposed)
    texts = frozenset(p for p, f in proposed.items() if isinstance(f.corrected, str))
    rich = cells.rich_text_cells(texts)
    reasons = dict.fromkeys(locked, _COMPUTED) | dict.fromkeys(rich, _RICH_TEXT)
    # The meaning of a text may depend on the others of its column: fix all of them or none.
    left_whole = {
        (finding.column, finding.kind.code)
        for position, finding in proposed.items()
        if position in locked and finding.kind.code in _BY_CONVENTION
    }
    for position, finding in proposed.items():
        if (finding.column, finding.kind.code) in left_whole:
            reasons.setdefault(position, _FORMULA_DEPENDS)
    return reasons


def _position(finding: Finding) -> CellPosition:
    if finding.cell is None:
        raise AssertionError(finding)
    return cell_position(finding.cell)


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
