"""Past uploads in the list of jobs: settled ones, and those that wait for a person."""

import json
import re
from pathlib import Path

from environment import Xlbridge, credentials
from openpyxl import load_workbook
from sheets import header_of
from upload_parts import YES, MakeClients, existing_cnpj, new_cnpj, write_job

from xlbridge.client import Client, Target
from xlbridge.sandbox import RunningSandbox
from xlbridge.upload import State, UploadContext, Uploads


def test_a_job_reports_the_retry_that_wrote_its_rows(
    xlbridge: Xlbridge, sandbox: RunningSandbox, client: Client, make_clients: MakeClients
) -> None:
    environment = credentials(sandbox)
    path = make_clients(new_cnpj(), existing_cnpj(client), label="Outro")
    sent = xlbridge("upload", path, "--yes", "--format", "json", **environment)
    first = json.loads(sent.stdout)
    assert (sent.returncode, first["rows"]["held"], first["settled"]) == (1, 1, None)
    book = load_workbook(first["rejects_file"])
    book["cliente"].cell(2, header_of(book["cliente"]).index("cnpj") + 1).value = new_cnpj()
    book.save(first["rejects_file"])
    retried = xlbridge("retry", first["job"], "--yes", "--format", "json", **environment)
    again = json.loads(retried.stdout)
    assert (retried.returncode, again["rows"]["read"], again["rows"]["accepted"]) == (0, 1, 1)
    report = json.loads(xlbridge("jobs", first["job"], "--format", "json").stdout)
    assert report["settled"] == {"rows": 1, "by": again["job"]}
    text = xlbridge("jobs", first["job"]).stdout
    assert f"Written since: 1 row, the last by the upload {again['job']}; 0 left" in text
    assert "xlbridge retry" not in text
    listed = json.loads(xlbridge("jobs", "--format", "json").stdout)["jobs"]
    assert [job["settled"] is not None for job in listed] == [False, True]


def test_a_look_at_a_job_writes_nothing(
    xlbridge: Xlbridge, sandbox: RunningSandbox, client: Client, make_clients: MakeClients
) -> None:
    environment = credentials(sandbox)
    path = make_clients(new_cnpj(), existing_cnpj(client), label="Outro")
    sent = json.loads(xlbridge("upload", path, "--yes", "--format", "json", **environment).stdout)
    rejects = Path(sent["rejects_file"])
    rejects.unlink()
    text = xlbridge("jobs", sent["job"], "--lang", "en").stdout
    assert f"to write it again: xlbridge resume {sent['job']}" in text
    assert not rejects.exists()
    xlbridge("resume", sent["job"], **environment)
    assert rejects.exists()


def test_jobs_are_listed_under_a_header_with_dates_and_counts(
    xlbridge: Xlbridge, sandbox: RunningSandbox, make_clients: MakeClients
) -> None:
    path = make_clients(new_cnpj(), new_cnpj())
    xlbridge("upload", path, "--yes", **credentials(sandbox))
    header, line = xlbridge("jobs").stdout.splitlines()
    assert header.split()[:6] == ["Upload", "Date", "State", "Mode", "Kind", "of"]
    assert re.search(r"  \d\d/\d\d/\d{4} \d\d:\d\d  done +queue +cliente +2 +2 +0", line)
    assert line.endswith(f"  {path.name}")
    assert header.rindex("File") == line.index(path.name)
    assert not {"Unchanged", "waiting", "doubt"} & {*header.split()}
    header, line = xlbridge("jobs", XLBRIDGE_LANG="pt-BR").stdout.splitlines()
    assert ("Situação" in header, "concluído" in line) == (True, True)


def test_resume_lists_the_waiting_jobs_of_the_chosen_system(
    xlbridge: Xlbridge,
    sandbox: RunningSandbox,
    context: UploadContext,
    client: Client,
    make_clients: MakeClients,
) -> None:
    elsewhere = write_job(context, client, make_clients(new_cnpj(), name="longe.xlsx"), "direct")
    target = Target("rehearsal", sandbox.base_url, sandbox.email, sandbox.password)
    with Client(target) as direct:
        paths = [make_clients(new_cnpj(), name=name) for name in ("um.xlsx", "dois.xlsx")]
        first, second = (write_job(context, direct, path, "direct") for path in paths)
        several = xlbridge("resume", "--yes", **credentials(sandbox))
        assert several.returncode == 2
        for job in (first, second):
            line = f"{job.id}  {job.created_at:%d/%m/%Y %H:%M}  {job.spec.file}"
            assert line in several.stderr
        assert elsewhere.id not in several.stderr
        Uploads(context, direct).run(second, YES)
    sending = context.journal.record(first, State.SENDING, attempt=1)
    context.journal.record(sending, State.NEEDS_PERSON)
    person = xlbridge("resume", "--yes", **credentials(sandbox))
    assert person.returncode == 5
    assert "1 upload waits for a person to decide" in person.stderr
    assert f"{first.id}  " in person.stderr
    assert "xlbridge resolve" in person.stderr


def test_rows_that_are_not_sent_are_listed(
    xlbridge: Xlbridge, sandbox: RunningSandbox, client: Client, make_clients: MakeClients
) -> None:
    environment = credentials(sandbox)
    documents = [new_cnpj() for _ in range(7)]
    path = make_clients(*documents)
    xlbridge("upload", path, "--yes", **environment)
    nothing = xlbridge("upload", path, "--yes", **environment)
    assert nothing.returncode == 0
    assert "  actions: 7 unchanged" in nothing.stderr
    assert "unchanged, rows 4, 5, 6, 7, 8 … and 2 more: in the system with" in nothing.stderr
    assert "confirmation" not in nothing.stderr
    listed = xlbridge("upload", path, "--yes", "--list-rows", **environment)
    assert "unchanged, rows 4, 5, 6, 7, 8, 9, 10: in the system" in listed.stderr
