"""Fields that the system does not take are told, once per column, and are not called done."""

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from environment import Xlbridge
from lossy_proxy import LossyProxy, ProxyFault
from openpyxl import load_workbook
from sheets import GOOD, data_sheet, edit, write_records, write_workbook
from update_parts import Run
from upload_parts import new_cnpj

from xlbridge.client import Client


def with_value(column: str, value: object) -> Callable[[str, Any], Any]:
    """Return a change of answers: a field of listed records has another value."""

    def reshape(_path: str, data: Any) -> Any:
        for record in data if isinstance(data, list) else [data]:
            if isinstance(record, dict) and column in record:
                record[column] = value
        return data

    return reshape


def make_payables(path: Path) -> Path:
    document = new_cnpj()
    rows = [
        {
            "numeroDoDocumento": f"{document}-{n}",
            "dataDeVencimento": date(2026, 12, 10),
            "historico": f"Energia {n}",
        }
        for n in range(12)
    ]
    return write_records(path, "contaspagar", rows)


@pytest.mark.parametrize("mode", ["direct", "queue", "records"])
def test_a_field_that_comes_back_empty_is_an_error_of_the_upload(
    proxy: LossyProxy, run: Run, tmp_path: Path, mode: str
) -> None:
    proxy.reshape = with_value("historico", None)
    code, report = run("upload", make_payables(tmp_path / "cp.xlsx"), "--mode", mode, "--yes")
    assert (code, report["state"], report["rows"]["accepted"]) == (1, "partial", 12), report
    (lost,) = report["lost_fields"]
    assert (lost["column"], lost["sent"], lost["stored"]) == ("historico", "Energia 0", None)
    assert lost["rows"] == list(range(2, 14))
    code, again = run("jobs", report["job"])
    assert (again["state"], again["lost_fields"]) == ("partial", [lost])


def test_a_field_that_comes_back_different_is_told(
    proxy: LossyProxy, run: Run, tmp_path: Path
) -> None:
    proxy.reshape = with_value("historico", "ENERGIA")
    code, report = run("upload", make_payables(tmp_path / "cp.xlsx"), "--yes")
    assert (code, report["state"]) == (0, "done"), report
    (lost,) = report["lost_fields"]
    assert (lost["column"], lost["stored"]) == ("historico", "ENERGIA")


def test_only_a_few_rows_are_read_back_where_no_undo_needs_them(
    proxy: LossyProxy, run: Run, tmp_path: Path, xlbridge, proxy_environment: dict[str, str]
) -> None:
    rows = [{"cnpj": new_cnpj(), "nomeComercial": f"Cliente {n}"} for n in range(20)]
    path = write_records(tmp_path / "clientes.xlsx", "cliente", rows)
    proxy.reshape = with_value("nomeComercial", None)
    code, report = run("upload", path, "--yes")
    assert (code, report["state"]) == (1, "partial"), report
    lost = {field["column"]: field["rows"] for field in report["lost_fields"]}
    assert lost == {"nomeComercial": [2, 3, 4]}
    text = xlbridge("jobs", report["job"], "--lang", "en", **proxy_environment).stdout
    assert "nomeComercial: sent “Cliente 0”, the system has no value (rows 2, 3, 4)" in text


def test_a_change_that_leaves_the_value_before_is_an_error_of_the_upload(
    proxy: LossyProxy, run: Run, payables: Path
) -> None:
    edit(payables, "historico", 3, "Água")

    def keep(_path: str, data: Any) -> Any:
        for record in data if isinstance(data, list) else [data]:
            if isinstance(record, dict) and record.get("historico") == "Água":
                record["historico"] = "Energia 1"
        return data

    proxy.reshape = keep
    code, report = run("upload", payables, "--update", "--yes")
    assert (code, report["state"], report["rows"]["updated"]) == (1, "partial", 1), report
    (lost,) = report["lost_fields"]
    assert (lost["column"], lost["sent"], lost["stored"]) == ("historico", "Água", "Energia 1")
    assert (lost["rows"], lost["kept"]) == ([3], True)


def test_a_field_that_the_answer_to_a_write_shows_empty_is_an_error_of_the_upload(
    proxy: LossyProxy, run: Run, tmp_path: Path
) -> None:
    """Outputs have no read: only the answers to their creation show what became of them."""
    rows = [{"observacao": f"Obra {n}", "documento": None} for n in range(2)]
    path = write_records(tmp_path / "saidas.xlsx", "saida", rows)
    proxy.reshape = with_value("observacao", None)
    code, report = run("upload", path, "--yes")
    assert (code, report["state"], report["rows"]["accepted"]) == (1, "partial", 2), report
    (lost,) = report["lost_fields"]
    assert (lost["column"], lost["stored"], lost["rows"]) == ("observacao", None, [2, 3])


