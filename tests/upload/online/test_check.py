"""The online check of a sheet queries a real server in bulk, and each value once."""

import json
import socket
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from environment import ROOT, Xlbridge, credentials
from sandboxes import create_database
from sheets import GOOD, write_records, write_rows
from stdnum.br import cnpj

from xlbridge.client import Client, Record, RetryPolicy, Target
from xlbridge.errors import TransportError
from xlbridge.resources import Catalogue
from xlbridge.sandbox import RunningSandbox
from xlbridge.upload.lookup import OnlineCheck
from xlbridge.validation import ValidatedSheet, validate_workbook
from xlbridge.validation.mapping import read_mapping
from xlbridge.wire import Operation
from xlbridge.wire.financial import RECEIVABLE_LIST_OPEN
from xlbridge.wire.registry import CLIENT_LIST

INACTIVE, NOBODY = 1032, 999_999


class CountingClient(Client):
    """Client that records the operations it is called with."""

    def records(self, operation: Operation, **arguments: Any) -> Iterator[Record]:
        self.calls = getattr(self, "calls", Counter())
        self.calls[operation.name] += 1
        return super().records(operation, **arguments)


@pytest.fixture
def counting_client(client: Client) -> Iterator[CountingClient]:
    with CountingClient(client.target, timeout=20) as opened:
        yield opened


def validated(
    tmp_path: Path, catalogue: Catalogue, resource: str, *changes: Mapping[str, Any]
) -> ValidatedSheet:
    path = write_records(tmp_path / "sheet.xlsx", resource, changes)
    sheet = validate_workbook(path, catalogue, resource=resource)
    assert sheet.ok, sheet.findings
    return sheet


def finding_codes(sheet: ValidatedSheet) -> list[tuple[str | None, str]]:
    return [(f.cell, f.kind.code) for f in sheet.findings]


def registered_cnpjs(client: Client) -> list[str]:
    found = (str(record.get("cnpjcpf")) for record in client.records(CLIENT_LIST))
    return [document for document in found if len(document) == 14]


def test_unknown_and_inactive_codes_are_reported(
    tmp_path: Path, catalogue: Catalogue, client: Client
) -> None:
    sheet = validated(
        tmp_path,
        catalogue,
        "contasreceber",
        {"numeroDoDocumento": "NUNCA-1"},
        {"codigoDoCliente": NOBODY},
        {"codigoDoCliente": INACTIVE},
        {"codigoDaFilial": 77},
        {"codigoDoCentroDeCusto": "99.999"},
    )
    OnlineCheck(client).add_findings(sheet)
    assert finding_codes(sheet) == [
        ("B3", "reference-unknown"),
        ("B4", "reference-inactive"),
        ("A5", "reference-unknown"),
        ("D6", "reference-unknown"),
    ]
    assert sheet.findings[0].value == str(NOBODY)


def test_a_code_registered_by_another_sheet_is_not_unknown(
    tmp_path: Path, catalogue: Catalogue, client: Client
) -> None:
    changes = [
        {"numeroDoDocumento": "NUNCA-1"},
        {"codigoDoCentroDeCusto": "99.999"},
        {"codigoDoCentroDeCusto": "88.888"},
        {"codigoDoCliente": INACTIVE},
    ]
    sheet = validated(tmp_path, catalogue, "contasreceber", *changes)
    supplied = {"centro-de-custo": {"99.999"}, "cliente": {str(INACTIVE)}}
    OnlineCheck(client).add_findings(sheet, supplied)
    assert finding_codes(sheet) == [("D4", "reference-unknown"), ("B5", "reference-inactive")]


def test_a_registry_beyond_the_cap_is_fetched_completely_and_once(
    tmp_path: Path, catalogue: Catalogue, counting_client: CountingClient
) -> None:
    last = max(r["codigoDoCliente"] for r in counting_client.records(CLIENT_LIST))
    counting_client.calls.clear()
    many = [{"codigoDoCliente": code} for code in range(1001, 1301) if code != INACTIVE]
    sheet = validated(tmp_path, catalogue, "contasreceber", *many)
    check = OnlineCheck(counting_client)
    check.add_findings(sheet)
    unknown = [f for f in sheet.findings if f.kind.code == "reference-unknown"]
    assert unknown == []
    assert last < 1_000_000
    requests = counting_client.calls["registry.clients.list"]
    assert 3 < requests < 100
    assert counting_client.calls["stock.balances.of_branch"] == 1
    assert counting_client.calls["registry.cost_centres.list"] == 1
    check.add_findings(validated(tmp_path, catalogue, "contasreceber", *many))
    assert counting_client.calls["registry.clients.list"] == requests
    assert counting_client.calls["stock.balances.of_branch"] == 1


