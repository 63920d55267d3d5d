"""Meanings of single cells of foreign sheets: kinds of documents, amounts of zero, months, and days
of a month such as "todo dia 10"."""

import datetime as dt
import re

from xlbridge.resources.checks import DOCUMENTS, bare_document
from xlbridge.validation.cells.text import display, folded_text, sign_of, strip_invisible
from xlbridge.validation.cells.text_parsing import MONTHS
from xlbridge.workbook.read import CellColumn

NOTHING = re.compile(r"(R\$)?\s*[-–]?\s*0*([.,]0+)?")
"""Texts of cells without an amount."""
_DAY = re.compile(r"((todo|cada)\s+)?((dia|day)\s+)?(?P<day>\d{1,2})[ºo]?", re.IGNORECASE)
_MONTH = re.compile(
    r"(?P<month>\d{1,2})[/.-](?P<year>\d{4})|(?P<year2>\d{4})[/.-](?P<month2>\d{1,2})"
)
_NAMED_MONTH = re.compile(r"(?P<name>[a-z]+)\.?(\s*[/-]\s*|\s+de\s+|\s+)(?P<year>\d{4}|\d{2})")
_THIS_CENTURY = 2000
_LAST_DAY, _LAST_MONTH = 31, 12


def all_values(column: CellColumn) -> list[object]:
    """Return the values of a column, from Excel's row 1 on."""
    return list(column.values(range(len(column.kinds))))


def document_kind(value: object) -> str | None:
    """Return the kind of document in a cell, by its check digits, else by its length.

    A document without its leading zeros counts if it can only be of one kind. A wrong document has
    mostly digits, unlike a name of the same length.
    """
    bare = bare_text(value)
    valid = valid_kinds(bare)
    if len(valid) == 1:
        return valid[0]
    if 2 * sum(map(str.isdecimal, bare)) < len(bare):
        return None
    return next((kind for kind, one in DOCUMENTS.items() if one.symbols == len(bare)), None)


def bare_text(value: object) -> str:
    return bare_document(shown_text(value))


def valid_kinds(bare: str) -> list[str]:
    return [kind for kind, one in DOCUMENTS.items() if one.is_valid(bare.zfill(one.symbols))]


def day_of(value: object) -> int | None:
    """Return the day of a month that a cell names, None for anything else, dates included."""
    if isinstance(value, bool | dt.date):
        return None
    found = _DAY.fullmatch(shown_text(value))
    day = int(found["day"]) if found else 0
    return day if 1 <= day <= _LAST_DAY else None


def month_of(value: object) -> tuple[int, int] | None:
    """Return the year and the month that a cell names, None for anything else."""
    if isinstance(value, dt.date):
        return value.year, value.month
    text = folded_text(shown_text(value))
    if found := _MONTH.fullmatch(text):
        year, month = found["year"] or found["year2"], found["month"] or found["month2"]
        return (int(year), int(month)) if 1 <= int(month) <= _LAST_MONTH else None
    if (found := _NAMED_MONTH.fullmatch(text)) is None:
        return None
    month, year = MONTHS.get(found["name"]), int(found["year"])
    return None if month is None else (year + (_THIS_CENTURY if year < 100 else 0), month)


def is_of_other_sign(value: object, sign: str) -> bool:
    """Return whether an amount has another sign, or is none if it may have ``any``."""
    if sign == "any":
        return NOTHING.fullmatch(shown_text(value)) is not None
    return sign_of(value) not in {None, sign}


def shown_text(value: object) -> str:
    """Return the text of a cell without invisible characters and outer spaces."""
    return strip_invisible(display(value))[0].strip()
