"""Only what was rejected and was corrected is sent again."""

from pathlib import Path

import pytest
from openpyxl import load_workbook
from upload_parts import YES, MakeClients, new_cnpj, registered, write_job

from xlbridge.client import Client
from xlbridge.errors import UsageError
from xlbridge.upload import (
    Job,
    RequestedMode,
    State,
    UploadContext,
    Uploads,
    corrected_rows,
    require_rejected,
)
from xlbridge.upload.verdict import RejectedRow
from xlbridge.validation import ValidatedSheet, validate_workbook


def rejected_job(
    context: UploadContext, client: Client, make_clients: MakeClients, mode: RequestedMode
) -> tuple[Job, str]:
    """A job of four rows, two of which name documents that are taken; and one that is not."""
    first, second, fresh = new_cnpj(), new_cnpj(), new_cnpj()
    Uploads(context, client).run(
        write_job(context, client, make_clients(first, second), "direct"), YES
    )
    path = make_clients(fresh, first, new_cnpj(), second, name="mais.xlsx", called="Outro")
    return Uploads(context, client).run(write_job(context, client, path, mode), YES), fresh


def rejects(context: UploadContext, job: Job) -> ValidatedSheet:
    return validate_workbook(Path(job.last("rejects_file")), context.catalogue)


def correct(job: Job, row: int, document: str) -> None:
    book = load_workbook(job.last("rejects_file"))
    sheet = book["cliente"]
    column = [cell.value for cell in sheet[1]].index("cnpj") + 1
    sheet.cell(row, column).value = document
    book.save(job.last("rejects_file"))


def send_again(context: UploadContext, client: Client, job: Job, sheet: ValidatedSheet) -> Job:
    """Send what was corrected, as the command does."""
    uploads = Uploads(context, client)
    again = uploads.create_retry(corrected_rows(context, job, sheet), YES)
    return uploads.run(again, YES)


def named(client: Client, name: str) -> int:
    """How many clients have that name."""
    found = client.registry.clients.list()
    assert isinstance(found, list)
    return sum(one.nomeComercial == name for one in found)


def test_uncorrected_rows_stay_out(
    context: UploadContext, client: Client, make_clients: MakeClients
) -> None:
    job, _ = rejected_job(context, client, make_clients, "queue")
    assert job.state is State.PARTIAL
    assert len(rejects(context, job).rows) == 2
    with pytest.raises(UsageError, match="no rejected row that was corrected"):
        corrected_rows(context, job, rejects(context, job))
    document = new_cnpj()
    correct(job, 3, document)
    corrected = corrected_rows(context, job, rejects(context, job))
    assert (corrected.sheet.rows, corrected.left_out) == ([3], 1)
    assert corrected.sheet.frame["cnpj"].tolist() == [document]
    again = send_again(context, client, job, rejects(context, job))
    assert (again.state, again.last("retry_of")) == (State.DONE, job.id)
    assert registered(client, document)


@pytest.mark.parametrize("mode", ["queue", "direct"])
def test_row_by_row_each_is_sent_once(
    context: UploadContext, client: Client, make_clients: MakeClients, mode: RequestedMode
) -> None:
    job, fresh = rejected_job(context, client, make_clients, mode)
    names = [str(name) for name in rejects(context, job).frame["nomeComercial"]]
    complained = [row.row for row in rejects_of(job)]
    first, second = (place_of(context, job, row) for row in complained)
    correct(job, first, new_cnpj())
    assert send_again(context, client, job, rejects(context, job)).state is State.DONE
    correct(job, second, new_cnpj())
    correct(job, first, new_cnpj())
    assert send_again(context, client, job, rejects(context, job)).state is State.DONE
    with pytest.raises(UsageError, match="not sent again"):
        corrected_rows(context, job, rejects(context, job))
    assert [named(client, name) for name in names] == [1] * len(names)
    assert registered(client, fresh)


def rejects_of(job: Job) -> tuple[RejectedRow, ...]:
    return job.verdict.rejected_rows


def place_of(context: UploadContext, job: Job, row: int | None) -> int:
    """Where the rejects workbook has a row of the job."""
    rows = rejects(context, job).rows
    sent = [r for r in job.what.rows if job.state is State.REJECTED or r in refused(job)]
    return rows[sent.index(row or 0)]


def refused(job: Job) -> set[int | None]:
    return {row.row for row in rejects_of(job)}


def test_the_very_file_that_was_sent_can_be_corrected_instead(
    context: UploadContext, client: Client, make_clients: MakeClients
) -> None:
    job, _ = rejected_job(context, client, make_clients, "queue")
    file = Path(job.what.file)
    book = load_workbook(file)
    book["Clientes"].cell(5, 3).value = new_cnpj()
    book.save(file)
    corrected = corrected_rows(context, job, validate_workbook(file, context.catalogue))
    assert (corrected.sheet.rows, corrected.left_out) == ([5], 3)


@pytest.mark.parametrize("change", ["deleted", "inserted", "added", "accepted"])
def test_the_very_file_is_refused_once_its_rows_have_moved(
    context: UploadContext, client: Client, make_clients: MakeClients, change: str
) -> None:
    job, _ = rejected_job(context, client, make_clients, "queue")
    file = Path(job.what.file)
    book = load_workbook(file)
    sheet = book["Clientes"]
    rejected = sheet.max_row
    match change:
        case "deleted":
            sheet.delete_rows(rejected - 1)
        case "inserted":
            sheet.insert_rows(rejected)
            for column in range(1, sheet.max_column + 1):
                sheet.cell(rejected, column).value = sheet.cell(rejected + 1, column).value
        case "added":
            sheet.append([cell.value for cell in sheet[rejected]])
        case _:
            sheet.cell(rejected - 1, 2).value = "Novo"
    sheet.cell(rejected, 3).value = new_cnpj()
    book.save(file)
    with pytest.raises(UsageError, match=rf"row {rejected - 1}|row {rejected + 1}"):
        corrected_rows(context, job, validate_workbook(file, context.catalogue))


def test_rows_of_no_ones_are_refused(
    context: UploadContext, client: Client, make_clients: MakeClients
) -> None:
    job, _ = rejected_job(context, client, make_clients, "queue")
    other = validate_workbook(make_clients(new_cnpj(), name="outra.xlsx"), context.catalogue)
    with pytest.raises(UsageError, match="not a rejected row"):
        corrected_rows(context, job, other)


def test_rows_that_only_fell_with_the_others_are_sent_unchanged(
    context: UploadContext, client: Client, make_clients: MakeClients
) -> None:
    job, fresh = rejected_job(context, client, make_clients, "direct")
    assert job.state is State.REJECTED
    assert len(rejects(context, job).rows) == 4
    corrected = corrected_rows(context, job, rejects(context, job))
    assert fresh in corrected.sheet.frame["cnpj"].tolist()
    assert len(corrected.sheet.rows) == 2


def test_a_job_without_rejected_rows_cannot_be_retried(
    context: UploadContext, client: Client, make_clients: MakeClients
) -> None:
    job = Uploads(context, client).run(
        write_job(context, client, make_clients(new_cnpj()), "direct"), YES
    )
    with pytest.raises(UsageError, match=job.id):
        require_rejected(job)
