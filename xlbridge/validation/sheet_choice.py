"""Choice of a workbook's resource and of the sheets that hold its data."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.resources import KEY, Catalogue, Resource
from xlbridge.resources.remote import are_fields_of_others
from xlbridge.validation.cells.contents import list_sheet_names
from xlbridge.validation.header_row import (
    ChosenSheet,
    find_header_row,
    header_key,
    joined_columns,
    match_header,
)
from xlbridge.workbook.read import SheetCells, WorkbookCells

__all__ = [
    "NoFittingResource",
    "child_cells",
]

_REQUIRED_PER_MISSING = 3
"""Number of required columns for each that may be missing when headers identify the resource."""


class NoFittingResource(UsageError):
    """No sheet of the workbook has the headers of a resource."""


@dataclass(frozen=True)
class _Fit:
    """Fit of a sheet to a resource, by the header row that names the most of its columns."""

    cells: SheetCells
    resource: Resource

    @cached_property
    def position(self) -> int | None:
        """Position of the header row, None if no row names a column."""
        return find_header_row(self.cells, self.resource)

    @cached_property
    def header(self) -> Sequence[object]:
        """Cells of the header row."""
        return () if self.position is None else self.cells.row(self.position)

    @property
    def has_rows(self) -> bool:
        """True if there are rows below the header, or any if there is none."""
        return self.cells.has_data(0 if self.position is None else self.position + 1)

    @cached_property
    def meanings(self) -> Sequence[str | None]:
        """Columns that the filled cells of the header name, None for one that names none."""
        texts = filter(None, map(header_key, self.header))
        return list(map(self.resource.headers.get, texts))

    @property
    def named(self) -> set[str]:
        """Columns that the header names."""
        return set(filter(None, self.meanings))

    @cached_property
    def rank(self) -> tuple[int, ...]:
        """Rank of a sheet with all required columns, empty for another sheet."""
        named = self.named
        if not named or not named.issuperset(self.resource.required):
            return ()
        is_of_others = is_of_other_records(map(str, self.header), self.resource)
        return () if is_of_others else (len(named), -self.meanings.count(None))

    @cached_property
    def nearly(self) -> tuple[set[str], int]:
        """Columns that the header names, also misspelt or repeatedly, and the number of others."""
        if self.position is None:
            return set(), 0
        header = match_header(self.cells, self.position, self.resource)
        present = [f for f in header.findings if f.cell is not None]
        unknown = sum(f.kind.code == "column-unknown" for f in present)
        meant = {f.column for f in present if f.column in self.resource.by_name}
        return {
            *header.columns,
            *header.made_of,
            *(name for name in meant if name is not None),
        }, unknown

    @property
    def near_rank(self) -> tuple[int, ...]:
        """Rank of a sheet that lacks or misspells no more than a few required columns.

        Those have errors, so that nothing is uploaded because of a wrong guess.
        """
        named, unknown = self.nearly
        missing = len(set(self.resource.required) - named)
        is_near = named and missing * _REQUIRED_PER_MISSING <= len(self.resource.required)
        if not is_near or is_of_other_records(map(str, self.header), self.resource):
            return ()
        return -missing, len(named), -unknown


def choose_sheet(
    workbook: WorkbookCells, catalogue: Catalogue, resource: str | None, sheet: str | None
) -> ChosenSheet:
    """Choose by the request, the template's fingerprint, sheet names, then headers.

    The choice has no resource if the workbook is empty. Raises ``UsageError`` if the requested
    resource does not exist, or more than one fits.
    """
    wanted = catalogue.named(resource) if resource else _of_template(workbook, catalogue)
    if not workbook.sheets:
        raise no_visible_sheet(workbook.hidden)
    if sheet is not None:
        cells = workbook.sheets[0]
        fits = [_Fit(cells, one) for one in catalogue.values()]
        return ChosenSheet(cells, wanted or _choose_by_headers(fits, ()).resource)
    pairs = product([wanted] if wanted else catalogue.values(), workbook.sheets)
    fits = _without_child_sheets(_Fit(cells, one) for one, cells in pairs)
    if wanted is not None:
        best = max(
            _with_data(fits),
            key=lambda fit: (
                len(fit.named),
                bool(fit.rank) and fit.has_rows,
                header_key(fit.cells.name) == header_key(wanted.name),
            ),
        )
        return ChosenSheet(best.cells, wanted, workbook.hidden)
    names = {fit.cells.name for fit in fits}
    for is_imported in (True, False):
        if len(names) > 1:
            found = _with_data([one for one in fits if one.resource.is_imported is is_imported])
            names = {fit.cells.name for fit in found} or names
    fits = [fit for fit in fits if fit.cells.name in names]
    for cells in workbook.sheets:
        of_sheet = [fit for fit in fits if fit.cells is cells]
        if of_sheet and (named := _named_as_sheet(of_sheet, catalogue)):
            return ChosenSheet(cells, named.resource, workbook.hidden)
    return replace(_choose_by_headers(fits, workbook.hidden), hidden=workbook.hidden)


def choose_sheets(
    workbook: WorkbookCells, catalogue: Catalogue, resource: str | None
) -> tuple[list[ChosenSheet], list[str]]:
    """Return every sheet that has data for a resource, and the names of the other filled sheets.

    If there is none, the choice of ``choose_sheet``, whose errors are raised.
    """
    wanted = catalogue.named(resource) if resource else None
    of_template = None if wanted else _of_template(workbook, catalogue)
    pairs = product(catalogue.values(), workbook.sheets)
    fits, choices = _without_child_sheets(_Fit(cells, one) for one, cells in pairs), []
    for cells in workbook.sheets:
        of_sheet = [f for f in fits if f.cells is cells and (not wanted or f.resource is wanted)]
        found = next((fit for fit in of_sheet if fit.resource is of_template and fit.rank), None)
        if of_sheet and wanted is None and not (found and found.has_rows):
            found = _named_as_sheet(of_sheet, catalogue)
        if not (found and found.has_rows):
            # Even if a few columns are missing.
            found = _one_fit([fit for fit in of_sheet if fit.has_rows])
        if found is not None:
            choices.append(ChosenSheet(cells, found.resource))
    choices = choices or [choose_sheet(workbook, catalogue, resource, None)]
    filled = [cells.name for cells in workbook.sheets if cells.has_data(0)]
    chosen = {choice.cells.name for choice in choices}
    return choices, [name for name in filled if name not in chosen]


def _of_template(workbook: WorkbookCells, catalogue: Catalogue) -> Resource | None:
    """Return the resource of the template or export from which a workbook was made."""
    return catalogue.get((workbook.fingerprint or workbook.exported or "").partition(":")[0])


def _without_child_sheets(fits: Iterable[_Fit]) -> list[_Fit]:
    """Return the fits without those of the child sheets of main sheets."""
    fits = list(fits)
    keys = {fit.cells.name: header_key(fit.cells.name) for fit in fits}
    lists: set[str] = set()
    for fit in fits:
        children = {header_key(child.sheet) for child in fit.resource.children}
        is_main = keys[fit.cells.name] not in children
        if is_main and not children.isdisjoint(keys.values()):
            lists |= children if fit.named.issuperset(fit.resource.required) else set()
    return [fit for fit in fits if keys[fit.cells.name] not in lists]


def _named_as_sheet(fits: Sequence[_Fit], catalogue: Catalogue) -> _Fit | None:
    """Return the fit of a sheet to the resource with its name; if several fit, the name only
    decides among resources of the same precedence."""
    named = catalogue.get(fits[0].cells.name)
    found = next((fit for fit in fits if fit.resource is named), None)
    if found is None or found.resource.is_imported or (found.rank and found.has_rows):
        return found
    return None if _best([fit for fit in fits if fit.resource.is_imported]) else found


def _with_data(fits: Sequence[_Fit]) -> Sequence[_Fit]:
    """Return the fits of the only sheet that has data for one of the resources, or all if none has.

    Raises ``UsageError`` if more than one has.
    """
    found: dict[str, list[str]] = {fit.cells.name: [] for fit in fits}
    for fit in fits if len(found) > 1 else ():
        if fit.rank and fit.has_rows:
            found[fit.cells.name].append(fit.resource.name)
    filled = {name: names for name, names in found.items() if names}
    if len(filled) > 1:
        listed = "; ".join(f"{name} ({', '.join(names)})" for name, names in filled.items())
        raise UsageError(
            Text(
                pt="Mais de uma planilha tem dados que servem: {sheets}.",
                en="More than one sheet has data that fits: {sheets}.",
            ).format(sheets=listed),
            _WHICH_SHEET,
        )
    return [fit for fit in fits if fit.cells.name in filled] or fits


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


def _choose_by_headers(fits: Sequence[_Fit], hidden: Sequence[str]) -> ChosenSheet:
    """Choose a sheet and its resource by headers. Raises ``UsageError`` if none or several fit."""
    if fit := _one_fit(fits):
        return ChosenSheet(fit.cells, fit.resource)
    for is_imported in (True, False):
        joined = [
            (found[0], fit)
            for fit in fits
            if fit.resource.is_imported is is_imported
            and (found := joined_columns(fit.cells, fit.resource))
        ]
        if joined:
            best = max(joined, key=lambda one: one[0])[1]
            return ChosenSheet(best.cells, best.resource)
    if any(fit.cells.has_data(0) for fit in fits):
        # An exported listing fits none of the resources.
        headers = {(fit.cells.name, fit.position): [*map(str, fit.header)] for fit in fits}
        resources = {fit.resource.name: fit.resource for fit in fits}
        for header in headers.values():
            if all(is_of_other_records(header, one) for one in resources.values()):
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
            ).format(names=", ".join(resources), others=others),
        )
    return ChosenSheet(fits[0].cells, None)


def _one_fit(fits: Iterable[_Fit]) -> _Fit | None:
    """Return the best fit, even if a few columns are missing.

    Resources whose records are created one by one only count if none of those that are imported
    fits well, so that adding them changes nothing for sheets that were recognised before: an
    imported resource that matches less than half of the headers, or lacks a few columns, yields to
    one that fits completely and matches more. Raises ``UsageError`` if several fit equally well.
    """
    imported, created = list[_Fit](), list[_Fit]()
    for fit in fits:
        (imported if fit.resource.is_imported else created).append(fit)
    leading, others = _best(imported), _best(created)
    most = max((len(fit.named) for fit in others), default=0)
    if leading:
        leading = leading if len(leading[0].named) >= min(-leading[0].rank[1], most) else others
    else:
        near = _best_near(imported)
        leading = [near] if near and len(near.nearly[0]) >= most else others
    if len(leading) > 1:
        raise _several_fit(leading)
    return leading[0] if leading else _best_near(created)


def _best(fits: Iterable[_Fit]) -> list[_Fit]:
    """Return the fits with all required columns that are best, several if they are equally good."""
    fits = [fit for fit in fits if fit.rank]
    best = max((fit.rank for fit in fits), default=())
    return [fit for fit in fits if fit.rank == best]


def _best_near(fits: Iterable[_Fit]) -> _Fit | None:
    """Return the only best fit that lacks a few required columns."""
    ranked = [(rank, fit) for fit in fits if (rank := fit.near_rank)]
    best = max((rank for rank, _ in ranked), default=())
    leading = [fit for rank, fit in ranked if rank == best]
    return leading[0] if len(leading) == 1 else None


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


CHOOSE_KIND = Text(
    pt="Escolha o tipo de registro em Abrir.", en="Choose the kind of record under Open."
)


def _several_fit(fits: Sequence[_Fit]) -> UsageError:
    names = sorted({fit.resource.name for fit in fits})
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
        ).format(sheet=fits[0].cells.name, names=", ".join(names)),
        Text(
            pt="Informe qual com --resource.",
            en="Choose one with --resource.",
            page=CHOOSE_KIND,
        ),
    )


def child_cells(
    sheets: Sequence[SheetCells], main: str, resource: Resource, *, filled: bool | None = True
) -> Iterator[tuple[Resource, SheetCells]]:
    """Yield the lists of a resource whose sheets have rows, with these sheets; if not ``filled``,
    those whose sheets have none, or with None both.

    A sheet has the name or the title of its list; ``main`` is the name of the main sheet.
    """
    named = {header_key(cells.name): cells for cells in sheets if cells.name != main}
    for child in resource.children:
        names = (child.sheet, child.title.pt, child.title.en)
        cells = next((named[n] for n in map(header_key, names) if n in named), None)
        if cells is not None and filled in {None, _Fit(cells, child).has_rows}:
            yield child, cells


def misnamed_lists(
    sheets: Sequence[SheetCells], main: str, resource: Resource
) -> Iterator[tuple[Resource, SheetCells]]:
    """Yield the lists of a resource that have no sheet, each with a sheet that has its columns but
    another name."""
    lists = dict[str, str]()
    for child, cells in child_cells(sheets, main, resource, filled=None):
        lists[child.sheet] = cells.name
    read = {main, *lists.values()}
    missing = [child for child in resource.children if child.sheet not in lists]
    for cells in sheets:
        best: tuple[int, Resource | None] = 0, None
        for child in missing if cells.name not in read else ():
            fit = _Fit(cells, child)
            has_most = fit.named >= {KEY, *child.required} and len(fit.named) > max(
                1, fit.meanings.count(None)
            )
            if has_most and len(fit.named) > best[0]:
                best = len(fit.named), child
        if best[1] is not None:
            yield best[1], cells
