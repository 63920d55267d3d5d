"""All hostile workbooks, and a sample for short runs."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from hostile_archives import ARCHIVES
from hostile_sheets import SHEETS
from packing import Parts, good_parts

CASES: Mapping[str, tuple[str, Callable[[Parts], bytes]]] = {**ARCHIVES, **SHEETS}
"""Expected outcome of each file, and its maker from the parts of a good one."""

SAMPLE = (
    "csv",
    "html",
    "xls",
    "encrypted",
    "truncated at 60 %",
    "bomb in the sheet",
    "climbing name",
    "no workbook",
    "only a hidden sheet",
    "a billion laughs",
    "far cells",
    "text over the longest",
    "number beyond all",
    "stored",
    "larger than it says",
    "smaller than it says",
)
"""Examples of each outcome."""

LONG = frozenset({
    "200,000 equal texts",
    "a million rows without address",
    "a million styled cells",
    "different texts of the longest in 5,000 cells",
    "one long text in 10,000 cells",
    "a million empty styled rows",
    "half a million styles",
    "every column",
})  # fmt: skip
"""Cases that take seconds each."""


def write_hostile(folder: Path, names: Iterable[str] = CASES) -> Mapping[str, Path]:
    """Write hostile workbooks; return the files by name."""
    good = good_parts(folder)
    written = {}
    for number, name in enumerate(names):
        _, make = CASES[name]
        written[name] = folder / f"{number}.xlsx"
        written[name].write_bytes(make(good))
    return written
