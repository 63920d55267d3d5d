"""Bank slips whose barcode has another amount or due date than their title."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from sheets import write_records

from xlbridge.resources import Catalogue
from xlbridge.resources.checks import is_boleto
from xlbridge.validation import validate_workbook

CP = "contaspagar"
DUE = date(2026, 10, 31)


def slip(days: int, cents: int) -> str:
    rest = f"{days:04}{cents:010}{'0500940144816060680935031'}"
    return next(code for digit in "123456789" if is_boleto(code := f"0019{digit}{rest}"))


def bill(amount: str, cents: int) -> str:
    rest = f"{cents:011}{'0' * 29}"
    return next(code for digit in "0123456789" if is_boleto(code := f"84{amount}{digit}{rest}"))


@pytest.mark.parametrize(
    ("code", "changes", "expected"),
    [
        (slip(1616, 9500), {}, []),
        (slip(1616, 10000), {}, []),
        (slip(1616, 0), {}, []),
        (slip(0, 9500), {}, []),
        (slip(9999, 9500), {"dataDeVencimento": date(2025, 2, 21)}, []),
        (slip(1000, 9500), {"dataDeVencimento": date(2025, 2, 22)}, []),
        (slip(1000, 9500), {"dataDeVencimento": date(2000, 7, 3)}, []),
        (bill("6", 9500), {}, []),
        (bill("7", 9600), {}, []),
        (slip(1616, 9501), {}, [("slip-amount", "95.01")]),
        (bill("8", 9501), {}, [("slip-amount", "95.01")]),
        (slip(1617, 9500), {}, [("slip-due-date", "01/11/2026")]),
        (slip(999, 9500), {}, [("slip-due-date", "02/07/2000")]),
        (
            slip(1001, 1),
            {"dataDeVencimento": date(2025, 2, 22)},
            [("slip-amount", "0.01"), ("slip-due-date", "23/02/2025")],
        ),
        (
            slip(1617, 9501),
            {"dataDeVencimento": None, "valorDoLancamento": None, "ValorBruto": None},
            [],
        ),
    ],
)
def test_bank_slip_is_compared_with_its_title(
    tmp_path: Path,
    catalogue: Catalogue,
    code: str,
    changes: dict[str, Any],
    expected: list[tuple[str, str]],
) -> None:
    row = {"dataDeVencimento": DUE, "CodigoDeBarras": code} | changes
    validated = validate_workbook(write_records(tmp_path / "a.xlsx", CP, [row, {}]), catalogue)
    assert validated.ok
    found = [(finding.kind.code, finding.message.en) for finding in validated.findings]
    assert [each for each, _ in found] == [each for each, _ in expected]
    for (_, message), (_, text) in zip(found, expected, strict=True):
        assert text in message
