"""``xlbridge export`` and ``xlbridge listings`` from a script."""

import json
import re
import time
from pathlib import Path

import openpyxl
import pytest
from environment import Xlbridge
from fake_system import fake_system
from openpyxl.packaging.custom import CustomPropertyList

from xlbridge.cli.main import main
from xlbridge.export import LISTINGS
from xlbridge.resources import Kind, load_catalogue
from xlbridge.sandbox import RunningSandbox
from xlbridge.settings import WorkbookLimits
from xlbridge.validation import ValidationRequest, validate_sheets
from xlbridge.workbook import COVER_SHEET


def test_an_export_reports_and_writes_its_manifest(
    tmp_path: Path, configured: RunningSandbox, capsys: pytest.CaptureFixture[str]
) -> None:
    output, manifest = tmp_path / "pedidos.xlsx", tmp_path / "manifest.json"
    arguments = ["--from", "01/03/2026", "--to", "2026-03-31", "--branch", "1"]
    code = main(["export", "pedidos", "-o", str(output), *arguments, "--manifest", str(manifest)])
    document = json.loads(manifest.read_text(encoding="utf-8"))
    assert (code, document["complete"], document["holes"]) == (0, True, [])
    assert set(document) >= {
        "version", "listing", "complete", "records", "sheets", "windows", "holes",
    }  # fmt: skip
    assert document["sheets"]["pedidos"] == document["records"] > 0
    (window,) = document["windows"]
    assert (window["from"], window["to"]) == ("2026-03-01T00:00:00", "2026-03-31T23:59:00")
    captured = capsys.readouterr()
    assert f"{document['records']} records" in captured.out
    assert configured.password not in captured.out + captured.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["manifest.json", "pedidos.xlsx"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["pedidoz", "-o", "a.xlsx"],
        ["pedidos", "-o", "a.odt"],
        ["pedidos", "-o", "a.xlsx", "--format", "csv"],
        ["pedidos", "-o", "a.xlsx", "--csv-dialect", "pt-br"],
        ["pedidos", "-o", "a.xlsx", "--from", "31/02/2026"],
        ["pedidos", "-o", "a.xlsx", "--from", "02/01/2026", "--to", "01/01/2026"],
        ["estoque", "-o", "a.xlsx", "--from", "01/01/2026"],
        ["estoque", "-o", "missing/a.xlsx"],
        ["estoque", "-o", "a.xlsx", "--manifest", "missing/m.json"],
        ["estoque", "-o", "a.xlsx", "--branch", "0"],
        ["estoque"],
        ["estoque", "-o", "a.xlsx", "--since-last"],
        ["estoque", "-o", "a.xlsx", "--flat", "parcelas"],
        ["estoque", "-o", "a.xlsx", "--attachments", "files"],
        ["estoque", "-o", "a.xlsx", "--as-template", "cliente"],
        ["clientes", "-o", "a.csv", "--as-template", "cliente"],
        ["clientes", "-o", "a.ods", "--as-template", "cliente"],
        ["pedidos", "-o", "a.csv", "--manifest", "a.parcelas.csv"],
        ["caixabancos", "-o", "a.xlsx", "--account", "1"],
        ["contatos", "-o", "a.xlsx", "--client", "0"],
        ["planejamento", "-o", "a.xlsx", "--month", "13"],
        ["planejamento", "-o", "a.xlsx", "--year", "26"],
        ["pedidos", "-o", "a.xlsx", "--from", "01/01/0001"],
    ],
)
def test_wrong_usage_exits_with_2_before_any_call(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XLBRIDGE_LANG", "en")
    monkeypatch.setenv("XLBRIDGE_BASE_URL", "https://nobody.invalid")
    monkeypatch.setenv("XLBRIDGE_EMAIL", "a@example.com")
    monkeypatch.setenv("XLBRIDGE_PASSWORD", "unused")
    assert main(["export", *arguments]) == 2
    assert "did not answer" not in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("listing", "filters", "empty"),
    [
        ("pedidos", ["--from", ""], "--from"),
        ("pedidos", ["--from", "01/01/2026", "--to", " "], "--to"),
        ("pedidos", ["--branch", ""], "--branch"),
        ("clientes", ["--document", ""], "--document"),
        ("contatos", ["--client", "7", "--client", ""], "--client"),
        ("requisicoes", ["--cost-centre", ""], "--cost-centre"),
    ],
)
def test_an_empty_filter_is_refused(
    tmp_path: Path,
    configured: RunningSandbox,
    capsys: pytest.CaptureFixture[str],
    listing: str,
    filters: list[str],
    empty: str,
) -> None:
    assert main(["export", listing, "-o", str(tmp_path / "a.csv"), *filters]) == 2
    error = capsys.readouterr().err
    assert f"{empty}: the value is empty" in error
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        (["planejamento", "--branch", "abc"], "'abc' is not a code"),
        (["planejamento", "--month", "13"], "from 1 to 12"),
        (["movimentacoes", "--product", "2001-999999999"], "999997999 codes, and 1000000"),
    ],
)
def test_an_invalid_code_is_explained(
    tmp_path: Path,
    configured: RunningSandbox,
    capsys: pytest.CaptureFixture[str],
    filters: list[str],
    message: str,
) -> None:
    assert main(["export", *filters, "-o", str(tmp_path / "a.csv")]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("name", ["estoque", "estoque.2026-03"])
def test_an_explicit_format_needs_no_extension(
    tmp_path: Path, configured: RunningSandbox, name: str
) -> None:
    output = tmp_path / name
    assert main(["export", "estoque", "-o", str(output), "--format", "csv"]) == 0
    assert output.read_text(encoding="utf-8-sig").startswith("codigoDaFilial,")


def test_an_empty_export_is_reported(
    tmp_path: Path, configured: RunningSandbox, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", "pedidos", "-o", str(tmp_path / "p.csv"), "--branch", "99"]) == 0
    assert "Nothing was found" in capsys.readouterr().err


@pytest.mark.parametrize(
    "listing",
    [
        ["pedidos"],
        ["nfse"],
        ["requisicoes-estoque", "--branch", "1"],
        ["requisicoes-estoque-finalizadas", "--branch", "1"],
    ],
    ids=lambda listing: listing[0],
)
def test_a_requested_limit_is_reported_but_not_as_a_gap(
    tmp_path: Path,
    configured: RunningSandbox,
    capsys: pytest.CaptureFixture[str],
    listing: list[str],
) -> None:
    output, manifest = tmp_path / "l.xlsx", tmp_path / "m.json"
    arguments = ["export", *listing, "-o", str(output), "--manifest", str(manifest)]
    assert main([*arguments, "--limit", "2"]) == 0
    document = json.loads(manifest.read_text(encoding="utf-8"))
    assert (document["complete"], document["records"], document["calls"]) == (False, 2, 1)
    assert (document["limited"], document["holes"]) == (True, [])
    assert "--limit" in capsys.readouterr().err
    rows = openpyxl.load_workbook(output)[str(COVER_SHEET)].iter_rows(values_only=True)
    cover = [cell for row in rows for cell in row]
    assert "no" in cover
    assert "Records at most" in cover
    assert main([*arguments, "--limit", "100000"]) == 0
    document = json.loads(manifest.read_text(encoding="utf-8"))
    assert (document["complete"], document["limited"]) == (True, False)


@pytest.mark.parametrize(
    ("arguments", "key", "exists"),
    [
        (["estoque", "--product", "9999", "--product", "2001"], {"id": 9999}, True),
        (["estoque", "--branch", "99"], {"id": 99}, False),
        (["produtos", "--product", "9999"], {"idProduto": 9999}, False),
        (["movimentacoes", "--product", "9999"], {"id": "9999"}, False),
        (["inventario", "--id", "99"], {"idInventario": 99}, False),
        (["inventario-produtos", "--id", "99"], {"idInventario": "99"}, False),
        (["nfe", "--id", "99999999"], {"id": "99999999"}, False),
        (["clientes", "--document", "11222333000181"], {"cnpjcpf": "11222333000181"}, False),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_missing_key_is_reported(
    tmp_path: Path,
    configured: RunningSandbox,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    key: dict[str, object],
    exists: bool,
) -> None:
    output, manifest = tmp_path / "l.csv", tmp_path / "m.json"
    assert main(["export", *arguments, "-o", str(output), "--manifest", str(manifest)]) == 1
    document = json.loads(manifest.read_text(encoding="utf-8"))
    assert document["missing"] == [key]
    assert bool(document["records"]) is exists
    (number,) = key.values()
    lacking, verdict, advice = capsys.readouterr().err.splitlines()[-3:]
    assert lacking == f"Not found: {number}"
    assert verdict.startswith("✗ ")
    assert advice.startswith("Next: check the numbers")


def test_missing_keys_are_reported_in_order(
    tmp_path: Path, configured: RunningSandbox, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["export", "nfe", "--id", "99999999", "--id", "9999999", "--at-once", "1"]
    assert main([*arguments, "-o", str(tmp_path / "n.csv")]) == 1
    assert "Not found: 9999999; 99999999" in capsys.readouterr().err


def test_an_edited_export_is_replaced_only_with_force(
    tmp_path: Path, configured: RunningSandbox, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "m.xlsx"
    export = ["export", "motivos", "-o", str(output)]
    assert main(export) == main(export) == 0
    book = openpyxl.load_workbook(output)
    book.worksheets[1]["A2"] = "a note"
    time.sleep(1.1)  # what tells is the time of the last change, in whole seconds
    book.save(output)
    edited = output.read_bytes()
    capsys.readouterr()
    assert main(export) == 2
    assert "was edited after it was exported" in capsys.readouterr().err
    assert output.read_bytes() == edited
    assert main([*export, "--force"]) == main(export) == 0


def test_a_cover_is_recognised_without_the_properties_of_its_workbook(
    tmp_path: Path, configured: RunningSandbox
) -> None:
    output = tmp_path / "cr.xlsx"
    assert main(["export", "contasreceber", "-o", str(output)]) == 0
    book = openpyxl.load_workbook(output)
    book.custom_doc_props = CustomPropertyList()
    book.save(output)
    request = ValidationRequest(file=output, all_sheets=True)
    found = validate_sheets(request, load_catalogue(), WorkbookLimits())
    assert ([sheet.sheet for sheet in found.sheets], found.skipped) == (book.sheetnames[1:], [])


def test_the_cover_is_in_the_users_language(tmp_path: Path, configured: RunningSandbox) -> None:
    output = tmp_path / "m.xlsx"
    assert main(["export", "contasreceber", "--branch", "1-9", "-o", str(output)]) == 0
    book = openpyxl.load_workbook(output)
    assert book.sheetnames[0] == "Export cover"
    footer = book.worksheets[1].oddFooter
    assert footer.left.text == "contasreceber · Export: Open receivables"
    assert footer.right.text == "&P of &N"
    assert "Branch code" in [cell.value for cell in book.worksheets[0]["A"]]
    rows = [row for row in book.worksheets[0].iter_rows(max_col=3) if row[1].value == "Rows"]
    assert len(rows) >= 3
    (months,) = [row[0].row for row in rows if str(row[0].value).endswith(", by month")]
    assert book.worksheets[0].cell(months, 3).value == "Amount (R$)"
    assert re.fullmatch(r"\d\d/20\d\d", book.worksheets[0].cell(months + 1, 1).value)
    assert {cell.alignment.horizontal for row in rows for cell in row[1:] if cell.value} == {
        "right"
    }
    # A native chart of the amounts beside each total.
    shown = [chart.series[0].val.numRef.f for chart in book.worksheets[0]._charts]
    assert len(shown) >= 3
    (of_months,) = [area for area in shown if area.startswith(f"'Export cover'!$C${months + 1}:")]
    last = int(of_months.rpartition("$")[2])
    assert last > months
    assert book.worksheets[0].cell(last, 1).value != "Total"


@pytest.mark.parametrize("name", LISTINGS)
def test_the_last_update_is_a_date_in_every_listing(name: str) -> None:
    for sheet in LISTINGS[name].sheets:
        kinds = {column.kind for column in sheet.columns if column.name == "ultimaAtualizacao"}
        assert kinds <= {Kind.DATE}


def test_files_without_a_mark_are_replaced_only_with_force(
    tmp_path: Path, configured: RunningSandbox, capsys: pytest.CaptureFixture[str]
) -> None:
    output, child = tmp_path / "y.csv", tmp_path / "y.parcelas.csv"
    child.write_text("mine", encoding="utf-8")
    orders = ["export", "pedidos", "--from", "01/11/2026", "-o", str(output)]
    assert main(orders) == 2
    assert "y.parcelas.csv already exists" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["y.parcelas.csv"]
    assert main([*orders, "--force"]) == 0
    assert child.read_text(encoding="utf-8-sig").startswith("numeroDaParcela,")
    assert main(["export", "motivos", "-o", str(output)]) == 2
    capsys.readouterr()
    assert main(["export", "motivos", "-o", str(output), "--force"]) == 0
    error = capsys.readouterr().err
    assert "y.parcelas.csv does not belong to this export" in error
    assert "y.csv does not belong" not in error


def test_the_manifest_has_the_requested_keys(tmp_path: Path, configured: RunningSandbox) -> None:
    manifest = tmp_path / "m.json"
    arguments = ["export", "contatos", "-o", str(tmp_path / "c.csv"), "--manifest", str(manifest)]
    assert main([*arguments, "--client", "1-101"]) == 0
    windows = json.loads(manifest.read_text(encoding="utf-8"))["windows"]
    assert [window["keys"] for window in windows] == [
        [{"codcontato": "1"}, {"codcontato": "100"}],
        [{"codcontato": "101"}, {"codcontato": "101"}],
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nfe"], "The listing nfe cannot be used with --since-last"),
        (["pedidos", "--from", "01/01/2026"], "--since-last replaces --from"),
    ],
)
def test_since_last_is_refused_with_a_reason(
    tmp_path: Path,
    configured: RunningSandbox,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    assert main(["export", *arguments, "--since-last", "-o", str(tmp_path / "a.csv")]) == 2
    assert message in capsys.readouterr().err


def test_listings_and_their_filters_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["listings", "--format", "json"]) == 0
    output = json.loads(capsys.readouterr().out)["listings"]
    assert [one["listing"] for one in output] == list(LISTINGS)
    assert output[0]["filters"] == ["from", "to", "branch", "limit"]
    assert main(["listings"]) == 0
    assert "--branch" in capsys.readouterr().out


def test_repeated_numbers_in_one_answer_are_reported(tmp_path: Path, xlbridge: Xlbridge) -> None:
    titles = [{"codigoDoExercicio": 2026, "codigoDaFilial": 1, "numeroDaTransacao": number,
               "sequenciaDaTransacao": 1, "valorDoLancamento": amount}
              for number, amount in [(7, 10.5), (8, 1), (7, 99)]]  # fmt: skip
    with fake_system({"/v2/financeiro/contasreceber": titles}) as system:
        environment = system.environment(XLBRIDGE_LANG="pt-BR")
        done = xlbridge(
            "export", "contasreceber", "-o", "cr.xlsx", "--manifest", "m.json", **environment
        )
    assert done.returncode == 0
    assert "Um número veio em mais de um registro" in done.stderr
    assert "confira no sistema: 2026, 1, 7, 1" in done.stderr
    document = json.loads((tmp_path / "m.json").read_text("utf-8"))
    assert (document["records"], document["repeated"], document["replaced"]) == (3, 1, 0)
    cover = openpyxl.load_workbook(tmp_path / "cr.xlsx").worksheets[0]
    assert any("mais de um registro" in str(cell.value) for row in cover for cell in row)
