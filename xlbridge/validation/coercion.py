"""From cells as they are in the file to typed columns.

Each cell keeps its own type until here. A column is worked on as a whole: its cells are grouped by
type, the expected type goes through numpy at once, and only the others are looked at one by one.
pandera's own coercion is not used: one bad cell makes it slow, and hides other findings of the
column.
"""

import datetime as dt
import math
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from xlbridge.i18n import Text
from xlbridge.resources.column import Column, Kind
from xlbridge.validation.cell_problems import CellProblems
from xlbridge.validation.reading import Reading
from xlbridge.validation.text_values import (
    SHORT_YEAR,
    date_meanings,
    dates_decided,
    number_meanings,
    numbers_decided,
    read_all,
)

Cells = npt.NDArray[np.object_]
TypeIds = npt.NDArray[np.int64]

_LARGEST_EXACT_INTEGER = 2**53
_EXCEL_DIGITS = 10**15
_EPOCH = dt.date(1970, 1, 1).toordinal()
_MASK = str.maketrans("", "", ".-/ ‐‑‒–")
_YES = frozenset({"verdadeiro", "true", "sim", "s", "yes"})
_NO = frozenset({"falso", "false", "não", "nao", "n", "no"})
_A_NUMBER = Text(pt="um número", en="a number")
_A_BOOLEAN = Text(pt="verdadeiro ou falso", en="true or false")
_A_DATE = Text(pt="uma data ou hora", en="a date or time")


def coerce(column: Column, values: Sequence[object], reading: Reading) -> tuple[Any, CellProblems]:
    """Return the column's cells as a pandas array of its dtype, and what was wrong with them.

    Cells without a usable value are missing in the array. Money is rounded to the cent where the
    file holds the noise of binary arithmetic.
    """
    cells: Cells = np.empty(len(values), dtype=object)
    cells[:] = values
    types: TypeIds = np.fromiter(map(id, map(type, values)), dtype=np.int64, count=len(values))
    problems = CellProblems.none(len(values))
    return _COERCERS[column.kind](column, cells, types, reading, problems), problems


def display(value: object) -> str:
    """Return a cell's value as text, as the analyst knows it."""
    if isinstance(value, bool):
        return "VERDADEIRO" if value else "FALSO"
    if isinstance(value, float):
        return f"{value:.15g}"
    if isinstance(value, dt.datetime):
        return value.strftime("%d/%m/%Y %H:%M:%S")
    if isinstance(value, dt.date):
        return value.strftime("%d/%m/%Y")
    return str(value)


def _of_type(types: TypeIds, *wanted: type) -> npt.NDArray[np.intp]:
    mask = types == id(wanted[0])
    for other in wanted[1:]:
        mask = mask | (types == id(other))
    return np.flatnonzero(mask)


def _texts(cells: Cells, types: TypeIds) -> tuple[npt.NDArray[np.intp], list[str]]:
    """Return the positions and stripped contents of the text cells that are not blank."""
    positions = _of_type(types, str)
    positions = positions[cells[positions] != ""]
    stripped = list(map(str.strip, cells[positions]))
    if all(stripped):
        return positions, stripped
    filled = np.fromiter(map(bool, stripped), dtype=bool, count=len(stripped))
    return positions[filled], [text for text in stripped if text]


def _others(cells: Cells, types: TypeIds, *expected: type) -> Iterator[tuple[int, object]]:
    """Yield the cells that are neither text nor of an expected type."""
    mask = types != id(str)
    for kind in expected:
        mask &= types != id(kind)
    for position in np.flatnonzero(mask):
        yield int(position), cells[position]


