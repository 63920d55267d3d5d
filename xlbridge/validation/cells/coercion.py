"""Coerce the cells of a column to the type of its schema: texts as they are sent, numbers, dates.

Cells are grouped by their types: those of the expected type are converted by numpy at once, the
others one by one. pandera's own coercion is not used: one bad cell makes it slow, and hides other
findings of the column.
"""

import datetime as dt
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from decimal import Context, Decimal
from functools import lru_cache, partial
from itertools import compress, count
from operator import ne
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from xlbridge.i18n import Text
from xlbridge.resources import Column, Kind, strip_accents
from xlbridge.resources.checks import DOCUMENTS, has_decimal_places
from xlbridge.resources.findings import character_name
from xlbridge.settings import ParseOptions
from xlbridge.validation.cells.contents import (
    A_DATE,
    UNASSIGNED,
    ColumnCells,
    display,
    folded_text,
    format_decimal,
    is_all_visible,
    is_printable_ascii,
    normalize_width,
    quoted,
    repair_mojibake,
    strip_invisible,
)
from xlbridge.validation.cells.text_parsing import (
    DATE_PARSER,
    FIRST_YEAR,
    LAST_YEAR,
    NUMBER_PARSERS,
    TOO_LATE,
    Evidence,
    date_meanings,
    has_time,
    meanings_of,
    parse_texts,
)
from xlbridge.validation.sheet_findings import CellProblems
from xlbridge.workbook.read import CellKind

_TOO_LARGE = 1e15
"""Excel keeps 15 digits."""
_MASK = str.maketrans("", "", ".-/ ‐‑‒–")
# As sheets write it, and as programs do for 10,000,000 and more; 12E4 and 1.5E2 may be codes.
_SCIENTIFIC = re.compile(r"\d(?:[.,]\d+)?[eE]\+\d+|\d[.,]\d+[eE](?:0?[7-9]|[1-9]\d)", re.ASCII)
# The letter is rarer than digits, and what is rare is found faster.
_PERHAPS_SCIENTIFIC = re.compile(r"[eE](?<=\d[eE])[+\d]", re.ASCII)
_MAX_ADDED_ZEROS = 2
"""Zeros that may be added before a document: with more, check digits match by chance."""
_PLACEHOLDERS = frozenset(
    {"-", "--", "---", "–", "—", "N/A", "n/a", "N/D", "n/d", "N.A.", "n.a.", "(null)", "(NULL)"}
    | {"[object Object]", "\\N", "[null]", "<nil>", "nil", "(nil)", "[NULL]", "#NULL", "#EMPTY"}
    | {"null", "Null", "NULL", "None", "NaN", "nan", "undefined", "NaT", "<NA>", "<null>", "<NULL>"}
    | {"SEM GTIN", "Sem GTIN", "sem gtin", "SEM EAN", "Sem EAN", "sem ean"}
    | {"(vazio)", "(Vazio)", "(em branco)", "(nenhum)", "(nulo)", "(blank)", "(empty)", "(none)"}
)
_DITTO_MARKS = frozenset(
    {'"', '""', "''", "″", "”", "“", "〃", "idem", "Idem", "IDEM", "idem.", "Idem.", "id.", "Id."}
)
_LOOK_ALIKES = frozenset(
    "АВЕЅІЈКМНОРСТУХаеорсухіјѕ"  # Cyrillic
    "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧο"  # Greek
)
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
"""Mark of a character that a program could not decode."""
_LOST_LETTERS = re.compile(r"\w*[^\W\d_]\?{1,2}[^\W\d_]\w*|(?<![\w?])\?{1,2}[^\W\d_]{3,}")
"""Word with question marks in place of letters: a program could not write them."""
_TYPED_APOSTROPHE = re.compile(r"'[\d+=-]", re.ASCII)
_A_NUMBER = Text(pt="um número", en="a number")
_A_BOOLEAN = Text(pt="verdadeiro ou falso", en="true or false")