def test_a_value_of_another_type_is_told_and_the_upload_ends(
    proxy: LossyProxy, run: Run, tmp_path: Path
) -> None:
    """A date that came back as a list was a defect, which left the upload unfinished for ever."""
    row = {
        "numeroDoDocumento": new_cnpj(),
        "dataDeVencimento": date(2026, 12, 10),
        "dataDeEmissao": date(2026, 12, 1),
    }
    proxy.reshape = with_value("dataDeEmissao", [{}])
    path = write_records(tmp_path / "cp.xlsx", "contaspagar", [row])
    code, report = run("upload", path, "--yes")
    assert (code, report["state"], report["uncompared"]) == (0, "done", None), report
    (lost,) = report["lost_fields"]
    assert (lost["column"], lost["stored"]) == ("dataDeEmissao", "[{}]")


def test_records_that_the_system_does_not_show_any_more_are_told_as_not_compared(
    proxy: LossyProxy, run: Run, xlbridge: Xlbridge, proxy_environment: dict[str, str],
    tmp_path: Path,
) -> None:  # fmt: skip
    path = make_payables(tmp_path / "cp.xlsx")

    def decide(method: str, path: str) -> ProxyFault:
        sent = any(m == "POST" and "preview=false" in p for m, p in proxy.seen)
        return "html" if sent and method == "GET" and "contaspagar" in path else "pass"

    proxy.decide = decide
    code, report = run("upload", path, "--yes", "--mode", "direct")
    assert (code, report["state"], report["rows"]["accepted"]) == (1, "partial", 12), report
    assert report["uncompared"]
    text = xlbridge("jobs", report["job"], "--lang", "en", **proxy_environment).stdout
    assert "--update compares again" in text
    proxy.decide = lambda _method, _path: "pass"
    code, again = run("upload", path, "--update", "--yes")
    assert (code, again["rows"]["unchanged"]) == (0, 12), again


@pytest.fixture
def kill_before_comparison(
    proxy: LossyProxy, run: Run, kill_while_writing: Callable[..., None], tmp_path: Path
) -> Callable[[str], tuple[str, Path]]:
    """Kill an upload when it reads back what it has written; return its job and its workbook."""

    def kill(mode: str) -> tuple[str, Path]:
        first, second = make_payables(tmp_path / "1.xlsx"), make_payables(tmp_path / "2.xlsx")
        run("upload", first, "--mode", mode, "--yes")
        last = max(at for at, (method, _) in enumerate(proxy.seen) if method == "POST")
        before = proxy.seen[:last]
        kill_while_writing(
            "GET",
            ["upload", str(second), "--mode", mode, "--yes"],
            committed=False,
            is_committed=lambda: True,
            path_part="/contaspagar",
            after=sum(method == "GET" and "/contaspagar" in path for method, path in before),
        )
        (killed, *_) = run("jobs")[1]["jobs"]
        assert killed["state"] == "processing", killed
        return killed["job"], second

    return kill


@pytest.mark.parametrize("mode", ["direct", "queue", "records"])
def test_an_upload_killed_before_its_comparison_is_compared_when_it_is_resumed(
    proxy: LossyProxy, run: Run, xlbridge: Xlbridge, proxy_environment: dict[str, str],
    kill_before_comparison: Callable[[str], tuple[str, Path]], mode: str,
) -> None:  # fmt: skip
    proxy.reshape = with_value("historico", None)
    job, _ = kill_before_comparison(mode)
    decision = ("resolve", job, "--as", "not-applied", "--reason", "Conferido")
    refused = xlbridge(*decision, **proxy_environment)
    assert (refused.returncode, f"xlbridge resume {job}" in refused.stderr) == (2, True)
    code, report = run("resume", job)
    assert (code, report["state"], report["rows"]["accepted"]) == (1, "partial", 12), report
    assert [lost["column"] for lost in report["lost_fields"]] == ["historico"]


def test_an_upload_whose_rows_are_lost_before_its_comparison_ends_when_it_is_resumed(
    run: Run, home: Path, kill_before_comparison: Callable[[str], tuple[str, Path]]
) -> None:
    job, _ = kill_before_comparison("direct")
    for payload in (home / "payloads").iterdir():
        payload.unlink()
    code, report = run("resume", job)
    assert (code, report["state"], report["rows"]["accepted"]) == (1, "partial", 12), report
    assert report["uncompared"]


