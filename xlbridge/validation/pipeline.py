"""Steps from a file to findings: validating a sheet, a workbook, all sheets of a workbook.

Also ``warm_up``, which imports and sets up what validating needs while a workbook is being
read.
"""

import datetime as dt
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from xlbridge.errors import UsageError, WorkbookRefused
from xlbridge.garbage_collection import gc_paused
from xlbridge.resources import Catalogue, Column, Fingerprint, Kind, Resource
from xlbridge.resources.checks import CATALOGUE
from xlbridge.resources.findings import Finding, Severity
from xlbridge.settings import ParseOptions, WorkbookLimits
from xlbridge.validation.cells.displayed_cells import FormatLookup
from xlbridge.validation.cells.text import list_sheet_names, quoted
from xlbridge.validation.cells.typed_rows import (
    ColumnMemo,
    TypedRows,
    fill_constants,
    type_numbers,
    type_rows,
)
from xlbridge.validation.cross_sheet import compare_sheets, join_children
from xlbridge.validation.finding_columns import SheetFindings, findings_of_cells
from xlbridge.validation.headers.header_row import (
    Header,
    MainSheet,
    find_header_row,
    find_similar_header_row,
    joined_columns,
    match_header,
    outdated_template,
)
from xlbridge.validation.headers.sheet_choice import (
    SheetChoice,
    blank_child_sheets,
    child_cells,
    choose_sheet,
    choose_sheets,
)
from xlbridge.validation.layout_checks import check_layout, note_misplaced_documents, short_rows
from xlbridge.validation.non_records import note_non_records
from xlbridge.validation.request import OnColumn, ValidationRequest
from xlbridge.validation.results import RefusedFile, SkippedSheet, ValidatedSheet, ValidationResult
from xlbridge.validation.rule_checks import apply_rules
from xlbridge.workbook.read import (
    CellColumn,
    CellEncoder,
    RawSheet,
    SheetCells,
    WorkbookCells,
    WorkbookSource,
    cell_number_formats,
    read_workbook,
)

if TYPE_CHECKING:
    from xlbridge.validation.mapping import SheetMapping


def validate_workbook(
    path: str | Path,
    catalogue: Catalogue,
    *,
    resource: str | None = None,
    sheet: str | None = None,
    reading: ParseOptions = ParseOptions(),  # noqa: B008 - frozen
    limits: WorkbookLimits = WorkbookLimits(),  # noqa: B008 - frozen
    workbook: WorkbookSource | None = None,
    on_column: OnColumn = lambda _: None,
    mapping: "SheetMapping | None" = None,
    memo: ColumnMemo | None = None,
) -> ValidatedSheet:
    """Validate one sheet of a workbook by its resource's schema; every error comes out at once.

    ``workbook`` waits for the cells where the file is being read already. ``on_column`` is told
    how far it is. ``mapping`` reads a sheet with a header of its own. ``memo`` keeps what was found
    in columns for the next time, after edits of ``workbook``, which has all sheets then, the one
    that is wanted first.

    Raises ``WorkbookRefused`` when the file is no readable workbook, ``UsageError`` when the file,
    sheet or resource does not exist, the resource cannot be told, or the mapping does not fit.
    """
    with gc_paused():
        path = Path(path)
        cells = workbook() if workbook else read_workbook(path, limits, sheet)
        catalogue = _with_listed_columns(cells, catalogue)
        if mapping is not None:
            # Most sheets have none, and it takes the interface, long to import.
            from xlbridge.validation.mapping.application import map_sheet

            mapped = map_sheet(path, mapping, cells, catalogue, resource, sheet)
            wanted = catalogue[mapping.resource]
            lookup = _formats_lookup(path, mapped.choice.cells, memo)
            formats_of = mapped.formats_of(lookup)
            validated = _validate_rows(
                path, wanted, mapped.choice, mapped.header, reading, on_column, formats_of, memo
            )
        else:
            choice = choose_sheet(cells, catalogue, resource, sheet)
            validated = validate_sheet(path, cells.fingerprint, choice, reading, on_column, memo)
        if validated.resource is not None and validated.resource.children:
            is_whole = sheet is None or memo is not None
            whole = cells if is_whole else read_workbook(path, limits)
            add_children(validated, whole.sheets, reading, on_column, memo)
        for one in validated.with_children:
            one.read_as, one.limits = cells.read_as, limits
        return validated


