"""Rules of documents and bank slips: CNPJ, CPF, boleto.

Each ``is_…`` function takes a text as it was typed and tells whether it has the structure:
digits, known prefixes, check digits. Whether it was ever issued is not known here. Source of the
bank-slip codes: the layouts of FEBRABAN for collection slips (47 digits typed) and for utility
bills (48 digits typed, first digit 8).
"""

import re
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from functools import cache
from importlib import import_module

from xlbridge.i18n import Text
from xlbridge.resources.checks.rule import text_check
from xlbridge.resources.findings.finding import error

_MASK = re.compile(r"[\W_]+")
_CNPJ_SHAPE = re.compile(r"[0-9A-Za-z]{12}[0-9]{2}")
_CPF_SHAPE = re.compile(r"[0-9]{11}")


def bare_document(text: str) -> str:
    """Return a document as documents are compared: without its mask, in capitals."""
    return _MASK.sub("", text).upper()


@cache
def _has_check_digits(document: str) -> Callable[[str], bool]:
    """Return the library's test of a document, imported when the first one is tested."""
    is_valid: Callable[[str], bool] = import_module(f"stdnum.br.{document}").is_valid
    return is_valid


def _is_document(shape: re.Pattern[str], text: str) -> bool:
    # One symbol repeated passes the check digits, and is never a document.
    return shape.fullmatch(text) is not None and len(set(text)) > 1


@text_check(
    "cnpj",
    finding=error(
        "cnpj-invalid",
        Text(
            pt="O CNPJ não é válido (forma ou dígitos verificadores).",
            en="The CNPJ is not valid (form or check digits).",
        ),
        Text(
            pt="Confira o CNPJ no documento; letras são aceitas desde julho de 2026.",
            en="Check the CNPJ against the document; letters are accepted since July 2026.",
        ),
    ),
    wording=Text(pt="CNPJ válido", en="a valid CNPJ"),
    without_mask=bare_document,
)
def is_cnpj(text: str) -> bool:
    """Tell whether ``text`` is a CNPJ without mask, numeric or alphanumeric."""
    return _is_document(_CNPJ_SHAPE, text) and _has_check_digits("cnpj")(text)


@text_check(
    "cpf",
    finding=error(
        "cpf-invalid",
        Text(
            pt="O CPF não é válido (forma ou dígitos verificadores).",
            en="The CPF is not valid (form or check digits).",
        ),
        Text(pt="Confira o CPF no documento.", en="Check the CPF against the document."),
    ),
    wording=Text(pt="CPF válido", en="a valid CPF"),
    without_mask=bare_document,
)
def is_cpf(text: str) -> bool:
    """Tell whether ``text`` is a CPF without mask."""
    return _is_document(_CPF_SHAPE, text) and _has_check_digits("cpf")(text)


def masked_cnpj(text: str) -> str:
    """Return a CNPJ of fourteen symbols as people write it."""
    return f"{text[:2]}.{text[2:5]}.{text[5:8]}/{text[8:12]}-{text[12:]}"


def masked_cpf(text: str) -> str:
    """Return a CPF of eleven digits as people write it."""
    return f"{text[:3]}.{text[3:6]}.{text[6:9]}-{text[9:]}"


_BARCODE, _TYPED_SLIP, _TYPED_BILL = 44, 47, 48
_SLIP_MASK = str.maketrans("", "", " .-")
_FIRST_DAY = date(1997, 10, 7)
_FEWEST_DAYS, _DAYS_OF_ROUND = 1000, 9000


@text_check(
    "boleto",
    finding=error(
        "barcode-invalid",
        Text(
            pt="O código de barras do boleto não é válido (tamanho ou dígitos verificadores).",
            en="The bank-slip barcode is not valid (length or check digits).",
        ),
        Text(
            pt="Copie os 44 algarismos do código ou os 47 da linha digitável, como texto.",
            en="Copy the 44 digits of the barcode or the 47 of the typed line, as text.",
        ),
    ),
    wording=Text(pt="código de boleto válido", en="a valid bank-slip code"),
    width=44,
)
def is_boleto(code: str) -> bool:
    """Tell whether ``code`` is a barcode or typed line whose check digits are all right.

    Spaces, points and hyphens between the digits are allowed.
    """
    digits = code.translate(_SLIP_MASK)
    if not (digits.isascii() and digits.isdigit()):
        return False
    if digits.startswith("8"):
        return _is_bill(digits)
    if len(digits) == _TYPED_SLIP:
        fields = (digits[0:10], digits[10:21], digits[21:32])
        if any(_mod10(field[:-1]) != field[-1] for field in fields):
            return False
    digits = _barcode(digits)
    return len(digits) == _BARCODE and digits[4] == _slip_digit(digits[:4] + digits[5:])


def _barcode(digits: str) -> str:
    """Return the barcode of a typed line; other digits are returned as they are."""
    if len(digits) == _TYPED_BILL and digits.startswith("8"):
        return "".join(digits[start : start + 11] for start in range(0, _TYPED_BILL, 12))
    if len(digits) == _TYPED_SLIP:
        return digits[:4] + digits[32:] + digits[4:9] + digits[10:20] + digits[21:31]
    return digits


def _barcode_of(code: str) -> str:
    """Return the digits of a barcode, as they are or from the typed line; none where there are
    more or fewer. Check digits are not looked at."""
    digits = _barcode(code.translate(_SLIP_MASK))
    is_whole = len(digits) == _BARCODE and digits.isascii() and digits.isdigit()
    return digits if is_whole else ""


def boleto_cents(code: str) -> int:
    """Return the amount that a right code says, in cents; 0 where it says none."""
    digits = _barcode_of(code)
    if digits.startswith("8"):
        return int(digits[4:15]) if digits[2] in "68" else 0
    return int(digits[9:19] or 0)


def boleto_due_dates(code: str) -> tuple[date, ...]:
    """Return the days on which a right code may fall due, none where it says nothing of that.

    Days are counted in four digits, which ran out on 21 February 2025 and began again with 1000.
    """
    digits = _barcode_of(code)
    days = 0 if digits.startswith("8") else int(digits[5:9] or 0)
    if not days:
        return ()
    first = _FIRST_DAY + timedelta(days=days)
    return (first,) if days < _FEWEST_DAYS else (first, first + timedelta(days=_DAYS_OF_ROUND))


def _is_bill(digits: str) -> bool:
    check = _mod10 if digits[2] in "67" else _bill_mod11
    if len(digits) == _TYPED_BILL:
        blocks = [digits[start : start + 12] for start in range(0, _TYPED_BILL, 12)]
        if any(check(block[:-1]) != block[-1] for block in blocks):
            return False
    digits = _barcode(digits)
    return len(digits) == _BARCODE and digits[3] == check(digits[:3] + digits[4:])


def _weighted(digits: str, weights: Sequence[int]) -> list[int]:
    backwards = enumerate(reversed(digits))
    return [int(digit) * weights[place % len(weights)] for place, digit in backwards]


def _mod10(digits: str) -> str:
    total = sum(sum(divmod(product, 10)) for product in _weighted(digits, (2, 1)))
    return str(-total % 10)


def _mod11(digits: str) -> int:
    return sum(_weighted(digits, range(2, 10))) % 11


def _slip_digit(digits: str) -> str:
    digit = 11 - _mod11(digits)
    return str(digit if digit in range(2, 10) else 1)


def _bill_mod11(digits: str) -> str:
    rest = _mod11(digits)
    return str({0: 0, 1: 0, 10: 1}.get(rest, 11 - rest))