_PROPOSAL = Text(
    pt="; com eles seria {code}, que os dígitos verificadores confirmam",
    en="; with them it would be {code}, which the check digits confirm",
)


def coerce_text(
    column: Column, cells: ColumnCells, _reading: ParseOptions, problems: CellProblems
) -> Any:
    """Return a text column as a pandas array, and add the problems of its cells."""
    found = cells.distinct_texts
    texts, stripped = found.values, cells.stripped_texts
    joined = "".join(stripped)
    sent: list[str | None] = [text or None for text in stripped]
    if column.kind in DOCUMENTS:
        sent = [text and text.translate(_MASK) for text in sent]
    # Only the texts that may be wrong are checked singly.
    plain: Callable[[str], bool] | None
    if column.allowed:
        plain = frozenset(column.allowed).__contains__
    elif column.kind in DOCUMENTS:
        plain = partial(_is_plain_document, DOCUMENTS[column.kind].masked)
    else:
        is_plain = _is_plain_text if column.kind is Kind.TEXT else _is_plain_code
        # All characters of the column: one test often suffices.
        plain = None if is_plain(joined) else is_plain
    unusual = () if plain is None else (i for i, text in enumerate(stripped) if not plain(text))
    spaced = compress(count(), map(ne, texts, stripped))
    placeholders: Iterable[int] = ()
    if "'" in joined or not (_PLACEHOLDERS | _DITTO_MARKS).isdisjoint(stripped):
        placeholders = (i for i, text in enumerate(stripped) if _placeholder_code(column, text))
    doubtful = [index for index in {*unusual, *spaced, *placeholders} if stripped[index]]
    for position, index in found.cells_with(doubtful):
        sent[index] = _check_text(column, position, texts[index], stripped[index], problems)
    indexes = np.full(len(cells), -1)
    indexes[found.positions] = found.indexes
    for position in cells.of_kind(CellKind.NUMBER).tolist():
        indexes[position] = len(sent)
        sent.append(_text_of_number(column, position, float(cells.numbers[position]), problems))
    for position in cells.others(CellKind.NUMBER).tolist():
        found_kind = _A_BOOLEAN if cells.kinds[position] == CellKind.BOOLEAN else A_DATE
        problems.add(position, "type-text", {"found": found_kind})
    indexes[problems.failed] = -1
    sent.append(None)  # the value of an index of -1
    return pd.array(np.array(sent, dtype=object)[indexes], dtype="str", copy=False)


def _is_plain_text(text: str) -> bool:
    """Return whether a text, or several joined, can be sent unchanged."""
    if "?" in text or not is_all_visible(text) or repair_mojibake(text) is not None:
        return False
    return _composed(text) == text and not _has_look_alikes(text) and _REPLACEMENT not in text


def _is_plain_code(text: str) -> bool:
    if not is_printable_ascii(text):
        return False
    # Searching for a single character first is many times faster.
    return not ("e" in text or "E" in text) or not _PERHAPS_SCIENTIFIC.search(text)


def _is_plain_document(masked: Callable[[str], str], text: str) -> bool:
    bare = text.translate(_MASK)
    is_usual = text in (bare, masked(bare)) and text.upper() == text
    return is_usual and bare.isascii() and bare.isalnum()


def _check_text(
    column: Column, position: int, raw: str, stripped: str, problems: CellProblems
) -> str | None:
    """Return one text as it is sent, and report at most one problem of its spelling."""
    text, invisible = strip_invisible(stripped)
    if not text:
        return None
    if fault := _text_fault(column, text):
        code, character = fault
        problems.add(position, code, {"character": character})
        return None if problems.stops(code) else text
    if meant := repair_mojibake(stripped):
        problems.add(position, "text-misread", {"read": quoted(meant)})
        return text
    sent, corrected = _canonical(column, text)
    if invisible is not None:
        details: dict[str, object] = {"character": character_name(invisible)}
        problems.add(position, "invisible-character", details, corrected=corrected)
    elif corrected != text:
        code = "accents-apart" if _composed(text) == corrected else "code-form"
        code = "value-spelling" if column.allowed else code
        problems.add(position, code, {"read": sent}, corrected=corrected)
    elif raw != text:
        problems.add(position, "text-spaces", corrected=corrected)
    return sent


