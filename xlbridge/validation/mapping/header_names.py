"""Words of foreign headers, and the columns of a resource that they name.

A header fits by the column's own names, its names in other programs, or earlier mappings.
``synonyms.yaml`` declares the names in other programs and the words that headers consist of.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, lru_cache
from pathlib import Path

import msgspec

from xlbridge.i18n import Text
from xlbridge.resources import Column, Kind, Resource
from xlbridge.validation.header_row import HeaderMatcher, header_key, header_words

Words = frozenset[str]
_LONG = 5


@dataclass(frozen=True, slots=True)
class _Synonyms:
    """Synonyms of a column: its ``usual`` and ``possible`` names, and ``values`` of words."""

    usual: Sequence[str] = ()
    possible: Sequence[str] = ()
    values: Mapping[str, str | int | bool] = field(default_factory=dict)


@dataclass(frozen=True)
class Vocabulary:
    """Content of ``synonyms.yaml``, which explains each part."""

    columns: Mapping[str, _Synonyms]
    short_forms: Mapping[str, Sequence[str]]
    first_parts: Mapping[str, str]
    last_parts: Mapping[str, str]
    amounts: Words
    other_amounts: Words
    dates: Words
    codes: Words
    other_fillers: Words
    names: Words
    sides: Mapping[str, Words]
    other_things: Words
    other_units: Words
    other_persons: Words
    taxes: Words
    goods: Words
    rates: Words
    banks: frozenset[int]
    row_words: Mapping[str, Words]
    documents: Mapping[str, Words]
    document_numbers: Words
    flags: Words
    accounts: Words

    @cached_property
    def fillers(self) -> Words:
        """Words that only indicate the kind of a column."""
        return self.amounts | self.dates | self.codes | self.other_fillers

    @cached_property
    def all_amounts(self) -> Words:
        """Words for an amount, a total or a balance."""
        return self.amounts | self.other_amounts

    @cached_property
    def others(self) -> Words:
        """Words that make the other words of a header another thing, or another person's."""
        return self.other_things | self.other_persons

    @cached_property
    def long_forms(self) -> Mapping[str, str]:
        """Words by their short forms."""
        return {short: word for word, forms in self.short_forms.items() for short in forms}

    @cached_property
    def long_words(self) -> Words:
        """Words of the names of columns that are long enough to be told within another word."""
        names = (
            name for column in self.columns.values() for name in (*column.usual, *column.possible)
        )
        return frozenset(word for name in names for word in name.split() if len(word) >= _LONG)


@cache
def vocabulary() -> Vocabulary:
    """Return the words of foreign headers and cells."""
    path = Path(__file__).with_name("synonyms.yaml")
    return msgspec.yaml.decode(path.read_bytes(), type=Vocabulary)


def known_values(column: str) -> Mapping[str, str | int | bool]:
    """Return the words that have the same value of a column in every company."""
    return _synonyms(column).values


def _synonyms(column: str) -> _Synonyms:
    return vocabulary().columns.get(column, _Synonyms())


@lru_cache(maxsize=4096)
def mapping_words(header: str) -> Words:
    """Return the words of a header without abbreviations."""
    spaced = _TABLE.sub("", header).replace("_", " ").replace("/", " ").replace("-mail", "mail")
    known = vocabulary()
    parts = [part for word in header_words(spaced) for part in _parts(word, known)]
    words = frozenset(known.long_forms.get(word, word) for word in parts)
    return words or (frozenset({"valor"}) if "$" in header else words)


_TABLE = re.compile(r"^(?:[A-Z]\d|CTT)_(?=[A-Z])")
"""Prefix of the fields of a table, as in E1_VALOR."""


def _parts(word: str, known: Vocabulary) -> Sequence[str]:
    """Split a field name that puts two words together."""
    for first, meaning in known.first_parts.items():
        rest = word.removeprefix(first)
        last = known.last_parts.get(rest, rest if rest in known.long_words else None)
        if last is not None and rest != word:
            return [meaning, *last.split()]
    return [word]


