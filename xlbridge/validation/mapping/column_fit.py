"""Fit of a foreign column to a column of the resource: of its header and of its values.

A header fits by the column's own names, its names in other programs, or earlier mappings.
``synonyms.yaml`` declares the names in other programs and the words that headers consist of.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path
from typing import get_args

import msgspec
import numpy as np
import pandas as pd

from xlbridge.i18n import Text
from xlbridge.resources import KEY, Column, Kind, Resource, pandera_checks
from xlbridge.resources.checks import DOCUMENTS, RULES, is_email
from xlbridge.settings import DateOrder, NumberStyle, ParseOptions
from xlbridge.validation.cells.coercion import type_column
from xlbridge.validation.cells.column_cells import ColumnCells
from xlbridge.validation.cells.row_words import is_total
from xlbridge.validation.cells.text import display
from xlbridge.validation.headers.header_row import (
    HeaderMatcher,
    header_key,
    header_texts,
    header_words,
)
from xlbridge.validation.mapping.cell_meanings import (
    NOTHING,
    all_values,
    bare_text,
    day_of,
    document_kind,
    month_of,
    valid_kinds,
)
from xlbridge.validation.mapping.mapping_file import (
    TO_FILL_IN,
    Scalar,
    value_key,
)
from xlbridge.workbook.read import CellColumn, CellKind, SheetCells

Words = frozenset[str]


@dataclass(frozen=True, slots=True)
class _Synonyms:
    """Synonyms of a column: its ``usual`` and ``possible`` names, and ``values`` of words."""

    usual: Sequence[str] = ()
    possible: Sequence[str] = ()
    values: Mapping[str, str | int | bool] = field(default_factory=dict)


@dataclass(frozen=True)
class _Vocabulary:
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
    goods: Words
    banks: frozenset[int]
    row_words: Mapping[str, Words]
    documents: Mapping[str, Words]
    document_numbers: Words

    @cached_property
    def fillers(self) -> Words:
        """Words that only indicate the kind of a column."""
        return self.amounts | self.dates | self.codes | self.other_fillers

    @cached_property
    def long_forms(self) -> Mapping[str, str]:
        """Words by their short forms."""
        return {short: word for word, forms in self.short_forms.items() for short in forms}


@cache
def _vocabulary() -> _Vocabulary:
    path = Path(__file__).with_name("synonyms.yaml")
    return msgspec.yaml.decode(path.read_bytes(), type=_Vocabulary)


def known_values(column: str) -> Mapping[str, str | int | bool]:
    """Return the words that have the same value of a column in every company."""
    return _synonyms(column).values


def _synonyms(column: str) -> _Synonyms:
    return _vocabulary().columns.get(column, _Synonyms())


def mapping_words(header: str) -> Words:
    """Return the words of a header without abbreviations."""
    spaced = _TABLE.sub("", header).replace("_", " ").replace("/", " ").replace("-mail", "mail")
    known = _vocabulary()
    parts = [part for word in header_words(spaced) for part in _parts(word, known)]
    words = frozenset(known.long_forms.get(word, word) for word in parts)
    return words or (frozenset({"valor"}) if "$" in header else words)


_TABLE = re.compile(r"^(?:[A-Z]\d|CTT)_(?=[A-Z])")
"""Prefix of the fields of a table, as in E1_VALOR."""


def _parts(word: str, known: _Vocabulary) -> Sequence[str]:
    """Split a field name that puts two words together."""
    for first, meaning in known.first_parts.items():
        last = known.last_parts.get(word.removeprefix(first))
        if last is not None and word.startswith(first):
            return [meaning, *last.split()]
    return [word]


def is_amount(header: str) -> bool:
    """Return whether a header has a word for an amount."""
    return not mapping_words(header).isdisjoint(_vocabulary().amounts)


def says_amount(header: str) -> bool:
    """Return whether a header has a word for an amount, a total or a balance."""
    known = _vocabulary()
    return not mapping_words(header).isdisjoint(known.amounts | known.other_amounts)


def is_bare_amount(header: str) -> bool:
    """Return whether a header says nothing but that it has an amount."""
    return mapping_words(header) <= _vocabulary().amounts


_COST_CENTRE = frozenset({"centro", "custo"})


def is_unknown_amount(header: str) -> bool:
    """Return whether a header has a word for an amount and none that makes it another one."""
    known, words = _vocabulary(), mapping_words(header)
    if words >= _COST_CENTRE:
        words -= _COST_CENTRE
    return not words.isdisjoint(known.amounts) and words.isdisjoint(
        known.other_things | known.other_units | known.goods
    )


def document_words(header: str) -> Words:
    """Return the words of documents in a header, if it is nothing but the number of one."""
    known, words = _vocabulary(), mapping_words(header)
    documents = frozenset[str]().union(*known.documents.values())
    return words & documents if words <= documents | known.document_numbers else frozenset()


def known_documents(resource: str) -> Words:
    """Return the words of the documents that the records of a resource are."""
    return _vocabulary().documents.get(resource, frozenset())


def is_due_date(header: str) -> bool:
    """Return whether a header has the words of a due date."""
    return any(phrase <= mapping_words(header) for phrase, _ in _phrases("dataDeVencimento"))


def is_other(header: str) -> bool:
    """Return whether a header has a word that makes its other words another thing."""
    return not mapping_words(header).isdisjoint(_vocabulary().other_things)


def side_of(text: str) -> str | None:
    """Return the party, by its column, that only one kind of titles has: clients owe receivables,
    suppliers get payables."""
    words = mapping_words(text)
    found = [column for column, known in _vocabulary().sides.items() if not words.isdisjoint(known)]
    return found[0] if len(found) == 1 else None


@cache
def _phrases(column: str) -> tuple[tuple[Words, bool], ...]:
    """Return the names of a column as words, with whether each is a usual one."""
    names = _synonyms(column)
    usual = [(mapping_words(name), True) for name in names.usual]
    return (*usual, *((mapping_words(name), False) for name in names.possible))


def _preference(position: int) -> float:
    """Return what is subtracted for the position of a column's name: the first ones are better."""
    return 0.002 * min(position, 5)


