"""Control totals: lines to be added up, made together with the other lines of each record."""

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain

from xlbridge.client import Record
from xlbridge.i18n import Text

_MONTH = slice(0, 7)

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True, kw_only=True)
class TotalsSpec:
    """Control totals of a listing: sums of ``amount`` of one of its sheets.

    By the month of ``due``, by ``branch``, and by the first of ``situations`` that is true; what
    the sheet's own rows lack is the record's.
    """

    amount: str
    sheet: str | None = None
    due: str | None = None
    branch: str | None = "codigoDaFilial"
    situations: tuple[str, ...] = ()

    def lines(self, record: Record) -> list[str]:
        """Return the lines of a record that ``total_tables`` adds up: a JSON list each.

        They hold month, branch, situation and amount.
        """
        parts = [record] if self.sheet is None else record.get(self.sheet) or ()
        situation = next((name for name in self.situations if record.get(name)), None)
        return [
            _encode(
                [
                    _month(part.get(self.due or "")),
                    part.get(self.branch or "", record.get(self.branch or "")),
                    situation,
                    part.get(self.amount) or "0",
                ]
            )
            + "\n"
            for part in parts
        ]


@dataclass(frozen=True, slots=True)
class Total:
    """Number of rows under a label, and the sum of their amounts."""

    label: str
    rows: int
    amount: Decimal


@dataclass(frozen=True, slots=True)
class TotalTable:
    """Control totals by month, branch or situation."""

    title: Text
    totals: tuple[Total, ...]


def total_tables(totals: TotalsSpec | None, blocks: Iterable[bytes]) -> tuple[TotalTable, ...]:
    """Add up the lines of ``TotalsSpec.lines`` by month, branch and situation, as far as known."""
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
        TotalTable(title, tuple(Total(label, *by[label]) for label in sorted(by, key=_label_order)))
        for title, by in zip(titles, sums, strict=True)
        if set(by) - {"–"}
    )


def _label_order(label: str) -> tuple[int, str]:
    return (int(label), "") if label.isdecimal() else (0, label)


def _month(value: object) -> str | None:
    return value[_MONTH] if isinstance(value, str) else None
