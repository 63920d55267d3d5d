"""The three ways of sending, against the real sandbox over a real socket."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from upload_parts import (
    YES,
    MakeClients,
    existing_cnpj,
    new_cnpj,
    plan_counts,
    registered,
    row_counts,
    write_job,
)

from xlbridge.client import Client
from xlbridge.errors import JournalError, UsageError
from xlbridge.resources import Mode
from xlbridge.upload import (
    Journal,
    State,
    UploadContext,
    Uploads,
    sent_rows,
)
from xlbridge.upload.planning import (
    ConsentRequest,
    RowAction,
    RowReason,
)
from xlbridge.upload.results import ensure_evidence, job_json


def test_a_preview_writes_nothing(
    context: UploadContext, client: Client, make_clients: MakeClients
) -> None:
    document = new_cnpj()
    path = make_clients(document)
    job = Uploads(context, client).run(write_job(context, client, path, "preview"), YES)
    assert (job.state, job.known.previewed) == (State.PREVIEWED, 1)
    assert not registered(client, document)
    assert (
        Uploads(context, client).run(write_job(context, client, path, "direct"), YES).state
        is State.DONE
    )


def test_rows_are_sent_twice_for_a_reason(
    context: UploadContext, client: Client, make_clients: MakeClients
) -> None:
    document = new_cnpj()
    path = make_clients(document)
    Uploads(context, client).run(write_job(context, client, path, "direct"), YES)
    with pytest.raises(UsageError, match="reason"):
        write_job(context, client, path, "direct", again=" ")
    again = write_job(context, client, path, "direct", again="the first was deleted by hand")
    assert again.notes.plan == plan_counts(create=1)
    assert again.notes.planning["again"] == "the first was deleted by hand"


def test_an_unsent_job_is_reused_with_the_latest_options_and_rows(
    context: UploadContext, client: Client, make_clients: MakeClients
) -> None:
    first_cnpj, second_cnpj = new_cnpj(), new_cnpj()
    path = make_clients(first_cnpj, second_cnpj)
    first = write_job(context, client, path, "direct")
    assert write_job(context, client, path, "direct").id == first.id
    again = write_job(context, client, path, "direct", again="asked for again")
    assert again.id == first.id
    assert again.notes.planning["again"] == "asked for again"
    moved = write_job(
        context, client, make_clients(second_cnpj, first_cnpj, name="outra.xlsx"), "direct"
    )
    assert Path(moved.spec.file).name == "outra.xlsx"
    assert [row["cnpj"] for row in sent_rows(context, moved)] == [second_cnpj, first_cnpj]
    assert context.journal.job(first.id).state is State.ABANDONED


def test_a_job_with_options_of_another_version_can_be_run(
    context: UploadContext, client: Client, make_clients: MakeClients
) -> None:
    job = write_job(context, client, make_clients(new_cnpj()), "direct")
    with closing(sqlite3.connect(context.settings.journal)) as db, db:
        db.execute(
            "UPDATE events SET detail = json_set(json_remove(detail, '$.planning.clear', "
            "'$.planned'), '$.planning.of_a_later_version', 1)"
        )
    ended = Uploads(context, client).run(context.journal.job(job.id), YES)
    assert ended.state is State.DONE


def test_without_lookup_the_journal_recognises_sent_rows(
    context: UploadContext, client: Client, make_clients: MakeClients
) -> None:
    document = new_cnpj()
    first = Uploads(context, client).run(
        write_job(context, client, make_clients(document), "direct"), YES
    )
    same = make_clients(document, name="copia.xlsx")
    other = make_clients(document, name="outra.xlsx", label="Outro")
    for path, action, reason in (
        (same, RowAction.UNCHANGED, RowReason.SENT_BEFORE),
        (other, RowAction.HELD, RowReason.DIFFERS),
    ):
        job = write_job(context, client, path, "direct", look_up=False)
        (row,) = context.journal.plan_of(job)
        assert (row.action, row.reason, row.job) == (action, reason, first.id)


def test_only_accepted_rows_of_a_partial_upload_stay_claimed(
    context: UploadContext, client: Client, make_clients: MakeClients
) -> None:
    existing, fresh = existing_cnpj(client), new_cnpj()
    path = make_clients(fresh, existing, label="Outro")
    job = write_job(context, client, path, "queue", look_up=False)
    assert Uploads(context, client).run(job, YES).state is State.PARTIAL
    again = write_job(context, client, path, "queue", look_up=False)
    assert again.notes.plan == plan_counts(unchanged=1, unread=1)
    assert again.spec.rows == (5,)


def test_declined_consent_sends_nothing_and_releases_the_rows(
    context: UploadContext, client: Client, make_clients: MakeClients
) -> None:
    document = new_cnpj()
    path = make_clients(document)
    previewed: list[int | None] = []

    def decline(request: ConsentRequest) -> bool:
        previewed.append(request.job.known.previewed)
        return False

    job = Uploads(context, client).run(
        write_job(context, client, path, "direct"), replace(YES, consent=decline)
    )
    assert (job.state, previewed) == (State.ABANDONED, [1])
    assert not registered(client, document)
    assert (
        Uploads(context, client).run(write_job(context, client, path, "direct"), YES).state
        is State.DONE
    )


def test_an_upload_without_waiting_is_resumed_later(
    context: UploadContext, client: Client, make_clients: MakeClients
) -> None:
    options = replace(YES, wait=False)
    job = Uploads(context, client).run(
        write_job(context, client, make_clients(new_cnpj()), "queue"), options
    )
    report = job_json(context.journal, job)
    assert report["state"] == "processing"
    assert report["rows"] == row_counts(read=1, unknown=1)
    assert Uploads(context, client).run(job, YES).state is State.DONE


def test_a_mode_the_resource_does_not_support_is_refused(context: UploadContext) -> None:
    with pytest.raises(UsageError, match="direct, preview"):
        replace(YES, mode="queue").choose_mode(context.catalogue["enderecamento-de-produto"])
    assert (
        replace(YES, mode="auto").choose_mode(context.catalogue["enderecamento-de-produto"]).mode
        is Mode.DIRECT
    )


def test_a_resource_without_import_is_sent_as_single_records(context: UploadContext) -> None:
    resource = context.catalogue["tipo-de-produto"]
    assert replace(YES, mode="auto").choose_mode(resource).mode is Mode.RECORDS
    assert replace(YES, mode="records").choose_mode(resource).mode is Mode.RECORDS
    for mode in ("direct", "queue", "preview"):
        with pytest.raises(UsageError, match="it accepts: records") as refused:
            replace(YES, mode=mode).choose_mode(resource)
        assert "one by one" in str(refused.value.hint)


def test_a_job_of_another_environment_is_refused(
    context: UploadContext, client: Client, make_clients: MakeClients
) -> None:
    job = write_job(context, client, make_clients(new_cnpj()), "direct")
    elsewhere = replace(job, spec=replace(job.spec, system="elsewhere", profile="elsewhere"))
    with pytest.raises(UsageError, match="elsewhere"):
        Uploads(context, client).run(elsewhere, YES)


def test_an_unsent_job_is_abandoned_for_another_mode(
    context: UploadContext, client: Client, make_clients: MakeClients
) -> None:
    path = make_clients(new_cnpj())
    first = write_job(context, client, path, "direct")
    second = write_job(context, client, path, "queue")
    assert context.journal.job(first.id).state is State.ABANDONED
    with pytest.raises(JournalError, match=first.id):
        context.journal.record(first, State.SENDING)
    assert Uploads(context, client).run(second, YES).state is State.DONE


def test_a_job_without_rows_is_abandoned_when_its_edited_workbook_is_planned(
    context: UploadContext, client: Client, make_clients: MakeClients
) -> None:
    known = new_cnpj()
    path = make_clients(known)
    uploads = Uploads(context, client)
    uploads.run(write_job(context, client, path, "direct"), YES)
    first = write_job(context, client, path, "direct")
    assert (first.state, first.spec.rows) == (State.PREPARED, ())
    assert make_clients(known, new_cnpj()) == path
    with pytest.raises(UsageError, match="has changed"):
        uploads.run(first, YES)
    second = write_job(context, client, path, "direct")
    assert context.journal.job(first.id).state is State.ABANDONED
    assert uploads.run(second, YES).state is State.DONE


def test_an_unsent_job_is_abandoned_when_nothing_of_its_edited_workbook_is_left_to_send(
    context: UploadContext, client: Client, make_clients: MakeClients
) -> None:
    known = new_cnpj()
    path = make_clients(known)
    uploads = Uploads(context, client)
    uploads.run(write_job(context, client, path, "direct"), YES)
    unsent = write_job(context, client, path, "direct", again="lost in the system")
    assert len(unsent.spec.rows) == 1
    make_clients(known, label="Outro nome de")
    current = write_job(context, client, path, "direct")
    assert current.spec.rows == ()
    assert context.journal.job(unsent.id).state is State.ABANDONED


def test_a_journal_that_cannot_be_opened_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(UsageError, match="journal"):
        Journal(tmp_path / "file" / "journal.db")


def test_rejects_are_written_to_the_home_if_the_folder_is_gone(
    context: UploadContext, client: Client, make_clients: MakeClients
) -> None:
    path = make_clients(existing_cnpj(client), new_cnpj(), label="Outro")
    moved = path.parent / "gone" / path.name
    moved.parent.mkdir()
    path.rename(moved)
    job = write_job(context, client, moved, "direct")
    moved.unlink()
    moved.parent.rmdir()
    rejects = Path(Uploads(context, client).run(job, YES).notes.rejects_file)
    assert rejects.is_relative_to(context.settings.home)
    rejects.unlink()
    assert Path(ensure_evidence(context, context.journal.job(job.id)).notes.rejects_file).exists()
