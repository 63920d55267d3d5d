"""Choice of the resource of a foreign sheet among the proposals for each, and the doubts about it.

A sheet that is clearly no list of records, or may be for several resources, is refused with the
reason.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from pathlib import Path

from xlbridge.errors import UsageError
from xlbridge.files import as_arguments
from xlbridge.i18n import Text, joined, untranslated
from xlbridge.resources import KEY, Kind, Resource
from xlbridge.validation.cells.contents import display
from xlbridge.validation.cells.text_parsing import MONTHS
from xlbridge.validation.mapping.column_fit import ForeignColumn
from xlbridge.validation.mapping.header_names import (
    DUE_DATE,
    PARTIES,
    REGISTRIES,
    columns_called,
    document_words,
    is_due_date,
    mapping_words,
    party_of,
    says,
    side_of,
    vocabulary,
)
from xlbridge.validation.mapping.proposed_mapping import Confidence, MappingProposal
from xlbridge.validation.sheet_choice import CHOOSE_KIND
from xlbridge.workbook.read import SheetCells

_CLOSE, _MUCH = 0.25, 1.5
_MAX_LIKELY = 5
_TITLE_WEIGHT = 2.0
"""Weight of a name with the resource's title, the same as that of two matched columns."""
_HEADER_WEIGHT = 0.3
"""Weight of a header with the title: it only decides between resources with the same columns."""
_SIDE_WEIGHT = 1.0
"""Weight of headers that name a client, or a supplier."""
_BASE_WEIGHT = 4.0
"""Weight of the header of a sheet that is known."""
_MOSTLY_SAME = 0.6
_FEW, _LITTLE = 0.4, 2.0
"""Share of the headers, and weight: a resource with no more than these may be the wrong one."""
_AMOUNT_PENALTY = 2.0
"""Evidence of a column of amounts or due dates against a resource without any, such as clients."""
_STEM = 6
_OF_ANY_RECORD = frozenset(
    {"nome", "name", "codigo", "id", "numero", "ativo", "status", "situacao", "tipo", "descricao"}
    | {"email", "telefone", "celular", "phone", "data", "observacao", "classificacao"}
    | {"integracao", "externo", "externa"}
)
"""Words of headers that records of any kind have."""
_COUNTED = frozenset({"quantidade", "contagem"})
"""Columns of quantities: a resource without one cannot fit a sheet with quantities."""


_CONTACT, _MANY_CONTACTS = "clientecontato", 2
_CONTACT_WORDS = frozenset({"contato", "cargo", "ramal"})
_MOVES = frozenset({"entrada", "saida"})
_MOVE_WORDS = _MOVES | {"recebimento", "recebida", "baixa", "baixada", "retirada"}
_MOVE_WORDS |= {"consumo", "destino"}
_ONE_EACH = Confidence.MEDIUM
"""Confidence in the key of records that have one row each."""


