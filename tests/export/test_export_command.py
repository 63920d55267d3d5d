"""``xlbridge export`` and ``xlbridge listings`` from a script."""

import json
import time
from pathlib import Path

import openpyxl
import pytest
from answering import answering
from environment import Xlbridge

from xlbridge.cli.main import main
from xlbridge.export import LISTINGS
from xlbridge.resources import Kind
from xlbridge.sandbox import RunningSandbox
from xlbridge.workbook import COVER_SHEET


def test_an_export_reports_and_writes_its_manifest(
    tmp_path: Path, configured: RunningSandbox, capsys: pytest.CaptureFixture[str]
) -> None:
    output, manifest = tmp_path / "pedidos.xlsx", tmp_path / "manifest.json"
    arguments = ["--from", "01/03/2026", "--to", "2026-03-31", "--branch", "1"]
    code = main(["export", "pedidos", "-o", str(output), *arguments, "--manifest", str(manifest)])
    told = json.loads(manifest.read_text(encoding="utf-8"))
    assert (code, told["complete"], told["holes"]) == (0, True, [])
    assert set(told) >= {
        "version", "listing", "complete", "records", "sheets", "windows", "holes",
    }  # fmt: skip
    assert told["sheets"]["pedidos"] == told["records"] > 0
    (window,) = told["windows"]
    assert (window["from"], window["to"]) == ("2026-03-01T00:00:00", "2026-03-31T23:59:00")
    captured = capsys.readouterr()
    assert f"{told['records']} records" in captured.out
    assert configured.password not in captured.out + captured.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["manifest.json", "pedidos.xlsx"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["pedidoz", "-o", "a.xlsx"],
        ["pedidos", "-o", "a.ods"],
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
        ["pedidos", "-o", "a.csv", "--manifest", "a.parcelas.csv"],
        ["caixabancos", "-o", "a.xlsx", "--account", "1"],
        ["contatos", "-o", "a.xlsx", "--client", "0"],
        ["planejamento", "-o", "a.xlsx", "--month", "13"],
        ["planejamento", "-o", "a.xlsx", "--year", "26"],
        ["pedidos", "-o", "a.xlsx", "--from", "01/01/0001"],
    ],
)
def test_wrong_usage_ends_with_2_before_any_call(
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
    ("listing", "given", "empty"),
    [
        ("pedidos", ["--from", ""], "--from"),
        ("pedidos", ["--from", "01/01/2026", "--to", " "], "--to"),
        ("pedidos", ["--branch", ""], "--branch"),
        ("clientes", ["--document", ""], "--document"),
        ("contatos", ["--client", "7", "--client", ""], "--client"),
        ("requisicoes", ["--cost-centre", ""], "--cost-centre"),
    ],
)
def test_an_empty_filter_is_named_and_does_not_ask_for_everything(
    tmp_path: Path,
    configured: RunningSandbox,
    capsys: pytest.CaptureFixture[str],
    listing: str,
    given: list[str],
    empty: str,
) -> None:
    assert main(["export", listing, "-o", str(tmp_path / "a.csv"), *given]) == 2
    told = capsys.readouterr().err
    assert f"{empty}: the value is empty" in told
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["planejamento", "--branch", "abc"], "'abc' is not a code"),
        (["planejamento", "--month", "13"], "from 1 to 12"),
        (["movimentacoes", "--product", "2001-999999999"], "999997999 codes, and 1000000"),
    ],
)
def test_a_wrong_code_is_told_in_words(
    tmp_path: Path,
    configured: RunningSandbox,
    capsys: pytest.CaptureFixture[str],
    given: list[str],
    told: str,
) -> None:
    assert main(["export", *given, "-o", str(tmp_path / "a.csv")]) == 2
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("name", ["estoque", "estoque.2026-03"])
def test_the_format_asked_for_needs_no_extension(
    tmp_path: Path, configured: RunningSandbox, name: str
) -> None:
    output = tmp_path / name
    assert main(["export", "estoque", "-o", str(output), "--format", "csv"]) == 0
    assert output.read_text(encoding="utf-8-sig").startswith("codigoDaFilial,")


