"""The embedded sandbox, and the command that runs one in the foreground.

Inside: sandbox.
"""

import importlib.util
import itertools
import os
import subprocess
import sys
import time
from contextlib import ExitStack, closing
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from environment import Xlbridge
from forked import Zygote
from sandboxes import create_database
from servers import log_in
from test_durability import wait_for

from xlbridge.client import RetryPolicy
from xlbridge.connection import connect
from xlbridge.errors import ConfigError, LocalFailure, TransportError, UsageError
from xlbridge.i18n import set_language
from xlbridge.sandbox import (
    RunningSandbox,
    embedded_sandbox,
    open_database,
    sandbox_process,
)
from xlbridge.sandbox.embedded import default_ready_file, write_ready_file
from xlbridge.sandbox.storage import database_url
from xlbridge.settings import Settings

_SLOW_START = """
import sys, time
ready = sys.argv[sys.argv.index("--ready-file") + 1]
for number in range(8):
    if number == 7:
        with open(ready + ".new", "w") as file:
            file.write('{"base_url": "", "email": "", "password": "", "pid": 1, "system": "slow"}')
        __import__("os").replace(ready + ".new", ready)
    print("written:", number, file=sys.stderr, flush=True)
    time.sleep(0.05)
sys.stdin.read()
"""

pytestmark = [pytest.mark.one_database, pytest.mark.processes]


def test_sandbox_has_credentials_of_its_own_and_ends_with_its_context(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XLBRIDGE_EMAIL", "person@example.com")
    monkeypatch.setenv("XLBRIDGE_PASSWORD", "a password of production")
    home = tmp_path / "home"
    stale = RunningSandbox("http://127.0.0.1:9", "a@example.com", "x", 1, "a system")
    write_ready_file(default_ready_file(Settings(home=home)), stale)
    with embedded_sandbox(Settings(home=home)) as server:
        assert server.base_url != stale.base_url
        assert server.email != "person@example.com"
        assert server.password != "a password of production"
        with log_in(server) as http:
            assert http.get("/v2/sistema/info").status_code == 200
        assert server.password not in repr(server)
        kept = [home, *home.rglob("*")]
    if os.name == "posix":
        written = {(path.is_dir(), path.stat().st_mode & 0o777) for path in kept if path.exists()}
        assert written == {(True, 0o700), (False, 0o600)}
    with pytest.raises(httpx.ConnectError):
        httpx.get(server.base_url)


def test_the_system_id_does_not_depend_on_the_port(tmp_path: Path) -> None:
    known = []
    policy = RetryPolicy(tries=2)
    home, other_home = tmp_path / "one", tmp_path / "two"
    for _ in range(2):
        create_database(home, [])
        with connect(Settings(home=home), lambda _text: None, policy) as client:
            known.append((client.target.system, client.target.base_url))
            assert client.retry_policy is policy
    (first, one), (again, other) = known
    create_database(other_home, [])
    with closing(open_database(database_url(str(other_home / "sandbox.db")))) as storage:
        assert first == again != storage.system
    assert one != other
    assert first is not None


def test_a_failed_start_is_reported_with_its_log_in_the_language_of_the_command(
    tmp_path: Path,
) -> None:
    (tmp_path / "sandbox.db").write_text("no database")
    set_language("pt-BR")
    try:
        with (
            pytest.raises(TransportError, match=r"sandbox\.log") as raised,
            embedded_sandbox(Settings(home=tmp_path)),
        ):
            pass
    finally:
        set_language("en")
    logged = (tmp_path / "sandbox.log").read_text(encoding="utf-8")
    assert "Erro:" in logged
    assert "not a database" in logged
    assert "apague-o" in str(raised.value.hint)


def test_an_unusable_home_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(UsageError) as raised,
        embedded_sandbox(Settings(home=tmp_path / "file" / "home")),
    ):
        pass
    assert "XLBRIDGE_HOME" in str(raised.value.hint)


def test_a_sandbox_that_cannot_write_its_log_is_reported_with_what_to_check(tmp_path: Path) -> None:
    ends_silently = [sys.executable, "-c", "raise SystemExit(6)"]
    with (
        pytest.raises(LocalFailure) as raised,
        sandbox_process(tmp_path, program=ends_silently),
    ):
        pass
    assert "XLBRIDGE_HOME" in str(raised.value.hint)
    assert "disk space" in str(raised.value.hint)


