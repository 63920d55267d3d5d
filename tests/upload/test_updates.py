"""A changed row changes its record once, by the command line, checked by the requests."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from databases import database_options
from environment import Xlbridge, clean_environment, credentials
from lossy_proxy import LossyProxy, ProxyFault, lossy_proxy
from openpyxl import load_workbook
from record_parts import amounts_of, make_invoices
from sampling import every
from sandboxes import sandbox_process
from sheets import column_of, data_sheet, edit, write_records, write_workbook
from update_parts import ExportEdit, Run, differing, edits_of_exports, make_new, titles, writes
from upload_parts import new_cnpj

from xlbridge.client import Client
from xlbridge.resources import load_catalogue
from xlbridge.sandbox import RunningSandbox
from xlbridge.wire.financial import PayableChange
from xlbridge.wire.registry import CLIENT_LIST, PRODUCT_GET, PRODUCT_LIST, ClientQuery
from xlbridge.wire.sales import (
    SERVICE_INVOICE_LIST,
    SERVICE_INVOICE_PROCESS,
    ServiceInvoiceQuery,
)


def test_only_the_edited_payable_is_changed(
    client: Client, proxy: LossyProxy, run: Run, payables: Path
) -> None:
    before = titles(client)
    edit(payables, "valorDoLancamento", 3, 96.5)
    proxy.seen.clear()
    code, report = run("upload", payables, "--yes")
    assert (code, report["plan"]["held"], writes(proxy)) == (1, 1, [])
    code, report = run("upload", payables, "--update", "--yes")
    assert code == 0, report
    assert (report["state"], report["mode"]) == ("done", "records")
    assert report["rows"] == {
        "read": 3,
        "accepted": 1,
        "rejected": 0,
        "unknown": 0,
        "created": 0,
        "updated": 1,
        "unchanged": 2,
        "held": 0,
        "undone": 0,
    }
    assert writes(proxy) == [("PUT", "/v2/financeiro/contaspagar")]
    ((key, name),) = differing(before, after := titles(client))
    assert (name, float(after[key][name])) == ("valorDoLancamento", 96.5)
    code, report = run("upload", payables, "--update", "--yes")
    assert (code, report["plan"]["unchanged"], writes(proxy)) == (0, 3, [])


def test_a_product_keeps_fields_that_its_sheet_lacks(
    client: Client, run: Run, tmp_path: Path
) -> None:
    row = {"codigoInterno": f"PAR-{new_cnpj()}", "descricaoDoProduto": "Parafuso"}
    priced = [{**row, "valorUnitario": 2.5, "Peso": 0.045}]
    path = write_records(tmp_path / "com-preco.xlsx", "produto", priced)
    assert run("upload", path, "--yes")[0] == 0
    (original,) = (one for one in client.records(PRODUCT_LIST) if row.items() <= one.items())
    path = write_workbook(tmp_path / "produtos.xlsx", produto=[{**row, "marca": "Ciser"}])
    code, report = run("upload", path, "--update", "--yes")
    assert (code, report["plan"]["update"]) == (0, 1), report
    (now,) = client.records(PRODUCT_GET, path={"idProduto": original["idProduto"]})
    assert now == {**original, "marca": "Ciser"}
    unpriced = [{**row, "valorUnitario": None}]
    empty = write_workbook(tmp_path / "sem-preco.xlsx", produto=unpriced)
    code, report = run("upload", empty, "--update", "--yes")
    assert (code, report["plan"]["held"]) == (1, 1)
    code, report = run("upload", empty, "--update", "--clear", "--yes")
    (now,) = client.records(PRODUCT_GET, path={"idProduto": original["idProduto"]})
    assert (code, now["valorUnitario"], now["Peso"]) == (0, 0, original["Peso"])
    job = report["job"]
    code, report = run("upload", empty, "--update", "--yes")
    assert (code, report["plan"]["unchanged"]) == (0, 1)
    code, report = run("undo", job, "--yes")
    (now,) = client.records(PRODUCT_GET, path={"idProduto": original["idProduto"]})
    assert (code, now["valorUnitario"]) == (0, original["valorUnitario"]), report


def test_new_and_changed_rows_are_sent_together(
    client: Client, proxy: LossyProxy, run: Run, payables: Path
) -> None:
    before = titles(client)
    edit(payables, "historico", 2, "Energia, corrigida")
    make_new(payables, 4)
    proxy.seen.clear()
    code, report = run("upload", payables, "--update", "--yes")
    assert (code, report["state"], report["mode"], report["parts"]) == (0, "done", "queue", 2)
    assert report["plan"] == {"create": 1, "update": 1, "unchanged": 1, "held": 0, "unread": 0}
    assert (report["rows"]["created"], report["rows"]["updated"]) == (1, 1)
    assert sum(method == "PUT" for method, _ in writes(proxy)) == 1
    assert len(titles(client)) == len(before) + 1
    assert any(title["historico"] == "Energia, corrigida" for title in titles(client).values())
    assert run("upload", payables, "--update", "--yes")[1]["plan"]["unchanged"] == 3


def test_an_empty_cell_clears_a_field_only_with_the_option(
    client: Client, proxy: LossyProxy, run: Run, payables: Path
) -> None:
    edit(payables, "ValorBruto", 2, None)
    proxy.seen.clear()
    code, report = run("upload", payables, "--update", "--yes")
    (held,) = [row for row in report["not_created"] if row["action"] == "held"]
    assert (code, held["reason"], writes(proxy)) == (1, "empty-cell", [])
    before = titles(client)
    code, report = run("upload", payables, "--update", "--clear", "--yes")
    assert (code, report["rows"]["updated"]) == (0, 1)
    ((key, name),) = differing(before, after := titles(client))
    assert (name, after[key][name]) == ("ValorBruto", None)


def test_an_update_lost_every_time_is_rejected(
    client: Client, proxy: LossyProxy, run: Run, payables: Path
) -> None:
    before = titles(client)
    edit(payables, "historico", 2, "Corrigida")
    proxy.seen.clear()
    proxy.decide = lambda method, _path: "lose request" if method == "PUT" else "pass"
    code, report = run("upload", payables, "--update", "--yes")
    assert (code, report["state"], report["rows"]["rejected"]) == (1, "rejected", 1)
    assert len(writes(proxy)) == 3
    assert differing(before, titles(client)) == []
    proxy.decide = lambda _method, _path: "pass"
    assert run("upload", payables, "--update", "--yes")[1]["rows"]["updated"] == 1


def test_a_record_changed_meanwhile_is_not_overwritten(
    client: Client, proxy: LossyProxy, run: Run, payables: Path
) -> None:
    before = titles(client)
    edit(payables, "historico", 2, "Corrigida")
    read: list[str] = []

    def decide(method: str, path: str) -> ProxyFault:
        # A colleague changes the title between the plan and the first single reading of it.
        if method == "GET" and path.count("/") > 4 and "contaspagar" in path and not read:
            read.append(path)
            number = dict(zip(("ex", "fil", "nrtrs", "seqtrs"), path.split("/")[-4:], strict=True))
            title = client.financial.payables.get(**{n: int(v) for n, v in number.items()})
            fields = title.model_dump(include=set(PayableChange.model_fields))
            client.financial.payables.update(**fields | {"historico": "De um colega"})
        return "pass"

    proxy.decide = decide
    code, report = run("upload", payables, "--update", "--yes")
    assert read
    assert (code, report["state"], report["rows"]["updated"]) == (1, "rejected", 0)
    (rejected,) = report["rejected"]
    assert (rejected["row"], rejected["column"]) == (2, "historico")
    assert "De um colega" in rejected["message"]
    ((key, _name),) = differing(before, after := titles(client))
    assert after[key]["historico"] == "De um colega"


def test_unknown_fields_survive_an_update(
    client: Client, proxy: LossyProxy, run: Run, payables: Path
) -> None:
    """Fields of a title that the models do not have are sent back as they were read."""
    edit(payables, "historico", 2, "Corrigida")
    proxy.added["GET", "contaspagar/"] = {"campoNovo": {"a": [1, 2.5]}}
    proxy.seen.clear()
    code, _report = run("upload", payables, "--update", "--yes")
    assert code == 0
    (body,) = [json.loads(body) for method, body in proxy.bodies if method == "PUT"]
    assert body["campoNovo"] == {"a": [1, 2.5]}
    assert body["historico"] == "Corrigida"
    assert body["valorBruto"] == 100
    assert not {"dataDeBaixa", "ValorBruto"} & body.keys()


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSandbox]:
    folder = tmp_path_factory.mktemp("demo-sandbox")
    options = ["--seed", "demo", *database_options(folder)]
    with sandbox_process(folder, options, clean_environment(folder), few=True) as running:
        yield running


EDITS = tuple(edits_of_exports(load_catalogue()))


@pytest.mark.parametrize(
    "edit_",
    [
        pytest.param(
            one,
            id=one.resource.name,
            marks=[pytest.mark.exercises(one.operation.name), *[pytest.mark.slow] * (place % 2)],
        )
        for place, one in enumerate(one for one in EDITS if one.changes)
    ],
)
def test_one_edited_cell_of_an_export_changes_one_record(
    tmp_path: Path, xlbridge: Xlbridge, demo: RunningSandbox, edit_: ExportEdit
) -> None:
    path, column, change = tmp_path / "exportado.xlsx", edit_.column, edit_.resource.change
    assert change is not None
    with lossy_proxy(demo.base_url) as proxy:
        environment = credentials(demo) | {"XLBRIDGE_BASE_URL": proxy.base_url}
        exported = xlbridge(*edit_.export(path), **environment)
        assert exported.returncode == 0, exported.stderr
        was = column_of(path, column)[0]
        edit(path, column, 2, edit_.value(was))
        proxy.seen.clear()
        ended = xlbridge("upload", path, "--update", "--yes", "--format", "json", **environment)
        report = json.loads(ended.stdout)
        assert (ended.returncode, report["state"]) == (0, "done"), report
        rows = report["rows"]
        assert (rows["created"], rows["updated"], rows["held"]) == (0, 1, 0)
        assert rows["unchanged"] == rows["read"] - 1 > 0
        ((method, request_path),) = writes(proxy)
        declared = edit_.operation
        opening = declared.path.partition("{")[0]
        assert (method, request_path.startswith(opening)) == (declared.method, True)
        again = xlbridge("upload", path, "--update", "--yes", "--format", "json", **environment)
        assert json.loads(again.stdout)["rows"]["unchanged"] == rows["read"]
        assert writes(proxy) == []
        undone = xlbridge("undo", report["job"], "--yes", "--format", "json", **environment)
        counted = json.loads(undone.stdout)["rows"]
        possible = was is not None or change.can_empty(column)
        assert (counted["undone"], counted["left"]) == ((1, 0) if possible else (0, 1))
        assert undone.returncode == (0 if possible else 1)
        assert len(writes(proxy)) == counted["undone"]
        edit(path, column, 2, was)
        last = xlbridge("upload", path, "--update", "--yes", "--format", "json", **environment)
        assert json.loads(last.stdout)["rows"]["unchanged"] == rows["read"] - counted["left"]


@pytest.mark.parametrize("edit_", every(9, [one for one in EDITS if not one.changes]), ids=str)
def test_one_edited_cell_that_cannot_be_changed_holds_one_row(
    tmp_path: Path, xlbridge: Xlbridge, demo: RunningSandbox, edit_: ExportEdit
) -> None:
    path, column = tmp_path / "exportado.xlsx", edit_.column
    with lossy_proxy(demo.base_url) as proxy:
        environment = credentials(demo) | {"XLBRIDGE_BASE_URL": proxy.base_url}
        exported = xlbridge(*edit_.export(path), **environment)
        assert exported.returncode == 0, exported.stderr
        edit(path, column, 2, edit_.value(column_of(path, column)[0]))
        proxy.seen.clear()
        ended = xlbridge("upload", path, "--update", "--yes", "--format", "json", **environment)
        report = json.loads(ended.stdout)
        assert ended.returncode == 1, ended.stderr
        rows = report["rows"]
        assert (rows["held"], rows["unchanged"]) == (1, rows["read"] - 1), report
        held = [row for row in report["not_created"] if row["action"] == "held"]
        assert [(row["row"], row["reason"]) for row in held] == [(2, "cannot-change")]
        assert [one["column"] for one in held[0]["differences"]] == [column]
        assert writes(proxy) == []


def test_every_listing_of_records_with_keys_is_edited() -> None:
    edited = {(one.listing.name, one.resource.name) for one in EDITS}
    assert ("contaspagar", "contaspagar") in edited
    catalogue = load_catalogue()
    assert {one.resource.name for one in EDITS if one.changes} == {
        resource.name for resource in catalogue.values() if resource.change is not None
    }
    # The movements are exported as template by no listing: their records have no key.
    assert catalogue.keys() - {name for _, name in edited} == {"entrada", "saida"}


def test_a_pending_service_invoice_is_changed_and_an_emitted_one_is_held(
    client: Client, proxy: LossyProxy, run: Run, tmp_path: Path
) -> None:
    customer = client.registry.clients.create(nomeComercial="Ana", cnpj=new_cnpj()).codigoDoCliente
    assert customer is not None
    path = tmp_path / "nfse.xlsx"
    code, report = run("upload", make_invoices(path, customer, [100.0, 200.0]), "--yes")
    assert (code, report["rows"]["created"]) == (0, 2), report
    query = ServiceInvoiceQuery(codigoDoCliente=customer)
    pending, emitted = client.call(SERVICE_INVOICE_LIST, query=query)
    client.call(SERVICE_INVOICE_PROCESS, path={"id": emitted.idNF})
    book = load_workbook(path)
    sheet = data_sheet(book)
    column = sheet.max_column + 1
    for row, content in enumerate(("idNF", pending.idNF, emitted.idNF), start=1):
        sheet.cell(row, column).value = content
    book.save(path)
    edit(edit(path, "valorDoServico", 2, 101.5), "valorDoServico", 3, 201.5)
    proxy.seen.clear()
    code, report = run("upload", path, "--update", "--yes")
    assert (code, report["rows"]["updated"], report["rows"]["held"]) == (1, 1, 1), report
    (held,) = [row for row in report["not_created"] if row["action"] == "held"]
    assert (held["row"], held["reason"]) == (3, "cannot-change")
    assert writes(proxy) == [("PUT", f"/v2/faturamento/nfse/{pending.idNF}")]
    assert amounts_of(client, customer) == [101.5, 200.0]


@pytest.mark.parametrize(
    ("resource", "instead"),
    [("saida", "xlbridge process saida-estornar FILE"), ("entrada", "Without --update")],
)
@pytest.mark.parametrize("option", ["--update", "--update-only"])
def test_a_change_that_nothing_could_show_is_refused(
    run: Run, proxy: LossyProxy, tmp_path: Path, resource: str, instead: str, option: str
) -> None:
    path = write_records(tmp_path / "x.xlsx", resource, [{}])
    code, report = run("upload", path, option, "--yes")
    error = report["error"]
    assert (code, instead in error["hint"]) == (2, True)
    assert f"Records of {resource} are not changed by a sheet" in error["message"]
    assert writes(proxy) == []


def test_an_identifier_is_set_on_an_existing_client_but_not_on_a_new_one(
    client: Client, proxy: LossyProxy, run: Run, tmp_path: Path
) -> None:
    existing, new, idws = new_cnpj(), new_cnpj(), f"WS-{new_cnpj()}"
    client.registry.clients.create(nomeComercial="Ana", cnpj=existing)
    path = tmp_path / "clientes.xlsx"
    rows = [
        {"nomeComercial": "Ana", "cnpj": existing, "idws": idws},
        {"nomeComercial": "Bia", "cnpj": new, "idws": f"{idws}-2"},
    ]
    write_records(path, "cliente", rows)
    proxy.seen.clear()
    code, report = run("upload", path, "--update", "--yes")
    assert (code, report["rows"]["updated"], report["rows"]["held"]) == (1, 1, 1), report
    (held,) = [row for row in report["not_created"] if row["action"] == "held"]
    assert (held["row"], held["reason"]) == (3, "set-later")
    assert writes(proxy) == [("PUT", "/v2/cliente/idws")]
    found = client.call(CLIENT_LIST, query=ClientQuery(idws=idws))
    assert found.cnpjcpf == existing
