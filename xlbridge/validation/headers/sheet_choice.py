"""Choose the resource that a workbook is for, and the sheets that hold its data."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.resources.remote import are_fields_of_others
from xlbridge.validation.cells.text import list_sheet_names
from xlbridge.validation.headers.header_matching import header_key
from xlbridge.validation.headers.header_row import (
    MainSheet,
    find_header_row,
    has_rows,
    matched_columns,
    nearly_matched_columns,
    resource_of_joined,
)

if TYPE_CHECKING:
    from xlbridge.resources import Catalogue, Resource
    from xlbridge.workbook.read import SheetCells, WorkbookCells

_ONE_MISSING_IN = 3
"""One in so many required columns may be missing where the headers tell the resource."""


class NoFittingResource(UsageError):
    """Error of a workbook in which no sheet has the headers of a resource."""


@dataclass(frozen=True, slots=True)
class SheetChoice:
    """The sheet to validate, and the resource to validate it by; None where nothing tells.

    ``hidden`` are the names of the hidden sheets among which it may have been chosen by mistake;
    ``main`` is the main sheet of a sheet with rows of a list.
    """

    cells: "SheetCells"
    resource: "Resource | None"
    hidden: Sequence[str] = ()
    main: MainSheet | None = None


def choose_sheet(
    workbook: "WorkbookCells", catalogue: "Catalogue", resource: str | None, sheet: str | None
) -> SheetChoice:
    """Decide by what was asked for, the template's fingerprint, sheet names, then headers.

    ``resource`` None in the answer means that the workbook is empty. Raises ``UsageError`` when
    what was asked for does not exist, or when more than one resource fits.
    """
    wanted = (
        catalogue.named(resource) if resource else _resource_of_fingerprint(workbook, catalogue)
    )
    if not workbook.sheets:
        raise no_visible_sheet(workbook.hidden)
    if sheet is not None:
        cells = workbook.sheets[0]
        return SheetChoice(cells, wanted or _choose_by_headers([cells], catalogue, ())[1])
    mains = _without_child_sheets(workbook.sheets, [wanted] if wanted else catalogue.values())
    if wanted is not None:
        sheets = _with_data(mains, [wanted])
        return SheetChoice(_best_sheet(sheets, wanted), wanted, workbook.hidden)
    imported, created = _by_precedence(catalogue.values())
    found = _with_data(mains, imported)
    sheets = found if len(found) == 1 else _with_data(mains, created)
    for cells in sheets:
        if named := _resource_of_name(cells, catalogue):
            return SheetChoice(cells, named, workbook.hidden)
    return SheetChoice(*_choose_by_headers(sheets, catalogue, workbook.hidden), workbook.hidden)


def choose_sheets(
    workbook: "WorkbookCells", catalogue: "Catalogue", resource: str | None
) -> tuple[list[SheetChoice], list[str]]:
    """Return every sheet that has data for a resource, and the names of the others that are filled.

    Where none has, the one sheet that ``choose_sheet`` would choose. Raises ``UsageError`` as that
    does.
    """
    wanted = catalogue.named(resource) if resource else None
    printed = _resource_of_fingerprint(workbook, catalogue)
    choices = []
    for cells in _without_child_sheets(workbook.sheets, catalogue.values()):
        if wanted is not None:
            found = _fitting_resource(cells, [wanted])
        elif printed is not None and _could_take(printed, cells):
            found = printed
        else:
            named = _resource_of_name(cells, catalogue)
            found = named if named is not None and has_rows(named, cells) else None
            found = found or _fitting_resource(cells, catalogue.values())
        if found is not None:
            choices.append(SheetChoice(cells, found))
    choices = choices or [choose_sheet(workbook, catalogue, resource, None)]
    filled = [cells.name for cells in workbook.sheets if cells.has_data(0)]
    chosen = {choice.cells.name for choice in choices}
    return choices, [name for name in filled if name not in chosen]


def _without_child_sheets(
    sheets: Sequence["SheetCells"], resources: Iterable["Resource"]
) -> list["SheetCells"]:
    """Return the sheets of a workbook but for those of lists whose main sheet is another."""
    names = {header_key(cells.name) for cells in sheets}
    lists: set[str] = set()
    for resource in resources:
        children = {header_key(child.sheet) for child in resource.children}
        if children & names and any(
            matched_columns(cells, resource)[0].issuperset(resource.required)
            for cells in sheets
            if header_key(cells.name) not in children
        ):
            lists |= children
    return [cells for cells in sheets if header_key(cells.name) not in lists]


def _by_precedence(resources: Iterable["Resource"]) -> tuple[list["Resource"], list["Resource"]]:
    """Return the resources that are imported, then those whose records are created one by one.

    The second come into question where none of the first fits well: a sheet that was recognised
    before they were there stays recognised.
    """
    found: tuple[list[Resource], list[Resource]] = ([], [])
    for resource in resources:
        found[not resource.is_imported].append(resource)
    return found


def _resource_of_name(cells: "SheetCells", catalogue: "Catalogue") -> "Resource | None":
    """Return the resource that a sheet is named for; of several that fit, the name decides only
    among those of the same precedence."""
    named = catalogue.get(cells.name)
    if named is None or named.is_imported:
        return named
    imported, _ = _by_precedence(catalogue.values())
    return None if _best_fits([cells], imported) and not _could_take(named, cells) else named


def _fitting_resource(cells: "SheetCells", resources: Iterable["Resource"]) -> "Resource | None":
    """Return the one resource that the sheet has data for, though a few columns be missing."""
    filled = [resource for resource in resources if has_rows(resource, cells)]
    fit = _one_fit([cells], filled)
    return None if fit is None else fit[1]


def _with_data(sheets: list["SheetCells"], resources: list["Resource"]) -> list["SheetCells"]:
    """Return the only sheet that has data for one of the resources, or all when none has.

    Raises ``UsageError`` when more than one has.
    """
    if len(sheets) == 1:
        return sheets
    fits = {
        cells.name: [resource.name for resource in resources if _could_take(resource, cells)]
        for cells in sheets
    }
    filled = {name: names for name, names in fits.items() if names}
    if len(filled) > 1:
        listed = "; ".join(f"{name} ({', '.join(names)})" for name, names in filled.items())
        raise UsageError(
            Text(
                pt="Mais de uma planilha tem dados que servem: {sheets}.",
                en="More than one sheet has data that fits: {sheets}.",
            ).format(sheets=listed),
            _WHICH_SHEET,
        )
    return [cells for cells in sheets if cells.name in filled] or sheets


def _could_take(resource: "Resource", cells: "SheetCells") -> bool:
    """Return whether the sheet has the resource's required columns, and rows below their names."""
    known, _ = matched_columns(cells, resource)
    fits = bool(known) and known.issuperset(resource.required) and has_rows(resource, cells)
    return fits and not _is_of_other_records(cells, resource)


