"""Proposed mapping files: detection of a foreign sheet's header and of the column that joins its
child sheets, and the file's text."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import yaml

from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.resources import KEY, Catalogue
from xlbridge.settings import NumberStyle, WorkbookLimits
from xlbridge.validation.cells.text import display
from xlbridge.validation.headers.header_matching import header_key
from xlbridge.validation.headers.header_row import (
    SEARCHED_ROWS,
    MainSheet,
    exported_column_missing,
    find_header_row,
    key_column,
)
from xlbridge.validation.headers.sheet_choice import (
    child_cells,
    export_only_error,
    is_of_other_records,
)
from xlbridge.validation.mapping.conversion import ForeignColumn, record_rows
from xlbridge.validation.mapping.header_search import header_texts
from xlbridge.validation.mapping.mapping_file import SheetMapping
from xlbridge.validation.mapping.name_matching import mapping_words, words_of_names
from xlbridge.validation.mapping.proposal import (
    WITH_RIVALS,
    Confidence,
    MappingProposal,
    ProposedColumn,
    propose,
)
from xlbridge.validation.mapping.resource_choice import (
    choose_proposal,
    require_no_items,
    require_no_months,
    resources_in_names,
)
from xlbridge.workbook.read import CellColumn, CellKind, SheetCells, WorkbookSource, read_workbook

_MIN_HEADERS = 2
_SAMPLE_ROWS = 200
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

    ``earlier`` are mappings that a person confirmed, the latest last; ``header_row`` is Excel's row
    number of the header if a person chose it; ``workbook`` returns all cells if the file was read
    already; ``numbers`` is the style of ambiguous text numbers. Raises ``UsageError`` if there is
    no such file, sheet or resource, no header row with rows below it, or the resource is unclear;
    ``WorkbookRefused`` if the file cannot be read.
    """
    requested = None if resource is None else catalogue.named(resource)
    sheets = (workbook() if workbook else read_workbook(path, limits)).sheets
    chosen = [one for one in sheets if sheet in {None, one.name}]
    if not chosen:
        # Hidden sheets must be requested.
        chosen = read_workbook(path, limits, sheet).sheets
    found = [
        (score, cells, position)
        for cells in chosen
        for position in range(min(cells.height - 1, SEARCHED_ROWS))
        if header_row in {None, position + 1} and (score := _header_score(cells, position))
    ]
    if not found:
        require_no_months(chosen)
        raise _no_header(path)
    _, cells, position = max(found, key=lambda candidate: candidate[0])
    columns, repeated = foreign_columns(cells, position)
    columns = [replace(column, declared=numbers) for column in columns]
    headers = [column.header for column in columns]
    resources = list(catalogue.values()) if requested is None else [requested]
    fitting = [one for one in resources if requested or not is_of_other_records(headers, one)]
    if not fitting:
        raise export_only_error()
    proposals = []
    for one in fitting:
        confirmed = [mapping for mapping in earlier if mapping.resource == one.name]
        proposal = propose(one, cells.name, columns, repeated, confirmed)
        proposals.append(_with_child_keys(proposal, sheets, cells, position))
    final = proposals[0]
    if requested is None:
        titled = resources_in_names(resources, path, cells, position)
        final = choose_proposal(path, proposals, resources, titled)
        require_no_items(final, cells, position, resources)
    _require_no_listing(final, position + 1)
    return replace(final, header_row=position + 1)


def _require_no_listing(proposal: MappingProposal, row: int) -> None:
    """Raise ``UsageError`` for an exported listing without the key that joins its lists."""
    missing = {column.name for column in proposal.columns if column.is_incomplete}
    declared = proposal.resource.read_back
    if KEY in missing and declared and not set(declared.number_columns).isdisjoint(proposal.header):
        main = MainSheet(proposal.resource, proposal.sheet)
        found = exported_column_missing(row, KEY, None, main)
        raise UsageError(found.message, found.hint)


def _header_score(cells: SheetCells, position: int) -> tuple[int, ...]:
    """Return the numbers of words of headers and of texts in a row, empty if it is no header.

    A header has only texts, and data below.
    """
    filled = [value for value in cells.row(position) if value != ""]
    texts = [value for value in filled if isinstance(value, str) and value.strip()]
    if len(texts) < max(_MIN_HEADERS, len(filled)) or not cells.has_data(position + 1):
        return ()
    return sum(bool(mapping_words(text) & words_of_names()) for text in texts), len(texts)


