"""Hostile workbooks sent to the sandbox: each gets an answer in the interface's format."""

import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import httpx
import pytest
from environment import clean_environment
from hostile_files import CASES, SAMPLE, write_hostile
from sandboxes import logged_in, sandbox_process

from xlbridge.sandbox import RunningSandbox

_READ = {"good", "findings"}
_UPLOAD_OUTCOMES = {"macros": "not-xlsx"}
"""Outcomes of files that commands read but the interface, which accepts only .xlsx, refuses."""
_PATHS = ("/v2/importacao/cliente", "/v2/importacao/cliente/fila")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RunningSandbox]:
    environment = clean_environment(tmp_path)
    with sandbox_process(tmp_path, ["--seed", "empty"], environment, own_process=True) as running:
        yield running


@pytest.fixture
def http(server: RunningSandbox) -> Iterator[httpx.Client]:
    with logged_in(server) as client:
        yield client


@pytest.mark.parametrize("names", [SAMPLE, pytest.param(tuple(CASES), marks=pytest.mark.slow)])
def test_each_hostile_upload_is_answered_and_the_server_survives(
    tmp_path: Path, server: RunningSandbox, http: httpx.Client, names: tuple[str, ...]
) -> None:
    files = write_hostile(tmp_path, names)
    outcomes = {name: CASES[name][0] for name in names} | _UPLOAD_OUTCOMES
    readable = {name for name in names if outcomes[name] in _READ}
    # What can be read is not left in the queue, where it would be applied.
    for chosen, paths, max_megabytes in (
        (set(names) - readable, _PATHS, 512),
        (readable, _PATHS[:1], 1536),
    ):
        wrong = {}
        for name, path in product(sorted(chosen), paths):
            form = {"ArquivoExcel": ("a.xlsx", files[name].read_bytes())}
            answer = http.post(path, params={"preview": "true"}, files=form)
            if (outcome := _outcome(answer)) not in _expected(outcomes[name]):
                wrong[name, path] = outcome
        assert wrong == {}
        assert http.get("/v2/sistema/info").json()["success"]
        assert _peak(server.pid) < max_megabytes


def _expected(outcome: str) -> set[str]:
    if outcome == "too-large":
        return {"400 file", "413 content"}
    return {"good": {"accepted"}, "findings": {"400 content"}}.get(outcome, {"400 file"})


def _outcome(answer: httpx.Response) -> str:
    """Return the outcome that an answer reports, or the answer if it has another format."""
    body = answer.json()
    if answer.status_code == 200 and body["success"]:
        return "accepted"
    if body["success"] or any(e.keys() != {"key", "value", "dateOccurred"} for e in body["errors"]):
        return f"{answer.status_code} {answer.text}"
    what = "file" if body["errors"][0]["key"] == "ArquivoExcel" else "content"
    return f"{answer.status_code} {what}"


def _peak(pid: int) -> float:
    """Peak memory of a process, in MB."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert found
    return int(found[1]) / 1024
