"""Conversion of the cells of a foreign column: values by a list, documents by kind, joined texts.

A cell that the mapping has no value for is named with a finding, and never guessed. A proposal goes
by how well the values of a column fit one of the resource.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import get_args

import pandas as pd

from xlbridge.resources import Column, Kind, column_checks
from xlbridge.resources.checks import DOCUMENTS, RULES, bare_document, is_email
from xlbridge.settings import DateOrder, NumberStyle, ParseOptions
from xlbridge.validation.cells.coercion import type_cells
from xlbridge.validation.cells.text import display, quoted, strip_invisible
from xlbridge.validation.headers.header_row import UnusableCell
from xlbridge.validation.mapping.mapping_file import (
    DOCUMENT_KINDS,
    TO_FILL_IN,
    DocumentKind,
    Scalar,
    value_key,
)
from xlbridge.validation.non_records import is_total
from xlbridge.workbook.read import CellColumn, CellEncoder, CellKind, SheetCells

_MOST_LISTED = 12
_BOOLEAN_WORDS = {True: ("verdadeiro", "true"), False: ("falso", "false")}


@dataclass(slots=True)
class ConvertedCells:
    """Cells of one column after conversion, one for each of Excel's rows; an empty one is ``""``.

    ``unusable`` are the cells that the mapping has no value for, by Excel's row number. ``taken``
    are the rows whose cells were taken as they stand.
    """

    values: list[object]
    unusable: dict[int, UnusableCell] = field(default_factory=dict)
    taken: frozenset[int] = frozenset()


def document_kind(value: object) -> DocumentKind | None:
    """Return which kind of document a cell holds, by its check digits, else by its length.

    A document that lost its leading zeros counts, where it can be of one kind only.
    """
    bare = bare_document(strip_invisible(display(value))[0].strip())
    kinds = [(kind, DOCUMENTS[kind]) for kind in DOCUMENT_KINDS]
    fits = [kind for kind, one in kinds if one.is_valid(bare.zfill(one.symbols))]
    if len(fits) == 1:
        return fits[0]
    return next((kind for kind, one in kinds if one.symbols == len(bare)), None)


def convert_values(
    column: CellColumn, rows: Iterable[int], targets: Mapping[str, object]
) -> ConvertedCells:
    """Convert the cells in ``rows``, Excel's numbers, by a list; the others stay as they are."""
    known = {value_key(text): value for text, value in targets.items()}
    by_kind = {kind: known[kind] for kind in DOCUMENT_KINDS if kind in known}
    shown = ", ".join(map(quoted, list(targets)[:_MOST_LISTED]))
    shown += " …" if len(targets) > _MOST_LISTED else ""
    unknown = UnusableCell("mapping-value-unknown", {"known": shown})
    cache: dict[object, object] = {}

    def convert(value: object) -> object:
        names: Sequence[str] = (value_key(strip_invisible(display(value))[0]),)
        if isinstance(value, bool):
            names = _BOOLEAN_WORDS[value]
        for key in names:
            if not key:
                return ""
            if key in known:
                return known[key]
        kind = document_kind(value) if by_kind else None
        return unknown if kind is None else by_kind.get(kind, unknown)

    converted = ConvertedCells([column.value(place) for place in range(len(column.kinds))])
    for row in rows:
        value = converted.values[row - 1]
        if value == "":
            continue
        key = type(value), value
        if key not in cache:
            cache[key] = convert(value)
        if cache[key] is unknown:
            converted.unusable[row] = unknown
        else:
            converted.values[row - 1] = cache[key]
    return converted


def split_documents(
    column: CellColumn, rows: Iterable[int], kinds: Sequence[DocumentKind]
) -> list[ConvertedCells]:
    """Split a column of documents into one for each of ``kinds``; what is of none is unusable in
    the first."""
    own = [column.value(place) for place in range(len(column.kinds))]
    split = [ConvertedCells(list(own)) for _ in kinds]
    taken: dict[DocumentKind, set[int]] = {kind: set() for kind in kinds}
    stray = UnusableCell("mapping-document-unknown", {"kinds": ", ".join(kinds).upper()})
    for row in rows:
        value = own[row - 1]
        if value == "" or not display(value).strip():
            continue
        kind = document_kind(value)
        if kind in taken:
            taken[kind].add(row)
        else:
            split[0].unusable[row] = stray
        for place, other in enumerate(kinds):
            if other != kind and (place or kind in taken):
                split[place].values[row - 1] = ""
    for converted, kind in zip(split, kinds, strict=True):
        converted.taken = frozenset(taken[kind])
    return split


