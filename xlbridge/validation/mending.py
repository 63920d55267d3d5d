"""A copy of the analyst's workbook in which what is certain is mended.

What a finding proposes is certain; the other cells stay as they are, to the byte.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

from xlbridge.findings import Finding, Mended
from xlbridge.i18n import Text
from xlbridge.validation.display import display, written
from xlbridge.validation.validate import ValidatedSheet
from xlbridge.workbook.address import column_index
from xlbridge.workbook.rewrite import EditableWorkbook
from xlbridge.workbook.sheet_cells_xml import CellPlace

_ADDRESS = re.compile(r"([A-Z]+)([0-9]+)")
_BY_EVIDENCE = frozenset({"number-as-text", "date-as-text"})
_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Change:
    """One mended cell: what it held, and what it holds now."""

    sheet: str
    finding: Finding
    new: Mended

    @property
    def old(self) -> str:
        """The cell's content before, as text."""
        return self.finding.value or ""


def mend(judged: ValidatedSheet, target: Path) -> list[Change]:
    """Write a copy of a judged workbook with the certain findings of the sheet mended.

    The copy is written even when nothing is mended. Raises ``WorkbookRefused`` when the workbook
    cannot be changed, ``UsageError`` when the copy cannot be written.
    """
    book = EditableWorkbook(judged.file)
    changes = _certain(judged, book)
    if changes:
        contents = {_place(change.finding): change.new for change in changes}
        book.change(judged.sheet, contents)
    book.save(target)
    return changes


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
        Change(judged.sheet, finding, finding.mended)
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


def changes_json(changes: Iterable[Change]) -> list[dict[str, Any]]:
    """Return the changes as JSON: dates as ISO dates, numbers with a point, both as text."""
    return [
        {
            "sheet": change.sheet,
            "cell": change.finding.cell,
            "row": change.finding.row,
            "column": change.finding.column,
            "code": change.finding.kind.code,
            "old": change.old,
            "new": f"{change.new:f}" if isinstance(change.new, Decimal) else str(change.new),
        }
        for change in changes
    ]


def changes_text(changes: list[Change], target: Path) -> Iterator[str]:
    """Yield the lines that tell a person what was mended in the copy."""
    yield str(
        Text(
            pt="{target}: células corrigidas: {count}", en="{target}: cells mended: {count}"
        ).format(target=target, count=len(changes))
    )
    for change in changes[:_SHOWN]:
        finding = change.finding
        yield (
            f"  {finding.cell} {finding.column}: {change.old!r} → {_shown(change.new)}"
            f"  [{finding.kind.code}]"
        )
    if len(changes) > _SHOWN:
        rest = Text(
            pt="  … e mais {count}; todas com --format json",
            en="  … and {count} more; all of them with --format json",
        )
        yield str(rest.format(count=len(changes) - _SHOWN))


def _shown(value: Mended) -> str:
    match value:
        case Decimal():
            return str(written(value))
        case date():
            return display(value)
        case _:
            return repr(value)
