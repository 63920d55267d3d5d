"""Which resource a workbook is for, and which of its sheets holds the data."""

from dataclasses import dataclass

from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.resources.catalogue import Catalogue
from xlbridge.resources.resource import Resource
from xlbridge.validation.header import matched_columns, normalise
from xlbridge.workbook.reader import SheetCells, Workbook


@dataclass(frozen=True, slots=True)
class Choice:
    """The sheet to judge, and the resource to judge it by; None where nothing tells."""

    cells: SheetCells
    resource: Resource | None


def choose(
    workbook: Workbook, catalogue: Catalogue, resource: str | None, sheet: str | None
) -> Choice:
    """Decide by what was asked for, the template's fingerprint, sheet names, then headers.

    ``resource`` None in the answer means that the workbook is empty. Raises ``UsageError`` when
    what was asked for does not exist, or when more than one resource fits.
    """
    wanted = catalogue.named(resource) if resource else _of_fingerprint(workbook, catalogue)
    if sheet is not None:
        cells = workbook.cells(sheet)
        return Choice(cells, wanted or _of_headers([cells], catalogue)[1])
    names = workbook.sheet_names
    if wanted is not None:
        return Choice(_sheet_for(workbook, wanted), wanted)
    for name in names:
        if name in catalogue:
            return Choice(workbook.cells(name), catalogue[name])
    cells, found = _of_headers([workbook.cells(name) for name in names], catalogue)
    return Choice(cells, found)


def _of_fingerprint(workbook: Workbook, catalogue: Catalogue) -> Resource | None:
    name = (workbook.fingerprint or "").partition(":")[0]
    return catalogue.get(name)


def _sheet_for(workbook: Workbook, resource: Resource) -> SheetCells:
    """Return the sheet named as the resource, else the one whose header fits it best."""
    names = workbook.sheet_names
    for name in names:
        if normalise(name) == normalise(resource.name):
            return workbook.cells(name)
    return max(
        (workbook.cells(name) for name in names),
        key=lambda cells: len(matched_columns(cells, resource)[0]),
    )


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
        if any(any(row) for cells in sheets for row in cells.rows):
            raise _no_fit(catalogue)
        return sheets[0], None
    best = max(fit[:2] for fit in fits)
    leading = [fit for fit in fits if fit[:2] == best]
    if len(leading) > 1:
        raise _several_fit(sorted({fit[3].name for fit in leading}), len(leading))
    return leading[0][2], leading[0][3]


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
