"""Commands and sandboxes in the process of the tests.

They start at once, but share what a process has once: its language, its environment and its
interrupts. Tests of those, and of killed or concurrent processes, need processes of their own,
which ``--in-process`` excludes.

Inside: sandbox.
"""

import faulthandler
import io
import os
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.core import ParameterSource

from xlbridge.cli.main import main, root
from xlbridge.i18n import active_language, set_language
from xlbridge.resources import load_catalogue
from xlbridge.resources.quirks_file import read_quirks
from xlbridge.sandbox import Behaviour, RunningSandbox, parse_faults
from xlbridge.sandbox.app import build_app
from xlbridge.sandbox.area_declarations import Sandbox
from xlbridge.sandbox.imports import ImportWorker
from xlbridge.sandbox.storage import Storage
from xlbridge.sandbox.users import Account
from xlbridge.serving import LOOPBACK, Server, listen
from xlbridge.settings import Settings
from xlbridge.wire.imports import NO_QUIRKS

NO_PROCESS = 2**30
"""Process id of a sandbox in this process: no process has it, so that none is killed by it."""

_IMPLEMENTED = {"database", "seed", "scale", "faults", "strict", "quirks_file"}
"""Options of ``xlbridge sandbox`` that a sandbox in this process has."""

_PROCESSES = {"forks", "page"}
"""Fixtures that start processes."""

_PATIENCE = 300
"""Seconds until a command is ended, and a sandbox given up."""

_only: list[bool] = []


def exclude_processes() -> None:
    """Exclude tests that need processes of their own from the run."""
    _only.append(True)


def excludes_processes() -> bool:
    """Return whether the run excludes tests that need processes of their own."""
    return bool(_only)


def needs_process(item: pytest.Item) -> bool:
    """Return whether a test certainly needs processes of its own."""
    fixtures = getattr(item, "fixturenames", ())
    return not _PROCESSES.isdisjoint(fixtures) or item.get_closest_marker("processes") is not None


def skip_if_excluded(needed_for: str) -> None:
    """Skip a test that turns out to need a process, if the run excludes it."""
    if excludes_processes():
        pytest.skip(f"{needed_for} needs a process of its own")


def run_command(
    folder: Path, environment: Mapping[str, str], arguments: list[str], content: bytes = b""
) -> "subprocess.CompletedProcess[str]":
    """Run a command line in this process; ``content`` is on its standard input."""
    with (
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
        _kept_process_state(content),
        _limited_time(),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")  # They are errors in tests, and nothing to users.
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(folder)
        sys.argv = ["xlbridge", *arguments]
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        form: dict[str, Any] = {"encoding": "utf-8", "errors": "backslashreplace"}
        sys.stdout, sys.stderr = (os.fdopen(n, "w", **form, closefd=False) for n in (1, 2))
        code = main(arguments)
        sys.stdout.flush()
        sys.stderr.flush()
        out.seek(0)
        err.seek(0)
        texts = [stream.read().decode("utf-8") for stream in (out, err)]
    return subprocess.CompletedProcess(arguments, code, *texts)


@contextmanager
def _kept_process_state(content: bytes) -> Iterator[None]:
    """Restore what a command changes."""
    environment, folder, arguments = dict(os.environ), Path.cwd(), sys.argv
    language, streams = active_language(), (sys.stdin, sys.stdout, sys.stderr)
    kept = [os.dup(number) for number in (0, 1, 2)]
    with tempfile.TemporaryFile() as given:
        given.write(content)
        given.seek(0)
        os.dup2(given.fileno(), 0)
    sys.stdin = io.TextIOWrapper(os.fdopen(0, "rb", closefd=False), encoding="utf-8")
    try:
        yield
    finally:
        for number, saved in enumerate(kept):
            os.dup2(saved, number)
            os.close(saved)
        sys.stdin, sys.stdout, sys.stderr = streams
        set_language(language)
        sys.argv = arguments
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)


@contextmanager
def _limited_time() -> Iterator[None]:
    """End the tests, with what each thread does, if a block takes very long."""
    faulthandler.dump_traceback_later(_PATIENCE, exit=True, file=sys.__stderr__)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


def sandbox_behaviour(options: Sequence[str]) -> Behaviour | None:
    """Return the behaviour of a sandbox with these options; None if it needs a process."""
    parent = root.make_context("xlbridge", [], resilient_parsing=True)
    command = root.get_command(parent, "sandbox")
    assert command is not None
    context = command.make_context("sandbox", list(options), parent)
    if any(
        context.get_parameter_source(name) is not ParameterSource.DEFAULT
        for name in context.params.keys() - _IMPLEMENTED
    ):
        return None
    chosen = context.params
    file = chosen["quirks_file"]
    quirks = NO_QUIRKS if file is None else read_quirks(file, load_catalogue())
    faults = parse_faults(chosen["faults"] or "")
    return Behaviour(faults=faults, strict=chosen["strict"], quirks=quirks)


@contextmanager
def sandbox_thread(
    storage: Storage, account: Account, settings: Settings, behaviour: Behaviour
) -> Iterator[RunningSandbox]:
    """Run a sandbox in a thread of this process, for the block."""
    catalogue = load_catalogue(settings.schemas)
    sandbox = Sandbox(storage, catalogue, settings.limits, behaviour)
    worker = ImportWorker(sandbox)
    ready = threading.Event()
    with listen(LOOPBACK, 0) as listener:
        server = Server(build_app(sandbox), ready.set, log_config=None, timeout_graceful_shutdown=1)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        worker.start()
        thread.start()
        try:
            assert ready.wait(_PATIENCE)
            address = f"http://{LOOPBACK}:{listener.getsockname()[1]}"
            yield RunningSandbox(
                address, account.email, account.password, NO_PROCESS, storage.system
            )
        finally:
            server.stop()
            thread.join()
            worker.stop()
