"""Choice of a workbook's resource and of the sheets that hold its data."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.resources import KEY, Catalogue, Resource
from xlbridge.resources.remote import are_fields_of_others
from xlbridge.validation.cells.text import list_sheet_names
from xlbridge.validation.headers.header_row import (
    ChosenSheet,
    find_header_row,
    has_rows,
    header_key,
    matched_columns,
    nearly_matched_columns,
    resource_of_joined,
)
from xlbridge.workbook.read import SheetCells, WorkbookCells

_Fit = tuple[SheetCells, Resource]

_REQUIRED_PER_MISSING = 3
"""Number of required columns for each that may be missing when headers identify the resource."""


class NoFittingResource(UsageError):
    """No sheet of the workbook has the headers of a resource."""


def choose_sheet(
    workbook: WorkbookCells, catalogue: Catalogue, resource: str | None, sheet: str | None
) -> ChosenSheet:
    """Choose by the request, the template's fingerprint, sheet names, then headers.

    The choice has no resource if the workbook is empty. Raises ``UsageError`` if the requested
    resource does not exist, or more than one fits.
    """
    wanted = catalogue.named(resource) if resource else None
    wanted = wanted or _resource_of_fingerprint(workbook, catalogue)
    if not workbook.sheets:
        raise no_visible_sheet(workbook.hidden)
    if sheet is not None:
        cells = workbook.sheets[0]
        return ChosenSheet(cells, wanted or _choose_by_headers([cells], catalogue, ())[1])
    mains = _without_child_sheets(workbook.sheets, [wanted] if wanted else catalogue.values())
    if wanted is not None:
        best = max(
            _with_data(mains, [wanted]),
            key=lambda cells: (
                len(matched_columns(cells, wanted)[0]),
                _has_data_for(wanted, cells),
                header_key(cells.name) == header_key(wanted.name),
            ),
        )
        return ChosenSheet(best, wanted, workbook.hidden)
    imported, created = _by_precedence(catalogue.values())
    found = _with_data(mains, imported)
    sheets = found if len(found) == 1 else _with_data(mains, created)
    for cells in sheets:
        if named := _resource_of_name(cells, catalogue):
            return ChosenSheet(cells, named, workbook.hidden)
    return ChosenSheet(*_choose_by_headers(sheets, catalogue, workbook.hidden), workbook.hidden)


def choose_sheets(
    workbook: WorkbookCells, catalogue: Catalogue, resource: str | None
) -> tuple[list[ChosenSheet], list[str]]:
    """Return every sheet that has data for a resource, and the names of the other filled sheets.

    If there is none, the choice of ``choose_sheet``, whose errors are raised.
    """
    wanted = catalogue.named(resource) if resource else None
    of_template = _resource_of_fingerprint(workbook, catalogue)
    choices = []
    for cells in _without_child_sheets(workbook.sheets, catalogue.values()):
        if wanted is not None:
            found = _fitting_resource(cells, [wanted])
        elif of_template is not None and _has_data_for(of_template, cells):
            found = of_template
        else:
            named = _resource_of_name(cells, catalogue)
            found = named if named is not None and has_rows(named, cells) else None
            found = found or _fitting_resource(cells, catalogue.values())
        if found is not None:
            choices.append(ChosenSheet(cells, found))
    choices = choices or [choose_sheet(workbook, catalogue, resource, None)]
    filled = [cells.name for cells in workbook.sheets if cells.has_data(0)]
    chosen = {choice.cells.name for choice in choices}
    return choices, [name for name in filled if name not in chosen]


def _without_child_sheets(
    sheets: Sequence[SheetCells], resources: Iterable[Resource]
) -> list[SheetCells]:
    """Return the sheets of a workbook without the child sheets of its main sheets."""
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


def _by_precedence(resources: Iterable[Resource]) -> tuple[list[Resource], list[Resource]]:
    """Return the resources that are imported, and those whose records are created one by one.

    The latter only count if none of the former fits well, so that adding them changes nothing for
    sheets that were recognised before.
    """
    resources = list(resources)
    return [r for r in resources if r.is_imported], [r for r in resources if not r.is_imported]


def _resource_of_name(cells: SheetCells, catalogue: Catalogue) -> Resource | None:
    """Return the resource with the sheet's name; if several fit, the name only decides among
    resources of the same precedence."""
    named = catalogue.get(cells.name)
    if named is None or named.is_imported:
        return named
    imported, _ = _by_precedence(catalogue.values())
    return None if _best_fits([cells], imported) and not _has_data_for(named, cells) else named


def _fitting_resource(cells: SheetCells, resources: Iterable[Resource]) -> Resource | None:
    """Return the one resource that the sheet has data for, even if a few columns are missing."""
    filled = [resource for resource in resources if has_rows(resource, cells)]
    fit = _one_fit([cells], filled)
    return None if fit is None else fit[1]


def _with_data(sheets: list[SheetCells], resources: list[Resource]) -> list[SheetCells]:
    """Return the only sheet that has data for one of the resources, or all if none has.

    Raises ``UsageError`` if more than one has.
    """
    if len(sheets) == 1:
        return sheets
    fits = {
        cells.name: [resource.name for resource in resources if _has_data_for(resource, cells)]
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


def _has_data_for(resource: Resource, cells: SheetCells) -> bool:
    """Return whether the sheet has the resource's required columns, and rows below them."""
    return bool(_best_fits([cells], [resource])) and has_rows(resource, cells)


