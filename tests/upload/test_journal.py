"""Journal: job ids, files of other versions, snapshots, failures.

Inside: batch, upload.
"""

import itertools
import secrets
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import date
from pathlib import Path

import pytest
from channel_parts import CHANNELS, Setting
from environment import ROOT, Xlbridge, credentials
from fake_clock import FakeClock
from lossy_proxy import LossyProxy
from sheets import write_records
from update_parts import Run, newest_job
from upload_parts import AT_ONCE, MakeClients, new_cnpj, write_job

from xlbridge.batch.ledger import Ledger
from xlbridge.client import Client
from xlbridge.errors import JournalError, LocalDatabaseError, UsageError
from xlbridge.local_database import open_local_database
from xlbridge.resources import Mode
from xlbridge.sandbox import RunningSandbox
from xlbridge.upload import Journal, UploadContext, Uploads
from xlbridge.upload.claims import ClaimedRows, RowClaims
from xlbridge.upload.job import JobSpec
from xlbridge.upload.journal import NewRequest
from xlbridge.upload.lookup.snapshot import FoundRecord, Moment, RowSnapshot, RowTable, Snapshot
from xlbridge.upload.payload import frame_of_payload, frame_with_lists, payload_of, store_payload
from xlbridge.upload.planning import PlannedRow, RowAction
from xlbridge.upload.planning.planned_row import RowPlan
from xlbridge.upload.results.row_ledger import row_counts
from xlbridge.validation import validate_workbook

pytestmark = pytest.mark.one_database


def test_a_job_id_that_exists_is_not_used_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens = itertools.chain(["aaaa", "aaaa"], itertools.repeat("bbbb"))
    token_hex = secrets.token_hex
    monkeypatch.setattr(secrets, "token_hex", lambda n: next(tokens) if n == 2 else token_hex(n))
    journal = Journal(tmp_path / "journal.db", now=FakeClock())
    new = JobSpec("rehearsal", "contaspagar", Mode.QUEUE, "a.xlsx", "a", "1", "1", (2,), {}, "s")
    names = [
        journal.create(
            new,
            [NewRequest(new, RowClaims([digest], [()]), (None,))],
            RowPlan([PlannedRow(2, RowAction.UNREAD)], (digest,)),
            ClaimedRows(),
        ).id
        for digest in ("1", "2")
    ]
    journal.close()
    assert names == ["20261102-090000-aaaa", "20261102-090000-bbbb"]


_COUNT_JOBS = """\
import sqlite3, sys
journal = sqlite3.connect(sys.argv[1])
print(*journal.execute("SELECT count(*) FROM jobs").fetchone())
journal.close()
"""


@pytest.mark.processes
def test_other_processes_see_the_jobs_of_one_that_has_opened_the_journal_twice(
    tmp_path: Path,
) -> None:
    path = tmp_path / "journal.db"
    Journal(path).close()
    new = JobSpec("rehearsal", "contaspagar", Mode.QUEUE, "a.xlsx", "a", "1", "1", (2,), {}, "s")
    requests = [NewRequest(new, RowClaims(["1"], [()]), (None,))]
    plan = RowPlan([PlannedRow(2, RowAction.UNREAD)], ("1",))
    count = [sys.executable, "-c", _COUNT_JOBS, path]
    with closing(Journal(path)) as journal:
        Journal(path).close()  # as a plan does; it must not end the locks of the other one
        assert subprocess.check_output(count) == b"0\n"
        journal.create(new, requests, plan, ClaimedRows())
        assert subprocess.check_output(count) == b"1\n"


WITH_ROWS = sorted(p for p in (ROOT / "samples").glob("*.xlsx") if "-com-erros" not in p.name)


@pytest.mark.parametrize("path", WITH_ROWS, ids=lambda path: path.stem)
def test_rows_read_from_a_payload_are_those_that_were_stored(
    context: UploadContext, path: Path
) -> None:
    sheet = validate_workbook(path, context.catalogue)
    assert sheet.resource is not None
    stored = frame_with_lists(sheet)
    content = store_payload(context, payload_of(sheet.resource, stored))
    read = frame_of_payload(context, sheet.resource, content, len(sheet.rows))
    assert repr(RowTable.of(read).dicts()) == repr(RowTable.of(stored).dicts())


