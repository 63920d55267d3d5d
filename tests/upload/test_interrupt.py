"""Ctrl-C leaves a job that can be resumed, and the message says how."""

import json
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from environment import Xlbridge, clean_environment, credentials, without_coverage
from lossy_proxy import Fate, LossyProxy
from process_parts import INVENTORIES, KINDS, SERVICE_INVOICES, Kind, counts, sent_for
from record_parts import TYPES, codes_of, described, make_types, posts
from sampling import sampled
from upload_parts import MakeClients, new_cnpj, registered

from xlbridge.client import Client
from xlbridge.sandbox import RunningSandbox


def test_ctrl_c_while_the_answer_is_awaited(
    xlbridge: Xlbridge,
    home: Path,
    sandbox: RunningSandbox,
    client: Client,
    proxy: LossyProxy,
    make_clients: MakeClients,
) -> None:
    document = new_cnpj()
    path = make_clients(document)
    sent, ended = threading.Event(), threading.Event()

    def hold(_method: str, asked: str) -> Fate:
        if "preview=false" in asked:
            sent.set()
            ended.wait()
        return "pass"

    proxy.decide = hold
    environment = credentials(sandbox, XLBRIDGE_SETTLE="0") | {"XLBRIDGE_BASE_URL": proxy.base_url}
    whole = without_coverage(clean_environment(home, **environment))
    process = begun(whole, "upload", path, "--mode", "direct")
    assert sent.wait(timeout=60)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    ended.set()
    assert process.returncode == 130
    job = json.loads(xlbridge("jobs", "--format", "json").stdout)["jobs"][0]["job"]
    assert f"xlbridge resume {job}" in stderr
    assert "Traceback" not in stdout + stderr
    proxy.decide = lambda _method, _path: "pass"
    while not registered(client, document):
        pass
    resumed = xlbridge("resume", job, "--yes", "--format", "json", **environment)
    assert (resumed.returncode, json.loads(resumed.stdout)["state"]) == (0, "done")
    assert json.loads(xlbridge("jobs", job, "--format", "json").stdout)["rows"]["accepted"] == 1


def test_ctrl_c_while_records_are_written(
    xlbridge: Xlbridge,
    home: Path,
    sandbox: RunningSandbox,
    client: Client,
    proxy: LossyProxy,
    tmp_path: Path,
) -> None:
    """Answers that arrive soon are recorded, and nothing more is sent."""
    names = described(20)
    path = make_types(tmp_path / "tipos.xlsx", names)
    environment = credentials(sandbox, XLBRIDGE_SETTLE="0") | {"XLBRIDGE_BASE_URL": proxy.base_url}
    interrupt(home, environment, proxy, TYPES, 2, "upload", path)
    resumed = xlbridge("resume", "--yes", "--format", "json", **environment)
    report = json.loads(resumed.stdout)
    assert (resumed.returncode, report["state"], report["rows"]["created"]) == (0, "done", 20)
    assert len(codes_of(client, names)) == posts(proxy, TYPES) == 20


@pytest.mark.parametrize("kind", sampled(KINDS, lambda _, kind: kind is SERVICE_INVOICES))
def test_ctrl_c_while_records_are_processed(
    xlbridge: Xlbridge,
    home: Path,
    sandbox: RunningSandbox,
    sandbox_home: Path,
    client: Client,
    customer: int,
    proxy: LossyProxy,
    tmp_path: Path,
    kind: Kind,
) -> None:
    """A warehouse has one open inventory; records of all other kinds wait for others."""
    at_once = 1 if kind is INVENTORIES else 2
    count = 1 if kind is INVENTORIES else 6
    numbers = [kind.create(client, customer, tmp_path) for _ in range(count)]
    environment = credentials(sandbox, XLBRIDGE_SETTLE="0") | {"XLBRIDGE_BASE_URL": proxy.base_url}
    listed = ",".join(map(str, numbers))
    proxy.seen.clear()
    interrupt(home, environment, proxy, kind.path, at_once, "process", kind.listing, "--id", listed)
    assert sum(kind.path in asked for method, asked in proxy.seen if method == "POST") == at_once
    resumed = xlbridge("resume", "--yes", "--format", "json", **environment)
    report = json.loads(resumed.stdout)
    assert (resumed.returncode, report["rows"]) == (0, counts(read=count, processed=count))
    assert [kind.times(sandbox_home, number) for number in numbers] == [1] * count
    assert sent_for(proxy, kind) == count


def interrupt(
    home: Path, environment: dict[str, str], proxy: LossyProxy, path: str, at_once: int, *what: Any
) -> None:
    """Run a command until a number of requests to a path is in flight, and press Ctrl-C."""
    sent, interrupted = threading.Semaphore(0), threading.Event()

    def hold(method: str, asked: str) -> Fate:
        if method == "POST" and path in asked:
            sent.release()
            interrupted.wait()
        return "pass"

    proxy.decide = hold
    process = begun(clean_environment(home, **environment), *what, "--at-once", at_once)
    for _ in range(at_once):
        assert sent.acquire(timeout=60)
    process.send_signal(signal.SIGINT)
    interrupted.set()
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    assert "Traceback" not in stdout + stderr
    assert "xlbridge resume" in stderr
    proxy.decide = lambda _method, _path: "pass"


def begun(environment: dict[str, str], *arguments: Any) -> "subprocess.Popen[str]":
    """Start a command in its own process, which has its own signals."""
    return subprocess.Popen(
        [sys.executable, "-m", "xlbridge", *map(str, arguments), "--yes"],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
