"""Ctrl-C leaves a job that can be continued, and says how."""

import json
import signal
import subprocess
import sys
import threading
from pathlib import Path

from environment import Xlbridge, clean_environment, credentials, without_coverage
from lossy_proxy import Fate, LossyProxy
from record_parts import TYPES, codes_of, described, make_types, posts
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
    process = subprocess.Popen(
        [sys.executable, "-m", "xlbridge", "upload", str(path), "--yes", "--mode", "direct"],
        env=without_coverage(clean_environment(home, **environment)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
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
    """Answers that come soon are taken down, and nothing more is sent."""
    names = described(20)
    path = make_types(tmp_path / "tipos.xlsx", names)
    sent, interrupted = threading.Semaphore(0), threading.Event()

    def hold(method: str, asked: str) -> Fate:
        if method == "POST" and asked == TYPES:
            sent.release()
            interrupted.wait()
        return "pass"

    proxy.decide = hold
    environment = credentials(sandbox, XLBRIDGE_SETTLE="0") | {"XLBRIDGE_BASE_URL": proxy.base_url}
    process = subprocess.Popen(
        [sys.executable, "-m", "xlbridge", "upload", str(path), "--yes", "--at-once", "2"],
        env=clean_environment(home, **environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert sent.acquire(timeout=60)
    assert sent.acquire(timeout=60)
    process.send_signal(signal.SIGINT)
    interrupted.set()
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    assert "Traceback" not in stdout + stderr
    assert "xlbridge resume" in stderr
    proxy.decide = lambda _method, _path: "pass"
    resumed = xlbridge("resume", "--yes", "--format", "json", **environment)
    report = json.loads(resumed.stdout)
    assert (resumed.returncode, report["state"], report["rows"]["created"]) == (0, "done", 20)
    assert len(codes_of(client, names)) == posts(proxy, TYPES) == 20
