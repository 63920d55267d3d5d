"""Text dates and numbers: a single meaning is read, ambiguity is never guessed.

Inside: validation.
"""

from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given, strategies as st

from xlbridge.validation.cells import date_meanings, number_meanings
from xlbridge.validation.cells.text_parsing import whole_meanings

days = st.dates(min_value=date(1905, 1, 1), max_value=date(2199, 12, 31))
amounts = st.decimals(min_value=-(10**9), max_value=10**9, places=2)


@given(days)
def test_iso_dates_have_one_meaning(day: date) -> None:
    meaning = date_meanings(day.isoformat())
    assert meaning is not None
    assert (meaning.native, meaning.ambiguous) == (day, False)


@given(days, st.sampled_from("/."))
def test_a_year_that_comes_first_leaves_one_meaning(day: date, mark: str) -> None:
    meaning = date_meanings(day.strftime(f"%Y{mark}%m{mark}%d"))
    assert meaning is not None
    assert (meaning.native, meaning.foreign) == (day, day)


@given(days, st.sampled_from("/.-"))
def test_brazilian_dates_are_ambiguous_when_both_orders_make_dates(day: date, mark: str) -> None:
    meaning = date_meanings(day.strftime(f"%d{mark}%m{mark}%Y"))
    assert meaning is not None
    assert meaning.native == day
    assert meaning.ambiguous == (day.day <= 12 and day.day != day.month)


@given(amounts)
def test_brazilian_numbers_with_cents_have_one_meaning(amount: Decimal) -> None:
    text = f"{amount:,.2f}".translate(str.maketrans(",.", ".,"))
    meaning = number_meanings(text)
    assert meaning is not None
    assert (meaning.native, meaning.foreign) == (amount, None)


@given(amounts)
def test_english_numbers_with_cents_have_one_meaning(amount: Decimal) -> None:
    meaning = number_meanings(f"{amount:,.2f}")
    assert meaning is not None
    assert (meaning.native, meaning.foreign) == (None, amount)


@pytest.mark.parametrize(
    ("text", "native", "foreign"),
    [
        ("1.234", "1234", "1.234"),
        ("1,234", "1.234", "1234"),
        ("0,123", "0.123", None),
        ("0.123", None, "0.123"),
        ("1.234.567", "1234567", None),
        ("1,234,567", None, "1234567"),
        ("1234", "1234", "1234"),
        ("-12,5", "-12.5", None),
        ("R$ 1.234,56", "1234.56", None),
        ("R$       1.234,56", "1234.56", None),
        ("-R$ 10", "-10", "-10"),
        ("1 234,56", "1234.56", None),
        ("12 345", "12345", "12345"),
    ],
)
def test_decimal_and_thousands_separators(
    text: str, native: str | None, foreign: str | None
) -> None:
    meaning = number_meanings(text)
    assert meaning is not None
    assert meaning.native == (native and Decimal(native))
    assert meaning.foreign == (foreign and Decimal(foreign))


@pytest.mark.parametrize(
    ("text", "native", "foreign"),
    [("1.001", 1001, None), ("1,001", None, 1001), ("1.000", 1000, 1), ("12", 12, 12)],
)
def test_a_whole_number_has_only_whole_meanings(
    text: str, native: int | None, foreign: int | None
) -> None:
    meaning = whole_meanings(text)
    assert meaning is not None
    assert (meaning.native, meaning.foreign) == (native, foreign)


@pytest.mark.parametrize("text", ["12,5", "0.123", "x"])
def test_invalid_whole_number_has_no_meaning(text: str) -> None:
    assert whole_meanings(text) is None


@pytest.mark.parametrize("text", ["", "-", "1e5", "US$ 10", "1.2.3", "12,34,5", "½", "١٢", "1 23"])
def test_invalid_number_has_no_meaning(text: str) -> None:
    assert number_meanings(text) is None


@given(st.text(max_size=12))
def test_every_text_is_parsed_without_an_exception(text: str) -> None:
    number, day = number_meanings(text), date_meanings(text)
    assert number is None or number.native is not None or number.foreign is not None
    assert day is None or day.native is not None or day.foreign is not None
