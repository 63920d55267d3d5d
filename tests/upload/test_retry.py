"""Only corrected rejected rows are sent again.

Inside: upload.
"""

from pathlib import Path

import pytest
from openpyxl import load_workbook
from sheets import column_of, edit
from upload_parts import (
    YES,
    MakeClients,
    count_named,
    existing_cnpj,
    new_cnpj,
    plan_counts,
    registered,
    row_counts,
    write_job,
)

from xlbridge.client import Client
from xlbridge.errors import UsageError
from xlbridge.upload import (
    Job,
    RequestedMode,
    State,
    UploadContext,
    Uploads,
)
from xlbridge.upload.planning import RowAction, RowReason
from xlbridge.upload.planning.corrected_rows import corrected_rows
from xlbridge.upload.results import RowLedger, job_json
from xlbridge.validation import ValidatedSheet, validate_workbook


def rejected_job(
    context: UploadContext, client: Client, make_clients: MakeClients, mode: RequestedMode
) -> tuple[Job, str]:
    """Return a job of four rows, two of them with registered documents, and an unused document."""
    first, second, fresh = existing_cnpj(client), existing_cnpj(client), new_cnpj()
    path = make_clients(fresh, first, new_cnpj(), second, label="Outro")
    job = write_job(context, client, path, mode, look_up=False)
    return Uploads(context, client).run(job, YES), fresh


def read_rejects(context: UploadContext, job: Job) -> ValidatedSheet:
    return validate_workbook(Path(job.notes.rejects_file), context.catalogue)


def correct(job: Job, row: int, document: str) -> None:
    edit(Path(job.notes.rejects_file), "cnpj", row, document)


def send_again(context: UploadContext, client: Client, job: Job, sheet: ValidatedSheet) -> Job:
    """Send the corrected rows, as the command does."""
    uploads = Uploads(context, client)
    again = uploads.create(corrected_rows(context, job, sheet), YES)
    return uploads.run(again, YES)


def test_uncorrected_rows_are_not_sent_again(
    context: UploadContext, client: Client, make_clients: MakeClients
) -> None:
    job, _ = rejected_job(context, client, make_clients, "queue")
    assert job.state is State.PARTIAL
    assert len(read_rejects(context, job).rows) == 2
    with pytest.raises(UsageError, match="no rejected row that was corrected"):
        corrected_rows(context, job, read_rejects(context, job))
    document = new_cnpj()
    correct(job, 3, document)
    corrected = corrected_rows(context, job, read_rejects(context, job))
    ((index, held),) = corrected.set_aside.items()
    assert (index, held.reason) == (0, RowReason.REJECTED)
    assert "já está cadastrado" in str(held.why)
    again = send_again(context, client, job, read_rejects(context, job))
    assert (again.state, again.spec.retry_of) == (State.DONE, job.id)
    assert job_json(context.journal, again)["rows"] == row_counts(read=2, accepted=1, held=1)
    assert registered(client, document)
    (left,) = read_rejects(context, again).rows
    correct(again, left, new_cnpj())
    assert send_again(context, client, again, read_rejects(context, again)).state is State.DONE
    assert RowLedger.of(context.journal, job).settled(job).rows == 2


@pytest.mark.parametrize("mode", ["queue", "direct"])
def test_rows_corrected_one_after_another_are_sent_once_each(
    context: UploadContext, client: Client, make_clients: MakeClients, mode: RequestedMode
) -> None:
    job, fresh = rejected_job(context, client, make_clients, mode)
    rejects = Path(job.notes.rejects_file)
    names, originals = (column_of(rejects, name) for name in ("nomeComercial", "Original row"))
    rejected = [row.row for row in context.journal.changes.rejections(job.id)]
    first, second = (originals.index(row) + 2 for row in rejected)
    correct(job, first, new_cnpj())
    assert send_again(context, client, job, read_rejects(context, job)).state is State.DONE
    correct(job, second, new_cnpj())
    correct(job, first, new_cnpj())
    assert send_again(context, client, job, read_rejects(context, job)).state is State.DONE
    with pytest.raises(UsageError, match="not yet sent again"):
        corrected_rows(context, job, read_rejects(context, job))
    assert [count_named(client, name) for name in names] == [1] * len(names)
    assert registered(client, fresh)


def test_the_original_file_can_be_corrected_instead_of_the_rejects(
    context: UploadContext, client: Client, make_clients: MakeClients
) -> None:
    job, _ = rejected_job(context, client, make_clients, "queue")
    file = Path(job.spec.file)
    book = load_workbook(file)
    book["Clientes"].cell(5, 3).value = new_cnpj()
    book.save(file)
    again = send_again(context, client, job, validate_workbook(file, context.catalogue))
    assert job_json(context.journal, again)["rows"] == row_counts(
        read=4, accepted=1, unchanged=2, held=1
    )


