"""Rules whose tests pandera brings: bounds, lengths, allowed values."""

from collections.abc import Callable, Mapping
from typing import Any

from xlbridge.i18n import Text, localized_number
from xlbridge.resources.checks.rule import (
    ANY_VALUES,
    COUNT,
    NUMBER_DTYPES,
    Statistics,
    builtin_check,
)
from xlbridge.resources.findings.finding import error

_MAX_NAMED = 12
"""So many of the values that a column allows are named; templates have all of them to choose."""

_NUMBER: Mapping[str, Any] = {"type": "number"}

_VALUE_RANGE = error(
    "value-range",
    Text(pt="O valor deve ser {bounds}.", en="The value must be {bounds}."),
    Text(pt="Confira o valor.", en="Check the value."),
)


def _number(value: object) -> Text:
    return localized_number(f"{value:.15g}" if isinstance(value, float) else str(value))


def _span(statistics: Statistics) -> Text:
    if statistics["min_value"] == statistics["max_value"]:
        return _number(statistics["min_value"])
    return Text(pt="de {low} a {high}", en="from {low} to {high}").format(
        low=_number(statistics["min_value"]), high=_number(statistics["max_value"])
    )


def _bound_check(name: str, words: Text, holds: Callable[[Any, Any], bool]) -> None:
    def bounds(statistics: Statistics) -> Text:
        return words.format(value=_number(statistics["value"]))

    builtin_check(
        name,
        finding=_VALUE_RANGE,
        wording=bounds,
        statistics={"value": _NUMBER},
        details=lambda s: {"bounds": bounds(s)},
        value_test=lambda example, s: holds(example, s["value"]),
        dtypes=NUMBER_DTYPES,
    )


_bound_check(
    "greater_than",
    Text(pt="maior que {value}", en="greater than {value}"),
    lambda value, bound: bool(value > bound),
)
_bound_check(
    "greater_than_or_equal_to",
    Text(pt="{value} ou mais", en="{value} or more"),
    lambda value, bound: bool(value >= bound),
)
_bound_check(
    "less_than",
    Text(pt="menor que {value}", en="less than {value}"),
    lambda value, bound: bool(value < bound),
)
_bound_check(
    "less_than_or_equal_to",
    Text(pt="{value} ou menos", en="{value} or less"),
    lambda value, bound: bool(value <= bound),
)
builtin_check(
    "in_range",
    finding=_VALUE_RANGE,
    wording=_span,
    statistics={"min_value": _NUMBER, "max_value": _NUMBER},
    details=lambda s: {"bounds": _span(s)},
    value_test=lambda example, s: bool(s["min_value"] <= example <= s["max_value"]),
    dtypes=NUMBER_DTYPES,
)
builtin_check(
    "str_length",
    finding=error(
        "text-length",
        Text(
            pt="O texto deve ter {bounds} caracteres; tem {found}.",
            en="The text must have {bounds} characters; it has {found}.",
        ),
        Text(pt="Confira o texto.", en="Check the text."),
    ),
    wording=lambda s: Text(pt="{span} caracteres", en="{span} characters").format(span=_span(s)),
    statistics={"min_value": COUNT, "max_value": COUNT},
    details=lambda s: {"bounds": _span(s)},
    value_test=lambda example, s: bool(s["min_value"] <= len(example) <= s["max_value"]),
)


def _allowed(statistics: Statistics) -> Text:
    values = [str(value) for value in statistics["value"]]
    named = ", ".join(values[:_MAX_NAMED])
    if len(values) <= _MAX_NAMED:
        return Text(pt=named, en=named)
    return Text(pt="{named}… (são {n})", en="{named}… ({n} in all)").format(
        named=named, n=len(values)
    )


builtin_check(
    "isin",
    finding=error(
        "value-not-allowed",
        Text(
            pt="O valor não é um dos permitidos: {allowed}.",
            en="The value is not one of those allowed: {allowed}.",
        ),
        Text(pt="Escolha um valor da lista.", en="Choose a value from the list."),
    ),
    wording=lambda s: Text(pt="um de: {values}", en="one of: {values}").format(values=_allowed(s)),
    statistics={"value": ANY_VALUES},
    details=lambda s: {"allowed": _allowed(s)},
    value_test=lambda example, s: example in s["value"],
)
