"""Proposed mapping files: detection of a foreign sheet's header and resource, and the file's
text."""

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml

from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.resources import KEY, Catalogue, Resource
from xlbridge.settings import NumberStyle, WorkbookLimits
from xlbridge.validation.headers.header_matching import header_key
from xlbridge.validation.headers.header_row import (
    REMARK_HEADERS,
    SEARCHED_ROWS,
    MainSheet,
    exported_column_missing,
)
from xlbridge.validation.headers.sheet_choice import export_only_error, is_of_other_records
from xlbridge.validation.mapping.child_keys import with_child_keys
from xlbridge.validation.mapping.conversion import ForeignColumn, record_rows
from xlbridge.validation.mapping.header_search import header_texts
from xlbridge.validation.mapping.mapping_file import SheetMapping
from xlbridge.validation.mapping.proposal import (
    Confidence,
    MappingProposal,
    ProposedColumn,
    propose,
)
from xlbridge.validation.mapping.synonyms import (
    COUNTED,
    columns_called,
    mapping_words,
    vocabulary,
)
from xlbridge.workbook.read import SheetCells, WorkbookSource, read_workbook

_MIN_HEADERS = 2
_CLOSE = 0.25
_TITLE_WEIGHT = 1.0
"""Weight of a name with the resource's title, the same as that of a matched column."""
_HEADER_WEIGHT = 0.3
"""Weight of a header with the title: it only decides between resources with the same columns."""

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
        if (best := _header_position(cells, header_row)) is not None
        for score, position in [best]
    ]
    if not found:
        _require_no_months(chosen)
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
        proposals.append(with_child_keys(proposal, sheets, cells, position))
    if requested is None:
        counting = [proposal for proposal in proposals if not _lacks_counts(proposal)]
        _require_rows_of_records(headers, resources, [proposal.resource for proposal in counting])
        proposals = counting or proposals
    titled = _resources_in_names(catalogue.values(), path, cells, position)
    ranked = sorted(
        (
            (
                p.weight
                + _TITLE_WEIGHT * (p.resource.name in titled)
                + _HEADER_WEIGHT * _has_title_in_header(p),
                p,
            )
            for p in proposals
        ),
        key=lambda ranking: -ranking[0],
    )
    if len(ranked) > 1 and ranked[0][0] - ranked[1][0] < _CLOSE:
        raise _no_resource(path, [proposal.resource.name for _, proposal in ranked[:3]])
    best_proposal = ranked[0][1]
    _require_no_listing(best_proposal, position + 1)
    if requested is None:
        _require_no_balances(best_proposal)
    return replace(best_proposal, header_row=position + 1)


def _require_no_listing(proposal: MappingProposal, row: int) -> None:
    """Raise ``UsageError`` for an exported listing without the key that joins its lists."""
    missing = {column.name for column in proposal.columns if column.is_incomplete}
    declared = proposal.resource.read_back
    if KEY in missing and declared and not set(declared.number_columns).isdisjoint(proposal.header):
        main = MainSheet(proposal.resource, proposal.sheet)
        found = exported_column_missing(row, KEY, None, main)
        raise UsageError(found.message, found.hint)


def _require_no_balances(proposal: MappingProposal) -> None:
    """Raise ``UsageError`` for a list of balances, which product records do not have."""
    balances = [
        header
        for header in proposal.ignore
        if any(phrase <= mapping_words(header) for phrase in _BALANCES)
    ]
    if balances and "descricaoDoProduto" in proposal.resource.by_name:
        message = _LIST_OF_BALANCES.format(headers=", ".join(balances))
        raise UsageError(message, _HOW_TO_COUNT.format(name=proposal.resource.name))


_BALANCES = (
    *({"saldo"}, {"estoque", "atual"}, {"estoque", "quantidade"}, {"estoque", "fisico"}),
    *({"estoque", "disponivel"}, {"quantidade", "disponivel"}),
)
_LIST_OF_BALANCES = Text(
    pt="A planilha parece ser de saldos ({headers}), que o cadastro de produtos não tem.",
    en="The sheet seems to be a list of balances ({headers}), which product records do not have.",
)
_HOW_TO_COUNT = Text(
    pt="O saldo muda por contagem (xlbridge template inventario) ou por entradas e saídas "
    "(entrada, saida); se as linhas são produtos a cadastrar, use --resource {name}.",
    en="A balance changes by a count (xlbridge template inventario) or by inputs and outputs "
    "(entrada, saida); if the rows are products to register, use --resource {name}.",
)


