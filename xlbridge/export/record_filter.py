"""Check of records against the requested filters, which a system may ignore."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from xlbridge.client import Record
from xlbridge.client.listings import UPDATE_FIELD, update_time
from xlbridge.errors import TransportError
from xlbridge.export.filters import Filter, Filters, FilterType, ValueKind
from xlbridge.export.listing_model import Listing
from xlbridge.i18n import Text


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion:
    """Accepted values of a record's ``field``, as ``_comparable`` ones, for the filter ``name``.

    ``is_sent``: the request carries the filter; ``is_undocumented``: under a name that the
    interface's description does not show.
    """

    name: Filter
    field: str
    values: frozenset[object]
    is_sent: bool
    is_undocumented: bool

    def accepts(self, record: Record) -> bool:
        """Return whether a record has an accepted value.

        A record without the field is accepted if a documented filter was sent. Raises
        ``TransportError`` if that is unknown, or the value is not of the field's type.
        """
        value = record.get(self.field)
        if self.name.type.is_empty:
            if self.field not in record:
                raise _uncheckable_filter(self.name, self.field)
            return value in (None, "", 0)
        if value is None:
            if self.is_undocumented:
                raise _uncheckable_filter(self.name, self.field)
            return self.is_sent
        comparable = _comparable(self.name.type, value)
        if self.name.type.is_nonzero and isinstance(comparable, Decimal):
            return comparable != 0
        if self.name.type.is_flag and not isinstance(comparable, bool):
            raise _uncheckable_filter(self.name, self.field, value)
        return comparable in self.values


class RecordFilter:
    """Conditions of filters on the records of a listing; False if nothing needs a check.

    Filters of a source are checked in its own records, the period of updates only if the
    interface does not document it.
    """

    def __init__(self, listing: Listing, filters: Filters, *, checks_updates: bool = False) -> None:
        self._listing = listing
        self._filters = filters
        self._criteria = tuple(_criteria(listing, filters))
        updates = {Filter.FROM, Filter.TO} & filters.values.keys()
        self._checks_updates = bool(updates if checks_updates else updates & listing.undocumented)
        self._limit = filters.values.get(Filter.LIMIT)
        self._period_field = listing.period_field if filters.start and filters.end else None

    def with_updates_checked(self) -> "RecordFilter":
        """Return the same conditions, and the period of updates even if it is documented."""
        return RecordFilter(self._listing, self._filters, checks_updates=True)

    def __bool__(self) -> bool:
        return bool(self._criteria or self._checks_updates or self._limit or self._period_field)

    def failed_filter(self, record: Record, records_before: int) -> tuple[Filter, bool] | None:
        """Return the filter that a record fails, and whether it was sent; None if it passes all.

        ``records_before`` counts the records of the answer accepted so far. Raises
        ``TransportError`` if a filter cannot be checked.
        """
        for criterion in self._criteria:
            if not criterion.accepts(record):
                return criterion.name, criterion.is_sent
        if self._period_field is not None:
            self._require_period(record, *self._period_field)
        if self._checks_updates:
            moment = update_time(record)
            if moment is None:
                name = Filter.FROM if self._filters.start else Filter.TO
                raise _uncheckable_filter(name, UPDATE_FIELD)
            failed = self._exceeded_bound(moment)
            if failed is not None:
                return failed, True
        if self._limit is not None and records_before >= self._limit:
            return Filter.LIMIT, True
        return None

    def _require_period(self, record: Record, within: str, field: str) -> None:
        """Raise ``TransportError`` if an item of a record is of another period, or of none.

        A record's totals are those of its period: then the whole record is wrong.
        """
        for inner in record.get(within) or ():
            moment = update_time(inner, field)
            if moment is None:
                raise _uncheckable_filter(Filter.FROM, f"{within}.{field}")
            if self._exceeded_bound(moment) is not None:
                raise TransportError(
                    Text(
                        pt="O sistema não respondeu pelo período pedido: {field} veio com {day}.",
                        en="The system did not answer for the period asked for: {field} came with "
                        "{day}.",
                    ).format(field=f"{within}.{field}", day=f"{moment:%d/%m/%Y}"),
                    Text(
                        pt="Nada foi gravado: os saldos e os totais são de outro período.",
                        en="Nothing was written: the balances and totals are those of another "
                        "period.",
                    ),
                )

    def _exceeded_bound(self, moment: datetime) -> Filter | None:
        """Return the bound of the period that a moment exceeds; both minutes are included."""
        minute = moment.replace(second=0, microsecond=0)
        if self._filters.start and minute < self._filters.start:
            return Filter.FROM
        if self._filters.end and minute > self._filters.end:
            return Filter.TO
        return None


def _criteria(listing: Listing, filters: Filters) -> Iterator[Criterion]:
    fields = listing.model.model_fields
    for name, value in filters.values.items():
        found = [field for field in name.type.record_fields if field in fields]
        for field in found if name.type.is_empty else found[:1]:
            yield Criterion(
                name=name,
                field=field,
                values=frozenset(
                    _comparable(name.type, one)
                    for one in (value if isinstance(value, tuple) else (value,))
                ),
                is_sent=name not in listing.local_filters,
                is_undocumented=name in listing.undocumented,
            )


_NUMBER = re.compile(r"-?[0-9]{1,40}(?:\.[0-9]{1,40})?").fullmatch
_BOOLEANS = {"true": True, "false": False}


def _comparable(kind: FilterType, value: object) -> object:
    """Return a value so that equal ones compare equal: as a number, a yes or no, or a text.

    A value that is none of its kind is returned as a text.
    """
    text = str(value).strip()
    if kind.is_document:
        return text.translate(_PUNCTUATION).upper()
    if kind.is_flag and not kind.is_nonzero:
        return _BOOLEANS.get(text.lower(), text)
    is_number = kind.kind not in (ValueKind.TEXT, ValueKind.TEXTS) and _NUMBER(text)
    return Decimal(text) if is_number else text


_PUNCTUATION: Mapping[int, None] = dict.fromkeys(map(ord, "./- "))


def _uncheckable_filter(name: Filter, field: str, value: object = None) -> TransportError:
    """Return the error for a filter that the system may have ignored.

    The ``value`` of the field is not of its type; without one, the record lacks the field.
    """
    reason = _WITHOUT_FIELD if value is None else _ODD_VALUE
    names = {"name": name, "title": name.label}
    return TransportError(
        reason.format(**names, field=field, value=str(value)[:_MAX_SHOWN_LENGTH]),
        Text(
            pt="Exporte sem --{name}.",
            en="Export without --{name}.",
            page=Text(
                pt="Exporte sem o filtro “{title}”.",
                en="Export without the filter “{title}”.",
            ),
        ).format(**names),
    )


_MAX_SHOWN_LENGTH = 40
_WITHOUT_FIELD = Text(
    pt="Não há como saber se o sistema filtrou por --{name}: um registro veio sem {field}.",
    en="It is not known whether the system applied --{name}: a record came without {field}.",
    page=Text(
        pt="Não há como saber se o sistema filtrou por “{title}”: um registro veio sem {field}.",
        en="It is not known whether the system applied “{title}”: a record came without {field}.",
    ),
)
_ODD_VALUE = Text(
    pt="Não há como saber se o sistema filtrou por --{name}: {field} veio com {value!r}.",
    en="It is not known whether the system applied --{name}: {field} came with {value!r}.",
    page=Text(
        pt="Não há como saber se o sistema filtrou por “{title}”: {field} veio com {value!r}.",
        en="It is not known whether the system applied “{title}”: {field} came with {value!r}.",
    ),
)
