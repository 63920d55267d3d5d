"""A lost answer is settled by reading the rows back; if that proves nothing, a person decides.

Inside: upload.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from fake_clock import FakeClock
from lossy_proxy import LossyProxy
from upload_parts import (
    AT_ONCE,
    QUICK,
    MakeClients,
    new_cnpj,
    plan_counts,
    registered,
    report_lines,
    row_counts,
    write_job,
)

from xlbridge.client import Client, Target
from xlbridge.errors import UsageError
from xlbridge.i18n import untranslated
from xlbridge.resources import Kind
from xlbridge.resources.remote import ExistingPolicy
from xlbridge.upload import (
    Job,
    Journal,
    Resolution,
    State,
    UploadContext,
    UploadOptions,
    Uploads,
    resolve_job,
)
from xlbridge.upload.lookup import FoundRecord, RowSnapshot, comparable_value
from xlbridge.upload.lookup.snapshot import Snapshot, applied_rows
from xlbridge.upload.requests import RejectedRow, RowOutcome, Verdict
from xlbridge.upload.results import job_json


def run_with_lost_answer(
    context: UploadContext,
    client: Client,
    proxy: LossyProxy,
    path: Path,
    *,
    applied: bool,
    options: UploadOptions = AT_ONCE,
    look_up: bool = True,
) -> Job:
    """Run a direct import whose answer is lost, after or before it is applied."""

    def decide(_method: str, request_path: str) -> str:
        lost = "importacao/cliente" in request_path and "preview=true" not in request_path
        return ("lose answer" if applied else "lose request") if lost else "pass"

    proxy.decide = decide  # type: ignore[assignment]
    job = write_job(context, client, path, "direct", look_up=look_up)
    return Uploads(context, client).run(job, options)


def was_read_back(job: Job) -> bool:
    return any(event.detail.get("reconciled") == "read back" for event in job.events)


def test_rows_found_after_a_lost_answer_are_done(
    context: UploadContext, client: Client, proxy: LossyProxy, make_clients: MakeClients
) -> None:
    path = make_clients(new_cnpj(), new_cnpj())
    job = run_with_lost_answer(context, client, proxy, path, applied=True)
    assert (job.state, was_read_back(job)) == (State.DONE, True)
    assert job_json(context.journal, job)["rows"] == row_counts(read=2, accepted=2)
    assert [moment for _, moment, _ in context.journal.snapshots.all_of(job.id)] == [
        "before",
        "after",
        "after",
    ]


def test_rows_not_found_after_a_lost_answer_need_a_person(
    context: UploadContext, client: Client, proxy: LossyProxy, make_clients: MakeClients
) -> None:
    document = new_cnpj()
    path = make_clients(document)
    job = run_with_lost_answer(context, client, proxy, path, applied=False)
    assert job.state is State.NEEDS_PERSON
    assert job_json(context.journal, job)["state"] == "in_doubt"
    page = Path(job.notes.evidence_file).read_text(encoding="utf-8")
    for expected in (job.id, document, "rehearsal", "not there", "--as not-applied"):
        assert expected in page
    assert client.target.password not in page
    assert "src=" not in page
    assert "default-src 'none'" in page
    assert "://" not in page.replace(client.target.base_url, "")
    assert "xlbridge resolve" in "\n".join(report_lines(context.journal, job))
    proxy.decide = lambda _method, _path: "pass"
    again = Uploads(context, client).run(write_job(context, client, path, "direct"), AT_ONCE)
    (row,) = context.journal.plan_of(again)
    assert (row.reason, row.job, job_json(context.journal, again)["rows"]["held"]) == (
        "claimed",
        job.id,
        1,
    )
    assert not registered(client, document)


def test_a_rejected_row_keeps_its_message_when_a_person_resolves_the_others(
    context: UploadContext, client: Client, make_clients: MakeClients
) -> None:
    job = write_job(context, client, make_clients(new_cnpj(), new_cnpj()), "records")
    rejected = RejectedRow(job.spec.rows[1], None, "cnpj", untranslated("CNPJ inválido"))
    verdict = Verdict.of_rejections(job.spec.rows, [rejected], RowOutcome.UNKNOWN)
    job = context.journal.record(job, State.NEEDS_PERSON, verdict=verdict)
    resolved = resolve_job(context, job, Resolution.NOT_APPLIED, "looked by hand")
    report = job_json(context.journal, resolved)
    assert [row["message"] for row in report["rejected"]] == ["CNPJ inválido"]
    assert report["rows"] == row_counts(read=2, rejected=2)
    outcomes = context.journal.changes.outcomes(resolved.id)
    assert outcomes == [RowOutcome.NOT_WRITTEN, RowOutcome.REJECTED]
    assert write_job(context, client, Path(job.spec.file), "records").notes.writes == 2


def test_a_manual_resolution_releases_or_keeps_the_rows(
    context: UploadContext, client: Client, proxy: LossyProxy, make_clients: MakeClients
) -> None:
    lost = make_clients(new_cnpj(), name="lost.xlsx")
    job = run_with_lost_answer(context, client, proxy, lost, applied=False)
    with pytest.raises(UsageError, match="reason"):
        resolve_job(context, job, Resolution.NOT_APPLIED, " ")
    resolved = resolve_job(context, job, Resolution.NOT_APPLIED, "looked by hand")
    assert (resolved.state, resolved.notes.resolved["reason"]) == (
        State.ABANDONED,
        "looked by hand",
    )
    assert "@" in resolved.notes.resolved["by"]
    proxy.decide = lambda _method, _path: "pass"
    assert (
        Uploads(context, client).run(write_job(context, client, lost, "direct"), AT_ONCE).state
        is State.DONE
    )
    applied = make_clients(new_cnpj(), name="applied.xlsx")
    job = run_with_lost_answer(context, client, proxy, applied, applied=True, look_up=False)
    assert job.state is State.NEEDS_PERSON
    resolved = resolve_job(context, job, Resolution.APPLIED, "seen in the list of clients")
    assert job_json(context.journal, resolved)["rows"]["accepted"] == 1
    proxy.decide = lambda _method, _path: "pass"
    again = write_job(context, client, applied, "direct")
    assert again.notes.plan == plan_counts(unchanged=1)
    with pytest.raises(UsageError, match="not in doubt"):
        resolve_job(context, resolved, Resolution.NOT_APPLIED, "again")


def test_missing_rows_prove_something_only_after_the_settle_time(
    context: UploadContext, client: Client, proxy: LossyProxy, make_clients: MakeClients
) -> None:
    clock = FakeClock()
    journal = Journal(context.settings.journal, now=clock)
    timed = UploadContext(context.settings, context.catalogue, journal)
    path = make_clients(new_cnpj())
    job = run_with_lost_answer(timed, client, proxy, path, applied=False, options=QUICK)
    assert job.state is State.IN_DOUBT
    clock.advance(899)
    assert Uploads(timed, client).run(job, QUICK).state is State.IN_DOUBT
    clock.advance(1)
    assert Uploads(timed, client).run(job, QUICK).state is State.NEEDS_PERSON
    journal.close()


def test_rows_that_are_there_end_a_doubt_at_once(
    context: UploadContext, client: Client, proxy: LossyProxy, make_clients: MakeClients
) -> None:
    path = make_clients(new_cnpj())
    job = run_with_lost_answer(context, client, proxy, path, applied=True, options=QUICK)
    assert (job.state, was_read_back(job)) == (State.DONE, True)


def test_rows_cannot_be_resolved_as_not_applied_before_the_settle_time(
    context: UploadContext, client: Client, proxy: LossyProxy, make_clients: MakeClients
) -> None:
    settings = replace(context.settings, settle=900)
    settling = UploadContext(settings, context.catalogue, context.journal)
    path = make_clients(new_cnpj())
    job = run_with_lost_answer(settling, client, proxy, path, applied=False, options=QUICK)
    with pytest.raises(UsageError, match="may still arrive"):
        resolve_job(settling, job, Resolution.NOT_APPLIED, "not there")
    resolved = resolve_job(settling, job, Resolution.APPLIED, "seen")
    assert resolved.state is State.DONE


def snapshot(key: str, sent: str, *found: str) -> RowSnapshot:
    """Return the snapshot of a row with a key and a value; ``found`` are its records' values."""
    records = tuple(FoundRecord(f"c{i}", {"v": v}, v == sent) for i, v in enumerate(found))
    return RowSnapshot({"k": key}, records, {"v": sent})


