"""Proposal of a mapping for the sheet of a workbook: its header, its resource unless one is
requested, the known mapping on which it builds, and the column that joins its child sheets.

Known are the mappings used before, and the layouts that come with xlbridge for exports of other
systems: mappings with the ``title`` of the export and the ``source`` that describes it. Their
headers have the columns that the system can export; a sheet may have some of them.
"""

import datetime as dt
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from xlbridge.errors import UsageError
from xlbridge.files import as_arguments
from xlbridge.i18n import Text
from xlbridge.resources import KEY, Catalogue
from xlbridge.settings import NumberStyle, WorkbookLimits
from xlbridge.validation.cells.contents import display
from xlbridge.validation.header_row import SEARCHED_ROWS, find_header_row, header_key, key_column
from xlbridge.validation.mapping.column_fit import ForeignColumn, foreign_columns
from xlbridge.validation.mapping.header_names import mapping_words, words_of_names
from xlbridge.validation.mapping.list_proposal import ListProposer
from xlbridge.validation.mapping.mapping_file import Scalar, SheetMapping, read_mapping, value_key
from xlbridge.validation.mapping.proposal import WITH_RIVALS, propose
from xlbridge.validation.mapping.proposed_mapping import (
    Confidence,
    MappingProposal,
    ProposedColumn,
    RememberedValues,
)
from xlbridge.validation.mapping.resource_choice import MIN_MONTHS, choose_proposal, month_columns
from xlbridge.validation.sheet_choice import child_cells, export_only_error, is_of_other_records
from xlbridge.workbook.read import CellColumn, SheetCells, WorkbookSource, read_workbook

_LEAST_SAME = 0.5
_LEAST_OF_SHEET, _LEAST_OF_LAYOUT, _LEAST_COLUMNS = 0.7, 0.4, 4
_LEAST_OF_FIELDS, _LEAST_FIELDS = 0.6, 3
_FIELD = re.compile(r"[A-Z][A-Z0-9_]{3,}|[A-Z]+[a-z]+[A-Z][A-Za-z0-9]*")
"""Name of a database field, such as E1_VALOR and CardCode, which has no other meaning."""
_MIN_HEADERS = 2


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
    limits = limits.with_headers(earlier)
    sheets = (workbook() if workbook else read_workbook(path, limits)).sheets
    chosen = [one for one in sheets if sheet in {None, one.name}]
    if not chosen:
        # Hidden sheets must be requested.
        chosen = read_workbook(path, limits, sheet).sheets
    cells, position = _best_header(chosen, header_row, path)
    columns, repeated = foreign_columns(cells, position)
    columns = [replace(column, declared=numbers) for column in columns]
    headers = [column.header for column in columns]
    resources = list(catalogue.values()) if requested is None else [requested]
    fitting = [one for one in resources if requested or not is_of_other_records(headers, one)]
    if not fitting:
        raise export_only_error()
    proposals = []
    bases = {one.name: similar_mapping(headers, earlier, one.name) for one in fitting}
    bases, remembered = best_layouts(headers, bases), remembered_values(earlier)
    lists = ListProposer(columns)
    for one in fitting:
        confirmed = [mapping for mapping in earlier if mapping.resource == one.name]
        proposal = propose(
            one, cells.name, columns, repeated, confirmed, bases[one.name], remembered
        )
        if any(child_cells(sheets, cells.name, one)):
            proposal = _with_child_keys(proposal, sheets, columns)
        else:
            proposal = lists.with_lists(proposal, confirmed, remembered)
        proposals.append(proposal)
    best = proposals[0]
    if requested is None:
        best = choose_proposal(path, proposals, resources, cells, position, columns)
    read_back = best.resource.read_back
    if (
        KEY in best.resource.required
        and all(column.name != KEY for column in best.columns)
        and read_back is not None
        and not set(read_back.number_columns).isdisjoint(best.header)
    ):
        # An exported listing, whose key is made of its numbers.
        raise UsageError(
            Text(
                pt="A planilha é uma listagem exportada, que não precisa de mapeamento.",
                en="The sheet is an exported listing, which needs no mapping.",
            ),
            Text(
                pt="Envie-a assim: xlbridge upload {file}",
                en="Upload it as it is: xlbridge upload {file}",
                page=Text(pt="Abra-a sem mapeamento.", en="Open it without a mapping."),
            ).format(file=as_arguments(path)),
        )
    return replace(best.without_unread(columns), header_row=position + 1)


def _best_header(
    sheets: Iterable[SheetCells], header_row: int | None, path: Path
) -> tuple[SheetCells, int]:
    """Return the sheet and the position of the header with most known words and texts.

    Raises ``UsageError`` if there is none.
    """
    found: list[tuple[tuple[int, int], SheetCells, int]] = []
    months: list[str] = []
    for cells in sheets:
        for position in range(min(cells.height - 1, SEARCHED_ROWS)):
            filled = [value for value in cells.row(position) if value != ""]
            texts = [value for value in filled if isinstance(value, str) and value.strip()]
            # A header has only texts, and data below; better ones have more words of headers.
            if (
                header_row in {None, position + 1}
                and len(texts) >= max(_MIN_HEADERS, len(filled))
                and cells.has_data(position + 1)
            ):
                known = sum(bool(mapping_words(text) & words_of_names()) for text in texts)
                found.append(((known, len(texts)), cells, position))
            # The first days of months, in order, may be used as headers.
            days = [value for value in filled if isinstance(value, dt.date) and value.day == 1]
            ordinals = [day.toordinal() for day in days]
            if not months and len(days) >= MIN_MONTHS and sorted({*ordinals}) == ordinals:
                months = [f"{day:%m/%Y}" for day in days]
    if not found:
        if months:
            raise month_columns(months)
        raise UsageError(_NO_HEADER.format(file=path), _HOW_TO_NAME)
    return max(found, key=lambda candidate: candidate[0])[1:]


