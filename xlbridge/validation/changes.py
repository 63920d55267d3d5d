"""What was mended in a copy of a workbook: as data, as JSON and as text."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

from xlbridge.findings import Finding, Mended
from xlbridge.i18n import Text
from xlbridge.validation.display import display, quoted, written

_SHOWN = 200
_NAMED = 10


@dataclass(frozen=True, slots=True)
class Change:
    """One mended cell: the finding that it had, and what it holds now."""

    finding: Finding
    new: Mended


@dataclass(frozen=True, slots=True)
class Left:
    """One cell whose value was understood and that stays as it is all the same, and why."""

    finding: Finding
    reason: Text


@dataclass(frozen=True, slots=True)
class Mending:
    """A mended copy, every change that was made in it, and what was left."""

    file: Path
    changes: list[Change]
    left: list[Left] = field(default_factory=list)


def mending_json(mending: Mending) -> dict[str, Any]:
    """Return the changes as JSON: dates as ISO dates, numbers with a point, both as text."""
    return {
        "file": str(mending.file),
        "changes": [
            {
                "cell": change.finding.cell,
                "row": change.finding.row,
                "column": change.finding.column,
                "code": change.finding.kind.code,
                "old": change.finding.value,
                "new": f"{change.new:f}" if isinstance(change.new, Decimal) else str(change.new),
            }
            for change in mending.changes
        ],
        "left": [
            {
                "cell": left.finding.cell,
                "row": left.finding.row,
                "column": left.finding.column,
                "code": left.finding.kind.code,
                "reason": str(left.reason),
            }
            for left in mending.left
        ],
    }


def mending_text(mending: Mending) -> Iterator[str]:
    """Yield the lines that tell a person what was mended; of very many only the first."""
    changes = mending.changes
    head = Text(
        pt="Corrigidas em {file}: {count}. O que segue é o que fica por corrigir.",
        en="Mended in {file}: {count}. What follows is what is left to mend.",
    )
    yield f"  ✎ {head.format(file=mending.file, count=len(changes))}"
    for change in changes[:_SHOWN]:
        found = change.finding
        old, new = quoted(found.shown or ""), _shown(change.new)
        yield f"      {found.cell} {found.column}: {old} → {new}"
    if len(changes) > _SHOWN:
        rest = Text(
            pt="… e mais {n}; todas com --format json",
            en="… and {n} more; all of them with --format json",
        )
        yield f"      {rest.format(n=len(changes) - _SHOWN)}"
    yield from _left_text(mending.left)


def _left_text(left: list[Left]) -> Iterator[str]:
    """Yield each reason for which cells were left, with the cells."""
    cells: dict[tuple[str, str | None], list[str]] = {}
    for item in left:
        place = str(item.reason), item.finding.column
        cells.setdefault(place, []).append(item.finding.cell or "")
    head = Text(pt="Fica como está", en="Left as it is")
    for (reason, column), names in cells.items():
        rest = f" … ({len(names)})" if len(names) > _NAMED else ""
        yield f"      {head}: {column} {', '.join(names[:_NAMED])}{rest}: {reason}"


def _shown(value: Mended) -> str:
    match value:
        case Decimal():
            return str(written(value))
        case date():
            return display(value)
        case _:
            return quoted(value)