def test_a_missing_extra_is_reported_with_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "uvicorn" else find(name)
    )
    with pytest.raises(ConfigError) as raised, embedded_sandbox(Settings(home=tmp_path)):
        pass
    assert "[sandbox]" in str(raised.value.hint)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--expose", "127.0.0.1"], "XLBRIDGE_PASSWORD"),
        (["--expose", "no such address"], "Cannot listen"),
        (["--db", "nothing://here"], "address is invalid"),
        (["--db", "://"], "address is invalid"),
        (["--seed", "other"], "--seed"),
        (["--scale", "0"], "--scale"),
    ],
)
def test_wrong_usage_ends_with_a_message(
    xlbridge: Xlbridge, options: list[str], message: str
) -> None:
    password = "" if message == "XLBRIDGE_PASSWORD" else "a long secret"
    ended = xlbridge("sandbox", *options, XLBRIDGE_PASSWORD=password)
    assert ended.returncode == 2
    assert message in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_port_in_use_ends_with_a_message(server: RunningSandbox, xlbridge: Xlbridge) -> None:
    ended = xlbridge("sandbox", "--port", server.base_url.rpartition(":")[2])
    assert ended.returncode == 2
    assert "Cannot listen" in ended.stderr
    assert "choose another with --port" in ended.stderr


def test_sandbox_run_by_the_user_explains_its_use_and_keeps_running(
    tmp_path: Path,
) -> None:
    environment = {**os.environ, "XLBRIDGE_HOME": str(tmp_path), "XLBRIDGE_LANG": "en"}
    environment |= {"XLBRIDGE_EMAIL": "me@example.com", "XLBRIDGE_PASSWORD": "my options"}
    command = [sys.executable, "-m", "xlbridge", "sandbox", "--seed", "empty"]
    with subprocess.Popen(
        command, env=environment, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        running = wait_for(default_ready_file(Settings(home=tmp_path)))
        assert running.base_url.startswith("http://127.0.0.1:")
        assert (running.email, running.password) == ("me@example.com", "my options")
        with embedded_sandbox(Settings(home=tmp_path)) as server:
            assert server == running
        with log_in(running) as http:
            assert http.get("/v2/sistema/info").json()["data"]["email"] == "me@example.com"
        process.terminate()
        printed, logged = process.communicate(timeout=20)
    assert (process.returncode, printed) == (130, "")
    assert not default_ready_file(Settings(home=tmp_path)).exists()
    for line in (
        "XLBRIDGE_BASE_URL=",
        "XLBRIDGE_EMAIL=",
        "The password is that of XLBRIDGE_PASSWORD.",
    ):
        assert line in logged


def test_concurrent_starts_on_a_new_database_agree(tmp_path: Path, forks: Zygote) -> None:
    environment = {**os.environ, "XLBRIDGE_HOME": str(tmp_path)}
    command = ["sandbox", "--seed", "empty", "--ready-file"]
    ready = [tmp_path / f"ready-{index}.json" for index in range(3)]
    with ExitStack() as stack:
        for path in ready:
            options = [*command, str(path)]
            stack.enter_context(forks.running(environment, options, log=path.with_suffix(".log")))
        running = [wait_for(path) for path in ready]
        assert len({server.password for server in running}) == 1
        for server in running:
            with log_in(server) as http:
                assert http.get("/v2/sistema/info").status_code == 200


def test_starting_imports_no_spreadsheet_libraries() -> None:
    listed = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", "import xlbridge.sandbox.server"],
        capture_output=True,
        text=True,
        check=True,
    ).stderr
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in listed.splitlines()}
    assert "starlette" in imported
    assert not imported & {"pandas", "pandera", "numpy", "openpyxl", "httpx"}


def test_a_start_that_tells_progress_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clock that runs ahead: seven lines are told within three minutes."""
    log = tmp_path / "sandbox.log"
    seconds, seen = itertools.count(0, 25), [0]

    def sleep_until_written(_seconds: float) -> None:
        while log.stat().st_size == seen[0]:
            time.sleep(0.01)
        seen[0] = log.stat().st_size

    clock = SimpleNamespace(monotonic=lambda: next(seconds), sleep=sleep_until_written)
    monkeypatch.setattr("xlbridge.sandbox.embedded.time", clock)
    with sandbox_process(tmp_path, [], program=[sys.executable, "-c", _SLOW_START]) as running:
        assert running.system == "slow"