def join_texts(
    columns: Sequence[CellColumn], rows: Iterable[int], separator: str
) -> ConvertedCells:
    """Join the texts of cells side by side; empty ones leave nothing behind."""
    first = columns[0]
    joined = ConvertedCells([first.value(place) for place in range(len(first.kinds))])
    for row in rows:
        texts = (display(column.value(row - 1)).strip() for column in columns)
        joined.values[row - 1] = separator.join(text for text in texts if text)
    return joined


_SAMPLE_ROWS = 200
_MOSTLY = 0.8
_FEWEST_OF_RECORD = 2
_MOST_ROWS = 20_000
_BY_RULES = 0.4
_NO_TEXTS = frozenset({CellKind.DATE, CellKind.DATETIME, CellKind.TIME, CellKind.BOOLEAN})
_LETTER = re.compile(r"[^\W\d_]")
_LETTERS = re.compile(r"[^\W\d_]{2}")
_PT_CENTS = re.compile(r"\d,\d{2}\s*$")
_EN_CENTS = re.compile(r"\d\.\d{2}\s*$")
LISTED_CODES = frozenset(
    {"codigoDaFilial", "codigoDaContaCorrente", "codigoDaFormaDePagamento", "codigoDaCarteira"}
    | {"codigoDoTipoDeCliente", "codigoDoVendedor", "codigoDoAlmoxarifado"}
)
"""Codes of which a company has few, so that their names can be listed."""
_KNOWN_VALUES: dict[str, dict[str, Scalar]] = {
    "codigoDaFilial": {"matriz": 1},
    "natureza": {
        **dict.fromkeys(("jurídica", "juridica", "pessoa jurídica", "pj", "cnpj"), "J"),
        **dict.fromkeys(("física", "fisica", "pessoa física", "pf", "cpf"), "F"),
        "j": "J",
        "f": "F",
    },
    "ativo": {"ativo": True, "inativo": False, "ativa": True, "inativa": False, "x": True},
}
"""Words that stand for a value in any company."""


@dataclass(frozen=True)
class ForeignColumn:
    """A column of a foreign sheet: its header, the first of its filled cells, and the share of the
    sheet's rows in which it is filled; ``declared`` is how the user says that its numbers are
    written, ``group`` the text above the header that stands for several columns."""

    header: str
    cells: CellColumn
    filled: float
    declared: NumberStyle | None = None
    group: str = ""

    @classmethod
    def of(
        cls, header: str, cells: SheetCells, place: int, rows: Sequence[int], group: str
    ) -> "ForeignColumn":
        """Take the cells of a column in some rows of a sheet, counted from zero."""
        own = cells.columns[place]
        filled = [row for row in rows if own.kind(row) is not CellKind.EMPTY]
        values = [own.value(row) for row in filled[:_SAMPLE_ROWS]]
        share = len(filled) / max(1, len(rows))
        return cls(header, CellEncoder().encode(values), share, group=group)

    @property
    def values(self) -> list[object]:
        """The first of the filled cells."""
        return [self.cells.value(place) for place in range(len(self.cells.kinds))]

    @property
    def texts(self) -> list[str]:
        """The different values as texts, in their order."""
        texts = [display(value).strip() for value in self.values]
        return list({value_key(text): text for text in reversed(texts) if text}.values())[::-1]

    @property
    def is_listed(self) -> bool:
        """True where so few values repeat that a person can say what each is."""
        return 0 < len(self.texts) <= _MOST_LISTED

    def document_kinds(self) -> set[DocumentKind]:
        """Return the kinds of documents that nearly all values are, by their check digits."""
        kinds = [document_kind(value) for value in self.values]
        known = [kind for kind in kinds if kind is not None]
        return set(known) if kinds and len(known) >= _MOSTLY * len(kinds) else set()

    def are_names(self) -> bool:
        """Tell whether nearly all values are words, as names of people and things are."""
        texts = [value for value in self.values if isinstance(value, str)]
        named = sum(_LETTERS.search(text) is not None for text in texts)
        return bool(texts) and named >= _MOSTLY * len(self.values)

    def are_emails(self) -> bool:
        """Tell whether nearly all values are e-mail addresses."""
        values = self.texts
        return bool(values) and sum(map(is_email, values)) >= _MOSTLY * len(values)

    def number_style(self) -> NumberStyle | None:
        """Return how the text numbers among the values are written, None where none tells."""
        texts = [value for value in self.values if isinstance(value, str)]
        pt = any(map(_PT_CENTS.search, texts))
        en = any(map(_EN_CENTS.search, texts))
        told: NumberStyle = "pt" if pt else "en"
        return told if pt != en else self.declared if texts else None


