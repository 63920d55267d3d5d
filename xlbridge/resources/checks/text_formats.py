"""Formats of a single text: documents, bank slips, Brazilian registry codes, phones, e-mail.

Each ``is_…`` function takes a text as it was typed and tells whether it has the structure:
digits,
known prefixes, check digits. What a registry has issued is not known here. Source of the bank-
slip
codes: the layouts of FEBRABAN for collection slips (47 digits typed) and for utility bills (48
digits typed, first digit 8).
"""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import cycle

from stdnum.br import cnpj as stdnum_cnpj, cpf as stdnum_cpf

_MASK = re.compile(r"[\W_]+")
_CNPJ_SHAPE = re.compile(r"[0-9A-Za-z]{12}[0-9]{2}")
_CPF_SHAPE = re.compile(r"[0-9]{11}")


def is_cnpj(text: str) -> bool:
    """Tell whether ``text`` is a CNPJ without mask, numeric or alphanumeric."""
    return _is_document(_CNPJ_SHAPE, text) and bool(stdnum_cnpj.is_valid(text))


def is_cpf(text: str) -> bool:
    """Tell whether ``text`` is a CPF without mask."""
    return _is_document(_CPF_SHAPE, text) and bool(stdnum_cpf.is_valid(text))


def bare_document(text: str) -> str:
    """Return a document as documents are compared: without its mask, in capitals."""
    return _MASK.sub("", text).upper()


def masked_cnpj(text: str) -> str:
    """Return a CNPJ of fourteen symbols as people write it."""
    return f"{text[:2]}.{text[2:5]}.{text[5:8]}/{text[8:12]}-{text[12:]}"


def masked_cpf(text: str) -> str:
    """Return a CPF of eleven digits as people write it."""
    return f"{text[:3]}.{text[3:6]}.{text[6:9]}-{text[9:]}"


def _is_document(shape: re.Pattern[str], text: str) -> bool:
    """One symbol repeated passes the check digits, and is never a document."""
    return shape.fullmatch(text) is not None and len(set(text)) > 1


_BARCODE, _TYPED_SLIP, _TYPED_BILL = 44, 47, 48


def is_boleto(code: str) -> bool:
    """Tell whether ``code`` is a barcode or typed line whose check digits are all right.

    Spaces, points and hyphens between the digits are allowed.
    """
    digits = code.translate(str.maketrans("", "", " .-"))
    if not (digits.isascii() and digits.isdigit()):
        return False
    if digits.startswith("8"):
        return _is_bill(digits)
    if len(digits) == _TYPED_SLIP:
        fields = (digits[0:10], digits[10:21], digits[21:32])
        if any(_mod10(field[:-1]) != field[-1] for field in fields):
            return False
        digits = digits[:4] + digits[32:] + digits[4:9] + digits[10:20] + digits[21:31]
    return len(digits) == _BARCODE and digits[4] == _slip_digit(digits[:4] + digits[5:])


def _is_bill(digits: str) -> bool:
    check = _mod10 if digits[2] in "67" else _bill_mod11
    if len(digits) == _TYPED_BILL:
        blocks = [digits[start : start + 12] for start in range(0, _TYPED_BILL, 12)]
        if any(check(block[:-1]) != block[-1] for block in blocks):
            return False
        digits = "".join(block[:-1] for block in blocks)
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


STATES = {
    "RO": "11", "AC": "12", "AM": "13", "RR": "14", "PA": "15", "AP": "16", "TO": "17",
    "MA": "21", "PI": "22", "CE": "23", "RN": "24", "PB": "25", "PE": "26", "AL": "27",
    "SE": "28", "BA": "29", "MG": "31", "ES": "32", "RJ": "33", "SP": "35", "PR": "41",
    "SC": "42", "RS": "43", "MS": "50", "MT": "51", "GO": "52", "DF": "53",
}  # fmt: skip
"""The states, and the prefix that IBGE gives to each."""

_AREA_CODES = "1[1-9]|2[12478]|3[0-578]|4[1-9]|5[1345]|6[1-9]|7[134579]|8[1-9]|9[1-9]"
"""The area codes of telephones, as libphonenumber 9.0.43 knows them."""

UNCHECKED_MUNICIPALITIES = frozenset(
    {"2201919", "2201988", "2202251", "2611533", "3117836", "3152131", "4305871"}
    | {"5203939", "5203962"}
)
"""The municipalities whose last digit is not the check digit that the others have."""