def says(text: str, words: Words) -> bool:
    """Return whether a header or another text has one of the words."""
    return not mapping_words(text).isdisjoint(words)


_COST_CENTRE = frozenset({"centro", "custo"})


def is_unknown_amount(header: str) -> bool:
    """Return whether a header has a word for an amount and none that makes it another one."""
    known, words = vocabulary(), mapping_words(header)
    if words >= _COST_CENTRE:
        words -= _COST_CENTRE
    others = known.other_things | known.other_units | known.goods | known.rates
    return not words.isdisjoint(known.amounts) and words.isdisjoint(others) and not _is_part(words)


def _is_part(words: Words) -> bool:
    """Return whether the words are those of the part of an amount that one category or cost centre
    has, or several of them in columns: "valor na categoria 1"."""
    rest = frozenset(w for w in words - vocabulary().fillers if not w.isdecimal())
    return any(rest == phrase for name in _SPLIT_AMOUNTS for phrase, _ in _phrases(name))


def document_words(header: str) -> Words:
    """Return the words of documents in a header, if it is nothing but the number of one."""
    known, words = vocabulary(), mapping_words(header)
    documents = frozenset[str]().union(*known.documents.values())
    return words & documents if words <= documents | known.document_numbers else frozenset()


DUE_DATE = "dataDeVencimento"
"""Column of the due date of titles and instalments."""


def is_due_date(header: str) -> bool:
    """Return whether a header has the words of a due date."""
    return any(phrase <= mapping_words(header) for phrase, _ in _phrases(DUE_DATE))


@dataclass(frozen=True, slots=True)
class Party:
    """Party of titles: its ``registry``, the sign of its amounts beside those of others, and the
    words of its rows and of the others."""

    registry: str
    sign: str
    sides: tuple[str, str]


PARTIES = {
    "codigoDoCliente": Party("cliente", "positive", ("in", "out")),
    "codigoDoFornecedor": Party("fornecedor", "negative", ("out", "in")),
}
"""Parties of receivables and payables by their columns."""

REGISTRIES = frozenset(party.registry for party in PARTIES.values())
"""Registries of the parties."""


def party_of(resource: Resource) -> str | None:
    """Return the column of the only party that a resource has, or of which it is the registry."""
    found = [
        name
        for name, party in PARTIES.items()
        if name in resource.by_name or party.registry == resource.name
    ]
    return found[0] if len(found) == 1 else None


def side_of(text: str) -> str | None:
    """Return the party, by its column, that only one kind of titles has: clients owe receivables,
    suppliers get payables."""
    words = mapping_words(text)
    found = [column for column, known in vocabulary().sides.items() if not words.isdisjoint(known)]
    return found[0] if len(found) == 1 else None


@cache
def _phrases(column: str) -> tuple[tuple[Words, bool], ...]:
    """Return the names of a column as words, with whether each is a usual one."""
    names = _synonyms(column)
    usual = [(mapping_words(name), True) for name in names.usual]
    return (*usual, *((mapping_words(name), False) for name in names.possible))


@cache
def words_of_names() -> Words:
    """Return all words of the names of columns."""
    names = (words for column in vocabulary().columns for words, _ in _phrases(column))
    return frozenset[str]().union(*names)


@cache
def _names_without_amounts() -> frozenset[Words]:
    """Return the names of columns that have no name with a word for an amount."""
    amounts = vocabulary().amounts
    columns = ([words for words, _ in _phrases(name)] for name in vocabulary().columns)
    return frozenset(
        words for names in columns if not any(n & amounts for n in names) for words in names
    )


