"""Workbooks that were made from an earlier template: how it is noticed, and what has changed."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from xlbridge.findings import CATALOGUE, Finding
from xlbridge.i18n import Text
from xlbridge.resources.layouts import Fingerprint, fates_since
from xlbridge.resources.resource import Resource
from xlbridge.validation.headers.header import normalise
from xlbridge.workbook.reading.cells import SheetCells


def outdated_template(
    fingerprint: str | None, resource: Resource, cells: SheetCells, position: int
) -> list[Finding]:
    """Return the finding that a workbook's template is not today's, with what has changed.

    ``position`` is that of the header in the sheet. A workbook that carries no fingerprint, or
    that of another resource, has no age.
    """
    found = Fingerprint.parse(fingerprint)
    if found is None or found.resource != resource.name or fingerprint == resource.fingerprint:
        return []
    headers = [normalise(cell) for cell in cells.row(position)]
    details = {
        "resource": resource.name,
        "found": found.layout,
        "current": resource.layout,
        "changes": _joined(list(_changes(headers, resource, found.layout))),
    }
    return [Finding(CATALOGUE["template-outdated"], row=position + 1, details=details)]


def at_layout(resource: Resource, layout: int) -> Resource:
    """Return a resource with its columns called as in an earlier layout.

    Titles stay, and columns that have gone since are not in it.
    """
    fates = fates_since(resource.changes, layout)
    earlier = {new: old for old, new in fates.items() if new is not None}
    columns = tuple(
        replace(column, name=earlier.get(column.name, column.name)) for column in resource.columns
    )
    return replace(resource, columns=columns)


def _changes(headers: Sequence[str], resource: Resource, layout: int) -> Iterator[Text]:
    fates = fates_since(resource.changes, layout)
    there = set(headers)
    renamed = {new for old, new in fates.items() if new and normalise(old) in there}
    for old, new in fates.items():
        if normalise(old) not in there:
            continue
        if new is None:
            yield Text(pt="{old} não existe mais", en="{old} is gone").format(old=old)
        else:
            yield Text(pt="{old} agora é {new}", en="{old} is now {new}").format(old=old, new=new)
    for column in resource.columns:
        names = map(normalise, (column.name, column.title.pt, column.title.en))
        if there.isdisjoint(names) and column.name not in renamed:
            yield Text(pt="{name} é nova", en="{name} is new").format(name=column.name)


def _joined(changes: Sequence[Text]) -> Text:
    if not changes:
        return Text(pt="nenhuma coluna desta planilha mudou", en="no column of this sheet changed")
    return Text(pt="; ".join(c.pt for c in changes), en="; ".join(c.en for c in changes))
