"""Rules for formats of texts: CNPJ, CPF, e-mail, registry codes, access keys, telephones, codes of
bank slips; and for the amount and due date within the code of a slip.

Each ``is_…`` function tests the structure of a text as typed: digits, known prefixes, check
digits. It cannot know whether a number was ever issued. Source for slips: the layouts of FEBRABAN
for collection slips (47 digits typed) and utility bills (48 digits typed, first digit 8).
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache, wraps
from importlib import import_module
from itertools import cycle
from operator import mul
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta

from xlbridge.i18n import OR, Text, joined, localized_number, untranslated
from xlbridge.resources.checks.rule import (
    ColumnNames,
    Statistics,
    column_check,
    row_check,
    text_check,
)
from xlbridge.resources.findings import error, warning
from xlbridge.resources.models import Name

if TYPE_CHECKING:
    import pandas as pd

_MASK = re.compile(r"[\W_]+")
_CNPJ_SHAPE = re.compile(r"[0-9A-Za-z]{12}[0-9]{2}")
_CPF_SHAPE = re.compile(r"[0-9]{11}")


def bare_document(text: str) -> str:
    """Return a document without its mask, in capitals, for comparison."""
    return _MASK.sub("", text).upper()


@cache
def _has_check_digits(document: str) -> Callable[[str], bool]:
    """Return the library's test of a document, imported on first use."""
    is_valid: Callable[[str], bool] = import_module(f"stdnum.br.{document}").is_valid
    return is_valid


def _is_document(shape: re.Pattern[str], text: str) -> bool:
    # A repeated symbol has valid check digits, but is never a document.
    return shape.fullmatch(text) is not None and len(set(text)) > 1


@text_check(
    "cnpj",
    finding=error(
        "cnpj-invalid",
        pt="O CNPJ não é válido (forma ou dígitos verificadores).",
        en="The CNPJ is not valid (form or check digits).",
        hint_pt="Confira o CNPJ no documento; letras são aceitas desde julho de 2026.",
        hint_en="Check the CNPJ against the document; letters are accepted since July 2026.",
    ),
    wording=Text(pt="CNPJ válido", en="a valid CNPJ"),
    without_mask=bare_document,
)
def is_cnpj(text: str) -> bool:
    """Return whether a text is a CNPJ without mask, numeric or alphanumeric."""
    return _is_document(_CNPJ_SHAPE, text) and _has_check_digits("cnpj")(text)


@text_check(
    "cpf",
    finding=error(
        "cpf-invalid",
        pt="O CPF não é válido (forma ou dígitos verificadores).",
        en="The CPF is not valid (form or check digits).",
        hint_pt="Confira o CPF no documento.",
        hint_en="Check the CPF against the document.",
    ),
    wording=Text(pt="CPF válido", en="a valid CPF"),
    without_mask=bare_document,
)
def is_cpf(text: str) -> bool:
    """Return whether a text is a CPF without mask."""
    return _is_document(_CPF_SHAPE, text) and _has_check_digits("cpf")(text)


@dataclass(frozen=True, slots=True)
class Document:
    """Kind of document: its length without mask, its test, and the function that adds the mask."""

    symbols: int
    is_valid: Callable[[str], bool]
    masked: Callable[[str], str]


DOCUMENTS: Mapping[str, Document] = {
    "cnpj": Document(14, is_cnpj, lambda t: f"{t[:2]}.{t[2:5]}.{t[5:8]}/{t[8:12]}-{t[12:]}"),
    "cpf": Document(11, is_cpf, lambda t: f"{t[:3]}.{t[3:6]}.{t[6:9]}-{t[9:]}"),
}
"""Kinds of documents, by the kind of their columns."""


def _document_names(statistics: Statistics) -> Text:
    return joined([untranslated(kind.upper()) for kind in statistics["value"]], OR)