def choose_proposal(
    path: Path,
    proposals: Sequence[MappingProposal],
    resources: Sequence[Resource],
    cells: SheetCells,
    position: int,
    columns: Sequence[ForeignColumn],
) -> MappingProposal:
    """Return the proposal for the most likely resource.

    Raises ``UsageError`` with the gravest doubt: the sheet is no list of records, or may be for
    several resources.
    """
    counting = [
        proposal
        for proposal in proposals
        if not any(names & _COUNTED for names in proposal.foreign_names.values())
    ]
    titled = _resources_in_names(resources, path, cells, position)
    # A record of which each has one row proves no items.
    with_items = [
        len(one.used_headers)
        for one in counting
        if one.lists
        and (one.base or all(c.confidence != _ONE_EACH for c in one.columns if c.name == KEY))
    ]
    if with_items:
        # A row for each item: it is no stock entry, unless that uses more of the columns.
        counting = [
            one
            for one in counting
            if one.lists or one.resource.name in titled or len(one.used_headers) > max(with_items)
        ]
    # Texts above the header may apply to several columns.
    above = (
        [value for value in cells.row(position - 1) if isinstance(value, str)] if position else []
    )
    # So may the word that all rows have in a column, such as "Despesas".
    same = (one.words[0] for one in columns if one.filled == 1 and len(one.words) == 1)
    said = {side for text in (*above, *same) if (side := side_of(text))}
    headers = proposals[0].header
    sides = said | {side for text in headers if (side := side_of(text))}
    # A layout of clients is that of suppliers, too, if the names say so.
    others = REGISTRIES - titled if REGISTRIES & titled else ()
    counting = [one for one in counting or proposals if one.resource.name not in others]
    if len(sides) == 1 and sides == {name for text in headers for name in _parties_called(text)}:
        # A sheet that names suppliers, and no clients, is no list of what clients owe.
        counting = [
            one
            for one in counting
            if one.base is not None
            or one.resource.name in titled
            or one.resource.name in REGISTRIES
            or party_of(one.resource) not in PARTIES.keys() - sides
        ] or counting
    ranked, is_clear = _ranked(counting, titled, sides, said)
    best = ranked[0]
    months = [header for header in best.header if mapping_words(header) & MONTHS.keys()]
    if len(months) >= MIN_MONTHS:
        raise month_columns(months)
    # 1, 2, 3 … below "Item" is no product.
    meant = [one.header for one in columns if not one.is_counter]
    owners = _owners_of_columns(meant, resources, [p.resource for p in counting])
    if owners and not best.lists and best.resource.name not in titled:
        raise _rows_of_lists(owners)
    numbers = {text for text in best.header if document_words(text)}
    most = math.inf if numbers & best.used_headers or not numbers else len(best.used_headers)
    named = [
        one
        for one in counting
        if one.resource.name in titled
        or (one.weight == -math.inf and numbers & one.used_headers and len(one.used_headers) > most)
    ]
    if named and not best.lists and all(one.weight == -math.inf for one in named):
        # Such as orders without their items.
        titles = _titles(proposal.resource for proposal in named)
        hint = _HOW_TO_ADD_LISTS.format(name=named[0].resource.name)
        raise UsageError(_NO_LISTS.format(titles=titles), hint)
    # Quantities beside nearly nothing but the columns of a registry may be its stock.
    registries = [one for one in proposals if one.weight > best.weight + _MUCH]
    if not best.lists and best.resource.name not in titled and best.base is None and registries:
        is_clear, ranked = False, [*registries, *ranked]
    if not is_clear:
        raise _no_resource(path, ranked, titled)
    balances = [
        one for one in best.ignore if any(phrase <= mapping_words(one) for phrase in _BALANCES)
    ]
    if balances and "descricaoDoProduto" in best.resource.by_name:
        message = _LIST_OF_BALANCES.format(headers=", ".join(balances))
        raise UsageError(message, _HOW_TO_COUNT.format(name=best.resource.name))
    if not best.lists and _has_repeated_documents(best, cells, position):
        own = {column.name for column in best.columns}
        raise _rows_of_lists(
            [
                one
                for one in resources
                if (one.names_with_lists - one.by_name.keys()) & _PRODUCTS
                and own & one.by_name.keys() & PARTIES.keys()
            ]
        )
    return best


