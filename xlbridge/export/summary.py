"""What an export came to, for people: what was asked for, counts, control totals."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from itertools import chain

from xlbridge.api.records import Record
from xlbridge.export.listing import Listing, Totals
from xlbridge.i18n import Text

_MONTH = slice(0, 7)

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class Total:
    """How many rows fall under a label, and the sum of their amounts."""

    label: str
    rows: int
    amount: Decimal


@dataclass(frozen=True, slots=True)
class TotalTable:
    """Control totals by one thing."""

    title: Text
    totals: tuple[Total, ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """What a cover says. ``filters`` are names and values as the user gave them."""

    title: Text
    filters: Sequence[tuple[str, str]]
    at: datetime
    records: int
    sheets: Mapping[str, int]
    complete: bool
    remarks: Sequence[Text] = ()
    amount: str = ""
    totals: Sequence[TotalTable] = ()


def total_lines(listing: Listing) -> Callable[[Record], list[str]]:
    """Return what makes the lines that the control totals add up: month, branch, state, amount."""
    totals = listing.totals
    if totals is None:
        return lambda _record: []

    def lines(record: Record) -> list[str]:
        parts = [record] if totals.sheet is None else record.get(totals.sheet) or ()
        situation = next((name for name in totals.situations if record.get(name)), None)
        return [
            _encode(
                [
                    _month(part.get(totals.due or "")),
                    part.get(totals.branch or "", record.get(totals.branch or "")),
                    situation,
                    part.get(totals.amount) or "0",
                ]
            )
            + "\n"
            for part in parts
        ]

    return lines


def total_tables(totals: Totals | None, blocks: Iterable[bytes]) -> tuple[TotalTable, ...]:
    """Add up the lines of ``total_lines``, by each thing that any of them has."""
    if totals is None:
        return ()
    titles = (
        Text(pt="Por mês de {field}", en="By month of {field}").format(field=totals.due),
        Text(pt="Por filial", en="By branch"),
        Text(pt="Por situação", en="By situation"),
    )
    sums: list[dict[str, tuple[int, Decimal]]] = [
        defaultdict(lambda: (0, Decimal(0))) for _ in titles
    ]
    for line in chain.from_iterable(block.splitlines() for block in blocks):
        *labels, digits = json.loads(line)
        amount = Decimal(digits)
        for by, label in zip(sums, labels, strict=True):
            count, so_far = by[label or "–"]
            by[label or "–"] = (count + 1, so_far + amount)
    return tuple(
        TotalTable(title, tuple(Total(label, *by[label]) for label in sorted(by, key=_order)))
        for title, by in zip(titles, sums, strict=True)
        if set(by) - {"–"}
    )


def _order(label: str) -> tuple[int, str]:
    return (int(label), "") if label.isdecimal() else (0, label)


def _month(value: object) -> str | None:
    return value[_MONTH] if isinstance(value, str) else None
