"""Which calls an export is made of, as far as that is known beforehand."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from xlbridge.api.splitting import EVERYTHING, MINUTE, Window
from xlbridge.export.filter_texts import FilterMistake, options
from xlbridge.export.filters import FILTERS, Filter, Filters, ValueKind
from xlbridge.export.listing import Listing, is_repeated
from xlbridge.i18n import Text
from xlbridge.wire.model import WireModel
from xlbridge.wire.operation import Operation

_MONTHS_BACK = 36
"""So many months are asked for one by one; what was updated before comes as one window."""

_CLOCKS_APART = timedelta(days=1)
"""How far the remote system's clock, time zone included, may be from ours."""


@dataclass(frozen=True, slots=True)
class Request:
    """One call of a listing."""

    operation: Operation
    path: Mapping[str, object] = field(default_factory=dict)
    query: WireModel | None = None
    window: Window = EVERYTHING

    @property
    def named(self) -> dict[str, object]:
        """The key that it asks for, if it does."""
        names = self.operation.single_record_filters
        by_query = {name: getattr(self.query, name, None) for name in names}
        return {**self.path, **{n: value for n, value in by_query.items() if value is not None}}


def check_filters(listing: Listing, filters: Filters) -> None:
    """Raise ``FilterMistake`` for filters that the listing does not take, or not together."""
    _require_offered(listing, filters)
    for name, value in filters.given.items():
        if is_repeated(name) and len(value) > 1 and not _takes_several(listing, name):
            raise FilterMistake(
                Text(
                    pt="A listagem {listing} aceita um só {filters}.",
                    en="The listing {listing} takes only one {filters}.",
                ),
                [name],
                listing=listing.name,
            )
    in_path = [name for name in filters.given if name in listing.of]
    if len(in_path) > 1:
        raise FilterMistake(
            Text(
                pt="Os filtros {filters} não se combinam.",
                en="The filters {filters} do not combine.",
            ),
            in_path,
        )


def _require_offered(listing: Listing, filters: Filters) -> None:
    """Raise ``FilterMistake`` for a filter that the listing lacks, or for one that is missing."""
    for name in filters.given:
        if name not in listing.filters:
            raise FilterMistake(
                Text(
                    pt="A listagem {listing} não tem o filtro {filters}.",
                    en="The listing {listing} has no filter {filters}.",
                ),
                [name],
                _offered(listing),
                listing=listing.name,
            )
    missing = [name for name in listing.required if name not in filters.given]
    if missing:
        raise FilterMistake(
            Text(
                pt="A listagem {listing} precisa de {filters}.",
                en="The listing {listing} needs {filters}.",
            ),
            missing,
            listing=listing.name,
        )


def _takes_several(listing: Listing, name: Filter) -> bool:
    by_path = name in listing.of or (listing.each is not None and listing.each.given is name)
    return by_path or FILTERS[name].kind is ValueKind.TEXTS


def _offered(listing: Listing) -> Text:
    if not listing.filters:
        return Text(pt="Ela não tem filtros.", en="It has no filters.")
    return Text(pt="Ela tem: {names}.", en="It has: {names}.").format(
        names=options(list(listing.filters))
    )


def request_for(operation: Operation, filters: Filters, window: Window) -> Request:
    """Return the call that asks for one window."""
    within = filters.within(window.start, window.end)
    return Request(operation, query=within.query(operation.query), window=window)


def plain_requests(listing: Listing, filters: Filters) -> Iterator[Request]:
    """Yield the calls of a listing that is not asked for in windows."""
    for name, operation in listing.of.items():
        if name in filters.given:
            (parameter,) = operation.path_parameters
            value = filters.given[name]
            for code in value if isinstance(value, tuple) else (value,):
                yield Request(operation, {parameter: code})
            return
    yield Request(listing.operation, query=filters.query(listing.operation.query))


def months(filters: Filters, now: datetime) -> list[Window]:
    """Return windows that cover what the filters ask for, the earliest first.

    A window is a month, the first one all that was updated before, the last one the time in which
    records change while the export runs.
    """
    last = _first_of_month(now - _CLOCKS_APART)
    bounds = [last]
    for _ in range(_MONTHS_BACK):
        bounds.append(_first_of_month(bounds[-1] - MINUTE))
    inside = [
        bound
        for bound in reversed(bounds)
        if (filters.start is None or bound > filters.start)
        and (filters.end is None or bound <= filters.end)
    ]
    starts = [filters.start, *inside]
    ends = [*(bound - MINUTE for bound in inside), filters.end]
    return [Window(start, end) for start, end in zip(starts, ends, strict=True)]


def is_settled(window: Window, now: datetime) -> bool:
    """Say whether no record can move into a window any more: it ends before any clock's now."""
    return window.end is not None and window.end < now - _CLOCKS_APART


def _first_of_month(moment: datetime) -> datetime:
    return moment.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