def test_an_already_registered_client_is_reported(
    tmp_path: Path, catalogue: Catalogue, client: Client
) -> None:
    known = registered_cnpjs(client)[0]
    sheet = validated(tmp_path, catalogue, "cliente", {}, {"cnpj": known})
    OnlineCheck(client).add_findings(sheet)
    assert finding_codes(sheet) == [("C3", "already-registered")]
    assert not sheet.ok


def test_many_documents_are_looked_up_in_bulk(
    tmp_path: Path, catalogue: Catalogue, counting_client: CountingClient
) -> None:
    known = registered_cnpjs(counting_client)[:5]
    counting_client.calls.clear()
    new = [f"{n:08d}0001" for n in range(70_000_000, 70_000_200)]
    rows = [{"cnpj": base + cnpj.calc_check_digits(base)} for base in new]
    rows += [{"cnpj": document} for document in known]
    sheet = validated(tmp_path, catalogue, "cliente", *rows)
    OnlineCheck(counting_client).add_findings(sheet)
    assert [code for _, code in finding_codes(sheet)] == ["already-registered"] * len(known)
    assert counting_client.calls["registry.clients.list"] < len(rows) / 2


def test_many_titles_with_identifiers_are_looked_up_in_listings(
    tmp_path: Path, catalogue: Catalogue, counting_client: CountingClient
) -> None:
    titles = counting_client.records(RECEIVABLE_LIST_OPEN)
    known = [str(title["idws"]) for title in titles if title.get("idws")][:100]
    new = [f"NOVO-{number}" for number in range(600)]
    assert len(known) == 100
    counting_client.calls.clear()
    sheet = validated(tmp_path, catalogue, "contasreceber", *[{"idws": w} for w in (*new, *known)])
    OnlineCheck(counting_client).add_findings(sheet)
    assert [code for _, code in finding_codes(sheet)] == ["record-exists"] * len(known)
    assert counting_client.calls["financial.receivables.find"] == 0
    assert counting_client.calls["financial.receivables.list_open"] == 1
    assert counting_client.calls["financial.receivables.list_settled"] == 1


def test_records_beyond_the_request_limit_are_reported_as_not_looked_up(
    tmp_path: Path, catalogue: Catalogue, counting_client: CountingClient
) -> None:
    new = [f"{n:08d}0001" for n in range(70_000_000, 70_000_060)]
    rows = [{"cnpj": base + cnpj.calc_check_digits(base)} for base in new]
    sheet = validated(tmp_path, catalogue, "cliente", {}, *rows)
    OnlineCheck(counting_client, most_requests=1).add_findings(sheet)
    [finding] = sheet.findings
    assert (finding.row, finding.cell, finding.kind.code) == (1, None, "records-not-looked-up")
    assert "61" in str(finding.message)
    assert sheet.ok
    assert counting_client.calls["registry.clients.list"] < 20


def test_codes_beyond_the_request_limit_are_reported_as_not_looked_up(
    tmp_path: Path, catalogue: Catalogue, counting_client: CountingClient
) -> None:
    branches = [{"codigoDaFilial": code} for code in range(5_000, 5_090)]
    sheet = validated(tmp_path, catalogue, "contasreceber", *branches)
    check = OnlineCheck(counting_client, most_requests=60)
    check.add_findings(sheet)
    found = Counter(code for _, code in finding_codes(sheet))
    assert found == {"reference-unknown": 60, "references-not-looked-up": 1}
    assert (sheet.findings[0].column, sheet.findings[0].cell) == ("codigoDaFilial", None)
    assert "30" in str(sheet.findings[0].message)
    assert counting_client.calls["stock.balances.of_branch"] == 60
    again = validated(tmp_path, catalogue, "contasreceber", *branches)
    check.add_findings(again)
    assert finding_codes(again) == finding_codes(sheet)
    assert counting_client.calls["stock.balances.of_branch"] == 60


def test_a_title_with_the_same_document_is_a_warning(
    tmp_path: Path, catalogue: Catalogue, client: Client
) -> None:
    title = {"codigoDoCliente": 1001, "numeroDoDocumento": "ONLINE-1"}
    due = GOOD["contasreceber"]["dataDeVencimento"]
    body = {**GOOD["contasreceber"], "historico": "Outro"}
    body |= {"dataDeEmissao": None, "dataDeVencimento": due.isoformat()}
    sent = client.raw("POST", "/v2/financeiro/contasreceber", body={**body, **title})
    assert sent.is_success
    sheet = validated(tmp_path, catalogue, "contasreceber", title)
    OnlineCheck(client).add_findings(sheet)
    [finding] = sheet.findings
    assert (finding.kind.code, sheet.ok) == ("record-exists", True)
    assert "the row waits for you" in str(finding.message)


