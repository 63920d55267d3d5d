"""Only what was rejected and has been mended is sent again."""

from pathlib import Path

import pytest
from openpyxl import load_workbook
from upload_parts import YES, MakeClients, new_cnpj, registered, write_job

from xlbridge.api.client import Client
from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.upload.journal import Job
from xlbridge.upload.plan import Plan, WantedMode
from xlbridge.upload.retry import mended_rows, require_rejected
from xlbridge.upload.send import Desk, run_job, write_down
from xlbridge.upload.states import State
from xlbridge.validation.validate import ValidatedSheet, validate_workbook


def rejected_job(
    desk: Desk, client: Client, make_clients: MakeClients, mode: WantedMode
) -> tuple[Job, str]:
    """A job of four rows, two of which name documents that are taken; and one that is not."""
    first, second, fresh = new_cnpj(), new_cnpj(), new_cnpj()
    run_job(desk, client, write_job(desk, make_clients(first, second), "direct"), YES)
    path = make_clients(fresh, first, new_cnpj(), second, name="mais.xlsx")
    return run_job(desk, client, write_job(desk, path, mode), YES), fresh


def rejects(desk: Desk, job: Job) -> ValidatedSheet:
    return validate_workbook(Path(job.last("rejects_file")), desk.catalogue)


def mend(job: Job, row: int, document: str) -> None:
    book = load_workbook(job.last("rejects_file"))
    sheet = book["cliente"]
    column = [cell.value for cell in sheet[1]].index("cnpj") + 1
    sheet.cell(row, column).value = document
    book.save(job.last("rejects_file"))


def test_unmended_rows_stay_out(desk: Desk, client: Client, make_clients: MakeClients) -> None:
    job, _ = rejected_job(desk, client, make_clients, "queue")
    assert job.state is State.PARTIAL
    assert len(rejects(desk, job).rows) == 2
    with pytest.raises(UsageError, match="mended"):
        mended_rows(desk, job, rejects(desk, job))
    document = new_cnpj()
    mend(job, 3, document)
    sheet = mended_rows(desk, job, rejects(desk, job))
    assert (sheet.rows, sheet.frame["cnpj"].tolist()) == ([3], [document])
    assert sheet.resource is not None
    plan = Plan(job.what.mode, Text(pt="como antes", en="as before"))
    again = write_down(desk, sheet, sheet.resource, plan, "rehearsal", retry_of=job.id)
    assert again.last("retry_of") == job.id
    assert run_job(desk, client, again, YES).state is State.DONE
    assert registered(client, document)


def test_rows_that_only_fell_with_the_others_are_sent_unchanged(
    desk: Desk, client: Client, make_clients: MakeClients
) -> None:
    job, fresh = rejected_job(desk, client, make_clients, "direct")
    assert job.state is State.REJECTED
    assert len(rejects(desk, job).rows) == 4
    sheet = mended_rows(desk, job, rejects(desk, job))
    assert fresh in sheet.frame["cnpj"].tolist()
    assert len(sheet.rows) == 2


def test_a_job_without_rejected_rows_cannot_be_retried(
    desk: Desk, client: Client, make_clients: MakeClients
) -> None:
    job = run_job(desk, client, write_job(desk, make_clients(new_cnpj()), "direct"), YES)
    with pytest.raises(UsageError, match=job.id):
        require_rejected(job)
