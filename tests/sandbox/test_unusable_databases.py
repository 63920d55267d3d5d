"""Databases that a sandbox cannot use, each with an error and a hint."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from databases import TABLES, connected, database_of, metadata, open_storage
from environment import ROOT, Xlbridge, clean_environment
from sqlalchemy import Column, Integer, MetaData, func, select, text

from xlbridge.errors import ConfigError
from xlbridge.i18n import set_language
from xlbridge.sandbox import SeedKind, open_database, seed_database, storage
from xlbridge.sandbox.storage import database_url, fingerprint

companies = TABLES["companies"]
sales_orders = TABLES["sales_orders"]


@pytest.fixture(autouse=True)
def english() -> None:
    set_language("en")


def refused(home: Path) -> ConfigError:
    with pytest.raises(ConfigError) as raised:
        open_storage(home)
    assert raised.value.hint is not None
    return raised.value


def test_a_database_of_another_version_is_reported_with_that_version(tmp_path: Path) -> None:
    with connected(tmp_path, writing=True) as connection:
        connection.execute(text("update sandbox_layout set fingerprint = 'x', version = '9.8.7'"))
    error = refused(tmp_path)
    assert "(9.8.7)" in str(error)
    assert "Delete it" in str(error.hint)


def test_another_programs_database_is_left_alone(tmp_path: Path) -> None:
    with connected(tmp_path, writing=True) as connection:
        metadata.drop_all(connection)
        connection.execute(text("drop table sandbox_layout"))
        connection.execute(text("create table invoices (id integer)"))
    error = refused(tmp_path)
    assert "another program" in str(error)
    assert "empty database" in str(error.hint)


@pytest.mark.parametrize(
    "change",
    [
        lambda tables: tables.tables["companies"].append_column(Column("more", Integer)),
        lambda tables: setattr(tables.tables["companies"].c.name, "nullable", True),
        lambda tables: setattr(tables.tables["companies"].c.name, "type", Integer()),
        lambda tables: tables.tables["clients"].indexes.pop(),
        lambda tables: tables.remove(tables.tables["outbox"]),
    ],
    ids=["column", "nullable", "type", "index", "table"],
)
def test_any_change_of_a_table_changes_the_fingerprint(change: Callable[[MetaData], None]) -> None:
    same, changed = MetaData(), MetaData()
    for table in metadata.sorted_tables:
        table.to_metadata(same)
        table.to_metadata(changed)
    change(changed)
    assert fingerprint(same) == fingerprint(metadata) != fingerprint(changed)


def test_each_database_has_a_permanent_unique_id(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    ids = []
    for home in (first, first, second):
        home.mkdir(exist_ok=True)
        with closing(open_storage(home)) as storage:
            ids.append(storage.system)
    assert ids[0] == ids[1] != ids[2]


def test_a_database_without_a_system_id_is_assigned_one(tmp_path: Path) -> None:
    with connected(tmp_path, writing=True) as connection:
        connection.execute(text("drop table sandbox_system"))
    with closing(open_storage(tmp_path)) as storage:
        system = storage.system
    with closing(open_storage(tmp_path)) as storage:
        assert storage.system == system


def test_the_command_ends_with_the_message_only(xlbridge: Xlbridge, tmp_path: Path) -> None:
    with connected(tmp_path, writing=True) as connection:
        connection.execute(text("update sandbox_layout set fingerprint = 'x'"))
    ended = xlbridge("sandbox", "--db", database_of(tmp_path))
    assert ended.returncode == 2
    assert "its tables differ" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/proc/sandbox.db", "unable to open"),
        ("/proc/no/such/sandbox.db", "could not be opened"),
        ("{file}/sandbox.db", "could not be opened"),
        ("{file}", "damaged"),
        ("{broken}", "damaged"),
    ],
)
def test_unusable_file_is_reported(
    xlbridge: Xlbridge, tmp_path: Path, path: str, message: str
) -> None:
    file, broken = tmp_path / "notes.txt", tmp_path / "broken.db"
    file.write_text("no database at all, only notes")
    open_database(database_url(str(broken))).close()
    content = broken.read_bytes()
    broken.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))
    ended = xlbridge("sandbox", "--db", path.format(file=file, broken=broken))
    # Who may not even write there has a computer that fails.
    is_forbidden = path == "/proc/sandbox.db" and not os.access("/proc", os.W_OK)
    assert ended.returncode == (6 if is_forbidden else 2)
    assert message in ended.stderr
    assert "Traceback" not in ended.stderr
    assert "--db" in ended.stderr


@pytest.mark.processes
@pytest.mark.skipif(os.name != "posix", reason="limits the size of files")
@pytest.mark.parametrize("command", [("sandbox",), ("export", "clientes", "-o", "c.xlsx")])
def test_a_disk_without_space_is_a_failure_of_the_computer(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    program = "import resource, runpy; _, most = resource.getrlimit(resource.RLIMIT_FSIZE); "
    program += "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, most)); "
    program += "runpy.run_module('xlbridge', run_name='__main__', alter_sys=True)"
    ended = subprocess.run(
        [sys.executable, "-c", program, *command],
        env=clean_environment(tmp_path),
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert ended.returncode == 6, ended.stderr
    assert "sandbox.db could not be opened: disk I/O error" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_locked_file_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "LOCK_SECONDS", 0.1)
    path = tmp_path / "sandbox.db"
    with sqlite3.connect(path) as other:
        other.execute("begin exclusive")
        with pytest.raises(ConfigError, match="locked") as raised:
            open_database(database_url(str(path)))
        other.rollback()
    other.close()
    assert "Another process" in str(raised.value.hint)
    open_database(database_url(str(path))).close()


@pytest.mark.processes
def test_interrupted_seeding_starts_over(tmp_path: Path) -> None:
    database = database_of(tmp_path)
    command = [sys.executable, "-m", "xlbridge", "sandbox", "--db", database, "--scale", "5"]
    with subprocess.Popen(
        command, env=clean_environment(tmp_path), stderr=subprocess.PIPE, text=True
    ) as process:
        assert "Filling the new database: 10000 sales orders" in process.stderr.readline()
        os.kill(process.pid, signal.SIGKILL)
    with connected(tmp_path, writing=True) as connection:
        assert connection.scalar(select(func.count()).select_from(companies)) == 0
        assert connection.scalar(select(func.count()).select_from(sales_orders)) == 0
        assert seed_database(connection, SeedKind.EMPTY, 1)
        assert connection.scalar(select(func.count()).select_from(companies)) == 1


@pytest.mark.processes
@pytest.mark.skipif(os.name != "posix", reason="other systems have no such modes")
@pytest.mark.parametrize("path", ["sandbox.db", "new/sandbox.db"])
def test_a_folder_without_permission_is_a_failure_of_the_computer(
    tmp_path: Path, path: str
) -> None:
    as_owner = () if os.geteuid() else ("setpriv", "--bounding-set=-dac_override,-dac_read_search")
    if as_owner and not shutil.which(as_owner[0]):
        pytest.skip("the superuser may write everywhere")
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o500)
    ended = subprocess.run(
        [*as_owner, sys.executable, "-m", "xlbridge", "sandbox", "--db", folder / path],
        env=clean_environment(tmp_path),
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert ended.returncode == 6, ended.stderr
    assert "could not be opened" in ended.stderr
    assert "[Errno" not in ended.stderr
    assert "--db" in ended.stderr
