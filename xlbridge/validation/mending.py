"""A copy of the analyst's workbook in which what is certain is mended.

What a finding proposes is certain; the other cells stay as they are, to the byte.
"""

import re
from pathlib import Path

from xlbridge.findings import Finding
from xlbridge.settings import WorkbookLimits
from xlbridge.validation.changes import Change, Mending
from xlbridge.validation.validate import ValidatedSheet
from xlbridge.workbook.address import column_index
from xlbridge.workbook.raw_sheet import CellPlace
from xlbridge.workbook.rewrite import EditableWorkbook

_ADDRESS = re.compile(r"([A-Z]+)([0-9]+)")
_BY_EVIDENCE = frozenset({"number-as-text", "date-as-text"})


def mend(
    judged: ValidatedSheet,
    target: Path,
    limits: WorkbookLimits = WorkbookLimits(),  # noqa: B008 - frozen
) -> Mending:
    """Write a copy of a judged workbook with the certain findings of the sheet mended.

    The copy is written even when nothing is mended. Raises ``WorkbookRefused`` when the workbook
    cannot be changed, ``UsageError`` when the copy cannot be written.
    """
    book = EditableWorkbook(judged.file, limits)
    changes = _certain(judged, book)
    if changes:
        contents = {_place(change.finding): change.new for change in changes}
        book.change(judged.sheet, contents)
    book.save(target)
    return Mending(target, changes)


def _certain(judged: ValidatedSheet, book: EditableWorkbook) -> list[Change]:
    proposed = {_place(f): f for f in judged.findings if f.mended is not None and f.cell}
    if not proposed:
        return []
    locked = book.locked(judged.sheet, frozenset(proposed))
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
