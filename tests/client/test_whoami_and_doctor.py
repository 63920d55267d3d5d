"""``whoami`` and ``doctor`` judge an environment alike, and say what to try."""

import json
from pathlib import Path

import pytest
from environment import Xlbridge
from sandboxes import create_database
from scripted_server import EMAIL, INFO, PASSWORD, ScriptedServer, Step, answer, ok, reset

REFUSED = {"success": False, "errors": [{"key": "usuario", "value": "sem permissão"}]}
HTML = answer(200, b"<html></html>", "text/html")

REPLIES: dict[str, tuple[Step | None, Step]] = {
    "good": (None, ok(INFO)),
    "no information": (None, ok(None)),
    "another shape": (None, ok([1, 2])),
    "an empty answer": (None, answer(200, b"")),
    "a page": (None, HTML),
    "refused in the answer": (None, answer(200, REFUSED)),
    "forbidden": (None, answer(403, REFUSED)),
    "forbidden by a gateway": (None, answer(403, b"<html></html>", "text/html")),
    "not found": (None, answer(404, REFUSED)),
    "broken": (None, answer(500, REFUSED)),
    "overloaded": (None, answer(503, REFUSED)),
    "token refused": (None, answer(401, REFUSED)),
    "cut": (None, reset),
    "login refused": (answer(200, {"authenticated": False, "message": "Não"}), ok(INFO)),
    "login not found": (answer(404, REFUSED), ok(INFO)),
    "login is a page": (HTML, ok(INFO)),
    "login is broken": (answer(500, REFUSED), ok(INFO)),
}


def environment(server: ScriptedServer, **changes: str) -> dict[str, str]:
    return {
        "XLBRIDGE_BASE_URL": server.base_url,
        "XLBRIDGE_EMAIL": EMAIL,
        "XLBRIDGE_PASSWORD": PASSWORD,
        **changes,
    }


def agreed_code(xlbridge: Xlbridge, variables: dict[str, str]) -> int:
    """Return the exit code of both commands; each problem comes with something to try."""
    who = xlbridge("whoami", **variables)
    doctor = xlbridge("doctor", "--format", "json", **variables)
    checks = json.loads(doctor.stdout)
    assert who.returncode == doctor.returncode, (who.stderr, doctor.stdout)
    assert checks["ok"] is (who.returncode == 0)
    problems = [check for check in checks["checks"] if not check["ok"]]
    assert [check for check in problems if not check["advice"]] == []
    if who.returncode:
        error, *hint = who.stderr.splitlines()
        assert error.startswith("Error: ")
        assert hint, error
    return who.returncode


@pytest.mark.parametrize("name", REPLIES)
def test_they_agree_on_what_answers(xlbridge: Xlbridge, server: ScriptedServer, name: str) -> None:
    server.login, step = REPLIES[name]
    server.steps.append(step)
    assert agreed_code(xlbridge, environment(server)) == (0 if name == "good" else 4)


@pytest.mark.parametrize(
    "changes",
    [
        {"XLBRIDGE_EMAIL": ""},
        {"XLBRIDGE_PASSWORD": ""},
        {"XLBRIDGE_BASE_URL": ""},
        {"XLBRIDGE_BASE_URL": "http://erp.example.com"},
        {"XLBRIDGE_BASE_URL": "erp.example.com"},
        {"XLBRIDGE_BASE_URL": "https://user:secret@erp.example.com"},
        {"XLBRIDGE_BASE_URL": "http://127.0.0.1:9/v2"},
        {"XLBRIDGE_CA_BUNDLE": "missing.pem"},
        {"XLBRIDGE_TIMEOUT": "soon"},
    ],
    ids=lambda changes: "".join(changes.values()) or f"no {next(iter(changes))}",
)
def test_they_agree_on_settings(
    xlbridge: Xlbridge, server: ScriptedServer, changes: dict[str, str]
) -> None:
    server.steps.append(ok(INFO))
    assert agreed_code(xlbridge, environment(server, **changes))


def test_they_agree_on_a_path_behind_the_address(
    xlbridge: Xlbridge, server: ScriptedServer
) -> None:
    """The paths of the interface begin with /v2 already."""
    server.login, server.steps = answer(404, REFUSED), [answer(404, REFUSED)]
    changed = environment(server, XLBRIDGE_BASE_URL=f"{server.base_url}/v2")
    assert agreed_code(xlbridge, changed)


def test_they_agree_on_the_embedded_sandbox(xlbridge: Xlbridge, home: Path) -> None:
    create_database(home, [])
    assert agreed_code(xlbridge, {"XLBRIDGE_PROFILE": "sandbox"}) == 0