def _resources_in_names(
    resources: Iterable[Resource], path: Path, cells: SheetCells, header: int
) -> set[str]:
    """Return the resources whose titles are in the names of file and sheet, or above the header.

    Words are compared by their first letters ("clientes", "cliente"). A title that contains another
    one takes precedence: types of products are not products.
    """
    above = [value for row in range(header) for value in cells.row(row) if isinstance(value, str)]
    words = _stems([path.stem, cells.name, *above])
    titles = {one.name: _title_stems(one) for one in resources}
    found = {name: title for name, title in titles.items() if title and title <= words}
    return {
        name for name, title in found.items() if not any(title < other for other in found.values())
    }


def _has_title_in_header(proposal: MappingProposal) -> bool:
    """Return whether a header of the resource's own columns has its title ("Nome do cliente")."""
    own = (column for column in proposal.columns if "link" not in column.body)
    title = _title_stems(proposal.resource)
    return bool(title) and any(title <= _stems([text]) for one in own for text in one.sources)


def _title_stems(resource: Resource) -> set[str]:
    return _stems([resource.title.pt]) - _stems(["contas a"])


def _stems(texts: Iterable[str]) -> set[str]:
    return {word[:_STEM] for text in texts for word in mapping_words(text)}


def _header_position(
    cells: SheetCells, header_row: int | None = None
) -> tuple[tuple[int, int], int] | None:
    """Return the score and position of the first row with the most words of headers, then the most
    texts. It has only texts, and data below; if ``header_row`` is given, it must be that row."""
    best: tuple[tuple[int, int], int] | None = None
    searched = range(min(cells.height - 1, SEARCHED_ROWS))
    for position in searched if header_row is None else {header_row - 1}.intersection(searched):
        filled = [value for value in cells.row(position) if value != ""]
        texts = [value for value in filled if isinstance(value, str) and value.strip()]
        if len(texts) < max(_MIN_HEADERS, len(filled)) or not cells.has_data(position + 1):
            continue
        known = sum(bool(mapping_words(text) & vocabulary()) for text in texts)
        score = known, len(texts)
        if best is None or score > best[0]:
            best = score, position
    return best


def foreign_columns(cells: SheetCells, position: int) -> tuple[list[ForeignColumn], list[str]]:
    """Return the columns with unique headers, and the repeated headers."""
    headers = [" ".join(text.split()) for text in header_texts(cells, position)]
    counts = Counter(map(header_key, headers))
    columns, repeated, rows = [], [], record_rows(cells, position)
    groups = _groups(cells, position)
    for header, column, group in zip(headers, cells.columns, groups, strict=True):
        key = header_key(header)
        if not key or key in REMARK_HEADERS:
            continue
        if counts[key] == 1:
            columns.append(ForeignColumn.of(header, column, rows, group))
        else:
            repeated.append(header)
    return columns, repeated


def _groups(cells: SheetCells, position: int) -> list[str]:
    """Return the group of each column: the text above its header, or the nearest one to the left.

    A single text above the header is a title, not a group."""
    above = [text.strip() for text in header_texts(cells, position - 1)] if position else []
    below = header_texts(cells, position)
    if not 1 < sum(map(bool, above)) < sum(map(bool, below)):
        return [""] * len(below)
    groups, group = [], ""
    for text in above:
        group = text or group
        groups.append(group)
    return groups


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
            pt="{file}: não há uma linha de cabeçalho com linhas de dados abaixo.",
            en="{file}: there is no header row with rows of data below it.",
        ).format(file=path),
        Text(
            pt="Confira se a planilha tem nomes de colunas; para outra planilha, use --sheet.",
            en="Check that the sheet has names of columns; for another sheet, use --sheet.",
        ),
    )


def _lacks_counts(proposal: MappingProposal) -> bool:
    """Return whether the sheet has quantities that the resource does not have."""
    return any(names & COUNTED for names in proposal.foreign_names.values())


