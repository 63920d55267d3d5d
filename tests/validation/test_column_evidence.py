"""Ambiguous texts, resolved by the other texts of their column."""

from itertools import zip_longest
from pathlib import Path

import pytest
from fixed_copies import fix_and_validate
from sheets import write_records

from xlbridge.resources import Catalogue
from xlbridge.validation import validate_workbook

CR = "contasreceber"
DUE, AMOUNT = "dataDeVencimento", "valorDoLancamento"


@pytest.mark.parametrize(
    ("column", "texts", "doubtful"),
    [
        (DUE, ["05/11/2026", "03/12/2026", "07/10/2026", "08/11/2026", "10/30/2026"], 4),
        (DUE, ["05/11/2026", "03/12/2026", "30/10/2026"], 2),
        (DUE, ["05/11/2026", "10/30/2026", "10/30/2026"], 1),
        (DUE, [f"{day:02}/11/2026" for day in range(1, 11)] + ["13/11/2026", "14/11/2026"], 10),
        (DUE, ["05/11/2026", "30/10/2026", "10/30/2026"], 1),
        (AMOUNT, ["12.5", "1.234"], 1),
        (AMOUNT, ["12,5", "1.234", "4.321"], 2),
    ],
)
def test_one_text_does_not_resolve_ambiguous_ones(
    tmp_path: Path, catalogue: Catalogue, column: str, texts: list[str], doubtful: int
) -> None:
    changes = [{"dataDeEmissao": None, column: text} for text in texts]
    path = write_records(tmp_path / "a.xlsx", CR, changes)
    validated = validate_workbook(path, catalogue)
    found = [f for f in validated.findings if f.kind.code.endswith("-ambiguous")]
    assert len(found) == doubtful
    assert [f.corrected for f in found] == [None] * doubtful


@pytest.mark.parametrize("texts", [["10/30/2026", "05/11/2026"], ["12.5", "1.234"]])
def test_text_that_hints_at_the_meaning_of_others_is_not_fixed(
    tmp_path: Path, catalogue: Catalogue, texts: list[str]
) -> None:
    column = DUE if "/" in texts[0] else AMOUNT
    changes = [{"dataDeEmissao": None, column: text} for text in texts]
    validated, changed, after = fix_and_validate(
        write_records(tmp_path / "a.xlsx", CR, changes), catalogue
    )
    assert changed == []
    assert validated.findings == after.findings


@pytest.mark.parametrize(
    ("column", "texts"),
    [
        (DUE, ["30/10/2026", "31/10/2026", *(f"0{day}/11/2026" for day in range(1, 9))]),
        (DUE, ["10/30/2026", "10/31/2026", "05/11/2026"]),
        (AMOUNT, ["12.50", "13.50", "1,234"]),
    ],
)
def test_consistent_texts_resolve_ambiguous_ones(
    tmp_path: Path, catalogue: Catalogue, column: str, texts: list[str]
) -> None:
    changes = [{"dataDeEmissao": None, column: text} for text in texts]
    validated, changed, after = fix_and_validate(
        write_records(tmp_path / "a.xlsx", CR, changes), catalogue
    )
    assert len(changed) == len(texts)
    assert after.findings == []
    assert after.frame.equals(validated.frame)


@pytest.mark.parametrize(
    ("weights", "prices", "doubtful"),
    [
        (["1,234", "4,321"], ["12,5", "13,75"], 0),
        (["1,234", "12.5"], ["12,5", "13,75"], 1),
        (["1.234", "4.321"], ["1.234,56", "13,75"], 2),
        (["1,234", "4,321"], ["12,5", "13.75"], 2),
        (["1,234", "4,321"], ["12,5", "14"], 2),
        (["1.234", "4.321"], ["12.5", "13.75"], 2),
        (["1.234", "4.5"], ["12.5", "13.75"], 0),
        (["1,234", "4.5"], ["12.5", "13.75"], 1),
        (["1,234", "4,321"], ["12,5", "13,75", 1.0, 2.0, 3.0, 4.0, 5.0], 2),
    ],
)
def test_consistent_numbers_of_a_sheet_resolve_ambiguous_ones(
    tmp_path: Path,
    catalogue: Catalogue,
    weights: list[str],
    prices: list[str | float],
    doubtful: int,
) -> None:
    rows = zip_longest(weights, prices)
    changes = [{"Peso": weight, "valorUnitario": price} for weight, price in rows]
    validated, _, after = fix_and_validate(
        write_records(tmp_path / "a.xlsx", "produto", changes), catalogue
    )
    for sheet in (validated, after):
        found = [f for f in sheet.findings if f.kind.code == "number-ambiguous"]
        assert len(found) == doubtful
    if not doubtful:
        assert after.frame["Peso"].tolist() == [float(text.replace(",", ".")) for text in weights]
        assert validated.frame.equals(after.frame)
