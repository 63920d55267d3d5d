"""Parser process: reads a task from standard input, writes cells to standard output.

Usage: python -m xlbridge.workbook.read.parser_process. The task is a line, a JSON object of
``file``, ``sheet``, ``limits`` and ``seconds``; no line means no task. A malicious file
can only kill this process; its parent then refuses the file.
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
from xlbridge.workbook.read.messages import send_messages
from xlbridge.workbook.read.parsing import parse_file

_END_WITH_PARENT = 1
"""``PR_SET_PDEATHSIG`` of Linux."""


_SWITCH_SECONDS = 0.0005
"""Time after which the thread that encodes lets another one start or end parsing a chunk."""

_PIPE_SIZE = 1 << 20
"""Bytes written without waiting for the parent, which may be busy importing."""


def main() -> None:
    """Parse the file of the task, under limits that the system enforces."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if sys.platform == "linux":
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
