"""Codes of Brazilian registries: postcode, state, municipality, goods, services, invoices, phones.

Each function takes a text as it was typed and tells whether it has the code's structure: digits,
known prefixes, check digits. What a registry has issued is not known here.
"""

import re
from itertools import cycle

from xlbridge.resources.documents import is_cnpj, is_cpf

STATES = {
    "RO": "11", "AC": "12", "AM": "13", "RR": "14", "PA": "15", "AP": "16", "TO": "17",
    "MA": "21", "PI": "22", "CE": "23", "RN": "24", "PB": "25", "PE": "26", "AL": "27",
    "SE": "28", "BA": "29", "MG": "31", "ES": "32", "RJ": "33", "SP": "35", "PR": "41",
    "SC": "42", "RS": "43", "MS": "50", "MT": "51", "GO": "52", "DF": "53",
}  # fmt: skip
"""The states, and the prefix that IBGE gives to each."""

_AREA = "1[1-9]|2[12478]|3[0-578]|4[1-9]|5[1345]|6[1-9]|7[134579]|8[1-9]|9[1-9]"
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
_NATIONAL = re.compile(rf"(?:\+?55)?0?(?:{_AREA})(?:9\d{{8}}|[2-5]\d{{7}})", re.ASCII)
_SERVICE = re.compile(r"0[3589]00\d{6,7}|(?:300|400|402|403)\d{5}", re.ASCII)
_FOREIGN = re.compile(r"\+(?!55)[1-9]\d{6,14}", re.ASCII)
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
    return any(form.fullmatch(digits) for form in (_NATIONAL, _SERVICE, _FOREIGN))
