"""Validation of a sheet, a workbook, or all sheets of a workbook, from file to findings."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pandera.pandas as pa

from xlbridge.errors import UsageError, WorkbookRefused
from xlbridge.processes import gc_paused
from xlbridge.resources import KEY, Catalogue, Fingerprint, Resource, normalize_header
from xlbridge.resources.checks import CATALOGUE
from xlbridge.resources.findings import Finding, Severity
from xlbridge.settings import ParseOptions, WorkbookLimits
from xlbridge.titles import REQUIRED_MARK
from xlbridge.validation.cells.contents import list_sheet_names, quoted
from xlbridge.validation.cells.suspect_cells import FormatLookup
from xlbridge.validation.cells.typed_rows import (
    ColumnMemo,
    fill_constants,
    type_numbers,
    type_rows,
)
from xlbridge.validation.cross_sheet import check_children, compare_sheets
from xlbridge.validation.header_row import (
    ChosenSheet,
    Header,
    find_header_row,
    find_similar_header_row,
    header_digest,
    header_texts,
    joined_columns,
    match_header,
    outdated_template,
)
from xlbridge.validation.non_records import report_non_records
from xlbridge.validation.request import AcceptedFindings, OnColumn, ValidationRequest
from xlbridge.validation.results import (
    RefusedFile,
    SkippedSheet,
    ValidatedSheet,
    ValidationResult,
    join_blocks,
    join_records,
    numbered_rows,
)
from xlbridge.validation.sheet_checks import (
    apply_rules,
    check_layout,
    findings_of_columns,
    report_misplaced_documents,
    report_records_of_export,
    short_rows,
)
from xlbridge.validation.sheet_choice import (
    child_cells,
    choose_sheet,
    choose_sheets,
    misnamed_lists,
)
from xlbridge.validation.sheet_findings import sheet_findings, without_repeated
from xlbridge.workbook import WorkbookOrigin
from xlbridge.workbook.read import (
    SheetCells,
    WorkbookCells,
    WorkbookSource,
    cell_number_formats,
    read_workbook,
)

# Import the backend now, while a file is being read, and not with the first check.
pa.Check.get_backend(pd.Series(dtype=object))

if TYPE_CHECKING:
    from xlbridge.validation.mapping import SheetMapping
    from xlbridge.validation.mapping.application import MappedSheet
    from xlbridge.validation.mapping.sheet_rows import MappedLists


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
    accepted: AcceptedFindings | None = None,
) -> ValidatedSheet:
    """Validate one sheet of a workbook against its resource's schema and return all errors.

    ``workbook`` returns the cells if the file is being read already; ``on_column`` reports
    progress; ``mapping`` maps a sheet with its own header. ``memo`` caches results of columns for
    the next validation after edits; then ``workbook`` has all sheets, the requested one first.
    ``accepted``: findings that a person accepts.

    Raises ``WorkbookRefused`` if the file is not a readable workbook, ``UsageError`` if the file,
    sheet or resource does not exist, the resource is unclear, or the mapping does not fit.
    """
    request = ValidationRequest(
        file=Path(path),
        resource=resource,
        sheet=sheet,
        reading=reading,
        mapping=mapping,
        accepted=accepted or AcceptedFindings(),
    )
    return validate_sheets(request, catalogue, limits, workbook, on_column, memo).sheets[0]


def _with_listed_columns(cells: WorkbookCells, catalogue: Catalogue) -> Catalogue:
    """Return the catalogue for a workbook: if its template offers lists of registries, their
    columns accept the values of the lists."""
    fingerprint = Fingerprint.parse(cells.fingerprint)
    if fingerprint is None or not fingerprint.listed or fingerprint.resource not in catalogue:
        return catalogue
    # Late: it imports the whole interface.
    from xlbridge.resources.links import listing_resource

    listed = listing_resource(catalogue[fingerprint.resource], catalogue, fingerprint.listed)
    return Catalogue([listed if one.name == listed.name else one for one in catalogue.values()])


def blank_children(main: ValidatedSheet, sheets: Sequence[SheetCells]) -> list[ValidatedSheet]:
    """Return the child sheets of a main sheet that have a header but no rows, with the findings
    of their headers only: a list may be empty."""
    if main.resource is None or main.header_row is None:
        return []
    lists = child_cells(sheets, main.sheet, main.resource, filled=False)
    blank = {cells.name: child for child, cells in lists}
    validated = [
        _Validator(main.file).validate_sheet(
            ChosenSheet(cells, blank[cells.name], main=main.resource)
        )
        for cells in sheets
        if cells.name in blank
    ]
    for sheet in validated:
        sheet.findings = [f for f in sheet.findings if f.kind.code != "sheet-empty"]
    return [sheet for sheet in validated if sheet.header_row is not None]


@dataclass(frozen=True, slots=True)
class _Validator:
    """Validator of the sheets of one file; see ``validate_workbook``."""

    file: Path
    reading: ParseOptions = field(default_factory=ParseOptions)
    accepted: AcceptedFindings = field(default_factory=AcceptedFindings)
    on_column: OnColumn = lambda _: None
    memo: ColumnMemo | None = None
    words: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def validate_sheet(self, choice: ChosenSheet, fingerprint: str | None = None) -> ValidatedSheet:
        """Validate the cells of the chosen sheet; ``fingerprint`` is the workbook's."""
        cells, resource = choice.cells, choice.resource
        position = None if resource is None else find_header_row(cells, resource)
        if resource is not None and position is None:
            position = find_similar_header_row(cells, resource)
        if resource is None or position is None:
            if resource is None or not cells.has_data(0):
                missing = Finding(CATALOGUE["sheet-empty"])
            elif joined := joined_columns(cells, resource):
                missing = joined[1]
            else:
                made_from = Fingerprint.parse(fingerprint)
                code, details = "header-not-found", {"resource": resource.name}
                if made_from is not None and made_from.resource != resource.name:
                    code, details = "template-of-other", {**details, "found": made_from.resource}
                missing = Finding(CATALOGUE[code], details=details)
            findings = [missing, *_hidden_sheets(choice, None)]
            return ValidatedSheet(self.file, resource, cells.name, findings=findings)
        header = match_header(cells, position, resource, choice.main)
        key = _acceptance_key(resource, header_texts(cells, position))
        within = "" if choice.main is None else f"{resource.sheet}."
        words = {
            path.removeprefix(within): of_column
            for path, of_column in self.words.items()
            if path.startswith(within)
        }
        if words:
            # Late, as mapped sheets are.
            from xlbridge.validation.mapping.application import replace_words

            mapped = replace_words(choice, header, words)
            validated = self.validate_mapped_rows(resource, mapped, key, ())
        else:
            lookup = self.format_lookup(cells)
            owner = choice.main or resource
            if header.made_of and owner.read_back is not None:
                # Late: it imports the whole interface.
                from xlbridge.validation.mapping.application import with_record_columns

                exported = with_record_columns(choice, header, owner.read_back)
                choice, lookup = exported.choice, exported.format_lookup(lookup)
            validated = self.validate_rows(resource, choice, header, lookup, key)
        if outdated := outdated_template(fingerprint, resource, cells, position):
            validated.findings = [*outdated, *validated.findings]
        return validated

    def validate_mapped_sheet(
        self,
        mapping: "SheetMapping",
        request: ValidationRequest,
        cells: WorkbookCells,
        catalogue: Catalogue,
    ) -> ValidatedSheet:
        """Validate the sheet that has the header of a mapping."""
        # Late: it imports the whole interface, and few sheets have a mapping.
        from xlbridge.validation.mapping.application import require_fitting
        from xlbridge.validation.mapping.sheet_rows import map_sheet

        resource = require_fitting(mapping, catalogue, request.resource)
        mapped, lists = map_sheet(mapping, resource, request, cells, self.format_lookup)
        key = _acceptance_key(resource, mapping.header)
        blocks = list[ValidatedSheet]()
        for number, one in enumerate(mapped):
            memo = self.memo and (self.memo.of_child(f"{number}") if number else self.memo)
            # A row that is no record is none of any of them.
            one.header.left_out.update(row for block in blocks for row in block.non_records)
            validator = replace(self, memo=memo)
            blocks.append(validator.validate_mapped_rows(resource, one, key, mapping.accept))
        validated = join_records(blocks)
        if mapping.lists and mapping.records is None and validated.resource is not None:
            validated.add(lists.contradictions())
            self.add_lists(validated, lists, mapping)
        return validated

    def validate_mapped_rows(
        self, resource: Resource, mapped: "MappedSheet", key: str, accepted: Collection[str]
    ) -> ValidatedSheet:
        """Validate the rows of a mapped sheet as those of a resource; ``key`` is that of accepted
        findings, ``accepted`` are those of the mapping."""
        lookup = mapped.format_lookup(self.format_lookup(mapped.choice.cells))
        return self.validate_rows(resource, mapped.choice, mapped.header, lookup, key, accepted)

    def add_lists(
        self, main: ValidatedSheet, lists: "MappedLists", mapping: "SheetMapping"
    ) -> None:
        """Validate the lists that are in the rows of a main sheet, and add them to it."""
        texts = main.frame[KEY].where(~main.non_record_mask, None)
        keys = {row: it if pd.notna(it) else None for row, it in zip(main.rows, texts, strict=True)}
        reported = [finding for finding in main.findings if finding.column is None]
        children = {}
        for child in main.resource.children if main.resource else ():
            blocks = []
            for number, block in enumerate(
                lists.blocks(child, keys) if child.sheet in mapping.lists else ()
            ):
                memo = self.memo and self.memo.of_child(f"{child.sheet}.{number}")
                key = _acceptance_key(child, mapping.header)
                part = replace(self, memo=memo).validate_mapped_rows(
                    child, block, key, mapping.accept
                )
                part.findings = without_repeated(part.findings, reported)
                reported += [finding for finding in part.findings if finding.column is None]
                blocks.append(part)
            if any(part.rows for part in blocks):
                children[child.sheet] = join_blocks(blocks)
        main.children = children
        check_children(main)

    def add_children(self, main: ValidatedSheet, sheets: Sequence[SheetCells]) -> None:
        """Validate the child sheets of a main sheet, and add them to it."""
        resource = main.resource
        if resource is None or main.header_row is None:
            return
        children = {}
        for child, cells in child_cells(sheets, main.sheet, resource):
            memo = None if self.memo is None else self.memo.of_child(child.sheet)
            choice = ChosenSheet(cells, child, main=resource)
            children[child.sheet] = replace(self, memo=memo).validate_sheet(choice)
        main.children = children
        if numbered_rows(resource, main.numbers, len(main.rows)).any():
            blank = child_cells(sheets, main.sheet, resource, filled=False)
            main.emptied_lists = [child.sheet for child, _ in blank]
        check_children(main)

    def format_lookup(self, cells: SheetCells) -> FormatLookup:
        """Return the lookup of number formats in a sheet of the file."""
        lookup = partial(cell_number_formats, self.file, cells.raw)
        return lookup if self.memo is None else self.memo.cached_lookup(lookup)

    def validate_rows(
        self,
        resource: Resource,
        choice: ChosenSheet,
        header: Header,
        formats_of: FormatLookup,
        key: str,
        mapped: Collection[str] = (),
    ) -> ValidatedSheet:
        """Validate the rows below a header that was matched to the columns of a resource.

        ``key`` is that of the findings accepted in such sheets, ``mapped`` are those accepted by
        the mapping.
        """
        own = {normalize_header(own): name for name, own in header.names.items()}
        texts = self.accepted.in_sheet(key, own | dict(resource.headers), mapped)
        cells, reading = choice.cells, replace(self.reading, accepted=texts)
        typed = type_rows(resource, header, cells, reading, self.on_column, formats_of, self.memo)
        # Cells of a column whose header is missing or repeated have no findings.
        for finding in header.findings:
            if finding.kind.severity is Severity.ERROR and finding.column is not None:
                typed.problems[finding.column].failed[:] = True
        layout = [*header.findings, *check_layout(typed)]
        if header.names:
            layout = [replace(f, header=header.names.get(f.column or "")) for f in layout]
        # Without a readable column nothing is known about rows.
        if not typed.rows and (header.columns or not cells.has_data(header.row)):
            empty = Finding(CATALOGUE["sheet-empty"], row=header.row)
            layout += [empty, *_hidden_sheets(choice, header.row)]
        non_records = report_non_records(typed, reading, formats_of, self.memo)
        layout += short_rows(typed, non_records)
        report_misplaced_documents(typed)
        fill_constants(typed, non_records)
        apply_rules(typed, self.memo)
        numbers, number_problems = type_numbers(typed)
        report_records_of_export(typed, numbered_rows(resource, numbers, len(typed.rows)))
        # A cell that several columns share, or whose value is converted, cannot be corrected.
        uses = Counter(header.columns.values())
        for name, index in header.columns.items():
            if name in header.converted or uses[index] > 1:
                typed.problems[name].drop_corrections()
        problems = {**typed.problems, **number_problems}
        accepted = Counter[tuple[str, str | None]]()
        for name, found_in in problems.items():
            for code in found_in.accepted:
                if count := len(found_in.positions_of(code)):
                    accepted[code, name] = count
                    found_in.drop(code)
        found, layout = layout, []
        for finding in found:
            code, column = finding.kind.code, finding.column
            if finding.kind.acceptable and reading.accepts(code, column):
                accepted[code, column] += 1
            else:
                layout.append(finding)
        layout += findings_of_columns(typed)
        indexes = {**header.source_columns(), **header.numbers}
        columns = {name: cells.first_column + index for name, index in indexes.items()}
        with_source = header.converted.union(
            c.name for c in resource.columns if c.kind.is_code or c.link or c.sheet_link
        )
        return ValidatedSheet(
            self.file,
            resource,
            cells.name,
            header.row,
            typed.frame,
            typed.rows,
            columns,
            source_cells={
                name: cells.columns[index]
                for name, index in header.source_columns().items()
                if name in with_source
            },
            non_records=non_records,
            findings=sheet_findings(
                layout,
                cells,
                np.array(typed.rows, dtype=np.intc),
                problems,
                columns,
                header.names,
                are_cells_kept=self.memo is not None,
            ),
            numbers=numbers,
            headers=header.names,
            titles={}
            if header.names
            else {
                name: cells.titles.get(text, text)
                for name, index in header.columns.items()
                for shown in [" ".join(str(cells.columns[index].value(header.row - 1)).split())]
                for text in [shown.removesuffix(REQUIRED_MARK)]
            },
            constants=tuple(header.constants),
            # What a mapping makes of several cells stands in no cell.
            named={
                column.name: column.link.has_codes
                for column in resource.columns
                if column.link
                and column.name in header.columns.keys() - (header.converted - header.words.keys())
            },
            words=header.words,
            accepted=dict(accepted),
            accepted_texts=texts,
            acceptance_key=key,
        )