def test_findings_on_mapped_values_show_the_values_of_the_sheet(
    tmp_path: Path, catalogue: Catalogue, client: Client
) -> None:
    values: dict[str, Any] = {**GOOD["contasreceber"], "numeroDoDocumento": "ONLINE-MAPPED"}
    due = values["dataDeVencimento"].isoformat()
    sent = client.raw(
        "POST",
        "/v2/financeiro/contasreceber",
        body={**values, "dataDeEmissao": None, "dataDeVencimento": due},
    )
    assert sent.is_success, sent.text
    mapped = {name: value for name, value in values.items() if name != "codigoDaFilial"}
    header = ["Loja", *mapped]
    columns: dict[str, Any] = {name: {"from": name} for name in mapped}
    columns["codigoDaFilial"] = {
        "from": "Loja",
        "values": {"Matriz São Paulo": values["codigoDaFilial"], "Fechada": 999},
    }
    content = {"version": 1, "resource": "contasreceber", "header": header, "columns": columns}
    mapping = tmp_path / "m.yaml"
    mapping.write_text(json.dumps(content, ensure_ascii=False), "utf-8")
    rows = [[shop, *mapped.values()] for shop in ("Matriz São Paulo", "Fechada")]
    path = write_rows(tmp_path / "a.xlsx", header, rows)
    sheet = validate_workbook(path, catalogue, mapping=read_mapping(mapping))
    assert sheet.ok, sheet.findings
    OnlineCheck(client).add_findings(sheet)
    assert {(f.cell, f.kind.code, f.value, f.header) for f in sheet.findings} == {
        ("A2", "record-exists", "Matriz São Paulo", "Loja"),
        ("A3", "reference-unknown", "Fechada", "Loja"),
    }


def test_invalid_values_are_not_looked_up(
    tmp_path: Path, catalogue: Catalogue, counting_client: CountingClient
) -> None:
    path = write_records(tmp_path / "s.xlsx", "contasreceber", [{"codigoDaFilial": -1}])
    sheet = validate_workbook(path, catalogue, resource="contasreceber")
    before = finding_codes(sheet)
    OnlineCheck(counting_client).add_findings(sheet)
    assert finding_codes(sheet) == before == [("A2", "value-range")]
    assert "stock.balances.of_branch" not in counting_client.calls


def test_a_failed_online_check_adds_no_findings(tmp_path: Path, catalogue: Catalogue) -> None:
    path = write_records(tmp_path / "s.xlsx", "contasreceber", [{"codigoDaFilial": -1}, {}])
    sheet = validate_workbook(path, catalogue, resource="contasreceber")
    before = list(sheet.findings)
    target = Target("nowhere", f"http://127.0.0.1:{free_port()}", "a@b.co", "secret")
    with (
        Client(target, retry_policy=RetryPolicy(tries=1)) as nowhere,
        pytest.raises(TransportError),
    ):
        OnlineCheck(nowhere).add_findings(sheet)
    assert sheet.findings == before


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def test_the_command_reports_online_findings(
    xlbridge: Xlbridge, tmp_path: Path, demo_sandbox: RunningSandbox
) -> None:
    path = write_records(tmp_path / "s.xlsx", "contasreceber", [{}, {"codigoDoCliente": NOBODY}])
    arguments = ("validate", path, "--resource", "contasreceber", "--format", "json")
    assert xlbridge(*arguments).returncode == 0
    done = xlbridge(*arguments, "--online", **credentials(demo_sandbox))
    [report] = json.loads(done.stdout)["files"]
    assert [(f["cell"], f["code"]) for f in report["findings"]] == [("B3", "reference-unknown")]
    assert done.returncode == 1


def test_the_local_report_is_printed_if_the_online_check_fails(
    xlbridge: Xlbridge, tmp_path: Path, demo_sandbox: RunningSandbox
) -> None:
    path = write_records(tmp_path / "s.xlsx", "contasreceber", [{"codigoDaFilial": -1}])
    arguments = ("validate", path, "--resource", "contasreceber", "--online")
    done = xlbridge(*arguments, **credentials(demo_sandbox, XLBRIDGE_PASSWORD="wrong-word"))
    assert done.returncode == 4
    assert "value-range" in done.stdout
    assert "could not be queried" in done.stderr
    assert "wrong-word" not in done.stdout + done.stderr
    without = xlbridge(*arguments, XLBRIDGE_BASE_URL=demo_sandbox.base_url)
    assert without.returncode == 2
    assert "value-range" in without.stdout


def test_the_embedded_sandbox_is_used_if_nothing_is_configured(
    xlbridge: Xlbridge, home: Path
) -> None:
    create_database(home, [])
    sample = ROOT / "samples" / "contasreceber-cliente-inativo.xlsx"
    done = xlbridge("validate", sample, "--online", "--format", "json")
    assert "embedded sandbox" in done.stderr
    [report] = json.loads(done.stdout)["files"]
    assert [(f["cell"], f["code"]) for f in report["findings"]] == [("B9", "reference-inactive")]
    assert done.returncode == 1
