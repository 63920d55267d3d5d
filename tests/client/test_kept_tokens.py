"""Stored tokens: private, used by their owner only, renewed once."""

import json
import os
import stat
import threading
import time
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from scripted_server import (
    EMAIL,
    PASSWORD,
    TOKEN,
    ScriptedServer,
    answer,
    ok,
)

from xlbridge.client import Client, Target, TokenFile
from xlbridge.errors import AuthenticationFailed, UsageError
from xlbridge.wire.operations import TIMESTAMP_FORMAT

INFO = {"codigoDaEmpresa": 1}


def in_hours(hours: float) -> str:
    return (datetime.now() + timedelta(hours=hours)).strftime(TIMESTAMP_FORMAT)


def grant(token: str, expiration: str | None, created: str | None = None) -> bytes:
    times = {"created": created, "expiration": expiration}
    return answer(200, {"authenticated": True, "accessToken": token, **times})


def open_stored(
    server: ScriptedServer, home: Path, password: str = PASSWORD, email: str = EMAIL
) -> Client:
    target = Target("test", server.base_url, email, password)
    return Client(target, token_file=TokenFile(home, server.base_url, email, password))


def tokens_sent(server: ScriptedServer) -> list[str]:
    return [request.headers["authorization"].removeprefix("Bearer ") for request in server.requests]


def test_the_next_process_uses_the_token(server: ScriptedServer, home: Path) -> None:
    server.steps, server.login = [ok(INFO)], grant(TOKEN, in_hours(1))
    for _ in range(2):
        with open_stored(server, home) as client:
            client.system.info()
    assert (server.logins, tokens_sent(server)) == (1, [TOKEN, TOKEN])
    (file,) = (home / "tokens").glob("*.json")
    if os.name == "posix":
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert PASSWORD not in file.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "expiration",
    [None, "", "soon", in_hours(-1), in_hours(0.01)],
    ids=["missing", "empty", "not a time", "past", "nearly past"],
)
def test_a_token_that_expires_soon_is_not_stored(
    server: ScriptedServer, home: Path, expiration: str | None
) -> None:
    server.steps, server.login = [ok(INFO)], grant(TOKEN, expiration)
    for _ in range(2):
        with open_stored(server, home) as client:
            client.system.info()
    assert server.logins == 2
    assert list((home / "tokens").glob("*.json")) == []


@pytest.mark.parametrize("hours", [-5, 5], ids=["behind", "ahead"])
def test_a_token_of_a_system_with_another_clock_is_stored(
    server: ScriptedServer, home: Path, hours: int
) -> None:
    server.steps, server.login = [ok(INFO)], grant(TOKEN, in_hours(hours + 1), in_hours(hours))
    for _ in range(2):
        with open_stored(server, home) as client:
            client.system.info()
    assert server.logins == 1


@pytest.mark.parametrize(
    ("wall_hours", "uptime_hours", "boot", "logins"),
    [
        (3, 0, None, 1),
        (-3, 0, None, 1),
        (0, -3, None, 2),
        (3, -3, None, 2),
        (-3, -3, "another start", 2),
        (3, -3, "another start", 1),
    ],
    ids=["set back", "set forward", "old", "old, set back", "restarted, old", "unknown"],
)
def test_the_age_of_a_token_is_not_told_by_a_clock_that_was_set(
    server: ScriptedServer, home: Path, wall_hours: int, uptime_hours: int, boot: str | None,
    logins: int,
) -> None:  # fmt: skip
    """Where nothing tells its age, it is used, as the system's answer decides."""
    server.steps, server.login = [ok(INFO)], grant(TOKEN, in_hours(1), in_hours(0))
    with open_stored(server, home) as client:
        client.system.info()
    (file,) = (home / "tokens").glob("*.json")
    stored = json.loads(file.read_text("utf-8"))
    at, started, uptime = stored["obtained"]
    at = (datetime.fromisoformat(at) + timedelta(hours=wall_hours)).isoformat()
    stored["obtained"] = [at, boot or started, uptime + 3600 * uptime_hours]
    file.write_text(json.dumps(stored), "utf-8")
    with open_stored(server, home) as client:
        client.system.info()
    assert server.logins == logins