_NO_HEADER = Text(
    pt="{file}: não há uma linha de cabeçalho com duas colunas ou mais, e dados abaixo.",
    en="{file}: there is no header row with at least two columns, and data below it.",
)
_HOW_TO_NAME = Text(
    pt="Confira se a planilha tem nomes de colunas; para outra planilha, use --sheet.",
    en="Check that the sheet has names of columns; for another sheet, use --sheet.",
    page=Text(
        pt="Confira se a planilha tem nomes de colunas, ou escolha outra em Abrir.",
        en="Check that the sheet has names of columns, or choose another under Open.",
    ),
)


def _with_child_keys(
    proposal: MappingProposal, sheets: Sequence[SheetCells], columns: Sequence[ForeignColumn]
) -> MappingProposal:
    """Return a proposal with a column that joins the child sheets, unless it has one.

    The column has a different value in each row, and all keys of the child sheets.
    """
    if any(column.name == KEY and column.sources for column in proposal.columns):
        return proposal
    names, keys = list[str](), set[str]()
    for child, found in child_cells(sheets, proposal.sheet, proposal.resource):
        row = find_header_row(found, child)
        key = None if row is None else key_column(found, row, child)
        if row is not None and key is not None:
            names.append(found.name)
            keys.update(_texts(key, range(row + 1, found.height)))
    fitting = []
    for one in columns if keys else ():
        texts = _texts(one.source, one.records)
        if keys <= set(texts) and len(texts) == len(set(texts)):
            fitting.append(one.header)
    if not fitting:
        return proposal
    header, *others = sorted(fitting, key=lambda header: header not in proposal.ignore)
    reason, confidence = _KEYS.format(sheets=", ".join(names)), Confidence.HIGH
    if others:
        reason = WITH_RIVALS.format(reason=reason, others=", ".join(others))
        confidence = Confidence.LOW
    proposed = ProposedColumn(KEY, {"from": header}, confidence, reason)
    chosen = {column.name: column for column in proposal.columns} | {KEY: proposed}
    return replace(
        proposal,
        columns=[chosen[one.name] for one in proposal.resource.columns if one.name in chosen],
        ignore={name: why for name, why in proposal.ignore.items() if name != header},
    )


def _texts(column: CellColumn, rows: Sequence[int]) -> list[str]:
    return [text for value in column.values(rows) if (text := display(value).strip())]


_KEYS = Text(
    pt="as chaves da planilha {sheets} são valores da coluna",
    en="the keys of the sheet {sheets} are values of the column",
)


def remembered_values(mappings: Iterable[SheetMapping]) -> RememberedValues:
    """Return the values that mappings give the words of each column; of several mappings the last
    one counts."""
    found: dict[tuple[str, bool], dict[str, Scalar]] = {}
    for mapping in mappings:
        for _, column in mapping.all_columns:
            words = {value_key(text): it for text, it in (column.values or {}).items()}
            found.setdefault((column.name, column.link is not None), {}).update(words)
    return found


@cache
def layouts() -> Sequence[SheetMapping]:
    """Return the layouts that come with xlbridge."""
    folder = Path(__file__).with_name("layouts")
    return [read_mapping(path) for path in sorted(folder.glob("*.yaml"))]


def similar_mapping(
    headers: Iterable[str], used: Sequence[SheetMapping], resource: str
) -> SheetMapping | None:
    """Return the mapping to a resource on which a proposal for the headers can build.

    ``used`` are the mappings used before, the latest last; a layout is only used without a similar
    one among them.
    """
    keys = set(filter(None, map(header_key, headers)))
    own = [one for one in used if one.resource == resource]
    headers_of = [set(map(header_key, one.header)) for one in own]
    same = [len(keys & its) / max(1, len(keys | its)) for its in headers_of]
    if own and max(same) >= _LEAST_SAME:
        # The latest of equals.
        return max(zip(same, range(len(own)), own, strict=True), key=lambda one: one[:2])[2]
    known = [one for one in layouts() if one.resource == resource and _has_layout(keys, one)]
    return max(known, key=lambda one: _covered(keys, one), default=None)


def best_layouts(
    headers: Iterable[str], found: Mapping[str, SheetMapping | None]
) -> dict[str, SheetMapping | None]:
    """Return the mappings by resource without the layouts that another one excels: exports of what
    is received and of what is paid may have nearly the same header."""
    keys = set(filter(None, map(header_key, headers)))
    shares = {
        name: _covered(keys, one) for name, one in found.items() if one is not None and one.title
    }
    best = max(shares.values(), default=0)
    return {name: None if shares.get(name, best) < best else one for name, one in found.items()}


def _covered(keys: set[str], layout: SheetMapping) -> float:
    """Return the share of a sheet's headers that are in a layout."""
    return len(keys.intersection(map(header_key, layout.header))) / max(1, len(keys))


def _has_layout(keys: set[str], layout: SheetMapping) -> bool:
    """Return whether a sheet has the header of a layout, or enough fields of its table."""
    own = set(map(header_key, layout.header))
    common = len(keys & own)
    if 2 * sum(_FIELD.fullmatch(text) is not None for text in layout.header) > len(layout.header):
        return common >= max(_LEAST_FIELDS, _LEAST_OF_FIELDS * len(keys))
    least = max(_LEAST_COLUMNS, _LEAST_OF_SHEET * len(keys), _LEAST_OF_LAYOUT * len(own))
    return common >= least
