"""Rows sent one by one, by the command line, checked by their requests."""

import json
import random
import re
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest
from environment import Xlbridge
from fake_clock import FakeClock
from lossy_proxy import LossyProxy, ProxyFault
from openpyxl import load_workbook
from record_parts import (
    CONTACTS,
    INVOICES,
    PAYABLES,
    RECEIVABLES,
    TYPES,
    amounts_of,
    codes_of,
    count_posts,
    make_invoices,
    make_types,
    new_descriptions,
)
from sampling import across
from sheets import GOOD, data_sheet, write_records, write_workbook
from update_parts import Run, cell, edit, titles, writes
from upload_parts import AT_ONCE, accepted_rows, new_cnpj, send_sheet

from xlbridge.client import Client
from xlbridge.errors import InDoubt, RemoteRejected, TransportError
from xlbridge.upload import Journal, State, UploadContext, Uploads
from xlbridge.upload.results import RowOutcome
from xlbridge.validation import validate_workbook

POST_TYPE = ("POST", TYPES)
KillWhileWriting = Callable[..., None]


def test_records_without_an_import_are_created_one_by_one(
    client: Client, proxy: LossyProxy, run: Run, tmp_path: Path
) -> None:
    names = new_descriptions(5)
    path = make_types(tmp_path / "tipos.xlsx", names)
    code, report = run("upload", path, "--yes")
    assert (code, report["state"], report["mode"]) == (0, "done", "records"), report
    assert (report["rows"]["read"], report["rows"]["created"]) == (5, 5)
    assert writes(proxy) == [("POST", TYPES)] * 5
    assert len(codes_of(client, names)) == 5
    code, report = run("upload", path, "--yes")
    assert (code, report["plan"]["unchanged"], writes(proxy)) == (0, 5, [])


def test_a_run_reports_its_progress(context: UploadContext, client: Client, tmp_path: Path) -> None:
    output: list[tuple[int, int]] = []
    options = replace(AT_ONCE, on_count=lambda done, total: output.append((done, total)))
    sheet = validate_workbook(
        make_types(tmp_path / "tipos.xlsx", new_descriptions(5)), context.catalogue
    )
    assert send_sheet(context, client, sheet, options).state is State.DONE
    assert output[-1] == (5, 5)
    assert output == sorted(output)


def test_codes_assigned_by_the_system_are_in_the_status_copy(
    client: Client, run: Run, tmp_path: Path
) -> None:
    names = new_descriptions(3)
    path = make_types(tmp_path / "tipos.xlsx", names)
    copy = tmp_path / "situacao.xlsx"
    assert run("upload", path, "--yes", "--annotate", copy)[0] == 0
    codes = [cell(copy, "Code in the system", row) for row in (2, 3, 4)]
    assert sorted(map(str, codes)) == sorted(codes_of(client, names))


def test_a_declined_record_that_arrives_later_is_not_sent_twice(
    client: Client, proxy: LossyProxy, xlbridge: Xlbridge, proxy_environment, tmp_path: Path
) -> None:
    names = new_descriptions(3)
    path = make_types(tmp_path / "tipos.xlsx", names)
    proxy.fail_once("429 before", TYPES, "POST")
    done = xlbridge("upload", path, "--yes", **{**proxy_environment, "XLBRIDGE_SETTLE": "2"})
    assert done.returncode == 0, done.stderr
    assert len(codes_of(client, names)) == 3


def test_a_pause_of_an_hour_ends_the_run(
    proxy: LossyProxy, client: Client, xlbridge: Xlbridge, proxy_environment, tmp_path: Path
) -> None:
    names = new_descriptions(3)
    path = make_types(tmp_path / "tipos.xlsx", names)
    proxy.decide = lambda method, one: "busy for an hour" if (method, one) == POST_TYPE else "pass"
    done = xlbridge("upload", path, "--yes", **proxy_environment)
    assert done.returncode in {4, 5}, done.stderr
    assert "429" in done.stderr
    assert not codes_of(client, names)


def test_a_refusal_as_plain_text_keeps_its_reason_and_is_not_repeated(
    client: Client, proxy: LossyProxy, run: Run, tmp_path: Path
) -> None:
    names = new_descriptions(2)
    path = make_types(tmp_path / "tipos.xlsx", names)
    proxy.fail_once("refuse as text", TYPES, "POST")
    code, report = run("upload", path, "--yes")
    assert (code, report["state"], report["rows"]["created"]) == (1, "partial", 1), report
    assert [row["message"] for row in report["rejected"]] == ["Recusado em texto"]
    assert count_posts(proxy, TYPES) == 2
    assert len(codes_of(client, names)) == 1