def test_an_undo_leaves_what_a_colleague_changed_before_a_late_comparison(
    run: Run, colleague: Run, kill_before_comparison: Callable[[str], tuple[str, Path]]
) -> None:
    job, path = kill_before_comparison("direct")
    book = load_workbook(path)
    sheet = data_sheet(book)
    sheet.cell(1, sheet.max_column + 1).value = "dataDeEmissao"
    sheet.cell(3, sheet.max_column).value = date(2026, 10, 1)
    book.save(path)
    code, changed = colleague("upload", path, "--update", "--yes")
    assert (code, changed["rows"]["updated"]) == (0, 1), changed
    code, report = run("resume", job)
    assert (code, report["state"], report["rows"]["accepted"]) == (0, "done", 12), report
    code, undone = run("undo", job, "--yes")
    assert (code, undone["rows"]) == (1, {"read": 12, "undone": 11, "left": 1, "unknown": 0})


@pytest.fixture
def split_payables(client: Client, tmp_path: Path) -> Path:
    """Workbook of four payables, each with a split in two parts."""
    supplier = client.registry.suppliers.create(nomeComercial="Fornecedor do rateio")
    documents = [new_cnpj() for _ in range(4)]
    rows = [
        {
            "chave": document,
            "numeroDoDocumento": document,
            "codigoDoFornecedor": int(supplier.codigoDoFornecedor or 0),
            "valorDoLancamento": 100,
            "dataDeVencimento": date(2026, 12, 10),
        }
        for document in documents
    ]
    parts = [
        {"chave": document, "valor": valor, "codigoDoCentroDeCusto": centre}
        for document in documents
        for valor, centre in ((60, "01.001"), (40, "01.002"))
    ]
    path = tmp_path / "cp.xlsx"
    write_workbook(path, contaspagar=[GOOD["contaspagar"] | row for row in rows], rateio=parts)
    return path


def with_item(name: str, column: str, value: str | None) -> Callable[[str, Any], Any]:
    """Return a change of answers: a field has another value in the last item of each list."""

    def reshape(_path: str, data: Any) -> Any:
        for record in data if isinstance(data, list) else [data]:
            if isinstance(record, dict) and record.get(name):
                record[name][-1][column] = value
        return data

    return reshape


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (None, "✗ rateio!C3 (codigoDoCentroDeCusto): sent “01.002”, the system has no value"),
        ("01.009", "• rateio!C3 (codigoDoCentroDeCusto): sent “01.002”, the system has “01.009”"),
    ],
)
def test_a_field_of_an_item_that_comes_back_otherwise_is_told_once_with_its_cell(
    proxy: LossyProxy, run: Run, xlbridge: Xlbridge, proxy_environment: dict[str, str],
    split_payables: Path, value: str | None, told: str,
) -> None:  # fmt: skip
    proxy.reshape = with_item("rateio", "codigoDoCentroDeCusto", value)
    code, report = run("upload", split_payables, "--yes")
    assert (code, report["rows"]["accepted"]) == (int(value is None), 4), report
    (lost,) = report["lost_fields"]
    assert (lost["column"], lost["sent"]) == ("rateio.codigoDoCentroDeCusto", "01.002")
    assert (lost["stored"], lost["rows"], lost["cell"]) == (value, [2, 3, 4, 5], "rateio!C3")
    text = xlbridge("jobs", report["job"], "--lang", "en", **proxy_environment).stdout
    assert told in text


@pytest.mark.parametrize(
    ("missing", "unseen"),
    [
        ("rateio", ["rateio.codigoDoCentroDeCusto", "rateio.valor"]),
        ("codigoDoCentroDeCusto", ["rateio.codigoDoCentroDeCusto"]),
    ],
)
def test_fields_of_a_split_that_nothing_shows_are_told(
    proxy: LossyProxy, run: Run, xlbridge: Xlbridge, proxy_environment: dict[str, str],
    tmp_path: Path, split_payables: Path, missing: str, unseen: list[str],
) -> None:  # fmt: skip
    """The description does not name them: the system may expect other names, or ignore them."""

    def leave_out(_path: str, data: Any) -> Any:
        for record in data if isinstance(data, list) else [data]:
            if isinstance(record, dict):
                for one in (record, *record.get("rateio", ())):
                    one.pop(missing, None)
        return data

    proxy.reshape = leave_out
    code, report = run("upload", split_payables, "--yes")
    told = (report["state"], report["unseen_fields"], report["lost_fields"])
    assert (code, *told) == (1, "partial", unseen, []), report
    page = tmp_path / "report.html"
    for arguments in ((), ("-o", page)):
        shown = xlbridge("jobs", report["job"], *arguments, "--lang", "en", **proxy_environment)
        said = page.read_text("utf-8") if arguments else shown.stdout
        assert f"has stored {'it' if len(unseen) == 1 else 'them'}: {', '.join(unseen)}." in said
        assert "declare the spelling in which they were sent under spellings" in said


def test_a_sound_system_loses_nothing(run: Run, tmp_path: Path) -> None:
    code, report = run("upload", make_payables(tmp_path / "cp.xlsx"), "--yes")
    assert (code, report["state"], report["lost_fields"]) == (0, "done", []), json.dumps(report)
