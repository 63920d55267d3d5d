"""Foreign columns: what they have, and how they fit the columns of the resource."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import get_args

import numpy as np
import pandas as pd

from xlbridge.resources import KEY, Column, Kind, pandera_checks
from xlbridge.resources.checks import DOCUMENTS, RULES, is_email
from xlbridge.settings import DateOrder, NumberStyle, ParseOptions
from xlbridge.validation.cells.coercion import type_column
from xlbridge.validation.cells.contents import ColumnCells, display, is_total
from xlbridge.validation.cells.text_parsing import (
    NOTHING,
    all_values,
    bare_text,
    day_of,
    document_kind,
    is_of_other_sign,
    month_of,
    shown_text,
    valid_kinds,
)
from xlbridge.validation.header_row import header_key, header_texts
from xlbridge.validation.mapping.header_names import known_values, says, vocabulary
from xlbridge.validation.mapping.mapping_file import TO_FILL_IN, Scalar, value_key
from xlbridge.workbook.read import CellColumn, CellKind, SheetCells

MAX_VALUES = 200
"""Number of words that a person can map one by one."""


_MOSTLY = 0.8
_MIN_RECORD_CELLS = 2
_MAX_ROWS = 20_000
_SAMPLE_ROWS = 200
_RULES_WEIGHT = 0.4
_NO_TEXTS = frozenset({CellKind.DATE, CellKind.DATETIME, CellKind.TIME, CellKind.BOOLEAN})
_LISTED_CODE = re.compile("codigod[oa]", re.IGNORECASE)
DIGIT = re.compile(r"\d")
LETTER = re.compile(r"[^\W\d_]")
_ONE_CODE = re.compile(r"\S*\d\S*")
_LETTERS = re.compile(r"[^\W\d_]{2}")
_DATE = re.compile(
    r"[0-3]?\d(/[01]?\d/(\d\d){1,2}|[.-][01]?\d[.-][12]\d{3})( \d{1,2}:.*)?"
    r"|[12]\d{3}-[01]\d-[0-3]\d.*"
)
_PT_CENTS = re.compile(r"\d,\d{2}\s*$")
_EN_CENTS = re.compile(r"\d\.\d{2}\s*$")
_AMOUNT = re.compile(r"[(+−-]?\s*(R\$)?\s*[(+−-]?\s*\d[\d.,]*\s*[)−-]?\s*[CD]?")
_OF_CHART = re.compile(r"\d+(\.\d+){2,}")
"""Codes of a chart of accounts."""
_BANK_DIGITS, _MANY_ACCOUNTS, _BRANCH_DIGITS = 3, 30, 6
ACCOUNTS = frozenset({"codigoDaContaCorrente"})
NUMBERED = frozenset({"numeroDoDocumento", "documento"})


_LARGE_REGISTRIES = frozenset({"cliente", "fornecedor", "produto"})


def is_name(text: str) -> bool:
    """Return whether a text in a column of codes is a name, unlike 1.01.001, VND1 and A."""
    has_space = len(text.split()) > 1
    return _LETTERS.search(text) is not None and (has_space or not DIGIT.search(text))


@dataclass(frozen=True)
class ForeignColumn:
    """A column of a foreign sheet: its header, and the zero-based rows of its ``records``;
    ``declared`` is the number style declared by the user, ``group`` the text above the header that
    applies to several columns."""

    header: str
    source: CellColumn
    records: Sequence[int]
    declared: NumberStyle | None = None
    group: str = ""

    @cached_property
    def rows(self) -> Sequence[int]:
        """Rows with filled cells."""
        return [row for row in self.records if self.source.kind(row) is not CellKind.EMPTY]

    @cached_property
    def cells(self) -> CellColumn:
        """The first filled cells, a sample of all."""
        return self.source.select(self.rows[:_SAMPLE_ROWS])

    @property
    def filled(self) -> float:
        """Share of filled rows."""
        return len(self.rows) / max(1, len(self.records))

    @cached_property
    def values(self) -> list[object]:
        """Values of the sampled cells."""
        return all_values(self.cells)

    @cached_property
    def texts(self) -> list[str]:
        """The distinct values of the sampled cells as texts, in their order."""
        return _distinct_texts(self.values)

    @cached_property
    def words(self) -> list[str]:
        """The distinct values of all cells as texts, in their order."""
        return self.words_without(frozenset())

    def rows_with(self, words: Set[str]) -> set[int]:
        """Return the rows that have one of the words, given by their keys."""
        values = zip(self.rows, self.source.values(self.rows), strict=True)
        return {row for row, value in values if value_key(shown_text(value)) in words}

    def rows_of_other_sign(self, sign: str) -> set[int]:
        """Return the rows whose amounts do not have a sign."""
        values = zip(self.rows, self.source.values(self.rows), strict=True)
        return {row for row, value in values if is_of_other_sign(value, sign)}

    def words_without(self, left: Set[int]) -> list[str]:
        """Return the distinct values as texts, without those that only ``left`` rows have."""
        return _distinct_texts(self.source.values([row for row in self.rows if row not in left]))

    @cached_property
    def fits(self) -> dict[int, tuple[Column, float | None]]:
        """Columns with their fits, by their ids, as ``fit`` computes them."""
        return {}

    @cached_property
    def document_kinds(self) -> frozenset[str]:
        """The kinds of documents if nearly all values are documents, else none.

        Most check digits must be valid: telephone numbers have the length of a CPF.
        """
        known = list(filter(None, map(document_kind, self.values)))
        valid = sum(bool(valid_kinds(bare_text(value))) for value in self.values)
        if len(known) < _MOSTLY * len(self.cells.kinds) or 2 * valid < len(known):
            return frozenset()
        return frozenset(known)

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
        are_all_different = _MIN_RECORD_CELLS < len(texts) == len(self.cells.kinds)
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
        return numbers <= vocabulary().banks and (are_written or max(numbers) > _MANY_ACCOUNTS)

    @cached_property
    def are_flags(self) -> bool:
        """True if all values say yes or no."""
        return bool(self.words) and all(
            text.casefold() in vocabulary().flags for text in self.words
        )

    @cached_property
    def may_be_accounts(self) -> bool:
        """True unless all values are words, and none is the name of a bank or an account; each
        row has another number, as those of other companies; or all are those of a chart."""
        texts = self.texts
        if all(map(is_name, self.words)):
            return any(says(text, vocabulary().accounts) for text in self.words)
        are_all_different = _MIN_RECORD_CELLS < len(texts) == len(self.cells.kinds)
        are_others = are_all_different and not any(map(LETTER.search, texts))
        return not are_others and not all(map(_OF_CHART.fullmatch, texts))

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


def foreign_columns(cells: SheetCells, position: int) -> tuple[list[ForeignColumn], list[str]]:
    """Return the unique columns, and the repeated headers; ``position`` is the zero-based header
    row. Records are the rows below it with several cells, and no total."""
    headers = header_texts(cells, position)
    counts = Counter(map(header_key, headers))
    # A group is the text above its headers, or the nearest one to the left. A single text above
    # the header is a title.
    above = header_texts(cells, position - 1) if position else []
    groups = [""] * len(headers)
    if 1 < sum(map(bool, above)) < sum(map(bool, headers)):
        for number, text in enumerate(above):
            groups[number] = text or (groups[number - 1] if number else "")
    columns, repeated, rows = [], [], []
    for row in range(position + 1, min(cells.height, position + 1 + _MAX_ROWS)):
        values = [value for value in cells.row(row) if value != ""]
        texts = [value for value in values if isinstance(value, str)]
        if len(values) >= _MIN_RECORD_CELLS and not any(map(is_total, texts)):
            rows.append(row)
    for header, column, group in zip(headers, cells.columns, groups, strict=True):
        key = header_key(header)
        if key and counts[key] > 1:
            repeated.append(header)
        elif key:
            columns.append(ForeignColumn(header, column, rows, group=group))
    return columns, repeated


def fit(column: Column, foreign: ForeignColumn) -> float | None:
    """Return the share of the values that a column accepts unchanged, None if there are none.

    For a text column, words count more than numbers and dates. It is computed once.
    """
    if id(column) not in foreign.fits:
        foreign.fits[id(column)] = (column, _fit(column, foreign))
    return foreign.fits[id(column)][1]


def _fit(column: Column, foreign: ForeignColumn) -> float | None:
    size = len(foreign.cells.kinds)
    if not size:
        return None
    if column.kind in DOCUMENTS:
        return list(map(document_kind, foreign.values)).count(column.kind) / size
    if column.kind.is_text and (foreign.are_dates or not _NO_TEXTS.isdisjoint(foreign.cells.kinds)):
        return 0.0
    if column.name in ACCOUNTS and foreign.are_bank_numbers:
        return 0.0
    if foreign.are_flags and (column.kind is Kind.CODE or column.references is not None):
        return 0.0
    if column.references is not None and all(map(_PT_CENTS.search, foreign.texts)):
        return 0.0
    if column.name in NUMBERED and (
        not any(map(DIGIT.search, foreign.texts))
        or foreign.document_kinds
        or any(isinstance(value, float) and value % 1 for value in foreign.values)
        or (foreign.are_months and len(foreign.texts) < len(foreign.values))
    ):
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
        return all(map(LETTER.search, foreign.words))
    # Names of branches, accounts, categories and so on, some of them perhaps with their codes.
    has_names = any(map(is_name, foreign.words)) and not foreign.are_flags
    return has_names and takes_listed_names(column)


def takes_listed_names(column: Column) -> bool:
    """Return whether a column has codes that a company gives to its own things, such as branches
    and categories; documents of others and bar codes have none."""
    is_large = column.references in _LARGE_REGISTRIES
    return _LISTED_CODE.match(column.name) is not None and not column.allowed and not is_large
