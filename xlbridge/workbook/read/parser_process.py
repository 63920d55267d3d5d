"""Parser process: what to parse on standard input, messages about cells on standard output.

Usage: python -m xlbridge.workbook.read.parser_process. It takes a line, a JSON object of ``file``,
``kind``, ``sheet``, ``limits`` and ``seconds``; none where there is nothing to do. Whatever a file
does to this process, only it ends; its parent then refuses the file.
"""

import ctypes
import gc
import json
import signal
import sys
from contextlib import suppress
from pathlib import Path

from xlbridge.processes import report_ready
from xlbridge.settings import CsvForm, WorkbookLimits
from xlbridge.workbook.read.archive import FileKind
from xlbridge.workbook.read.messages import send_messages
from xlbridge.workbook.read.parsing import parse_file

_END_WITH_PARENT = 1
"""``PR_SET_PDEATHSIG`` of Linux."""


_PIPE_SIZE = 1 << 20
"""Bytes that go out without waiting for the parent, which may be busy importing."""


def main() -> None:
    """Parse what standard input asks for, under limits that the system enforces."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if sys.platform == "linux":
        # The process ends when its parent is gone, and the pipe holds much of what is sent.
        import fcntl

        ctypes.CDLL(None).prctl(_END_WITH_PARENT, signal.SIGKILL)
        with suppress(OSError):
            fcntl.fcntl(sys.stdout, fcntl.F_SETPIPE_SZ, _PIPE_SIZE)
    report_ready(sys.stdout.buffer)
    line = sys.stdin.readline()
    if not line:
        return
    asked = json.loads(line)
    limits = WorkbookLimits(**asked["limits"] | {"csv": CsvForm(**asked["limits"]["csv"])})
    _limit_resources(limits.memory, asked["seconds"])
    # The collector would walk all cells again and again, and nothing here outlives the process.
    gc.disable()
    file, kind = Path(asked["file"]), asked["kind"] and FileKind(asked["kind"])
    messages = parse_file(file.read_bytes(), kind, file.stem, asked["sheet"], limits)
    send_messages(sys.stdout.buffer, messages)


def _limit_resources(memory: int, seconds: int) -> None:
    if sys.platform == "win32":
        return
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


if __name__ == "__main__":
    main()