@column_check(
    "document",
    finding=error(
        "document-invalid",
        pt="Não é um {documents} válido (tamanho, forma ou dígitos verificadores).",
        en="This is not a valid {documents} (length, form or check digits).",
        hint_pt="Confira o número no documento; zeros à esquerda também contam.",
        hint_en="Check the number against the document; leading zeros count, too.",
    ),
    wording=lambda s: Text(pt="{documents} válido", en="a valid {documents}").format(
        documents=_document_names(s)
    ),
    statistics={"value": Annotated[list[Literal["cnpj", "cpf"]], Meta(min_length=1)]},
    details=lambda s: {"documents": _document_names(s)},
    value_test=lambda example, s: is_masked_document(example, s["value"]),
)
def has_documents(values: "pd.Series", *, value: Sequence[str]) -> "pd.Series":
    """Accept documents of the given kinds, with or without mask."""
    wrong = [text for text in values.dropna().unique() if not is_masked_document(text, value)]
    return ~values.isin(wrong)


def is_masked_document(text: str, kinds: Iterable[str]) -> bool:
    """Return whether a text, with or without mask, is a document of one of the kinds."""
    bare = bare_document(text)
    return any(DOCUMENTS[kind].is_valid(bare) for kind in kinds)


_MARKS = "\u0300-\u036f\u0900-\u0eff"
_LETTER = f"(?:[^\\W\\d_]|[{_MARKS}])"
_SYMBOL = rf"(?:[^\W_]|[{_MARKS}])"
_ATOM = rf"(?!')[\w{_MARKS}!#$%&'*+=?^`{{|}}~-]+"
_LABEL = rf"{_SYMBOL}(?:(?:{_SYMBOL}|-)*{_SYMBOL})?"
_EMAIL = re.compile(rf"{_ATOM}(?:\.{_ATOM})*@(?:{_LABEL}\.)+(?:{_LETTER}{{2,}}|xn--[0-9A-Za-z-]+)")


@text_check(
    "email",
    finding=error(
        "email-invalid",
        pt="O e-mail não é válido.",
        en="The e-mail address is not valid.",
        hint_pt="Escreva-o como nome@empresa.com.br.",
        hint_en="Write it as name@company.com.br.",
    ),
    wording=Text(pt="e-mail válido", en="a valid e-mail address"),
)
def is_email(text: str) -> bool:
    """Return whether a text is one e-mail address, in letters and digits of any alphabet."""
    return _EMAIL.fullmatch(text) is not None


STATES = {
    "RO": "11", "AC": "12", "AM": "13", "RR": "14", "PA": "15", "AP": "16", "TO": "17",
    "MA": "21", "PI": "22", "CE": "23", "RN": "24", "PB": "25", "PE": "26", "AL": "27",
    "SE": "28", "BA": "29", "MG": "31", "ES": "32", "RJ": "33", "SP": "35", "PR": "41",
    "SC": "42", "RS": "43", "MS": "50", "MT": "51", "GO": "52", "DF": "53",
}  # fmt: skip
"""IBGE's prefixes of the states."""
_ABROAD = "EX"
_MUNICIPALITY_ABROAD = "9999999"
"""State and municipality of an address abroad, as invoices write them."""

_AREA_CODES = "1[1-9]|2[12478]|3[0-578]|4[1-9]|5[1345]|6[1-9]|7[134579]|8[1-9]|9[1-9]"
"""Area codes of telephones according to libphonenumber 9.0.43."""

UNCHECKED_MUNICIPALITIES = frozenset(
    {"2201919", "2201988", "2202251", "2611533", "3117836", "3152131", "4305871"}
    | {"5203939", "5203962"}
)
"""Municipalities whose last digit is not a check digit."""

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


@text_check(
    "cep",
    finding=error(
        "cep-invalid",
        pt="O CEP não é válido.",
        en="The postcode (CEP) is not valid.",
        hint_pt="Escreva os oito algarismos, como 01310-100.",
        hint_en="Write its eight digits, such as 01310-100.",
    ),
    wording=Text(pt="CEP válido", en="a valid postcode (CEP)"),
    width=8,
)
def is_cep(text: str) -> bool:
    """Return whether a text has eight digits, with or without hyphen, from 01000 on."""
    match = _CEP.fullmatch(text)
    return match is not None and int(match[1]) >= _FIRST_CEP


@text_check(
    "uf",
    finding=error(
        "uf-invalid",
        pt="Não é a sigla de um estado.",
        en="This is not the abbreviation of a state.",
        hint_pt="Escreva a sigla em maiúsculas, como SP.",
        hint_en="Write the abbreviation in capitals, such as SP.",
    ),
    wording=Text(pt="sigla de um estado", en="the abbreviation of a state"),
)
def is_uf(text: str) -> bool:
    """Return whether a text is the abbreviation of a state, or EX for an address abroad."""
    return text in STATES or text == _ABROAD