def _text_fault(column: Column, text: str) -> tuple[str, str] | None:
    """Return the code of the finding that makes a text uncertain, and the character to name."""
    if code := _placeholder_code(column, text):
        return code, text
    if _REPLACEMENT in text:
        return "character-lost", ""
    if column.kind is Kind.TEXT:
        if "?" in text and (lost := _LOST_LETTERS.search(text)) and "://" not in text:
            return "letter-lost", lost[0]
        for character in () if text.isprintable() else text:
            if unicodedata.category(character) in UNASSIGNED:
                return "character-private", character_name(character)
        alike = _find_look_alike(text)
        return None if alike is None else ("look-alike-letter", character_name(alike))
    if _SCIENTIFIC.fullmatch(text):
        return "code-scientific", ""
    for character in normalize_width(text):
        # A code has no controls, and no letters that are not Latin.
        category = unicodedata.category(character)
        latin = "LATIN", "FEMININE", "MASCULINE"
        if category in {"Cc", "Cf", "Co", "Cn", "Zl", "Zp"} or (
            category.startswith("L") and not unicodedata.name(character, "").startswith(latin)
        ):
            return "hidden-character", character_name(character)
    return None


def _placeholder_code(column: Column, text: str) -> str | None:
    """Return the code of the finding if a text stands for an empty cell or for the cell above, or
    begins with a typed apostrophe."""
    if column.allowed:
        return None
    is_document = column.kind in DOCUMENTS
    if text in _DITTO_MARKS:
        return "text-ditto"
    if text in _PLACEHOLDERS:
        return "document-placeholder" if is_document else "text-placeholder"
    return "text-apostrophe" if not is_document and _TYPED_APOSTROPHE.match(text) else None


def _canonical(column: Column, text: str) -> tuple[str, str]:
    """Return a text as it is sent, and as the cell should hold it."""
    if column.allowed and text not in column.allowed:
        same = [value for value in column.allowed if folded_text(value) == folded_text(text)]
        return (same[0], same[0]) if len(same) == 1 else (text, text)
    if column.kind is Kind.TEXT:
        return _composed(text), _composed(text)
    code = normalize_width(text).strip()
    if column.kind not in DOCUMENTS:
        return code, code
    document = DOCUMENTS[column.kind]
    bare = code.translate(_MASK).upper()
    if len(bare) != column.width:
        return code, code
    masked = document.masked(bare)
    return bare, text if text in (bare, masked) or not document.is_valid(bare) else masked


def _text_of_number(
    column: Column, position: int, value: float, problems: CellProblems
) -> str | None:
    if column.measure and math.isfinite(value) and 0 <= value < _TOO_LARGE:
        return display(value + 0.0)
    if not math.isfinite(value) or value != int(value) or value < 0:
        problems.add(position, "type-text", {"found": _A_NUMBER})
        return None
    text = str(int(value))
    if value >= _TOO_LARGE:
        problems.add(position, "code-digits-lost")
    elif column.width is not None and len(text) < column.width:
        # A valid CPF is reported with the other columns in view (``sheet_checks.py``).
        if column.kind is Kind.CNPJ and DOCUMENTS[Kind.CPF].is_valid(text):
            return text
        padded = text.zfill(column.width)
        is_close = column.width - len(text) <= _MAX_ADDED_ZEROS and column.kind in DOCUMENTS
        if is_close and DOCUMENTS[column.kind].is_valid(padded):
            details = {"width": column.width, "proposal": _PROPOSAL.format(code=padded)}
            problems.add(position, "code-leading-zeros", details, corrected=padded)
            return padded
        problems.add(position, "code-leading-zeros", {"width": column.width, "proposal": ""})
        return None
    return text


