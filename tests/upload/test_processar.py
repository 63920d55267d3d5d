"""Queued files that wait for processar-arquivo: staged, started, polled; requests may be lost."""

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import xlsxwriter
from fake_clock import FakeClock
from lossy_proxy import LossyProxy, ProxyFault
from upload_parts import AT_ONCE, QUICK, YES, new_cnpj, report_lines, row_counts, write_job

from xlbridge.client import Client, Target, UploadFile
from xlbridge.sandbox import RunningSandbox
from xlbridge.upload import Job, Journal, State, UploadContext, Uploads
from xlbridge.upload.results import job_json
from xlbridge.wire.financial import RECEIVABLE_LIST_OPEN, ReceivableQuery
from xlbridge.wire.imports import IMPORT_LOG, IMPORT_PROCESS, IMPORT_QUEUE, ImportState

PATIENT = replace(QUICK, settle_seconds=3600)


def count_titles(client: Client, customer: int) -> int:
    query = ReceivableQuery(codigoDoCliente=customer)
    return len(client.call(RECEIVABLE_LIST_OPEN, query=query))


def receivables_job(
    context: UploadContext,
    client: Client,
    folder: Path,
    *customers: int,
    again: str | None = None,
) -> Job:
    """Queue job with one receivable for each customer."""
    path = folder / "contasreceber.xlsx"
    row = {
        "codigoDaFilial": 1,
        "codigoDoItemDeLancamento": "1.01.001",
        "codigoDoCentroDeCusto": "01.001",
        "codigoDaContaCorrente": 1,
        "historico": "Mensalidade",
    }
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet("contasreceber")
        sheet.write_row(0, 0, [*row, "codigoDoCliente"])
        for number, customer in enumerate(customers, 1):
            sheet.write_row(number, 0, [*row.values(), customer])
    return write_job(context, client, path, "queue", again=again)


def test_a_queued_file_is_staged_started_and_done(
    context: UploadContext, client: Client, customer: int, tmp_path: Path
) -> None:
    job = receivables_job(context, client, tmp_path, customer, customer)
    job = Uploads(context, client).run(job, YES)
    states = [event.state for event in job.events]
    assert states[-4:] == [State.STARTING, State.POLLING, State.COMPARING, State.DONE]
    assert count_titles(client, customer) == 2
    assert "2" in " ".join(report_lines(context.journal, job))


def test_a_file_that_runs_by_itself_is_not_started(
    context: UploadContext,
    client: Client,
    http: httpx.Client,
    proxy: LossyProxy,
    customer: int,
    tmp_path: Path,
) -> None:
    def run_at_once(_method: str, path: str, _status: int, document: Any) -> None:
        if path.endswith("/fila"):
            http.post(f"/v2/importacao/processar-arquivo/{document['data']}").raise_for_status()
            log = f"/v2/importacao/log-importacao/{document['data']}"
            while http.get(log).json()["data"]["situacao"] != ImportState.FINISHED:
                time.sleep(0.05)

    proxy.rewrite = run_at_once
    job = Uploads(context, client).run(receivables_job(context, client, tmp_path, customer), YES)
    assert job.state is State.DONE
    assert not any("processar-arquivo" in path for _, path in proxy.seen)
    assert count_titles(client, customer) == 1


def test_a_job_with_only_rejected_rows_is_rejected(
    context: UploadContext, client: Client, tmp_path: Path
) -> None:
    job = Uploads(context, client).run(receivables_job(context, client, tmp_path, 999_999), YES)
    report = job_json(context.journal, job)
    assert report["state"] == "rejected"
    assert report["rows"] == row_counts(read=1, rejected=1)
    assert report["rejected"][0]["cell"] == "F2"


@pytest.mark.parametrize("fault", ["lose answer", "html", "500 after"])
def test_a_lost_start_is_resolved_by_the_log(
    context: UploadContext,
    client: Client,
    proxy: LossyProxy,
    sandbox: RunningSandbox,
    customer: int,
    tmp_path: Path,
    fault: ProxyFault,
) -> None:
    proxy.fail_once(fault, "processar-arquivo")
    lose_start = proxy.decide

    def ask_log_once_running(method: str, path: str) -> ProxyFault:
        started = any("processar-arquivo" in one for _, one in proxy.seen)
        if "log-importacao" in path and started:
            wait_until_running(sandbox, int(path.rpartition("/")[2]))
        return lose_start(method, path)

    proxy.decide = ask_log_once_running
    job = receivables_job(context, client, tmp_path, customer)
    job = Uploads(context, client).run(job, PATIENT)
    assert job.state is State.DONE
    assert count_titles(client, customer) == 1
    assert sum("processar-arquivo" in path for _, path in proxy.seen) == 1


