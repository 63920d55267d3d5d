"""Rules of a single column: pandera's built-in checks (bounds, allowed values, lengths, parts of
texts), decimal places, numbers of digits.
"""

import re
from collections.abc import Callable, Sequence
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from xlbridge.i18n import Text, joined
from xlbridge.resources.checks.rule import (
    ALL_DTYPES,
    DATE_DTYPES,
    NUMBER_DTYPES,
    Count,
    Rule,
    Statistics,
    Values,
    column_check,
    value_text,
)
from xlbridge.resources.column import INTEGER_LIMIT
from xlbridge.resources.findings import error, warning
from xlbridge.resources.models import Bound, Name, Value

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd


_MAX_LISTED = 12
"""Number of allowed values that messages list; templates offer all of them."""

_VALUE_RANGE = error(
    "value-range",
    pt="O valor deve ser {bounds}.",
    en="The value must be {bounds}.",
    hint_pt="Confira o valor.",
    hint_en="Check the value.",
)


def _comparison(
    name: str,
    words: Text,
    holds: Callable[[Any, Any], bool],
    *,
    of_dates: Text | None = None,
    of_limit: Text | None = None,
    dtypes: frozenset[str] = NUMBER_DTYPES | DATE_DTYPES,
) -> Callable[[object], Text]:
    """Declare a rule that compares each value with a bound, and return its wording.

    ``of_limit`` is the wording for the largest integer of the interface.
    """

    def bound(value: object) -> Text:
        if of_limit and value == INTEGER_LIMIT:
            return of_limit
        form = of_dates if of_dates and isinstance(value, date) else words
        return form.format(value=value_text(value))

    Rule(
        name,
        finding=_VALUE_RANGE,
        wording=lambda s: bound(s["value"]),
        statistics={"value": Value if dtypes == ALL_DTYPES else Bound},
        column_values=("value",),
        details=lambda s: {"bounds": bound(s["value"])},
        value_test=lambda example, s: holds(example, s["value"]),
        dtypes=dtypes,
    ).declare()
    return bound


_above = _comparison(
    "greater_than",
    Text(pt="maior que {value}", en="greater than {value}"),
    lambda value, bound: bool(value > bound),
    of_dates=Text(pt="depois de {value}", en="after {value}"),
)
_at_least = _comparison(
    "greater_than_or_equal_to",
    Text(pt="{value} ou mais", en="{value} or more"),
    lambda value, bound: bool(value >= bound),
    of_dates=Text(pt="{value} ou depois", en="{value} or later"),
)
_below = _comparison(
    "less_than",
    Text(pt="menor que {value}", en="less than {value}"),
    lambda value, bound: bool(value < bound),
    of_dates=Text(pt="antes de {value}", en="before {value}"),
)
_at_most = _comparison(
    "less_than_or_equal_to",
    Text(pt="{value} ou menos", en="{value} or less"),
    lambda value, bound: bool(value <= bound),
    of_limit=Text(
        pt="um número de até 10 algarismos, no máximo 2.147.483.647",
        en="a number of up to 10 digits, at most 2,147,483,647",
    ),
    of_dates=Text(pt="{value} ou antes", en="{value} or earlier"),
)
_comparison(
    "equal_to",
    Text(pt="igual a {value}", en="equal to {value}"),
    lambda value, wanted: bool(value == wanted),
    dtypes=ALL_DTYPES,
)
_comparison(
    "not_equal_to",
    Text(pt="diferente de {value}", en="different from {value}"),
    lambda value, unwanted: bool(value != unwanted),
    dtypes=ALL_DTYPES,
)


def _span(low: object, high: object) -> Text:
    if low == high:
        return value_text(low)
    return Text(pt="de {low} a {high}", en="from {low} to {high}").format(
        low=value_text(low), high=value_text(high)
    )


def _range(statistics: Statistics) -> Text:
    low, high = statistics["min_value"], statistics["max_value"]
    includes_low = statistics.get("include_min", True)
    includes_high = statistics.get("include_max", True)
    if includes_low and includes_high:
        return _span(low, high)
    return Text(pt="{low} e {high}", en="{low} and {high}").format(
        low=_at_least(low) if includes_low else _above(low),
        high=_at_most(high) if includes_high else _below(high),
    )


def _is_in_range(example: Any, statistics: Statistics) -> bool:
    low, high = statistics["min_value"], statistics["max_value"]
    if example == low:
        return bool(statistics.get("include_min", True))
    if example == high:
        return bool(statistics.get("include_max", True))
    return bool(low < example < high)


Rule(
    "in_range",
    finding=_VALUE_RANGE,
    wording=_range,
    statistics={
        "min_value": Bound,
        "max_value": Bound,
        "include_min": bool,
        "include_max": bool,
    },
    optional=("include_min", "include_max"),
    column_values=("min_value", "max_value"),
    details=lambda s: {"bounds": _range(s)},
    value_test=_is_in_range,
    dtypes=NUMBER_DTYPES | DATE_DTYPES,
).declare()