def test_rejected_records_are_reported_at_their_cells_and_retried(
    client: Client, proxy: LossyProxy, run: Run, tmp_path: Path
) -> None:
    document = new_cnpj()
    path = write_records(
        tmp_path / "contas.xlsx",
        "contaspagar",
        [
            {"numeroDoDocumento": f"{document}-1"},
            {"numeroDoDocumento": f"{document}-2", "codigoDoFornecedor": 999_999},
            {"numeroDoDocumento": f"{document}-3"},
        ],
    )
    before = len(titles(client))
    code, report = run("upload", path, "--mode", "records", "--yes")
    assert (code, report["state"], report["mode"]) == (1, "partial", "records"), report
    (row,) = report["rejected"]
    assert (row["row"], row["column"], row["cell"]) == (3, "codigoDoFornecedor", "B3")
    assert len(titles(client)) == before + 2
    edit(Path(report["rejects_file"]), "codigoDoFornecedor", 2, 501)
    proxy.seen.clear()
    code, again = run("retry", report["job"], "--yes")
    assert (code, again["state"], again["mode"]) == (0, "done", "records"), again
    assert writes(proxy) == [("POST", PAYABLES)]
    assert len(titles(client)) == before + 3


def test_records_are_sent_concurrently_up_to_the_given_number(
    client: Client, proxy: LossyProxy, run: Run, tmp_path: Path
) -> None:
    names = new_descriptions(6)
    path = make_types(tmp_path / "tipos.xlsx", names)
    posted = threading.Barrier(3)
    sent: list[int] = []

    def decide(method: str, request_path: str) -> ProxyFault:
        if method == "POST" and request_path == TYPES:
            posted.wait(timeout=60)
            sent.append(1)
        return "pass"

    proxy.decide = decide
    assert run("upload", path, "--yes", "--at-once", "3")[0] == 0
    assert (len(sent), len(codes_of(client, names))) == (6, 6)


def test_records_sent_one_at_a_time_follow_the_order_of_the_sheet(
    client: Client, proxy: LossyProxy, run: Run, tmp_path: Path
) -> None:
    names = new_descriptions(5)
    path = make_types(tmp_path / "tipos.xlsx", names)
    proxy.bodies.clear()
    assert run("upload", path, "--yes", "--at-once", "1")[0] == 0
    bodies = [json.loads(body) for method, body in proxy.bodies if method == "POST"]
    sent = [body["descricaoDoTipoDeProduto"] for body in bodies if "email" not in body]
    assert sent == names


@pytest.mark.parametrize(("committed", "at_once"), across([False, True], [1, 4]))
def test_a_killed_run_is_resumed_and_creates_nothing_twice(
    client: Client,
    proxy: LossyProxy,
    run: Run,
    kill_while_writing: KillWhileWriting,
    tmp_path: Path,
    committed: bool,
    at_once: int,
) -> None:
    names = new_descriptions(9)
    path = make_types(tmp_path / "tipos.xlsx", names)
    kill_while_writing(
        "POST",
        ["upload", str(path), "--yes"],
        committed=committed,
        is_committed=lambda: len(codes_of(client, names)) == at_once,
        at_once=at_once,
    )
    (job,) = run("jobs")[1]["jobs"]
    assert (job["state"], job["rows"]["unknown"]) == ("in_doubt", 9)
    code, report = run("resume", "--yes")
    assert (code, report["state"], report["rows"]["created"]) == (0, "done", 9), report
    assert len(codes_of(client, names)) == 9
    assert count_posts(proxy, TYPES) == 9 + (0 if committed else at_once)


def test_a_killed_run_reports_the_records_that_it_has_written(
    client: Client, run: Run, kill_while_writing: KillWhileWriting, tmp_path: Path
) -> None:
    names = new_descriptions(5)
    path = make_types(tmp_path / "tipos.xlsx", names)
    kill_while_writing(
        "POST",
        ["upload", str(path), "--yes"],
        committed=True,
        is_committed=lambda: len(codes_of(client, names)) == 3,
        after=2,
    )
    (job,) = run("jobs")[1]["jobs"]
    assert (job["rows"]["created"], job["rows"]["unknown"]) == (2, 3)
    assert run("resume", "--yes")[1]["rows"]["created"] == 5


