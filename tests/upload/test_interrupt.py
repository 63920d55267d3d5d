"""Ctrl-C leaves a job that can be resumed, and the message says how."""

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from channel_parts import CHANNELS, PROCESSING, Setting, Write
from child_processes import wait_until
from environment import clean_environment, without_coverage
from forked import Running, Zygote
from lossy_proxy import LossyProxy, ProxyFault
from sampling import sampled
from update_parts import Run, newest_job, writes

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

    ``at_once`` of its requests are in flight: those that write, or are ``held``. Their answers
    arrive after the signal, or only after the end of the command if they are ``late``.
    """

    def interrupt(
        write: Write,
        at_once: int,
        *,
        late: bool = False,
        held: Callable[[str, str], bool] | None = None,
    ) -> str:
        sent, answered = threading.Semaphore(0), threading.Event()
        in_flight: list[bool] = []

        def hold(method: str, request_path: str) -> ProxyFault:
            if (held or write.sends)(method, request_path):
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
        arguments = [*map(str, write.command), "--at-once", str(at_once)]
        ended = forks.run(tmp_path, environment, arguments, begun=send_signal, longest=120)
        answered.set()
        proxy.decide = lambda _method, _path: "pass"
        assert all(in_flight), ended.stderr
        assert ended.returncode == 130, ended.stderr
        assert "Traceback" not in ended.stdout + ended.stderr
        return ended.stderr

    return interrupt


@pytest.mark.parametrize(
    "channel",
    [
        "import_directly",
        "create_records",
        "undo_upload",
        *sampled(PROCESSING, lambda _, channel: channel == "process nfse"),
    ],
)
def test_an_interrupted_command_is_resumed_and_writes_once(
    proxy: LossyProxy, run: Run, setting: Setting, interrupt: Interrupt, channel: str
) -> None:
    """Answers that arrive after the signal are stored, and nothing more is sent."""
    write = CHANNELS[channel](setting)
    at_once = min(write.requests, 2)
    proxy.seen.clear()
    is_late = channel == "import_directly"
    reported = interrupt(write, at_once, late=is_late)
    assert sum(write.sends(*request) for request in proxy.seen) == at_once
    job = newest_job(run)
    assert f"xlbridge resume {job}" in reported
    wait_until(lambda: write.written() == (write.wanted if is_late else at_once))
    code, report = run("resume", job, "--yes")
    assert (code, report["state"], write.written()) == (0, "done", write.wanted), report
    assert report["rows"]["unknown"] == 0
    assert sum(write.sends(*request) for request in writes(proxy)) == write.requests


def test_a_change_is_not_sent_if_its_record_is_read_during_the_interrupt(
    proxy: LossyProxy, run: Run, setting: Setting, interrupt: Interrupt
) -> None:
    """The request of a thread is granted by the main thread, which sends nothing any more."""
    write = CHANNELS["undo_upload"](setting)
    deleted = set[str]()

    def reads_next(method: str, path: str) -> bool:
        if write.sends(method, path):
            deleted.add(path)
        return method == "GET" and bool(deleted) and path not in deleted

    proxy.seen.clear()
    reported = interrupt(write, 1, held=reads_next)
    assert sum(write.sends(*request) for request in proxy.seen) == 1
    job = newest_job(run)
    assert f"xlbridge resume {job}" in reported
    code, report = run("resume", job, "--yes")
    assert (code, report["state"], write.written()) == (0, "done", write.wanted), report
    assert sum(write.sends(*request) for request in writes(proxy)) == write.requests
