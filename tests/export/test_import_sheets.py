"""Import sheets filled from a listing: the record's number, and fields without a column."""

import csv
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow.parquet as pq
import pytest
from environment import Xlbridge, credentials
from fake_system import fake_system
from sheets import header_of, rows_of

from xlbridge.sandbox import RunningSandbox

TITLES = "/v2/financeiro/contasreceber"
TITLE = {
    "codigoDoExercicio": 2026,
    "codigoDaFilial": 1,
    "numeroDaTransacao": 7,
    "sequenciaDaTransacao": 1,
    "codigoDoCliente": 9,
    "codigoDoItemDeLancamento": "1.01.001",
    "codigoDoCentroDeCusto": "01.001",
    "codigoDaContaCorrente": 1,
    "historico": "Mensalidade",
    "dataDeEmissao": "2026-11-05T23:59:59.9999999",
    "dataDeVencimento": "2026-11-30T00:00:00-03:00",
    "valorDoLancamento": 10.5,
}


def exported_titles(
    xlbridge: Xlbridge, output: Path, *titles: dict[str, Any], options: tuple[str, ...] = ()
) -> tuple[str, dict[str, Any]]:
    """Export titles; return stderr and the manifest."""
    manifest = output.with_name("manifest.json")
    with fake_system({TITLES: [TITLE | title for title in titles]}) as system:
        environment = system.environment()
        done = xlbridge(
            "export", "contasreceber", "-o", output, "--manifest", manifest, *options, **environment
        )
    assert done.returncode == 0, done.stderr
    return done.stderr, json.loads(manifest.read_text("utf-8"))


def test_an_import_sheet_has_the_numbers_of_its_records(
    tmp_path: Path, demo: RunningSandbox, xlbridge: Xlbridge
) -> None:
    output, plain = tmp_path / "cr.xlsx", tmp_path / "cr.csv"
    environment = credentials(demo)
    layout = ["--as-template", "contasreceber"]
    assert xlbridge("export", "contasreceber", "-o", output, *layout, **environment).returncode == 0
    assert xlbridge("export", "contasreceber", "-o", plain, **environment).returncode == 0
    sheet = openpyxl.load_workbook(output)["contasreceber"]
    header, names = sheet[1], header_of(sheet)
    rows = list(sheet.iter_rows(min_row=2))
    numbers = ["codigoDoExercicio", "numeroDaTransacao", "sequenciaDaTransacao"]
    assert names[-3:] == numbers
    assert len(set(names)) == len(names)
    assert all("do not edit" in cell.comment.text for cell in header[-3:])
    fills = {cell.fill.fgColor.rgb for cell in header[-3:]}
    assert fills.isdisjoint(cell.fill.fgColor.rgb for cell in header[:-3])
    with plain.open(encoding="utf-8-sig", newline="") as stream:
        records = [[record[name] for name in numbers] for record in csv.DictReader(stream)]
    assert [[str(cell.value) for cell in row[-3:]] for row in rows] == records
    amount = names.index("valorDoLancamento")
    assert {type(row[amount].value) for row in rows} <= {int, float}


def test_only_the_records_of_one_resource_fill_a_sheet(
    tmp_path: Path, demo: RunningSandbox, xlbridge: Xlbridge
) -> None:
    layout = ["--as-template", "-o", "t.xlsx"]
    refused = xlbridge("export", "estoque", *layout, **credentials(demo))
    assert refused.returncode == 2
    assert "no single resource whose import sheet fits the records of estoque" in refused.stderr


def test_values_without_a_column_are_counted(tmp_path: Path, xlbridge: Xlbridge) -> None:
    split = {
        "dataDeVencimento": "2026-11-30",
        "dataDeEmissao": None,
        "historicoDasParcelas": ["a", "b"],
    }
    paid = {"numeroDaTransacao": 8, "dataDeBaixa": "2026-11-20", "corFavorita": "azul", **split}
    layout = ("--as-template", "contasreceber")
    stderr, manifest = exported_titles(
        xlbridge, tmp_path / "cr.xlsx", split | {"observacao": ""}, paid, options=layout
    )
    assert manifest["left_out"] == {"historicoDasParcelas": 4, "dataDeBaixa": 1, "corFavorita": 1}
    assert "historicoDasParcelas (4), Settlement date (1), corFavorita (1)" in stderr
    stderr, manifest = exported_titles(xlbridge, tmp_path / "cr.csv", split, paid)
    assert (manifest["left_out"], "historicoDasParcelas (4)" in stderr) == ({}, False)