@text_check(
    "ncm",
    finding=error(
        "ncm-invalid",
        pt="O código NCM não é válido (oito algarismos, capítulo existente).",
        en="The NCM code is not valid (eight digits, an existing chapter).",
        hint_pt="Confira o código na tabela NCM, como 8471.30.12.",
        hint_en="Check the code against the NCM table, such as 8471.30.12.",
    ),
    wording=Text(pt="código NCM", en="an NCM code"),
    width=8,
)
def is_ncm(text: str) -> bool:
    """Return whether a text has eight digits, with or without points, of an existing chapter."""
    match = _NCM.fullmatch(text)
    if match is None:
        return False
    chapter = int(match[1])
    return 1 <= chapter <= _LAST_NCM_CHAPTER and chapter != _RESERVED_NCM_CHAPTER


@text_check(
    "nbs",
    finding=error(
        "nbs-invalid",
        pt="O código NBS não é válido (nove algarismos, começa com 1, capítulo existente).",
        en="The NBS code is not valid (nine digits, begins with 1, an existing chapter).",
        hint_pt="Confira o código na tabela NBS, como 1.1502.10.00.",
        hint_en="Check the code against the NBS table, such as 1.1502.10.00.",
    ),
    wording=Text(pt="código NBS", en="an NBS code"),
    width=9,
)
def is_nbs(text: str) -> bool:
    """Return whether a text has nine digits, with or without points: 1, then one of 27 chapters."""
    match = _NBS.fullmatch(text)
    return match is not None and 1 <= int(match[1]) <= _LAST_NBS_CHAPTER


@text_check(
    "municipality",
    finding=error(
        "municipality-invalid",
        pt="O código IBGE do município não é válido (estado ou dígito verificador).",
        en="The IBGE code of the municipality is not valid (state or check digit).",
        hint_pt="Confira o código de sete algarismos, como 3550308.",
        hint_en="Check the code of seven digits, such as 3550308.",
    ),
    wording=Text(pt="código IBGE de município", en="an IBGE code of a municipality"),
    width=7,
)
def is_municipality(text: str) -> bool:
    """Return whether a text is IBGE's code of a municipality: seven digits with the state's prefix
    and a check digit, or 9999999 for an address abroad."""
    if text == _MUNICIPALITY_ABROAD:
        return True
    if _MUNICIPALITY.fullmatch(text) is None or text[:2] not in STATES.values():
        return False
    return mod10_digit(text[:6]) == text[6] or text in UNCHECKED_MUNICIPALITIES


@text_check(
    "access_key",
    finding=error(
        "access-key-invalid",
        pt="A chave de acesso não é válida (tamanho, emitente ou dígito verificador).",
        en="The access key is not valid (length, issuer or check digit).",
        hint_pt="Copie os 44 caracteres da nota, como texto.",
        hint_en="Copy the 44 characters from the invoice, as text.",
    ),
    wording=Text(pt="chave de acesso válida", en="a valid access key"),
    width=44,
)
def is_access_key(text: str) -> bool:
    """Return whether a text is the access key of an NF-e or NFC-e: 44 symbols with state, month,
    issuer, model and check digit."""
    key = text.replace(" ", "").upper()
    match = _ACCESS_KEY.fullmatch(key)
    if match is None or match[1] not in STATES.values():
        return False
    issuer = match[3]
    is_person = issuer.startswith("000") and is_cpf(issuer[3:])
    return (is_person or is_cnpj(issuer)) and key[-1] == mod11_digit(key[:-1])


def mod10_digit(digits: str) -> str:
    """Return the check digit of digits: modulo 10, weights 2 and 1 from the right."""
    return str(-sum(sum(divmod(product, 10)) for product in _weighted(digits, (2, 1))) % 10)


def mod11_digit(symbols: str, instead: int = 0) -> str:
    """Return the check digit of symbols: modulo 11, weights 2 to 9 from the right; ``instead`` of
    one of two digits.

    The value of a letter, in the CNPJ within an access key, is its code minus that of zero.
    """
    rest = sum(_weighted(symbols, range(2, 10))) % 11
    return str(11 - rest if rest > 1 else instead)