def test_a_run_that_fails_midway_exits_with_5_and_is_resumed(
    client: Client, proxy: LossyProxy, run: Run, tmp_path: Path
) -> None:
    names = new_descriptions(3)
    path = make_types(tmp_path / "tipos.xlsx", names)

    def decide(method: str, request_path: str) -> ProxyFault:
        return "unavailable" if method == "POST" and count_posts(proxy, TYPES) > 1 else "pass"

    proxy.decide = decide
    code, report = run("upload", path, "--yes", "--at-once", "1")
    assert (code, report["rows"]["accepted"], report["rows"]["unknown"]) == (5, 1, 2), report
    proxy.decide = lambda _method, _path: "pass"
    code, report = run("resume", "--yes")
    assert (code, report["state"], report["rows"]["created"]) == (0, "done", 3), report
    assert len(codes_of(client, names)) == 3


def test_a_record_whose_key_was_created_meanwhile_is_not_added(
    client: Client, proxy: LossyProxy, context: UploadContext, tmp_path: Path
) -> None:
    document = new_cnpj()
    rows: list[dict[str, Any]] = [
        {"numeroDoDocumento": f"{document}-{index}", "dataDeVencimento": date(2026, 10, 30)}
        for index in range(3)
    ]
    path = write_records(tmp_path / "contas.xlsx", "contaspagar", rows)
    sheet = validate_workbook(path, context.catalogue)
    options = replace(AT_ONCE, mode="records", at_once=1)
    posted: list[str] = []

    def decide(method: str, request_path: str) -> ProxyFault:
        if method == "POST" and request_path == PAYABLES:
            posted.append(request_path)
            return "pass" if len(posted) == 1 else "unavailable"
        return "pass"

    proxy.decide = decide
    uploads = Uploads(context, client)
    job = uploads.create(sheet, options)
    with pytest.raises(InDoubt):
        uploads.run(job, options)
    proxy.decide = lambda _method, _path: "pass"
    colleagues_title = client.financial.payables.create(
        **{**GOOD["contaspagar"], **rows[2], "historico": "De outra pessoa"}
    )
    assert colleagues_title.numeroDaTransacao is not None
    later = Journal(context.settings.journal, FakeClock.later(120))
    with closing(later) as journal:
        job = Uploads(replace(context, journal=journal), client).run(journal.job(job.id), options)
    assert (job.state, accepted_rows(context, job)) == (State.PARTIAL, 2)
    (refused,) = context.journal.changes.rejections(job.id)
    assert "same key" in refused.message.en
    assert "mesma chave" in refused.message.pt
    found = [one for one in titles(client).values() if document in str(one["numeroDoDocumento"])]
    assert len(found) == 3


def test_of_two_rejected_rows_of_a_key_only_the_one_whose_record_is_there_is_accepted(
    client: Client, proxy: LossyProxy, context: UploadContext, customer: int, tmp_path: Path
) -> None:
    row = {"codigoDoCliente": customer, "numeroDoDocumento": new_cnpj()}
    rows: list[dict[str, Any]] = [
        {**row, "valorDoLancamento": 10},
        {**row, "valorDoLancamento": None},
    ]
    path = write_records(tmp_path / "contas.xlsx", "contasreceber", rows)
    faults: list[ProxyFault] = ["refuse after", "refuse"]
    proxy.decide = lambda method, request_path: (
        faults.pop(0) if method == "POST" and request_path == RECEIVABLES and faults else "pass"
    )
    sheet = validate_workbook(path, context.catalogue)
    options = replace(AT_ONCE, mode="records", at_once=1)
    job = send_sheet(context, client, sheet, options)
    assert faults == []
    assert (job.state, accepted_rows(context, job)) == (State.PARTIAL, 1)


