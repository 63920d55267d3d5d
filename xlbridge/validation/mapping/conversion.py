"""Conversion of the cells of a foreign column: values by a list, documents by kind, joined texts;
and the fit of a foreign column's values to a column of the resource.

A cell that the mapping has no value for is reported, never guessed.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import get_args

import numpy as np
import pandas as pd

from xlbridge.resources import Column, Kind, pandera_checks
from xlbridge.resources.checks import DOCUMENTS, RULES, bare_document, is_email
from xlbridge.settings import DateOrder, NumberStyle, ParseOptions
from xlbridge.validation.cells.coercion import type_column
from xlbridge.validation.cells.column_cells import ColumnCells
from xlbridge.validation.cells.displayed_cells import is_shown_as_text
from xlbridge.validation.cells.text import display, is_total, quote_some, quoted, strip_invisible
from xlbridge.validation.headers.header_row import UnusableCell, header_key, header_texts
from xlbridge.validation.mapping.mapping_file import TO_FILL_IN, Scalar, value_key
from xlbridge.validation.mapping.name_matching import known_values
from xlbridge.workbook.read import CellColumn, CellKind, SheetCells

_MAX_LISTED = 12


@dataclass(slots=True)
class ConvertedCells:
    """Converted cells of one column, one for each of Excel's rows; an empty one is ``""``.

    ``unusable``: cells that the mapping has no value for, by Excel's row number; ``kept_rows``:
    rows whose cells are used unchanged, None if all cells are converted.
    """

    values: list[object]
    unusable: dict[int, UnusableCell] = field(default_factory=dict)
    kept_rows: frozenset[int] | None = None


def _all_values(column: CellColumn) -> list[object]:
    return list(column.values(range(len(column.kinds))))


def document_kind(value: object) -> str | None:
    """Return the kind of document in a cell, by its check digits, else by its length.

    A document without its leading zeros counts if it can only be of one kind. A wrong document has
    mostly digits, unlike a name of the same length.
    """
    bare = _bare(value)
    valid = _valid_kinds(bare)
    if len(valid) == 1:
        return valid[0]
    if 2 * sum(map(str.isdecimal, bare)) < len(bare):
        return None
    return next((kind for kind, one in DOCUMENTS.items() if one.symbols == len(bare)), None)


def _bare(value: object) -> str:
    return bare_document(strip_invisible(display(value))[0].strip())


def _valid_kinds(bare: str) -> list[str]:
    return [kind for kind, one in DOCUMENTS.items() if one.is_valid(bare.zfill(one.symbols))]


def convert_values(
    column: CellColumn, rows: Iterable[int], targets: Mapping[str, object]
) -> ConvertedCells:
    """Convert the cells in ``rows``, Excel's numbers, by a list; the others stay unchanged."""
    known = {value_key(text): value for text, value in targets.items()}
    by_kind = {kind: known[kind] for kind in DOCUMENTS if kind in known}
    unknown: UnusableCell = "mapping-value-unknown", {"known": quote_some(targets, _MAX_LISTED)}

    @lru_cache(maxsize=None, typed=True)
    def convert(value: object) -> object:
        text = value_key(strip_invisible(display(value))[0])
        if not text:
            return ""
        if isinstance(value, bool) and text not in known:
            text = str(value).casefold()
        if text in known:
            return known[text]
        kind = document_kind(value) if by_kind else None
        return unknown if kind is None else by_kind.get(kind, unknown)

    converted = ConvertedCells(_all_values(column))
    for row in rows:
        value = convert(converted.values[row - 1])
        if value is unknown:
            converted.unusable[row] = unknown
        else:
            converted.values[row - 1] = value
    return converted


def split_documents(
    column: CellColumn, rows: Iterable[int], kinds: Sequence[str]
) -> list[ConvertedCells]:
    """Split a column of documents into one for each of ``kinds``; other cells are unusable in the
    first."""
    values = _all_values(column)
    filled = [row for row in rows if display(values[row - 1]).strip()]
    found = {row: document_kind(values[row - 1]) for row in filled}
    unknown: UnusableCell = "mapping-document-unknown", {"kinds": ", ".join(kinds).upper()}
    unusable = {row: unknown for row, kind in found.items() if kind not in kinds}
    split: list[ConvertedCells] = []
    for kind in kinds:
        kept = frozenset(row for row, other in found.items() if other == kind)
        converted = ConvertedCells(list(values), {} if split else unusable, kept)
        for row in found.keys() - kept - converted.unusable.keys():
            converted.values[row - 1] = ""
        split.append(converted)
    return split


