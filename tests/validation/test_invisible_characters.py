"""Characters that look blank, and private-use characters."""

from pathlib import Path
from typing import Any

import pytest
from fixed_copies import fix_and_validate
from sheets import write_records

from xlbridge.resources import Catalogue
from xlbridge.validation import validate_workbook

CR = "contasreceber"
BLANKS = ["\u2800", "\u3164", "\u115f", "\u1160", "\uffa0", " \u2800\u200b"]


@pytest.mark.parametrize("blank", BLANKS)
@pytest.mark.parametrize("column", ["historico", "codigoDoCentroDeCusto", "codigoDoCliente"])
def test_blank_looking_text_counts_as_missing(
    tmp_path: Path, catalogue: Catalogue, column: str, blank: str
) -> None:
    path = write_records(tmp_path / "a.xlsx", CR, [{column: blank}])
    [finding] = validate_workbook(path, catalogue).findings
    assert (finding.column, finding.kind.code) == (column, "required-missing")


@pytest.mark.parametrize("column", ["dataDeVencimento", "valorDoLancamento", "numeroDoDocumento"])
def test_blank_looking_optional_text_is_ignored(
    tmp_path: Path, catalogue: Catalogue, column: str
) -> None:
    path = write_records(tmp_path / "a.xlsx", CR, [{column: "\u2800"}])
    validated = validate_workbook(path, catalogue)
    assert validated.findings == []
    assert validated.frame[column].isna().all()


def test_blank_looking_letter_is_replaced_by_a_space(tmp_path: Path, catalogue: Catalogue) -> None:
    path = write_records(tmp_path / "a.xlsx", CR, [{"historico": "Aluguel\u3164de maio\u2800"}])
    validated, changes, after = fix_and_validate(path, catalogue)
    assert [f.kind.code for f in validated.findings] == ["invisible-character"]
    assert [change.corrected for change in changes] == ["Aluguel de maio"]
    assert after.findings == []


@pytest.mark.parametrize(
    ("column", "text", "code"),
    [
        ("historico", "\uf0b7 Aluguel", "character-private"),
        ("historico", "Aluguel \U0010ffff", "character-private"),
        ("numeroDoDocumento", "NF\ue0001", "hidden-character"),
    ],
)
def test_private_use_character_is_reported_but_not_fixed(
    tmp_path: Path, catalogue: Catalogue, column: str, text: Any, code: str
) -> None:
    validated, changes, after = fix_and_validate(
        write_records(tmp_path / "a.xlsx", CR, [{column: text}]), catalogue
    )
    assert [f.kind.code for f in validated.findings] == [code]
    assert changes == []
    assert after.findings == validated.findings
    if column == "historico":
        assert validated.frame[column].tolist() == [text]