def foreign_columns(cells: SheetCells, position: int) -> tuple[list[ForeignColumn], list[str]]:
    """Return the unique columns with samples of their cells, and the repeated headers."""
    headers = _headers(cells, position)
    counts = Counter(map(header_key, headers))
    columns, repeated, rows = [], [], record_rows(cells, position)
    groups = _groups(cells, position)
    for header, column, group in zip(headers, cells.columns, groups, strict=True):
        key = header_key(header)
        if not key:
            continue
        if counts[key] > 1:
            repeated.append(header)
            continue
        filled = [row for row in rows if column.kind(row) is not CellKind.EMPTY]
        sample, share = column.select(filled[:_SAMPLE_ROWS]), len(filled) / max(1, len(rows))
        columns.append(ForeignColumn(header, sample, share, group=group))
    return columns, repeated


def _headers(cells: SheetCells, position: int) -> list[str]:
    return [" ".join(text.split()) for text in header_texts(cells, position)]


def _groups(cells: SheetCells, position: int) -> list[str]:
    """Return the group of each column: the text above its header, or the nearest one to the left.

    A single text above the header is a title, not a group."""
    above = [text.strip() for text in header_texts(cells, position - 1)] if position else []
    below = header_texts(cells, position)
    if not 1 < sum(map(bool, above)) < sum(map(bool, below)):
        return [""] * len(below)
    groups: Iterator[str] = accumulate(above, lambda group, text: text or group)
    return list(groups)


def _with_child_keys(
    proposal: MappingProposal, sheets: Sequence[SheetCells], cells: SheetCells, position: int
) -> MappingProposal:
    """Return a proposal with a column that joins the child sheets, unless it has one.

    The column has a different value in each row, and all keys of the child sheets. ``position`` is
    the zero-based header row.
    """
    if any(column.name == KEY and column.sources for column in proposal.columns):
        return proposal
    names, keys = list[str](), set[str]()
    for child, found in child_cells(sheets, cells.name, proposal.resource):
        row = find_header_row(found, child)
        column = None if row is None else key_column(found, row, child)
        if row is not None and column is not None:
            names.append(found.name)
            keys.update(_texts(column, range(row + 1, found.height)))
    headers = _headers_with(keys, proposal, cells, position) if keys else []
    if not headers:
        return proposal
    header, *others = headers
    reason, confidence = _KEYS.format(sheets=", ".join(names)), Confidence.HIGH
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


def _headers_with(
    keys: set[str], proposal: MappingProposal, cells: SheetCells, position: int
) -> list[str]:
    """Return the headers whose columns have all keys and no value twice, unused ones first."""
    rows = record_rows(cells, position)
    headers = _headers(cells, position)
    fitting = []
    for header, column in zip(headers, cells.columns, strict=True):
        texts = _texts(column, rows)
        if headers.count(header) == 1 and keys <= set(texts) and len(texts) == len(set(texts)):
            fitting.append(header)
    return sorted(fitting, key=lambda header: header not in proposal.ignore)


def _texts(column: CellColumn, rows: Sequence[int]) -> list[str]:
    return [text for value in column.values(rows) if (text := display(value).strip())]


_KEYS = Text(
    pt="as chaves da planilha {sheets} são valores da coluna",
    en="the keys of the sheet {sheets} are values of the column",
)


def confirmed_mapping_text(
    cells: SheetCells, header_row: int, resource: str, columns: Mapping[str, Mapping[str, Any]]
) -> str:
    """Return the text of a mapping file with the ``columns`` that a person confirmed; all other
    headers of the sheet are ignored."""
    unique, repeated = foreign_columns(cells, header_row - 1)
    header = [*(foreign.header for foreign in unique), *repeated]
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
    """Return the text of the proposed file, with the reasons as comments."""
    lines = ["version: 1", f"resource: {proposal.resource.name}"]
    lines += [f"header: {_flow(list(proposal.header))}", "columns:"]
    for column in proposal.columns:
        lines += [f"  # {reason_text(column)}", f"  {column.name}: {_flow(dict(column.body))}"]
    if proposal.ignore:
        lines.append("ignore:")
    lines += [f"  - {_flow(header)}  # {why}" for header, why in proposal.ignore.items()]
    return "\n".join(lines) + "\n"


def reason_text(column: ProposedColumn) -> Text:
    """Return the confidence and reason of a proposed column."""
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
            pt="{file}: não há uma linha de cabeçalho com duas colunas ou mais, e dados abaixo.",
            en="{file}: there is no header row with at least two columns, and data below it.",
        ).format(file=path),
        Text(
            pt="Confira se a planilha tem nomes de colunas; para outra planilha, use --sheet.",
            en="Check that the sheet has names of columns; for another sheet, use --sheet.",
        ),
    )
