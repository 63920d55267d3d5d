"""Start of the parser process: when a file is read, or ahead, with the command that will read it.

It takes the process as long to begin as a command to understand its arguments.
"""

import json
import subprocess
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from xlbridge.errors import LocalFailure
from xlbridge.processes import helper_command, helper_environment, report_start_errors

READ_HERE = 256 * 2**10
"""Bytes of a file, unpacked, up to which it may be read without such a process."""

_ALLOCATION = {
    "MALLOC_MMAP_THRESHOLD_": "33554432",
    "MALLOC_TRIM_THRESHOLD_": "67108864",
    "MALLOC_TOP_PAD_": "16777216",
}
"""Memory of one chunk of rows is kept for the next: to fetch it anew took a tenth of the time."""

_BUFFER = 1 << 20
"""Bytes that are read at once: each reading waits for the lock of an interpreter that imports."""

_ahead: list["subprocess.Popen[bytes]"] = []


def start_parser_ahead(arguments: Iterable[str]) -> None:
    """Start the process where one of a command's arguments is a file that it will be needed for."""
    if sum(map(_is_large_file, arguments)) == 1:
        with suppress(LocalFailure):
            _ahead.append(_start())


def parser_process(task: Mapping[str, object]) -> "subprocess.Popen[bytes]":
    """Return the process, at work on a task. Raises ``LocalFailure`` when it does not start."""
    process = _ahead.pop() if _ahead else _start()
    # One that has ended cannot be told; what it did not send tells of that.
    with suppress(BrokenPipeError), process.stdin as tasks:  # type: ignore[union-attr]
        tasks.write(json.dumps(task).encode() + b"\n")
    return process


def _is_large_file(argument: str) -> bool:
    with suppress(OSError, ValueError):
        return Path(argument).stat().st_size > READ_HERE
    return False


def _start() -> "subprocess.Popen[bytes]":
    with report_start_errors():
        return subprocess.Popen(  # noqa: S603 - our own command, no shell
            helper_command("xlbridge.workbook.read.parser_process"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=_BUFFER,
            env=helper_environment() | _ALLOCATION,
        )