def is_of_other_records(header: Iterable[str], resource: Resource) -> bool:
    """Return whether a header has field names, most of which belong to another kind of record.

    That identifies exported sheets: items of requisitions are not products.
    """
    names, columns = {text.strip() for text in header}, set(resource.by_name)
    if not any(map(_FIELD_NAME.search, names - columns)):
        return False
    operations = () if resource.read_back is None else resource.read_back.operation_names
    return are_fields_of_others(names, columns, operations)


_FIELD_NAME = re.compile("[a-z][A-Z]")


def _resource_of_fingerprint(workbook: WorkbookCells, catalogue: Catalogue) -> Resource | None:
    return catalogue.get((workbook.fingerprint or "").partition(":")[0])


def _choose_by_headers(
    sheets: list[SheetCells], catalogue: Catalogue, hidden: Sequence[str]
) -> tuple[SheetCells, Resource | None]:
    if fit := _one_fit(sheets, catalogue.values()):
        return fit
    for resources in _by_precedence(catalogue.values()):
        if joined := resource_of_joined(sheets, resources):
            return joined
    if any(cells.has_data(0) for cells in sheets):
        # An exported listing fits none of the resources.
        resources = list(catalogue.values())
        for cells in sheets:
            positions = {find_header_row(cells, resource) for resource in resources}
            headers = [list(map(str, cells.row(at))) for at in positions if at is not None]
            if any(all(is_of_other_records(h, one) for one in resources) for h in headers):
                raise export_only_error()
        others = _HIDDEN_SHEETS.format(listed=list_sheet_names(hidden)) if hidden else ""
        raise NoFittingResource(
            Text(
                pt="Não dá para saber de que recurso é a planilha.",
                en="It is not clear which resource the sheet is for.",
            ),
            Text(
                pt="Se os cabeçalhos são do sistema, informe o recurso com --resource; existem: "
                "{names}. Para reenviar o que exportou, exporte pelo modelo: xlbridge export "
                "LISTAGEM --as-template RECURSO.{others}",
                en="If the headers are the system's own, choose the resource with --resource; "
                "there are: {names}. To send back exported records, use the template: xlbridge "
                "export LISTING --as-template RESOURCE.{others}",
                page=Text(
                    pt="Escolha o tipo de registro em Abrir. Para reenviar o que exportou, "
                    "exporte no formato “Planilha de importação”.",
                    en="Choose the kind of record under Open. To send back exported records, "
                    "export them in the format “Import sheet”.",
                ),
            ).format(names=", ".join(catalogue), others=others),
        )
    return sheets[0], None


