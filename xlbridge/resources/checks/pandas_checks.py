"""Functions of the checks that pandera does not bring itself.

Each takes a column (or a frame) of typed values in which a missing value means "nothing to
judge", and returns one boolean per row: True where the value is right.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from xlbridge.resources.checks.text_formats import TEXT_CHECKS


def has_decimal_places(numbers: npt.NDArray[np.float64], places: int) -> npt.NDArray[np.bool_]:
    """Tell the numbers with at most ``places`` decimal places, beyond what binary arithmetic adds.

    That grows with the number, and never to what a further decimal place could be.
    """
    noise = np.minimum(1e-9 * np.maximum(1, np.abs(numbers)), 10.0 ** -(places + 2))
    return np.abs(numbers - np.round(numbers, places)) <= noise


def _text_check(name: str, passes: Callable[[str], bool]) -> Callable[[pd.Series], pd.Series]:
    def check(values: pd.Series) -> pd.Series:
        wrong = [text for text in values.dropna().unique() if not passes(text)]
        return ~values.isin(wrong)

    # pandera registers it by its name.
    check.__name__ = name
    return check


def digits(values: pd.Series, *, width: int, separators: str = "") -> pd.Series:
    """Exactly ``width`` ASCII digits, once the ``separators`` are taken out."""
    bare = (
        values.str.replace(f"[{re.escape(separators)}]", "", regex=True) if separators else values
    )
    return bare.str.fullmatch(f"[0-9]{{{width}}}", na=True).astype(bool)


def decimals(values: pd.Series, *, places: int) -> pd.Series:
    """At most ``places`` decimal places, beyond what binary arithmetic itself adds."""
    numbers = values.to_numpy(dtype=float, na_value=np.nan)
    return pd.Series(np.isnan(numbers) | has_decimal_places(numbers, places), index=values.index)


def no_repeats(values: pd.Series) -> pd.Series:
    """No value twice in the column; missing values do not count."""
    return ~(values.duplicated() & values.notna())


def is_one_of(frame: pd.DataFrame, other: str, wanted: Sequence[Any]) -> pd.Series:
    """Whether ``other`` has one of the ``wanted`` values, None for a missing one."""
    filled = [value for value in wanted if value is not None]
    holds = frame[other].isin(filled)
    return holds | frame[other].isna() if None in wanted else holds


def valid_when(
    frame: pd.DataFrame, *, column: str, check: str, other: str, values: Sequence[Any]
) -> pd.Series:
    """``column`` passes the single-column ``check`` where ``other`` has one of ``values``."""
    return ~is_one_of(frame, other, values) | CHECKS[check](frame[column])


def required_when(
    frame: pd.DataFrame, *, column: str, other: str, values: Sequence[Any]
) -> pd.Series:
    """``column`` is filled where ``other`` has one of ``values`` (None: is blank)."""
    return ~(is_one_of(frame, other, values) & frame[column].isna())


def not_before(frame: pd.DataFrame, *, column: str, other: str) -> pd.Series:
    """The date in ``column`` is not before the one in ``other``, where both are there."""
    return ~(frame[column] < frame[other])


def not_above(frame: pd.DataFrame, *, column: str, other: str) -> pd.Series:
    """The number in ``column`` is not above the one in ``other``, where both are there."""
    return ~(frame[column] > frame[other]).fillna(value=False).astype(bool)


def sum_not_above(
    frame: pd.DataFrame, *, column: str, columns: Sequence[str], other: str
) -> pd.Series:
    """``column`` and ``columns`` together are not above ``other``, where both ends are there.

    Missing ones of ``columns`` count as nothing; half a cent is no matter.
    """
    total = frame[column] + frame[list(columns)].fillna(0).sum(axis="columns")
    return ~(total > frame[other] + 0.005).fillna(value=False).astype(bool)


def no_repeated_rows(frame: pd.DataFrame, *, column: str, columns: Sequence[str]) -> pd.Series:
    """No two rows with the same values in ``columns``; rows with a missing one do not count."""
    keys = frame[list(columns)]
    return ~(keys.duplicated() & keys.notna().all(axis="columns"))


CHECKS: Mapping[str, Callable[..., pd.Series]] = {
    **{name: _text_check(name, passes) for name, passes in TEXT_CHECKS.items()},
    "digits": digits,
    "decimals": decimals,
    "no_repeats": no_repeats,
    "valid_when": valid_when,
    "required_when": required_when,
    "not_before": not_before,
    "not_above": not_above,
    "sum_not_above": sum_not_above,
    "no_repeated_rows": no_repeated_rows,
}
"""Our own checks by their names; missing values pass those of a single column."""
