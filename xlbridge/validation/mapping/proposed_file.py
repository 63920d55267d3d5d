"""Proposed mapping files: a foreign sheet's header found, its resource told, the file's text."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.resources import Catalogue, Resource
from xlbridge.settings import NumberStyle, WorkbookLimits
from xlbridge.validation.headers.header_matching import normalise_header
from xlbridge.validation.headers.header_row import REMARK_HEADERS, SEARCHED_ROWS
from xlbridge.validation.headers.sheet_choice import is_of_other_records, no_import_of_exported
from xlbridge.validation.mapping.conversion import ForeignColumn, record_rows
from xlbridge.validation.mapping.header_places import header_texts
from xlbridge.validation.mapping.mapping_file import SheetMapping
from xlbridge.validation.mapping.proposal import (
    Confidence,
    MappingProposal,
    ProposedColumn,
    propose,
)
from xlbridge.validation.mapping.synonyms import mapping_words, vocabulary
from xlbridge.workbook.read import SheetCells, WorkbookSource, read_workbook

_FEWEST_HEADERS = 2
_CLOSE = 0.25
_NAMED = 1.0
"""Weight of a sheet's name that bears the resource's title: that of a column told."""

_STEM = 6
_WIDTH = 10_000

CONFIDENCE_WORDS: dict[Confidence, Text] = {
    Confidence.HIGH: Text(pt="certeza alta", en="high confidence"),
    Confidence.MEDIUM: Text(pt="certeza média", en="medium confidence"),
    Confidence.LOW: Text(pt="certeza baixa", en="low confidence"),
}


def propose_mapping(
    path: Path,
    catalogue: Catalogue,
    limits: WorkbookLimits,
    *,
    resource: str | None = None,
    sheet: str | None = None,
    earlier: Sequence[SheetMapping] = (),
    header_row: int | None = None,
    workbook: WorkbookSource | None = None,
    numbers: NumberStyle | None = None,
) -> MappingProposal:
    """Propose a mapping of the sheet of a workbook with most headers and data.

    ``earlier`` are mappings that a person confirmed, the latest last; ``header_row`` is Excel's
    number of the header's row where a person told it; ``workbook`` gives the cells where the file
    was read already; ``numbers`` is how text numbers are written where they do not tell. Raises
    ``UsageError`` when
    there is no such file, sheet or resource, no header row with rows below it, or when nothing
    tells the resource; ``WorkbookRefused`` as reading does.
    """
    wanted = None if resource is None else catalogue.named(resource)
    found = [
        (key, cells, position)
        for cells in (workbook() if workbook else read_workbook(path, limits, sheet)).sheets
        if (best := _header_position(cells, header_row)) is not None
        for key, position in [best]
    ]
    if not found:
        raise _no_header(path)
    _, cells, position = max(found, key=lambda each: each[0])
    columns, repeated = foreign_columns(cells, position)
    columns = [replace(column, declared=numbers) for column in columns]
    headers = [column.header for column in columns]
    asked = catalogue.values() if wanted is None else [wanted]
    fitting = [each for each in asked if wanted or not is_of_other_records(headers, each)]
    if not fitting:
        raise no_import_of_exported()
    proposals = [
        propose(
            each,
            cells.name,
            columns,
            repeated,
            [mapping for mapping in earlier if mapping.resource == each.name],
        )
        for each in fitting
    ]
    named = _named_resources(catalogue.values(), path, cells, position)
    weighed = [(each.weight + _NAMED * (each.resource.name in named), each) for each in proposals]
    ranked = sorted(weighed, key=lambda each: -each[0])
    if len(ranked) > 1 and ranked[0][0] - ranked[1][0] < _CLOSE:
        raise _no_resource(path, [proposal.resource.name for _, proposal in ranked[:3]])
    return replace(ranked[0][1], header_row=position + 1)


def _named_resources(
    resources: Iterable[Resource], path: Path, cells: SheetCells, header: int
) -> set[str]:
    """Return the resources that the names of file and sheet and the texts above the header name.

    Words are compared by their first letters ("clientes", "cliente"). Of titles with a part in
    common the longest counts: types of products are no products.
    """
    above = [value for row in range(header) for value in cells.row(row) if isinstance(value, str)]
    said = _stems([path.stem, cells.name, *above])
    titles = {each.name: _stems([each.title.pt]) - _stems(["contas a"]) for each in resources}
    named = {name: title for name, title in titles.items() if title and title <= said}
    return {
        name for name, title in named.items() if not any(title < other for other in named.values())
    }


def _stems(texts: Iterable[str]) -> set[str]:
    return {word[:_STEM] for text in texts for word in mapping_words(text)}


def _header_position(
    cells: SheetCells, header_row: int | None = None
) -> tuple[tuple[int, int], int] | None:
    """Return the first row with the most words of headers, then the most texts, that has data
    below; all its cells are texts. Only ``header_row`` is looked at where it is given."""
    best: tuple[tuple[int, int], int] | None = None
    searched = range(min(cells.height - 1, SEARCHED_ROWS))
    for position in searched if header_row is None else {header_row - 1}.intersection(searched):
        filled = [value for value in cells.row(position) if value != ""]
        texts = [value for value in filled if isinstance(value, str) and value.strip()]
        if len(texts) < max(_FEWEST_HEADERS, len(filled)) or not cells.has_data(position + 1):
            continue
        known = sum(bool(mapping_words(text) & vocabulary()) for text in texts)
        key = known, len(texts)
        if best is None or key > best[0]:
            best = key, position
    return best


def foreign_columns(cells: SheetCells, position: int) -> tuple[list[ForeignColumn], list[str]]:
    """Return the columns whose headers are there once, and the headers that are not."""
    headers = [" ".join(text.split()) for text in header_texts(cells, position)]
    counted = Counter(map(normalise_header, headers))
    columns, repeated, rows = [], [], record_rows(cells, position)
    for place, header in enumerate(headers):
        key = normalise_header(header)
        if not key or key in REMARK_HEADERS:
            continue
        if counted[key] == 1:
            columns.append(ForeignColumn.of(header, cells, place, rows))
        else:
            repeated.append(header)
    return columns, repeated


def confirmed_mapping_text(
    cells: SheetCells, header_row: int, resource: str, columns: Mapping[str, Mapping[str, Any]]
) -> str:
    """Return the text of the mapping file that a person confirmed for the header of a sheet.

    ``columns`` are the resource's, each as the file has it; headers that none of them uses are
    ignored.
    """
    once, repeated = foreign_columns(cells, header_row - 1)
    header = [*(foreign.header for foreign in once), *repeated]
    used = {name for body in columns.values() for name in (body.get("from"), *body.get("join", ()))}
    content = {
        "version": 1,
        "resource": resource,
        "header": header,
        "columns": {name: dict(body) for name, body in columns.items()},
        "ignore": [name for name in header if name not in used],
    }
    return yaml.safe_dump(content, allow_unicode=True, sort_keys=False, width=_WIDTH)


def mapping_text(proposal: MappingProposal) -> str:
    """Return the text of the proposed file, with the reason of each column as a comment."""
    return "\n".join(_lines(proposal)) + "\n"


def _lines(proposal: MappingProposal) -> Iterator[str]:
    yield "version: 1"
    yield f"resource: {proposal.resource.name}"
    yield f"header: {_flow(list(proposal.header))}"
    yield "columns:"
    for column in proposal.columns:
        yield f"  # {reason_text(column)}"
        yield f"  {column.name}: {_flow(dict(column.body))}"
    if proposal.ignore:
        yield "ignore:"
        for header, reason in proposal.ignore.items():
            yield f"  - {_flow(header)}  # {reason}"


def reason_text(column: ProposedColumn) -> Text:
    """Return how sure a proposed column is, and why."""
    return Text(pt="{sure}: {why}.", en="{sure}: {why}.").format(
        sure=CONFIDENCE_WORDS[column.confidence], why=column.reason
    )


def _flow(value: Any) -> str:
    """Return a value as YAML on one line."""
    text = yaml.safe_dump(
        value, default_flow_style=True, allow_unicode=True, sort_keys=False, width=_WIDTH
    )
    return text.removesuffix("...\n").strip()


def _no_header(path: Path) -> UsageError:
    return UsageError(
        Text(
            pt="{file}: não há uma linha de cabeçalho com linhas de dados abaixo.",
            en="{file}: there is no header row with rows of data below it.",
        ).format(file=path),
        Text(
            pt="Confira se a planilha tem nomes de colunas; outra planilha se diz com --sheet.",
            en="Check that the sheet has names of columns; say another sheet with --sheet.",
        ),
    )


def _no_resource(path: Path, names: Sequence[str]) -> UsageError:
    return UsageError(
        Text(
            pt="{file}: não dá para saber de que recurso é a planilha; os mais próximos: {names}.",
            en="{file}: it cannot be told which resource the sheet is for; the nearest: {names}.",
        ).format(file=path, names=", ".join(names)),
        Text(pt="Diga qual com --resource.", en="Say which with --resource."),
    )