def _has_look_alikes(text: str) -> bool:
    """Return whether the text has a letter of another alphabet that looks Latin."""
    return not (text.isascii() or _LOOK_ALIKES.isdisjoint(text))


def _find_look_alike(text: str) -> str | None:
    """Return the first letter of another alphabet that looks Latin, in a word that has Latin
    letters or looks entirely Latin.

    Other words that are clearly in another alphabet make the text one of that language.
    """
    if not _has_look_alikes(text):
        return None
    candidates: list[str] = []
    is_foreign = False
    for word in text.split():
        letters = [character for character in word if character.isalpha()]
        alike = [letter for letter in letters if letter in _LOOK_ALIKES]
        if alike and any(_is_latin(letter) for letter in letters):
            return alike[0]
        candidates += alike[:1]
        is_foreign |= len(alike) < sum(not _is_latin(letter) for letter in letters)
    return None if is_foreign else next(iter(candidates), None)


def _composed(text: str) -> str:
    """Return the text in composed form (NFC): a letter with its accent is one character."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def _is_latin(character: str) -> bool:
    return character.isalpha() and unicodedata.name(character, "").startswith("LATIN")


_MONTHS = 12
_MAX_LATER_SHARE = 1 / 20
"""Share of dates that may have been typed after day and month of the others were swapped."""
_MIN_DATES = 3
"""Number of texts, and of distinct days, that make chance unlikely."""
_Days = npt.NDArray[np.datetime64]


def report_swapped_dates(cells: ColumnCells, days: _Days, problems: CellProblems) -> bool:
    """Report at the first date of a column if day and month seem to be swapped; return whether.

    That is so if nearly all ``days`` are up to 12, and those of all text dates, which agree on one
    order, are above. If there are few, the dates must also be closer to the texts when swapped."""
    _, texts = cells.texts()
    positions = np.flatnonzero(~np.isnat(days))
    if not texts or not len(positions):
        return False
    counts = Counter(texts)
    meanings = meanings_of(counts, date_meanings)
    native = Evidence.of(meanings.values()).agreed
    text_days = [meaning.native if native else meaning.foreign for meaning in meanings.values()]
    if native is None or not all(day is not None and day.day > _MONTHS for day in text_days):
        return False
    count = sum(counts[text] for text in meanings)
    swapped = _count_swapped(days[positions], np.array(text_days, dtype="datetime64[D]"), count)
    if swapped:
        problems.add(int(positions[0]), "dates-swapped", {"dates": swapped, "texts": count})
    return swapped > 0


def _count_swapped(days: _Days, texts: _Days, count: int) -> int:
    """Count the dates whose day and month seem to be swapped; ``count`` is the number of texts."""
    whole = days.astype("datetime64[D]")
    years, months = whole.astype("datetime64[Y]"), whole.astype("datetime64[M]")
    day = (whole - months).astype(int) + 1
    low = day <= _MONTHS
    if len(low) - low.sum() > len(low) * _MAX_LATER_SHARE:
        return 0
    by_chance = count < _MIN_DATES or len(np.unique(day[low])) < _MIN_DATES
    month = (months - years).astype(int)
    swapped = years[low].astype("datetime64[M]") + (day[low] - 1)
    swapped = swapped.astype("datetime64[D]") + month[low]
    if by_chance and _distance(swapped, texts) >= _distance(whole[low], texts):
        return 0
    return int(low.sum())


def _distance(days: _Days, others: _Days) -> float:
    """Return the mean distance of days from the range of others."""
    before, after = others.min() - days, days - others.max()
    return float(np.maximum(np.maximum(before, after).astype(int), 0).mean())


_EXCEL_DIGITS = Context(prec=15)
_TOLERANCE = Decimal("1e-9")
_DIGITS_LOST = Text(
    pt=" que caiba na célula: o Excel guarda só 15 algarismos",
    en=" that fits in the cell: Excel keeps 15 digits only",
)
_NO_REASON: Mapping[str, object] = {"why": ""}
_EPOCH = dt.date(1970, 1, 1).toordinal()
_FIRST_MOMENT = np.datetime64("0001-01-01", "us")
_FIRST_REAL_DAY = np.datetime64(f"{FIRST_YEAR}-01-01", "us")
_LAST_DAY = np.datetime64(f"{LAST_YEAR}-12-31", "us")
_PLAUSIBLE_SERIALS = 18_264, 73_051  # 1950 to 2099 as Excel counts days
_UNFORMATTED = Text(
    pt="; se o número é o certo, falta só dar à célula um formato de data",
    en="; if the number is right, the cell only needs the format of a date",
)
_YES = frozenset({"verdadeiro", "true", "sim", "s", "yes"})
NO = frozenset({"falso", "false", "não", "nao", "n", "no"})
"""Words for false, in small letters."""


def _number(
    column: Column, cells: ColumnCells, reading: ParseOptions, problems: CellProblems
) -> Any:
    wrong = "type-integer" if column.kind is Kind.INTEGER else "type-number"
    numbers = np.full(len(cells), np.nan)
    plain = cells.of_kind(CellKind.NUMBER)
    values = cells.numbers[plain]
    exact = np.abs(values) < _TOO_LARGE
    numbers[plain] = np.where(exact, values, np.nan)
    for position in plain[~exact]:
        lost = np.isfinite(cells.numbers[position])
        problems.add(int(position), wrong, {"why": _DIGITS_LOST if lost else ""})
    problems.add_all(cells.others(CellKind.NUMBER), wrong, _NO_REASON)
    parsed = parse_texts(NUMBER_PARSERS[column.kind], cells, reading, problems)
    for position, _, value, certain, _ in parsed:
        if abs(value) >= _TOO_LARGE or abs(value - _EXCEL_DIGITS.plus(value)) > _TOLERANCE:
            problems.add(position, wrong, {"why": _DIGITS_LOST})
            continue
        numbers[position] = float(value)
        corrected = value if certain else None
        whole = column.kind is Kind.INTEGER and value == value.to_integral_value()
        read = format_decimal(value.quantize(Decimal(1)) if whole else value)
        problems.add(position, "number-as-text", {"read": read}, corrected=corrected)
    if column.kind is Kind.INTEGER:
        filled = ~np.isnan(numbers)
        usable = filled & (numbers == np.floor(numbers))
        fractions = np.flatnonzero(filled & ~usable & ~problems.failed)
        problems.add_all(fractions, "type-integer", _NO_REASON)
        return pd.arrays.IntegerArray(np.where(usable, numbers, 0).astype(np.int64), ~usable)
    if column.kind is Kind.MONEY:
        numbers = np.where(has_decimal_places(numbers, 2), np.round(numbers, 2), numbers)
    missing = np.isnan(numbers)
    # Adding zero turns -0 into 0.
    return pd.arrays.FloatingArray(np.where(missing, 0.0, numbers) + 0.0, missing)


def _date(column: Column, cells: ColumnCells, reading: ParseOptions, problems: CellProblems) -> Any:
    first, last = (np.datetime64(f"{year}-01-01", "us") for year in column.usual_years)
    last = (last.astype("datetime64[Y]") + 1).astype("datetime64[us]")
    days = np.full(len(cells), np.datetime64("NaT"), dtype="datetime64[us]")
    plain = cells.of_kind(CellKind.DATE)
    days[plain] = (cells.wholes[plain] - _EPOCH).astype("datetime64[D]")
    timed = cells.of_kind(CellKind.DATETIME)
    lost = _lost_seconds(cells)
    if len(timed):
        moments = cells.wholes[timed].astype("timedelta64[us]") + _FIRST_MOMENT
        days[timed] = moments.astype("datetime64[D]").astype("datetime64[us]")
        if lost:
            shown = str(dt.timedelta(seconds=_DAY - lost))
            days[timed] += np.timedelta64(1, "D")
            for position in timed.tolist():
                details = {
                    **_read_as(days[position].astype(object).date()),
                    "time": shown,
                    "lost": lost,
                }
                problems.add(position, "dates-before-midnight", details)
        else:
            problems.add_all(timed[moments != days[timed]], "date-has-time")
    for position in np.flatnonzero(days < _FIRST_REAL_DAY).tolist():
        problems.add(position, "date-serial", {"shown": display(cells[position])})
    problems.add_all(np.flatnonzero(days > _LAST_DAY), "type-date", {"why": TOO_LATE})
    for position in cells.others(CellKind.DATE, CellKind.DATETIME).tolist():
        value = cells[position]
        if isinstance(value, dt.time):
            problems.add(position, "date-serial", {"shown": display(value)})
        else:
            serial = value / dt.timedelta(days=1) if isinstance(value, dt.timedelta) else value
            first_serial, end = _PLAUSIBLE_SERIALS
            is_plausible = type(serial) is float and first_serial <= serial < end
            problems.add(position, "type-date", {"why": _UNFORMATTED if is_plausible else ""})
    swapped = report_swapped_dates(cells, days, problems)
    for position, text, read, certain, by_sheet in parse_texts(
        DATE_PARSER, cells, reading, problems
    ):
        days[position] = read
        if lost:
            days[position] += np.timedelta64(1, "D")
            next_day = _read_as(days[position].astype(object).date())
            details = {**next_day, "time": text[-len("00:00:00") :], "lost": lost}
            problems.add(position, "dates-before-midnight", details)
        elif by_sheet and (order := cells.sheet_dates()):
            details = {**_read_as(read), "column": order.column}
            corrected = None if has_time(text) or swapped else read
            problems.add(position, "date-order-of-sheet", details, corrected=corrected)
        elif has_time(text):
            problems.add(position, "date-has-time")
        else:
            corrected = read if certain and not swapped else None
            problems.add(position, "date-as-text", _read_as(read), corrected=corrected)
    for position in np.flatnonzero(~problems.failed & ((days < first) | (days >= last))).tolist():
        shown = display(days[position].astype(object).date())
        problems.add(position, "date-implausible", {"shown": shown})
    days[problems.failed] = np.datetime64("NaT")
    return pd.Series(days).array


_MINUTE, _DAY, _MICROSECONDS = 60, 86_400, 1_000_000
_ENDS_OF_DAY = frozenset({1, _MINUTE})
"""Seconds before midnight at which people say that a day ends: 23:59:59, 23:59:00."""
_CLOCK = re.compile(r".*[T ](\d{2}):(\d{2}):(\d{2})", re.ASCII)
_MIN_SHIFTED = 2


def _lost_seconds(cells: ColumnCells) -> int:
    """Return the seconds by which all dates of a column are before midnight, 0 if they are not.

    Programs that convert dates through a time zone with odd seconds lose them: 23:59:32 in all
    cells is the midnight after. A usual end of the day, 23:59:59 or 23:59:00, is none.
    """
    rounded = cells.wholes[cells.of_kind(CellKind.DATETIME)] + _MICROSECONDS // 2
    times, count = set((rounded // _MICROSECONDS % _DAY).tolist()), len(rounded)
    texts = [] if times and len(times) > 1 else cells.texts()[1]
    for text in texts:
        clock = _CLOCK.fullmatch(text)
        if clock is None:
            return 0
        hours, minutes, seconds = map(int, clock.groups())
        times.add((hours * _MINUTE + minutes) * _MINUTE + seconds)
    if len(times) != 1 or count + len(texts) < _MIN_SHIFTED or len(cells.of_kind(CellKind.DATE)):
        return 0
    lost = _DAY - times.pop()
    return lost if lost <= 2 * _MINUTE and lost not in _ENDS_OF_DAY else 0


@lru_cache(maxsize=1_000)
def _read_as(day: dt.date) -> Mapping[str, object]:
    """Return the details of a text that is read as a day; a column has few distinct ones."""
    return {"read": display(day)}


def _boolean(
    _column: Column, cells: ColumnCells, _reading: ParseOptions, problems: CellProblems
) -> Any:
    values = np.zeros(len(cells), dtype=bool)
    missing = np.ones(len(cells), dtype=bool)
    plain = cells.of_kind(CellKind.BOOLEAN)
    values[plain] = cells.wholes[plain] != 0
    missing[plain] = False
    problems.add_all(cells.others(CellKind.BOOLEAN), "type-boolean")
    for position, text in zip(*cells.texts(), strict=True):
        word = strip_invisible(normalize_width(text))[0].casefold()
        if not word:
            continue
        if word in _YES or word in NO:
            values[position], missing[position] = word in _YES, False
        else:
            problems.add(int(position), "type-boolean")
    return pd.arrays.BooleanArray(values, missing)


_Coercer = Callable[[Column, ColumnCells, ParseOptions, CellProblems], Any]

_COERCERS: Mapping[Kind, _Coercer] = {
    **{kind: coerce_text for kind in Kind if kind.is_text},
    **{kind: _number for kind in Kind if kind.is_number},
    Kind.DATE: _date,
    Kind.BOOLEAN: _boolean,
}


_EXCEL = (
    "#BLOCKED! #BUSY! #CALC! #CONNECT! #DIV/0! #ERROR! #EXTERNAL! #FIELD! #GETTING_DATA #N/A "
    "#NAME? #NULL! #NUM! #PYTHON! #REF! #SPILL! #UNKNOWN! #VALUE!"
)
_EXCEL_IN_PORTUGUESE = (
    "#BLOQUEADO! #CAMPO! #CONECTAR! #DESCONHECIDO! #DESPEJAR! #ERRO! #N/D #NOME? #NULO! "
    "#OBTENDO_DADOS #OCUPADO! #VALOR!"
)
_WORDS = "|".join(map(re.escape, [*_EXCEL.split(), *_EXCEL_IN_PORTUGUESE.split()]))
_ERROR_WORD = re.compile(
    rf"{_WORDS}|(?-i:Erro?:5[0-9][0-9])|#?(?:loading|carregando|cargando)\s?(?:\.\.\.|…)!?"
    r"|=_?(?:xlfn\.)?(?:dispimg|image)\(.*",
    re.IGNORECASE | re.DOTALL,
)
"""Error word of Excel, without accents, or of LibreOffice; what Google Sheets shows before a
result, and WPS Office in place of a picture."""
_MAY_BE_ERROR = re.compile("#|Err|oading|arregando|argando|ISPIMG|ispimg|=[Ii]")


_ERROR_STARTS = ("#", "E", "L", "l", "C", "c", "=")


def type_column(
    column: Column, cells: ColumnCells, reading: ParseOptions
) -> tuple[Any, CellProblems]:
    """Return the column's cells as a pandas array of its dtype, and their problems.

    Cells without a usable value, such as error words, are missing in the array. Money is rounded to
    the cent if it differs from that by no more than the noise of binary arithmetic.
    """
    joined, words = "\n".join(cells.source.texts), dict[int, str]()
    if _MAY_BE_ERROR.search(joined):
        bare = ((index, text.strip()) for index, text in enumerate(cells.source.texts))
        likely = ((index, text) for index, text in bare if text.startswith(_ERROR_STARTS))
        words = {
            index: text for index, text in likely if _ERROR_WORD.fullmatch(strip_accents(text))
        }
    errors = list(cells.clear_texts(words))
    problems = CellProblems.none(len(cells), reading.accepted_in(column.name))
    values = _COERCERS[column.kind](column, cells, reading, problems)
    for position, word in errors:
        problems.add(position, "cell-error", {"error": word})
    return values, problems