def _one_fit(sheets: Sequence[SheetCells], resources: Iterable[Resource]) -> _Fit | None:
    """Return the pair that fits best, by precedence, even if a few columns are missing.

    An imported resource that matches less than half of the headers, or lacks a few columns, yields
    to one that fits completely and matches more. Raises ``UsageError`` if several fit equally well.
    """
    imported, created = _by_precedence(resources)
    leading, others = _best_fits(sheets, imported), _best_fits(sheets, created)
    most = max((len(matched_columns(*fit)[0]) for fit in others), default=0)
    if leading:
        known, unknown = matched_columns(*leading[0])
        leading = leading if len(known) >= min(unknown, most) else others
    else:
        near = _best_near_fit(sheets, imported)
        leading = [near] if near and len(nearly_matched_columns(*near)[0]) >= most else others
    if len(leading) > 1:
        raise _several_fit(leading)
    return leading[0] if leading else _best_near_fit(sheets, created)


def _best_near_fit(sheets: Sequence[SheetCells], resources: Iterable[Resource]) -> _Fit | None:
    """Return the one pair that fits except for a few required columns, missing or misspelt.

    Those have errors, so that nothing is uploaded because of a wrong guess.
    """

    def fitness(cells: SheetCells, resource: Resource) -> tuple[int, ...]:
        named, unknown = nearly_matched_columns(cells, resource)
        missing = len(set(resource.required) - named)
        is_near = missing * _REQUIRED_PER_MISSING <= len(resource.required)
        return (-missing, len(named), -unknown) if named and is_near else ()

    leading = _best_fits(sheets, resources, fitness)
    return leading[0] if len(leading) == 1 else None


def _fitness(cells: SheetCells, resource: Resource) -> tuple[int, ...]:
    """Return the rank of a sheet with all required columns, empty for another sheet."""
    known, unknown = matched_columns(cells, resource)
    fits = known and known.issuperset(resource.required)
    return (len(known), -unknown) if fits else ()


def _best_fits(
    sheets: Sequence[SheetCells],
    resources: Iterable[Resource],
    fitness: Callable[[SheetCells, Resource], tuple[int, ...]] = _fitness,
) -> list[_Fit]:
    """Return the pairs that fit best, several if they fit equally well."""
    fits = []
    for resource in resources:
        for cells in sheets:
            if rank := fitness(cells, resource):
                position = find_header_row(cells, resource)
                header = () if position is None else map(str, cells.row(position))
                if not is_of_other_records(header, resource):
                    fits.append((rank, cells, resource))
    best = max((rank for rank, *_ in fits), default=())
    return [(cells, resource) for rank, cells, resource in fits if rank == best]


def no_visible_sheet(hidden: Sequence[str]) -> UsageError:
    """Return the error that a workbook has no visible sheet."""
    return UsageError(
        Text(
            pt="O arquivo não tem planilha visível para dados.",
            en="The workbook has no visible sheet for data.",
        ),
        Text(
            pt="Reexiba a planilha no Excel, ou informe qual com --sheet{listed}.",
            en="Unhide the sheet in Excel, or choose one with --sheet{listed}.",
            page=Text(
                pt="Reexiba a planilha no Excel, salve e abra o arquivo de novo.",
                en="Unhide the sheet in Excel, save, and open the file again.",
            ),
        ).format(listed=f": {list_sheet_names(hidden)}" if hidden else ""),
    )