def _length(statistics: Statistics) -> Text:
    low, high = statistics.get("min_value"), statistics.get("max_value")
    if high is None:
        return Text(pt="no mínimo {low}", en="at least {low}").format(low=low)
    if low is None:
        return Text(pt="no máximo {high}", en="at most {high}").format(high=high)
    return _span(low, high)


Rule(
    "str_length",
    finding=error(
        "text-length",
        pt="O texto deve ter {bounds} caracteres; tem {found}.",
        en="The text must have {bounds} characters; it has {found}.",
        hint_pt="Confira o texto.",
        hint_en="Check the text.",
    ),
    wording=lambda s: Text(pt="{span} caracteres", en="{span} characters").format(span=_length(s)),
    statistics={"min_value": Count, "max_value": Count},
    optional=("min_value", "max_value"),
    details=lambda s: {"bounds": _length(s)},
    value_test=lambda example, s: bool(
        s.get("min_value", 0) <= len(example) <= s.get("max_value", len(example))
    ),
).declare()


def _list(values: Sequence[object]) -> Text:
    texts = map(value_text, values[:_MAX_LISTED])
    listed = joined(texts, ", ")
    if len(values) <= _MAX_LISTED:
        return listed
    return Text(pt="{listed}… ({n} ao todo)", en="{listed}… ({n} in all)").format(
        listed=listed, n=len(values)
    )


Rule(
    "isin",
    finding=error(
        "value-not-allowed",
        pt="O valor não é um dos permitidos: {allowed}.",
        en="The value is not one of those allowed: {allowed}.",
        hint_pt="Escolha um valor da lista.",
        hint_en="Choose a value from the list.",
    ),
    wording=lambda s: Text(pt="um destes: {values}", en="one of: {values}").format(
        values=_list(s["value"])
    ),
    statistics={"value": Values},
    column_values=("value",),
    details=lambda s: {"allowed": _list(s["value"])},
    value_test=lambda example, s: example in s["value"],
    dtypes=ALL_DTYPES,
).declare()
Rule(
    "notin",
    finding=error(
        "value-forbidden",
        pt="O valor é um dos que não são permitidos: {forbidden}.",
        en="The value is one of those that are not allowed: {forbidden}.",
        hint_pt="Use outro valor.",
        hint_en="Use another value.",
    ),
    wording=lambda s: Text(pt="nenhum destes: {values}", en="none of: {values}").format(
        values=_list(s["value"])
    ),
    statistics={"value": Values},
    column_values=("value",),
    details=lambda s: {"forbidden": _list(s["value"])},
    value_test=lambda example, s: example not in s["value"],
    dtypes=ALL_DTYPES,
).declare()


@column_check(
    "unique_values_eq",
    finding=error(
        "values-differ",
        pt="A coluna deve ter exatamente os valores: {expected}.",
        en="The column must have exactly the values: {expected}.",
        hint_pt="Tire os outros valores e inclua os que faltam.",
        hint_en="Remove other values, and add those that are missing.",
    ),
    wording=lambda s: Text(
        pt="exatamente os valores: {values}", en="exactly the values: {values}"
    ).format(values=_list(s["value"])),
    statistics={"value": Values},
    column_values=("value",),
    details=lambda s: {"expected": _list(s["value"])},
    dtypes=ALL_DTYPES,
    whole_column=True,
)
def has_exactly(values: "pd.Series", *, value: Sequence[Any]) -> "pd.Series":
    """Accept exactly the given values in the column.

    If only values are missing, the first filled cell is wrong.
    """
    right = values.isin(value) | values.isna()
    filled = values[values.notna()]
    if right.all() and len(filled) and not set(value) <= set(filled):
        right[filled.index[0]] = False
    return right


FORMAT = error(
    "format",
    pt="O valor não tem a forma {form}.",
    en="The value does not have the form {form}.",
    hint_pt="Confira o valor.",
    hint_en="Check the value.",
)
Rule(
    "str_matches",
    finding=FORMAT,
    wording=lambda s: Text(pt="na forma {form}", en="of the form {form}").format(form=s["value"]),
    statistics={"value": Name},
    patterns=("value",),
    details=lambda s: {"form": s["value"]},
    value_test=lambda example, s: re.match(s["value"], example) is not None,
).declare()
_TEXT_PART = error(
    "text-part",
    pt="O texto deve {demand}.",
    en="The text must {demand}.",
    hint_pt="Confira o texto.",
    hint_en="Check the text.",
)


