"""Which resource a workbook is for, and which of its sheets holds the data."""

from dataclasses import dataclass

from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.resources.catalogue import Catalogue
from xlbridge.resources.resource import Resource
from xlbridge.validation.header import (
    find_header_row,
    matched_columns,
    nearly_matched_columns,
    normalise,
)
from xlbridge.workbook.assembly import WorkbookCells
from xlbridge.workbook.cells import SheetCells

_FEW = 3
"""One in so many required columns may be missing where the headers tell the resource."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The sheet to judge, and the resource to judge it by; None where nothing tells."""

    cells: SheetCells
    resource: Resource | None


def choose(
    workbook: WorkbookCells, catalogue: Catalogue, resource: str | None, sheet: str | None
) -> Choice:
    """Decide by what was asked for, the template's fingerprint, sheet names, then headers.

    ``resource`` None in the answer means that the workbook is empty. Raises ``UsageError`` when
    what was asked for does not exist, or when more than one resource fits.
    """
    wanted = catalogue.named(resource) if resource else _of_fingerprint(workbook, catalogue)
    if not workbook.sheets:
        raise _no_sheet()
    if sheet is not None:
        cells = workbook.sheets[0]
        return Choice(cells, wanted or _of_headers([cells], catalogue)[1])
    sheets = _with_data(workbook.sheets, [wanted] if wanted else list(catalogue.values()))
    if wanted is not None:
        return Choice(_sheet_for(sheets, wanted), wanted)
    for cells in sheets:
        if cells.name in catalogue:
            return Choice(cells, catalogue[cells.name])
    return Choice(*_of_headers(sheets, catalogue))


def _with_data(sheets: list[SheetCells], resources: list[Resource]) -> list[SheetCells]:
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
            Text(pt="Diga qual com --sheet.", en="Say which with --sheet."),
        )
    return [cells for cells in sheets if cells.name in filled] or sheets


def _could_take(resource: Resource, cells: SheetCells) -> bool:
    """Whether the sheet has the resource's required columns, and rows below their names."""
    position = find_header_row(cells, resource)
    if position is None or not cells.has_data(position + 1):
        return False
    return matched_columns(cells, resource)[0].issuperset(resource.required)


def _of_fingerprint(workbook: WorkbookCells, catalogue: Catalogue) -> Resource | None:
    name = (workbook.fingerprint or "").partition(":")[0]
    return catalogue.get(name)


def _sheet_for(sheets: list[SheetCells], resource: Resource) -> SheetCells:
    """Return the sheet whose header fits best; of equals one with data, or of the right name."""

    def fitness(cells: SheetCells) -> tuple[int, bool, bool]:
        known = len(matched_columns(cells, resource)[0])
        named = normalise(cells.name) == normalise(resource.name)
        return known, _could_take(resource, cells), named

    return max(sheets, key=fitness)


def _of_headers(
    sheets: list[SheetCells], catalogue: Catalogue
) -> tuple[SheetCells, Resource | None]:
    fits: list[tuple[int, int, SheetCells, Resource]] = []
    for cells in sheets:
        for resource in catalogue.values():
            known, strange = matched_columns(cells, resource)
            if known.issuperset(resource.required):
                fits.append((len(known), -strange, cells, resource))
    if not fits:
        if nearly := _nearly(sheets, catalogue):
            return nearly
        if any(cells.has_data(0) for cells in sheets):
            raise _no_fit(catalogue)
        return sheets[0], None
    best = max(fit[:2] for fit in fits)
    leading = [fit for fit in fits if fit[:2] == best]
    if len(leading) > 1:
        raise _several_fit(sorted({fit[3].name for fit in leading}), len(leading))
    return leading[0][2], leading[0][3]


def _nearly(sheets: list[SheetCells], catalogue: Catalogue) -> tuple[SheetCells, Resource] | None:
    """Return the one pair that fits but for a few required columns, missing or misspelt.

    Those are errors then, so that nothing is uploaded on the strength of it.
    """
    fits: list[tuple[tuple[int, int, int], SheetCells, Resource]] = []
    for cells in sheets:
        for resource in catalogue.values():
            named, strange = nearly_matched_columns(cells, resource)
            lacking = len(set(resource.required) - named)
            if named and lacking * _FEW <= len(resource.required):
                fits.append(((-lacking, len(named), -strange), cells, resource))
    best = max((fit[0] for fit in fits), default=None)
    leading = [fit[1:] for fit in fits if fit[0] == best]
    return leading[0] if len(leading) == 1 else None


def _no_sheet() -> UsageError:
    return UsageError(
        Text(
            pt="A pasta de trabalho não tem planilha visível para dados.",
            en="The workbook has no visible sheet for data.",
        ),
        Text(
            pt="Reexiba a planilha no Excel, ou diga qual com --sheet.",
            en="Unhide the sheet in Excel, or say which with --sheet.",
        ),
    )


def _no_fit(catalogue: Catalogue) -> UsageError:
    return UsageError(
        Text(
            pt="Não dá para saber de que recurso é a planilha.",
            en="It cannot be told which resource the sheet is for.",
        ),
        Text(
            pt="Diga com --resource; existem: {names}.",
            en="Say it with --resource; there are: {names}.",
        ).format(names=", ".join(catalogue)),
    )


def _several_fit(resources: list[str], places: int) -> UsageError:
    if len(resources) < places:
        return UsageError(
            Text(
                pt="Mais de uma planilha serve para {names}.",
                en="More than one sheet fits {names}.",
            ).format(names=", ".join(resources)),
            Text(pt="Diga qual com --sheet.", en="Say which with --sheet."),
        )
    return UsageError(
        Text(
            pt="A planilha serve para mais de um recurso: {names}.",
            en="The sheet fits more than one resource: {names}.",
        ).format(names=", ".join(resources)),
        Text(pt="Diga qual com --resource.", en="Say which with --resource."),
    )
