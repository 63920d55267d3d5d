"""A damaged or foreign journal is refused, and never silently replaced by a new one."""

import json
import shutil
from pathlib import Path

import pytest
from environment import Xlbridge, credentials
from upload_parts import MakeClients, new_cnpj

from xlbridge.client import Client
from xlbridge.sandbox import RunningSandbox


@pytest.fixture
def sent(
    xlbridge: Xlbridge, sandbox: RunningSandbox, tmp_path: Path, make_clients: MakeClients
) -> tuple[Path, Path, dict[str, str]]:
    """Home whose journal has one upload of two clients without a key, with sheet and settings."""
    home = tmp_path / "own-home"
    environment = credentials(sandbox) | {"XLBRIDGE_HOME": str(home)}
    path = make_clients("", "")
    assert xlbridge("upload", path, "--yes", **environment).returncode == 0
    return home, path, environment


def count(client: Client) -> int:
    return len(client.registry.clients.list())


def empty(home: Path) -> None:
    (home / "journal.db").write_bytes(b"")


def lose(home: Path) -> None:
    for path in home.glob("journal.db*"):
        path.unlink()


def cut(home: Path) -> None:
    path = home / "journal.db"
    path.write_bytes(path.read_bytes()[:5000])


def cut_to_a_byte(home: Path) -> None:
    path = home / "journal.db"
    path.write_bytes(path.read_bytes()[:1])


def garble(home: Path) -> None:
    path = home / "journal.db"
    path.write_bytes(b"garbage " * (path.stat().st_size // 8))


def lose_with_marker(home: Path) -> None:
    lose(home)
    (home / "journal.id").unlink()


@pytest.mark.parametrize("harm", [empty, lose, cut, cut_to_a_byte, garble, lose_with_marker])
def test_a_harmed_journal_stops_every_upload_until_a_person_accepts_it(
    xlbridge: Xlbridge, client: Client, sent: tuple[Path, Path, dict[str, str]], harm: object
) -> None:
    home, path, environment = sent
    before = count(client)
    assert callable(harm)
    harm(home)
    refused = xlbridge("upload", path, "--yes", **environment)
    assert refused.returncode == 6
    assert "journal.db" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert count(client) == before
    known = xlbridge("export", "importacao", "-o", home / "logs.csv", **environment)
    assert (known.returncode, (home / "logs.csv").exists()) == (6, False)
    assert xlbridge("doctor", **environment).returncode != 0
    accepted = xlbridge("doctor", "--accept-journal", "looked by hand", **environment)
    assert accepted.returncode == 0, accepted.stderr
    assert xlbridge("jobs", **environment).returncode == 0


def test_an_older_copy_and_another_home_s_journal_are_refused(
    xlbridge: Xlbridge,
    client: Client,
    sent: tuple[Path, Path, dict[str, str]],
    tmp_path: Path,
    make_clients: MakeClients,
) -> None:
    home, path, environment = sent
    older = tmp_path / "older.db"
    shutil.copy(home / "journal.db", older)
    more = make_clients(new_cnpj(), name="more.xlsx")
    assert xlbridge("upload", more, "--yes", **environment).returncode == 0
    before = count(client)
    shutil.copy(older, home / "journal.db")
    refused = xlbridge("upload", path, "--yes", **environment)
    assert (refused.returncode, count(client)) == (2, before)
    assert "older" in refused.stderr or "antigo" in refused.stderr
    other = environment | {"XLBRIDGE_HOME": str(tmp_path / "other-home")}
    assert xlbridge("upload", more, "--yes", **other).returncode == 0
    shutil.copy(older, tmp_path / "other-home" / "journal.db")
    assert xlbridge("upload", path, "--yes", **other).returncode == 2
    assert count(client) == before


def test_a_home_without_a_marker_is_adopted_once(
    xlbridge: Xlbridge, sent: tuple[Path, Path, dict[str, str]]
) -> None:
    home, _, environment = sent
    marker = json.loads((home / "journal.id").read_text("utf-8"))
    assert marker["last_job"]
    assert (home / "journal.id").stat().st_mode & 0o077 == 0
    (home / "journal.id").unlink()
    assert xlbridge("jobs", **environment).returncode != 0