def record_rows(cells: SheetCells, position: int) -> list[int]:
    """Return the rows below a header that seem to be records: several cells, and no total."""
    found = []
    for row in range(position + 1, min(cells.height, position + 1 + _MOST_ROWS)):
        values = [value for value in cells.row(row) if value != ""]
        texts = [value for value in values if isinstance(value, str)]
        if len(values) >= _FEWEST_OF_RECORD and not any(map(is_total, texts)):
            found.append(row)
    return found


def fit(column: Column, foreign: ForeignColumn) -> float | None:
    """Return the share of the values that a column takes as they are, None where there are none.

    A text column takes words rather than numbers and dates.
    """
    size = len(foreign.cells.kinds)
    if not size:
        return None
    if column.kind in (Kind.CNPJ, Kind.CPF):
        kinds = [document_kind(value) for value in foreign.values]
        return kinds.count("cnpj" if column.kind is Kind.CNPJ else "cpf") / size
    if column.kind.is_text and not _NO_TEXTS.isdisjoint(foreign.cells.kinds):
        return 0.0
    share = max(_share(column, foreign.cells, reading) for reading in _readings(column, foreign))
    if column.required and foreign.filled < _MOSTLY:
        share *= foreign.filled
    if column.kind is Kind.TEXT and not column.allowed:
        words = sum(_LETTERS.search(text) is not None for text in foreign.texts)
        share *= 0.4 + 0.6 * words / max(1, len(foreign.texts))
    if column.kind is Kind.CODE and "telephone" not in column.checks:
        words = sum(" " in t and _LETTERS.search(t) is not None for t in foreign.texts)
        share *= 1 - words / max(1, len(foreign.texts)) / 2
    return share


def _readings(column: Column, foreign: ForeignColumn) -> list[ParseOptions]:
    """Return the ways to read the values: that one is ambiguous says nothing against a column."""
    style = foreign.number_style()
    if column.kind is Kind.DATE:
        return [ParseOptions(dates=order) for order in get_args(DateOrder)]
    if column.kind.is_number and style is None:
        return [ParseOptions(numbers=either) for either in get_args(NumberStyle)]
    return [ParseOptions(numbers=style)]


def _share(column: Column, cells: CellColumn, reading: ParseOptions) -> float:
    """Return the share of cells that are of a column's type, and keep to its rules."""
    size = len(cells.kinds)
    values, problems = type_cells(column, cells, range(1, size + 1), reading)
    typed = good = ~problems.failed
    for name, check in column_checks(column).items():
        if not RULES[name].whole_column:
            checked = check(pd.Series(values)).check_output
            good = good.copy()
            good[checked.index[~checked.to_numpy(dtype=bool, na_value=True)]] = False
    return float((1 - _BY_RULES) * typed.sum() + _BY_RULES * good.sum()) / size


def listed_values(column: Column, foreign: ForeignColumn) -> dict[str, Scalar]:
    """Return what each value of a foreign column stands for, ``TO_FILL_IN`` where nobody can tell
    without knowing the company."""
    known = _KNOWN_VALUES.get(column.name, {})
    listed: dict[str, Scalar] = {}
    for text in foreign.texts:
        number = text.replace(".", "").strip()
        if column.kind.is_number and number.isdecimal():
            listed[text] = int(number)
        else:
            listed[text] = known.get(text.casefold(), TO_FILL_IN)
    return listed


def takes_list(column: Column, foreign: ForeignColumn) -> bool:
    """Return whether a list can say what the values of a foreign column are in a column."""
    if not foreign.is_listed:
        return False
    if not all(isinstance(value, str) and _LETTER.search(value) for value in foreign.values):
        return False
    listed = listed_values(column, foreign)
    is_known = all(value != TO_FILL_IN for value in listed.values())
    # Names of branches, accounts and so on.
    are_words = all(map(_LETTERS.search, foreign.texts))
    return is_known or (column.name in LISTED_CODES and are_words)