@pytest.mark.parametrize(
    ("before", "after", "existing", "proven"),
    [
        ((snapshot("1", "a"),), (snapshot("1", "a", "a"),), ExistingPolicy.ADDED, [True]),
        ((snapshot("1", "a"),), (snapshot("1", "a", "b"),), ExistingPolicy.ADDED, [None]),
        ((snapshot("1", "a", "a"),), (snapshot("1", "a", "a"),), ExistingPolicy.REFUSED, [False]),
        ((snapshot("1", "a", "a"),), (snapshot("1", "a", "a", "a"),), ExistingPolicy.ADDED, [True]),
        ((snapshot("1", "a", "b"),), (snapshot("1", "a", "a"),), ExistingPolicy.REPLACED, [True]),
        ((snapshot("1", "a", "a"),), (snapshot("1", "a", "a"),), ExistingPolicy.REPLACED, [True]),
        (
            (snapshot("1", "a"), snapshot("1", "a"), None),
            (snapshot("1", "a", "a"), snapshot("1", "a", "a"), None),
            ExistingPolicy.ADDED,
            [True, False, None],
        ),
        ((snapshot("1", "a", "b"),), (snapshot("1", "a", "b"),), ExistingPolicy.ADDED, [False]),
        ((None,), (snapshot("1", "a", "a"),), ExistingPolicy.ADDED, [None]),
        (
            (snapshot("1", "a"), snapshot("1", "b")),
            (snapshot("1", "a", "a", "b"), snapshot("1", "b", "a", "b")),
            ExistingPolicy.ADDED,
            [True, True],
        ),
    ],
)
def test_two_snapshots_prove_which_rows_were_applied(
    before: Snapshot, after: Snapshot, existing: ExistingPolicy, proven: list[bool | None]
) -> None:
    assert applied_rows(before, after, existing) == proven