SCHEMA_WITHOUT_ROW_CLAIMS = """
CREATE TABLE jobs (
    id TEXT PRIMARY KEY, created_at TEXT NOT NULL, profile TEXT NOT NULL, resource TEXT NOT NULL,
    mode TEXT NOT NULL, file TEXT NOT NULL, sheet TEXT NOT NULL, digest TEXT NOT NULL,
    payload TEXT NOT NULL, rows TEXT NOT NULL, columns TEXT NOT NULL, claimed INTEGER NOT NULL
);
CREATE UNIQUE INDEX claims ON jobs (profile, resource, digest) WHERE claimed = 1;
"""
"""Schema of an earlier journal, where it differs."""


@pytest.mark.parametrize("opened", [Journal, Ledger])
@pytest.mark.parametrize(
    "schema", [SCHEMA_WITHOUT_ROW_CLAIMS, "CREATE TABLE jobs (id TEXT, more TEXT)"]
)
def test_a_file_of_another_version_is_refused_and_left_unchanged(
    tmp_path: Path, opened: type[Journal | Ledger], schema: str
) -> None:
    path = tmp_path / "kept.db"
    with closing(sqlite3.connect(path)) as other:
        other.executescript(schema)
        before = other.execute("SELECT * FROM sqlite_master").fetchall()
    with pytest.raises(JournalError, match="another version of xlbridge") as refused:
        opened(path)
    assert str(path) in refused.value.message.en
    with closing(sqlite3.connect(path)) as other:
        assert other.execute("SELECT * FROM sqlite_master").fetchall() == before


@pytest.mark.parametrize(
    ("change", "message"), [(-1, "a development version before 0.1.0"), (1, "a newer version")]
)
def test_a_journal_of_another_layout_is_refused_and_left_unchanged(
    tmp_path: Path, change: int, message: str
) -> None:
    path = tmp_path / "journal.db"
    Journal(path).close()
    with closing(sqlite3.connect(path)) as other:
        (layout,) = other.execute("PRAGMA user_version").fetchone()
        other.execute(f"PRAGMA user_version = {layout + change}")
    with pytest.raises(JournalError, match=message):
        Journal(path)
    with closing(sqlite3.connect(path)) as other:
        assert other.execute("PRAGMA user_version").fetchone() == (layout + change,)


