"""The sandbox as other rooms start it: its options, and the server process of a command.

The ready file of that process has its address and credentials. This module does not import the
server.
"""

import http.client
import json
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from random import Random
from urllib.parse import urlsplit

from xlbridge.errors import CHECK_HOME, LocalFailure, TransportError, UsageError
from xlbridge.extras import require_extra
from xlbridge.files import make_private_folder, report_write_errors, write_private
from xlbridge.i18n import Text, active_language
from xlbridge.processes import NEW_PROCESS_GROUP, command_line, report_start_errors
from xlbridge.settings import Settings
from xlbridge.wire.imports import NO_QUIRKS, Quirks
from xlbridge.wire.operations import AUTHENTICATE

_FAULT_PATTERN = re.compile(
    r"(?P<kind>[a-z-]+)(?:=(?P<value>\d+(?:\.\d+)?))?(?:@(?P<share>0?\.\d+|0|1(?:\.0+)?))?"
)
_SEED_KEY = "seed"


class FaultKind(StrEnum):
    """Kinds of faults of a request.

    Three have a value in seconds: ``delay`` waits, ``throttle`` responds 429 with that
    ``Retry-After``, ``slow-queue`` delays each queued file. ``error`` is a 500, ``cut`` a
    connection closed without a response, before or after the request is executed. ``expire``
    responds 401, now and to every later request with the same token.
    """

    DELAY = "delay"
    ERROR_BEFORE = "error-before"
    ERROR_AFTER = "error-after"
    CUT_BEFORE = "cut-before"
    CUT_AFTER = "cut-after"
    EXPIRE = "expire"
    THROTTLE = "throttle"
    SLOW_QUEUE = "slow-queue"


@dataclass(frozen=True, slots=True)
class Fault:
    """Fault of one kind: its seconds, and the share of requests affected."""

    kind: FaultKind
    value: float = 1.0
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class FaultPlan:
    """Faults of a run, and the random seed that selects the requests affected."""

    faults: tuple[Fault, ...] = ()
    seed: int = 0

    @property
    def slow_queue(self) -> float:
        """Seconds that each queued file waits."""
        return sum(fault.value for fault in self.faults if fault.kind is FaultKind.SLOW_QUEUE)

    def faults_of(self, number: int) -> Iterator[Fault]:
        """Yield the faults of the request with this number."""
        chance = Random(f"{self.seed}:{number}")  # noqa: S311 - repeatable on purpose
        for fault in self.faults:
            if chance.random() < fault.share:
                yield fault


def parse_faults(text: str) -> FaultPlan:
    """Parse a plan such as ``delay=0.5@0.2,cut-after@0.05,seed=7``.

    Each part is a kind, ``=`` seconds (default 1) and ``@`` share of requests (0 to 1, default 1).
    Raises ``UsageError``.
    """
    faults, seed = [], 0
    for part in filter(None, map(str.strip, text.split(","))):
        match = _FAULT_PATTERN.fullmatch(part)
        if match and match["kind"] == _SEED_KEY and match["value"]:
            seed = int(float(match["value"]))
        elif match and match["kind"] in tuple(FaultKind):
            value, share = float(match["value"] or 1), float(match["share"] or 1)
            faults.append(Fault(FaultKind(match["kind"]), value, share))
        else:
            raise UsageError(
                Text(
                    pt="--faults: {part!r} não é uma falha. Use: {kinds}, seed=N.",
                    en="--faults: {part!r} is not a fault. Use: {kinds}, seed=N.",
                ).format(part=part, kinds=", ".join(FaultKind)),
                Text(
                    pt="Por exemplo: delay=0.5@0.2,cut-after@0.05,seed=7",
                    en="For example: delay=0.5@0.2,cut-after@0.05,seed=7",
                ),
            )
    return FaultPlan(tuple(faults), seed)


class SeedKind(StrEnum):
    """``empty``: supporting registries only; ``demo``: also the records of a small company."""

    EMPTY = "empty"
    DEMO = "demo"


ProgressCallback = Callable[[int, int], None]
"""Callback with the number of sales orders that were seeded, and their total."""


@dataclass(frozen=True, slots=True)
class Behaviour:
    """Behaviour of the sandbox.

    ``faults``: planned faults. ``exposed``: it listens beyond loopback, also under
    ``host_names``. ``request_timeout``: time after which a stalled request is closed.
    ``strict``: names and values must be written exactly as in the spec's samples. ``quirks``: those
    of the installation that it stands for.
    """

    token_lifetime: timedelta = timedelta(hours=1)
    request_timeout: timedelta = timedelta(seconds=30)
    faults: FaultPlan = FaultPlan()
    exposed: bool = False
    host_names: tuple[str, ...] = ()
    strict: bool = False
    quirks: Quirks = NO_QUIRKS


@dataclass(frozen=True, slots=True)
class RunningSandbox:
    """Address and credentials of a running sandbox.

    ``system`` is the id stored in its database, independent of the port.
    """

    base_url: str
    email: str
    password: str = field(repr=False)
    pid: int
    system: str


def write_ready_file(path: Path, running: RunningSandbox) -> None:
    """Write the ready file atomically, readable only by its owner."""
    write_private(path, json.dumps(asdict(running)), in_home=False)


