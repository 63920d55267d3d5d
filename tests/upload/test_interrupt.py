"""Ctrl-C leaves a job that can be resumed, and the message says how."""

import json
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from child_processes import wait_until
from environment import Xlbridge, clean_environment, without_coverage
from forked import Running, Zygote
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

Interrupt = Callable[..., str]


@pytest.fixture
def interrupt(
    forks: Zygote,
    home: Path,
    proxy_environment: dict[str, str],
    proxy: LossyProxy,
    tmp_path: Path,
) -> Interrupt:
    """Run a command, send it a SIGINT while it waits for answers, and return what it reports.

    ``path_part`` selects the requests, ``at_once`` is the number that is in flight. Their answers
    arrive after the signal, or only after the end of the command if they are ``late``.
    """

    def interrupt(path_part: str, at_once: int, *command: object, late: bool = False) -> str:
        sent, answered = threading.Semaphore(0), threading.Event()
        in_flight: list[bool] = []

        def hold(method: str, request_path: str) -> ProxyFault:
            if method == "POST" and path_part in request_path:
                sent.release()
                answered.wait()
            return "pass"

        def send_signal(running: Running) -> None:
            in_flight.extend(sent.acquire(timeout=60) for _ in range(at_once))
            os.kill(running.pid, signal.SIGINT)
            if not late:
                answered.set()

        proxy.decide = hold
        environment = without_coverage(clean_environment(home, **proxy_environment))
        arguments = [*map(str, command), "--yes"]
        ended = forks.run(tmp_path, environment, arguments, begun=send_signal, longest=120)
        answered.set()
        proxy.decide = lambda _method, _path: "pass"
        assert all(in_flight), ended.stderr
        assert ended.returncode == 130, ended.stderr
        assert "Traceback" not in ended.stdout + ended.stderr
        return ended.stderr

    return interrupt


def test_ctrl_c_while_waiting_for_an_answer(
    xlbridge: Xlbridge,
    client: Client,
    proxy_environment: dict[str, str],
    make_clients: MakeClients,
    interrupt: Interrupt,
) -> None:
    document = new_cnpj()
    path = make_clients(document)
    reported = interrupt("preview=false", 1, "upload", path, "--mode", "direct", late=True)
    job = json.loads(xlbridge("jobs", "--format", "json").stdout)["jobs"][0]["job"]
    assert f"xlbridge resume {job}" in reported
    wait_until(lambda: registered(client, document))
    resumed = xlbridge("resume", job, "--yes", "--format", "json", **proxy_environment)
    assert (resumed.returncode, json.loads(resumed.stdout)["state"]) == (0, "done")
    assert json.loads(xlbridge("jobs", job, "--format", "json").stdout)["rows"]["accepted"] == 1


def test_ctrl_c_while_records_are_written(
    xlbridge: Xlbridge,
    client: Client,
    proxy: LossyProxy,
    proxy_environment: dict[str, str],
    tmp_path: Path,
    interrupt: Interrupt,
) -> None:
    """Answers that arrive after the signal are stored, and nothing more is sent."""
    names = new_descriptions(20)
    path = make_types(tmp_path / "tipos.xlsx", names)
    assert "xlbridge resume" in interrupt(TYPES, 2, "upload", path, "--at-once", 2)
    resumed = xlbridge("resume", "--yes", "--format", "json", **proxy_environment)
    report = json.loads(resumed.stdout)
    assert (resumed.returncode, report["state"], report["rows"]["created"]) == (0, "done", 20)
    assert len(codes_of(client, names)) == count_posts(proxy, TYPES) == 20


@pytest.mark.parametrize("kind", sampled(KINDS, lambda _, kind: kind is SERVICE_INVOICES))
def test_ctrl_c_while_records_are_processed(
    xlbridge: Xlbridge,
    sandbox_home: Path,
    client: Client,
    customer: int,
    proxy: LossyProxy,
    proxy_environment: dict[str, str],
    tmp_path: Path,
    interrupt: Interrupt,
    kind: Kind,
) -> None:
    """A warehouse has one open inventory; other records are processed two at a time."""
    at_once = 1 if kind is INVENTORIES else 2
    count = 1 if kind is INVENTORIES else 6
    numbers = [kind.create(client, customer, tmp_path) for _ in range(count)]
    listed = ",".join(map(str, numbers))
    proxy.seen.clear()
    command = ("process", kind.listing, "--id", listed, "--at-once", at_once)
    assert "xlbridge resume" in interrupt(kind.path, at_once, *command)
    assert (
        sum(kind.path in request_path for method, request_path in proxy.seen if method == "POST")
        == at_once
    )
    resumed = xlbridge("resume", "--yes", "--format", "json", **proxy_environment)
    report = json.loads(resumed.stdout)
    assert (resumed.returncode, report["rows"]) == (0, record_counts(read=count, processed=count))
    assert [kind.times_processed(sandbox_home, number) for number in numbers] == [1] * count
    assert count_processing_requests(proxy, kind) == count