def _with_listed_columns(cells: WorkbookCells, catalogue: Catalogue) -> Catalogue:
    """Return the catalogue by which a workbook is judged: where it was made from a template with
    lists of registries, their columns take what the lists offer."""
    mark = Fingerprint.parse(cells.fingerprint)
    if mark is None or not mark.listed or mark.resource not in catalogue:
        return catalogue
    # Like links, it imports the whole interface.
    from xlbridge.resources.references import listing_resource

    form = listing_resource(catalogue[mark.resource], catalogue, mark.listed)
    return Catalogue([form if one.name == form.name else one for one in catalogue.values()])


def add_children(
    main: ValidatedSheet,
    sheets: Sequence[SheetCells],
    reading: ParseOptions,
    on_column: OnColumn = lambda _: None,
    memo: ColumnMemo | None = None,
) -> None:
    """Validate the child sheets of a main sheet, and join them to it."""
    resource = main.resource
    if resource is None or main.header_row is None:
        return
    found = child_cells(sheets, main.sheet, resource)
    main.children = {
        child.sheet: validate_sheet(
            main.file,
            None,
            SheetChoice(found[child.sheet], child, main=MainSheet(resource, main.sheet)),
            reading,
            on_column,
            None if memo is None else memo.of_child(child.sheet),
        )
        for child in resource.children
        if child.sheet in found
    }
    join_children(main)


def blank_children(main: ValidatedSheet, sheets: Sequence[SheetCells]) -> list[ValidatedSheet]:
    """Return the sheets of a main sheet's lists that have a header and no rows yet.

    A list without rows lacks nothing: only its header has findings.
    """
    if main.resource is None or main.header_row is None:
        return []
    blank = blank_child_sheets(sheets, main.sheet, main.resource)
    judged = [
        validate_sheet(main.file, None, SheetChoice(cells, blank[cells.name]), ParseOptions())
        for cells in sheets
        if cells.name in blank
    ]
    for sheet in judged:
        sheet.findings = [f for f in sheet.findings if f.kind.code != "sheet-empty"]
    return [sheet for sheet in judged if sheet.header_row is not None]


def validate_sheet(
    path: Path,
    fingerprint: str | None,
    choice: SheetChoice,
    reading: ParseOptions,
    on_column: OnColumn = lambda _: None,
    memo: ColumnMemo | None = None,
) -> ValidatedSheet:
    """Validate the cells of a sheet that was chosen; ``fingerprint`` is that of its workbook."""
    cells, wanted = choice.cells, choice.resource
    position = None if wanted is None else find_header_row(cells, wanted)
    if wanted is not None and position is None:
        position = find_similar_header_row(cells, wanted)
    if wanted is None or position is None:
        findings = [_missing_header(wanted, cells), *_hidden_sheets(choice, None)]
        return ValidatedSheet(path, wanted, cells.name, findings=findings)
    header = match_header(cells, position, wanted, choice.main)
    formats_of = _formats_lookup(path, cells, memo)
    judged = _validate_rows(path, wanted, choice, header, reading, on_column, formats_of, memo)
    if outdated := outdated_template(fingerprint, wanted, cells, position):
        judged.findings = [*outdated, *judged.findings]
    return judged


def _formats_lookup(path: Path, cells: SheetCells, memo: ColumnMemo | None) -> FormatLookup:
    lookup = partial(cell_number_formats, path, cells.raw)
    return lookup if memo is None else memo.cached_lookup(lookup)


