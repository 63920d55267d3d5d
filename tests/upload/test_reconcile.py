"""A lost answer is settled by reading the rows back; if that proves nothing, a person decides.

Inside: upload.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from lossy_proxy import LossyProxy
from upload_parts import (
    AT_ONCE,
    QUICK,
    MakeClients,
    new_cnpj,
    plan_counts,
    registered,
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
from xlbridge.upload.results import RowOutcome, Verdict, job_json, job_lines
from xlbridge.upload.results.verdict import RejectedRow


def doubtful(
    context: UploadContext,
    client: Client,
    proxy: LossyProxy,
    path: Path,
    *,
    applied: bool,
    options: UploadOptions = AT_ONCE,
    look_up: bool = True,
) -> Job:
    """Return a direct import whose answer was lost, after or before it was applied."""

    def decide(_method: str, asked: str) -> str:
        lost = "importacao/cliente" in asked and "preview=true" not in asked
        return ("lose answer" if applied else "lose request") if lost else "pass"

    proxy.decide = decide  # type: ignore[assignment]
    job = write_job(context, client, path, "direct", look_up=look_up)
    return Uploads(context, client).run(job, options)


def test_rows_that_came_to_be_there_are_done(
    context: UploadContext, client: Client, proxy: LossyProxy, make_clients: MakeClients
) -> None:
    path = make_clients(new_cnpj(), new_cnpj())
    job = doubtful(context, client, proxy, path, applied=True)
    assert (job.state, job.last("reconciled")) == (State.DONE, "read back")
    assert job_json(job)["rows"] == row_counts(read=2, accepted=2)
    assert [moment for _, moment, _ in context.journal.snapshots(job.id)] == [
        "before",
        "after",
        "after",
    ]


def test_rows_that_are_not_there_need_a_person(
    context: UploadContext, client: Client, proxy: LossyProxy, make_clients: MakeClients
) -> None:
    document = new_cnpj()
    path = make_clients(document)
    job = doubtful(context, client, proxy, path, applied=False)
    assert job.state is State.NEEDS_PERSON
    assert job_json(job)["state"] == "in_doubt"
    page = Path(job.last("evidence_file")).read_text(encoding="utf-8")
    for output in (job.id, document, "rehearsal", "não está lá", "not there", "--as not-applied"):
        assert output in page
    assert client.target.password not in page
    assert "src=" not in page
    assert "default-src 'none'" in page
    assert "://" not in page.replace(client.target.base_url, "")
    assert "xlbridge resolve" in "\n".join(job_lines(job))
    proxy.decide = lambda _method, _path: "pass"
    again = Uploads(context, client).run(write_job(context, client, path, "direct"), AT_ONCE)
    (row,) = context.journal.plan_of(again)
    assert (row.reason, row.job, job_json(again)["rows"]["held"]) == ("claimed", job.id, 1)
    assert not registered(client, document)


def test_a_rejected_row_keeps_its_message_when_a_person_resolves_the_others(
    context: UploadContext, client: Client, make_clients: MakeClients
) -> None:
    job = write_job(context, client, make_clients(new_cnpj(), new_cnpj()), "records")
    rejected = RejectedRow(job.spec.rows[1], None, "cnpj", untranslated("CNPJ inválido"))
    verdict = Verdict(read=2, accepted=0, unknown=1, rejected_rows=(rejected,))
    job = context.journal.record(
        job, State.NEEDS_PERSON, verdict=verdict.to_json(), proven=[None, False]
    )
    resolved = resolve_job(context, job, Resolution.NOT_APPLIED, "looked by hand")
    report = job_json(resolved)
    assert [row["message"] for row in report["rejected"]] == ["CNPJ inválido"]
    assert report["rows"] == row_counts(read=2, rejected=2)
    assert resolved.outcomes == (RowOutcome.NOT_WRITTEN, RowOutcome.REJECTED)
    assert write_job(context, client, Path(job.spec.file), "records").last("writes") == 2


def test_a_person_s_word_frees_the_rows_or_keeps_them(
    context: UploadContext, client: Client, proxy: LossyProxy, make_clients: MakeClients
) -> None:
    gone = make_clients(new_cnpj(), name="gone.xlsx")
    job = doubtful(context, client, proxy, gone, applied=False)
    with pytest.raises(UsageError, match="reason"):
        resolve_job(context, job, Resolution.NOT_APPLIED, " ")
    resolved = resolve_job(context, job, Resolution.NOT_APPLIED, "looked by hand")
    assert (resolved.state, resolved.last("resolved")["reason"]) == (
        State.ABANDONED,
        "looked by hand",
    )
    assert "@" in resolved.last("resolved")["by"]
    proxy.decide = lambda _method, _path: "pass"
    assert (
        Uploads(context, client).run(write_job(context, client, gone, "direct"), AT_ONCE).state
        is State.DONE
    )
    there = make_clients(new_cnpj(), name="there.xlsx")
    job = doubtful(context, client, proxy, there, applied=True, look_up=False)
    assert job.state is State.NEEDS_PERSON
    resolved = resolve_job(context, job, Resolution.APPLIED, "seen in the list of clients")
    assert job_json(resolved)["rows"]["accepted"] == 1
    proxy.decide = lambda _method, _path: "pass"
    again = write_job(context, client, there, "direct")
    assert again.last("plan") == plan_counts(unchanged=1)
    with pytest.raises(UsageError, match="not in doubt"):
        resolve_job(context, resolved, Resolution.NOT_APPLIED, "again")


def test_only_time_tells_that_rows_do_not_come_any_more(
    context: UploadContext, client: Client, proxy: LossyProxy, make_clients: MakeClients
) -> None:
    clock = [datetime(2026, 11, 2, 9, 0)]
    journal = Journal(context.settings.journal, now=lambda: clock[0])
    timed = UploadContext(context.settings, context.catalogue, journal)
    document = new_cnpj()
    path = make_clients(document)
    job = doubtful(timed, client, proxy, path, applied=True, options=QUICK)
    assert job.state is State.IN_DOUBT
    clock[0] += timedelta(seconds=899)
    assert Uploads(timed, client).run(job, QUICK).state is State.IN_DOUBT
    clock[0] += timedelta(seconds=1)
    assert Uploads(timed, client).run(job, QUICK).state is State.DONE
    assert registered(client, document)
    journal.close()


def test_nobody_can_deny_rows_that_may_still_come(
    context: UploadContext, client: Client, proxy: LossyProxy, make_clients: MakeClients
) -> None:
    settings = replace(context.settings, settle=900)
    hasty = UploadContext(settings, context.catalogue, context.journal)
    path = make_clients(new_cnpj())
    job = doubtful(hasty, client, proxy, path, applied=False, options=QUICK)
    with pytest.raises(UsageError, match="may still arrive"):
        resolve_job(hasty, job, Resolution.NOT_APPLIED, "not there")
    resolved = resolve_job(hasty, job, Resolution.APPLIED, "seen")
    assert resolved.state is State.DONE


def reading(key: str, sent: str, *found: str) -> RowSnapshot:
    """Return the snapshot of a row with a key and a value, and the values of its records."""
    records = tuple(FoundRecord(f"c{i}", {"v": v}, v == sent) for i, v in enumerate(found))
    return RowSnapshot({"k": key}, {"v": sent}, records)


@pytest.mark.parametrize(
    ("before", "after", "existing", "proven"),
    [
        ((reading("1", "a"),), (reading("1", "a", "a"),), ExistingPolicy.ADDED, [True]),
        ((reading("1", "a"),), (reading("1", "a", "b"),), ExistingPolicy.ADDED, [None]),
        ((reading("1", "a", "a"),), (reading("1", "a", "a"),), ExistingPolicy.REFUSED, [False]),
        ((reading("1", "a", "a"),), (reading("1", "a", "a", "a"),), ExistingPolicy.ADDED, [True]),
        ((reading("1", "a", "b"),), (reading("1", "a", "a"),), ExistingPolicy.REPLACED, [True]),
        ((reading("1", "a", "a"),), (reading("1", "a", "a"),), ExistingPolicy.REPLACED, [True]),
        (
            (reading("1", "a"), reading("1", "a"), None),
            (reading("1", "a", "a"), reading("1", "a", "a"), None),
            ExistingPolicy.ADDED,
            [True, False, None],
        ),
        ((reading("1", "a", "b"),), (reading("1", "a", "b"),), ExistingPolicy.ADDED, [False]),
        ((None,), (reading("1", "a", "a"),), ExistingPolicy.ADDED, [None]),
        (
            (reading("1", "a"), reading("1", "b")),
            (reading("1", "a", "a", "b"), reading("1", "b", "a", "b")),
            ExistingPolicy.ADDED,
            [True, True],
        ),
    ],
)
def test_what_two_readings_prove(
    before: Snapshot, after: Snapshot, existing: ExistingPolicy, proven: list[bool | None]
) -> None:
    assert applied_rows(before, after, existing) == proven


@pytest.mark.parametrize(
    ("value", "compared"), [("1e2", "100"), ("1e999999999", "1e999999999"), ("muito", "muito")]
)
def test_a_number_is_compared_by_its_value_unless_it_is_beyond_all(
    value: str, compared: str
) -> None:
    assert comparable_value(Kind.MONEY, value) == compared


def test_instalments_of_one_document_are_told_apart(
    context: UploadContext,
    client: Client,
    proxy: LossyProxy,
    customer: int,
    make_receivables: Callable[..., Path],
) -> None:
    """Three titles with one number: one that existed before does not count as new."""
    first = make_receivables(customer, "NF-1", "parcela 1", name="first.xlsx")
    assert (
        Uploads(context, client).run(write_job(context, client, first, "direct"), AT_ONCE).state
        is State.DONE
    )
    proxy.lose_once("lose answer", "importacao/contasreceber")
    rest = make_receivables(customer, "NF-1", "parcela 2", "parcela 3", day=2)
    options = replace(AT_ONCE, preview=False)
    job = Uploads(context, client).run(write_job(context, client, rest, "direct"), options)
    assert job.last("plan") == plan_counts(create=2)
    assert (job.state, job.last("reconciled")) == (State.DONE, "read back")
    more = make_receivables(customer, "NF-1", "parcela 4", "parcela 3", name="more.xlsx", day=2)
    planned = write_job(context, client, more, "direct")
    assert planned.last("plan") == plan_counts(unchanged=1, held=1)


def test_a_page_without_readings_shows_what_was_sent_as_text(
    context: UploadContext, client: Client, proxy: LossyProxy, make_clients: MakeClients
) -> None:
    path = make_clients("", called="<b>Sem</b> documento & cia")
    job = doubtful(context, client, proxy, path, applied=True)
    assert job.state is State.NEEDS_PERSON
    page = Path(job.last("evidence_file")).read_text(encoding="utf-8")
    assert "&lt;b&gt;Sem&lt;/b&gt; documento &amp; cia" in page
    assert "Nothing was read" in page


def test_the_settle_time_is_never_shorter_than_two_timeouts() -> None:
    far = Target("real", "https://erp.example.com", "user@example.com", "secret")
    near = Target("near", "http://127.0.0.1:9", "user@example.com", "secret")
    with Client(far, timeout=45) as distant, Client(near, timeout=45) as local:
        assert (distant.least_settle, local.least_settle) == (90, 0)