def _numbers(
    column: Column, cells: Cells, types: TypeIds, reading: Reading, problems: CellProblems
) -> npt.NDArray[np.float64]:
    wrong = "type-integer" if column.kind is Kind.INTEGER else "type-number"
    numbers = np.full(len(cells), np.nan)
    plain = _of_type(types, float, int)
    numbers[plain] = cells[plain].astype(float)
    for position, _ in _others(cells, types, float, int):
        problems.add(position, wrong)
    positions, texts = _texts(cells, types)
    meanings = read_all(texts, number_meanings)
    native = numbers_decided(meanings.values(), reading)
    for position, text in zip(positions.tolist(), texts, strict=True):
        meaning = meanings.get(text)
        if meaning is None:
            problems.add(position, wrong)
            continue
        if meaning.ambiguous and native is None:
            both = {"first": _written(meaning.native), "second": _written(meaning.foreign)}
            problems.add(position, "number-ambiguous", both)
            continue
        value = _decided(meaning.native, meaning.foreign, native, declared=reading.numbers)
        if value is None:
            problems.add(position, wrong)
            continue
        numbers[position] = float(value)
        if column.kind is not Kind.INTEGER or value == value.to_integral_value():
            problems.add(position, "number-as-text", {"read": _written(value)})
    return numbers


def _written(number: Decimal | None) -> Text:
    """Write a number as each language does, so that a point is never mistaken."""
    plain = f"{number:f}"
    return Text(pt=plain.replace(".", ","), en=plain)


def _decided(
    native: Any | None, foreign: Any | None, is_native: bool | None, *, declared: str | None
) -> Any | None:
    """Choose between two meanings; what was declared also rules out the other convention."""
    if is_native is None:
        return foreign if native is None else native
    chosen, other = (native, foreign) if is_native else (foreign, native)
    return chosen if declared or chosen is not None else other


def _integer(
    column: Column, cells: Cells, types: TypeIds, reading: Reading, problems: CellProblems
) -> Any:
    numbers = _numbers(column, cells, types, reading, problems)
    filled = ~np.isnan(numbers)
    whole = numbers == np.floor(numbers)
    usable = filled & whole & (np.abs(numbers) <= _LARGEST_EXACT_INTEGER)
    for position in np.flatnonzero(filled & ~usable & ~problems.failed):
        problems.add(int(position), "type-integer")
    values = np.where(usable, numbers, 0).astype(np.int64)
    return pd.arrays.IntegerArray(values, ~usable)


def _number(
    column: Column, cells: Cells, types: TypeIds, reading: Reading, problems: CellProblems
) -> Any:
    numbers = _numbers(column, cells, types, reading, problems)
    if column.kind is Kind.MONEY:
        cents = np.round(numbers, 2)
        noise = np.abs(numbers - cents) <= 1e-9 * np.maximum(1, np.abs(numbers))
        numbers = np.where(noise, cents, numbers)
    missing = np.isnan(numbers)
    return pd.arrays.FloatingArray(np.where(missing, 0.0, numbers), missing)


def _date(
    column: Column, cells: Cells, types: TypeIds, reading: Reading, problems: CellProblems
) -> Any:
    days = np.full(len(cells), np.datetime64("NaT"), dtype="datetime64[us]")
    plain = _of_type(types, dt.date)
    ordinals = np.fromiter(map(dt.date.toordinal, cells[plain]), dtype=np.int64, count=len(plain))
    days[plain] = (ordinals - _EPOCH).astype("datetime64[D]")
    timed = _of_type(types, dt.datetime)
    if len(timed):
        moments = cells[timed].astype("datetime64[us]")
        days[timed] = moments.astype("datetime64[D]").astype("datetime64[us]")
        for position in timed[moments != days[timed]]:
            problems.add(int(position), "date-has-time")
    for position, _ in _others(cells, types, dt.date, dt.datetime):
        problems.add(position, "type-date")
    _text_dates(days, cells, types, reading, problems)
    return pd.Series(days).array


def _text_dates(
    days: npt.NDArray[np.datetime64],
    cells: Cells,
    types: TypeIds,
    reading: Reading,
    problems: CellProblems,
) -> None:
    positions, texts = _texts(cells, types)
    meanings = read_all(texts, date_meanings)
    native = dates_decided(meanings.values(), reading)
    for position, text in zip(positions.tolist(), texts, strict=True):
        meaning = meanings.get(text)
        if meaning is None:
            short = SHORT_YEAR.fullmatch(text)
            problems.add(position, "date-short-year" if short else "type-date")
            continue
        if meaning.ambiguous and native is None:
            both = {"first": display(meaning.native), "second": display(meaning.foreign)}
            problems.add(position, "date-ambiguous", both)
            continue
        value = _decided(meaning.native, meaning.foreign, native, declared=reading.dates)
        if value is None:
            problems.add(position, "type-date")
            continue
        days[position] = np.datetime64(value, "us")
        problems.add(position, "date-as-text", {"read": display(value)})


