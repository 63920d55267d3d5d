"""Decisions of persons: they concern what is in doubt, and nothing else."""

from collections.abc import Callable
from pathlib import Path

import pytest
from environment import Xlbridge
from lossy_proxy import LossyProxy
from record_parts import TYPES, codes_of, make_types, new_descriptions
from update_parts import Run, newest_job, titles, writes
from upload_parts import AT_ONCE, MakeClients, new_cnpj, registered, write_job

from xlbridge.client import Client
from xlbridge.errors import UsageError, XlbridgeError
from xlbridge.upload import Resolution, State, UploadContext, Uploads, resolve_job

KillWhileWriting = Callable[..., None]


def test_records_that_were_never_sent_are_not_declared_applied(
    client: Client,
    proxy: LossyProxy,
    run: Run,
    kill_while_writing: KillWhileWriting,
    tmp_path: Path,
) -> None:
    names = new_descriptions(4)
    path = make_types(tmp_path / "tipos.xlsx", names)
    kill_while_writing(
        "POST",
        ["upload", str(path), "--yes"],
        committed=True,
        is_committed=lambda: len(codes_of(client, names)) == 2,
        path_part=TYPES,
        after=1,
    )
    code, report = run("resolve", newest_job(run), "--as", "applied", "--reason", "Conferido")
    rows = report["rows"]
    assert (code, report["state"], rows["accepted"], rows["rejected"]) == (0, "partial", 2, 2)
    proxy.decide = lambda _method, _path: "pass"
    proxy.seen.clear()
    code, report = run("retry", report["job"], "--yes")
    assert (code, report["rows"]["created"], len(writes(proxy))) == (0, 2, 2), report
    assert len(codes_of(client, names)) == 4


def test_an_interrupted_request_may_still_arrive(
    client: Client,
    run: Run,
    xlbridge: Xlbridge,
    proxy_environment: dict[str, str],
    kill_while_writing: KillWhileWriting,
    tmp_path: Path,
) -> None:
    names = new_descriptions(2)
    path = make_types(tmp_path / "tipos.xlsx", names)
    kill_while_writing(
        "POST",
        ["upload", str(path), "--yes"],
        committed=True,
        is_committed=lambda: len(codes_of(client, names)) == 1,
        path_part=TYPES,
    )
    job = newest_job(run)
    decision = ("resolve", job, "--as", "not-applied", "--reason", "Conferido")
    refused = xlbridge(*decision, **proxy_environment)
    assert refused.returncode == 2
    assert f"xlbridge resume {job}" in refused.stderr
    code, report = run("resume", job, "--yes")
    assert (code, report["rows"]["accepted"]) == (0, 2)


def test_a_decision_about_a_sheet_concerns_its_parts_in_doubt(
    context: UploadContext, client: Client, make_clients: MakeClients
) -> None:
    documents = [new_cnpj() for _ in range(6)]
    job = write_job(context, client, make_clients(*documents), "direct", chunk_rows=2)
    first, second, _ = context.journal.parts_of(job)
    context.journal.record(job, State.SENDING_PARTS)
    context.journal.record(first, State.SENDING, attempt=1)
    resolved = resolve_job(context, context.journal.job(job.id), Resolution.APPLIED, "seen")
    assert context.journal.job(first.id).state is State.DONE
    assert context.journal.job(second.id).state is State.PREPARED
    assert resolved.state is State.SENDING_PARTS
    with pytest.raises(UsageError, match="not in doubt"):
        resolve_job(context, resolved, Resolution.APPLIED, "seen")
    done = Uploads(context, client).run(resolved, AT_ONCE)
    assert done.state is State.DONE
    assert [registered(client, document) for document in documents] == [False] * 2 + [True] * 4


def test_a_decision_about_several_parts_is_recorded_for_all_or_none(
    context: UploadContext, client: Client, proxy: LossyProxy, make_clients: MakeClients
) -> None:
    """A command that ends in between leaves all undecided, and the decision can be repeated."""
    path = make_clients(*(new_cnpj() for _ in range(4)))
    job = write_job(context, client, path, "direct", chunk_rows=2)
    proxy.decide = lambda _method, asked: "lose request" if "preview=false" in asked else "pass"
    job = Uploads(context, client).run(job, AT_ONCE)
    assert job.state is State.NEEDS_PERSON
    second = context.journal.parts_of(job)[1]
    context.journal._db.execute(
        f"CREATE TEMP TRIGGER stop BEFORE INSERT ON events WHEN NEW.job = '{second.id}' "
        "BEGIN SELECT RAISE(ABORT, 'stopped'); END"
    )
    with pytest.raises(XlbridgeError, match="stopped"):
        resolve_job(context, job, Resolution.NOT_APPLIED, "not there")
    found = [context.journal.job(job.id), *context.journal.parts_of(job)]
    assert [one.state for one in found] == [State.NEEDS_PERSON] * 3
    context.journal._db.execute("DROP TRIGGER stop")
    decided = resolve_job(context, job, Resolution.NOT_APPLIED, "not there")
    assert decided.state is State.ABANDONED


def test_rows_that_a_person_says_are_reversed_can_be_sent_again(
    client: Client,
    proxy: LossyProxy,
    run: Run,
    kill_while_writing: KillWhileWriting,
    payables: Path,
) -> None:
    uploaded, before = newest_job(run), titles(client)
    kill_while_writing(
        "DELETE",
        ["undo", uploaded, "--yes"],
        committed=True,
        is_committed=lambda: len(titles(client)) < len(before),
    )
    code, report = run("resolve", newest_job(run), "--as", "applied", "--reason", "Conferido")
    assert (code, report["rows"]) == (0, {"read": 3, "undone": 1, "left": 2, "unknown": 0})
    rows = run("jobs", uploaded)[1]["rows"]
    assert (rows["accepted"], rows["undone"], rows["unknown"]) == (2, 1, 0)
    proxy.decide = lambda _method, _path: "pass"
    proxy.seen.clear()
    code, report = run("upload", payables, "--yes")
    assert (code, report["rows"]["created"], report["rows"]["unchanged"]) == (0, 1, 2), report
    assert len(titles(client)) == len(before)
