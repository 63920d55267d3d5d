"""Corpus of bad cells: every kind of damage to a cell, and the finding it must have.

A damage declares the columns it applies to, how it changes a valid value, and the code of the
expected finding. The corpus is the product of damages, resources and columns.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Any

from sheets import Dollars, ErrorCell, Formula, Padded, Percent

from xlbridge.resources import Column, Kind

Fits = Callable[[Column], bool]
Change = Callable[[Column, Any], Any]


@dataclass(frozen=True, slots=True)
class Damage:
    """Damage to a cell: ``apply`` returns bad content for a column and a valid value."""

    name: str
    code: str
    fits: Fits
    apply: Change

    def __str__(self) -> str:
        return self.name


def _of_kind(*kinds: Kind) -> Fits:
    return lambda column: column.kind in kinds


def _checked(*names: str) -> Fits:
    return lambda column: any(name in column.checks for name in names)


def _money(column: Column) -> bool:
    return column.kind is Kind.MONEY


def _value(content: Any) -> Change:
    return lambda _column, _good: content


def _changed(change: Callable[[Any], Any]) -> Change:
    return lambda _column, good: change(good)


def _named(*names: str) -> Fits:
    return lambda column: column.name in names


def _both(*fits: Fits) -> Fits:
    return lambda column: all(fit(column) for fit in fits)


def _not(fit: Fits) -> Fits:
    return lambda column: not fit(column)


def _any(_column: Column) -> bool:
    return True


def _required(column: Column) -> bool:
    return column.required


def _is_text(column: Column) -> bool:
    return column.kind.is_text


def _is_code(column: Column) -> bool:
    return column.kind.is_code


def _is_free(column: Column) -> bool:
    """Free text, which may contain any letters."""
    return column.kind is Kind.TEXT and not column.allowed and "email" not in column.checks


def _is_longer_than_a_state(column: Column) -> bool:
    """Free text with room for characters besides the two letters of a state."""
    limit = column.checks.get("str_length", {}).get("max_value")
    return _is_free(column) and (limit is None or limit > len("SP"))


def _is_document(column: Column) -> bool:
    return column.kind in {Kind.CNPJ, Kind.CPF}


def _has_width(column: Column) -> bool:
    return column.width is not None


NUMBERS = _of_kind(Kind.NUMBER, Kind.MONEY)
INTEGERS = _of_kind(Kind.INTEGER)
DATES = _of_kind(Kind.DATE)
BOOLEANS = _of_kind(Kind.BOOLEAN)
FREE_CODES: Fits = _both(_is_code, _not(_has_width), _not(_checked("telephone")))


def _amount(good: float, thousands: str, point: str) -> str:
    return f"{good:,.2f}".translate(str.maketrans(",.", thousands + point))


def _spaced(good: float) -> str:
    return f"R$\N{NO-BREAK SPACE}{good:,.2f}".replace(",", " ").replace(".", ",")


_FIRST_DATES = {"dataDeEmissao", "dataDeInicio"}


def _day(column: Column) -> date:
    """Return a day over 12 that is consistent with the other date of the row."""
    return date(2026, 1, 25) if column.name in _FIRST_DATES else date(2027, 12, 25)


def _as_day(form: str) -> Change:
    return lambda column, _good: _day(column).strftime(form)


def _inside(character: str) -> Callable[[str], str]:
    return lambda good: good[: len(good) > 1] + character + good[len(good) > 1 :]


def _in_place(character: str) -> Callable[[str], str]:
    """Replace the second character, so that the text keeps its length."""
    return lambda good: good[:1] + character + good[2:]


def _last_digit(good: str) -> str:
    return good[:-1] + str((int(good[-1]) + 1) % 10)


def _too_long(column: Column, _good: Any) -> str:
    return "x" * (column.checks["str_length"]["max_value"] + 1)


def _wide(good: str) -> str:
    return good.translate({ord(str(d)): chr(0xFF10 + d) for d in range(10)})


def _above(column: Column, _good: Any) -> Any:
    return column.checks["in_range"]["max_value"] + 1


ANYWHERE = [
    *(
        Damage(f"shows {shown}", "cell-error", _any, _value(ErrorCell(shown)))
        for shown in ("#N/A", "#REF!", "#DIV/0!", "#VALUE!", "#NUM!")
    ),
    Damage("formula without result", "formula-no-value", _any, _value(Formula("=1+1"))),
    Damage("blank though required", "required-missing", _required, _value(None)),
    Damage("spaces though required", "required-missing", _required, _value("   ")),
    Damage(
        "nothing visible though required",
        "required-missing",
        _both(_required, _is_text),
        _value("\N{ZERO WIDTH SPACE}\N{NO-BREAK SPACE}"),
    ),
]

WRONG_TYPES = [
    Damage("boolean for a whole number", "type-integer", INTEGERS, _value(True)),
    Damage("boolean for a number", "type-number", NUMBERS, _value(True)),
    Damage("boolean for a date", "type-date", DATES, _value(True)),
    Damage("boolean for a text", "type-text", _is_text, _value(True)),
    Damage("date for a whole number", "type-integer", INTEGERS, _value(date(2026, 1, 1))),
    Damage("date for a number", "type-number", NUMBERS, _value(date(2026, 1, 1))),
    Damage("date for a text", "type-text", _is_text, _value(date(2026, 1, 1))),
    Damage("date for a boolean", "type-boolean", BOOLEANS, _value(date(2026, 1, 1))),
    Damage("time for a whole number", "type-integer", INTEGERS, _value(time(10, 30))),
    Damage("time for a number", "type-number", NUMBERS, _value(time(10, 30))),
    Damage("time for a text", "type-text", _is_text, _value(time(10, 30))),
    Damage("number for a boolean", "type-boolean", BOOLEANS, _value(1)),
    Damage("number for a date", "type-date", DATES, _value(46000)),
    Damage("word for a whole number", "type-integer", INTEGERS, _value("dois")),
    Damage("digits with a letter", "type-integer", INTEGERS, _value("12a")),
    Damage("word for a number", "type-number", NUMBERS, _value("a combinar")),
    Damage("scientific text for a number", "type-number", NUMBERS, _value("1E+03")),
    Damage("word for a date", "type-date", DATES, _value("amanhã")),
    Damage("word for a boolean", "type-boolean", BOOLEANS, _value("talvez")),
    Damage("cross for a boolean", "type-boolean", BOOLEANS, _value("X")),
    Damage("fraction for a whole number", "type-integer", INTEGERS, _value(1.5)),
    Damage("whole number beyond exactness", "type-integer", INTEGERS, _value(1e17)),
    Damage("text number beyond exactness", "type-integer", INTEGERS, _value("9" * 17)),
]

TEXT_NUMBERS = [
    Damage("whole number as text", "number-as-text", INTEGERS, _changed(str)),
    Damage("whole number in spaces", "number-as-text", INTEGERS, _changed(" {} ".format)),
    Damage("one thousand as text", "number-ambiguous", INTEGERS, _value("1.000")),
    Damage(
        "decimal comma", "number-as-text", NUMBERS, _changed(lambda good: _amount(good, ".", ","))
    ),
    Damage(
        "English number", "number-as-text", NUMBERS, _changed(lambda good: _amount(good, ",", "."))
    ),
    Damage("currency sign", "number-as-text", NUMBERS, _changed(_spaced)),
    Damage("number with an invisible mark", "number-as-text", NUMBERS,
           _changed(lambda good: "\N{LEFT-TO-RIGHT MARK}" + _amount(good, ".", ","))),
    Damage("amount in accounting format", "number-as-text", NUMBERS,
           _changed(lambda good: f"R$      {_amount(good, '.', ',')} ")),
    Damage("amount in parentheses", "type-number", NUMBERS,
           _changed(lambda good: f"({_amount(good, '.', ',')})")),
    Damage("trailing minus", "type-number", NUMBERS,
           _changed(lambda good: f"{_amount(good, '.', ',')}-")),
    Damage("bank debit", "type-number", NUMBERS,
           _changed(lambda good: f"{_amount(good, '.', ',')} D")),
    Damage("percentage as text", "type-number", NUMBERS, _value("12,5%")),
    Damage("more digits than a cell keeps", "type-number", NUMBERS, _value("123456789012345,67")),
    Damage("barcode for a number", "type-number", NUMBERS, _value(1.93373700000001e43)),
    Damage("point and three digits", "number-ambiguous", NUMBERS, _value("1.234")),
    Damage("comma and three digits", "number-ambiguous", NUMBERS, _value("1,234")),
    Damage("shown in dollars", "number-currency", _of_kind(Kind.MONEY), _changed(Dollars)),
    Damage("shown as a percentage", "number-percent", NUMBERS, _value(Percent(0.025))),
]  # fmt: skip

TEXT_DATES = [
    Damage("ISO date as text", "date-as-text", DATES, _as_day("%Y-%m-%d")),
    Damage("ISO date with midnight", "date-as-text", DATES, _as_day("%Y-%m-%dT00:00:00")),
    Damage("Brazilian date as text", "date-as-text", DATES, _as_day("%d/%m/%Y")),
    Damage("American date as text", "date-as-text", DATES, _as_day("%m/%d/%Y")),
    Damage("year first, with slashes", "date-as-text", DATES, _as_day("%Y/%m/%d")),
    Damage("month and year", "type-date", DATES, _value("dez/2026")),
    Damage("serial as text", "type-date", DATES, _value("46022")),
    Damage("moment with its offset", "date-as-text", DATES, _as_day("%Y-%m-%dT00:00:00-03:00")),
    Damage("midnight elsewhere", "type-date", DATES, _as_day("%Y-%m-%dT00:00:00Z")),
    Damage("date with points", "date-as-text", DATES, _as_day("%d.%m.%Y")),
    Damage("date with a bidi mark", "date-as-text", DATES, _as_day("\u200e%d/%m/%Y")),
    Damage("text date with a time", "date-has-time", DATES, _as_day("%d/%m/%Y 10:30")),
    Damage("ambiguous order", "date-ambiguous", DATES, _value("01/02/2026")),
    Damage("two-digit year", "date-short-year", DATES, _as_day("%d/%m/%y")),
    Damage("nonexistent day", "type-date", DATES, _value("31/02/2026")),
    Damage("nonexistent month", "type-date", DATES, _value("2026-13-01")),
    Damage("small serial", "date-serial", DATES, _value(date(1900, 1, 31))),
    Damage("serial 60", "date-serial", DATES, _value(date(1900, 2, 28))),
    Damage("time for a date", "date-serial", DATES, _value(time(10, 30))),
    Damage(
        "wrong century", "date-implausible", DATES,
        lambda column, _: _day(column).replace(year=1926 if _day(column).year == 2026 else 2207),
    ),
    Damage(
        "date with a time", "date-has-time", DATES,
        lambda column, _: datetime.combine(_day(column), time(10, 30)),
    ),
]  # fmt: skip

CODES = [
    Damage("code as a short number", "code-leading-zeros", _has_width, _value(2)),
    Damage("code shown with zeros", "code-leading-zeros", FREE_CODES, _value(Padded(12))),
    Damage("code of sixteen digits as a number", "code-digits-lost", _is_code, _value(1e15)),
    Damage("barcode as a number", "code-digits-lost", _is_code, _value(1.93373700000001e43)),
    Damage("fraction for a code", "type-text", _is_text, _value(1.5)),
    Damage("negative number for a code", "type-text", _is_text, _value(-7)),
    Damage("scientific notation", "code-scientific", _is_code, _value("1,23457E+13")),
    Damage("ditto mark for a code", "text-ditto", _is_code, _value('"')),
    Damage("ditto word for a code", "text-ditto", _is_code, _value("Idem")),
    Damage("line break in a code", "hidden-character", _is_code, _changed("{0}\n{0}".format)),
    Damage("Cyrillic letter in a code", "hidden-character", _is_code, _changed(_inside("А"))),
    Damage("Greek letter in a code", "hidden-character", _is_code, _changed(_inside("Ο"))),
    Damage("full-width digits", "code-form", _both(_is_code, _not(_checked("boleto"))),
           lambda column, good: _wide(good if any(map(str.isdigit, good)) else "12345678")),
    Damage("wrong width", "format", _checked("digits"), _changed(lambda good: good[:-1])),
    Damage("letter O for a zero", "format", _checked("digits"), _changed(lambda g: g[:-1] + "O")),
    Damage("nonexistent chapter", "nbs-invalid", _checked("nbs"), _value("1.9902.10.00")),
    Damage("wrong check digit of a barcode", "barcode-invalid", _checked("boleto"),
           _changed(_last_digit)),
    Damage("barcode cut short", "barcode-invalid", _checked("boleto"), _changed(lambda g: g[:-1])),
]  # fmt: skip

TEXTS = [
    *(
        Damage(f"{name} inside", "invisible-character", _is_text, _changed(_inside(character)))
        for name, character in {
            "zero-width space": "\N{ZERO WIDTH SPACE}",
            "byte order mark": "\ufeff",
            "soft hyphen": "\N{SOFT HYPHEN}",
            "right-to-left mark": "\N{RIGHT-TO-LEFT MARK}",
        }.items()
    ),
    Damage(
        "no-break space inside", "invisible-character",
        _both(_is_longer_than_a_state, lambda column: len(str(column.example)) > 1),
        _changed(_inside("\N{NO-BREAK SPACE}")),
    ),
    Damage("spaces before", "text-spaces", _is_text, _changed("  {}".format)),
    Damage("no-break space after", "text-spaces", _is_text, _changed("{}\u00a0".format)),
    Damage("tab after", "text-spaces", _is_text, _changed("{}\t".format)),
    Damage("Cyrillic letter in a text", "look-alike-letter", _is_free, _changed(_in_place("а"))),
    Damage("Greek letter in a text", "look-alike-letter", _is_free, _changed(_in_place("ο"))),
    Damage("UTF-8 read as Windows-1252", "text-misread", _is_longer_than_a_state,
           _changed("{} AçÃ£o".format)),
    Damage("HTML left in a text", "text-misread", _is_longer_than_a_state,
           _changed("{} &amp; Cia".format)),
    Damage("character lost in conversion", "character-lost", _is_free, _changed("{}\ufffd".format)),
    Damage("too long", "text-length", _both(_checked("str_length"), _not(_checked("email"))),
           _too_long),
    Damage("too short", "text-length", _checked("telephone"), _value("123")),
    Damage("value not allowed", "value-not-allowed", lambda c: bool(c.allowed), _value("Outra")),
    Damage("allowed in another case", "value-spelling", lambda c: bool(c.allowed),
           _changed(str.lower)),
    Damage("e-mail without a domain", "email-invalid", _checked("email"), _value("maria@")),
    Damage("two e-mails", "email-invalid", _checked("email"), _value("a@b.com.br; c@d.com.br")),
    Damage("fraction for a rate", "rate-fraction", _checked("tax_rate"), _value(0.05)),
    Damage("telephone without area code", "phone-doubtful", _checked("telephone"),
           _value("98765-4321")),
]  # fmt: skip

DOCUMENTS = [
    Damage("wrong check digit of a CNPJ", "cnpj-invalid", _named("cnpj"), _changed(_last_digit)),
    Damage("CNPJ cut short", "cnpj-invalid", _named("cnpj"), _changed(lambda good: good[:-1])),
    Damage("CNPJ of one digit", "cnpj-invalid", _named("cnpj"), _value("0" * 14)),
    Damage("lower-case CNPJ", "code-form", _named("cnpj"), _value("12abc34501de35")),
    Damage("CNPJ with a dash of print", "code-form", _named("cnpj"), _value("11.222.333/0001–81")),
    Damage("CNPJ with half its mask", "code-form", _named("cnpj"), _value("11222333/0001-81")),
    Damage("CNPJ with its zero lost", "code-leading-zeros", _named("cnpj"), _value(191)),
    Damage("dash for a document", "document-placeholder", _is_document, _value("-")),
    Damage("N/A for a document", "document-placeholder", _is_document, _value("N/A")),
    Damage("wrong check digit of a CPF", "cpf-invalid", _named("cpf"), _changed(_last_digit)),
    Damage("CPF of one digit", "cpf-invalid", _named("cpf"), _value("11111111111")),
    Damage("CPF with a dash of print", "code-form", _named("cpf"), _value("529.982.247–25")),
    Damage("CPF with its zero lost", "code-leading-zeros", _named("cpf"), _value(1234567890)),
]

RULES_BROKEN = [
    Damage("zero", "value-range", _checked("greater_than"), _value(0)),
    Damage("negative", "value-range", _checked("greater_than", "greater_than_or_equal_to"),
           _value(-1)),
    Damage("negative rate", "value-range", _checked("in_range"), _value(-0.5)),
    Damage("above the range", "value-range", _checked("in_range"), _above),
    Damage("third decimal place", "decimal-places", _money,
           _changed(lambda good: good + 0.001)),
    Damage("due before issue", "not-before", _named("dataDeVencimento"), _value(date(2020, 1, 1))),
]  # fmt: skip

DAMAGES = [
    *ANYWHERE,
    *WRONG_TYPES,
    *TEXT_NUMBERS,
    *TEXT_DATES,
    *CODES,
    *TEXTS,
    *DOCUMENTS,
    *RULES_BROKEN,
]