@cache
def words_of_names() -> Words:
    """Return all words of the names of columns."""
    names = (words for column in _vocabulary().columns for words, _ in _phrases(column))
    return frozenset[str]().union(*names)


@cache
def _names_without_amounts() -> frozenset[Words]:
    """Return the names of columns that have no name with a word for an amount."""
    amounts = _vocabulary().amounts
    columns = ([words for words, _ in _phrases(name)] for name in _vocabulary().columns)
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


_NUMBERS = frozenset({"numero", "number"})
_BARE_KIND = frozenset({"tipo"})


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
        if column.kind in {Kind.MONEY, Kind.NUMBER} and words & _vocabulary().other_units:
            return None
        found = [
            replace(fit, score=fit.score - _preference(position)) if usual else fit
            for position, (phrase, usual) in enumerate(_phrases(column.name))
            if (fit := _fit(words, phrase, usual)) and not _other_words(words - phrase, column)
        ]
        match = self._match(header)
        if match is not None and match.column == column.name:
            if match.is_certain:
                found.append(NameFit(0.95, _MISSPELT))
            elif words != _BARE_KIND and (
                column.kind not in {Kind.MONEY, Kind.NUMBER} or says_amount(header)
            ):
                found.append(NameFit(0.62, _PART))
        best = max(found, key=lambda fit: fit.score, default=None)
        if best is None or best.score >= 0.9:
            return best
        return None if _is_other_thing(words, column) else best


@cache
def columns_called(header: str) -> frozenset[str]:
    """Return the columns of any resource that have the header as a usual name."""
    fillers = _vocabulary().fillers
    words = frozenset(word for word in mapping_words(header) if not word.isdecimal())
    return frozenset(
        column
        for column in _vocabulary().columns
        if any(phrase <= words <= phrase | fillers for phrase, usual in _phrases(column) if usual)
    )


def _fit(words: Words, phrase: Words, usual: bool) -> NameFit | None:
    """Compare a header with one of a column's names: equal, equal except for words such as
    "código", or with additional words."""
    if words == phrase:
        # "ID" rather means the other system's own number than a code that people know.
        possible = 0.69 if words == {"id"} else 0.7
        return NameFit(0.92, _USUAL) if usual else NameFit(possible, _POSSIBLE)
    known = _vocabulary()
    fillers = known.fillers
    specific, expected = words - fillers, phrase - fillers
    if not expected or not specific:
        return None
    # A bare noun is no name of its amount, date or number: "parcela" is not "valor da parcela".
    said = known.amounts | known.other_amounts
    if (phrase & known.amounts and not words & said) or (
        phrase & known.dates and not words & known.dates
    ):
        return None
    usual = usual and (bool(words & fillers) or not phrase & known.codes)
    if specific == expected:
        return NameFit(0.88, _USUAL) if usual else NameFit(0.66, _POSSIBLE)
    if expected < specific:
        additional = len(specific) - len(expected)
        return NameFit((0.64 if usual else 0.5) - 0.05 * additional, _ALIKE)
    return None