def test_a_token_that_expires_meanwhile_is_renewed_before_the_next_request(
    server: ScriptedServer, home: Path
) -> None:
    """A write with an expired token would be in doubt."""
    server.steps, server.login = [ok(INFO)], grant("canary-token-old", in_hours(1), in_hours(0))
    with open_stored(server, home) as client:
        client.login()
    (file,) = (home / "tokens").glob("*.json")
    stored = json.loads(file.read_text("utf-8"))
    stored["obtained"][2] -= 3600 - 61
    file.write_text(json.dumps(stored), "utf-8")
    server.login = grant(TOKEN, in_hours(1), in_hours(0))
    with open_stored(server, home) as client:
        client.system.info()
        time.sleep(1.1)
        client.system.info()
    assert tokens_sent(server) == ["canary-token-old", TOKEN]


@pytest.mark.parametrize("other", [{"password": "other-password"}, {"email": "other@example.com"}])
def test_a_token_is_not_used_with_other_credentials(
    server: ScriptedServer, home: Path, other: dict[str, str]
) -> None:
    server.steps, server.login = [ok(INFO)], grant(TOKEN, in_hours(1))
    with open_stored(server, home) as client:
        client.system.info()
    with open_stored(server, home, **other) as client:
        client.system.info()
    assert server.logins == 2


def test_a_refused_token_is_renewed_once_and_stored(server: ScriptedServer, home: Path) -> None:
    server.steps, server.login = [ok(INFO)], grant("canary-token-old", in_hours(1))
    with open_stored(server, home) as client:
        client.system.info()
    server.steps, server.login = [answer(401, b""), ok(INFO)], grant(TOKEN, in_hours(1))
    with open_stored(server, home) as client:
        client.system.info()
    with open_stored(server, home) as client:
        client.system.info()
    assert tokens_sent(server) == ["canary-token-old", "canary-token-old", TOKEN, TOKEN]
    assert server.logins == 2
    server.steps = [answer(401, b"")]
    with open_stored(server, home) as client, pytest.raises(AuthenticationFailed):
        client.system.info()
    assert server.logins == 3


def test_a_token_renewed_by_another_process_is_used(server: ScriptedServer, home: Path) -> None:
    server.steps, server.login = [ok(INFO)], grant("canary-token-old", in_hours(1))
    with open_stored(server, home) as first, open_stored(server, home) as second:
        first.system.info()
        second.system.info()
        server.login = grant(TOKEN, in_hours(1))
        server.steps = [answer(401, b""), ok(INFO)]
        first.system.info()
        server.steps = [answer(401, b""), ok(INFO)]
        second.system.info()
    assert (server.logins, tokens_sent(server)[-1]) == (2, TOKEN)


def test_concurrent_clients_log_in_once(server: ScriptedServer, home: Path) -> None:
    server.steps, server.login = [ok(INFO)], grant(TOKEN, in_hours(1))
    barrier = threading.Barrier(4)

    def ask() -> None:
        with open_stored(server, home) as client:
            barrier.wait()
            client.system.info()

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (server.logins, len(server.requests)) == (1, 4)


def test_refused_credentials_leave_no_token(server: ScriptedServer, home: Path) -> None:
    server.steps, server.login = [ok(INFO)], grant(TOKEN, in_hours(1))
    with open_stored(server, home) as client:
        client.login()
        server.login = answer(200, {"authenticated": False, "message": "no"})
        with pytest.raises(AuthenticationFailed):
            client.login()
    assert list((home / "tokens").glob("*.json")) == []


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"expiration": 3}', "\x00"])
def test_an_invalid_token_file_is_replaced(server: ScriptedServer, home: Path, text: str) -> None:
    server.steps, server.login = [ok(INFO)], grant(TOKEN, in_hours(1))
    with open_stored(server, home) as client:
        client.login()
    (file,) = (home / "tokens").glob("*.json")
    file.write_text(text, encoding="utf-8")
    with open_stored(server, home) as client:
        client.system.info()
    assert json.loads(file.read_text(encoding="utf-8"))["token"] == TOKEN


def test_a_home_that_cannot_be_written_is_reported(server: ScriptedServer, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    server.steps = [ok(INFO)]
    with (
        open_stored(server, tmp_path / "file") as client,
        pytest.raises(UsageError, match="tokens"),
    ):
        client.system.info()
    assert server.logins == 0