def test_a_grown_sheet_sends_new_and_corrected_rows(
    context: UploadContext, client: Client, make_clients: MakeClients
) -> None:
    job, fresh = rejected_job(context, client, make_clients, "queue")
    corrected_cnpj, added = new_cnpj(), [new_cnpj(), new_cnpj()]
    file = Path(job.spec.file)
    book = load_workbook(file)
    sheet = book["Clientes"]
    sheet.cell(7, 3).value = corrected_cnpj
    sheet.insert_rows(4)
    for column, value in ((2, "Novo no alto"), (3, added[0])):
        sheet.cell(4, column).value = value
    sheet.append([None, "Novo no fim", added[1]])
    book.save(file)
    again = send_again(context, client, job, validate_workbook(file, context.catalogue))
    actions = {row.row: (row.action, row.reason) for row in context.journal.plan_of(again)}
    assert actions == {
        4: (RowAction.CREATE, None),
        5: (RowAction.UNCHANGED, RowReason.SAME),
        6: (RowAction.HELD, RowReason.REJECTED),
        7: (RowAction.UNCHANGED, RowReason.SAME),
        8: (RowAction.CREATE, None),
        9: (RowAction.CREATE, None),
    }
    assert all(registered(client, document) for document in (fresh, corrected_cnpj, *added))
    origins = context.journal.changes.origins(again.id)
    assert origins == {4: 8, 5: 4, 6: 5, 7: 6, 8: 9, 9: 10}
    with pytest.raises(UsageError, match="no rejected row that was corrected"):
        corrected_rows(context, job, validate_workbook(file, context.catalogue))


def test_a_moved_row_is_matched_by_its_key(
    context: UploadContext, client: Client, make_clients: MakeClients
) -> None:
    """A row with a corrected cell is matched by its key if its position changed."""
    one, two = existing_cnpj(client), new_cnpj()
    path = make_clients(one, two, label="Outro")
    job = write_job(context, client, path, "queue", look_up=False)
    job = Uploads(context, client).run(job, YES)
    assert [row.row for row in context.journal.changes.rejections(job.id)] == [4]
    moved = make_clients(new_cnpj(), two, one, name="movidas.xlsx", label="Mais outro")
    corrected = corrected_rows(context, job, validate_workbook(moved, context.catalogue))
    assert {row: corrected.origins[row] for row in (5, 6)} == {5: 5, 6: 4}


def test_held_rows_are_retried_like_rejected_ones(
    context: UploadContext, client: Client, make_clients: MakeClients
) -> None:
    taken = existing_cnpj(client)
    path = make_clients(taken, new_cnpj(), label="Outro")
    job = Uploads(context, client).run(write_job(context, client, path, "queue"), YES)
    assert job_json(context.journal, job)["rows"] == row_counts(read=2, accepted=1, held=1)
    job.require_rejected()
    same = Uploads(context, client).create(
        corrected_rows(context, job, read_rejects(context, job)), YES
    )
    assert same.notes.plan == plan_counts(held=1)
    (row,) = context.journal.plan_of(same)
    assert list(row.differences) == ["nomeComercial"]
    document = new_cnpj()
    correct(job, 2, document)
    again = send_again(context, client, job, read_rejects(context, job))
    assert job_json(context.journal, again)["rows"] == row_counts(read=1, accepted=1)
    assert registered(client, document)
    settled = RowLedger.of(context.journal, job).settled(job)
    assert settled is not None
    assert (settled.rows, settled.by, settled.left) == (1, again.id, 0)


def test_an_accepted_row_is_not_sent_with_another_key(
    context: UploadContext, client: Client, make_clients: MakeClients
) -> None:
    job, _ = rejected_job(context, client, make_clients, "queue")
    correct(job, 2, new_cnpj())
    first = send_again(context, client, job, read_rejects(context, job))
    other = new_cnpj()
    correct(job, 2, other)
    correct(job, 3, new_cnpj())
    again = send_again(context, client, job, read_rejects(context, job))
    held, sent = context.journal.plan_of(again)
    assert (held.reason, sent.action) == (RowReason.SENT_OTHERWISE, RowAction.CREATE)
    assert first.id in str(held.text)
    assert not registered(client, other)


def test_a_sheet_without_rows_of_the_job_is_refused(
    context: UploadContext, client: Client, make_clients: MakeClients
) -> None:
    job, _ = rejected_job(context, client, make_clients, "queue")
    other = validate_workbook(make_clients(new_cnpj(), name="outra.xlsx"), context.catalogue)
    with pytest.raises(UsageError, match=f"no row of the upload {job.id}"):
        corrected_rows(context, job, other)


def test_rows_rejected_only_because_of_others_are_sent_unchanged(
    context: UploadContext, client: Client, make_clients: MakeClients
) -> None:
    job, fresh = rejected_job(context, client, make_clients, "direct")
    assert job.state is State.REJECTED
    assert len(read_rejects(context, job).rows) == 4
    again = send_again(context, client, job, read_rejects(context, job))
    assert job_json(context.journal, again)["rows"] == row_counts(read=4, accepted=2, held=2)
    assert registered(client, fresh)


def test_a_job_without_rejected_rows_cannot_be_retried(
    context: UploadContext, client: Client, make_clients: MakeClients
) -> None:
    job = Uploads(context, client).run(
        write_job(context, client, make_clients(new_cnpj()), "direct"), YES
    )
    with pytest.raises(UsageError, match=job.id):
        job.require_rejected()
