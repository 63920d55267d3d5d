"""Start of the parser process (``parsing.py``): when a file is read, or in advance, when a command
starts.

The process takes as long to start as a command to parse its arguments. Few modules are imported
before, as one of two processors is idle until then.
"""

import os
import subprocess
from collections.abc import Iterable, Mapping
from contextlib import suppress

from xlbridge.processes import helper_command, helper_environment, report_start_errors

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
    """Start the process if exactly one argument of a command is a large file, unless one waits."""
    large = 0
    for argument in arguments:
        with suppress(OSError, ValueError):
            large += os.stat(argument).st_size > MAX_IN_PROCESS_SIZE  # noqa: PTH116 - see above
    if large == 1 and not _started:
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
        helper_command("xlbridge.workbook.read.parsing"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=_BUFFER,
        env=helper_environment() | _ALLOCATION,
    )
