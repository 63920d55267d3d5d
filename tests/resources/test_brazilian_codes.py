"""Structure of Brazilian codes: valid ones pass, similar invalid ones do not.

Inside: sandbox.
"""

from collections.abc import Callable
from datetime import datetime
from itertools import product

import pytest

from xlbridge.resources.checks import text_checks as codes
from xlbridge.sandbox.areas.invoices import Issuer, product_invoice_key

KEY = "43171207364617000135550000000120141000120146"
LETTERED = product_invoice_key(Issuer("12ABC34501DE35", "3550308"), 1, 123, datetime(2026, 10, 1))

RIGHT: list[tuple[Callable[[str], bool], list[str]]] = [
    (codes.is_cep, ["01310-100", "01310100", "99999999"]),
    (codes.is_uf, ["SP", "DF", "AC"]),
    (codes.is_ncm, ["84713012", "8471.30.12", "01012100", "97050000"]),
    (codes.is_nbs, ["1.1502.10.00", "115021000", "120011000", "1.2701.10.00"]),
    (codes.is_municipality, ["3550308", "3304557", "5300108", "2201919", "5203962"]),
    (codes.is_access_key, [KEY, LETTERED, " ".join(KEY[i : i + 4] for i in range(0, 44, 4))]),
    (codes.is_phone, ["(11) 98765-4321", "1133334444", "+55 11 98765-4321", "011 3333-4444"]),
    (codes.is_phone, ["0800 123 4567", "4004-1234", "+1 415 555 2671", "5511987654321"]),
]
WRONG: list[tuple[Callable[[str], bool], list[str]]] = [
    (codes.is_cep, ["1310-100", "00999-999", "0131-0100", "01310 100x", ""]),
    (codes.is_uf, ["sp", "XX", "SPA", ""]),
    (codes.is_ncm, ["77000000", "98000000", "00000000", "8471.3012", "8471301"]),
    (codes.is_nbs, ["2.1502.10.00", "1.2801.10.00", "100011000", "11502100"]),
    (codes.is_municipality, ["3550309", "9950308", "355030", "2201918"]),
    (
        codes.is_access_key,
        [KEY[:-1], KEY[:-1] + str((int(KEY[-1]) + 1) % 10), "99" + KEY[2:], KEY[::-1]],
    ),
    (codes.is_phone, ["98765-4321", "(20) 98765-4321", "11 1234-5678", "ramal 12", "", "+55"]),
]


@pytest.mark.parametrize(("is_valid", "text"), [(j, t) for j, texts in RIGHT for t in texts])
def test_valid_code_passes(is_valid: Callable[[str], bool], text: str) -> None:
    assert is_valid(text)


@pytest.mark.parametrize(("is_valid", "text"), [(j, t) for j, texts in WRONG for t in texts])
def test_invalid_code_does_not_pass(is_valid: Callable[[str], bool], text: str) -> None:
    assert not is_valid(text)


def test_one_wrong_digit_of_a_municipality_is_detected() -> None:
    right = "3550308"
    for place, digit in product(range(len(right)), "0123456789"):
        typed = right[:place] + digit + right[place + 1 :]
        assert codes.is_municipality(typed) is (typed == right)
