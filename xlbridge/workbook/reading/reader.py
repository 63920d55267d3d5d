"""Reading a workbook's cells: the gate first, then the parser, where it can do no harm."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from io import BytesIO
from pathlib import Path

from xlbridge.errors import XlbridgeError
from xlbridge.limits import WorkbookLimits
from xlbridge.workbook.reading.assembly import ComingWorkbook, WorkbookCells, assemble
from xlbridge.workbook.reading.parser_child import LIMITS_HOLD, parsed_in_child
from xlbridge.workbook.reading.safety import Gate

_SMALL = 256 * 2**10


def read_workbook(path: Path, limits: WorkbookLimits, sheet: str | None = None) -> WorkbookCells:
    """Read one sheet of a workbook, or all visible ones that may hold data.

    Raises ``UsageError`` when there is no such file or sheet, ``WorkbookRefused`` when the file is
    no .xlsx that can be read safely.
    """
    with reading(path, limits, sheet) as workbook:
        return workbook()


@contextmanager
def reading(
    path: Path, limits: WorkbookLimits, sheet: str | None = None
) -> Iterator[ComingWorkbook]:
    """Begin to read a workbook, and go on while the block does something else.

    What is yielded waits for the workbook. Both raise as ``read_workbook`` does. Only a small file
    that is known to be harmless is parsed in this process, any other in one of its own.
    """
    gate = Gate(path, limits)
    if gate.declared_size <= _SMALL:
        gate.unpack()
        # Nothing waits for these where a process beside this one parses.
        from xlbridge.workbook.reading.harmless import is_harmless
        from xlbridge.workbook.reading.parsing import parse

        content = gate.content
        if is_harmless(content):
            yield ComingWorkbook(
                lambda: assemble(parse(BytesIO(content), sheet, limits)), is_here=lambda: True
            )
            return
    if not LIMITS_HOLD:
        gate.unpack()
    with parsed_in_child(path, sheet, limits, gate.declared_size) as workbook:
        if LIMITS_HOLD:
            gate.unpack()
        # Its content is for the process alone from here on.
        del gate
        yield workbook


@contextmanager
def reading_ahead(
    path: Path, limits: WorkbookLimits, sheet: str | None
) -> Iterator[ComingWorkbook | None]:
    """Begin to read a workbook as ``reading`` does; None where it is refused at once.

    Whoever reads it when its turn comes is told why.
    """
    with ExitStack() as stack:
        source: ComingWorkbook | None = None
        with suppress(XlbridgeError):
            source = stack.enter_context(reading(path, limits, sheet))
        yield source
