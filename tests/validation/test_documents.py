"""Documents in the wrong column, contradicting the nature, or with uncertain leading zeros."""

from pathlib import Path
from typing import Any

import pytest
from fixed_copies import fix_and_validate
from sheets import write_rows

from xlbridge.resources import Catalogue
from xlbridge.validation import validate_workbook

CPF, CNPJ = "529.982.247-25", "11.222.333/0001-81"
HEADER = ["nomeComercial", "natureza", "cnpj", "cpf"]


def sheet(folder: Path, *rows: tuple[Any, ...]) -> Path:
    return write_rows(folder / "a.xlsx", HEADER, [["Maria", *row] for row in rows])


@pytest.mark.parametrize(
    ("row", "cell", "code", "after"),
    [
        (("F", CPF, None), "C2", "document-misplaced", ("F", None, "52998224725")),
        (("F", 52998224725.0, None), "C2", "document-misplaced", ("F", None, "52998224725")),
        (("J", None, CNPJ), "D2", "document-misplaced", ("J", "11222333000181", None)),
        (
            ("J", None, 11222333000181.0),
            "D2",
            "document-misplaced",
            ("J", "11222333000181", None),
        ),
        (("J", None, CPF), "B2", "nature-document", ("F", None, "52998224725")),
        ((None, None, CPF), "B2", "nature-document", ("F", None, "52998224725")),
        (("F", CNPJ, None), "B2", "nature-document", ("J", "11222333000181", None)),
    ],
)
def test_document_determines_its_column_and_nature(
    tmp_path: Path,
    catalogue: Catalogue,
    row: tuple[Any, ...],
    cell: str,
    code: str,
    after: tuple[Any, ...],
) -> None:
    validated, _, fixed_sheet = fix_and_validate(sheet(tmp_path, row), catalogue)
    assert [(f.cell, f.kind.code) for f in validated.findings] == [(cell, code)]
    assert not validated.ok
    assert fixed_sheet.findings == []
    values = fixed_sheet.frame[HEADER[1:]].astype(object)
    assert tuple(values.where(values.notna(), None).iloc[0]) == after


@pytest.mark.parametrize(
    ("row", "cell"), [(("F", CPF, "123.456.789-09"), "C2"), (("J", CNPJ, CNPJ), "D2")]
)
def test_document_does_not_overwrite_another(
    tmp_path: Path, catalogue: Catalogue, row: tuple[Any, ...], cell: str
) -> None:
    validated, changes, after = fix_and_validate(sheet(tmp_path, row), catalogue)
    assert [(f.cell, f.kind.code) for f in validated.findings] == [(cell, "document-misplaced")]
    assert changes == []
    assert after.findings == validated.findings


def test_document_is_not_moved_without_its_column(tmp_path: Path, catalogue: Catalogue) -> None:
    path = write_rows(tmp_path / "a.xlsx", ["nomeComercial", "cnpj"], [["Maria", CPF]])
    validated, changes, _ = fix_and_validate(path, catalogue)
    assert [(f.cell, f.kind.code) for f in validated.findings] == [("B2", "document-misplaced")]
    assert changes == []


@pytest.mark.parametrize(
    "row",
    [
        ("F", "isento", None),
        ("J", CNPJ, CPF),
        ("F", CNPJ, CPF),
        (None, CNPJ, None),
        ("F", None, CPF),
        ("F", None, None),
    ],
)
def test_consistent_documents_have_no_findings(
    tmp_path: Path, catalogue: Catalogue, row: tuple[Any, ...]
) -> None:
    assert validate_workbook(sheet(tmp_path, row), catalogue).findings == []


@pytest.mark.parametrize(
    ("number", "proposed"),
    [
        (191.0, None),
        (1234567890.0, None),
        (12345678063.0, None),
        (6990590000123.0, "06990590000123"),
        (360305000104.0, "00360305000104"),
    ],
)
def test_at_most_two_zeros_are_put_before_a_cnpj(
    tmp_path: Path, catalogue: Catalogue, number: float, proposed: str | None
) -> None:
    [finding] = validate_workbook(sheet(tmp_path, ("J", number, None)), catalogue).findings
    assert (finding.kind.code, finding.corrected) == ("code-leading-zeros", proposed)
