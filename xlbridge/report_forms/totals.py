"""Totals of rows by an axis: their labels, the order and the words of these, and their lines.

Amounts are summed exactly; reports show them to the cent.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, timedelta
from enum import StrEnum
from math import inf
from operator import add
from typing import Any

from xlbridge.i18n import Text
from xlbridge.report_forms.report import Line, Tone, Value

__all__ = ["Axis", "Unit"]

_OVERDUE_SINCE = Text(pt="vencidas há {days} dias", en="overdue {days} days")
_OVERDUE: Mapping[str, Text] = {
    "overdue-91+": _OVERDUE_SINCE.format(days=Text(pt="mais de 90", en="more than 90")),
    **{
        f"overdue-{days}": _OVERDUE_SINCE.format(days=days.replace("-", "–"))
        for days in ("61-90", "31-60", "1-30")
    },
}
"""Labels of due dates in the past and their words, the longest first."""
_EMPTY = Text(pt="(vazio)", en="(empty)")
_WEEK = Text(pt="semana de {day}", en="week of {day}")


class Unit(StrEnum):
    """Unit of time by which dates are grouped."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"


_HEADINGS = {
    Unit.DAY: Text(pt="{title}, por dia", en="{title}, by day"),
    Unit.WEEK: Text(pt="{title}, por semana", en="{title}, by week"),
    Unit.MONTH: Text(pt="{title}, por mês", en="{title}, by month"),
}


@dataclass(frozen=True, slots=True)
class Axis:
    """Axis of totals: the field whose values are the labels of rows, None for an empty one.

    Dates in ISO 8601 are grouped by ``unit``; by week those before ``today`` are grouped by how
    long they are overdue. Other values are codes, whose records have ``names``, or what ``show``
    returns as words. Labels that are not ``sorted`` stay in the order of their first rows.
    """

    title: Text
    unit: Unit | None = None
    today: date | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    show: Callable[[str], Value] = str
    sorted: bool = True

    @property
    def heading(self) -> Text:
        """Heading of the labels."""
        return _HEADINGS[self.unit].format(title=self.title) if self.unit else self.title

    def label(self, value: str | None) -> str | None:
        """Return the label of a value: the ISO date of a day or of a week's Monday, an ISO month,
        how long a date is overdue, or the value itself."""
        if not value or self.unit is None:
            return value or None
        if self.unit is not Unit.WEEK:
            return value[: len("2026-10" if self.unit is Unit.MONTH else "2026-10-31")]
        try:
            due = date.fromisoformat(value)
        except ValueError:
            return None
        days = 0 if self.today is None else (self.today - due).days
        if days <= 0:
            return (due - timedelta(days=due.weekday())).isoformat()
        return [*_OVERDUE][-min((days - 1) // 30 + 1, len(_OVERDUE))]

    def sum_up(
        self, rows: Iterable[tuple[str | None, Sequence[Any]]]
    ) -> dict[str | None, Sequence[Any]]:
        """Return the sums of the figures of rows, each row with its value, by label."""
        sums: dict[str | None, Sequence[Any]] = {}
        for value, figures in rows:
            label = self.label(value)
            so_far = sums.get(label)
            sums[label] = figures if so_far is None else [*map(add, so_far, figures)]
        return dict(sorted(sums.items(), key=lambda one: _order(one[0]))) if self.sorted else sums

    def line(self, label: str | None, figures: Sequence[Value], *, is_open: bool = False) -> Line:
        """Return the line of a label; overdue ones are open."""
        tone = Tone.OPEN if is_open or label in _OVERDUE else Tone.PLAIN
        return Line((self._words(label), *figures), tone)

    def _words(self, label: str | None) -> Value:
        if label is None:
            return _EMPTY
        if label in _OVERDUE:
            return _OVERDUE[label]
        match self.unit:
            case Unit.MONTH:
                return f"{label[5:]}/{label[:4]}"
            case Unit.WEEK:
                return _WEEK.format(day=f"{date.fromisoformat(label):%d/%m/%Y}")
            case Unit.DAY:
                with suppress(ValueError):
                    return date.fromisoformat(label)
        name = self.names.get(label)
        return f"{label} – {name}" if name else self.show(label)


def _order(label: str | None) -> tuple[bool, int, float, str]:
    """Return the key by which labels are sorted: the longest overdue first, then numbers in their
    order, then texts, and rows without a label last."""
    number = int(label) if label and label.isdecimal() else inf
    return label is None, [*_OVERDUE, label].index(label), number, label or ""