def _is_of_other_records(cells: "SheetCells", resource: "Resource") -> bool:
    position = find_header_row(cells, resource)
    return position is not None and is_of_other_records(map(str, cells.row(position)), resource)


def is_of_other_records(header: Iterable[str], resource: "Resource") -> bool:
    """Return whether a header has names of fields, and more of them are another record's.

    Such are sheets that an export wrote, whatever became of them since: items of requisitions are
    no products.
    """
    names, own = {text.strip() for text in header}, set(resource.by_name)
    if not any(map(_FIELD_NAME.search, names - own)):
        return False
    declared = resource.read_back
    return are_fields_of_others(names, own, () if declared is None else declared.operation_names)


def _is_for_reading(cells: "SheetCells", resources: Iterable["Resource"]) -> bool:
    """Return whether a sheet is an exported listing of records that none of the resources has."""
    positions = {find_header_row(cells, resource) for resource in resources}
    headers = (list(map(str, cells.row(at))) for at in positions if at is not None)
    return any(all(is_of_other_records(header, one) for one in resources) for header in headers)


_FIELD_NAME = re.compile("[a-z][A-Z]")


def _resource_of_fingerprint(
    workbook: "WorkbookCells", catalogue: "Catalogue"
) -> "Resource | None":
    name = (workbook.fingerprint or "").partition(":")[0]
    return catalogue.get(name)