def _weighted(symbols: str, weights: Sequence[int]) -> Iterator[int]:
    values = (ord(symbol) - ord("0") for symbol in reversed(symbols))
    return map(mul, values, cycle(weights))


@text_check(
    "telephone",
    finding=warning(
        "phone-doubtful",
        pt="Não parece um telefone com DDD.",
        en="This does not look like a telephone number with its area code.",
        hint_pt="Escreva-o como (11) 98765-4321, ou com + e o código do país.",
        hint_en="Write it as (11) 98765-4321, or with + and the country code.",
    ),
    wording=Text(pt="telefone com DDD", en="a telephone number"),
)
def is_phone(text: str) -> bool:
    """Return whether a text is a number with an area code, one of a service such as 0800, or a
    foreign one with a +."""
    digits = text.translate(_PHONE_MARKS)
    return any(form.fullmatch(digits) for form in (_NATIONAL_PHONE, _SERVICE_PHONE, _FOREIGN_PHONE))


_BARCODE, _TYPED_SLIP, _TYPED_BILL = 44, 47, 48
_SLIP_MASK = str.maketrans("", "", " .-")
_FIRST_DAY = date(1997, 10, 7)
_FIRST_OF_CYCLE, _CYCLE_DAYS = 1000, 9000


@text_check(
    "boleto",
    finding=error(
        "barcode-invalid",
        pt="O código de barras do boleto não é válido (tamanho ou dígitos verificadores).",
        en="The bank-slip barcode is not valid (length or check digits).",
        hint_pt="Copie os 44 algarismos do código ou os 47 da linha digitável, como texto.",
        hint_en="Copy the 44 digits of the barcode or the 47 of the typed line, as text.",
    ),
    wording=Text(pt="código de boleto válido", en="a valid bank-slip code"),
    width=44,
)
def is_boleto(code: str) -> bool:
    """Return whether a code is a barcode or typed line with valid check digits.

    Spaces, points and hyphens are allowed.
    """
    digits = code.translate(_SLIP_MASK)
    if not (digits.isascii() and digits.isdigit()):
        return False
    if digits.startswith("8"):
        return _is_bill(digits)
    if len(digits) == _TYPED_SLIP:
        fields = (digits[0:10], digits[10:21], digits[21:32])
        if any(mod10_digit(field[:-1]) != field[-1] for field in fields):
            return False
    digits = _barcode(digits)
    return len(digits) == _BARCODE and digits[4] == mod11_digit(digits[:4] + digits[5:], instead=1)


def _barcode(digits: str) -> str:
    """Return the barcode of a typed line; other digits are returned unchanged."""
    if len(digits) == _TYPED_BILL and digits.startswith("8"):
        return "".join(digits[start : start + 11] for start in range(0, _TYPED_BILL, 12))
    if len(digits) == _TYPED_SLIP:
        return digits[:4] + digits[32:] + digits[4:9] + digits[10:20] + digits[21:31]
    return digits


def _barcode_of(code: str) -> str:
    """Return the barcode of a code, empty if its length is wrong; check digits are not tested."""
    digits = _barcode(code.translate(_SLIP_MASK))
    is_barcode = len(digits) == _BARCODE and digits.isascii() and digits.isdigit()
    return digits if is_barcode else ""


def boleto_cents(code: str) -> int:
    """Return the amount in a valid code, in cents; 0 if there is none."""
    digits = _barcode_of(code)
    if digits.startswith("8"):
        return int(digits[4:15]) if digits[2] in "68" else 0
    return int(digits[9:19] or 0)


def boleto_due_dates(code: str) -> tuple[date, ...]:
    """Return the possible due dates of a valid code, none if it has no date.

    Days are counted in four digits, which ended on 21 February 2025 and restarted with 1000.
    """
    digits = _barcode_of(code)
    days = 0 if digits.startswith("8") else int(digits[5:9] or 0)
    if not days:
        return ()
    first = _FIRST_DAY + timedelta(days=days)
    return (first,) if days < _FIRST_OF_CYCLE else (first, first + timedelta(days=_CYCLE_DAYS))


