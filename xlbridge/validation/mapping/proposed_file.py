"""Proposed mapping files: a foreign sheet's header found, its resource told, the file's text."""

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
    missing_of_listing,
)
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
from xlbridge.validation.mapping.synonyms import (
    COUNTED,
    columns_called,
    mapping_words,
    vocabulary,
)
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
    sheets = (workbook() if workbook else read_workbook(path, limits, sheet)).sheets
    found = [
        (key, cells, position)
        for cells in sheets
        if (best := _header_position(cells, header_row)) is not None
        for key, position in [best]
    ]
    if not found:
        _require_no_months(sheets)
        raise _no_header(path)
    _, cells, position = max(found, key=lambda each: each[0])
    columns, repeated = foreign_columns(cells, position)
    columns = [replace(column, declared=numbers) for column in columns]
    headers = [column.header for column in columns]
    asked = list(catalogue.values()) if wanted is None else [wanted]
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
    if wanted is None:
        counting = [each for each in proposals if not _lacks_counts(each)]
        _require_rows_of_records(headers, asked, [each.resource for each in counting])
        proposals = counting or proposals
    named = _named_resources(catalogue.values(), path, cells, position)
    weighed = [(each.weight + _NAMED * (each.resource.name in named), each) for each in proposals]
    ranked = sorted(weighed, key=lambda each: -each[0])
    if len(ranked) > 1 and ranked[0][0] - ranked[1][0] < _CLOSE:
        raise _no_resource(path, [proposal.resource.name for _, proposal in ranked[:3]])
    likely = ranked[0][1]
    _require_no_listing(likely, position + 1)
    if wanted is None:
        _require_no_balances(likely)
    return replace(likely, header_row=position + 1)


def _require_no_listing(proposal: MappingProposal, row: int) -> None:
    """Raise ``UsageError`` for an exported listing that lacks the key which joins its lists."""
    asked = {column.name for column in proposal.columns if column.asks}
    declared = proposal.resource.read_back
    if KEY in asked and declared and not set(declared.number_columns).isdisjoint(proposal.header):
        main = MainSheet(proposal.resource, proposal.sheet)
        found = missing_of_listing(row, KEY, None, main)
        raise UsageError(found.message, found.hint)


def _require_no_balances(proposal: MappingProposal) -> None:
    """Raise ``UsageError`` for a list of balances, of which a product's record has none."""
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
    "(entrada, saida); se as linhas são produtos a cadastrar, diga --resource {name}.",
    en="A balance changes by a count (xlbridge template inventario) or by inputs and outputs "
    "(entrada, saida); if the rows are products to register, say --resource {name}.",
)


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
    counted = Counter(map(header_key, headers))
    columns, repeated, rows = [], [], record_rows(cells, position)
    groups = _groups(cells, position)
    for place, header in enumerate(headers):
        key = header_key(header)
        if not key or key in REMARK_HEADERS:
            continue
        if counted[key] == 1:
            columns.append(ForeignColumn.of(header, cells, place, rows, groups[place]))
        else:
            repeated.append(header)
    return columns, repeated


def _groups(cells: SheetCells, position: int) -> list[str]:
    """Return for each column the text in the row above the header that stands for it and for those
    to its right; a title alone is none."""
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


def _lacks_counts(proposal: MappingProposal) -> bool:
    """Tell whether the sheet counts something, and the resource has no quantities."""
    return any(names & COUNTED for names in proposal.other_things.values())


