"""Rules of bank slips: their codes, and the amount and due date within a code.

Source: the layouts of FEBRABAN for collection slips (47 digits typed) and utility bills (48 digits
typed, first digit 8).
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from xlbridge.i18n import Text, localized_number
from xlbridge.resources.checks.rule import ColumnNames, row_check, text_check
from xlbridge.resources.checks.text_checks import mod10_digit, mod11_digit
from xlbridge.resources.findings.finding import error, warning
from xlbridge.resources.models.declarations import Name

if TYPE_CHECKING:
    import pandas as pd

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


_NO_DETAILS: Mapping[str, object] = {}


def _codes(frame: "pd.DataFrame", column: str) -> Iterator[tuple[int, str]]:
    """Yield the position and text of each code."""
    filled = frame[column].notna().to_numpy().nonzero()[0].tolist()
    yield from zip(filled, frame[column].iloc[filled], strict=True)


def _different_amounts(
    frame: "pd.DataFrame", column: str, columns: Sequence[str]
) -> Iterator[tuple[int, int]]:
    """Yield the positions and cents of slips whose amount differs from each of ``columns``."""
    amounts = (frame[list(columns)].astype("Float64") * 100).round()
    expected = amounts.to_numpy(dtype=float, na_value=0.0)
    for position, code in _codes(frame, column):
        cents = boleto_cents(code)
        if cents and expected[position].any() and cents not in expected[position]:
            yield position, cents


def _amount_details(
    frame: "pd.DataFrame", *, column: str, columns: Sequence[str]
) -> list[Mapping[str, object]]:
    cents = dict(_different_amounts(frame, column, columns))
    listed = ", ".join(columns)
    return [
        {"amount": localized_number(f"{cents.get(position, 0) / 100:.2f}"), "columns": listed}
        for position in range(len(frame))
    ]


@row_check(
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
    row_details=_amount_details,
    needed=("column",),
)
def slip_amount(frame: "pd.DataFrame", *, column: str, columns: Sequence[str]) -> "pd.Series":
    """Accept slips in ``column`` with the amount of one of ``columns``, or without one."""
    right = frame[column].isna() | frame[column].notna()
    right.iloc[[position for position, _ in _different_amounts(frame, column, columns)]] = False
    return right


def _different_dates(
    frame: "pd.DataFrame", column: str, other: str
) -> Iterator[tuple[int, Mapping[str, object]]]:
    """Yield the positions of slips that are due on another day, with the details."""
    days = frame[other].dt.date
    missing = frame[other].isna().to_numpy()
    for position, code in _codes(frame, column):
        expected: Any = days.iat[position]
        due_dates = () if missing[position] else boleto_due_dates(code)
        if due_dates and expected not in due_dates:
            nearest = min(due_dates, key=lambda day: abs(day - expected))
            yield position, {"due": f"{nearest:%d/%m/%Y}", "other": other}


def _date_details(frame: "pd.DataFrame", *, column: str, other: str) -> list[Mapping[str, object]]:
    details = dict(_different_dates(frame, column, other))
    return [details.get(position, _NO_DETAILS) for position in range(len(frame))]


@row_check(
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
    row_details=_date_details,
    needed=("column", "other"),
)
def slip_due_date(frame: "pd.DataFrame", *, column: str, other: str) -> "pd.Series":
    """Accept slips in ``column`` that are due on the day of ``other``, or have no due date."""
    right = frame[column].isna() | frame[column].notna()
    right.iloc[[position for position, _ in _different_dates(frame, column, other)]] = False
    return right