@dataclass(frozen=True, slots=True)
class JoinedPart:
    """Column whose texts are joined with others: its header, and the number formats of its cells by
    Excel's row number."""

    header: str
    cells: CellColumn
    formats: Mapping[int, str]


def join_texts(parts: Sequence[JoinedPart], rows: Iterable[int], separator: str) -> ConvertedCells:
    """Join the texts of several columns in each row, without empty ones.

    Cells that show another text than the one to be joined are unusable, such as the instalment
    1/3, which Excel makes a date.
    """
    joined = ConvertedCells(_all_values(parts[0].cells))
    for row in rows:
        texts = []
        for part in parts:
            value = part.cells.value(row - 1)
            if not (text := display(value).strip()):
                continue
            texts.append(text)
            if not is_shown_as_text(value, part.formats.get(row)):
                details = {"header": quoted(part.header), "stored": text}
                joined.unusable.setdefault(row, ("mapping-part-shown-otherwise", details))
        joined.values[row - 1] = separator.join(texts)
    return joined


_MOSTLY = 0.8
_MIN_RECORD_CELLS = 2
_MAX_ROWS = 20_000
_SAMPLE_ROWS = 200
_RULES_WEIGHT = 0.4
_NO_TEXTS = frozenset({CellKind.DATE, CellKind.DATETIME, CellKind.TIME, CellKind.BOOLEAN})
_LETTER = re.compile(r"[^\W\d_]")
_LETTERS = re.compile(r"[^\W\d_]{2}")
_PT_CENTS = re.compile(r"\d,\d{2}\s*$")
_EN_CENTS = re.compile(r"\d\.\d{2}\s*$")
LISTED_CODES = frozenset(
    {"codigoDaFilial", "codigoDaContaCorrente", "codigoDaFormaDePagamento", "codigoDaCarteira"}
    | {"codigoDoTipoDeCliente", "codigoDoVendedor", "codigoDoAlmoxarifado"}
)
"""Codes of which a company has few, so that a mapping can list their names."""


@dataclass(frozen=True)
class ForeignColumn:
    """A column of a foreign sheet: its header, the first of its filled cells, and the share of
    filled rows; ``declared`` is the number style declared by the user, ``group`` the text above
    the header that applies to several columns."""

    header: str
    cells: CellColumn
    filled: float
    declared: NumberStyle | None = None
    group: str = ""

    @property
    def values(self) -> list[object]:
        """Values of the sampled cells."""
        return _all_values(self.cells)

    @property
    def texts(self) -> list[str]:
        """The distinct values as texts, in their order."""
        texts = [display(value).strip() for value in self.values]
        return list({value_key(text): text for text in reversed(texts) if text}.values())[::-1]

    def document_kinds(self) -> set[str]:
        """Return the kinds of documents if nearly all values are documents, else nothing.

        Most check digits must be valid: telephone numbers have the length of a CPF.
        """
        known = list(filter(None, map(document_kind, self.values)))
        valid = sum(bool(_valid_kinds(_bare(value))) for value in self.values)
        if len(known) < _MOSTLY * len(self.cells.kinds) or 2 * valid < len(known):
            return set()
        return set(known)

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
            columns.append(ForeignColumn(header, sample, share, group=group))
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
    if column.kind.is_text and not _NO_TEXTS.isdisjoint(foreign.cells.kinds):
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
    if column.kind is Kind.TEXT and not column.allowed:
        words = sum(_LETTERS.search(text) is not None for text in foreign.texts)
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
    company knows it."""
    known = known_values(column.name)
    listed: dict[str, Scalar] = {}
    for text in foreign.texts:
        number = text.replace(".", "").strip()
        if column.kind.is_number and number.isdecimal():
            listed[text] = int(number)
        else:
            listed[text] = known.get(text.casefold(), TO_FILL_IN)
    return listed


def can_list_values(column: Column, foreign: ForeignColumn) -> bool:
    """Return whether a list can map the values of a foreign column to a column's: words, so few
    that a person can map each of them."""
    if not 0 < len(foreign.texts) <= _MAX_LISTED:
        return False
    if not all(isinstance(value, str) and _LETTER.search(value) for value in foreign.values):
        return False
    listed = listed_values(column, foreign)
    is_known = all(value != TO_FILL_IN for value in listed.values())
    # Names of branches, accounts and so on.
    are_words = all(map(_LETTERS.search, foreign.texts))
    return is_known or (column.name in LISTED_CODES and are_words)
