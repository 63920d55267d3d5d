"""Codes that differ in shape from the others of their column, or only in capitals."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from fixed_copies import finding_counts, fix_and_validate
from sheets import write_records

from xlbridge.resources import Catalogue

CR = "contasreceber"
PADDED = [f"{n:05}" for n in range(1, 200)]
CNPJS = ["11.222.333/0001-81", "11.444.777/0001-61", "33.000.167/0001-01", "60.746.948/0001-12"]


def sheet(folder: Path, resource: str, column: str, values: Sequence[Any]) -> Path:
    others: dict[str, Any] = {"cnpj": None} if resource == "cliente" else {}
    return write_records(folder / "a.xlsx", resource, [others | {column: v} for v in values])


@pytest.mark.parametrize(
    ("resource", "column", "values", "wrong"),
    [
        ("cliente", "seuCodigo", [*PADDED, 200.0], {201: "code-shape"}),
        ("cliente", "seuCodigo", [*PADDED, "200"], {201: "code-shape"}),
        ("cliente", "seuCodigo", ["00001", "00002", 3.0, 12345.0], {4: "code-shape"}),
        ("cliente", "seuCodigo", ["00001", "00002", "000003"], {4: "code-shape"}),
        ("cliente", "seuCodigo", ["CLI-0001", "CLI-0002", "CLI-3"], {4: "code-shape"}),
        ("cliente", "seuCodigo", ["CLI-0001", "CLI-0002", "CLI0003"], {4: "code-shape"}),
        (
            "cliente",
            "seuCodigo",
            ["CLI-0001", "CLI-0002", 3.0, "0004"],
            {4: "code-shape", 5: "code-shape"},
        ),
        (CR, "numeroDoDocumento", ["NF-001", "NF-002", 3.0], {4: "code-shape"}),
        (CR, "codigoDoItemDeLancamento", ["1.01.001"] * 3 + [1001.0], {5: "code-shape"}),
        (CR, "codigoDoItemDeLancamento", ["1.01.001"] * 3 + ["1001"], {5: "code-shape"}),
        (CR, "codigoDoItemDeLancamento", ["1.01.001"] * 3 + ["1,01,001"], {5: "code-shape"}),
        (CR, "codigoDoCentroDeCusto", ["01.001", "01.002", "1.003"], {4: "code-shape"}),
        (CR, "idws", ["4512.0", "4513,00"], dict.fromkeys((2, 3), "code-decimals")),
        ("cliente", "seuCodigo", ["CLI-1", "cli-1", "CLI-1"], {3: "code-spelling"}),
        (
            "cliente",
            "seuCodigo",
            ["AÇO-1", "AÇO-2", "aco-1"],
            dict.fromkeys((2, 4), "code-spelling"),
        ),
    ],
)
def test_code_unlike_the_others_is_reported(
    tmp_path: Path,
    catalogue: Catalogue,
    resource: str,
    column: str,
    values: list[Any],
    wrong: dict[int, str],
) -> None:
    path = sheet(tmp_path, resource, column, values)
    validated, changed, after = fix_and_validate(path, catalogue, resource=resource)
    found = {finding.row: finding.kind.code for finding in validated.findings}
    assert found == wrong
    assert changed == []
    assert finding_counts(after) == finding_counts(validated)


def test_null_character_does_not_hide_shapes(tmp_path: Path, catalogue: Catalogue) -> None:
    codes = ["CLI-0001", "CLI-0002", "CLI-\0" + "0003", "CLI-0004", "CLI-5"]
    validated, changed, _ = fix_and_validate(
        sheet(tmp_path, "cliente", "seuCodigo", codes), catalogue
    )
    found = {finding.row: finding.kind.code for finding in validated.findings}
    assert found == {4: "invisible-character", 6: "code-shape"}
    assert [cell.corrected for cell in changed] == ["CLI-0003"]


@pytest.mark.parametrize(
    ("resource", "column", "values"),
    [
        ("cliente", "seuCodigo", [str(n) for n in range(1, 1200)]),
        ("cliente", "seuCodigo", [f"CLI-{n}" for n in range(1, 1200)]),
        ("cliente", "seuCodigo", [f"{n:03}" for n in range(1, 1200)]),
        ("cliente", "seuCodigo", [float(n) for n in range(1, 1200)]),
        ("cliente", "seuCodigo", ["1001", "1002", "1003", 1004.0, 10005.0]),
        ("cliente", "seuCodigo", ["00001", 12345.0]),
        ("cliente", "seuCodigo", ["CLI-0001", "CLI-0002", "CLI-0003", "FORN-7", "S/N", "A1"]),
        ("cliente", "seuCodigo", ["AB-12", "CD-34", *map(float, range(1, 9))]),
        ("cliente", "telefone", ["(11) 98765-4321", "(11) 98765-4322", 11987654323.0]),
        (CR, "codigoDoCentroDeCusto", ["01.001", "01.002", "01", "01.002.003"]),
        (CR, "codigoDoItemDeLancamento", ["14.01", "14.00", "7.02"]),
        ("cliente", "seuCodigo", [*CNPJS, "52998224725", 11144477735.0]),
        # Mixtures: documents with and without instalments, plates, serials, house numbers.
        (CR, "numeroDoDocumento", [*(f"{n}/1" for n in range(4512, 4540)), "4513", "4514", "4600"]),
        (CR, "numeroDoDocumento", [*(f"{n}/1" for n in range(4512, 4540)), 4513.0, 4514.0, 4600.0]),
        (CR, "numeroDoDocumento", [*(f"{n}-A" for n in range(100, 140)), "98", "99", "101", 7.0]),
        (CR, "numeroDoDocumento", [*(f"NF {n}" for n in range(900, 990)), *map(str, range(1, 40))]),
        (CR, "numeroDoDocumento", ["4001", "4002", "4003", 200.0]),
        ("saida", "numeroDeSerie", ["ABC1234", "ABC1D23", "XYZ9876", "BRA2E19", "ABC-1234"] * 3),
        ("saida", "numeroDeSerie", ["SN12345678", "SN1234", "12345678", "A-12", 98765.0] * 3),
        ("saida", "documento", [*map(float, range(100, 400)), "12A", "S/N", "15 B", "012", "007"]),
        (
            "saida",
            "documento",
            [*map(str, range(100, 400)), *map(str, range(10, 40)), "012", "007"],
        ),
        (CR, "codigoDoCentroDeCusto", ["1.10", "1.00", "2.00", "10.00", "1.05"]),
    ],
)
def test_legitimate_code_variations_are_not_reported(
    tmp_path: Path, catalogue: Catalogue, resource: str, column: str, values: list[Any]
) -> None:
    path = sheet(tmp_path, resource, column, values)
    validated, _, _ = fix_and_validate(path, catalogue, resource=resource)
    assert [(f.cell, f.kind.code) for f in validated.findings] == []


@pytest.mark.parametrize(
    ("resource", "column", "values", "code", "first", "count"),
    [
        ("cliente", "seuCodigo", [*PADDED, *map(float, range(200, 240))], "code-shape", 201, 40),
        ("cliente", "seuCodigo", ["7", "8", "9", *PADDED], "code-shape", 2, 3),
        (CR, "codigoDoCentroDeCusto", ["1.00", "2.00", "3.00", "10.00"], "code-decimals", 2, 4),
        (CR, "idws", ["4512.0", "4513,00", "4.514,00"], "code-decimals", 2, 3),
        (
            CR,
            "numeroDoDocumento",
            [*(f"NF-{n:03}" for n in range(1, 6)), "NF-7", "NF-8", "NF-9"],
            "code-shape",
            7,
            3,
        ),
    ],
)
def test_many_codes_of_another_form_are_one_warning_of_the_column(
    tmp_path: Path,
    catalogue: Catalogue,
    resource: str,
    column: str,
    values: list[Any],
    code: str,
    first: int,
    count: int,
) -> None:
    path = sheet(tmp_path, resource, column, values)
    validated, _, _ = fix_and_validate(path, catalogue, resource=resource)
    (finding,) = validated.findings
    place = (finding.kind.code, finding.row, finding.column, finding.cells)
    assert place == (code, validated.header_row, column, count)
    assert finding.cell is not None
    assert finding.cell.lstrip("ABCDEFGHIJKL") == str(first)
    assert validated.errors == 0
    assert validated.frame[column].notna().all()
