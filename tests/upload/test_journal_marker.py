"""A damaged or foreign journal is refused, and never silently replaced by a new one."""

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from environment import Xlbridge, credentials
from lossy_proxy import LossyProxy
from upload_parts import AT_ONCE, MakeClients, new_cnpj, registered, write_job

from xlbridge.client import Client
from xlbridge.errors import TransportError
from xlbridge.sandbox import RunningSandbox
from xlbridge.upload import Journal, RequestedMode, State, UploadContext, Uploads
from xlbridge.upload.planning import ConsentRequest
from xlbridge.upload.results import job_json


@pytest.fixture
def used_home(
    xlbridge: Xlbridge, sandbox: RunningSandbox, tmp_path: Path, make_clients: MakeClients
) -> tuple[Path, Path, dict[str, str]]:
    """Home with an upload of two clients without a key, its sheet, and the environment."""
    home = tmp_path / "own-home"
    environment = credentials(sandbox) | {"XLBRIDGE_HOME": str(home)}
    path = make_clients("", "")
    assert xlbridge("upload", path, "--yes", **environment).returncode == 0
    return home, path, environment


def count_clients(client: Client) -> int:
    return len(client.registry.clients.list())


def empty_journal(home: Path) -> None:
    (home / "journal.db").write_bytes(b"")


def delete_journal(home: Path) -> None:
    for path in home.glob("journal.db*"):
        path.unlink()


def truncate(home: Path) -> None:
    path = home / "journal.db"
    path.write_bytes(path.read_bytes()[:5000])


def truncate_to_a_byte(home: Path) -> None:
    path = home / "journal.db"
    path.write_bytes(path.read_bytes()[:1])


