"""Column of a foreign main sheet that holds the keys of its child sheets."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from xlbridge.i18n import Text
from xlbridge.resources import KEY, Resource
from xlbridge.validation.cells.text import display
from xlbridge.validation.headers.header_row import find_header_row, key_column
from xlbridge.validation.headers.sheet_choice import child_cells
from xlbridge.validation.mapping.conversion import record_rows
from xlbridge.validation.mapping.header_search import header_texts
from xlbridge.validation.mapping.proposal import (
    WITH_RIVALS,
    Confidence,
    MappingProposal,
    ProposedColumn,
)
from xlbridge.workbook.read import CellColumn, SheetCells


def with_child_keys(
    proposal: MappingProposal, sheets: Sequence[SheetCells], cells: SheetCells, position: int
) -> MappingProposal:
    """Return a proposal with a column that joins the child sheets, unless it has one.

    The column has a different value in each row, and all keys of the child sheets. ``position`` is
    the zero-based header row.
    """
    if any(column.name == KEY and column.sources for column in proposal.columns):
        return proposal
    names, keys = _keys_of_children(proposal.resource, sheets, cells)
    headers = list(_headers_with(keys, proposal, cells, position)) if keys else []
    if not headers:
        return proposal
    header, *others = headers
    reason = _KEYS.format(sheets=", ".join(names))
    confidence = Confidence.HIGH
    if others:
        reason = WITH_RIVALS.format(reason=reason, others=", ".join(others))
        confidence = Confidence.LOW
    key = ProposedColumn(KEY, {"from": header}, confidence, reason)
    columns = {column.name: column for column in proposal.columns} | {KEY: key}
    return replace(
        proposal,
        columns=[columns[one.name] for one in proposal.resource.columns if one.name in columns],
        ignore={name: why for name, why in proposal.ignore.items() if name != header},
    )


def _keys_of_children(
    resource: Resource, sheets: Sequence[SheetCells], cells: SheetCells
) -> tuple[list[str], set[str]]:
    """Return the names of the child sheets that have a column of keys, and the keys."""
    names, keys = list[str](), set[str]()
    children = child_cells(sheets, cells.name, resource)
    for child in resource.children:
        found = children.get(child.sheet)
        header = None if found is None else find_header_row(found, child)
        if found is None or header is None:
            continue
        column = key_column(found, header, child)
        if column is not None:
            names.append(found.name)
            keys.update(_texts(column, range(header + 1, found.height)))
    return names, keys


def _headers_with(
    keys: set[str], proposal: MappingProposal, cells: SheetCells, position: int
) -> Iterator[str]:
    """Yield the headers whose columns have all keys and no value twice, unused ones first."""
    rows = record_rows(cells, position)
    headers = [" ".join(text.split()) for text in header_texts(cells, position)]
    fitting = []
    for header, column in zip(headers, cells.columns, strict=True):
        texts = list(_texts(column, rows))
        if headers.count(header) == 1 and keys <= set(texts) and len(texts) == len(set(texts)):
            fitting.append(header)
    yield from sorted(fitting, key=lambda header: header not in proposal.ignore)


def _texts(column: CellColumn, rows: Sequence[int]) -> Iterator[str]:
    for row in rows:
        if text := display(column.value(row)).strip():
            yield text


_KEYS = Text(
    pt="as chaves da planilha {sheets} são valores da coluna",
    en="the keys of the sheet {sheets} are values of the column",
)