def test_missing_tables_of_a_journal_are_created(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    Journal(path).close()
    with closing(sqlite3.connect(path)) as earlier:
        earlier.executescript(
            "DROP TABLE rejections; DROP TABLE readings; DROP INDEX jobs_by_first;"
        )
    journal = Journal(path)
    assert journal.snapshots.all_of("none") == []
    journal.close()


def test_a_snapshot_of_many_rows_is_stored_and_loaded_unchanged(tmp_path: Path) -> None:
    keys = [*map(str, range(2_500)), "\ud83d half of a character"]
    found = FoundRecord(
        "7", {"v": "b"}, same=False, differing={"v": ["a", "b"]}, items=[], unlisted=[]
    )
    snapshot = [RowSnapshot({"k": key}, (found,) if at % 2 else ()) for at, key in enumerate(keys)]
    snapshots: list[Snapshot] = [(*snapshot, None), ()]
    journal = Journal(tmp_path / "journal.db")
    new = JobSpec("rehearsal", "contaspagar", Mode.QUEUE, "a.xlsx", "a", "1", "1", (2,), {}, "s")
    request = NewRequest(new, RowClaims(["1"], [()]), (None,))
    plan = RowPlan([PlannedRow(2, RowAction.UNREAD)], ("1",))
    job = journal.create(new, [request], plan, ClaimedRows())
    for one in snapshots:
        journal.snapshots.store(job.id, Moment.BEFORE, one)
    assert [stored.rows for stored in journal.snapshots.all_of(job.id)] == snapshots
    assert journal.snapshots.first_before(job.id) == snapshots[0]
    assert journal.snapshots.newest(job.id, Moment.BEFORE) == snapshots[1]
    assert journal.snapshots.newest(job.id, Moment.AFTER) is None
    journal.close()


def test_a_full_disk_is_reported_and_keeps_stored_rows(tmp_path: Path) -> None:
    path = tmp_path / "kept.db"
    with closing(open_local_database(path, "CREATE TABLE IF NOT EXISTS t (a TEXT)")) as db:
        with db:
            db.execute("INSERT INTO t VALUES ('first')")
        db.execute("PRAGMA max_page_count = 3")
        with pytest.raises(LocalDatabaseError, match=r"kept\.db cannot be .*: no space left"), db:
            db.execute("INSERT INTO t VALUES (?)", ("x" * 100_000,))
        assert db.execute("SELECT * FROM t").fetchall() == [("first",)]


def test_a_file_that_is_not_a_database_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    path.write_bytes(b"no database" * 100)
    with pytest.raises(LocalDatabaseError, match=r"journal\.db is incomplete or cannot"):
        Journal(path)


@pytest.mark.parametrize(("state", "code"), [("previewing", 6), ("staging", 6), ("polling", 5)])
def test_an_upload_is_resumed_after_its_journal_failed(
    xlbridge: Xlbridge,
    sandbox: RunningSandbox,
    home: Path,
    make_clients: MakeClients,
    state: str,
    code: int,
) -> None:
    settings = {**credentials(sandbox), "XLBRIDGE_SETTLE": "0"}
    path = make_clients(new_cnpj())
    Journal(home / "journal.db").close()
    with closing(sqlite3.connect(home / "journal.db")) as journal:
        journal.execute(
            f"CREATE TRIGGER broken BEFORE INSERT ON events WHEN NEW.state = '{state}' "
            "BEGIN SELECT RAISE(ABORT, 'cannot be written'); END"
        )
        done = xlbridge("upload", path, "--mode", "queue", "--yes", **settings)
        assert (done.returncode, "cannot be written" in done.stderr) == (code, True)
        assert "To continue: xlbridge resume" in done.stderr
        journal.execute("DROP TRIGGER broken")
    done = xlbridge("resume", "--yes", **settings)
    verdict, next_step = done.stdout.splitlines()
    assert (done.returncode, verdict) == (0, "Done. Rows accepted: 1 of 1.")
    assert next_step.startswith("Next: nothing is left to do; a copy of the workbook")


def test_a_record_is_not_sent_if_its_announcement_cannot_be_stored(
    proxy: LossyProxy, run: Run, setting: Setting, home: Path
) -> None:
    write = CHANNELS["create_records"](setting)
    Journal(home / "journal.db").close()
    with closing(sqlite3.connect(home / "journal.db")) as journal:
        journal.execute(
            "CREATE TRIGGER broken BEFORE INSERT ON record_writes WHEN NEW.state = 'sending' "
            "BEGIN SELECT RAISE(ABORT, 'cannot be written'); END"
        )
        proxy.seen.clear()
        assert run(*write.command)[0] == 6
        assert not any(write.sends(*request) for request in proxy.seen)
        journal.execute("DROP TRIGGER broken")
    assert run("resume", newest_job(run), "--yes")[0] == 0
    assert write.written() == write.wanted


def test_a_name_that_is_not_valid_text_is_refused(tmp_path: Path) -> None:
    with (
        closing(open_local_database(tmp_path / "kept.db", "CREATE TABLE t (a TEXT)")) as db,
        pytest.raises(UsageError, match="not valid UTF-8 text"),
    ):
        db.execute("INSERT INTO t VALUES (?)", ("ol\udce1.xlsx",))


def test_a_clock_that_was_set_back_does_not_change_the_order_of_jobs(
    context: UploadContext, client: Client, tmp_path: Path
) -> None:
    rows = [{"numeroDoDocumento": new_cnpj(), "dataDeVencimento": date(2026, 12, 10)}]
    path = write_records(tmp_path / "contas.xlsx", "contaspagar", rows)
    clock = FakeClock()
    with closing(Journal(context.settings.journal, now=clock)) as journal:
        at_hand = UploadContext(context.settings, context.catalogue, journal)
        uploads = Uploads(at_hand, client)
        first = uploads.run(write_job(at_hand, client, path, "direct"), AT_ONCE)
        clock.set_by(-86_400)
        undo = uploads.run(uploads.create_undo(uploads.plan_undo(first)), AT_ONCE)
        assert undo.created_at < first.created_at
        assert row_counts(journal, first)["undone"] == 1
        second = uploads.run(write_job(at_hand, client, path, "direct"), AT_ONCE)
        assert row_counts(journal, second)["created"] == 1
        assert [job.id for job in journal.jobs()] == [second.id, undo.id, first.id]