def _validate_rows(
    path: Path,
    wanted: Resource,
    choice: SheetChoice,
    header: Header,
    reading: ParseOptions,
    on_column: OnColumn,
    formats_of: FormatLookup,
    memo: ColumnMemo | None = None,
) -> ValidatedSheet:
    """Validate the rows below a header that was matched to the columns of a resource."""
    cells = choice.cells
    typed = type_rows(wanted, header, cells, reading, on_column, formats_of, memo)
    layout = _layout_findings(wanted, choice, header, typed)
    not_records = note_non_records(wanted, header, cells, typed, formats_of)
    layout += short_rows(header, cells, typed, not_records)
    note_misplaced_documents(wanted, header.columns, typed)
    fill_constants(wanted, header, typed, not_records)
    apply_rules(typed, wanted, memo)
    # No cell is corrected that several columns take, or that holds another value.
    taken = Counter(header.columns.values())
    for name, place in header.columns.items():
        if name in header.converted or taken[place] > 1:
            typed.problems[name].drop_corrections()
    numbers, number_problems = type_numbers(header, cells, typed.rows)
    places = {**header.own_places(), **header.numbers}
    columns = {name: cells.first_column + place for name, place in places.items()}
    own = {n for n, c in wanted.by_name.items() if c.kind.is_code or c.link or c.sheet_link}
    own |= header.converted
    return ValidatedSheet(
        path,
        wanted,
        cells.name,
        header.row,
        typed.frame,
        typed.rows,
        columns,
        own={n: cells.columns[place] for n, place in header.own_places().items() if n in own},
        not_records=not_records,
        findings=SheetFindings(
            layout,
            findings_of_cells(
                typed.rows, {**typed.problems, **number_problems}, columns, cells, header.names
            ),
        ),
        numbers=numbers,
        headers=header.names,
        constants=tuple(header.constants),
    )


def _layout_findings(
    wanted: Resource, choice: SheetChoice, header: Header, typed: TypedRows
) -> list[Finding]:
    """Return the findings of the header and of the sheet as a whole; a column that is missing or
    twice there has its finding on the header, none on its cells."""
    cells = choice.cells
    for finding in header.findings:
        if finding.kind.severity is Severity.ERROR and finding.column is not None:
            typed.problems[finding.column].failed[:] = True
    layout = [*header.findings, *check_layout(wanted, header, cells, typed)]
    if header.names:
        layout = [replace(f, header=header.names.get(f.column or "")) for f in layout]
    # Where no column could be read, nothing is known of the rows.
    if not typed.rows and (header.columns or not cells.has_data(header.row)):
        empty = Finding(CATALOGUE["sheet-empty"], row=header.row)
        layout += [empty, *_hidden_sheets(choice, header.row)]
    return layout


def _missing_header(resource: Resource | None, cells: SheetCells) -> Finding:
    if resource is None or not cells.has_data(0):
        return Finding(CATALOGUE["sheet-empty"])
    if joined := joined_columns(cells, resource):
        details = {"separator": quoted(joined.separator)}
        kind = CATALOGUE["columns-joined"]
        return Finding(kind, row=joined.row, cell=joined.cell, details=details)
    return Finding(CATALOGUE["header-not-found"], details={"resource": resource.name})


def _hidden_sheets(choice: SheetChoice, row: int | None) -> list[Finding]:
    """Tell of the sheets where the data may be that this one lacks."""
    if not choice.hidden:
        return []
    return [
        Finding(
            CATALOGUE["sheets-hidden"],
            row=row,
            details={"listed": list_sheet_names(choice.hidden)},
        )
    ]


@dataclass(frozen=True, slots=True)
class ValidatedWorkbook:
    """The sheets that were validated, and the names of those that are for no resource."""

    sheets: list[ValidatedSheet]
    skipped: list[str] = field(default_factory=list)


