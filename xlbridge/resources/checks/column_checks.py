"""Rules of a single column that are not about the format of a text."""

import re
from decimal import Decimal
from typing import TYPE_CHECKING

from xlbridge.i18n import Text
from xlbridge.resources.checks.builtin import FORMAT
from xlbridge.resources.checks.rule import (
    COUNT,
    NUMBER_DTYPES,
    Statistics,
    column_check,
)
from xlbridge.resources.findings.finding import error

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd


def has_decimal_places(numbers: "npt.NDArray[np.float64]", places: int) -> "npt.NDArray[np.bool_]":
    """Tell the numbers with at most ``places`` decimal places, beyond what binary arithmetic adds.

    That grows with the number, and never to what a further decimal place could be.
    """
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
        Text(
            pt="O valor tem mais de {places} {places:casa decimal|casas decimais}.",
            en="The value has more than {places} decimal {places:place|places}.",
        ),
        Text(pt="Arredonde o valor.", en="Round the value."),
    ),
    wording=lambda s: Text(
        pt="até {places} {places:casa decimal|casas decimais}",
        en="at most {places} decimal {places:place|places}",
    ).format(places=s["places"]),
    statistics={"places": COUNT},
    details=lambda s: {"places": s["places"]},
    dtypes=NUMBER_DTYPES,
    value_test=_has_places,
)
def decimals(values: "pd.Series", *, places: int) -> "pd.Series":
    """At most ``places`` decimal places, beyond what binary arithmetic itself adds."""
    import numpy as np
    import pandas as pd

    numbers = values.to_numpy(dtype=float, na_value=np.nan)
    return pd.Series(np.isnan(numbers) | has_decimal_places(numbers, places), index=values.index)


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
    statistics={"width": {"type": "integer", "minimum": 1}, "separators": {"type": "string"}},
    optional=("separators",),
    details=lambda s: {"form": _digits(s)},
    width=lambda s: int(s["width"]),
    value_test=_has_digits,
)
def digits(values: "pd.Series", *, width: int, separators: str = "") -> "pd.Series":
    """Exactly ``width`` ASCII digits, once the ``separators`` are taken out."""
    bare = (
        values.str.replace(f"[{re.escape(separators)}]", "", regex=True) if separators else values
    )
    return bare.str.fullmatch(f"[0-9]{{{width}}}", na=True).astype(bool)
