"""Rules of a request's values: limits, spelling, formats, amounts; and the errors that report their
problems.

Values within the limits are stored alike by every database. The spec gives no such limits; these
are this project's choice (``docs/assumptions.md``). The strict sandbox also requires names as in
the spec's tables or samples, dates as in the samples, and checks the format of texts such as
e-mails. Source: the spec, "Field names are exact and case-sensitive".
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from functools import cache
from typing import Any, TypeVar

from pydantic import ValidationError

from xlbridge.resources import load_catalogue
from xlbridge.resources.checks import RULES
from xlbridge.resources.findings import Severity
from xlbridge.wire import MAX_LENGTHS, WireModel, spellings
from xlbridge.wire.purchasing import PurchaseOrderItemInput
from xlbridge.wire.sales import ProductInvoiceItemInput

REQUIRED_MESSAGE = "Campo obrigatório não informado."

_PYDANTIC_MESSAGES: Mapping[str, str] = {
    "missing": REQUIRED_MESSAGE,
    "string_too_short": REQUIRED_MESSAGE,
    "too_short": "Informe ao menos {min_length} item(ns).",
    "literal_error": "Valor inválido: não é um dos permitidos ({expected}).",
    "greater_than": "Valor inválido: deve ser maior que {gt}.",
    "greater_than_equal": "Valor inválido: deve ser maior ou igual a {ge}.",
}

Found = TypeVar("Found")
Problem = tuple[str, str]
"""Field concerned, and message."""


def validation_problems(error: ValidationError) -> list[Problem]:
    """Return the problems of a failed validation: path of the field, and message."""
    problems = []
    for item in error.errors():
        context = item.get("ctx", {})
        if "expected" in context:  # pydantic lists the values in English
            context = {**context, "expected": context["expected"].replace("' or '", "' ou '")}
        message = _PYDANTIC_MESSAGES.get(item["type"], "Valor inválido.").format(**context)
        problems.append((".".join(map(str, item["loc"])) or "body", message))
    return problems


class RequestError(Exception):
    """A request that is answered with an error: HTTP status and problems."""

    def __init__(self, status: int, problems: Sequence[Problem]) -> None:
        super().__init__(status, *problems)
        self.status = status
        self.problems = tuple(problems)


class InvalidParameterError(Exception):
    """A GET with an invalid parameter, answered with a bare message string."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.message = f"Parâmetro inválido: {name}"


def invalid(*problems: Problem) -> RequestError:
    """Return the error for a request that breaks a rule (400)."""
    return RequestError(400, problems)


def not_found(key: str, message: str) -> RequestError:
    """Return the error for something in the path or query that does not exist (404)."""
    return RequestError(404, [(key, message)])


def first_or_404(records: Sequence[Found], key: str, message: str) -> Found:
    """Return the first record; raise ``RequestError`` (404) if there is none."""
    if not records:
        raise not_found(key, message)
    return records[0]


def require_no_problems(problems: Sequence[Problem]) -> None:
    """Raise ``RequestError`` (400) if there are problems."""
    if problems:
        raise RequestError(400, problems)


INTEGER_LIMIT = 2**31
NUMBER_LIMIT = 10**12
NUMBER_PLACES = 6
YEARS = range(1900, 3000)
ISO_8601 = (
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?(Z|[+-][0-9]{2}:?[0-9]{2})?)?"
)
"""Regular expression of a date in a body."""

OUT_OF_RANGE = "Valor inválido: número fora do intervalo."
_NOT_STORABLE = re.compile("[\x00\ud800-\udfff]")


def limit_problem(name: str, value: Any) -> str | None:
    """Return the message about the limit that a field's value exceeds, None if none."""
    if isinstance(value, str):
        max_length = MAX_LENGTHS.get(name)
        if not is_storable(value):
            return "Valor inválido: texto com caracteres não permitidos."
        if max_length is not None and len(value) > max_length:
            return f"Valor inválido: texto com mais de {max_length} caracteres."
        return None
    if isinstance(value, datetime):
        return None if value.year in YEARS else "Data fora do intervalo permitido."
    if isinstance(value, Decimal):
        if abs(value) >= NUMBER_LIMIT:
            return OUT_OF_RANGE
        if value != round(value, NUMBER_PLACES):
            return f"Valor inválido: número com mais de {NUMBER_PLACES} casas decimais."
        return None
    if isinstance(value, int) and not -INTEGER_LIMIT <= value < INTEGER_LIMIT:
        return OUT_OF_RANGE
    return None