def _require_rows_of_records(
    headers: Sequence[str], resources: Iterable[Resource], fitting: Iterable[Resource]
) -> None:
    """Raise ``UsageError`` for a sheet whose rows are not records: one with a column for each
    month, or with items of lists, unless a ``fitting`` resource has as many of its columns."""
    months = [header for header in headers if mapping_words(header) & _MONTHS]
    if len(months) >= _MIN_MONTHS:
        raise UsageError(_MONTH_COLUMNS.format(months=", ".join(months)), _HOW_TO_UNPIVOT)
    meanings = [columns_called(header) for header in headers]

    def count_headers(columns: Set[str]) -> int:
        return sum(not names.isdisjoint(columns) for names in meanings)

    with_lists = [
        (count_headers(one.names_with_lists), one)
        for one in resources
        if count_headers(one.names_with_lists - one.by_name.keys()) >= _MIN_LIST_COLUMNS
    ]
    best = max((count_headers(one.by_name.keys()) for one in fitting), default=0)
    most = max((count for count, _ in with_lists), default=0)
    if most > best:
        likely = [one for count, one in with_lists if count == most]
        pt, en = (
            ", ".join(f"{getattr(one.title, lang)} ({one.name})" for one in likely)
            for lang in ("pt", "en")
        )
        raise UsageError(
            _ROWS_OF_LISTS.format(titles=Text(pt=pt, en=en)),
            _HOW_TO_SPLIT.format(name=likely[0].name if len(likely) == 1 else _ANY_RESOURCE),
        )


def _require_no_months(sheets: Iterable[SheetCells]) -> None:
    """Raise ``UsageError`` if the first days of months, in order, are used as headers."""
    for cells in sheets:
        for position in range(min(cells.height - 1, SEARCHED_ROWS)):
            row = cells.row(position)
            days = [value for value in row if isinstance(value, dt.date) and value.day == 1]
            if len(days) >= _MIN_MONTHS and all(
                one.toordinal() < two.toordinal() for one, two in pairwise(days)
            ):
                months = ", ".join(f"{day:%m/%Y}" for day in days)
                raise UsageError(_MONTH_COLUMNS.format(months=months), _HOW_TO_UNPIVOT)


_ANY_RESOURCE = Text(pt="RECURSO", en="RESOURCE")
_MIN_MONTHS = 3
_MIN_LIST_COLUMNS = 2
_MONTHS = frozenset(
    {"jan", "fev", "mar", "abr", "mai", "jun", "jul", "ago", "set", "out", "nov", "dez"}
    | {"janeiro", "fevereiro", "marco", "abril", "maio", "junho", "julho", "agosto", "setembro"}
    | {"outubro", "novembro", "dezembro", "feb", "apr", "may", "aug", "sep", "oct", "dec"}
)
_MONTH_COLUMNS = Text(
    pt="A planilha tem uma coluna para cada mês ({months}); na importação cada mês é uma linha.",
    en="The sheet has a column for each month ({months}); an import has a row for each.",
)
_HOW_TO_UNPIVOT = Text(
    pt="Passe os meses para linhas (no Excel: Dados > Da Tabela/Intervalo > Transformar Colunas em "
    "Linhas), ou informe o recurso com --resource.",
    en="Turn the months into rows (in Excel: Data > From Table/Range > Unpivot Columns), or choose "
    "the resource with --resource.",
)
_ROWS_OF_LISTS = Text(
    pt="A planilha parece ter em cada linha um item, com os dados do registro repetidos, como em "
    "{titles}; na importação os registros e os itens ficam em planilhas separadas.",
    en="The sheet seems to have an item in each row, with the data of its record repeated, as in "
    "{titles}; an import has records and items in sheets of their own.",
)
_HOW_TO_SPLIT = Text(
    pt="Distribua as colunas pelas planilhas do modelo, unidas por chave: "
    "xlbridge template {name}; se as linhas são outra coisa, informe o recurso com --resource.",
    en="Distribute the columns among the sheets of the template, joined by chave: xlbridge "
    "template {name}; if the rows are something else, choose the resource with --resource.",
)


def _no_resource(path: Path, names: Sequence[str]) -> UsageError:
    return UsageError(
        Text(
            pt="{file}: não dá para saber de que recurso é a planilha; os mais próximos: {names}.",
            en="{file}: it is not clear which resource the sheet is for; the nearest: {names}.",
        ).format(file=path, names=", ".join(names)),
        Text(pt="Informe qual com --resource.", en="Choose one with --resource."),
    )
