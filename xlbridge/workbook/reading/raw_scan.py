"""Scanning a sheet's raw XML beside its parsing."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import takewhile
from threading import Event, get_native_id

from xlbridge.workbook.reading.exact_scan import scan_exactly
from xlbridge.workbook.reading.number_formats import factor
from xlbridge.workbook.reading.package import Package
from xlbridge.workbook.reading.quick_scan import scan_quickly
from xlbridge.workbook.reading.raw_sheet import RawSheet

_BEHIND = 10
"""The niceness of the scan."""


@contextmanager
def scanned_meanwhile(
    package: Package, sheet: str, formats: Mapping[int, str]
) -> Iterator[Callable[[], RawSheet]]:
    """Scan a sheet's raw XML while the block parses it, which leaves Python free.

    ``formats`` are the number formats of cell styles that show more than a number's digits.
    What is yielded waits for the scan, and raises ``WorkbookRefused`` when the XML is not
    well-formed. The scan is given up where the block ends without it.
    """
    given_up = Event()
    scaling = {style: factor(code) for style, code in formats.items() if factor(code) != 1}

    def pieces() -> Iterator[bytes]:
        return takewhile(lambda _: not given_up.is_set(), package.sheet_pieces(sheet))

    def scan() -> RawSheet:
        _give_way()
        raw = scan_quickly(pieces(), scaling)
        if raw is None:
            raw = scan_exactly(pieces(), scaling).raw
        raw.counts_from_1904 = package.counts_from_1904()
        raw.part, raw.formats = package.sheet_part(sheet) or "", dict(formats)
        return raw

    with ThreadPoolExecutor(max_workers=1) as other:
        try:
            yield other.submit(scan).result
        finally:
            given_up.set()


def _give_way() -> None:
    """Let this thread run where the others leave a core idle: parsing takes longer than it."""
    if sys.platform == "linux":
        # Some systems forbid even this, and nobody may take back what was given up before.
        with suppress(OSError):
            thread = get_native_id()
            niceness = os.getpriority(os.PRIO_PROCESS, thread)
            os.setpriority(os.PRIO_PROCESS, thread, max(niceness, _BEHIND))