def _is_bill(digits: str) -> bool:
    check = mod10_digit if digits[2] in "67" else mod11_digit
    if len(digits) == _TYPED_BILL:
        blocks = [digits[start : start + 12] for start in range(0, _TYPED_BILL, 12)]
        if any(check(block[:-1]) != block[-1] for block in blocks):
            return False
    digits = _barcode(digits)
    return len(digits) == _BARCODE and digits[3] == check(digits[:3] + digits[4:])


_WrongSlips = Iterator[tuple[int, Mapping[str, object]]]


def _slip_check(
    name: str, **properties: Any
) -> Callable[[Callable[..., _WrongSlips]], Callable[..., _WrongSlips]]:
    """Declare a rule whose function yields the positions of wrong slips in a frame, with the
    details of each; it takes what ``row_check`` takes."""

    def declare(find: Callable[..., _WrongSlips]) -> Callable[..., _WrongSlips]:
        # Registering the rule with pandera reads the names of statistics from the signature.
        @wraps(find)
        def test_rows(frame: "pd.DataFrame", *, column: str, **others: Any) -> "pd.Series":
            right = frame[column].isna() | frame[column].notna()
            right.iloc[[position for position, _ in find(frame, column, **others)]] = False
            return right

        def describe(frame: "pd.DataFrame", **statistics: Any) -> list[Mapping[str, object]]:
            return [details for _, details in find(frame, **statistics)]

        row_check(name, row_details=describe, **properties)(test_rows)
        return find

    return declare


def _codes(frame: "pd.DataFrame", column: str) -> Iterator[tuple[int, str]]:
    """Yield the position and text of each code."""
    filled = frame[column].notna().to_numpy().nonzero()[0].tolist()
    yield from zip(filled, frame[column].iloc[filled], strict=True)


@_slip_check(
    "slip_amount",
    finding=warning(
        "slip-amount",
        pt="O boleto é de {amount}, diferente do valor do título ({columns}).",
        en="The bank slip is for {amount}, which differs from the title ({columns}).",
        hint_pt="Confira se o boleto é deste título, e o valor.",
        hint_en="Check that the slip belongs to this title, and check the amount.",
    ),
    wording=lambda s: Text(
        pt="{column}: boleto com o valor de {columns}", en="{column}: a slip with the {columns}"
    ).format(column=s["column"], columns=", ".join(s["columns"])),
    statistics={"column": Name, "columns": ColumnNames},
    needed=("column",),
)
def slip_amounts(frame: "pd.DataFrame", column: str, columns: Sequence[str]) -> _WrongSlips:
    """Yield the slips in ``column`` whose amount is that of none of ``columns``."""
    amounts = (frame[list(columns)].astype("Float64") * 100).round()
    expected = amounts.to_numpy(dtype=float, na_value=0.0)
    for position, code in _codes(frame, column):
        cents = boleto_cents(code)
        if cents and expected[position].any() and cents not in expected[position]:
            amount = localized_number(f"{cents / 100:.2f}")
            yield position, {"amount": amount, "columns": ", ".join(columns)}


@_slip_check(
    "slip_due_date",
    finding=warning(
        "slip-due-date",
        pt="O boleto vence em {due}, e não na data de {other}.",
        en="The bank slip is due on {due}, not on the date of {other}.",
        hint_pt="Confira se o boleto é deste título, e o vencimento.",
        hint_en="Check that the slip belongs to this title, and check the due date.",
    ),
    wording=lambda s: Text(
        pt="{column}: boleto com o vencimento de {other}", en="{column}: a slip due on {other}"
    ).format(column=s["column"], other=s["other"]),
    statistics={"column": Name, "other": Name},
    needed=("column", "other"),
)
def slip_due_dates(frame: "pd.DataFrame", column: str, other: str) -> _WrongSlips:
    """Yield the slips in ``column`` that are due on another day than that of ``other``."""
    days = frame[other].dt.date
    missing = frame[other].isna().to_numpy()
    for position, code in _codes(frame, column):
        expected: Any = days.iat[position]
        due_dates = () if missing[position] else boleto_due_dates(code)
        if due_dates and expected not in due_dates:
            nearest = min(due_dates, key=lambda day: abs(day - expected))
            yield position, {"due": f"{nearest:%d/%m/%Y}", "other": other}
