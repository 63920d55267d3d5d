"""SIGKILL in the middle of an upload, then resume: nothing twice, nothing lost, no false done."""

import json
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from environment import Xlbridge, clean_environment, credentials
from upload_parts import MakeClients, new_cnpj, registered

from xlbridge.api.client import Client
from xlbridge.sandbox.running import RunningSandbox

ROWS = 40


def kill_once(home: Path, path: Path, environment: dict[str, str], mode: str, after: float) -> None:
    """Start an upload and kill it ``after`` seconds, unless it ends before."""
    process = subprocess.Popen(
        [sys.executable, "-m", "xlbridge", "upload", str(path), "--yes", "--mode", mode],
        env=clean_environment(home, **environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    time.sleep(after)
    process.kill()
    process.wait()


def hold_to_the_promise(
    seed: int,
    mode: str,
    home: Path,
    xlbridge: Xlbridge,
    client: Client,
    sandbox: RunningSandbox,
    make_clients: MakeClients,
) -> None:
    documents = [new_cnpj() for _ in range(ROWS)]
    path = make_clients(*documents)
    environment = credentials(sandbox, XLBRIDGE_SETTLE="0")
    kill_once(home, path, environment, mode, random.Random(seed).uniform(0.6, 2.2))
    jobs = json.loads(xlbridge("jobs", "--format", "json").stdout)["jobs"]
    assert len(jobs) <= 1
    if not jobs:
        assert not any(registered(client, document) for document in documents)
        return
    done = xlbridge("resume", "--yes", "--format", "json", **environment)
    if done.returncode == 2:
        done = xlbridge("resume", jobs[0]["job"], "--yes", "--format", "json", **environment)
    report = json.loads(done.stdout)
    applied = sum(registered(client, document) for document in documents)
    assert report["state"] in {"done", "in_doubt"}, done.stderr
    assert applied in {0, ROWS}
    if report["state"] == "done":
        assert applied == ROWS
    assert xlbridge("upload", path, "--yes", **environment).returncode == 2


@pytest.mark.parametrize(
    ("seed", "mode"), [(1, "direct"), (2, "queue"), (3, "direct"), (4, "queue")]
)
def test_a_killed_upload(
    seed: int,
    mode: str,
    home: Path,
    xlbridge: Xlbridge,
    client: Client,
    sandbox: RunningSandbox,
    make_clients: MakeClients,
) -> None:
    hold_to_the_promise(seed, mode, home, xlbridge, client, sandbox, make_clients)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 160))
def test_many_killed_uploads(
    seed: int,
    home: Path,
    xlbridge: Xlbridge,
    client: Client,
    sandbox: RunningSandbox,
    make_clients: MakeClients,
) -> None:
    mode = "direct" if seed % 2 else "queue"
    hold_to_the_promise(seed, mode, home, xlbridge, client, sandbox, make_clients)
