"""Whether the example of a column is what the column itself would accept.

One value is judged here, without the libraries that judge whole columns.
"""

from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal
from typing import Any

from xlbridge.i18n import Text
from xlbridge.resources.column import DTYPES_OF_KIND, Kind
from xlbridge.resources.documents import bare_document, is_cnpj, is_cpf
from xlbridge.resources.rules import RULES, Statistics
from xlbridge.resources.text_checks import TEXT_CHECKS

_TYPES: Mapping[str, tuple[type | tuple[type, ...], Text]] = {
    "str": (str, Text(pt="um texto, entre aspas", en="a text, in quotes")),
    "Int64": (int, Text(pt="um inteiro", en="a whole number")),
    "Float64": ((int, float), Text(pt="um número", en="a number")),
    "datetime64[us]": (date, Text(pt="uma data, como 2026-12-31", en="a date, as 2026-12-31")),
    "boolean": (bool, Text(pt="true ou false", en="true or false")),
}
_DOCUMENTS = {Kind.CNPJ: is_cnpj, Kind.CPF: is_cpf}

_Judge = Callable[[Any, Statistics], bool]


def _of_text(judge: Callable[[str], bool]) -> _Judge:
    return lambda example, _: judge(example)


def _has_digits(example: str, statistics: Statistics) -> bool:
    bare = example.translate(dict.fromkeys(map(ord, statistics.get("separators", ""))))
    return bare.isascii() and bare.isdecimal() and len(bare) == statistics["width"]


def _has_places(example: float, statistics: Statistics) -> bool:
    exponent = Decimal(str(example)).normalize().as_tuple().exponent
    return isinstance(exponent, int) and -exponent <= statistics["places"]


_JUDGES: Mapping[str, _Judge] = {
    **{name: _of_text(passes) for name, passes in TEXT_CHECKS.items()},
    # An example may have the mask.
    "cnpj": _of_text(lambda example: is_cnpj(bare_document(example))),
    "cpf": _of_text(lambda example: is_cpf(bare_document(example))),
    "greater_than": lambda example, s: example > s["value"],
    "greater_than_or_equal_to": lambda example, s: example >= s["value"],
    "less_than": lambda example, s: example < s["value"],
    "less_than_or_equal_to": lambda example, s: example <= s["value"],
    "in_range": lambda example, s: s["min_value"] <= example <= s["max_value"],
    "str_length": lambda example, s: s["min_value"] <= len(example) <= s["max_value"],
    "isin": lambda example, s: example in s["value"],
    "decimals": _has_places,
    "digits": _has_digits,
    "no_repeats": lambda _example, _: True,
}
"""What each check of a column says of one value."""


def example_fault(kind: Kind, checks: Mapping[str, Statistics], example: object) -> Text | None:
    """Return what an example should be and is not, None where nothing stands against it."""
    words = dtype_fault(example, DTYPES_OF_KIND[kind])
    if words is not None:
        return words
    if kind in _DOCUMENTS and not _DOCUMENTS[kind](bare_document(str(example))):
        return RULES[kind].statement({})
    for name, statistics in checks.items():
        if not _JUDGES[name](example, statistics):
            return RULES[name].statement(statistics)
    return None


def dtype_fault(value: object, dtype: str) -> Text | None:
    """Return what a value of a schema file should be in a column of a dtype, None where it is."""
    expected, words = _TYPES[dtype]
    # A bool is an int to Python.
    if not isinstance(value, expected) or (isinstance(value, bool) and dtype != "boolean"):
        return words
    return None
