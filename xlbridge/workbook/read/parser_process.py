"""Parser process: a workbook on standard input, messages about its cells on standard output.

Usage: python -m xlbridge.workbook.read.parser_process ARGUMENTS, a JSON object with ``kind``,
``name``, ``sheet``, ``limits`` and ``seconds``. Whatever a file does to this process, only it ends;
its parent then refuses the file.
"""

import ctypes
import gc
import json
import signal
import sys

from xlbridge.processes import tell_ready
from xlbridge.settings import CsvForm, WorkbookLimits
from xlbridge.workbook.read.any_file import parse_file
from xlbridge.workbook.read.file_kind import FileKind
from xlbridge.workbook.read.messages import send_messages

_END_WITH_PARENT = 1
"""``PR_SET_PDEATHSIG`` of Linux."""


def main() -> None:
    """Parse what standard input gives, under limits that the system enforces."""
    arguments = json.loads(sys.argv[1])
    limits = WorkbookLimits(**arguments["limits"] | {"csv": CsvForm(**arguments["limits"]["csv"])})
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _end_with_parent()
    tell_ready(sys.stdout.buffer)
    _limit_resources(limits.memory, arguments["seconds"])
    # The collector would walk all cells again and again, and nothing here outlives the process.
    gc.disable()
    kind = None if arguments["kind"] is None else FileKind(arguments["kind"])
    messages = parse_file(
        sys.stdin.buffer.read(), kind, arguments["name"], arguments["sheet"], limits
    )
    send_messages(sys.stdout.buffer, messages)


def _end_with_parent() -> None:
    """Let the system end this process when its parent is gone, however that came about."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_END_WITH_PARENT, signal.SIGKILL)


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