_EARLIER = Text(
    pt="um mapeamento anterior usa este cabeçalho", en="an earlier mapping uses this header"
)
_OWN_NAME = Text(pt="é o nome da coluna", en="it is the column's own name")
_MISSPELT = Text(
    pt="é o nome da coluna com outra grafia", en="it is the column's name in another spelling"
)
_USUAL = Text(pt="é um nome usual da coluna", en="it is a usual name of the column")
_POSSIBLE = Text(
    pt="é um nome possível da coluna, mas também de outras coisas",
    en="it is a possible name of the column, but also of other things",
)
_ALIKE = Text(
    pt="tem as palavras de um nome usual da coluna", en="it has the words of a usual name"
)
_PART = Text(pt="é parte do nome da coluna", en="it is a part of the column's name")


_OF_CONTACTS = frozenset({"telefone", "celular", "phone", "whatsapp", "email"})
_NUMBERS = frozenset({"numero", "number"})
_DOCUMENTS = frozenset({"numeroDoDocumento", "documento"})
_BARE_KIND = frozenset({"tipo"})
_NOT_OF_A_PARTY = frozenset({"codigoDaContaCorrente", "codigoDaFilial", "idws"})
_OTHER_OWNERS = frozenset({"cliente", "fornecedor", "banco", "contato"})
_SPLIT_AMOUNTS = ("codigoDoItemDeLancamento", "codigoDoCentroDeCusto")
"""Columns among whose codes an amount may be split: "valor na categoria" is a part of it."""
_ALTERNATIVES = re.compile(r"\s*[/|]\s*|\s+ou\s+")


_ALSO = 0.88
"""Fit of a header with two names of a column: "Fornecedor/Credor"."""


@dataclass(frozen=True, slots=True, order=True)
class NameFit:
    """Fit of a header to a column, from 0 to 1, and the reason."""

    score: float
    reason: Text


class NameMatcher:
    """Matcher of headers to the columns of a resource; ``earlier`` maps the keys of headers in
    confirmed mappings to columns."""

    def __init__(self, resource: Resource, earlier: Mapping[str, str]) -> None:
        self._names = resource.headers
        self._has_quantities = "quantidade" in resource.by_name
        self._is_bought = "codigoDoFornecedor" in resource.by_name
        # Cached, as each header is compared with every column.
        self._match = cache(HeaderMatcher(resource, resource.by_name).match)
        self._earlier = earlier

    def fit(self, header: str, column: Column) -> NameFit | None:
        """Return the fit of a header to a column, None if it does not fit."""
        key = header_key(header)
        if self._earlier.get(key) == column.name:
            return NameFit(1.0, _EARLIER)
        if self._names.get(key) == column.name:
            return NameFit(0.98, _OWN_NAME)
        words = mapping_words(header)
        if column.kind in {Kind.MONEY, Kind.NUMBER} and words & vocabulary().other_units:
            return None
        # The price in a registry is not what the product costs.
        if column.name == "valorUnitario" and "custo" in words and not self._has_quantities:
            return None
        # What is bought belongs to an "ordem" of this system, not to the document of another one.
        if column.name == "numeroDaOrdem" and self._is_bought and "ordem" not in words:
            return None
        # The first names of a column are better.
        found = [
            replace(fit, score=fit.score - 0.002 * min(position, 5)) if usual else fit
            for position, (phrase, usual) in enumerate(_phrases(column.name))
            if (fit := _fit(words, phrase, usual)) and not _other_words(words - phrase, column)
        ]
        parts = _ALTERNATIVES.split(header)
        alike = [self.fit(part, column) for part in parts] if len(parts) > 1 else []
        named = [fit for fit in alike if fit is not None and fit.reason in {_USUAL, _POSSIBLE}]
        if alike and len(named) == len(parts):
            found.append(min(max(named), NameFit(_ALSO, _USUAL)))
        match = self._match(header)
        if match is not None and match.column == column.name:
            if match.is_certain:
                found.append(NameFit(0.95, _MISSPELT))
            elif words != _BARE_KIND and (
                column.kind not in {Kind.MONEY, Kind.NUMBER}
                or says(header, vocabulary().all_amounts)
            ):
                found.append(NameFit(0.62, _PART))
        best = max(found, key=lambda fit: fit.score, default=None)
        if column.name in _DOCUMENTS and best is not None and best.reason is _ALIKE:
            # A document with other words is another one: "nota de empenho", "NF da venda".
            return None
        if best is None or best.score >= 0.9:
            return best
        return None if _is_other_thing(words, column) else best