def _ranked(
    proposals: Sequence[MappingProposal], titled: Set[str], sides: Set[str], said: Set[str]
) -> tuple[list[MappingProposal], bool]:
    """Return proposals by their weights, the resources' names and the sheet's amounts, the best
    first; and whether the first one is clear. ``said`` are the ``sides`` of other texts than
    headers.

    It is unclear if another one is nearly as good, or uses the same headers: that it also requires
    columns which the sheet lacks proves nothing. Headers that records of any kind have neither do.
    """
    evidence: dict[str, float] = {}
    amounts = vocabulary().amounts
    has_both, sides = len(sides) > 1, sides if len(sides) == 1 else set()
    for proposal in proposals:
        resource = proposal.resource
        # A header of the resource's own columns may have its title ("Nome do cliente").
        own = (column for column in proposal.columns if "link" not in column.body)
        headers = [_stems([text]) for one in own for text in one.sources]
        titles = _title_stems(resource)
        has_title = any(title <= header for title in titles for header in headers)
        has_money = any(column.kind is Kind.MONEY for column in resource.columns)
        has_dates = any(column.kind is Kind.DATE for column in resource.columns)
        lacks_amounts = not has_money and any(says(one, amounts) for one in proposal.ignore)
        lacks_dates = not has_dates and any(map(is_due_date, proposal.ignore))
        evidence[resource.name] = (
            _TITLE_WEIGHT * (resource.name in titled)
            + _HEADER_WEIGHT * has_title
            - _SIDE_WEIGHT * (bool(sides) and party_of(resource) in PARTIES.keys() - sides)
            + _BASE_WEIGHT * (proposal.base is not None)
            - _AMOUNT_PENALTY * lacks_amounts
            - _AMOUNT_PENALTY * lacks_dates
        )
    ranked = sorted(proposals, key=lambda p: -p.weight - evidence[p.resource.name])
    best, bonus = ranked[0], evidence[ranked[0].resource.name]
    # "Cliente desde" is no name of a client, and "código da receita" may be that of a tax to pay.
    names = {
        side_of(one) for one in best.header if one in best.used_headers or _parties_called(one)
    }
    is_sided = best.resource.name in titled or party_of(best.resource) in sides & (names | said)
    is_named = best.base is not None or best.resource.name in titled
    used = [mapping_words(text) for text in best.used_headers]
    is_poor = best.weight < _LITTLE and len(used) <= _FEW * len(best.header)
    # Nothing that each record has, or orders without their items rather than titles to be paid.
    sources = {one.name for one in best.columns if one.sources}
    is_poor = is_poor or sources.isdisjoint(best.resource.required)
    if DUE_DATE in best.resource.by_name and DUE_DATE not in sources:
        documents = vocabulary().documents
        said = frozenset[str]().union(*map(document_words, best.header))
        is_poor = is_poor or bool(said - documents[best.resource.name])
    if not is_named and (is_poor or all(words <= _OF_ANY_RECORD for words in used)):
        return ranked, False
    contacts = sum(bool(mapping_words(text) & _CONTACT_WORDS) for text in best.header)
    for other in ranked[1:]:
        are_registries = best.resource.name in REGISTRIES and other.resource.name in REGISTRIES
        if best.base is not None and other.base is None:
            # A known layout is clear, but one of contacts has clients and suppliers.
            title = best.base.title
            if title is None or is_sided or not are_registries or side_of(title):
                continue
        # A client with a contact, or a contact of a client.
        is_contact = other.resource.name == _CONTACT and best.resource.name in REGISTRIES
        if is_contact and not is_named and contacts >= _MANY_CONTACTS and other.used_headers:
            return ranked, False
        # Nothing but the party tells receivables from payables, or registries of clients from those
        # of suppliers, unless a column is certainly that of one of them.
        parties = {party_of(best.resource), party_of(other.resource)}
        is_told = (
            are_registries
            and not has_both
            and any(
                not mapping_words(text) <= _OF_ANY_RECORD
                for column in best.columns
                if column.confidence is Confidence.HIGH
                for text in {*column.sources} - other.used_headers
            )
        )
        are_alike = _share(best, other) >= _MOSTLY_SAME and not is_told
        if parties == PARTIES.keys() and not is_sided and are_alike:
            return ranked, False
        moves = {best.resource.name, other.resource.name}
        tells_move = any(says(text, _MOVE_WORDS) for text in best.header)
        if moves == _MOVES and not is_named and are_alike and not tells_move:
            return ranked, False
        others = evidence[other.resource.name]
        is_same = others == bonus and _sources(other) == _sources(best)
        if best.weight + bonus - other.weight - others < _CLOSE:
            return ranked, False
        uses_all = not is_named and others == bonus and other.used_headers >= best.used_headers
        is_near = best.weight - other.weight < _MUCH
        # Each uses usual names of columns that the other one lacks.
        is_torn = (
            not is_named
            and len(other.used_headers) >= len(best.used_headers)
            and not other.used_headers.isdisjoint(best.foreign_names)
        )
        if (is_same or (uses_all and is_near) or is_torn) and other.weight > -math.inf:
            return ranked, False
    return ranked, True


def _parties_called(header: str) -> Set[str]:
    """Return the columns of parties of which a header, or one of its parts, is a usual name:
    "Cliente (nome fantasia)"."""
    parts = _PARTS.split(header)
    return {name for part in parts for name in columns_called(part) & PARTIES.keys()}


_PARTS = re.compile(r"[(/|]|\s+ou\s+")


def _share(best: MappingProposal, other: MappingProposal) -> float:
    """Return the share of the headers of the best proposal that another one uses, too, without
    those of the party."""
    party = party_of(best.resource)
    own = best.used_headers.difference(_sources(best).get(party or "", ()))
    return len(own & other.used_headers) / max(1, len(own))


def _sources(proposal: MappingProposal) -> dict[str, tuple[str, ...]]:
    """Return the source headers of each column that has some."""
    return {column.name: column.sources for column in proposal.columns if column.sources}