@pytest.mark.parametrize(
    ("value", "compared"), [("1e2", "100"), ("1e999999999", "1e999999999"), ("muito", "muito")]
)
def test_numbers_are_compared_by_value_unless_they_are_too_large(value: str, compared: str) -> None:
    assert comparable_value(Kind.MONEY, value) == compared


def test_instalments_of_one_document_are_distinguished(
    context: UploadContext,
    client: Client,
    proxy: LossyProxy,
    customer: int,
    make_receivables: Callable[..., Path],
) -> None:
    """Of three titles with one number, the one that existed before does not count as new."""
    first = make_receivables(customer, "NF-1", "parcela 1", name="first.xlsx")
    assert (
        Uploads(context, client).run(write_job(context, client, first, "direct"), AT_ONCE).state
        is State.DONE
    )
    proxy.fail_once("lose answer", "importacao/contasreceber")
    rest = make_receivables(customer, "NF-1", "parcela 2", "parcela 3", day=2)
    options = replace(AT_ONCE, preview=False)
    job = Uploads(context, client).run(write_job(context, client, rest, "direct"), options)
    assert job.notes.plan == plan_counts(create=2)
    assert (job.state, was_read_back(job)) == (State.DONE, True)
    more = make_receivables(customer, "NF-1", "parcela 4", "parcela 3", name="more.xlsx", day=2)
    planned = write_job(context, client, more, "direct")
    assert planned.notes.plan == plan_counts(unchanged=1, held=1)


def test_an_evidence_page_without_snapshots_shows_the_sent_rows_escaped(
    context: UploadContext, client: Client, proxy: LossyProxy, make_clients: MakeClients
) -> None:
    path = make_clients("", label="<b>Sem</b> documento & cia")
    job = run_with_lost_answer(context, client, proxy, path, applied=True)
    assert job.state is State.NEEDS_PERSON
    page = Path(job.notes.evidence_file).read_text(encoding="utf-8")
    assert "&lt;b&gt;Sem&lt;/b&gt; documento &amp; cia" in page
    assert "Nothing was read" in page


def test_the_settle_time_is_never_shorter_than_two_timeouts() -> None:
    far = Target("real", "https://erp.example.com", "user@example.com", "secret")
    near = Target("near", "http://127.0.0.1:9", "user@example.com", "secret")
    with Client(far, timeout=45) as distant, Client(near, timeout=45) as local:
        assert (distant.least_settle, local.least_settle) == (90, 0)