def test_lists_of_a_record_have_their_own_sheet(tmp_path: Path, xlbridge: Xlbridge) -> None:
    halves = [{"valor": 4.25, "codigoDoProjeto": 3}, {"valor": 6.25, "parecer": "metade"}]
    other = {"numeroDaTransacao": 8, "dataDeEmissao": None}
    output = tmp_path / "cr.xlsx"
    _, manifest = exported_titles(
        xlbridge,
        output,
        {"dataDeEmissao": None, "rateio": halves},
        other,
        options=("--as-template", "contasreceber"),
    )
    assert manifest["left_out"] == {"rateio.parecer": 1}
    book = openpyxl.load_workbook(output)
    header, *titles = rows_of(book["contasreceber"])
    assert [row[header.index("chave")] for row in titles] == ["2026/1/7/1", "2026/1/8/1"]
    header, *parts = rows_of(book["rateio"])
    columns = [header.index(name) for name in ("chave", "codigoDoProjeto", "valor")]
    assert [[row[index] for index in columns] for row in parts] == [
        ["2026/1/7/1", 3, 4.25],
        ["2026/1/7/1", None, 6.25],
    ]
    assert xlbridge("validate", output).returncode == 0


def test_a_dropped_time_of_day_is_reported(tmp_path: Path, xlbridge: Xlbridge) -> None:
    output = tmp_path / "cr.xlsx"
    stderr, manifest = exported_titles(
        xlbridge, output, {}, options=("--as-template", "contasreceber")
    )
    assert manifest["left_out"] == {"dataDeEmissao.time": 1}
    assert "Issue date: time (1)" in stderr
    assert manifest["zones"] == {"dataDeVencimento": ["-03:00"]}
    assert "Due date -03:00" in stderr
    (header, row) = rows_of(openpyxl.load_workbook(output)["contasreceber"])
    assert row[header.index("dataDeEmissao")] == datetime(2026, 11, 5)
    assert row[header.index("dataDeVencimento")] == datetime(2026, 11, 30)


@pytest.mark.parametrize(
    ("listing", "resource"),
    [("contasreceber-baixados", "contasreceber"), ("contaspagar-baixados", "contaspagar")],
)
def test_settled_titles_are_exported_as_import_sheet_only_on_request(
    tmp_path: Path, demo: RunningSandbox, xlbridge: Xlbridge, listing: str, resource: str
) -> None:
    output, environment = tmp_path / "b.xlsx", credentials(demo)
    layout = ["--as-template", resource]
    refused = xlbridge("export", listing, "-o", output, *layout, **environment)
    assert refused.returncode == 2
    assert "--settled" in refused.stderr
    assert not output.exists()
    done = xlbridge("export", listing, "-o", output, *layout, "--settled", **environment)
    assert done.returncode == 0
    assert "Settlement date (" in done.stderr
    assert xlbridge("export", listing, "-o", output, "--settled", **environment).returncode == 2


def test_a_plan_must_request_settled_titles(tmp_path: Path, xlbridge: Xlbridge) -> None:
    plan = tmp_path / "plan.yaml"
    step = "{export: contaspagar-baixados, output: b.xlsx, as_template: contaspagar%s}"
    for more, code in (("", 2), (", settled: true", 0)):
        plan.write_text(f"version: 1\nname: x\nsteps:\n  b: {step % more}\n", "utf-8")
        done = xlbridge("batch", "plan", plan)
        assert done.returncode == code, done.stderr


EXPECTED_DATES = {
    "csv": ("2026-11-05T23:59:59", "2026-11-30"),
    "jsonl": ("2026-11-05T23:59:59", "2026-11-30T00:00:00"),
    "xlsx": (datetime(2026, 11, 5, 23, 59, 59), datetime(2026, 11, 30)),
    "parquet": (datetime(2026, 11, 5, 23, 59, 59, 999999), datetime(2026, 11, 30)),
}


