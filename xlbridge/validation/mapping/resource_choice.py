"""Choice of the resource that a foreign sheet is for, among the proposals for all resources."""

import datetime as dt
import math
from collections import Counter
from collections.abc import Iterable, Sequence, Set
from itertools import chain, pairwise
from pathlib import Path

from xlbridge.errors import UsageError
from xlbridge.files import as_argument
from xlbridge.i18n import Text, joined, untranslated
from xlbridge.resources import Kind, Resource
from xlbridge.validation.cells.text import display
from xlbridge.validation.headers.header_row import SEARCHED_ROWS
from xlbridge.validation.mapping.name_matching import columns_called, is_amount, mapping_words
from xlbridge.validation.mapping.proposal import MappingProposal
from xlbridge.workbook.read import CellColumn, SheetCells

_CLOSE = 0.25
_MAX_LIKELY = 5
_TITLE_WEIGHT = 1.0
"""Weight of a name with the resource's title, the same as that of a matched column."""
_HEADER_WEIGHT = 0.3
"""Weight of a header with the title: it only decides between resources with the same columns."""
_AMOUNT_PENALTY = 2.0
"""Evidence of a column of amounts against a resource without any, such as clients."""
_STEM = 6
_COUNTED = frozenset({"quantidade", "contagem"})
"""Columns of quantities: a resource without one cannot fit a sheet with quantities."""


def choose_proposal(
    path: Path,
    proposals: Sequence[MappingProposal],
    resources: Sequence[Resource],
    titled: Set[str],
) -> MappingProposal:
    """Return the proposal for the resource that a sheet is for, by its weight and by ``titled``,
    the resources that ``resources_in_names`` returns.

    Raises ``UsageError`` if it is unclear, or the rows are not records that can be imported.
    """
    counting = [proposal for proposal in proposals if not _lacks_counts(proposal)]
    _require_rows_of_records(proposals[0].header, resources, [p.resource for p in counting])
    proposals = counting or proposals
    _require_child_sheets([p for p in proposals if p.resource.name in titled])
    best = _best_proposal(path, proposals, titled)
    _require_no_balances(best)
    return best


def _best_proposal(
    path: Path, proposals: Sequence[MappingProposal], titled: Set[str]
) -> MappingProposal:
    """Return the best proposal by its weight, the names of its resource and the sheet's amounts.

    Raises ``UsageError`` if another one is nearly as good, or uses the same headers for the same
    columns: that it also requires columns which the sheet lacks proves nothing.
    """
    evidence = {
        p.resource.name: _TITLE_WEIGHT * (p.resource.name in titled)
        + _HEADER_WEIGHT * _has_title_in_header(p)
        - _AMOUNT_PENALTY * _lacks_amounts(p)
        for p in proposals
    }
    ranked = sorted(proposals, key=lambda p: -p.weight - evidence[p.resource.name])
    best = ranked[0]
    score = best.weight + evidence[best.resource.name]
    for other in ranked[1:]:
        bonus = evidence[other.resource.name]
        is_same = bonus == evidence[best.resource.name] and _sources(other) == _sources(best)
        if score - other.weight - bonus < _CLOSE or (is_same and other.weight > -math.inf):
            raise _no_resource(path, ranked)
    return best


def _require_child_sheets(titled: Sequence[MappingProposal]) -> None:
    """Raise ``UsageError`` if the names of file and sheet only fit a resource whose lists are
    missing, such as orders without their items."""
    if titled and all(proposal.weight == -math.inf for proposal in titled):
        names = _titles(proposal.resource for proposal in titled)
        name = titled[0].resource.name
        raise UsageError(_NO_LISTS.format(titles=names), _HOW_TO_ADD_LISTS.format(name=name))


def _sources(proposal: MappingProposal) -> dict[str, tuple[str, ...]]:
    """Return the source headers of each column that has some."""
    return {column.name: column.sources for column in proposal.columns if column.sources}


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


def resources_in_names(
    resources: Iterable[Resource], path: Path, cells: SheetCells, header: int
) -> set[str]:
    """Return the resources whose titles are in the names of file and sheet, or above the header,
    or whose own names are.

    Words are compared by their first letters ("clientes", "cliente"). A title that contains another
    one takes precedence: types of products are not products.
    """
    above = [value for row in range(header) for value in cells.row(row) if isinstance(value, str)]
    texts = [path.stem, cells.name, *above]
    words = _stems(texts)
    names = {word.removesuffix("s") for text in texts for word in mapping_words(text)}
    titles = ((one, title) for one in resources for title in _title_stems(one))
    found = {one.name: title for one, title in titles if title <= words or one.name in names}
    return {
        name for name, title in found.items() if not any(title < other for other in found.values())
    }


def _has_title_in_header(proposal: MappingProposal) -> bool:
    """Return whether a header of the resource's own columns has its title ("Nome do cliente")."""
    own = (column for column in proposal.columns if "link" not in column.body)
    headers = [_stems([text]) for one in own for text in one.sources]
    return any(title <= header for title in _title_stems(proposal.resource) for header in headers)


def _title_stems(resource: Resource) -> list[set[str]]:
    """Return the words of a resource's titles that identify it, in both languages."""
    titles = (_stems([text]) for text in (resource.title.pt, resource.title.en))
    return list(filter(None, (title - _stems(["contas a"]) for title in titles)))


def _stems(texts: Iterable[str]) -> set[str]:
    return {word[:_STEM] for text in texts for word in mapping_words(text)}


def _lacks_counts(proposal: MappingProposal) -> bool:
    """Return whether the sheet has quantities that the resource does not have."""
    return any(names & _COUNTED for names in proposal.foreign_names.values())