def is_storable(text: str) -> bool:
    """Return whether every database can store a text.

    Half a surrogate pair cannot be encoded, and only SQLite stores NUL.
    """
    return _NOT_STORABLE.search(text) is None


_TextRule = tuple[Callable[[Any, Mapping[str, Any]], bool], Mapping[str, Any], str]


@cache
def _text_rules() -> Mapping[str, Sequence[_TextRule]]:
    """Return the rules of import sheets about the form of texts, by the column's name: test,
    statistics, wording."""
    found: dict[str, Sequence[_TextRule]] = {}
    for resource in load_catalogue().values():
        for column in (c for sheet in (resource, *resource.children) for c in sheet.columns):
            rules = [(RULES[name], statistics) for name, statistics in column.checks.items()]
            found[column.name] = [
                (rule.value_test, statistics, rule.wording(statistics).pt)
                for rule, statistics in rules
                if rule.value_test is not None
                and rule.finding.severity is Severity.ERROR
                and rule.dtypes == {"str"}
                and rule.statistics.keys() <= {"value"}
            ]
    return found


MISSPELLED = "Grafia do nome: escreva"
"""Beginning of the message about a misspelled name."""

SPEC_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,7})?)?")
"""A date as in the spec's samples: T before the time, no zone."""


def misspelled_names(model: type[WireModel], names: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield the field names spelled neither as in the spec's tables nor as in its samples.

    The tables have some names in PascalCase, as the release notes; the samples are in camelCase.
    """
    known = spellings(model)
    for name in names:
        if name in known and name != known[name]:
            alias = model.model_fields[known[name]].serialization_alias
            if name != alias:
                yield name, f"{MISSPELLED} {alias}."


def format_problem(name: str, text: str) -> str | None:
    """Return the message about a field's text in the wrong format; blank text is accepted."""
    for is_valid, statistics, wording in _text_rules().get(name, ()) if text.strip() else ():
        if not is_valid(text, statistics):
            return f"Valor inválido: informe {wording}."
    return None


PRICE_PLACES = 6
"""Decimal places of a unit price: two would misprice large quantities of cheap products."""

QUANTITY_PLACES = 4

STOCK_LIMIT = Decimal(10) ** 9
"""Limit of quantities, unit costs and values of stock."""

_AMOUNT_LIMIT = Decimal(10) ** 12
_CENTS = Decimal("0.01")


def round_half_even(amount: Decimal) -> Decimal:
    """Round to cents, half to even: amounts of documents."""
    return amount.quantize(_CENTS, ROUND_HALF_EVEN)


def round_half_up(amount: Decimal) -> Decimal:
    """Round to cents, half up: values of stock."""
    return amount.quantize(_CENTS, ROUND_HALF_UP)


def percent_of(amount: Decimal, percent: Decimal) -> Decimal:
    """Return a percentage of an amount, rounded to cents."""
    return round_half_even(amount * percent / 100)


def item_total(item: ProductInvoiceItemInput | PurchaseOrderItemInput) -> Decimal:
    """Return the total of an item: quantity times unit price, rounded to cents."""
    return round_half_even(item.quantidade * item.valorUnitario)


def equal_parts(amount: Decimal, count: int) -> list[Decimal]:
    """Split an amount into equal parts in cents; the last one gets the remainder."""
    return proportional_parts(amount, [Decimal(1)] * count)


def proportional_parts(amount: Decimal, weights: Sequence[Decimal]) -> list[Decimal]:
    """Split an amount in proportion to weights, in cents; the last part gets the remainder.

    The others are rounded down, so that the remainder is never negative.
    """
    total = sum(weights)
    parts = [
        (amount * weight / total).quantize(_CENTS, rounding=ROUND_DOWN) for weight in weights[:-1]
    ]
    return [*parts, amount - sum(parts)]


def amount_problems(
    key: str, amount: Decimal | None, places: int = 2, limit: Decimal = _AMOUNT_LIMIT
) -> list[Problem]:
    """Return the problem of an amount that is negative, too large or has too many ``places``."""
    if amount is None:
        return []
    if not 0 <= amount < limit:
        return [(key, "Valor fora do intervalo permitido.")]
    if amount != round(amount, places):
        return [(key, f"Valor com mais de {places} casas decimais.")]
    return []


def rate_problems(key: str, rate: Decimal | None) -> list[Problem]:
    """Return the problem of a rate outside 0 to 100 per cent."""
    if rate is None or 0 <= rate <= 100:
        return []
    return [(key, "Percentual fora do intervalo de 0 a 100.")]
