"""Opening a new workbook for writing, the same way for every writer."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import xlsxwriter
from xlsxwriter.exceptions import XlsxFileError

from xlbridge.workbook.atomic import replacing

_CREATED = datetime(2026, 1, 1)  # fixed, so that the same content gives the same bytes


@contextmanager
def new_workbook(
    path: Path, *, title: str = "", constant_memory: bool = False
) -> Iterator[xlsxwriter.Workbook]:
    """Give a workbook that becomes ``path`` at the end.

    Text stays text: what begins with ``=`` or ``http`` is no formula and no link. In constant
    memory cells must be written row by row. Raises ``UsageError`` when the file cannot be
    written there.
    """
    with (
        replacing(path) as temporary,
        TemporaryDirectory(prefix="xlbridge-", ignore_cleanup_errors=True) as scratch,
    ):
        options = {
            "constant_memory": constant_memory,
            "strings_to_formulas": False,
            "strings_to_urls": False,
            "tmpdir": scratch,
        }
        try:
            with xlsxwriter.Workbook(str(temporary), options) as book:
                told = {"created": _CREATED, "author": "xlbridge"}
                book.set_properties(told | ({"title": title} if title else {}))
                yield book
        except XlsxFileError as error:
            raise _cause(error) from error


def _cause(error: XlsxFileError) -> OSError:
    cause = error.args[0] if error.args else None
    return cause if isinstance(cause, OSError) else OSError(str(error))
