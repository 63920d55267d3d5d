"""Records that no single call lists: several accounts or branches, import logs."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from environment import ROOT, Xlbridge, clean_environment, credentials
from fake_system import fake_system
from sandboxes import sandbox_process

import xlbridge as xb
from xlbridge.sandbox import RunningSandbox


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as stream:
        return list(csv.DictReader(stream))


def statement(query: dict[str, list[str]]) -> dict[str, Any]:
    account = int(query["codigoDaContaCorrente"][0])
    line = {"codigoDoExercicio": 2026, "numeroDaTransacao": 1, "sequenciaDaTransacao": 1}
    line |= {"data": "2026-10-31T10:00:00"}
    return {"codigoDaContaCorrente": account, "saldoFinal": account, "lancamentos": [line]}


def title(number: int, account: object) -> dict[str, Any]:
    return {
        "codigoDoExercicio": 2026,
        "codigoDaFilial": 1,
        "numeroDaTransacao": number,
        "sequenciaDaTransacao": 1,
        "codigoDaContaCorrente": account,
    }


CASH = {
    "/v2/financeiro/caixabancos": statement,
    "/v2/financeiro/contasreceber": [title(1, 3), title(2, None)],
    "/v2/financeiro/contasreceber/baixados": [title(3, 1)],
    "/v2/financeiro/contaspagar": [title(4, 3)],
    "/v2/financeiro/contaspagar/baixados": [],
}
PERIOD = ["--from", "01/10/2026", "--to", "31/10/2026"]


@pytest.mark.parametrize(
    ("filters", "accounts", "code"),
    [(["--account", "2", "--account", "5-6"], ["2", "5", "6"], 0), ([], ["1", "3"], 1)],
)
def test_statements_of_several_accounts_are_exported_in_one_run(
    tmp_path: Path, xlbridge: Xlbridge, filters: list[str], accounts: list[str], code: int
) -> None:
    output, manifest = tmp_path / "cb.csv", tmp_path / "cb.json"
    with fake_system(CASH) as system:
        options = ["-o", output, "--manifest", manifest, *PERIOD, *filters]
        done = xlbridge("export", "caixabancos", *options, **system.environment())
    assert done.returncode == code, done.stderr
    assert [row["codigoDaContaCorrente"] for row in rows_of(output)] == accounts
    lines = rows_of(tmp_path / "cb.lancamentos.csv")
    assert [row["codigoDaContaCorrente"] for row in lines] == accounts
    document = json.loads(manifest.read_text("utf-8"))
    assert document["complete"] is (code == 0)
    assert document["seen"] == ({} if filters else {"account": [1, 3]})
    assert ("--account" in done.stderr) is (code == 1)


def test_accounts_that_are_not_codes_are_reported(tmp_path: Path, xlbridge: Xlbridge) -> None:
    odd = CASH | {"/v2/financeiro/contaspagar": [title(4, "1e999999999")]}
    with fake_system(odd) as system:
        options = ["-o", tmp_path / "cb.csv", *PERIOD]
        done = xlbridge("export", "caixabancos", *options, **system.environment())
    assert (done.returncode, "1e999999999" in done.stderr) == (4, True)


def test_requisitions_of_several_branches_keep_their_branch(
    tmp_path: Path, xlbridge: Xlbridge
) -> None:
    def requisitions(query: dict[str, list[str]]) -> list[dict[str, Any]]:
        # The same number in two branches, and no branch in the record: neither is promised.
        return [{"numeroDaRequisicao": 1, "itens": [{"seq": 1}]}]

    balances = [{"codigoDaFilial": branch, "idProd": 1} for branch in (2, 1, 2)]
    output = tmp_path / "r.csv"
    answers = {"/v2/estoque/requisicao/pendentes": requisitions, "/v2/estoque": balances}
    with fake_system(answers) as system:
        environment = system.environment()
        arguments = ["export", "requisicoes-estoque", "-o", output, "--force"]
        with_branches = xlbridge(*arguments, "--branch", "1", "--branch", "4", **environment)
        assert with_branches.returncode == 0, with_branches.stderr
        assert [row["codigoDaFilial"] for row in rows_of(output)] == ["1", "4"]
        items = rows_of(tmp_path / "r.itens.csv")
        assert [(row["codigoDaFilial"], row["numeroDaRequisicao"]) for row in items] == [
            ("1", "1"),
            ("4", "1"),
        ]
        without_branches = xlbridge(*arguments, **environment)
    assert without_branches.returncode == 1
    assert "1, 2" in without_branches.stderr
    advice = "Next: the same command with --branch and all values that exist."
    assert without_branches.stderr.splitlines()[-1] == advice
    assert "Next:" not in with_branches.stderr
    assert [row["codigoDaFilial"] for row in rows_of(output)] == ["1", "2"]


@pytest.fixture
def own_sandbox(tmp_path: Path) -> Iterator[RunningSandbox]:
    environment = clean_environment(tmp_path)
    with sandbox_process(tmp_path / "sandbox", (), environment, few=True) as running:
        yield running


def test_import_logs_are_exported_by_id_or_from_the_journal(
    tmp_path: Path,
    own_sandbox: RunningSandbox,
    xlbridge: Xlbridge,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    environment = credentials(own_sandbox, XLBRIDGE_HOME=str(tmp_path / "home"))
    output, manifest = tmp_path / "l.csv", tmp_path / "l.json"
    arguments = ["export", "importacao", "-o", output, "--manifest", manifest, "--force"]
    nothing = xlbridge(*arguments, **environment)
    assert nothing.returncode == 1
    assert rows_of(output) == []
    sheet = ROOT / "samples" / "contasreceber.xlsx"
    sent = xlbridge("upload", sheet, "--mode", "queue", "--yes", "--format", "json", **environment)
    log = json.loads(sent.stdout)["log_id"]
    renamed = {**environment, "XLBRIDGE_PROFILE": "the system by another name"}
    assert xlbridge(*arguments, **renamed).returncode == 1
    document = json.loads(manifest.read_text("utf-8"))
    assert (document["seen"], document["complete"]) == ({"id": [log]}, False)
    assert [row["id"] for row in rows_of(output)] == [str(log)]
    assert xlbridge(*arguments, "--id", str(log), **environment).returncode == 0
    assert json.loads(manifest.read_text("utf-8"))["complete"]
    assert xlbridge(*arguments, "--id", "999999", **environment).returncode == 1
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with xb.connect() as erp:
        assert list(erp.export("importacao").frames["importacao"]["id"]) == [log]


def test_records_without_a_number_are_not_merged(tmp_path: Path, xlbridge: Xlbridge) -> None:
    def invoices(query: dict[str, list[str]]) -> list[dict[str, Any]]:
        until = query.get("dataSuperior", ["31/12/2026"])[0]
        return [{"codigoDaFilial": 1, "ultimaAtualizacao": f"{until[6:10]}-{until[3:5]}-01"}]

    output, manifest = tmp_path / "n.csv", tmp_path / "n.json"
    with fake_system({"/v2/faturamento/nfse": invoices}) as system:
        options = ["-o", output, "--manifest", manifest]
        done = xlbridge("export", "nfse", *options, **system.environment())
    assert done.returncode == 0, done.stderr
    document = json.loads(manifest.read_text("utf-8"))
    assert len(rows_of(output)) == document["records"] == len(document["windows"]) > 1
    assert document["replaced"] == 0


def test_an_answer_without_record_fields_is_refused(tmp_path: Path, xlbridge: Xlbridge) -> None:
    with fake_system({"/v2/faturamento/pedido": {"notifications": [{"key": "k"}]}}) as system:
        environment = system.environment()
        done = xlbridge("export", "pedidos", "-o", tmp_path / "p.csv", **environment)
    assert done.returncode == 1
    assert 'Rejected by the system (status 200): {"key": "k"}' in done.stderr
    assert not (tmp_path / "p.csv").exists()