def _boolean(
    _column: Column, cells: Cells, types: TypeIds, _reading: Reading, problems: CellProblems
) -> Any:
    values = np.zeros(len(cells), dtype=bool)
    missing = np.ones(len(cells), dtype=bool)
    plain = _of_type(types, bool)
    values[plain] = cells[plain].astype(bool)
    missing[plain] = False
    for position, _ in _others(cells, types, bool):
        problems.add(position, "type-boolean")
    for position, text in zip(*_texts(cells, types), strict=True):
        word = text.casefold()
        if word in _YES or word in _NO:
            values[position], missing[position] = word in _YES, False
        else:
            problems.add(int(position), "type-boolean")
    return pd.arrays.BooleanArray(values, missing)


def _text(
    column: Column, cells: Cells, types: TypeIds, _reading: Reading, problems: CellProblems
) -> Any:
    read: Cells = np.full(len(cells), None, dtype=object)
    positions, texts = _texts(cells, types)
    if column.kind is not Kind.TEXT:
        texts = _codes(column, positions, texts, problems)
    read[positions] = texts
    for position in _of_type(types, float, int):
        read[position] = _text_of_number(column, int(position), cells[position], problems)
    for position, value in _others(cells, types, float, int):
        problems.add(
            position, "type-text", {"found": _A_BOOLEAN if value in (True, False) else _A_DATE}
        )
    read[problems.failed] = None
    return pd.Series(read, dtype="str").array


def _codes(
    column: Column,
    positions: npt.NDArray[np.intp],
    texts: list[str],
    problems: CellProblems,
) -> list[str]:
    """Normalise codes, refusing those with characters that only look right."""
    if not "".join(texts).isascii():
        texts = [unicodedata.normalize("NFKC", text).strip() for text in texts]
        for position, text in zip(positions.tolist(), texts, strict=True):
            strange = next((c for c in text if _is_strange(c)), None)
            if strange is not None:
                character = f"U+{ord(strange):04X} {unicodedata.name(strange, '')}".strip()
                problems.add(position, "hidden-character", {"character": character})
    if column.kind in {Kind.CNPJ, Kind.CPF}:
        return [text.translate(_MASK).upper() for text in texts]
    return texts


def _is_strange(character: str) -> bool:
    """Whether a character is invisible, or a letter of another alphabet than the Latin one."""
    if character.isascii() or character in "‐‑‒–":
        return False
    if unicodedata.category(character).startswith("L"):
        return not unicodedata.name(character, "").startswith(("LATIN", "FEMININE", "MASCULINE"))
    return unicodedata.category(character) in {"Cf", "Cc", "Co", "Cn", "Zs", "Zl", "Zp"}


def _text_of_number(
    column: Column, position: int, value: float, problems: CellProblems
) -> str | None:
    if not math.isfinite(value) or value != int(value) or value < 0:
        problems.add(position, "type-text", {"found": _A_NUMBER})
        return None
    text = str(int(value))
    if value >= _EXCEL_DIGITS:
        problems.add(position, "code-digits-lost")
    elif column.width is not None and len(text) < column.width:
        problems.add(position, "code-leading-zeros", {"width": column.width})
    return text


_Coercer = Callable[[Column, Cells, TypeIds, Reading, CellProblems], Any]

_COERCERS: Mapping[Kind, _Coercer] = {
    Kind.TEXT: _text,
    Kind.CODE: _text,
    Kind.CNPJ: _text,
    Kind.CPF: _text,
    Kind.INTEGER: _integer,
    Kind.NUMBER: _number,
    Kind.MONEY: _number,
    Kind.DATE: _date,
    Kind.BOOLEAN: _boolean,
}
