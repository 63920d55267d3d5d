"""Parser process: its start, when a file is read or in advance, and its work.

``python -m xlbridge.workbook.read.parser_process`` reads a task from standard input and writes
cells to standard output. The task is a line, a JSON object of ``file``, ``sheet``, ``limits`` and
``seconds``; no line means no task. A malicious file can only kill this process; its parent then
refuses the file.

The process takes as long to start as a command to parse its arguments. Few modules are imported
before, as one of two processors is idle until then.
"""

import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress

from xlbridge.processes import (
    helper_command,
    helper_environment,
    report_ready,
    report_start_errors,
)

MAX_IN_PROCESS_SIZE = 256 * 2**10
"""Maximum unpacked size, in bytes, of a file that may be read without a parser process."""

_ALLOCATION = {
    "MALLOC_MMAP_THRESHOLD_": "33554432",
    "MALLOC_TRIM_THRESHOLD_": "67108864",
    "MALLOC_TOP_PAD_": "16777216",
}
"""Options of malloc that reuse the memory of a chunk of rows; allocating it anew cost 10 %."""

_BUFFER = 1 << 20
"""Bytes read at once: every read has to wait for the GIL while the interpreter imports."""

_started: list["subprocess.Popen[bytes]"] = []


def start_parser_ahead(arguments: Iterable[str]) -> None:
    """Start the process if exactly one of a command's arguments is a large file."""
    large = 0
    for argument in arguments:
        with suppress(OSError, ValueError):
            large += os.stat(argument).st_size > MAX_IN_PROCESS_SIZE  # noqa: PTH116 - see above
    if large == 1:
        with suppress(OSError):
            _started.append(_start())


def parser_process(task: Mapping[str, object]) -> "subprocess.Popen[bytes]":
    """Return a parser process working on a task. Raises ``LocalFailure`` if it does not start."""
    import json

    with report_start_errors():
        process = _started.pop() if _started else _start()
    # If the process has died, its incomplete messages show that.
    with suppress(BrokenPipeError), process.stdin as tasks:  # type: ignore[union-attr]
        tasks.write(json.dumps(task).encode() + b"\n")
    return process


def _start() -> "subprocess.Popen[bytes]":
    return subprocess.Popen(  # noqa: S603 - our own command, no shell
        helper_command("xlbridge.workbook.read.parser_process"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=_BUFFER,
        env=helper_environment() | _ALLOCATION,
    )


_END_WITH_PARENT = 1
"""``PR_SET_PDEATHSIG`` of Linux."""

_SWITCH_SECONDS = 0.0005
"""Time after which the thread that encodes lets another one start or end parsing a chunk."""

_PIPE_SIZE = 1 << 20
"""Bytes written without waiting for the parent, which may be busy importing."""


def main() -> None:
    """Parse the file of the task, under limits that the system enforces."""
    import gc
    import json
    import signal
    from pathlib import Path

    from xlbridge.settings import CsvForm, WorkbookLimits
    from xlbridge.workbook.read.messages import send_messages
    from xlbridge.workbook.read.parsing import parse_file

    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if sys.platform == "linux":
        import ctypes
        import fcntl

        ctypes.CDLL(None).prctl(_END_WITH_PARENT, signal.SIGKILL)
        with suppress(OSError):
            fcntl.fcntl(sys.stdout, fcntl.F_SETPIPE_SZ, _PIPE_SIZE)
    report_ready(sys.stdout.buffer)
    line = sys.stdin.readline()
    if not line:
        return
    task = json.loads(line)
    limits = WorkbookLimits(**task["limits"] | {"csv": CsvForm(**task["limits"]["csv"])})
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (task["seconds"], task["seconds"] + 1))
        if sys.platform == "linux":
            resource.setrlimit(resource.RLIMIT_AS, (limits.memory, limits.memory))
    # The collector would traverse all cells repeatedly, and the process is short-lived.
    gc.disable()
    sys.setswitchinterval(_SWITCH_SECONDS)
    file = Path(task["file"])
    messages = parse_file(file, file.read_bytes(), task["sheet"], limits)
    send_messages(sys.stdout.buffer, messages)


if __name__ == "__main__":
    main()