@pytest.mark.parametrize("form", EXPECTED_DATES)
def test_times_are_exported_without_zone_and_never_rounded_up(
    tmp_path: Path, xlbridge: Xlbridge, form: str
) -> None:
    output = tmp_path / f"cr.{form}"
    stderr, manifest = exported_titles(xlbridge, output, {})
    assert read_dates(output) == EXPECTED_DATES[form]
    assert manifest["zones"] == {"dataDeVencimento": ["-03:00"]}
    assert "Due date -03:00" in stderr
    other = {"dataDeVencimento": "2026-11-30T00:00:00.0000000"}
    stderr, manifest = exported_titles(xlbridge, output, other, options=("--force",))
    assert manifest["zones"] == {}
    assert "zone" not in stderr


def read_dates(path: Path) -> tuple[Any, Any]:
    match path.suffix:
        case ".csv":
            (row,) = csv.DictReader(path.read_text("utf-8-sig").splitlines())
        case ".jsonl":
            row = json.loads(path.read_text("utf-8"))
        case ".parquet":
            (row,) = pq.read_table(path).to_pylist()
        case _:
            header, cells, _totals = rows_of(openpyxl.load_workbook(path)["contasreceber"])
            row = dict(zip(header, cells, strict=True))
    return row["dataDeEmissao"], row["dataDeVencimento"]


def test_brazilian_csv_has_dates_and_whole_seconds(tmp_path: Path, xlbridge: Xlbridge) -> None:
    output = tmp_path / "cr.csv"
    stderr, _ = exported_titles(xlbridge, output, {}, options=("--csv-dialect", "pt-br"))
    assert "05/11/2026 23:59:59;30/11/2026;" in output.read_text("utf-8-sig")
    assert "-03:00" in stderr


def test_an_import_sheet_has_exact_numbers_and_dates(tmp_path: Path, xlbridge: Xlbridge) -> None:
    output = tmp_path / "cr.xlsx"
    odd = {
        "dataDeEmissao": "0001-01-01T00:00:00",
        "codigoDoCliente": 12345678901234567,
        "historico": "=1+1",
        "valorDoLancamento": 9965.28,
    }
    exported_titles(xlbridge, output, odd, options=("--as-template", "contasreceber"))
    (header, row) = rows_of(openpyxl.load_workbook(output)["contasreceber"])
    cells = dict(zip(header, row, strict=True))
    assert cells["valorDoLancamento"] == 9965.28
    assert cells["dataDeEmissao"] == "0001-01-01T00:00:00"
    assert cells["codigoDoCliente"] == "12345678901234567"
    assert cells["historico"] == "=1+1"
    with fake_system({TITLES: [TITLE | {"historico": "x" * 32_768}]}) as system:
        environment = system.environment()
        layout = ["--as-template", "contasreceber"]
        done = xlbridge(
            "export", "contasreceber", "-o", tmp_path / "long.xlsx", *layout, **environment
        )
    assert done.returncode == 2
    assert "F2" in done.stderr
    assert not (tmp_path / "long.xlsx").exists()


def test_an_import_sheet_prints_up_to_its_last_filled_column(
    tmp_path: Path, xlbridge: Xlbridge
) -> None:
    output = tmp_path / "cr.xlsx"
    exported_titles(xlbridge, output, {}, {}, options=("--as-template", "contasreceber"))
    book = openpyxl.load_workbook(output)
    sheet = book["contasreceber"]
    printed = sheet[sheet.print_area.rpartition("!")[2].replace("$", "")]
    assert (printed[0][0].coordinate, len(printed)) == ("A1", 3)
    filled = [cell.column for cell in sheet[2] if cell.value is not None]
    # The record's numbers, for the system, come after all columns.
    assert printed[0][-1].column in filled
    assert printed[0][-1].column < filled[-1]
    for number in range(printed[0][-1].column + 1, filled[-3]):
        assert sheet.cell(2, number).value is None


def test_an_import_sheet_of_titles_prints_one_page_wide(tmp_path: Path, xlbridge: Xlbridge) -> None:
    output = tmp_path / "cr.xlsx"
    part = {"codigoDaFilialDoRateio": 1, "valor": 10.5}
    exported_titles(
        xlbridge, output, {"rateio": [part]}, options=("--as-template", "contasreceber")
    )
    sheet = openpyxl.load_workbook(output)["contasreceber"]
    assert sheet.sheet_properties.pageSetUpPr.fitToPage
    assert sheet.page_setup.orientation == "landscape"
    assert (sheet.page_setup.fitToWidth or 1, sheet.page_setup.fitToHeight) == (1, 0)
    assert sheet.print_title_rows == "$1:$1"
