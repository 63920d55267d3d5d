"""Reading a workbook in the worker's own process, which may be lost over it.

It saves a process for each file. Where anything goes wrong with one, it is left to the parser's own
process, so that the outcome is the same as anywhere else; what ends this process is read there the
next time.
"""

import mmap
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

from xlbridge.errors import XlbridgeError
from xlbridge.limits import WorkbookLimits
from xlbridge.workbook.reading.assembly import WorkbookCells, assemble
from xlbridge.workbook.reading.parsing import parse
from xlbridge.workbook.reading.reader import read_workbook
from xlbridge.workbook.reading.safety import Gate

if sys.platform != "win32":
    import resource

_SHARE = 0.75
"""This process gets less memory than the parser's own, so that nothing passes here only."""


def read_here(path: Path, limits: WorkbookLimits, sheet: str | None) -> WorkbookCells:
    """Read a workbook as ``read_workbook`` does, under the same limits of memory and time.

    The process may end over it. Raises what ``read_workbook`` raises. Linux only.
    """
    gate = Gate(path, limits)
    gate.unpack()
    memory = _address_space() + int(_SHARE * limits.memory)
    try:
        with (
            _limited(resource.RLIMIT_AS, memory),
            _limited(
                resource.RLIMIT_CPU, _seconds_taken() + limits.seconds_for(gate.declared_size)
            ),
        ):
            return assemble(parse(BytesIO(gate.content), sheet, limits))
    except XlbridgeError:
        raise
    except BaseException:  # the parser's panics are no ``Exception``
        return read_workbook(path, limits, sheet)


@contextmanager
def _limited(what: int, most: int) -> Iterator[None]:
    before, hard = resource.getrlimit(what)
    resource.setrlimit(what, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(what, (before, hard))


def _address_space() -> int:
    """Return how much address space this process has, in bytes."""
    pages = Path("/proc/self/statm").read_text("ascii").split()[0]
    return int(pages) * mmap.PAGESIZE


def _seconds_taken() -> int:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return int(used.ru_utime + used.ru_stime)
