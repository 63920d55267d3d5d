"""Judgement of records by the filters given: what a system is asked for, it may ignore."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from xlbridge.client import Record
from xlbridge.client.listings import UPDATE_FIELD, update_time
from xlbridge.errors import TransportError
from xlbridge.i18n import Text

LIMIT = "limit"
"""Name of the filter that bounds the number of records."""


@dataclass(frozen=True, slots=True)
class Criterion:
    """Values that a record's field may have, as texts; ``name`` is the filter's.

    ``is_sent`` says that the system is asked for them; ``is_guessed`` that the interface's
    description does not show how. With ``is_nonzero`` any number but zero is one of them, with
    ``is_empty`` only nothing, which the record must show.
    """

    name: str
    field: str
    values: frozenset[str]
    is_sent: bool
    is_guessed: bool
    is_nonzero: bool = False
    is_empty: bool = False

    def admits(self, record: Record) -> bool:
        """Tell whether a record is one of those wanted.

        A record without the field is taken on the word of a system that was asked for it.
        Raises ``TransportError`` where that word is worth nothing.
        """
        value = record.get(self.field)
        if self.is_empty:
            if self.field not in record:
                raise uncheckable_filter(self.name, self.field)
            return value in (None, "", 0)
        if value is None:
            if self.is_guessed:
                raise uncheckable_filter(self.name, self.field)
            return self.is_sent
        return float(value) != 0 if self.is_nonzero else comparable(value) in self.values


@dataclass(frozen=True, slots=True)
class Period:
    """Period of a record, which shows it by the ``field`` of the objects in its list ``within``.

    Both ends are included, to the minute. A record's totals are those of its period, so that one
    with anything of another period is not the one that was asked for.
    """

    within: str
    field: str
    start: datetime
    end: datetime

    def require_heeded(self, record: Record) -> None:
        """Raise ``TransportError`` where a record is of another period, or does not tell."""
        for inner in record.get(self.within) or ():
            moment = update_time(inner, self.field)
            if moment is None:
                raise uncheckable_filter("from", f"{self.within}.{self.field}")
            if not self.start <= _minute(moment) <= self.end:
                raise _other_period(moment, f"{self.within}.{self.field}")


@dataclass(frozen=True, slots=True)
class RecordFilter:
    """Conditions on the records of an answer.

    ``updated`` bounds the time of the last update, to the minute, both included; ``limit`` is the
    most records of an answer.
    """

    criteria: tuple[Criterion, ...]
    updated: tuple[datetime | None, datetime | None] | None = None
    limit: int | None = None
    period: Period | None = None

    def reason_against(self, record: Record, records_before: int) -> tuple[str, bool] | None:
        """Return the filter that a record does not pass, and whether it was sent; None if none.

        ``records_before`` is how many of its answer were taken. Raises ``TransportError`` where
        that cannot be told.
        """
        for criterion in self.criteria:
            if not criterion.admits(record):
                return criterion.name, criterion.is_sent
        if self.period is not None:
            self.period.require_heeded(record)
        if self.updated is not None:
            start, end = self.updated
            moment = update_time(record)
            if moment is None:
                raise uncheckable_filter("from" if start else "to", UPDATE_FIELD)
            minute = _minute(moment)
            if start and minute < start:
                return "from", True
            if end and minute > end:
                return "to", True
        if self.limit is not None and records_before >= self.limit:
            return LIMIT, True
        return None


def _minute(moment: datetime) -> datetime:
    return moment.replace(second=0, microsecond=0, tzinfo=None)


def comparable(value: Any) -> str:
    """Return a value as a text in which equal ones are equal: marks of documents do not count."""
    if isinstance(value, bool):
        return str(value)
    text = str(value).strip()
    return text.translate(_MARKS).upper()


_MARKS: Mapping[int, None] = dict.fromkeys(map(ord, "./- "))


def uncheckable_filter(name: str, field: str) -> TransportError:
    """Return the error for a filter that nothing shows the system to have heeded."""
    return TransportError(
        Text(
            pt="Não há como saber se o sistema filtrou por --{name}: um registro veio sem {field}.",
            en="It is not known whether the system applied --{name}: a record came without "
            "{field}.",
        ).format(name=name, field=field),
        Text(
            pt="Exporte sem --{name}.",
            en="Export without --{name}.",
        ).format(name=name),
    )


def _other_period(moment: datetime, field: str) -> TransportError:
    return TransportError(
        Text(
            pt="O sistema não respondeu pelo período pedido: {field} veio com {day}.",
            en="The system did not answer for the period asked for: {field} came with {day}.",
        ).format(field=field, day=f"{moment:%d/%m/%Y}"),
        Text(
            pt="Nada foi gravado: os saldos e os totais são de outro período.",
            en="Nothing was written: the balances and totals are those of another period.",
        ),
    )