def _best_sheet(sheets: list["SheetCells"], resource: "Resource") -> "SheetCells":
    """Return the sheet whose header fits best; of equals one with data, or of the right name."""

    def fitness(cells: "SheetCells") -> tuple[int, bool, bool]:
        known = len(matched_columns(cells, resource)[0])
        named = header_key(cells.name) == header_key(resource.name)
        return known, _could_take(resource, cells), named

    return max(sheets, key=fitness)


def _choose_by_headers(
    sheets: list["SheetCells"], catalogue: "Catalogue", hidden: Sequence[str]
) -> tuple["SheetCells", "Resource | None"]:
    if fit := _one_fit(sheets, catalogue.values()):
        return fit
    for resources in _by_precedence(catalogue.values()):
        if joined := resource_of_joined(sheets, resources):
            return joined
    if any(cells.has_data(0) for cells in sheets):
        if any(_is_for_reading(cells, catalogue.values()) for cells in sheets):
            raise no_import_of_exported()
        others = _HIDDEN_SHEETS.format(listed=list_sheet_names(hidden)) if hidden else ""
        raise NoFittingResource(
            Text(
                pt="Não dá para saber de que recurso é a planilha.",
                en="It is not clear which resource the sheet is for.",
            ),
            Text(
                pt="Diga com --resource; existem: {names}. O que foi exportado volta pelo modelo: "
                "xlbridge export LISTAGEM --as-template RECURSO.{others}",
                en="Say it with --resource; there are: {names}. What was exported is sent back as "
                "a template: xlbridge export LISTING --as-template RESOURCE.{others}",
            ).format(names=", ".join(catalogue), others=others),
        )
    return sheets[0], None


def _one_fit(
    sheets: Sequence["SheetCells"], resources: Iterable["Resource"]
) -> tuple["SheetCells", "Resource"] | None:
    """Return the pair that fits best, though a few columns be missing.

    Raises ``UsageError`` when several fit equally well.
    """
    resources = list(resources)
    leading = _first_fits(sheets, resources)
    if len(leading) > 1:
        names = sorted({resource.name for _, resource in leading})
        raise _several_fit(names, len(leading), leading[0][0].name)
    if leading:
        return leading[0]
    imported, created = _by_precedence(resources)
    return _best_near_fit(sheets, imported) or _best_near_fit(sheets, created)


def _first_fits(
    sheets: Sequence["SheetCells"], resources: Iterable["Resource"]
) -> list[tuple["SheetCells", "Resource"]]:
    """Return the pairs that fit best, by precedence.

    An imported resource gives way where it knows less than half of the headers, or lacks a few
    columns, and another fits wholly and knows more.
    """
    imported, created = _by_precedence(resources)
    leading, later = _best_fits(sheets, imported), _best_fits(sheets, created)
    if not later:
        return leading
    most = max(len(matched_columns(*fit)[0]) for fit in later)
    if leading:
        known, strange = matched_columns(*leading[0])
        return leading if len(known) >= min(strange, most) else later
    nearly = _best_near_fit(sheets, imported)
    if nearly is None or len(nearly_matched_columns(*nearly)[0]) < most:
        return later
    return [nearly]


def _best_fits(
    sheets: Sequence["SheetCells"], resources: Iterable["Resource"]
) -> list[tuple["SheetCells", "Resource"]]:
    """Return the pairs that fit best; of equals, all."""
    fits: list[tuple[tuple[int, int], SheetCells, Resource]] = []
    for resource in resources:
        for cells in sheets:
            known, strange = matched_columns(cells, resource)
            fit = known and known.issuperset(resource.required)
            if fit and not _is_of_other_records(cells, resource):
                fits.append(((len(known), -strange), cells, resource))
    best = max((fit[0] for fit in fits), default=None)
    return [fit[1:] for fit in fits if fit[0] == best]