def overwrite(home: Path) -> None:
    path = home / "journal.db"
    path.write_bytes(b"garbage " * (path.stat().st_size // 8))


def delete_with_marker(home: Path) -> None:
    delete_journal(home)
    (home / "journal.id").unlink()


@pytest.mark.parametrize(
    "damage",
    [empty_journal, delete_journal, truncate, truncate_to_a_byte, overwrite, delete_with_marker],
)
def test_a_damaged_journal_stops_uploads_until_it_is_accepted(
    xlbridge: Xlbridge, client: Client, used_home: tuple[Path, Path, dict[str, str]], damage: object
) -> None:
    home, path, environment = used_home
    before = count_clients(client)
    assert callable(damage)
    damage(home)
    refused = xlbridge("upload", path, "--yes", **environment)
    assert refused.returncode == 6
    assert "journal.db" in refused.stderr
    assert "doctor --accept-journal" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert count_clients(client) == before
    export = xlbridge("export", "importacao", "-o", home / "logs.csv", **environment)
    assert (export.returncode, (home / "logs.csv").exists()) == (6, False)
    assert xlbridge("doctor", **environment).returncode != 0
    accepted = xlbridge("doctor", "--accept-journal", "looked by hand", **environment)
    assert accepted.returncode == 0, accepted.stderr
    assert xlbridge("jobs", **environment).returncode == 0


def test_an_older_copy_and_the_journal_of_another_home_are_refused(
    xlbridge: Xlbridge,
    client: Client,
    used_home: tuple[Path, Path, dict[str, str]],
    tmp_path: Path,
    make_clients: MakeClients,
) -> None:
    home, path, environment = used_home
    older = tmp_path / "older.db"
    shutil.copy(home / "journal.db", older)
    more = make_clients(new_cnpj(), name="more.xlsx")
    assert xlbridge("upload", more, "--yes", **environment).returncode == 0
    before = count_clients(client)
    shutil.copy(older, home / "journal.db")
    refused = xlbridge("upload", path, "--yes", **environment)
    assert (refused.returncode, count_clients(client)) == (2, before)
    assert "older" in refused.stderr or "antigo" in refused.stderr
    other = environment | {"XLBRIDGE_HOME": str(tmp_path / "other-home")}
    assert xlbridge("upload", more, "--yes", **other).returncode == 0
    shutil.copy(older, tmp_path / "other-home" / "journal.db")
    assert xlbridge("upload", path, "--yes", **other).returncode == 2
    assert count_clients(client) == before


def test_a_journal_without_its_private_marker_is_refused(
    xlbridge: Xlbridge, used_home: tuple[Path, Path, dict[str, str]]
) -> None:
    home, _, environment = used_home
    marker = json.loads((home / "journal.id").read_text("utf-8"))
    assert marker["last_job"]
    assert (home / "journal.id").stat().st_mode & 0o077 == 0
    (home / "journal.id").unlink()
    assert xlbridge("jobs", **environment).returncode != 0


def test_a_journal_without_its_count_is_refused_until_it_is_accepted(
    xlbridge: Xlbridge, used_home: tuple[Path, Path, dict[str, str]]
) -> None:
    home, _, environment = used_home
    (home / "journal.count").unlink()
    refused = xlbridge("jobs", **environment)
    assert (refused.returncode, "journal.count" in refused.stderr) == (6, True), refused.stderr
    assert xlbridge("doctor", "--accept-journal", "looked", **environment).returncode == 0
    assert xlbridge("jobs", **environment).returncode == 0


def cut_last_announcement(home: Path) -> None:
    """Remove pages from the end of the journal's log until it knows of no request."""
    log = home / "journal.db-wal"
    (home / "journal.db-shm").unlink(missing_ok=True)
    content, frames = log.read_bytes(), (log.stat().st_size - 32) // 4120
    for kept in range(frames, 0, -1):
        log.write_bytes(content[: 32 + kept * 4120])
        with closing(sqlite3.connect(f"file:{home}/journal.db?mode=ro", uri=True)) as db:
            announced = "SELECT COUNT(*) FROM record_writes WHERE state = 'sending'"
            if db.execute(announced).fetchone() == (0,):
                break
        (home / "journal.db-shm").unlink(missing_ok=True)
    (home / "journal.db-shm").unlink(missing_ok=True)


@pytest.mark.parametrize("command", ["resume", "upload"])
def test_what_a_journal_without_its_last_entries_may_have_sent_is_not_sent_again(
    xlbridge: Xlbridge, client: Client, proxy_environment: dict[str, str], home: Path,
    kill_while_writing: Callable[..., None], make_clients: MakeClients, command: str,
) -> None:  # fmt: skip
    path = make_clients("", "", "")
    before = count_clients(client)
    upload = ["upload", str(path), "--yes", "--mode", "records"]
    kill_while_writing(
        "POST", upload, committed=True, is_committed=lambda: count_clients(client) == before + 1
    )
    cut_last_announcement(home)
    again = ["resume"] if command == "resume" else upload
    ended = xlbridge(*again, **proxy_environment)
    assert ended.returncode == (5 if command == "resume" else 1), ended.stdout + ended.stderr
    assert count_clients(client) == before + 1
    listed = xlbridge("jobs", "--format", "json", **proxy_environment)
    assert {job["state"] for job in json.loads(listed.stdout)["jobs"]} >= {"in_doubt"}
    (home / "journal.count").write_bytes(b"garbage")
    refused = xlbridge("resume", **proxy_environment)
    assert (refused.returncode, "journal.count" in refused.stderr) == (6, True)
    accepted = xlbridge("doctor", "--accept-journal", "looked by hand", **proxy_environment)
    assert accepted.returncode == 0, accepted.stderr


@pytest.mark.parametrize("mode", ["records", "direct", "queue"])
@pytest.mark.parametrize("chunk_rows", [None, 1])
def test_an_unconfirmed_upload_needs_consent_after_the_journal_has_lost_entries(
    context: UploadContext,
    client: Client,
    proxy: LossyProxy,
    make_clients: MakeClients,
    mode: RequestedMode,
    chunk_rows: int | None,
) -> None:
    """What was prepared may have been confirmed and sent by then; the person is asked again."""
    path = make_clients(new_cnpj(), new_cnpj())
    job = write_job(context, client, path, mode, chunk_rows=chunk_rows)
    context.settings.journal.with_suffix(".count").write_bytes(b"%32d" % 99)
    asked: list[str] = []

    def decline(request: ConsentRequest) -> bool:
        asked.append(request.token)
        return False

    options = replace(AT_ONCE, consent=decline)
    with closing(Journal(context.settings.journal)) as journal:
        doubtful = journal.requests_of(job)
        assert {part.state for part in doubtful} == {State.IN_DOUBT}
        uploads = Uploads(replace(context, journal=journal), client)
        for _ in range(2 * len(doubtful) + 1):
            with suppress(TransportError):
                uploads.run(journal.job(job.id), options)
        ended = journal.job(job.id)
        parts = [journal.job(part.id) for part in doubtful]
    assert (ended.state, {*asked}) == (State.ABANDONED, {job.token})
    for part in parts:
        states = [event.state for event in part.events]
        assert states[states.index(State.IN_DOUBT) + 1] is not State.ABANDONED
    posted = {one for method, one in proxy.seen if method != "GET" and "preview=true" not in one}
    assert posted <= {"/v2/autenticar"}


def test_after_lost_entries_a_record_that_is_there_is_no_consent_to_write_the_others(
    context: UploadContext, client: Client, proxy: LossyProxy, make_clients: MakeClients
) -> None:
    """A colleague, or a request that the journal has lost, may have written it."""
    documents = [new_cnpj(), new_cnpj()]
    job = write_job(context, client, make_clients(*documents), "records")
    context.settings.journal.with_suffix(".count").write_bytes(b"%32d" % 99)
    client.registry.clients.create(nomeComercial=f"Cliente {documents[0]}", cnpj=documents[0])
    asked: list[str] = []

    def answer(request: ConsentRequest) -> bool:
        asked.append(request.token)
        return False

    proxy.seen.clear()
    with closing(Journal(context.settings.journal)) as journal:
        uploads = Uploads(replace(context, journal=journal), client)
        ended = uploads.run(journal.job(job.id), replace(AT_ONCE, consent=answer))
        report = job_json(journal, ended)
        (left,) = journal.changes.rejections(job.id)
    assert (report["state"], asked) == ("partial", [job.token])
    assert (report["rows"]["accepted"], report["rows"]["rejected"]) == (1, 1)
    assert (left.row, left.message.en) == (job.spec.rows[1], "not confirmed")
    assert [registered(client, document) for document in documents] == [True, False]
