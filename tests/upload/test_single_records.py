"""Rows sent one by one, by the command line, checked by their requests."""

import json
import random
import re
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from environment import Xlbridge
from fake_clock import FakeClock
from lossy_proxy import LossyProxy, ProxyFault
from record_parts import (
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
from sampling import every
from sheets import GOOD, column_of, write_records
from update_parts import Run, titles
from upload_parts import AT_ONCE, accepted_rows, new_cnpj, send_sheet

from xlbridge.client import Client
from xlbridge.errors import InDoubt, TransportError
from xlbridge.upload import Journal, State, UploadContext, Uploads
from xlbridge.upload.requests import RowOutcome
from xlbridge.validation import validate_workbook

POST_TYPE = ("POST", TYPES)
KillWhileWriting = Callable[..., None]


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
    codes = [column_of(copy, "Code in the system")[row - 2] for row in (2, 3, 4)]
    assert sorted(map(str, codes)) == sorted(codes_of(client, names))


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


@pytest.mark.parametrize("seed", every(2, [1, 2]))
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