def _best_near_fit(
    sheets: Sequence["SheetCells"], resources: Iterable["Resource"]
) -> tuple["SheetCells", "Resource"] | None:
    """Return the one pair that fits but for a few required columns, missing or misspelt.

    Those are errors then, so that nothing is uploaded on the strength of it.
    """
    fits: list[tuple[tuple[int, int, int], SheetCells, Resource]] = []
    for resource in resources:
        for cells in sheets:
            named, strange = nearly_matched_columns(cells, resource)
            lacking = len(set(resource.required) - named)
            near = named and lacking * _ONE_MISSING_IN <= len(resource.required)
            if near and not _is_of_other_records(cells, resource):
                fits.append(((-lacking, len(named), -strange), cells, resource))
    best = max((fit[0] for fit in fits), default=None)
    leading = [fit[1:] for fit in fits if fit[0] == best]
    return leading[0] if len(leading) == 1 else None


def no_visible_sheet(hidden: Sequence[str]) -> UsageError:
    """Return the error that a workbook has nothing but hidden sheets."""
    return UsageError(
        Text(
            pt="O arquivo não tem planilha visível para dados.",
            en="The workbook has no visible sheet for data.",
        ),
        Text(
            pt="Reexiba a planilha no Excel, ou diga qual com --sheet{listed}.",
            en="Unhide the sheet in Excel, or say which with --sheet{listed}.",
        ).format(listed=f": {list_sheet_names(hidden)}" if hidden else ""),
    )


def no_import_of_exported() -> UsageError:
    """Return the error that a sheet is an exported listing of records that no resource has."""
    return UsageError(
        Text(
            pt="As colunas são de uma exportação que nenhum recurso importa.",
            en="The columns are those of an export that no resource imports.",
        ),
        Text(
            pt="Ela serve para consulta. O que se importa e com que colunas: xlbridge resources; "
            "se é mesmo o que quer enviar, diga o recurso com --resource.",
            en="It is for reading. What is imported, by which columns: xlbridge resources; if this "
            "is what you want to upload, say the resource with --resource.",
        ),
    )


_HIDDEN_SHEETS = Text(
    pt=" Há planilhas ocultas, que não são lidas: {listed}; reexiba-as, ou diga qual com --sheet.",
    en=" There are hidden sheets, which are not read: {listed}; unhide them, or say which with "
    "--sheet.",
)


_WHICH_SHEET = Text(
    pt="Diga qual com --sheet; todas elas: xlbridge validate --all-sheets.",
    en="Say which with --sheet; all of them: xlbridge validate --all-sheets.",
)


def _several_fit(resources: list[str], places: int, sheet: str) -> UsageError:
    if len(resources) < places:
        return UsageError(
            Text(
                pt="Mais de uma planilha serve para {names}.",
                en="More than one sheet fits {names}.",
            ).format(names=", ".join(resources)),
            _WHICH_SHEET,
        )
    return UsageError(
        Text(
            pt="A planilha {sheet} serve para mais de um recurso: {names}.",
            en="The sheet {sheet} fits more than one resource: {names}.",
        ).format(sheet=sheet, names=", ".join(resources)),
        Text(pt="Diga qual com --resource.", en="Say which with --resource."),
    )


def child_cells(
    sheets: Sequence["SheetCells"], main: str, resource: "Resource"
) -> dict[str, "SheetCells"]:
    """Return the sheets that hold rows of a resource's lists, by the lists' names.

    A sheet is named as the list or as its title; ``main`` is the name of the main sheet.
    """
    named = _sheets_of_lists(sheets, main, resource)
    return {child.sheet: cells for child, cells in named if has_rows(child, cells)}


def blank_child_sheets(
    sheets: Sequence["SheetCells"], main: str, resource: "Resource"
) -> dict[str, "Resource"]:
    """Return the sheets of a resource's lists that have no rows below a header, by their names."""
    named = _sheets_of_lists(sheets, main, resource)
    return {cells.name: child for child, cells in named if not has_rows(child, cells)}


def _sheets_of_lists(
    sheets: Sequence["SheetCells"], main: str, resource: "Resource"
) -> Iterator[tuple["Resource", "SheetCells"]]:
    named = {header_key(cells.name): cells for cells in sheets if cells.name != main}
    for child in resource.children:
        names = (child.sheet, child.title.pt, child.title.en)
        cells = next((named[n] for n in map(header_key, names) if n in named), None)
        if cells is not None:
            yield child, cells