def _other_words(additional: Words, column: Column) -> Words:
    """Return the words besides a column's name that make a header's meaning another one: the cost
    price is not the price, the total of a boleto is not its number."""
    known = _vocabulary()
    is_amount = column.kind in {Kind.MONEY, Kind.NUMBER}
    return additional & (known.other_things | (frozenset() if is_amount else known.other_amounts))


def _is_other_thing(words: Words, column: Column) -> bool:
    """Return whether a header names something else that is related to the column."""
    known = _vocabulary()
    names = {phrase for phrase, _ in _phrases(column.name)}
    own_words = set().union(*names)
    if (words & known.other_things) - own_words:
        return True
    if column.kind in {Kind.MONEY, Kind.NUMBER}:
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


def words_of_rows(kind: str) -> Words:
    """Return the words of cells that say what a row is: open, settled, in, out."""
    return _vocabulary().row_words[kind]


MAX_VALUES = 200
"""Number of words that a person can map one by one."""


_MOSTLY = 0.8
_MIN_RECORD_CELLS = 2
_MAX_ROWS = 20_000
_SAMPLE_ROWS = 200
_RULES_WEIGHT = 0.4
_NO_TEXTS = frozenset({CellKind.DATE, CellKind.DATETIME, CellKind.TIME, CellKind.BOOLEAN})
_LISTED_CODE = re.compile("codigod[oa]", re.IGNORECASE)
_DIGIT = re.compile(r"\d")
_LETTER = re.compile(r"[^\W\d_]")
_ONE_CODE = re.compile(r"\S*\d\S*")
_LETTERS = re.compile(r"[^\W\d_]{2}")
_DATE = re.compile(
    r"[0-3]?\d(/[01]?\d/(\d\d){1,2}|[.-][01]?\d[.-][12]\d{3})( \d{1,2}:.*)?"
    r"|[12]\d{3}-[01]\d-[0-3]\d.*"
)
_PT_CENTS = re.compile(r"\d,\d{2}\s*$")
_EN_CENTS = re.compile(r"\d\.\d{2}\s*$")
_AMOUNT = re.compile(r"[(+−-]?\s*(R\$)?\s*[(+−-]?\s*\d[\d.,]*\s*[)−-]?\s*[CD]?")
_BANK_DIGITS, _MANY_ACCOUNTS, _BRANCH_DIGITS = 3, 30, 6
_ACCOUNTS = frozenset({"codigoDaContaCorrente"})
_NUMBERED = frozenset({"numeroDoDocumento", "documento"})


_LARGE_REGISTRIES = frozenset({"cliente", "fornecedor", "produto"})


def is_name(text: str) -> bool:
    """Return whether a text in a column of codes is a name, unlike 1.01.001, VND1 and A."""
    has_space = len(text.split()) > 1
    return _LETTERS.search(text) is not None and (has_space or not _DIGIT.search(text))


