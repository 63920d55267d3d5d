"""``--all-sheets``: every sheet with data is validated, skipped ones are named.

Inside: validation.
"""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import openpyxl
import pytest
import xlsxwriter
from environment import ROOT, Xlbridge, credentials
from sheets import (
    INSTRUCTIONS_SHEET,
    LISTS_SHEET,
    SUMMARY_SHEET,
    records,
    write_page,
    write_records,
    write_rows,
    write_sheets,
)

from xlbridge.cli.main import main
from xlbridge.errors import UsageError
from xlbridge.resources import Catalogue
from xlbridge.sandbox import RunningSandbox
from xlbridge.settings import WorkbookLimits
from xlbridge.validation import ValidationRequest, validate_sheets
from xlbridge.validation.pipeline import ValidatedWorkbook
from xlbridge.workbook.write import write_template

STAR = "11.222.333/0001-81"


@pytest.fixture
def migration(tmp_path: Path) -> Path:
    """Two sheets of clients with a duplicate, one of titles, and one of notes."""
    path = tmp_path / "migracao.xlsx"
    with xlsxwriter.Workbook(path) as book:
        write_page(book, "Matriz", *records("cliente", [{}, {"cnpj": None, "email": "x"}]))
        write_page(book, "Filiais", *records("cliente", [{"nomeComercial": " Padaria 2 "}]))
        write_page(book, "Notas", ["feito por", "em"], [["Ana", "ontem"]])
        write_page(book, "Títulos", *records("contasreceber", [{"valorDoLancamento": "12,5"}]))
        book.add_worksheet("Plan2")
        write_page(book, "Vazia", *records("contaspagar", []))
    return path


def validate_all_sheets(
    path: Path, catalogue: Catalogue, resource: str | None = None
) -> ValidatedWorkbook:
    request = ValidationRequest(file=path, resource=resource, all_sheets=True)
    return validate_sheets(request, catalogue, WorkbookLimits())


def sheets(validated: ValidatedWorkbook) -> list[tuple[str, str | None]]:
    return [(s.sheet, s.resource.name if s.resource else None) for s in validated.sheets]


def found(validated: ValidatedWorkbook) -> dict[str, list[tuple[str | None, str]]]:
    return {s.sheet: [(f.cell, f.kind.code) for f in s.findings] for s in validated.sheets}


def test_each_sheet_is_validated_as_its_own_resource(migration: Path, catalogue: Catalogue) -> None:
    validated = validate_all_sheets(migration, catalogue)
    assert sheets(validated) == [
        ("Matriz", "cliente"),
        ("Filiais", "cliente"),
        ("Títulos", "contasreceber"),
    ]
    assert validated.skipped == ["Notas", "Vazia"]
    assert found(validated) == {
        "Matriz": [("D3", "email-invalid")],
        "Filiais": [("A2", "text-spaces"), ("C2", "duplicate-across-sheets")],
        "Títulos": [("I2", "number-as-text")],
    }


def test_resource_option_selects_its_sheets(migration: Path, catalogue: Catalogue) -> None:
    validated = validate_all_sheets(migration, catalogue, resource="contasreceber")
    assert sheets(validated) == [("Títulos", "contasreceber")]
    assert validated.skipped == ["Matriz", "Filiais", "Notas", "Vazia"]


def test_sheets_added_by_templates_are_skipped(tmp_path: Path, catalogue: Catalogue) -> None:
    path = tmp_path / "cliente.xlsx"
    write_template(path, catalogue["cliente"])
    book = openpyxl.load_workbook(path)
    assert {INSTRUCTIONS_SHEET, LISTS_SHEET} <= set(book.sheetnames)
    book["cliente"].append(["Padaria"])
    more = book.create_sheet("mais")
    for row in (["nomeComercial", "natureza"], ["Bar", "J"]):
        more.append(row)
    book.save(path)
    validated = validate_all_sheets(path, catalogue)
    assert sheets(validated) == [("cliente", "cliente"), ("mais", "cliente")]
    assert validated.skipped == []