def _acceptance_key(resource: Resource, header: Iterable[str]) -> str:
    """Return the key under which the accepted findings of a sheet are remembered."""
    return f"{resource.name}-{header_digest(header)}"


def _hidden_sheets(choice: ChosenSheet, row: int | None) -> list[Finding]:
    """Report the hidden sheets, which may have the missing data."""
    if not choice.hidden:
        return []
    details = {"listed": list_sheet_names(choice.hidden)}
    return [Finding(CATALOGUE["sheets-hidden"], row=row, details=details)]


@dataclass(frozen=True, slots=True)
class ValidatedWorkbook:
    """Validated sheets of a workbook, and the names of those that fit no resource."""

    sheets: list[ValidatedSheet]
    skipped: list[str]


def validate_sheets(
    request: ValidationRequest,
    catalogue: Catalogue,
    limits: WorkbookLimits,
    workbook: WorkbookSource | None = None,
    on_column: OnColumn = lambda _: None,
    memo: ColumnMemo | None = None,
) -> ValidatedWorkbook:
    """Validate one sheet, or all sheets in order: against one resource, or each against its own.

    Hidden sheets, and the sheets that templates add, are neither data nor skipped. Raises the
    errors of ``validate_workbook``.
    """
    catalogue = _with_requested_links(request, catalogue)
    limits = request.limits(limits)
    validator = _Validator(request.file, request.reading, request.accepted, on_column, memo)
    with gc_paused():
        cells = workbook() if workbook else read_workbook(request.file, limits, request.sheet)
        if cells.fingerprint is not None and request.mapping is None:
            origin = WorkbookOrigin.of(request.file)
            validator = replace(validator, words={} if origin is None else origin.words)
        catalogue = _with_listed_columns(cells, catalogue)
        mains: Iterable[ValidatedSheet]
        skipped: list[str] = []
        if request.all_sheets:
            choices, skipped = choose_sheets(cells, catalogue, request.resource)
            mains = (validator.validate_sheet(choice, cells.fingerprint) for choice in choices)
        elif request.mapping is not None:
            mains = [validator.validate_mapped_sheet(request.mapping, request, cells, catalogue)]
        else:
            choice = choose_sheet(cells, catalogue, request.resource, request.sheet)
            mains = [validator.validate_sheet(choice, cells.fingerprint)]
        sheets, used = list[ValidatedSheet](), set[str]()
        for main in mains:
            is_whole = request.mapping is not None and bool(request.mapping.lists)
            if main.resource is not None and main.resource.children and not is_whole:
                has_all_sheets = request.sheet is None or memo is not None
                others = cells if has_all_sheets else read_workbook(request.file, limits)
                validator.add_children(main, others.sheets)
                if not request.all_sheets:
                    # Their rows would be lost.
                    for child, found in misnamed_lists(others.sheets, main.sheet, main.resource):
                        details = {"sheet": quoted(found.name), "list": child.sheet}
                        kind = CATALOGUE["list-misnamed"]
                        main.add([Finding(kind, row=main.header_row, details=details)])
                blank = child_cells(others.sheets, main.sheet, main.resource, filled=False)
                used |= {child.name for _, child in blank}
            sheets += main.with_children
        if request.all_sheets:
            for sheet, findings in zip(sheets, compare_sheets(sheets), strict=True):
                sheet.add(findings)
        for sheet in sheets:
            sheet.read_as, sheet.limits = cells.read_as, limits
        used |= {sheet.sheet for sheet in sheets}
        return ValidatedWorkbook(sheets, [name for name in skipped if name not in used])


