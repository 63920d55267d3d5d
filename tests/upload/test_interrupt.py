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
from lossy_proxy import LossyProxy, ProxyFault
from process_parts import (
    INVENTORIES,
    KINDS,
    SERVICE_INVOICES,
    Kind,
    count_processing_requests,
    record_counts,
)
from record_parts import TYPES, codes_of, count_posts, make_types, new_descriptions
from sampling import sampled
from upload_parts import MakeClients, new_cnpj, registered

from xlbridge.client import Client
from xlbridge.sandbox import RunningSandbox

pytestmark = pytest.mark.processes


def test_ctrl_c_while_waiting_for_an_answer(
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

    def hold(_method: str, request_path: str) -> ProxyFault:
        if "preview=false" in request_path:
            sent.set()
            ended.wait()
        return "pass"

    proxy.decide = hold
    environment = credentials(sandbox, XLBRIDGE_SETTLE="0") | {"XLBRIDGE_BASE_URL": proxy.base_url}
    variables = without_coverage(clean_environment(home, **environment))
    process = start_command(variables, "upload", path, "--mode", "direct")
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
    """Answers that arrive after the signal are stored, and nothing more is sent."""
    names = new_descriptions(20)
    path = make_types(tmp_path / "tipos.xlsx", names)
    environment = credentials(sandbox, XLBRIDGE_SETTLE="0") | {"XLBRIDGE_BASE_URL": proxy.base_url}
    interrupt(home, environment, proxy, TYPES, 2, "upload", path)
    resumed = xlbridge("resume", "--yes", "--format", "json", **environment)
    report = json.loads(resumed.stdout)
    assert (resumed.returncode, report["state"], report["rows"]["created"]) == (0, "done", 20)
    assert len(codes_of(client, names)) == count_posts(proxy, TYPES) == 20


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
    """A warehouse has one open inventory; other records are processed two at a time."""
    at_once = 1 if kind is INVENTORIES else 2
    count = 1 if kind is INVENTORIES else 6
    numbers = [kind.create(client, customer, tmp_path) for _ in range(count)]
    environment = credentials(sandbox, XLBRIDGE_SETTLE="0") | {"XLBRIDGE_BASE_URL": proxy.base_url}
    listed = ",".join(map(str, numbers))
    proxy.seen.clear()
    interrupt(home, environment, proxy, kind.path, at_once, "process", kind.listing, "--id", listed)
    assert (
        sum(kind.path in request_path for method, request_path in proxy.seen if method == "POST")
        == at_once
    )
    resumed = xlbridge("resume", "--yes", "--format", "json", **environment)
    report = json.loads(resumed.stdout)
    assert (resumed.returncode, report["rows"]) == (0, record_counts(read=count, processed=count))
    assert [kind.times_processed(sandbox_home, number) for number in numbers] == [1] * count
    assert count_processing_requests(proxy, kind) == count


def interrupt(
    home: Path,
    environment: dict[str, str],
    proxy: LossyProxy,
    path: str,
    at_once: int,
    *command: Any,
) -> None:
    """Run a command until ``at_once`` requests to a path are in flight, and send it a SIGINT."""
    sent, interrupted = threading.Semaphore(0), threading.Event()

    def hold(method: str, request_path: str) -> ProxyFault:
        if method == "POST" and path in request_path:
            sent.release()
            interrupted.wait()
        return "pass"

    proxy.decide = hold
    process = start_command(clean_environment(home, **environment), *command, "--at-once", at_once)
    for _ in range(at_once):
        assert sent.acquire(timeout=60)
    process.send_signal(signal.SIGINT)
    interrupted.set()
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    assert "Traceback" not in stdout + stderr
    assert "xlbridge resume" in stderr
    proxy.decide = lambda _method, _path: "pass"


def start_command(environment: dict[str, str], *arguments: Any) -> "subprocess.Popen[str]":
    """Start a command in a process of its own, which can be sent signals."""
    return subprocess.Popen(
        [sys.executable, "-m", "xlbridge", *map(str, arguments), "--yes"],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