@pytest.mark.parametrize(
    ("name", "header", "codes"),
    [
        ("cliente", ["nome", "documento"], ["header-not-found"]),
        ("Plan1", ["nomeComerciall", "cnpj"], ["column-misspelt"]),
        ("contasreceber", ["codigoDaFilial"], ["column-missing"]),
    ],
)
def test_sheets_resembling_a_resource_are_not_skipped(
    tmp_path: Path, catalogue: Catalogue, name: str, header: list[str], codes: list[str]
) -> None:
    path = tmp_path / "a.xlsx"
    with xlsxwriter.Workbook(path) as book:
        write_page(book, "Fornecedores", *records("contaspagar", [{}]))
        write_page(book, name, header, [["1"] * len(header)])
    validated = validate_all_sheets(path, catalogue)
    assert [s.sheet for s in validated.sheets] == ["Fornecedores", name]
    assert set(codes) <= {f.kind.code for f in validated.sheets[1].findings}


def test_without_matching_sheets_the_option_changes_nothing(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    notes = write_rows(tmp_path / "notas.xlsx", ["feito por"], [["Ana"]])
    with pytest.raises(UsageError):
        validate_all_sheets(notes, catalogue)
    empty = write_rows(tmp_path / "vazia.xlsx", [], [])
    validated = validate_all_sheets(empty, catalogue)
    assert found(validated) == {"Plan1": [(None, "sheet-empty")]}
    with pytest.raises(UsageError):
        validate_all_sheets(empty, catalogue, resource="nada")


def test_sheet_matching_two_resources_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    guide = (ROOT / "docs/how-to/own-resource.md").read_text(encoding="utf-8")
    yaml = guide.partition("```yaml\n")[2].partition("```")[0]
    for name in ("um", "dois"):
        other = yaml.replace("resource: centro-de-custo", f"resource: {name}")
        (tmp_path / f"{name}.yaml").write_text(other, encoding="utf-8")
    path = write_rows(tmp_path / "a.xlsx", ["codigo", "descricao"], [["1", "x"]], sheet="Custos")
    assert main(["validate", str(path), "--all-sheets", "--schemas", str(tmp_path)]) == 2
    output = capsys.readouterr().err
    assert "Custos" in output
    assert "dois, um" in output


def test_several_sheets_without_the_option_suggest_both_options(
    migration: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", str(migration)]) == 2
    output = capsys.readouterr().err
    assert "--sheet" in output
    assert "--all-sheets" in output
    assert main(["validate", str(migration), "--all-sheets", "--sheet", "Matriz"]) == 2
    assert main(["validate", str(migration), "--sheet", "Matriz"]) == 1


def report(arguments: list[Any], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code = main(["validate", *map(str, arguments), "--all-sheets"])
    return code, capsys.readouterr().out


def test_every_report_format_lists_every_sheet(
    migration: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, output = report([migration, "--format", "json"], capsys)
    assert code == 1
    document = json.loads(output)
    assert [(f["sheet"], f["resource"], f["errors"]) for f in document["files"]] == [
        ("Matriz", "cliente", 1),
        ("Filiais", "cliente", 1),
        ("Títulos", "contasreceber", 0),
    ]
    assert document["skipped"] == [
        {"file": str(migration), "sheet": "Notas"},
        {"file": str(migration), "sheet": "Vazia"},
    ]
    code, output = report([migration], capsys)
    assert code == 1
    lines = output.splitlines()
    end = lines.index("")
    assert [line[0] for line in lines[:end] if line[0] != " "] == ["✗", "✗", "✓", "–", "–"]
    assert "Matriz!C2" in output
    assert "sheet Notas not checked" in output
    assert lines[end + 1].startswith("Errors by rule (2): ")
    (total,) = [line for line in lines[end:] if line.startswith("Total")]
    assert "files: 1 · passed: 0 · rows: 4 · errors: 2 · warnings: 2" in total
    code, output = report([migration, "--format", "html"], capsys)
    data = json.loads(output.partition('id="data">')[2].partition("</script>")[0])
    assert [f.get("sheet") for f in data["files"]] == ["Matriz", "Filiais", "Títulos", None, None]
    assert "Vazia" in data["files"][4]["skipped"]


def test_skipped_sheets_do_not_fail_validation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.xlsx"
    with xlsxwriter.Workbook(path) as book:
        write_page(book, "Notas", ["feito por"], [["Ana"]])
        write_page(book, "Clientes", *records("cliente", [{}]))
    code, output = report([path, "--format", "json"], capsys)
    assert (code, json.loads(output)["ok"]) == (0, True)


def test_the_next_step_concerns_all_sheets(
    xlbridge: Xlbridge, migration: Path, tmp_path: Path
) -> None:
    faulty = xlbridge("validate", migration, "--all-sheets").stdout.splitlines()
    assert faulty[-1] == (
        f"Next: xlbridge validate {migration.name} --all-sheets --fix migracao-fixed.xlsx"
    )
    good = tmp_path / "boa.xlsx"
    with xlsxwriter.Workbook(good) as book:
        write_page(book, "Títulos", *records("contasreceber", [{}]))
        write_page(book, "Novos clientes", *records("cliente", [{}]))
    assert xlbridge("validate", good, "--all-sheets").stdout.splitlines()[-2:] == [
        f"Next: xlbridge upload {good.name} --sheet 'Novos clientes'",
        f"Then: xlbridge upload {good.name} --sheet Títulos",
    ]


def test_workbooks_are_validated_independently(
    tmp_path: Path, migration: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = write_records(tmp_path / "outra.xlsx", "cliente", [{}])
    refused = tmp_path / "texto.xlsx"
    refused.write_text("a;b")
    code, output = report([other, refused, migration, "--format", "json"], capsys)
    assert code == 3
    files = json.loads(output)["files"]
    assert [(f["sheet"], f["errors"]) for f in files] == [
        ("Plan1", 0),
        (None, 1),
        ("Matriz", 1),
        ("Filiais", 1),
        ("Títulos", 0),
    ]


def cells(path: Path) -> Mapping[str, Any]:
    book = openpyxl.load_workbook(path)
    return {
        f"{page.title}!{cell.coordinate}": cell.value
        for page in book
        for row in page.iter_rows()
        for cell in row
        if cell.value is not None
    }


def test_all_sheets_are_fixed_in_one_copy(
    tmp_path: Path, migration: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "corrigida.xlsx"
    code, output = report([migration, "--fix", copy, "--format", "json"], capsys)
    assert code == 1
    document = json.loads(output)
    assert [
        [(change["cell"], change["old"], change["new"]) for change in f["fixed"]["changes"]]
        for f in document["files"]
    ] == [[], [("A2", " Padaria 2 ", "Padaria 2")], [("I2", "12,5", "12.5")]]
    assert [[f["code"] for f in file["findings"]] for file in document["files"]] == [
        ["email-invalid"],
        ["duplicate-across-sheets"],
        [],
    ]
    assert len(document["skipped"]) == 2
    before, after = cells(migration), cells(copy)
    assert {place for place in before if before[place] != after[place]} == {
        "Filiais!A2",
        "Títulos!I2",
    }
    assert before.keys() == after.keys()


def test_all_sheets_are_marked_in_one_copy(
    tmp_path: Path, migration: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "marcada.xlsx"
    assert report([migration, "--annotate", copy], capsys)[0] == 1
    book = openpyxl.load_workbook(copy)
    commented = {
        f"{page.title}!{cell.coordinate}"
        for page in book
        for row in page.iter_rows()
        for cell in row
        if cell.comment
    }
    assert commented == {"Matriz!D3", "Filiais!A2", "Filiais!C2", "Títulos!I2"}
    summary = book[SUMMARY_SHEET]
    assert "“Matriz” (Clients), “Filiais” (Clients)" in str(summary["A2"].value)
    assert "Errors: 2. Warnings: 2." in str(summary["A3"].value)
    assert [[c.value for c in row[:2]] for row in summary.iter_rows(min_row=5)] == [
        ["Sheet", "Cell"],
        ["Matriz", "D3"],
        ["Filiais", "C2"],
        ["Filiais", "A2"],
        ["Títulos", "I2"],
    ]
    assert summary["B9"].hyperlink.location == "'Títulos'!I2"
    again = tmp_path / "de novo.xlsx"
    shutil.copy(copy, again)
    assert report([again, "--annotate", tmp_path / "c.xlsx", "--limit", 2], capsys)[0] == 1
    limited = openpyxl.load_workbook(tmp_path / "c.xlsx")[SUMMARY_SHEET]
    assert limited.max_row == 9


def test_online_check_accepts_codes_from_other_sheets(
    xlbridge: Xlbridge, tmp_path: Path, home: Path, empty_sandbox: RunningSandbox
) -> None:
    guide = (ROOT / "docs/how-to/own-resource.md").read_text(encoding="utf-8")
    (home / "schemas").mkdir(parents=True)
    yaml = guide.partition("```yaml\n")[2].partition("```")[0]
    (home / "schemas" / "centro-de-custo.yaml").write_text(yaml, encoding="utf-8")
    path = tmp_path / "a.xlsx"
    titles = [
        {"codigoDaFilial": 1, "codigoDoCentroDeCusto": "09.001"},
        {"codigoDoCentroDeCusto": "9.1"},
    ]
    with xlsxwriter.Workbook(path) as book:
        write_page(book, "Títulos", *records("contasreceber", titles))
        write_page(book, "Centros", ["codigo", "descricao"], [["09.001", "Marketing"]])
    arguments = ("validate", path, "--online", "--format", "json")
    environment = credentials(empty_sandbox)

    def centres(*more: str) -> list[str]:
        done = xlbridge(*arguments, *more, **environment)
        assert done.stdout, done.stderr
        titles = json.loads(done.stdout)["files"][0]
        return [f["cell"] for f in titles["findings"] if f["column"] == "codigoDoCentroDeCusto"]

    assert centres("--sheet", "Títulos") == ["D2", "D3"]
    assert centres("--all-sheets") == ["D3"]


def test_duplicates_are_found_across_several_sheets(tmp_path: Path, catalogue: Catalogue) -> None:
    path = write_sheets(
        tmp_path / "a.xlsx", {f"S{n}": ("cliente", [{"cnpj": STAR}]) for n in range(4)}
    )
    validated = validate_all_sheets(path, catalogue)
    assert [f.details["first"] for s in validated.sheets for f in s.findings] == ["S0!C2"] * 3


def test_code_spelled_differently_in_an_earlier_sheet_is_reported_once(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    other = {"seuCodigo": "cli-1", "cnpj": "11.444.777/0001-61", "nomeComercial": "Mercado"}
    title = {"codigoDoCentroDeCusto": "aço.1"}
    path = write_sheets(
        tmp_path / "a.xlsx",
        {
            "Matriz": ("cliente", [{"seuCodigo": "CLI-1"}]),
            "Filiais": ("cliente", [other]),
            "Receber": ("contasreceber", [{"codigoDoCentroDeCusto": "AÇO.1"}]),
            "Pagar": ("contaspagar", [title, {**title, "historico": "Água"}]),
        },
    )
    validated = validate_all_sheets(path, catalogue)
    assert found(validated) == {
        "Matriz": [],
        "Filiais": [("D2", "code-spelling-across-sheets")],
        "Receber": [],
        "Pagar": [("D2", "code-spelling-across-sheets")],
    }
    [finding] = validated.sheets[1].findings
    assert "'CLI-1'" in finding.message.en
    assert "Matriz!D2" in finding.message.en