def _part_check(
    name: str, demand: Text, words: Text, holds: Callable[[str, str], bool], *, pattern: bool
) -> None:
    Rule(
        name,
        finding=_TEXT_PART,
        wording=lambda s: words.format(part=s["value"]),
        statistics={"value": Name},
        patterns=("value",) if pattern else (),
        details=lambda s: {"demand": demand.format(part=s["value"])},
        value_test=lambda example, s: holds(example, s["value"]),
    ).declare()


_part_check(
    "str_contains",
    Text(pt="conter {part}", en="contain {part}"),
    Text(pt="contém {part}", en="contains {part}"),
    lambda text, part: re.search(part, text) is not None,
    pattern=True,
)
_part_check(
    "str_startswith",
    Text(pt="começar com {part}", en="begin with {part}"),
    Text(pt="começa com {part}", en="begins with {part}"),
    str.startswith,
    pattern=False,
)
_part_check(
    "str_endswith",
    Text(pt="terminar com {part}", en="end with {part}"),
    Text(pt="termina com {part}", en="ends with {part}"),
    str.endswith,
    pattern=False,
)


def has_decimal_places(numbers: "npt.NDArray[np.float64]", places: int) -> "npt.NDArray[np.bool_]":
    """Return a mask of the numbers with at most ``places`` decimal places, apart from the noise of
    binary arithmetic, which grows with the number but stays below a further decimal place."""
    import numpy as np

    noise = np.minimum(np.maximum(1e-9, 1e-12 * np.abs(numbers)), 10.0 ** -(places + 2))
    return np.abs(numbers - np.round(numbers, places)) <= noise


def _has_places(example: float, statistics: Statistics) -> bool:
    exponent = Decimal(str(example)).normalize().as_tuple().exponent
    return isinstance(exponent, int) and -exponent <= statistics["places"]


@column_check(
    "decimals",
    finding=error(
        "decimal-places",
        pt="O valor tem mais de {places} {places:casa decimal|casas decimais}.",
        en="The value has more than {places} decimal {places:place|places}.",
        hint_pt="Arredonde o valor.",
        hint_en="Round the value.",
    ),
    wording=lambda s: Text(
        pt="até {places} {places:casa decimal|casas decimais}",
        en="at most {places} decimal {places:place|places}",
    ).format(places=s["places"]),
    statistics={"places": Count},
    details=lambda s: {"places": s["places"]},
    dtypes=NUMBER_DTYPES,
    value_test=_has_places,
)
def decimals(values: "pd.Series", *, places: int) -> "pd.Series":
    """Accept at most ``places`` decimal places, apart from the noise of binary arithmetic."""
    import numpy as np
    import pandas as pd

    numbers = values.to_numpy(dtype=float, na_value=np.nan)
    return pd.Series(np.isnan(numbers) | has_decimal_places(numbers, places), index=values.index)


@column_check(
    "tax_rate",
    finding=warning(
        "rate-fraction",
        pt="A alíquota é uma porcentagem, e este valor é menor que {least} %.",
        en="The rate is a percentage, and this value is below {least} %.",
        hint_pt="Se a alíquota é de 5 %, digite 5, e não 0,05.",
        hint_en="If the rate is 5 %, enter 5, not 0.05.",
    ),
    wording=lambda s: Text(
        pt="em porcentagem, em geral {least} ou mais", en="in per cent, usually {least} or more"
    ).format(least=value_text(s["least"])),
    statistics={"least": Annotated[float, Meta(gt=0)]},
    details=lambda s: {"least": value_text(s["least"])},
    dtypes=NUMBER_DTYPES,
    value_test=lambda example, s: not 0 < example < s["least"],
)
def is_tax_rate(values: "pd.Series", *, least: float) -> "pd.Series":
    """Accept 0, and rates from ``least`` on: 0.05 usually is a 5 % whose format was lost."""
    return ~((values > 0) & (values < least)).fillna(False).astype(bool)


def _digits(statistics: Statistics) -> Text:
    return Text(
        pt="{width} {width:algarismo|algarismos}", en="{width} {width:digit|digits}"
    ).format(width=statistics["width"])


def _has_digits(example: str, statistics: Statistics) -> bool:
    bare = example.translate(dict.fromkeys(map(ord, statistics.get("separators", ""))))
    return bare.isascii() and bare.isdecimal() and len(bare) == statistics["width"]


@column_check(
    "digits",
    finding=FORMAT,
    wording=_digits,
    statistics={"width": Annotated[int, Meta(ge=1)], "separators": str},
    optional=("separators",),
    details=lambda s: {"form": _digits(s)},
    width=lambda s: int(s["width"]),
    value_test=_has_digits,
)
def digits(values: "pd.Series", *, width: int, separators: str = "") -> "pd.Series":
    """Accept exactly ``width`` ASCII digits, with any of the ``separators``."""
    bare = (
        values.str.replace(f"[{re.escape(separators)}]", "", regex=True) if separators else values
    )
    return bare.str.fullmatch(f"[0-9]{{{width}}}", na=True).astype(bool)
