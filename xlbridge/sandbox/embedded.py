"""The embedded sandbox: a process of its own that a command starts and ends.

The ready file tells where it listens and who may log in. Nothing of the server is imported
here.
"""

import http.client
import importlib.util
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from xlbridge.errors import ConfigError, TransportError
from xlbridge.files import make_private_folder, report_write_errors, write_private
from xlbridge.i18n import Text, active_language
from xlbridge.processes import NEW_PROCESS_GROUP, command_line, report_start_errors
from xlbridge.settings import Settings
from xlbridge.wire.authentication import AUTHENTICATE


@dataclass(frozen=True, slots=True)
class RunningSandbox:
    """Address and credentials of a running sandbox.

    ``system`` is the id that its database keeps, whatever port it listens on.
    """

    base_url: str
    email: str
    password: str = field(repr=False)
    pid: int
    system: str


def write_ready_file(path: Path, running: RunningSandbox) -> None:
    """Write the ready file, whole, for its owner only."""
    write_private(path, json.dumps(asdict(running)))


def read_ready_file(path: Path) -> RunningSandbox | None:
    """Read a ready file, None where there is no readable one."""
    try:
        return RunningSandbox(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


_REQUIRED_PACKAGES = ("multipart", "sqlalchemy", "starlette", "uvicorn")
_READY_SECONDS = 60.0
_STOP_SECONDS = 10.0
_POLL_SECONDS = 0.02
_LOG_LINES_SHOWN = 3
_CREDENTIAL_VARIABLES = (
    "XLBRIDGE_BASE_URL",
    "XLBRIDGE_EMAIL",
    "XLBRIDGE_PASSWORD",
    "XLBRIDGE_PROFILE",
)


def default_database(settings: Settings) -> Path:
    """Return the database that a sandbox uses by default."""
    return settings.home / "sandbox.db"


def default_ready_file(settings: Settings) -> Path:
    """Return the ready file by which commands find a sandbox that runs on that database."""
    return settings.home / "sandbox.json"


@contextmanager
def embedded_sandbox(settings: Settings) -> Iterator[RunningSandbox]:
    """Run a sandbox on the default database for as long as the context lasts.

    One that the user runs already on it is used, and left running. Raises ``ConfigError`` when
    the ``sandbox`` extra is not installed, ``TransportError`` when it does not come up.
    """
    running = read_ready_file(default_ready_file(settings))
    if running is not None and _is_answering(running):
        yield running
        return
    with sandbox_process(settings.home, schemas=settings.custom_schemas) as started:
        yield started


@contextmanager
def sandbox_process(
    home: Path,
    options: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    program: Sequence[str] = (),
    schemas: Path | None = None,
) -> Iterator[RunningSandbox]:
    """Run ``xlbridge sandbox`` in a process of its own, and end it afterwards.

    ``options`` are further ones of the command line; ``environment`` replaces this process's, and
    the user's own address and credentials never pass. ``program`` begins the command line of
    another xlbridge than this one; ``schemas`` is the folder of the sandbox's own resources. Raises
    like ``embedded_sandbox``.
    """
    require_extra()
    log = home / "sandbox.log"
    with report_write_errors(log):
        make_private_folder(home)
        log.touch(0o600)
        already = log.stat().st_size
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
            yield _wait_until_ready(process, ready_file, log, already)
        finally:
            _stop(process)


def sandbox_environment(home: Path, base: Mapping[str, str] | None) -> dict[str, str]:
    """Return the environment of a sandbox with a home, made of this process's or of ``base``."""
    spoken = {"XLBRIDGE_LANG": active_language()}
    passed = {**os.environ, **spoken} if base is None else base
    inherited = {name: value for name, value in passed.items() if name not in _CREDENTIAL_VARIABLES}
    return inherited | {"XLBRIDGE_HOME": str(home)}


def require_extra() -> None:
    """Raise ``ConfigError`` where the ``sandbox`` extra is not installed."""
    if all(importlib.util.find_spec(name) for name in _REQUIRED_PACKAGES):
        return
    raise ConfigError(
        Text(
            pt="O sistema de ensaio embutido não está instalado.",
            en="The embedded sandbox is not installed.",
        ),
        hint=Text(
            pt='Instale-o: pip install "xlbridge[sandbox]"; ou configure XLBRIDGE_BASE_URL.',
            en='Install it: pip install "xlbridge[sandbox]"; or set XLBRIDGE_BASE_URL.',
        ),
    )


def _wait_until_ready(
    process: "subprocess.Popen[bytes]", ready_file: Path, log: Path, already: int
) -> RunningSandbox:
    deadline = time.monotonic() + _READY_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        running = read_ready_file(ready_file)
        if running is not None:
            return running
        time.sleep(_POLL_SECONDS)
    written = log.read_bytes()[already:].decode("utf-8", "replace").strip().splitlines()
    last = "\n".join(written[-_LOG_LINES_SHOWN:])
    raise TransportError(
        Text(
            pt="O sistema de ensaio embutido não iniciou; veja {log}",
            en="The embedded sandbox did not start; see {log}",
        ).format(log=log),
        hint=Text(pt=last, en=last) if last else None,
    )


def _stop(process: "subprocess.Popen[bytes]") -> None:
    if os.name == "nt" and process.stdin:
        # Windows ends no process but at once; this one ends by itself with its input.
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
    """Tell whether a sandbox listens there and knows these credentials."""
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
