"""Control characters in names and answers never reach a terminal."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from environment import Xlbridge, clean_environment, credentials
from scripted_server import EMAIL, PASSWORD, ScriptedServer, answer, ok
from sheets import write_records

from xlbridge.sandbox import RunningSandbox

ESCAPES = "\x1b]0;owned\x07\x9b31m\u202egnp"
"""A title for the terminal, a bell, a colour by C1, and letters from right to left."""

CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
SHOWN = r"\u001b]0;owned\u0007\u009b31m\u202egnp"


def logged_in(server: ScriptedServer) -> dict[str, str]:
    return {
        "XLBRIDGE_BASE_URL": server.base_url,
        "XLBRIDGE_EMAIL": EMAIL,
        "XLBRIDGE_PASSWORD": PASSWORD,
        "XLBRIDGE_PROFILE": "remote",
    }


def test_messages_about_files_have_no_control_characters(
    xlbridge: Xlbridge, tmp_path: Path, empty_sandbox: RunningSandbox
) -> None:
    name = f"{ESCAPES}.xlsx"
    write_records(tmp_path / name, "cliente", [{"nomeComercial": "Cliente com escapes"}])
    environment = credentials(empty_sandbox)
    for arguments in (
        ["validate", name],
        ["validate", f"missing{name}"],
        ["template", "cliente", "-o", f"new{name}"],
        ["upload", name, "--yes"],
        ["jobs"],
        ["validate", name, ESCAPES],
    ):
        done = xlbridge(*arguments, **environment)
        printed = done.stdout + done.stderr
        assert SHOWN in printed, arguments
        assert CONTROL.search(printed) is None, arguments


def test_answers_of_the_system_have_no_control_characters(
    xlbridge: Xlbridge, server: ScriptedServer
) -> None:
    info = {"nomeComercial": ESCAPES, "codigoDaEmpresa": 1}
    server.steps.append(ok(info))
    shown = xlbridge("whoami", **logged_in(server))
    assert f"nomeComercial: {SHOWN}" in shown.stdout
    server.login = answer(200, {"authenticated": False, "message": ESCAPES})
    refused = xlbridge("login", **logged_in(server))
    assert SHOWN in refused.stderr
    assert CONTROL.search(shown.stdout + shown.stderr + refused.stderr) is None


@pytest.mark.processes
@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
def test_json_is_exact_in_a_file_and_escaped_on_a_terminal(
    home: Path, server: ScriptedServer
) -> None:
    server.steps.append(ok({"nomeComercial": ESCAPES, "codigoDaEmpresa": 1}))
    reading, writing = os.pipe()
    printed = []
    for ours, theirs in ((reading, writing), os.openpty()):
        subprocess.run(
            [sys.executable, "-m", "xlbridge", "whoami", "--format", "json"],
            env=clean_environment(home, **logged_in(server)),
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            check=True,
        )
        printed.append(os.read(ours, 2**16).decode())
        os.close(ours)
        os.close(theirs)
    exact, escaped = printed
    assert json.loads(exact) == json.loads(escaped)
    assert json.loads(exact)["info"]["nomeComercial"] == ESCAPES
    assert CONTROL.search(escaped) is None
    assert "\u202e" in exact