def _require_rows_of_records(
    headers: Sequence[str], resources: Iterable[Resource], fitting: Iterable[Resource]
) -> None:
    """Raise ``UsageError`` for a sheet whose rows are no records: one with a column for each month,
    or with lists of records in their rows, where no ``fitting`` resource knows as many columns."""
    months = [header for header in headers if mapping_words(header) & _MONTHS]
    if len(months) >= _FEWEST_MONTHS:
        raise UsageError(_MONTHS_ASIDE.format(months=", ".join(months)), _HOW_TO_UNPIVOT)
    called = [columns_called(header) for header in headers]

    def known(columns: Set[str]) -> int:
        return sum(not names.isdisjoint(columns) for names in called)

    with_lists = [
        (known(one.names_with_lists), one)
        for one in resources
        if known(one.names_with_lists - one.by_name.keys()) >= _FEWEST_OF_LIST
    ]
    best = max((known(one.by_name.keys()) for one in fitting), default=0)
    most = max((count for count, _ in with_lists), default=0)
    if most > best:
        likely = [one for count, one in with_lists if count == most]
        pt, en = (
            ", ".join(f"{getattr(one.title, lang)} ({one.name})" for one in likely)
            for lang in ("pt", "en")
        )
        raise UsageError(
            _ROWS_OF_LISTS.format(titles=Text(pt=pt, en=en)),
            _HOW_TO_PART.format(name=likely[0].name if len(likely) == 1 else _ANY_RESOURCE),
        )


def _require_no_months(sheets: Iterable[SheetCells]) -> None:
    """Raise ``UsageError`` where a row has dates for names: the first days of months, in order."""
    for cells in sheets:
        for position in range(min(cells.height - 1, SEARCHED_ROWS)):
            row = cells.row(position)
            days = [value for value in row if isinstance(value, dt.date) and value.day == 1]
            if len(days) >= _FEWEST_MONTHS and all(
                one.toordinal() < two.toordinal() for one, two in pairwise(days)
            ):
                months = ", ".join(f"{day:%m/%Y}" for day in days)
                raise UsageError(_MONTHS_ASIDE.format(months=months), _HOW_TO_UNPIVOT)


_ANY_RESOURCE = Text(pt="RECURSO", en="RESOURCE")
_FEWEST_MONTHS = 3
_FEWEST_OF_LIST = 2
_MONTHS = frozenset(
    {"jan", "fev", "mar", "abr", "mai", "jun", "jul", "ago", "set", "out", "nov", "dez"}
    | {"janeiro", "fevereiro", "marco", "abril", "maio", "junho", "julho", "agosto", "setembro"}
    | {"outubro", "novembro", "dezembro", "feb", "apr", "may", "aug", "sep", "oct", "dec"}
)
_MONTHS_ASIDE = Text(
    pt="A planilha tem uma coluna para cada mês ({months}); na importação cada mês é uma linha.",
    en="The sheet has a column for each month ({months}); an import has a row for each.",
)
_HOW_TO_UNPIVOT = Text(
    pt="Passe os meses para linhas (no Excel: Dados > Da Tabela/Intervalo > Transformar Colunas em "
    "Linhas), ou diga o recurso com --resource.",
    en="Turn the months into rows (in Excel: Data > From Table/Range > Unpivot Columns), or say "
    "the resource with --resource.",
)
_ROWS_OF_LISTS = Text(
    pt="A planilha parece ter em cada linha um item, com os dados do registro repetidos, como em "
    "{titles}; na importação os registros e os itens ficam em planilhas separadas.",
    en="The sheet seems to have an item in each row, with the data of its record repeated, as in "
    "{titles}; an import has records and items in sheets of their own.",
)
_HOW_TO_PART = Text(
    pt="Distribua as colunas pelas planilhas do modelo, unidas por chave: "
    "xlbridge template {name}; se as linhas são outra coisa, diga o recurso com --resource.",
    en="Distribute the columns among the sheets of the template, joined by chave: xlbridge "
    "template {name}; if the rows are something else, say the resource with --resource.",
)


def _no_resource(path: Path, names: Sequence[str]) -> UsageError:
    return UsageError(
        Text(
            pt="{file}: não dá para saber de que recurso é a planilha; os mais próximos: {names}.",
            en="{file}: it is not clear which resource the sheet is for; the nearest: {names}.",
        ).format(file=path, names=", ".join(names)),
        Text(pt="Diga qual com --resource.", en="Say which with --resource."),
    )
