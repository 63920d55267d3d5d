"""Rules that compare a bank slip with its title: the amount and the due date that its code says."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from xlbridge.i18n import Text, localized_number
from xlbridge.resources.checks.documents import boleto_cents, boleto_due_dates
from xlbridge.resources.checks.rule import COLUMN_NAME, COLUMN_NAMES, row_check
from xlbridge.resources.findings.finding import warning

if TYPE_CHECKING:
    import pandas as pd

_NO_DETAILS: Mapping[str, object] = {}


def _codes(frame: "pd.DataFrame", column: str) -> Iterator[tuple[int, str]]:
    """Yield the place and text of each code; what is no right one has its finding already."""
    filled = frame[column].notna().to_numpy().nonzero()[0].tolist()
    yield from zip(filled, frame[column].iloc[filled], strict=True)


def _different_amounts(
    frame: "pd.DataFrame", column: str, columns: Sequence[str]
) -> Iterator[tuple[int, int]]:
    """Yield the places of the rows in which a slip says other cents than each of ``columns``."""
    amounts = (frame[list(columns)].astype("Float64") * 100).round()
    cents = amounts.to_numpy(dtype=float, na_value=0.0)
    for place, code in _codes(frame, column):
        said = boleto_cents(code)
        if said and cents[place].any() and said not in cents[place]:
            yield place, said


def _amount_details(
    frame: "pd.DataFrame", *, column: str, columns: Sequence[str]
) -> list[Mapping[str, object]]:
    said = dict(_different_amounts(frame, column, columns))
    listed = ", ".join(columns)
    return [
        {"amount": localized_number(f"{said.get(place, 0) / 100:.2f}"), "columns": listed}
        for place in range(len(frame))
    ]


@row_check(
    "slip_amount",
    finding=warning(
        "slip-amount",
        Text(
            pt="O boleto é de {amount}, diferente do valor do título ({columns}).",
            en="The bank slip says {amount}, another amount than the title ({columns}).",
        ),
        Text(
            pt="Confira se o boleto é deste título, e o valor.",
            en="Check that the slip is of this title, and the amount.",
        ),
    ),
    wording=lambda s: Text(
        pt="{column}: boleto com o valor de {columns}", en="{column}: a slip with the {columns}"
    ).format(column=s["column"], columns=", ".join(s["columns"])),
    statistics={"column": COLUMN_NAME, "columns": COLUMN_NAMES},
    row_details=_amount_details,
)
def slip_amount(frame: "pd.DataFrame", *, column: str, columns: Sequence[str]) -> "pd.Series":
    """The slip in ``column`` says the amount of one of ``columns``, or none."""
    right = frame[column].isna() | frame[column].notna()
    right.iloc[[place for place, _ in _different_amounts(frame, column, columns)]] = False
    return right


def _different_dates(
    frame: "pd.DataFrame", column: str, other: str
) -> Iterator[tuple[int, Mapping[str, object]]]:
    """Yield the places of the rows in which a slip is due on another day, with that day."""
    days = frame[other].dt.date
    missing = frame[other].isna().to_numpy()
    for place, code in _codes(frame, column):
        due: Any = days.iat[place]
        said = () if missing[place] else boleto_due_dates(code)
        if said and due not in said:
            nearest = min(said, key=lambda day: abs(day - due))
            yield place, {"due": f"{nearest:%d/%m/%Y}", "other": other}


def _date_details(frame: "pd.DataFrame", *, column: str, other: str) -> list[Mapping[str, object]]:
    said = dict(_different_dates(frame, column, other))
    return [said.get(place, _NO_DETAILS) for place in range(len(frame))]


@row_check(
    "slip_due_date",
    finding=warning(
        "slip-due-date",
        Text(
            pt="O boleto vence em {due}, e não na data de {other}.",
            en="The bank slip is due on {due}, and not on the date of {other}.",
        ),
        Text(
            pt="Confira se o boleto é deste título, e o vencimento.",
            en="Check that the slip is of this title, and the due date.",
        ),
    ),
    wording=lambda s: Text(
        pt="{column}: boleto com o vencimento de {other}", en="{column}: a slip due on {other}"
    ).format(column=s["column"], other=s["other"]),
    statistics={"column": COLUMN_NAME, "other": COLUMN_NAME},
    row_details=_date_details,
)
def slip_due_date(frame: "pd.DataFrame", *, column: str, other: str) -> "pd.Series":
    """The slip in ``column`` is due on the day of ``other``, or says no day."""
    right = frame[column].isna() | frame[column].notna()
    right.iloc[[place for place, _ in _different_dates(frame, column, other)]] = False
    return right
