"""A copy of the analyst's workbook in which what is certain is mended.

What a finding proposes is certain; the other cells stay as they are, to the byte.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from xlbridge.findings import Finding
from xlbridge.validation.changes import Change, Mending
from xlbridge.validation.validate import ValidatedSheet
from xlbridge.workbook.address import column_index
from xlbridge.workbook.changed_cells import ChangedCells
from xlbridge.workbook.changed_package import ChangedPackage, changed_package
from xlbridge.workbook.raw_sheet import CellPlace

_ADDRESS = re.compile(r"([A-Z]+)([0-9]+)")
_BY_EVIDENCE = frozenset({"number-as-text", "date-as-text"})


def mend(sheets: Sequence[ValidatedSheet], target: Path) -> list[Mending]:
    """Write a copy of a workbook with the certain findings of its judged sheets mended.

    Tells of each sheet what was mended. The copy is written even when nothing is. Raises
    ``WorkbookRefused`` when the workbook cannot be changed, ``UsageError`` when the copy cannot be
    written.
    """
    with changed_package(sheets[0].file) as package:
        mended = [Mending(target, _mend_sheet(package, sheet)) for sheet in sheets]
        package.save(target)
    return mended


def _mend_sheet(package: ChangedPackage, sheet: ValidatedSheet) -> list[Change]:
    proposed = {_place(f): f for f in sheet.findings if f.mended is not None and f.cell}
    return _change(ChangedCells(package, sheet.sheet), proposed) if proposed else []


def _change(cells: ChangedCells, proposed: Mapping[CellPlace, Finding]) -> list[Change]:
    changes = _certain(proposed, cells.locked(frozenset(proposed)))
    if changes:
        cells.change({_place(change.finding): change.new for change in changes})
    return changes


def _certain(proposed: Mapping[CellPlace, Finding], locked: frozenset[CellPlace]) -> list[Change]:
    # Texts that stay may owe their meaning to the others of their column: all of them or none.
    undivided = {
        (finding.column, finding.kind.code)
        for place, finding in proposed.items()
        if place in locked and finding.kind.code in _BY_EVIDENCE
    }
    return [
        Change(finding, finding.mended)
        for place, finding in proposed.items()
        if finding.mended is not None
        and place not in locked
        and (finding.column, finding.kind.code) not in undivided
    ]


def _place(finding: Finding) -> CellPlace:
    match = _ADDRESS.fullmatch(finding.cell or "")
    if match is None:
        raise AssertionError(finding)
    return int(match[2]), column_index(match[1])