@dataclass(frozen=True)
class ForeignColumn:
    """A column of a foreign sheet: its header, the first of its filled cells and all of them, and
    the share of filled rows; ``declared`` is the number style declared by the user, ``group`` the
    text above the header that applies to several columns."""

    header: str
    cells: CellColumn
    all_cells: CellColumn
    filled: float
    declared: NumberStyle | None = None
    group: str = ""

    @property
    def values(self) -> list[object]:
        """Values of the sampled cells."""
        return all_values(self.cells)

    @property
    def texts(self) -> list[str]:
        """The distinct values of the sampled cells as texts, in their order."""
        return _distinct_texts(self.values)

    @cached_property
    def words(self) -> list[str]:
        """The distinct values of all cells as texts, in their order."""
        return _distinct_texts(all_values(self.all_cells))

    def document_kinds(self) -> set[str]:
        """Return the kinds of documents if nearly all values are documents, else nothing.

        Most check digits must be valid: telephone numbers have the length of a CPF.
        """
        known = list(filter(None, map(document_kind, self.values)))
        valid = sum(bool(valid_kinds(bare_text(value))) for value in self.values)
        if len(known) < _MOSTLY * len(self.cells.kinds) or 2 * valid < len(known):
            return set()
        return set(known)

    @cached_property
    def is_counter(self) -> bool:
        """True if the values count: 1, 2, 3 …, again from 1 for each group."""
        numbers = [int(t) if (t := display(v).strip()).isdecimal() else 0 for v in self.values]
        steps = [after - before for before, after in pairwise([0, *numbers])]
        again = [after == 1 for after in numbers]
        return (
            len(numbers) > 1
            and max(numbers) > 1
            and all(step == 1 or first for step, first in zip(steps, again, strict=True))
        )

    @cached_property
    def may_be_branches(self) -> bool:
        """True unless each row has another value, or one is too long for the code of a branch."""
        texts = self.texts
        are_all_different = len(texts) > _MIN_RECORD_CELLS and len(texts) == len(self.cells.kinds)
        are_long = any(text.isdecimal() and len(text) > _BRANCH_DIGITS for text in texts)
        return not are_all_different and not are_long

    @cached_property
    def are_bank_numbers(self) -> bool:
        """True if all values are numbers of Brazilian banks, which are no accounts."""
        texts = self.texts
        if not texts or not all(map(str.isdecimal, texts)):
            return False
        numbers = set(map(int, texts))
        # An account may have a small number, but hardly one that is written as 001.
        are_written = all(len(text) == _BANK_DIGITS for text in texts)
        return numbers <= _vocabulary().banks and (are_written or max(numbers) > _MANY_ACCOUNTS)

    @cached_property
    def are_dates(self) -> bool:
        """True if nearly all values are dates or texts of dates."""
        dates = sum(
            kind in {CellKind.DATE, CellKind.DATETIME}
            or (isinstance(value, str) and _DATE.fullmatch(value.strip()) is not None)
            for kind, value in zip(self.cells.kinds, self.values, strict=True)
        )
        return dates > 0 and dates >= _MOSTLY * len(self.cells.kinds)

    @cached_property
    def amounts(self) -> float:
        """Share of the rows with an amount other than zero, none if other texts are among them."""
        shown = [display(value).strip() for value in self.values]
        given = [text for text in shown if not NOTHING.fullmatch(text)]
        if self.are_dates or not all(map(_AMOUNT.fullmatch, given)):
            return 0.0
        return self.filled * len(given) / max(1, len(shown))

    @cached_property
    def are_days(self) -> bool:
        """True if all values are days of a month, such as "todo dia 10"."""
        return bool(self.texts) and all(day_of(value) is not None for value in self.values)

    @cached_property
    def are_months(self) -> bool:
        """True if all values are months with their year."""
        return bool(self.texts) and all(month_of(value) is not None for value in self.values)

    def are_texts(self) -> bool:
        """Return whether the values are texts, and no dates."""
        return not self.are_dates and any(isinstance(value, str) for value in self.values)

    def are_names(self) -> bool:
        """Return whether nearly all values are words, like names of people and things."""
        names = sum(isinstance(v, str) and _LETTERS.search(v) is not None for v in self.values)
        return names > 0 and names >= _MOSTLY * len(self.cells.kinds)

    def are_emails(self) -> bool:
        """Return whether nearly all values are e-mail addresses."""
        values = self.texts
        return bool(values) and sum(map(is_email, values)) >= _MOSTLY * len(values)

    def number_style(self) -> NumberStyle | None:
        """Return the style of the text numbers among the values, None if it is unknown."""
        texts = [value for value in self.values if isinstance(value, str)]
        pt, en = (any(map(cents.search, texts)) for cents in (_PT_CENTS, _EN_CENTS))
        if pt != en:
            return "pt" if pt else "en"
        return self.declared if texts else None


def _distinct_texts(values: Iterable[object]) -> list[str]:
    texts = [text for value in values if (text := display(value).strip())]
    return list({value_key(text): text for text in reversed(texts)}.values())[::-1]


def record_rows(cells: SheetCells, position: int) -> list[int]:
    """Return the zero-based rows below a header that seem to be records: several cells, no
    total."""
    found = []
    for row in range(position + 1, min(cells.height, position + 1 + _MAX_ROWS)):
        values = [value for value in cells.row(row) if value != ""]
        texts = [value for value in values if isinstance(value, str)]
        if len(values) >= _MIN_RECORD_CELLS and not any(map(is_total, texts)):
            found.append(row)
    return found


def foreign_columns(cells: SheetCells, position: int) -> tuple[list[ForeignColumn], list[str]]:
    """Return the unique columns with samples of their cells, and the repeated headers; ``position``
    is the zero-based header row."""
    headers = [" ".join(text.split()) for text in header_texts(cells, position)]
    counts = Counter(map(header_key, headers))
    # A group is the text above its headers, or the nearest one to the left. A single text above
    # the header is a title.
    above = [text.strip() for text in header_texts(cells, position - 1)] if position else []
    groups = [""] * len(headers)
    if 1 < sum(map(bool, above)) < sum(map(bool, headers)):
        for number, text in enumerate(above):
            groups[number] = text or (groups[number - 1] if number else "")
    columns, repeated, rows = [], [], record_rows(cells, position)
    for header, column, group in zip(headers, cells.columns, groups, strict=True):
        key = header_key(header)
        if key and counts[key] > 1:
            repeated.append(header)
        elif key:
            filled = [row for row in rows if column.kind(row) is not CellKind.EMPTY]
            sample, share = column.select(filled[:_SAMPLE_ROWS]), len(filled) / max(1, len(rows))
            everything = column.select(filled)
            columns.append(ForeignColumn(header, sample, everything, share, group=group))
    return columns, repeated


