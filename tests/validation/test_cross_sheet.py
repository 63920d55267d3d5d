"""Comparison of sheets: duplicates, and codes that one sheet provides to another."""

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from environment import ROOT
from sheets import write_records, write_rows, write_sheets
from stdnum.br import cnpj as numbers

from xlbridge.resources import Catalogue, load_catalogue
from xlbridge.resources.findings import Finding
from xlbridge.validation import ValidatedSheet, validate_workbook
from xlbridge.validation.cross_sheet import compare_sheets, registered_codes

STAR, SUN = "11.222.333/0001-81", "12.ABC.345/01DE-35"
TITLE = {"numeroDoDocumento": "NF-1", "dataDeVencimento": date(2026, 10, 31)}


def validated(
    path: Path, catalogue: Catalogue, sheets: Mapping[str, tuple[str, Sequence[Mapping[str, Any]]]]
) -> list[ValidatedSheet]:
    write_sheets(path, sheets)
    return [
        validate_workbook(path, catalogue, resource=resource, sheet=name)
        for name, (resource, _) in sheets.items()
    ]


def duplicates(compared: Sequence[Sequence[Finding]]) -> list[list[tuple[str | None, str, object]]]:
    return [[(f.cell, f.kind.code, f.details["first"]) for f in findings] for findings in compared]


def test_a_document_in_two_sheets_is_found_in_the_later_one(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    sheets = validated(
        tmp_path / "a.xlsx",
        catalogue,
        {
            "Matriz": ("cliente", [{"cnpj": STAR}]),
            "Filiais": ("cliente", [{"cnpj": SUN}, {"cnpj": "11222333000181"}]),
        },
    )
    compared = compare_sheets(sheets)
    assert duplicates(compared) == [[], [("C3", "duplicate-across-sheets", "Matriz!C2")]]
    [_, [finding]] = compared
    assert "Matriz!C2" in finding.message.pt
    assert "Matriz!C2" in finding.message.en
    assert [sheet.ok for sheet in sheets] == [True, True]


def test_duplicate_in_another_workbook_names_the_file(tmp_path: Path, catalogue: Catalogue) -> None:
    files = [write_records(tmp_path / name, "cliente", [{}]) for name in ("a.xlsx", "b.xlsx")]
    sheets = [validate_workbook(file, catalogue, resource="cliente") for file in files]
    assert duplicates(compare_sheets(sheets)) == [
        [],
        [("C2", "duplicate-across-sheets", f"{files[0]} · Plan1!C2")],
    ]


def test_a_row_is_compared_by_the_whole_key(tmp_path: Path, catalogue: Catalogue) -> None:
    sheets = validated(
        tmp_path / "a.xlsx",
        catalogue,
        {
            "A": ("contasreceber", [TITLE]),
            "B": ("contasreceber", [TITLE | {"valorDoLancamento": 11}, TITLE]),
            "C": ("contasreceber", [TITLE]),
        },
    )
    cell = sheets[1].columns["numeroDoDocumento"]
    assert duplicates(compare_sheets(sheets)) == [
        [],
        [("J3", "duplicate-across-sheets", "A!J2")],
        [("J2", "duplicate-across-sheets", "A!J2")],
    ]
    assert cell == 9


def test_cells_with_errors_are_not_compared(tmp_path: Path, catalogue: Catalogue) -> None:
    wrong = "11.222.333/0001-82"
    sheets = validated(
        tmp_path / "a.xlsx",
        catalogue,
        {
            "A": ("cliente", [{"cnpj": STAR}, {"cnpj": wrong}]),
            "B": ("cliente", [{"cnpj": STAR}, {"cnpj": STAR}, {"cnpj": wrong}, {"cnpj": None}]),
            "C": ("cliente", [{"cnpj": None}]),
        },
    )
    assert [f.cell for f in sheets[1].findings] == ["C3", "C4"]
    assert duplicates(compare_sheets(sheets)) == [
        [],
        [("C2", "duplicate-across-sheets", "A!C2")],
        [],
    ]


def test_other_resources_and_sheets_without_rows_are_not_compared(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    sheets = validated(
        tmp_path / "a.xlsx",
        catalogue,
        {
            "A": ("contasreceber", [{"idws": "X"}]),
            "B": ("contaspagar", [{}]),
            "C": ("contasreceber", []),
            "D": ("cliente", [{}]),
        },
    )
    empty = write_rows(tmp_path / "empty.xlsx", [], [])
    sheets.append(validate_workbook(empty, catalogue))
    assert duplicates(compare_sheets(sheets)) == [[], [], [], [], []]
    assert duplicates(compare_sheets([])) == []


def test_added_findings_are_sorted_by_position(tmp_path: Path, catalogue: Catalogue) -> None:
    sheets = validated(
        tmp_path / "a.xlsx",
        catalogue,
        {
            "A": ("cliente", [{"cnpj": STAR}, {"cnpj": SUN}]),
            "B": (
                "cliente",
                [
                    {"cnpj": STAR, "email": "nobody", "nota": "minha"},
                    {"nomeComercial": None, "cnpj": SUN, "email": "nobody"},
                ],
            ),
        },
    )
    sheets[1].add(compare_sheets(sheets)[1])
    assert [(f.cell, f.kind.code) for f in sheets[1].findings] == [
        ("E1", "column-unknown"),
        ("C2", "duplicate-across-sheets"),
        ("D2", "email-invalid"),
        ("A3", "required-missing"),
        ("C3", "duplicate-across-sheets"),
        ("D3", "email-invalid"),
    ]


def test_many_rows_are_compared(tmp_path: Path, catalogue: Catalogue) -> None:
    branches = [f"11222333{branch:04d}" for branch in range(3000)]
    rows = [["Padaria", branch + numbers.calc_check_digits(branch)] for branch in branches]
    header = ["nomeComercial", "cnpj"]
    files = [write_rows(tmp_path / f"{n}.xlsx", header, rows) for n in range(3)]
    sheets = [validate_workbook(file, catalogue, resource="cliente") for file in files]
    found = compare_sheets(sheets)
    assert [len(findings) for findings in found] == [0, 3000, 3000]
    assert [f.details["first"] for f in found[2]] == [
        f"{files[0]} · Plan1!B{row}" for row in range(2, 3002)
    ]


def own_resources(folder: Path) -> Catalogue:
    """Catalogue with the cost centres of the how-to."""
    guide = (ROOT / "docs/how-to/own-resource.md").read_text(encoding="utf-8")
    folder.mkdir()
    yaml = guide.partition("```yaml\n")[2].partition("```")[0]
    (folder / "centro-de-custo.yaml").write_text(yaml, encoding="utf-8")
    return load_catalogue(folder)


def test_sheet_provides_codes_that_another_references(tmp_path: Path) -> None:
    catalogue = own_resources(tmp_path / "schemas")
    centres = write_rows(
        tmp_path / "centros.xlsx",
        ["codigo", "descricao"],
        [["09.001", "Marketing"], ["09.002", "Vendas"]],
    )
    titles = write_records(
        tmp_path / "titulos.xlsx",
        "contasreceber",
        [{"codigoDoCentroDeCusto": "09.001"}, {}, {"codigoDoCentroDeCusto": None}],
    )
    provided = registered_codes(
        [
            validate_workbook(titles, catalogue, resource="contasreceber"),
            validate_workbook(centres, catalogue, resource="centro-de-custo"),
        ]
    )
    assert provided == {"centro-de-custo": {"09.001", "09.002"}}