def read_ready_file(path: Path) -> RunningSandbox | None:
    """Read a ready file; return None if it is missing or unreadable."""
    try:
        return RunningSandbox(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


_READY_SECONDS = 60.0
_STOP_SECONDS = 10.0
_POLL_SECONDS = 0.02
_LOG_LINES_SHOWN = 3
_COMPUTER_FAILED = 6
"""Exit code of a sandbox whose disk is full or read-only."""
_CREDENTIAL_VARIABLES = (
    "XLBRIDGE_BASE_URL",
    "XLBRIDGE_EMAIL",
    "XLBRIDGE_PASSWORD",
    "XLBRIDGE_PROFILE",
)


def default_database(settings: Settings) -> Path:
    """Return the default database of a sandbox."""
    return settings.home / "sandbox.db"


def default_ready_file(settings: Settings) -> Path:
    """Return the ready file by which commands find a sandbox on the default database."""
    return settings.home / "sandbox.json"


@contextmanager
def embedded_sandbox(
    settings: Settings, quirks_file: Path | None = None
) -> Iterator[RunningSandbox]:
    """Run a sandbox on the default database while the context lasts, with the quirks of a file.

    If the user already runs one on it, that one is used and left running. Raises ``ConfigError``
    if the ``sandbox`` extra is not installed, ``TransportError`` if the sandbox does not start.
    """
    running = read_ready_file(default_ready_file(settings))
    if running is not None and _is_answering(running):
        yield running
        return
    options = [] if quirks_file is None else ["--quirks", str(quirks_file)]
    with sandbox_process(settings.home, options, schemas=settings.custom_schemas) as started:
        yield started


@contextmanager
def sandbox_process(
    home: Path,
    options: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    program: Sequence[str] = (),
    schemas: Path | None = None,
) -> Iterator[RunningSandbox]:
    """Run ``xlbridge sandbox`` in a process, and stop it afterwards.

    ``options``: additional command-line options. ``environment``: replaces the current one; the
    user's address and credentials are never passed on. ``program``: start of the command line of
    a different xlbridge. ``schemas``: folder of the sandbox's own resources. Raises like
    ``embedded_sandbox``.
    """
    require_extra(
        "sandbox", Text(pt="Ou configure XLBRIDGE_BASE_URL.", en="Or set XLBRIDGE_BASE_URL.")
    )
    log = home / "sandbox.log"
    with report_write_errors(log, in_home=True):
        make_private_folder(home)
        log.touch(0o600)
        log_start = log.stat().st_size
    with tempfile.TemporaryDirectory(prefix="xlbridge-", ignore_cleanup_errors=True) as folder:
        ready_file = Path(folder) / "ready.json"
        command = [*(program or command_line()), "sandbox", "--while-stdin-open", *options]
        command += ["--ready-file", str(ready_file)]
        command += [] if schemas is None else ["--schemas", str(schemas)]
        with log.open("ab") as errors, report_start_errors():
            process = subprocess.Popen(  # noqa: S603 - our own command, no shell
                command,
                env=sandbox_environment(home, environment),
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                **NEW_PROCESS_GROUP,
            )
        try:
            yield _wait_until_ready(process, ready_file, log, log_start)
        finally:
            _stop(process)


def sandbox_environment(home: Path, base: Mapping[str, str] | None) -> dict[str, str]:
    """Return the environment of a sandbox, from ``base`` or the current one."""
    if base is None:
        base = {**os.environ, "XLBRIDGE_LANG": active_language()}
    inherited = {name: value for name, value in base.items() if name not in _CREDENTIAL_VARIABLES}
    return inherited | {"XLBRIDGE_HOME": str(home)}


def _wait_until_ready(
    process: "subprocess.Popen[bytes]", ready_file: Path, log: Path, log_start: int
) -> RunningSandbox:
    deadline, written = time.monotonic() + _READY_SECONDS, log_start
    while time.monotonic() < deadline and process.poll() is None:
        running = read_ready_file(ready_file)
        if running is not None:
            return running
        # On a busy computer a database is filled for minutes, whose progress the log tells.
        if (size := log.stat().st_size) != written:
            deadline, written = time.monotonic() + _READY_SECONDS, size
        time.sleep(_POLL_SECONDS)
    lines = log.read_bytes()[log_start:].decode("utf-8", "replace").strip().splitlines()
    last = "\n".join(lines[-_LOG_LINES_SHOWN:])
    kind = LocalFailure if process.poll() == _COMPUTER_FAILED else TransportError
    raise kind(
        Text(
            pt="O ambiente de testes embutido não iniciou; veja {log}",
            en="The embedded sandbox did not start; see {log}",
        ).format(log=log),
        hint=Text(pt=last, en=last) if last else CHECK_HOME,
    )


def _stop(process: "subprocess.Popen[bytes]") -> None:
    if os.name == "nt" and process.stdin:
        # Windows can only kill a process; this one stops by itself when its input closes.
        process.stdin.close()
    else:
        process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    finally:
        if process.stdin:
            process.stdin.close()


def _is_answering(running: RunningSandbox) -> bool:
    """Return whether a sandbox listens there and accepts these credentials."""
    address = urlsplit(running.base_url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=2)
    body = json.dumps({"email": running.email, "password": running.password})
    try:
        connection.request(
            AUTHENTICATE.method, AUTHENTICATE.path, body, {"Content-Type": "application/json"}
        )
        answer = json.loads(connection.getresponse().read())
        return isinstance(answer, dict) and answer.get("authenticated") is True
    except (OSError, ValueError, http.client.HTTPException):
        return False
    finally:
        connection.close()
