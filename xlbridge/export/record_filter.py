"""Check of records against the requested filters, which a system may ignore."""

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
    """Accepted values of a record's field, as texts, for the filter ``name``.

    ``is_sent``: the request carries the filter; ``is_undocumented``: under a name that the
    interface's description does not show. With ``is_nonzero`` any number but zero is accepted,
    with ``is_empty`` only an empty value.
    """

    name: str
    field: str
    values: frozenset[str]
    is_sent: bool
    is_undocumented: bool
    is_nonzero: bool = False
    is_empty: bool = False

    def accepts(self, record: Record) -> bool:
        """Return whether a record has an accepted value.

        A record without the field is accepted if a documented filter was sent. Raises
        ``TransportError`` if that is unknown.
        """
        value = record.get(self.field)
        if self.is_empty:
            if self.field not in record:
                raise uncheckable_filter(self.name, self.field)
            return value in (None, "", 0)
        if value is None:
            if self.is_undocumented:
                raise uncheckable_filter(self.name, self.field)
            return self.is_sent
        return float(value) != 0 if self.is_nonzero else comparable(value) in self.values


@dataclass(frozen=True, slots=True)
class Period:
    """Period of a record, which the ``field`` of the items in its list ``within`` shows.

    Both minutes are included. A record's totals are those of its period, so that an item of
    another period means that the whole record is wrong.
    """

    within: str
    field: str
    start: datetime
    end: datetime

    def require(self, record: Record) -> None:
        """Raise ``TransportError`` if a record's period is another one, or unknown."""
        for inner in record.get(self.within) or ():
            moment = update_time(inner, self.field)
            if moment is None:
                raise uncheckable_filter("from", f"{self.within}.{self.field}")
            if not self.start <= _minute(moment) <= self.end:
                raise _other_period(moment, f"{self.within}.{self.field}")


@dataclass(frozen=True, slots=True)
class RecordFilter:
    """Conditions on the records of an answer.

    ``updated`` are the first and last minute of the last update; ``limit`` is the maximum number
    of records.
    """

    criteria: tuple[Criterion, ...]
    updated: tuple[datetime | None, datetime | None] | None = None
    limit: int | None = None
    period: Period | None = None

    def failed_filter(self, record: Record, records_before: int) -> tuple[str, bool] | None:
        """Return the filter that a record fails, and whether it was sent; None if it passes all.

        ``records_before`` counts the records of the answer accepted so far. Raises
        ``TransportError`` if a filter cannot be checked.
        """
        for criterion in self.criteria:
            if not criterion.accepts(record):
                return criterion.name, criterion.is_sent
        if self.period is not None:
            self.period.require(record)
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
    """Return a value as a normalised text, without the punctuation of documents."""
    if isinstance(value, bool):
        return str(value)
    text = str(value).strip()
    return text.translate(_PUNCTUATION).upper()


_PUNCTUATION: Mapping[int, None] = dict.fromkeys(map(ord, "./- "))


def uncheckable_filter(name: str, field: str) -> TransportError:
    """Return the error for a filter that the system may have ignored."""
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