def _validate_all_sheets(
    request: ValidationRequest,
    catalogue: Catalogue,
    limits: WorkbookLimits,
    workbook: WorkbookSource | None,
    on_column: OnColumn,
) -> ValidatedWorkbook:
    """Validate the sheets of a workbook, those for one resource or each by its own.

    Hidden sheets and those that templates add are no data, and not skipped either.
    """
    path, reading = request.file, request.reading
    with gc_paused():
        cells = workbook() if workbook else read_workbook(path, limits)
        catalogue = _with_listed_columns(cells, catalogue)
        choices, skipped = choose_sheets(cells, catalogue, request.resource)
        sheets: list[ValidatedSheet] = []
        taken: set[str] = set()
        for choice in choices:
            main = validate_sheet(path, cells.fingerprint, choice, reading, on_column)
            add_children(main, cells.sheets, reading, on_column)
            sheets += main.with_children
            taken |= {sheet.sheet for sheet in main.with_children}
            if choice.resource is not None:
                taken |= blank_child_sheets(cells.sheets, main.sheet, choice.resource).keys()
        skipped = [name for name in skipped if name not in taken]
        for sheet, found in zip(sheets, compare_sheets(sheets), strict=True):
            sheet.add(found)
            sheet.read_as, sheet.limits = cells.read_as, limits
        return ValidatedWorkbook(sheets, skipped)


def validate_sheets(
    request: ValidationRequest,
    catalogue: Catalogue,
    limits: WorkbookLimits,
    workbook: WorkbookSource | None = None,
    on_column: OnColumn = lambda _: None,
) -> ValidatedWorkbook:
    """Validate the sheets that a request asks for. Raises what ``validate_workbook`` raises."""
    if request.links:
        # It imports the whole interface, and most sheets have no links.
        from xlbridge.resources.references import require_links

        named = request.mapping.resource if request.mapping else request.resource
        require_links(request.links, catalogue, named if named in catalogue else None)
    if request.all_links:
        from xlbridge.resources.references import linked_catalogue

        catalogue = linked_catalogue(request.all_links, catalogue)
    if request.all_sheets:
        return _validate_all_sheets(request, catalogue, limits, workbook, on_column)
    sheet = validate_workbook(
        request.file,
        catalogue,
        resource=request.resource,
        sheet=request.sheet,
        reading=request.reading,
        limits=limits,
        workbook=workbook,
        on_column=on_column,
        mapping=request.mapping,
    )
    return ValidatedWorkbook(list(sheet.with_children))


def validate_file(
    request: ValidationRequest,
    catalogue: Catalogue,
    limits: WorkbookLimits,
    workbook: WorkbookSource | None = None,
    on_column: OnColumn = lambda _: None,
) -> list[ValidationResult]:
    """Validate the sheets that a request asks for; return what a report tells of the file.

    A file that cannot be validated is a ``RefusedFile``. ``workbook`` waits for the cells where
    the file is being read already. Source: the product brief, ``validate``.
    """
    try:
        validated = validate_sheets(request, catalogue, limits, workbook, on_column)
    except (WorkbookRefused, UsageError) as refusal:
        return [RefusedFile(request.file, refusal)]
    return [*validated.sheets, *(SkippedSheet(request.file, name) for name in validated.skipped)]


_SAMPLE_TEXTS = ("a", "b", "é ã")


def warm_up(catalogue: Catalogue) -> None:
    """Validate some rows that nobody sees, by the first resource of the catalogue."""
    resource = next(iter(catalogue.values()))
    columns = [_sample_column(column) for column in resource.columns]
    cells = SheetCells(resource.name, 0, columns, RawSheet())
    validate_sheet(Path(), None, SheetChoice(cells, resource), ParseOptions())


def _sample_column(column: Column) -> CellColumn:
    """Return a header, values of the column's kind, and one that is probably wrong."""
    values: tuple[object, ...] = _SAMPLE_TEXTS
    if column.kind.is_number:
        values = (1.0, 2.5, "a")
    elif column.kind is Kind.DATE:
        values = (dt.date(2026, 1, 31), dt.datetime(2026, 1, 31, 12), "a")
    return CellEncoder().encode((column.name, *values))