def _resources_in_names(
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


def _title_stems(resource: Resource) -> list[set[str]]:
    """Return the words of a resource's titles that identify it, in both languages."""
    titles = (_stems([text]) for text in (resource.title.pt, resource.title.en))
    return list(filter(None, (title - _stems(["contas a"]) for title in titles)))


def _stems(texts: Iterable[str]) -> set[str]:
    return {word[:_STEM] for text in texts for word in mapping_words(text)}


def _owners_of_columns(
    headers: Sequence[str], resources: Iterable[Resource], fitting: Iterable[Resource]
) -> list[Resource]:
    """Return the resources with most columns in the sheet, if it has items of their lists and no
    ``fitting`` resource has as many of its columns."""
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
    return [one for count, one in with_lists if count == most] if most > best else []


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
    page=Text(
        pt="O saldo muda por contagem (baixe o modelo de inventário) ou por entradas e saídas; se "
        "as linhas são produtos a cadastrar, escolha o tipo de registro em Abrir.",
        en="A balance changes by a count (download the template of counts) or by inputs and "
        "outputs; if the rows are products to register, choose the kind of record under Open.",
    ),
)


def _has_repeated_documents(proposal: MappingProposal, cells: SheetCells, position: int) -> bool:
    """Return whether a sheet of titles has several products or items with the same document, like
    those of orders; ``position`` is the header's."""
    header = [str(value).strip() for value in cells.row(position)]
    numbers = _sources(proposal).get(_DOCUMENT, ())
    if len(numbers) != 1 or numbers[0] not in header:
        return False
    number = cells.columns[header.index(numbers[0])]
    rows = [row for row in range(position + 1, cells.height) if number.value(row) != ""]
    columns = dict(zip(header, cells.columns, strict=False))
    for name in header:
        if mapping_words(name) & _ITEM_NUMBERS:
            # Items are counted from 1 in each document, and some have several.
            counts = Counter[object]()
            for row in rows:
                counts[number.value(row)] += 1
                shown = display(columns[name].value(row)).lstrip("0")
                if shown != str(counts[number.value(row)]):
                    break
            else:
                if max(counts.values(), default=0) > 1:
                    return True
    for name in proposal.ignore:
        if name in columns and columns_called(name) & _PRODUCTS:
            pairs = {(number.value(row), columns[name].value(row)) for row in rows}
            if len(pairs) > len({document for document, _ in pairs}):
                return True
    return False


def month_columns(months: Sequence[str]) -> UsageError:
    """Return the error of a sheet with a column for each of the ``months``."""
    return UsageError(_MONTH_COLUMNS.format(months=", ".join(months)), _HOW_TO_UNPIVOT)


def _rows_of_lists(likely: Sequence[Resource]) -> UsageError:
    """Return the error that rows are items of lists, like those of the ``likely`` resources."""
    return UsageError(
        _ROWS_OF_LISTS.format(titles=_titles(likely)),
        _HOW_TO_SPLIT.format(name=likely[0].name if len(likely) == 1 else _ANY_RESOURCE),
    )


_DOCUMENT = "numeroDoDocumento"
_PRODUCTS = frozenset({"idProduto", "idProd", "descricaoDoProduto"})
_ITEM_NUMBERS = frozenset({"item", "itens"})
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
    page=Text(
        pt="Use as planilhas do modelo, que se baixa em Abrir; se as linhas são outra coisa, "
        "escolha o tipo de registro em Abrir.",
        en="Use the sheets of the template, which you download under Open; if the rows are "
        "something else, choose the kind of record under Open.",
    ),
)
_ANY_RESOURCE = Text(pt="RECURSO", en="RESOURCE")
MIN_MONTHS = 3
_MIN_LIST_COLUMNS = 2
_MONTH_COLUMNS = Text(
    pt="A planilha tem uma coluna para cada mês ({months}); na importação cada mês é uma linha.",
    en="The sheet has a column for each month ({months}); an import has a row for each.",
)
_HOW_TO_UNPIVOT = Text(
    pt="Passe os meses para linhas (no Excel: Dados > Da Tabela/Intervalo > Transformar Colunas em "
    "Linhas), ou informe o recurso com --resource.",
    en="Turn the months into rows (in Excel: Data > From Table/Range > Unpivot Columns), or choose "
    "the resource with --resource.",
    page=Text(
        pt="Passe os meses para linhas (no Excel: Dados > Da Tabela/Intervalo > Transformar "
        "Colunas em Linhas), ou escolha o tipo de registro em Abrir.",
        en="Turn the months into rows (in Excel: Data > From Table/Range > Unpivot Columns), or "
        "choose the kind of record under Open.",
    ),
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
    page=Text(
        pt="Distribua as colunas pelas planilhas do modelo, que se baixa em Abrir, unidas por "
        "chave; se as linhas são outra coisa, escolha o tipo de registro em Abrir.",
        en="Distribute the columns among the sheets of the template, which you download under "
        "Open, joined by chave; if the rows are something else, choose the kind of record under "
        "Open.",
    ),
)