def test_an_export_of_nothing_says_so(
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
def test_a_limit_that_was_asked_for_is_said_and_no_hole(
    tmp_path: Path,
    configured: RunningSandbox,
    capsys: pytest.CaptureFixture[str],
    listing: list[str],
) -> None:
    output, manifest = tmp_path / "l.xlsx", tmp_path / "m.json"
    asked = ["export", *listing, "-o", str(output), "--manifest", str(manifest)]
    assert main([*asked, "--limit", "2"]) == 0
    told = json.loads(manifest.read_text(encoding="utf-8"))
    assert (told["complete"], told["records"], told["calls"]) == (False, 2, 1)
    assert (told["limited"], told["holes"]) == (True, [])
    assert "--limit" in capsys.readouterr().err
    rows = openpyxl.load_workbook(output)[str(COVER_SHEET)].iter_rows(values_only=True)
    cover = [cell for row in rows for cell in row]
    assert "NO" in cover
    assert "--limit" in cover
    assert main([*asked, "--limit", "100000"]) == 0
    told = json.loads(manifest.read_text(encoding="utf-8"))
    assert (told["complete"], told["limited"]) == (True, False)


@pytest.mark.parametrize(
    ("asked", "key", "there"),
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
def test_a_key_that_is_not_there_is_named(
    tmp_path: Path,
    configured: RunningSandbox,
    capsys: pytest.CaptureFixture[str],
    asked: list[str],
    key: dict[str, object],
    there: bool,
) -> None:
    output, manifest = tmp_path / "l.csv", tmp_path / "m.json"
    assert main(["export", *asked, "-o", str(output), "--manifest", str(manifest)]) == 1
    told = json.loads(manifest.read_text(encoding="utf-8"))
    assert told["missing"] == [key]
    assert bool(told["records"]) is there
    (number,) = key.values()
    lacking, verdict, advice = capsys.readouterr().err.splitlines()[-3:]
    assert lacking == f"Not found: {number}"
    assert verdict.startswith("✗ ")
    assert advice.startswith("Next: check the numbers")


def test_keys_that_are_not_there_are_told_in_order(
    tmp_path: Path, configured: RunningSandbox, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["export", "nfe", "--id", "99999999", "--id", "9999999", "--at-once", "1"]
    assert main([*asked, "-o", str(tmp_path / "n.csv")]) == 1
    assert "Not found: 9999999; 99999999" in capsys.readouterr().err


def test_an_export_that_was_edited_is_not_replaced_unasked(
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


def test_a_cover_speaks_the_users_language(tmp_path: Path, configured: RunningSandbox) -> None:
    output = tmp_path / "m.xlsx"
    assert main(["export", "contasreceber", "-o", str(output)]) == 0
    book = openpyxl.load_workbook(output)
    assert book.sheetnames[0] == "Export cover"
    assert book.worksheets[1].oddFooter.right.text == "&P of &N"
    rows = [row for row in book.worksheets[0].iter_rows(max_col=3) if row[1].value == "Rows"]
    assert len(rows) >= 3
    assert {cell.alignment.horizontal for row in rows for cell in row[1:] if cell.value} == {
        "right"
    }


@pytest.mark.parametrize("name", LISTINGS)
def test_the_last_update_is_a_date_everywhere(name: str) -> None:
    for sheet in LISTINGS[name].sheets:
        kinds = {column.kind for column in sheet.columns if column.name == "ultimaAtualizacao"}
        assert kinds <= {Kind.DATE}


def test_files_that_no_mark_is_in_are_not_replaced_unasked(
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
    told = capsys.readouterr().err
    assert "y.parcelas.csv does not belong to this export" in told
    assert "y.csv does not belong" not in told


def test_the_manifest_names_the_keys_that_were_asked_for(
    tmp_path: Path, configured: RunningSandbox
) -> None:
    manifest = tmp_path / "m.json"
    asked = ["export", "contatos", "-o", str(tmp_path / "c.csv"), "--manifest", str(manifest)]
    assert main([*asked, "--client", "1-150"]) == 0
    windows = json.loads(manifest.read_text(encoding="utf-8"))["windows"]
    assert [window["keys"] for window in windows] == [
        [{"codcontato": "1"}, {"codcontato": "100"}],
        [{"codcontato": "101"}, {"codcontato": "150"}],
    ]


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (["nfe"], "The listing nfe cannot be used with --since-last"),
        (["pedidos", "--from", "01/01/2026"], "--since-last replaces --from"),
    ],
)
def test_where_an_export_cannot_go_on_the_reason_is_told(
    tmp_path: Path,
    configured: RunningSandbox,
    capsys: pytest.CaptureFixture[str],
    asked: list[str],
    told: str,
) -> None:
    assert main(["export", *asked, "--since-last", "-o", str(tmp_path / "a.csv")]) == 2
    assert told in capsys.readouterr().err


def test_listings_say_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["listings", "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)["listings"]
    assert [one["listing"] for one in told] == list(LISTINGS)
    assert told[0]["filters"] == ["from", "to", "branch", "limit"]
    assert main(["listings"]) == 0
    assert "--branch" in capsys.readouterr().out


def test_records_of_one_number_in_one_answer_are_told(tmp_path: Path, xlbridge: Xlbridge) -> None:
    titles = [{"codigoDoExercicio": 2026, "codigoDaFilial": 1, "numeroDaTransacao": number,
               "sequenciaDaTransacao": 1, "valorDoLancamento": amount}
              for number, amount in [(7, 10.5), (8, 1), (7, 99)]]  # fmt: skip
    with answering({"/v2/financeiro/contasreceber": titles}) as system:
        whom = system.environment(XLBRIDGE_LANG="pt-BR")
        done = xlbridge("export", "contasreceber", "-o", "cr.xlsx", "--manifest", "m.json", **whom)
    assert done.returncode == 0
    assert "Um número veio em mais de um registro" in done.stderr
    assert "confira no sistema: 2026, 1, 7, 1" in done.stderr
    told = json.loads((tmp_path / "m.json").read_text("utf-8"))
    assert (told["records"], told["repeated"], told["replaced"]) == (3, 1, 0)
    cover = openpyxl.load_workbook(tmp_path / "cr.xlsx").worksheets[0]
    assert any("mais de um registro" in str(cell.value) for row in cover for cell in row)
