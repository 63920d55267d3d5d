"""Running the parsing process, and telling what became of it."""

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from threading import Timer
from typing import BinaryIO

from xlbridge.helper_process import helper_environment
from xlbridge.limits import WorkbookLimits
from xlbridge.workbook.reading.assembly import ComingWorkbook, WorkbookCells, assemble
from xlbridge.workbook.reading.refusals import too_demanding
from xlbridge.workbook.reading.transfer import Broken, receive

LIMITS_HOLD = sys.platform == "linux"
"""Whether the system keeps a process within the memory that it was given."""

_PATIENCE = 4
"""How many times its processor time a parsing process may take by the clock."""


@contextmanager
def parsed_in_child(
    path: Path, sheet: str | None, limits: WorkbookLimits, size: int
) -> Iterator[ComingWorkbook]:
    """Parse a file in a process of its own, which begins at once and ends with the block.

    ``size`` is that of the unpacked content. What is yielded waits for the workbook; it raises
    what the parsing raised, or ``WorkbookRefused`` when the process did not live to tell.
    """
    seconds = limits.seconds_for(size)
    arguments: dict[str, object] = {"sheet": sheet, "limits": asdict(limits), "seconds": seconds}
    # A thread reads along, so that the process never waits for a full pipe.
    with ThreadPoolExecutor(max_workers=1) as reader, _start(path, arguments) as process:
        watchdog = Timer(_PATIENCE * seconds, process.kill)
        watchdog.daemon = True
        try:
            watchdog.start()
            coming = reader.submit(_workbook, process.stdout)  # type: ignore[arg-type]
            yield ComingWorkbook(coming.result, coming.done)
        finally:
            process.kill()
            watchdog.cancel()


def _start(path: Path, arguments: dict[str, object]) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-P", "-m", "xlbridge.workbook.reading.parser_process"]
    with path.open("rb") as file:
        return subprocess.Popen(  # noqa: S603 - our own command, no shell
            [*command, json.dumps(arguments)],
            stdin=file,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=helper_environment(),
        )


def _workbook(stream: BinaryIO) -> WorkbookCells:
    try:
        return assemble(receive(stream))
    except Broken as broken:
        raise too_demanding() from broken