_CEP = re.compile(r"(\d{5})-?(\d{3})", re.ASCII)
_NCM = re.compile(r"(\d{2})(?:\d{6}|\d{2}\.\d{2}\.\d{2})", re.ASCII)
_NBS = re.compile(r"1\.?(\d{2})(?:\d{6}|\d{2}\.\d{2}\.\d{2})", re.ASCII)
_MUNICIPALITY = re.compile(r"\d{7}", re.ASCII)
_ACCESS_KEY = re.compile(r"(\d{2})\d{2}(0[1-9]|1[0-2])([0-9A-Z]{12}\d{2})(?:55|65)\d{22}", re.ASCII)
_PHONE_MARKS = str.maketrans("", "", " ()-.")
_NATIONAL_PHONE = re.compile(rf"(?:\+?55)?0?(?:{_AREA_CODES})(?:9\d{{8}}|[2-5]\d{{7}})", re.ASCII)
_SERVICE_PHONE = re.compile(r"0[3589]00\d{6,7}|(?:300|400|402|403)\d{5}", re.ASCII)
_FOREIGN_PHONE = re.compile(r"\+(?!55)[1-9]\d{6,14}", re.ASCII)
_FIRST_CEP = 1000
_LAST_NCM_CHAPTER, _RESERVED_NCM_CHAPTER = 97, 77
_LAST_NBS_CHAPTER = 27


def is_cep(text: str) -> bool:
    """Eight digits, with or without the hyphen; the lowest postcodes begin with 01000."""
    match = _CEP.fullmatch(text)
    return match is not None and int(match[1]) >= 1000


def is_uf(text: str) -> bool:
    """The two letters of a state."""
    return text in STATES


def is_ncm(text: str) -> bool:
    """Eight digits, with or without points, of a chapter that the nomenclature has."""
    match = _NCM.fullmatch(text)
    if match is None:
        return False
    chapter = int(match[1])
    return 1 <= chapter <= _LAST_NCM_CHAPTER and chapter != _RESERVED_NCM_CHAPTER


def is_nbs(text: str) -> bool:
    """Nine digits, with or without points: 1, then one of 27 chapters."""
    match = _NBS.fullmatch(text)
    return match is not None and 1 <= int(match[1]) <= _LAST_NBS_CHAPTER


def is_municipality(text: str) -> bool:
    """The seven digits that IBGE gives to a municipality: the state's prefix, a check digit."""
    if _MUNICIPALITY.fullmatch(text) is None or text[:2] not in STATES.values():
        return False
    products = (int(d) * weight for d, weight in zip(text[:6], cycle((1, 2)), strict=False))
    total = sum(sum(divmod(product, 10)) for product in products)
    return -total % 10 == int(text[6]) or text in UNCHECKED_MUNICIPALITIES


def is_access_key(text: str) -> bool:
    """The 44 symbols of an NF-e or NFC-e: state, month, issuer, model and check digit."""
    key = text.replace(" ", "").upper()
    match = _ACCESS_KEY.fullmatch(key)
    if match is None or match[1] not in STATES.values():
        return False
    issuer = match[3]
    is_person = issuer.startswith("000") and is_cpf(issuer[3:])
    return (is_person or is_cnpj(issuer)) and key[-1] == access_key_digit(key[:-1])


def access_key_digit(symbols: str) -> str:
    """Return the digit that checks the others of a key: modulo 11, weights 2 to 9 from the right.

    Letters, which the issuer's CNPJ may hold, count as their code less that of zero.
    """
    weighted = zip(reversed(symbols), cycle(range(2, 10)), strict=False)
    rest = sum((ord(symbol) - ord("0")) * weight for symbol, weight in weighted) % 11
    return str(11 - rest if rest > 1 else 0)


def is_phone(text: str) -> bool:
    """A number with an area code, one of a service such as 0800, or a foreign one after a +."""
    digits = text.translate(_PHONE_MARKS)
    return any(form.fullmatch(digits) for form in (_NATIONAL_PHONE, _SERVICE_PHONE, _FOREIGN_PHONE))


_MARKS = "\u0300-\u036f\u0900-\u0eff"
_LETTER = f"(?:[^\\W\\d_]|[{_MARKS}])"
_SYMBOL = rf"(?:[^\W_]|[{_MARKS}])"
_ATOM = rf"(?!')[\w{_MARKS}!#$%&'*+=?^`{{|}}~-]+"
_LABEL = rf"{_SYMBOL}(?:(?:{_SYMBOL}|-)*{_SYMBOL})?"
_EMAIL = re.compile(rf"{_ATOM}(?:\.{_ATOM})*@(?:{_LABEL}\.)+(?:{_LETTER}{{2,}}|xn--[0-9A-Za-z-]+)")


def is_email(text: str) -> bool:
    """Tell whether ``text`` is one e-mail address, in letters and digits of any alphabet."""
    return _EMAIL.fullmatch(text) is not None


TEXT_CHECKS: Mapping[str, Callable[[str], bool]] = {
    "email": is_email,
    "cnpj": is_cnpj,
    "cpf": is_cpf,
    "boleto": is_boleto,
    "cep": is_cep,
    "uf": is_uf,
    "ncm": is_ncm,
    "nbs": is_nbs,
    "municipality": is_municipality,
    "access_key": is_access_key,
    "telephone": is_phone,
}
"""What they say in words stands in ``rules.py``."""