def export_only_error() -> UsageError:
    """Return the error that a sheet is an exported listing that no resource imports."""
    return UsageError(
        Text(
            pt="As colunas são de uma exportação que nenhum recurso importa.",
            en="The columns are those of an export that no resource imports.",
        ),
        Text(
            pt="Ela serve só para consulta. Os recursos que podem ser importados e as suas "
            "colunas: xlbridge resources; se quer mesmo enviar esta planilha, informe o recurso "
            "com --resource.",
            en="It is for reading only. To list what can be imported, and its columns: xlbridge "
            "resources; if you do want to upload this sheet, choose the resource with --resource.",
            page=Text(
                pt="Ela serve só para consulta; se quer mesmo enviá-la, escolha o tipo de "
                "registro em Abrir.",
                en="It is for reading only; if you do want to upload it, choose the kind of "
                "record under Open.",
            ),
        ),
    )


_HIDDEN_SHEETS = Text(
    pt=" Há planilhas ocultas, que não são lidas: {listed}; reexiba-as, ou informe qual com "
    "--sheet.",
    en=" There are hidden sheets, which are not read: {listed}; unhide them, or choose one with "
    "--sheet.",
    page=Text(
        pt=" Há planilhas ocultas, que não são lidas: {listed}; reexiba-as no Excel, salve e abra "
        "o arquivo de novo.",
        en=" There are hidden sheets, which are not read: {listed}; unhide them in Excel, save, "
        "and open the file again.",
    ),
)


_WHICH_SHEET = Text(
    pt="Informe qual com --sheet; para todas: xlbridge validate --all-sheets.",
    en="Choose one with --sheet; for all of them: xlbridge validate --all-sheets.",
    page=Text(
        pt="Escolha a planilha em Abrir.",
        en="Choose the sheet under Open.",
    ),
)


def _several_fit(fits: list[_Fit]) -> UsageError:
    names = sorted({resource.name for _, resource in fits})
    if len(names) < len(fits):
        return UsageError(
            Text(
                pt="Mais de uma planilha serve para {names}.",
                en="More than one sheet fits {names}.",
            ).format(names=", ".join(names)),
            _WHICH_SHEET,
        )
    return UsageError(
        Text(
            pt="A planilha {sheet} serve para mais de um recurso: {names}.",
            en="The sheet {sheet} fits more than one resource: {names}.",
        ).format(sheet=fits[0][0].name, names=", ".join(names)),
        Text(
            pt="Informe qual com --resource.",
            en="Choose one with --resource.",
            page=Text(
                pt="Escolha o tipo de registro em Abrir.",
                en="Choose the kind of record under Open.",
            ),
        ),
    )


def child_cells(
    sheets: Sequence[SheetCells], main: str, resource: Resource, *, filled: bool = True
) -> Iterator[tuple[Resource, SheetCells]]:
    """Yield the lists of a resource whose sheets have rows, with these sheets; if not ``filled``,
    those whose sheets have none.

    A sheet has the name or the title of its list; ``main`` is the name of the main sheet.
    """
    named = {header_key(cells.name): cells for cells in sheets if cells.name != main}
    for child in resource.children:
        names = (child.sheet, child.title.pt, child.title.en)
        cells = next((named[n] for n in map(header_key, names) if n in named), None)
        if cells is not None and has_rows(child, cells) == filled:
            yield child, cells


def misnamed_lists(
    sheets: Sequence[SheetCells], main: str, resource: Resource
) -> Iterator[tuple[Resource, SheetCells]]:
    """Yield the lists of a resource that have no sheet, each with a sheet that has its columns but
    another name."""
    lists = [*child_cells(sheets, main, resource)]
    lists += child_cells(sheets, main, resource, filled=False)
    read = {main, *(cells.name for _, cells in lists)}
    missing = [child for child in resource.children if child not in [found for found, _ in lists]]
    for cells in sheets:
        best: tuple[int, Resource | None] = 0, None
        for child in missing if cells.name not in read else ():
            columns, others = matched_columns(cells, child)
            has_most = columns >= {KEY, *child.required} and len(columns) > max(1, others)
            if has_most and len(columns) > best[0]:
                best = len(columns), child
        if best[1] is not None:
            yield best[1], cells
