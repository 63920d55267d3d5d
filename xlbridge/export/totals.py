"""Control totals: lines to sum, written together with the other lines of each record."""

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from itertools import chain

from xlbridge.client import Record
from xlbridge.i18n import Text

_MONTH = slice(0, 7)


@dataclass(frozen=True, slots=True, kw_only=True)
class TotalsSpec:
    """Control totals of a listing: sums of ``amount`` in one of its sheets.

    Totals are by month of ``due``, by ``branch``, and by the first of ``situations`` that is true;
    the record provides the branch that the sheet's rows lack.
    """

    amount: str
    sheet: str | None = None
    due: str | None = None
    branch: str | None = "codigoDaFilial"
    situations: tuple[str, ...] = ()

    def lines(self, record: Record) -> list[str]:
        """Return a record's lines for ``total_tables``.

        Each is a JSON list of month, branch and situation, a tab, and the amount.
        """
        parts = [record] if self.sheet is None else record.get(self.sheet) or ()
        situation = next((name for name in self.situations if record.get(name)), None)
        lines = []
        for part in parts:
            branch = part.get(self.branch or "")
            branch = record.get(self.branch or "") if branch is None else branch
            month = _month(part.get(self.due or ""))
            labels = _labels(month, None if branch is None else str(branch), situation)
            lines.append(f"{labels}\t{part.get(self.amount) or 0}\n")
        return lines


@dataclass(frozen=True, slots=True)
class Total:
    """Number of rows with a label, and the sum of their amounts."""

    label: str
    rows: int
    amount: Decimal


@dataclass(frozen=True, slots=True)
class TotalTable:
    """Control totals by month, branch or situation.

    With ``by_month`` the labels are months, such as ``2026-10``.
    """

    title: Text
    totals: tuple[Total, ...]
    by_month: bool


def total_tables(totals: TotalsSpec | None, blocks: Iterable[bytes]) -> tuple[TotalTable, ...]:
    """Sum the lines of ``TotalsSpec.lines`` by month, branch and situation, as far as known."""
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
    by_labels: dict[bytes, tuple[int, Decimal]] = defaultdict(lambda: (0, Decimal(0)))
    for line in chain.from_iterable(block.splitlines() for block in blocks):
        labels, _, digits = line.rpartition(b"\t")
        count, so_far = by_labels[labels]
        by_labels[labels] = (count + 1, so_far + Decimal(digits.decode()))
    for labels, (count, amount) in by_labels.items():
        for table, label in zip(sums, json.loads(labels), strict=True):
            rows, so_far = table[label or "–"]
            table[label or "–"] = (rows + count, so_far + amount)
    return tuple(
        TotalTable(
            title,
            tuple(Total(label, *table[label]) for label in sorted(table, key=_label_order)),
            by_month=table is sums[0],
        )
        for title, table in zip(titles, sums, strict=True)
        if set(table) - {"–"}
    )


def _label_order(label: str) -> tuple[int, str]:
    return (int(label), "") if label.isdecimal() else (0, label)


@lru_cache(maxsize=1_000)
def _labels(*labels: str | None) -> str:
    return json.dumps(labels, separators=(",", ":"))


def _month(value: object) -> str | None:
    return value[_MONTH] if isinstance(value, str) else None
