"""The functions of the checks that pandera does not bring itself.

Each takes a column (or a frame) of typed values in which a missing value means "nothing to
judge", and returns one boolean per row: True where the value is right.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from xlbridge.resources.boleto import is_boleto
from xlbridge.resources.brazilian_codes import (
    is_access_key,
    is_cep,
    is_municipality,
    is_nbs,
    is_ncm,
    is_phone,
    is_uf,
)
from xlbridge.resources.documents import is_cnpj, is_cpf
from xlbridge.resources.emails import is_email


def has_places(numbers: npt.NDArray[np.float64], places: int) -> npt.NDArray[np.bool_]:
    """Tell the numbers with at most ``places`` decimal places, beyond what binary arithmetic adds.

    That grows with the number, and never to what a further decimal place could be.
    """
    noise = np.minimum(1e-9 * np.maximum(1, np.abs(numbers)), 10.0 ** -(places + 2))
    return np.abs(numbers - np.round(numbers, places)) <= noise


def _judge_distinct(values: pd.Series, judge: Callable[[str], bool]) -> pd.Series:
    """Apply ``judge`` to each distinct text once; missing values are right."""
    wrong = [value for value in values.dropna().unique() if not judge(value)]
    return ~values.isin(wrong)


def cnpj(values: pd.Series) -> pd.Series:
    """A CNPJ without mask, numeric or alphanumeric, with right check digits."""
    return _judge_distinct(values, is_cnpj)


def cpf(values: pd.Series) -> pd.Series:
    """A CPF without mask, with right check digits."""
    return _judge_distinct(values, is_cpf)


def boleto(values: pd.Series) -> pd.Series:
    """A bank-slip barcode or typed line with right check digits."""
    return _judge_distinct(values, is_boleto)


def cep(values: pd.Series) -> pd.Series:
    """A postcode, with or without its hyphen."""
    return _judge_distinct(values, is_cep)


def uf(values: pd.Series) -> pd.Series:
    """The two letters of a state."""
    return _judge_distinct(values, is_uf)


def ncm(values: pd.Series) -> pd.Series:
    """A code of the nomenclature of goods (NCM), of a chapter that there is."""
    return _judge_distinct(values, is_ncm)


def nbs(values: pd.Series) -> pd.Series:
    """A code of the nomenclature of services (NBS), of a chapter that there is."""
    return _judge_distinct(values, is_nbs)


def municipality(values: pd.Series) -> pd.Series:
    """An IBGE code of a municipality, with its check digit."""
    return _judge_distinct(values, is_municipality)


def access_key(values: pd.Series) -> pd.Series:
    """The access key of an NF-e or NFC-e, with its check digits."""
    return _judge_distinct(values, is_access_key)


def telephone(values: pd.Series) -> pd.Series:
    """A telephone number with an area code, of a service, or of another country."""
    return _judge_distinct(values, is_phone)


def email(values: pd.Series) -> pd.Series:
    """One e-mail address."""
    return _judge_distinct(values, is_email)


def digits(values: pd.Series, *, width: int, separators: str = "") -> pd.Series:
    """Exactly ``width`` ASCII digits, once the ``separators`` are taken out."""
    bare = (
        values.str.replace(f"[{re.escape(separators)}]", "", regex=True) if separators else values
    )
    return bare.str.fullmatch(f"[0-9]{{{width}}}", na=True).astype(bool)


def decimals(values: pd.Series, *, places: int) -> pd.Series:
    """At most ``places`` decimal places, beyond what binary arithmetic itself adds."""
    numbers = values.to_numpy(dtype=float, na_value=np.nan)
    return pd.Series(np.isnan(numbers) | has_places(numbers, places), index=values.index)


def no_repeats(values: pd.Series) -> pd.Series:
    """No value twice in the column; missing values do not count."""
    return ~(values.duplicated() & values.notna())


def holds(frame: pd.DataFrame, other: str, wanted: Sequence[Any]) -> pd.Series:
    """Whether ``other`` has one of the ``wanted`` values, None for a missing one."""
    filled = [value for value in wanted if value is not None]
    holds = frame[other].isin(filled)
    return holds | frame[other].isna() if None in wanted else holds


def valid_when(
    frame: pd.DataFrame, *, column: str, check: str, other: str, values: Sequence[Any]
) -> pd.Series:
    """``column`` passes the single-column ``check`` where ``other`` has one of ``values``."""
    return ~holds(frame, other, values) | _CONDITIONAL[check](frame[column])


def required_when(
    frame: pd.DataFrame, *, column: str, other: str, values: Sequence[Any]
) -> pd.Series:
    """``column`` is filled where ``other`` has one of ``values`` (None: is blank)."""
    return ~(holds(frame, other, values) & frame[column].isna())


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


_CONDITIONAL: dict[str, Callable[[pd.Series], pd.Series]] = {"cnpj": cnpj, "cpf": cpf}