def fit(column: Column, foreign: ForeignColumn) -> float | None:
    """Return the share of the values that a column accepts unchanged, None if there are none.

    For a text column, words count more than numbers and dates.
    """
    size = len(foreign.cells.kinds)
    if not size:
        return None
    if column.kind in DOCUMENTS:
        return list(map(document_kind, foreign.values)).count(column.kind) / size
    if column.kind.is_text and (foreign.are_dates or not _NO_TEXTS.isdisjoint(foreign.cells.kinds)):
        return 0.0
    if column.name in _ACCOUNTS and foreign.are_bank_numbers:
        return 0.0
    if column.name in _NUMBERED and not any(map(_DIGIT.search, foreign.texts)):
        return 0.0
    # Ambiguous values may fit the column either way.
    style = foreign.number_style()
    readings = [ParseOptions(numbers=style)]
    if column.kind is Kind.DATE:
        readings = [ParseOptions(dates=order) for order in get_args(DateOrder)]
    elif column.kind.is_number and style is None:
        readings = [ParseOptions(numbers=either) for either in get_args(NumberStyle)]
    share = max(_share(column, foreign.cells, reading) for reading in readings)
    if column.required and foreign.filled < _MOSTLY:
        share *= foreign.filled
    takes_words = not column.allowed and not column.measure and column.name != KEY
    if column.kind is Kind.TEXT and takes_words:
        words = sum(
            _LETTERS.search(text) is not None and not _ONE_CODE.fullmatch(text)
            for text in foreign.texts
        )
        share *= 0.4 + 0.6 * words / max(1, len(foreign.texts))
    if column.kind is Kind.CODE and "telephone" not in column.checks:
        words = sum(" " in t and _LETTERS.search(t) is not None for t in foreign.texts)
        share *= 1 - words / max(1, len(foreign.texts)) / 2
    return share


def _share(column: Column, cells: CellColumn, reading: ParseOptions) -> float:
    """Return the share of cells that have a column's type and satisfy its rules."""
    size = len(cells.kinds)
    found = ColumnCells(cells, np.arange(1, size + 1))
    values, problems = type_column(column, found, reading)
    typed = good = ~problems.failed
    for name, check in pandera_checks(column).items():
        if not RULES[name].whole_column:
            checked = check(pd.Series(values)).check_output
            good = good.copy()
            good[checked.index[~checked.to_numpy(dtype=bool, na_value=True)]] = False
    return float((1 - _RULES_WEIGHT) * typed.sum() + _RULES_WEIGHT * good.sum()) / size


def listed_values(column: Column, foreign: ForeignColumn) -> dict[str, Scalar]:
    """Return the mapping of each value of a foreign column, ``TO_FILL_IN`` if only a person of the
    company knows it; codes among names stay as they are."""
    known = known_values(column.name)
    listed: dict[str, Scalar] = {}
    for text in foreign.words:
        number = text.replace(".", "").strip()
        if column.kind.is_number and number.isdecimal():
            listed[text] = int(number)
        elif column.kind is Kind.CODE and not is_name(text):
            listed[text] = text
        else:
            listed[text] = known.get(text.casefold(), TO_FILL_IN)
    return listed


def can_list_values(column: Column, foreign: ForeignColumn) -> bool:
    """Return whether a list can map the values of a foreign column to a column's: words, so few
    that a person can map each of them.

    Names of what the system has no listing of, such as categories, can only be listed.
    """
    if not 0 < len(foreign.words) <= MAX_VALUES:
        return False
    if all(value != TO_FILL_IN for value in listed_values(column, foreign).values()):
        return all(map(_LETTER.search, foreign.words))
    # Names of branches, accounts, categories and so on, some of them perhaps with their codes.
    return takes_listed_names(column) and any(map(is_name, foreign.words))


def takes_listed_names(column: Column) -> bool:
    """Return whether a column has codes that a company gives to its own things, such as branches
    and categories; documents of others and bar codes have none."""
    is_large = column.references in _LARGE_REGISTRIES
    return _LISTED_CODE.match(column.name) is not None and not column.allowed and not is_large