def _lacks_amounts(proposal: MappingProposal) -> bool:
    """Return whether the sheet has amounts, and the resource no column for any."""
    has_money = any(column.kind is Kind.MONEY for column in proposal.resource.columns)
    return not has_money and any(map(is_amount, proposal.ignore))


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
        raise _rows_of_lists([one for count, one in with_lists if count == most])


def require_no_months(sheets: Iterable[SheetCells]) -> None:
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


def require_no_items(
    proposal: MappingProposal, cells: SheetCells, position: int, resources: Iterable[Resource]
) -> None:
    """Raise ``UsageError`` if a sheet of titles has several products or items with the same
    document, like those of orders; ``position`` is the header's."""
    header = [str(value).strip() for value in cells.row(position)]
    numbers = _sources(proposal).get(_DOCUMENT, ())
    if len(numbers) != 1 or numbers[0] not in header:
        return
    number = cells.columns[header.index(numbers[0])]
    rows = [row for row in range(position + 1, cells.height) if number.value(row) != ""]
    columns = dict(zip(header, cells.columns, strict=False))
    products = [name for name in proposal.ignore if columns_called(name) & _PRODUCTS]
    items = [name for name in header if mapping_words(name) & _ITEM_NUMBERS]
    several = (_has_several(number, columns[name], rows) for name in products if name in columns)
    counted = (_counts_items(number, columns[name], rows) for name in items)
    if not any(chain(several, counted)):
        return
    own = {column.name for column in proposal.columns}
    likely = [
        one
        for one in resources
        if (one.names_with_lists - one.by_name.keys()) & _PRODUCTS
        and own & one.by_name.keys() & _PARTIES
    ]
    raise _rows_of_lists(likely)


def _has_several(number: CellColumn, product: CellColumn, rows: Sequence[int]) -> bool:
    """Return whether a document has several products."""
    pairs = {(number.value(row), product.value(row)) for row in rows}
    return len(pairs) > len({document for document, _ in pairs})


def _counts_items(number: CellColumn, item: CellColumn, rows: Sequence[int]) -> bool:
    """Return whether a column counts the rows of each document from 1, and some have several."""
    counts = Counter[object]()
    for row in rows:
        counts[number.value(row)] += 1
        if display(item.value(row)).lstrip("0") != str(counts[number.value(row)]):
            return False
    return max(counts.values(), default=0) > 1


def _rows_of_lists(likely: Sequence[Resource]) -> UsageError:
    """Return the error that rows are items of lists, like those of the ``likely`` resources."""
    return UsageError(
        _ROWS_OF_LISTS.format(titles=_titles(likely)),
        _HOW_TO_SPLIT.format(name=likely[0].name if len(likely) == 1 else _ANY_RESOURCE),
    )


_DOCUMENT = "numeroDoDocumento"
_PRODUCTS = frozenset({"idProduto", "idProd", "descricaoDoProduto"})
_ITEM_NUMBERS = frozenset({"item", "itens"})
_PARTIES = frozenset({"codigoDoCliente", "codigoDoFornecedor"})
_NO_LISTS = Text(
    pt="Pelo nome, a planilha parece ser de {titles}; falta a chave que liga cada registro às "
    "linhas dele nas outras planilhas, como os itens.",
    en="By its name the sheet seems to be for {titles}; it lacks the key that joins each record "
    "with its rows in the other sheets, such as the items.",
)
_HOW_TO_ADD_LISTS = Text(
    pt="Use as planilhas do modelo: xlbridge template {name}; se as linhas são outra coisa, "
    "informe o recurso com --resource.",
    en="Use the sheets of the template: xlbridge template {name}; if the rows are something else, "
    "choose the resource with --resource.",
)
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


def _titles(resources: Iterable[Resource]) -> Text:
    """Return the titles of resources with their names."""
    named = untranslated("{title} ({name})")
    return joined((named.format(title=one.title, name=one.name) for one in resources), ", ")


def _no_resource(path: Path, ranked: Sequence[MappingProposal]) -> UsageError:
    """Return the error of an unclear sheet, with the resources that use as many of its headers as
    the best one, the best first."""
    fitting = [one for one in ranked if one.used_headers and one.weight > -math.inf]
    if not fitting:
        return UsageError(_NO_KNOWN_HEADER.format(file=path), _HOW_TO_CHOOSE)
    uses = [
        _USES.format(name=one.resource.name, n=len(one.used_headers), of=len(one.header))
        for one in fitting
        if len(one.used_headers) >= len(fitting[0].used_headers)
    ]
    names, example = joined(uses[:_MAX_LIKELY], ", "), fitting[0].resource.name
    return UsageError(
        _SEVERAL_LIKELY.format(file=path, names=names),
        _FOR_EXAMPLE.format(file=as_argument(path), name=example),
    )


_USES = Text(pt="{name} (usa {n} de {of} colunas)", en="{name} (uses {n} of {of} columns)")
_SEVERAL_LIKELY = Text(
    pt="{file}: não dá para saber de que recurso é a planilha; os mais prováveis: {names}.",
    en="{file}: it is not clear which resource the sheet is for; the most likely: {names}.",
)
_FOR_EXAMPLE = Text(
    pt="Informe qual com --resource, por exemplo: xlbridge map {file} --resource {name}",
    en="Choose one with --resource, for example: xlbridge map {file} --resource {name}",
)
_NO_KNOWN_HEADER = Text(
    pt="{file}: nenhum cabeçalho lembra uma coluna de um recurso.",
    en="{file}: no header resembles a column of a resource.",
)
_HOW_TO_CHOOSE = Text(
    pt="Veja os recursos e as suas colunas com xlbridge resources, e informe qual com --resource.",
    en="See the resources and their columns with xlbridge resources, and choose one with "
    "--resource.",
)