def wait_until_running(sandbox: RunningSandbox, log_id: int) -> None:
    """Wait until the sandbox's worker has started on the file; its log has no facts before that."""
    target = Target("rehearsal", sandbox.base_url, sandbox.email, sandbox.password)
    with Client(target) as direct:
        for _ in range(1000):
            if direct.call(IMPORT_LOG, path={"id": log_id}).situacao != ImportState.PENDING:
                return
            time.sleep(0.02)
    raise AssertionError(f"the file of log {log_id} was not started")


def test_a_lost_start_is_repeated_only_after_the_settle_time(
    context: UploadContext, client: Client, proxy: LossyProxy, customer: int, tmp_path: Path
) -> None:
    proxy.fail_once("lose request", "processar-arquivo")
    job = receivables_job(context, client, tmp_path, customer)
    job = Uploads(context, client).run(job, PATIENT)
    assert job.state is State.IN_DOUBT
    assert count_titles(client, customer) == 0
    assert Uploads(context, client).run(job, PATIENT).state is State.IN_DOUBT
    assert Uploads(context, client).run(job, AT_ONCE).state is State.DONE
    assert count_titles(client, customer) == 1


def test_a_start_that_is_declined_to_the_end_is_in_doubt(
    context: UploadContext, client: Client, proxy: LossyProxy, customer: int, tmp_path: Path
) -> None:
    """A declined request may still arrive, long after its file was seen as pending."""
    proxy.decide = lambda _method, path: "unavailable" if "processar-arquivo" in path else "pass"
    job = Uploads(context, client).run(
        receivables_job(context, client, tmp_path, customer), PATIENT
    )
    assert (job.state, count_titles(client, customer)) == (State.IN_DOUBT, 0)
    starts = sum("processar-arquivo" in path for _, path in proxy.seen)
    assert [event.state for event in job.events].count(State.STARTING) == starts > 1
    proxy.decide = lambda _method, _path: "pass"
    assert Uploads(context, client).run(job, PATIENT).state is State.IN_DOUBT
    assert Uploads(context, client).run(job, AT_ONCE).state is State.DONE
    assert count_titles(client, customer) == 1


@pytest.mark.parametrize("sent", [True, False])
def test_a_late_start_does_not_overwrite_records_written_meanwhile(
    context: UploadContext,
    client: Client,
    proxy: LossyProxy,
    customer: int,
    make_receivables: Callable[..., Path],
    tmp_path: Path,
    sent: bool,
) -> None:
    """The late start is ignored whether the file was staged or its job only planned."""
    clock = FakeClock()
    with (
        closing(Journal(tmp_path / "journal.db", now=clock)) as journal,
        closing(Journal(tmp_path / "elsewhere.db")) as elsewhere,
    ):
        first_context, other = (
            replace(context, journal=journal),
            replace(context, journal=elsewhere),
        )
        document = new_cnpj()
        path = make_receivables(customer, document, "Mensalidade")
        proxy.fail_once("lose request", "processar-arquivo")
        job = write_job(first_context, client, path, "queue")
        if sent:
            assert Uploads(first_context, client).run(job, PATIENT).state is State.IN_DOUBT
        changed = make_receivables(customer, document, "Mensalidade, revista", name="b.xlsx")
        elsewhere_job = Uploads(other, client).run(write_job(other, client, changed, "direct"), YES)
        assert elsewhere_job.state is State.DONE
        clock.advance(3600)
        Uploads(first_context, client).run(journal.job(job.id), AT_ONCE)
        assert count_titles(client, customer) == 1
        assert journal.job(job.id).state is State.ABANDONED
        again = write_job(first_context, client, path, "queue")
        assert (again.spec.rows, again.held) == ((), 1)


@pytest.mark.parametrize("killed_in", [State.STAGING, State.STAGED, State.STARTING, State.POLLING])
def test_a_job_killed_in_any_state_is_applied_once(
    context: UploadContext, client: Client, customer: int, tmp_path: Path, killed_in: State
) -> None:
    """The process died right after storing a state; its request was executed."""
    job = receivables_job(context, client, tmp_path, customer)
    payload = context.load_payload(job.spec.payload)
    file = UploadFile(f"contasreceber-{job.id}.xlsx", payload)
    log_id = client.call(IMPORT_QUEUE, path={"resource": "contasreceber"}, file=file)
    if killed_in in {State.STARTING, State.POLLING}:
        client.call(IMPORT_PROCESS, path={"id": log_id})
        while client.call(IMPORT_LOG, path={"id": log_id}).situacao == ImportState.PENDING:
            time.sleep(0.02)
    for state in (State.STAGING, State.STAGED, State.STARTING, State.POLLING):
        job = context.journal.record(job, state, attempt=1, log_id=log_id)
        if state is killed_in:
            break
    resumed = Uploads(context, client).run(job, QUICK)
    assert resumed.state is State.DONE
    assert count_titles(client, customer) == 1