def test_a_doubtful_record_without_a_key_needs_a_person_and_the_others_are_sent(
    client: Client, proxy: LossyProxy, run: Run, customer: int, tmp_path: Path,
    xlbridge: Xlbridge, proxy_environment: dict[str, str],
) -> None:  # fmt: skip
    path = make_invoices(tmp_path / "notas.xlsx", customer, [10, 20, 30])
    proxy.fail_once("lose answer", INVOICES)
    code, report = run("upload", path, "--mode", "records", "--yes", "--at-once", "1")
    assert (code, report["state"]) == (5, "in_doubt"), report
    assert (report["rows"]["accepted"], report["rows"]["unknown"]) == (2, 1)
    assert amounts_of(client, customer) == [10, 20, 30]
    output = xlbridge("jobs", report["job"], **proxy_environment, XLBRIDGE_LANG="pt-BR").stdout
    assert "um registro está em dúvida: a resposta se perdeu, e nenhuma chave" in output
    page = Path(report["evidence_file"]).read_text("utf-8")
    assert "Is the row of this upload in the system or not?" in page
    assert "Branch code: 1" in page
    assert not re.search("codigoDaFilial|Timestamp|00:00:00|nota-fiscal-servico<", page)
    decision = ("--as", "applied", "--reason", "Conferido")
    code, report = run("resolve", report["job"], *decision)
    assert (code, report["state"], report["rows"]["accepted"]) == (0, "done", 3)


@pytest.mark.parametrize("resource", ["cliente", "contasreceber"])
def test_importable_resources_can_be_sent_as_single_records(
    proxy: LossyProxy, run: Run, customer: int, tmp_path: Path, resource: str
) -> None:
    fields: dict[str, dict[str, Any]] = {
        "cliente": {"cnpj": new_cnpj()},
        "contasreceber": {"codigoDoCliente": customer, "numeroDoDocumento": new_cnpj()},
    }
    path = write_records(tmp_path / "planilha.xlsx", resource, [fields[resource]])
    proxy.seen.clear()
    code, report = run("upload", path, "--mode", "records", "--yes")
    assert (code, report["mode"], report["rows"]["created"]) == (0, "records", 1), report
    assert [method for method, _ in writes(proxy)] == ["POST"]
    code, report = run("upload", path, "--yes")
    assert (code, report["plan"]["unchanged"], writes(proxy)) == (0, 1, [])


@pytest.mark.parametrize("fault", ["lose answer", "lose request", "429 after", "unavailable"])
def test_equal_records_are_counted_if_the_profile_is_exclusive(
    client: Client,
    proxy: LossyProxy,
    context: UploadContext,
    customer: int,
    tmp_path: Path,
    fault: ProxyFault,
) -> None:
    path = make_invoices(tmp_path / "notas.xlsx", customer, [10, 10, 10, 20])
    sheet = validate_workbook(path, context.catalogue)
    options = replace(AT_ONCE, mode="records")
    posted: list[str] = []

    def decide(method: str, request_path: str) -> ProxyFault:
        if method == "POST" and request_path == INVOICES:
            posted.append(request_path)
            return fault if len(posted) == 2 else "pass"
        return "pass"

    proxy.decide = decide
    with Client(replace(client.target, exclusive=True)) as alone:
        job = send_sheet(context, alone, sheet, options)
    assert (job.state, accepted_rows(context, job)) == (State.DONE, 4)
    assert amounts_of(client, customer) == [10, 10, 10, 20]


@pytest.mark.parametrize(
    ("movement", "fault"),
    across(
        [("entrada", "Entrada", "/v2/estoque/entrada"), ("saida", "Saída", "/v2/estoque/saida")],
        ["lose answer", "lose request"],
    ),
)
def test_stock_movements_are_counted_if_the_profile_is_exclusive(
    client: Client,
    proxy: LossyProxy,
    context: UploadContext,
    tmp_path: Path,
    movement: tuple[str, str, str],
    fault: ProxyFault,
) -> None:
    resource, kind, path = movement
    product = client.registry.products.create(descricaoDoProduto=f"Parafuso {new_cnpj()}").idProduto
    day = datetime(2026, 10, 1)
    # An entry as large as the rows: none of the outputs, and in the system before the entries.
    for quantity in (2, 50):
        client.stock.entries.create(
            codigoDaFilial=1, dataDaEntrada=day, quantidade=quantity, idProd=product
        )
    row = {"codigoDaFilial": 1, "idProd": product}
    row |= {"dataDaEntrada": day} if resource == "entrada" else {}
    rows = [{**row, "quantidade": quantity} for quantity in (2, 2, 2, 3)]
    sheet = validate_workbook(
        write_workbook(tmp_path / "x.xlsx", **{resource: rows}), context.catalogue
    )
    posted: list[str] = []

    def decide(method: str, request_path: str) -> ProxyFault:
        if method == "POST" and request_path == path:
            posted.append(request_path)
            return fault if len(posted) == 2 else "pass"
        return "pass"

    def quantities() -> list[float]:
        found = client.stock.movements.of_product(id=product)
        return sorted(float(one.quantidade) for one in found if one.tipoDeMovimentacao == kind)

    before = quantities()
    proxy.decide = decide
    with Client(replace(client.target, exclusive=True)) as alone:
        job = send_sheet(context, alone, sheet, replace(AT_ONCE, mode="records"))
    assert (job.state, accepted_rows(context, job)) == (State.DONE, 4), job.reason
    assert quantities() == sorted([*before, 2, 2, 2, 3])


