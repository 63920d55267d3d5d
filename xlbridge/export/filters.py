"""What an export is narrowed to, checked before the first call."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from xlbridge.errors import UsageError
from xlbridge.export.listings import FILTER_FIELDS, Filter, Listing
from xlbridge.i18n import Text
from xlbridge.wire.model import parse_moment


@dataclass(frozen=True, slots=True)
class Filters:
    """The filters of one export; what is None does not narrow.

    ``start`` and ``end`` bound the last update, to the minute, both included.
    """

    start: datetime | None = None
    end: datetime | None = None
    branch: int | None = None

    @property
    def given(self) -> Mapping[Filter, datetime | int]:
        """The filters that narrow, with their values."""
        every = {Filter.FROM: self.start, Filter.TO: self.end, Filter.BRANCH: self.branch}
        return {name: value for name, value in every.items() if value is not None}

    @property
    def query(self) -> dict[str, datetime | int]:
        """The filters under the names that they have in a query."""
        return {FILTER_FIELDS[name]: value for name, value in self.given.items()}

    def check(self, listing: Listing) -> None:
        """Raise ``UsageError`` for a filter that the listing lacks, or a start after the end."""
        for name in self.given:
            if name not in listing.filters:
                raise UsageError(
                    Text(
                        pt="A listagem {listing} não tem o filtro --{name}.",
                        en="The listing {listing} has no filter --{name}.",
                    ).format(listing=listing.name, name=name),
                    _offered(listing),
                )
        if self.start and self.end and self.start > self.end:
            raise UsageError(
                Text(pt="--from vem depois de --to.", en="--from comes after --to."),
            )


def read_date(option: Filter, text: str | None) -> datetime | None:
    """Read a date as dd/mm/yyyy or yyyy-mm-dd, optionally followed by HH:MM.

    A day alone as the end means all of that day. Raises ``UsageError`` for anything else,
    two-digit years included.
    """
    if text is None:
        return None
    try:
        moment = parse_moment(text) if "/" in text else datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if not isinstance(moment, datetime) or moment.tzinfo or moment.second or moment.microsecond:
        raise UsageError(
            Text(
                pt="--{option}: {text!r} não é uma data. Escreva 31/01/2026 ou 2026-01-31, com "
                "hora se preciso: “31/01/2026 18:30”.",
                en="--{option}: {text!r} is not a date. Write 31/01/2026 or 2026-01-31, with a "
                "time where needed: “31/01/2026 18:30”.",
            ).format(option=option, text=text)
        )
    if option is Filter.TO and ":" not in text:
        return moment.replace(hour=23, minute=59)
    return moment


def _offered(listing: Listing) -> Text:
    names = ", ".join(f"--{name}" for name in listing.filters)
    if not names:
        return Text(pt="Ela não tem filtros.", en="It has no filters.")
    return Text(pt="Ela tem: {names}.", en="It has: {names}.").format(names=names)