@cache
def columns_called(header: str) -> frozenset[str]:
    """Return the columns of any resource that have the header as a usual name."""
    fillers = vocabulary().fillers
    words = frozenset(word for word in mapping_words(header) if not word.isdecimal())
    return frozenset(
        column
        for column in vocabulary().columns
        if any(phrase <= words <= phrase | fillers for phrase, usual in _phrases(column) if usual)
    )


def _fit(words: Words, phrase: Words, usual: bool) -> NameFit | None:
    """Compare a header with one of a column's names: equal, equal except for words such as
    "código", or with additional words."""
    if words == phrase:
        # "ID" rather means the other system's own number than a code that people know.
        possible = 0.69 if words == {"id"} else 0.7
        return NameFit(0.92, _USUAL) if usual else NameFit(possible, _POSSIBLE)
    known = vocabulary()
    fillers = known.fillers
    specific, expected = words - fillers, phrase - fillers
    if not expected or not specific:
        return None
    # A bare noun is no name of its amount, date or number: "parcela" is not "valor da parcela".
    if (phrase & known.amounts and not words & known.all_amounts) or (
        phrase & known.dates and not words & known.dates
    ):
        return None
    # The "ID" of an invoice is the other system's own, rather than its number.
    if "id" in words - phrase:
        return None
    # The name of one thing is not that of another: of a pupil, a pet.
    if phrase <= known.names and expected < specific:
        return None
    usual = usual and (bool(words & fillers) or not phrase & known.codes)
    if specific == expected:
        # "Código do credor" says that it has the code which people know.
        possible = 0.72 if words & known.codes - _NUMBERS else 0.66
        return NameFit(0.88, _USUAL) if usual else NameFit(possible, _POSSIBLE)
    # A possible name with other words is another thing.
    if usual and expected < specific:
        additional = len(specific) - len(expected)
        return NameFit(0.64 - 0.05 * additional, _ALIKE)
    return None


def _other_words(additional: Words, column: Column) -> Words:
    """Return the words besides a column's name that make a header's meaning another one: the cost
    price is not the price, the total of a boleto is not its number."""
    known = vocabulary()
    others = known.others | known.taxes
    if column.kind not in {Kind.MONEY, Kind.NUMBER}:
        others |= known.other_amounts
    if "telephone" in column.checks:
        others |= known.codes - _NUMBERS
    elif "email" not in column.checks:
        others |= _OF_CONTACTS
    # The amount of a tax is not its rate.
    if column.name.casefold().startswith("aliquota"):
        others |= known.amounts
    # "Conta do cliente", "filial do banco" and "ID do cliente" belong to somebody else.
    if column.name in _NOT_OF_A_PARTY:
        others |= _OTHER_OWNERS
    return additional & others


def _is_other_thing(words: Words, column: Column) -> bool:
    """Return whether a header names something else that is related to the column."""
    known = vocabulary()
    names = {phrase for phrase, _ in _phrases(column.name)}
    own_words = set().union(*names)
    if (words & known.others) - own_words:
        return True
    if column.kind in {Kind.MONEY, Kind.NUMBER}:
        # "Valor por hora" is a rate, "valor na categoria" a part.
        if (words & known.rates) - own_words or (words not in names and _is_part(words)):
            return True
        # "Conta" is an account, not its amount; "documento" is a document, not its amount.
        if words in _names_without_amounts() - names:
            return True
    elif (words & known.amounts) - own_words:
        return True
    codes = known.codes - _NUMBERS
    if column.kind is Kind.TEXT and words & codes and not own_words & codes:
        return True
    if column.kind is not Kind.DATE and (words & known.dates) - own_words:
        return True
    return column.kind is not Kind.TEXT and bool((words & known.names) - own_words)