@pytest.mark.parametrize("fault", ["lose answer", "lose request"])
def test_contacts_are_found_by_client_and_name(
    client: Client,
    proxy: LossyProxy,
    context: UploadContext,
    customer: int,
    tmp_path: Path,
    fault: ProxyFault,
) -> None:
    contacts = client.registry.contacts
    bare = client.registry.clients.create(nomeComercial="Bia", cnpj=new_cnpj())
    without = bare.codigoDoCliente
    contacts.create(codigoDoCliente=customer, nome="Rita")  # by somebody else
    people = [(customer, "Rita"), (customer, "Rui"), (without, "Rita")]
    rows = [{"codigoDoCliente": code, "nome": name} for code, name in people]
    path = write_records(tmp_path / "contatos.xlsx", "clientecontato", rows)
    posted: list[str] = []

    def decide(method: str, request_path: str) -> ProxyFault:
        if method == "POST" and request_path == CONTACTS:
            posted.append(request_path)
            return fault if len(posted) <= 2 else "pass"
        return "pass"

    proxy.decide = decide
    sheet = validate_workbook(path, context.catalogue)
    job = send_sheet(context, client, sheet, replace(AT_ONCE, mode="records"))
    assert (job.state, accepted_rows(context, job)) == (State.DONE, 2), job.reason
    assert len(posted) == (2 if fault == "lose answer" else 4)
    for code, names in ((customer, ["Rita", "Rui"]), (without, ["Rita"])):
        found = [contacts.get(codcontato=code, seq=at) for at in range(1, len(names) + 1)]
        assert sorted(str(one.nomeDoContato) for one in found) == names
        with pytest.raises(RemoteRejected):
            contacts.get(codcontato=code, seq=len(names) + 1)


def test_rejected_single_records_are_in_the_rejects_workbook(
    client: Client, run: Run, tmp_path: Path
) -> None:
    path = write_records(tmp_path / "c.xlsx", "contaspagar", [{"codigoDoFornecedor": 999_999}])
    _, report = run("upload", path, "--mode", "records", "--yes")
    assert (report["state"], report["rows"]["rejected"]) == ("rejected", 1)
    assert data_sheet(load_workbook(report["rejects_file"])).max_row == 2


@pytest.mark.parametrize("seed", [1, 2])
def test_each_record_exists_once_whatever_happens_to_answers(
    client: Client, proxy: LossyProxy, context: UploadContext, tmp_path: Path, seed: int
) -> None:
    document = new_cnpj()
    path = write_records(
        tmp_path / "contas.xlsx",
        "contaspagar",
        [
            {"numeroDoDocumento": f"{document}-{index}", "dataDeVencimento": date(2026, 10, 30)}
            for index in range(30)
        ],
    )
    random_choice = random.Random(seed)
    faults: list[ProxyFault] = ["lose answer", "lose request", "html", "500 after", "429 after"]
    faults += ["401 after", "unavailable", "busy"]
    faults += ["pass"] * 10

    def decide(method: str, request_path: str) -> ProxyFault:
        sends = method == "POST" and request_path == PAYABLES
        return random_choice.choice(faults) if sends else "pass"

    proxy.decide = decide
    options = replace(AT_ONCE, mode="records")
    uploads = Uploads(context, client)
    job = uploads.create(validate_workbook(path, context.catalogue), options)
    for _ in range(30):
        if job.state.is_final:
            break
        with suppress(TransportError, InDoubt):
            uploads.run(job, options)
        job = context.journal.job(job.id)
    rejected = {row.row for row in context.journal.changes.rejections(job.id)}
    accepted = [f"{document}-{at}" for at, row in enumerate(job.spec.rows) if row not in rejected]
    assert job.state.is_final
    assert RowOutcome.UNKNOWN not in context.journal.changes.outcomes(job.id)
    documents = [str(title["numeroDoDocumento"]) for title in titles(client).values()]
    assert sorted(one for one in documents if document in one) == sorted(accepted)