def _with_requested_links(request: ValidationRequest, catalogue: Catalogue) -> Catalogue:
    """Return the catalogue with the linked columns of a request. Raises ``UsageError``."""
    if not request.all_links:
        return catalogue
    # Late: it imports the whole interface, and most sheets have no links.
    from xlbridge.resources.links import linked_catalogue, require_links

    named = request.mapping.resource if request.mapping else request.resource
    if named is not None and request.mapping is None:
        named = catalogue.named(named).name
    require_links(request.links, catalogue, named if named in catalogue else None)
    return linked_catalogue(request.all_links, catalogue)


def validate_file(
    request: ValidationRequest,
    catalogue: Catalogue,
    limits: WorkbookLimits,
    workbook: WorkbookSource | None = None,
    on_column: OnColumn = lambda _: None,
) -> list[ValidationResult]:
    """Validate the requested sheets and return the results for a report.

    A file that cannot be validated becomes a ``RefusedFile``. ``workbook`` returns the cells if
    the file is being read already. Source: the product brief, ``validate``.
    """
    try:
        validated = validate_sheets(request, catalogue, limits, workbook, on_column)
    except (WorkbookRefused, UsageError) as refusal:
        return [RefusedFile(request.file, refusal)]
    return [*validated.sheets, *(SkippedSheet(request.file, name) for name in validated.skipped)]
