"""Files that an upload stores are readable by their owner only."""

import os
import stat
from pathlib import Path

import pytest
from environment import Xlbridge, credentials
from upload_parts import MakeClients, new_cnpj

from xlbridge.sandbox import RunningSandbox


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_home_journal_and_payloads_are_private(
    xlbridge: Xlbridge, sandbox: RunningSandbox, tmp_path: Path, make_clients: MakeClients
) -> None:
    home = tmp_path / "new" / "home"
    environment = credentials(sandbox) | {"XLBRIDGE_HOME": str(home)}
    path = make_clients(new_cnpj())
    assert xlbridge("upload", path, "--yes", **environment).returncode == 0
    more = make_clients(new_cnpj(), name="more.xlsx")
    assert xlbridge("upload", more, "--yes", **environment).returncode == 0
    assert [mode(folder) for folder in (home, home.parent, home / "payloads")] == [0o700] * 3
    private = [home / "journal.db", home / "journal.id", *(home / "payloads").iterdir()]
    assert len(private) >= 4
    assert {mode(one) for one in private} == {0o600}
    options = ["-o", tmp_path / "c.csv", "--since-last"]
    assert xlbridge("export", "clientes", *options, **environment).returncode == 0
    kept = [home, *home.rglob("*")]
    assert {mode(one) for one in kept if one.is_dir()} == {0o700}
    assert {mode(one) for one in kept if one.is_file()} == {0o600}


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
@pytest.mark.parametrize("command", [["export", "estoque", "-o", "e.csv"], ["whoami"]])
def test_the_first_command_creates_a_private_home(
    xlbridge: Xlbridge, sandbox: RunningSandbox, tmp_path: Path, command: list[str]
) -> None:
    home = tmp_path / "first"
    command = [str(tmp_path / part) if part.endswith(".csv") else part for part in command]
    environment = credentials(sandbox) | {"XLBRIDGE_HOME": str(home)}
    assert xlbridge(*command, **environment).returncode == 0
    assert {mode(one) for one in (home, *home.rglob("*")) if one.is_dir()} == {0o700}


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_a_rejects_workbook_is_private(
    xlbridge: Xlbridge,
    sandbox: RunningSandbox,
    make_clients: MakeClients,
    tmp_path: Path,
) -> None:
    environment = credentials(sandbox)
    document = new_cnpj()
    first = make_clients(document)
    assert xlbridge("upload", first, "--yes", **environment).returncode == 0
    held = make_clients(document, name="held.xlsx", label="Outro")
    assert xlbridge("upload", held, "--yes", **environment).returncode == 1
    (rejects,) = tmp_path.glob("held-rejected-*.xlsx")
    assert mode(rejects) == 0o600