def _titles(resources: Iterable[Resource]) -> Text:
    """Return the titles of resources with their names."""
    named = untranslated("{title} ({name})")
    return joined((named.format(title=one.title, name=one.name) for one in resources), ", ")


def _no_resource(path: Path, ranked: Sequence[MappingProposal], titled: Set[str]) -> UsageError:
    """Return the error of an unclear sheet, with the resources that use nearly as many of its
    headers as the best one, the best first, and what speaks for each."""
    said, known = frozenset[str](), vocabulary().documents
    said = said.union(*(document_words(text) for text in ranked[0].header))
    fitting = [
        one
        for one in ranked
        if one.used_headers
        and (one.weight > -math.inf or said & known.get(one.resource.name, frozenset()))
    ]
    if not fitting:
        return UsageError(_NO_KNOWN_HEADER.format(file=path), _HOW_TO_CHOOSE)
    least = _LIKELY * len(fitting[0].used_headers)
    likely = [one for one in fitting if len(one.used_headers) >= least][:_MAX_LIKELY]
    uses = [
        _USES.format(
            title=one.resource.title,
            name=one.resource.name,
            n=len(one.used_headers),
            of=len(one.header),
            why=joined(_reasons(one, likely, titled), ""),
        )
        for one in likely
    ]
    names, example = joined(uses, ", "), fitting[0].resource.name
    return UsageError(
        _SEVERAL_LIKELY.format(file=path, names=names),
        _FOR_EXAMPLE.format(file=as_arguments(path), name=example),
    )


def _reasons(
    proposal: MappingProposal, likely: Sequence[MappingProposal], titled: Set[str]
) -> Iterator[Text]:
    """Yield what speaks for a resource and not for the others."""
    others = [one.used_headers for one in likely if one is not proposal]
    own = [text for text in proposal.header if text in proposal.used_headers.difference(*others)]
    party, parties = party_of(proposal.resource), {party_of(one.resource) for one in likely}
    is_told = parties >= PARTIES.keys()
    named = [text for text in proposal.header if is_told and party and side_of(text) == party]
    if proposal.base is not None and proposal.base.title is not None:
        yield _KNOWN_LAYOUT.format(title=proposal.base.title)
    if headers := list(dict.fromkeys([*own, *named])):
        yield _SPEAKING.format(headers=", ".join(headers))
    sources = _sources(proposal).get(party or "", ()) if is_told else ()
    if party and sources and not named:
        yield _PARTY_OF[party].format(headers=", ".join(sources))
    if proposal.resource.name in titled:
        yield _SAID


_LIKELY = 0.75
_USES = Text(
    pt="{title} ({name}: usa {n} de {of} colunas{why})",
    en="{title} ({name}: uses {n} of {of} columns{why})",
)
_KNOWN_LAYOUT = Text(pt="; é o leiaute {title}", en="; it is the layout {title}")
_SPEAKING = Text(pt="; a favor: {headers}", en="; for it: {headers}")
_PARTY_OF = {
    "codigoDoCliente": Text(
        pt="; {headers} seria do cliente", en="; {headers} would be the client's"
    ),
    "codigoDoFornecedor": Text(
        pt="; {headers} seria do fornecedor", en="; {headers} would be the supplier's"
    ),
}
"""Remarks on the party that a resource reads from headers which name none, by its column."""
_SAID = Text(
    pt="; é o que diz o nome do arquivo, da planilha ou um título",
    en="; the name of the file or sheet or a title says so",
)
_SEVERAL_LIKELY = Text(
    pt="{file}: não dá para saber que tipo de registro a planilha tem; os mais prováveis: {names}.",
    en="{file}: it is not clear which kind of record the sheet has; the most likely: {names}.",
)
_FOR_EXAMPLE = Text(
    pt="Informe qual com --resource, por exemplo: xlbridge map {file} --resource {name}",
    en="Choose one with --resource, for example: xlbridge map {file} --resource {name}",
    page=CHOOSE_KIND,
)
_NO_KNOWN_HEADER = Text(
    pt="{file}: nenhum cabeçalho lembra uma coluna de um recurso.",
    en="{file}: no header resembles a column of a resource.",
)
_HOW_TO_CHOOSE = Text(
    pt="Veja os recursos e as suas colunas com xlbridge resources, e informe qual com --resource.",
    en="See the resources and their columns with xlbridge resources, and choose one with "
    "--resource.",
    page=CHOOSE_KIND,
)
