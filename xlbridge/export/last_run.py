"""How far the complete exports of a listing have come, so that the next goes on from there."""

import hashlib
import json
from datetime import datetime, timedelta
from pathlib import Path

from xlbridge.errors import UsageError
from xlbridge.export.filters import Filter, Filters
from xlbridge.export.listing import Listing
from xlbridge.export.result import ExportResult
from xlbridge.i18n import Text
from xlbridge.workbook.atomic import replacing

_STILL_ON_ITS_WAY = timedelta(minutes=5)
"""A change may be seen so much after the moment that it carries: that much is asked for again."""

_CLOCKS_APART = timedelta(days=1)
_VERSION = 1


class LastRuns:
    """The state of ``--since-last``: one file for each environment, listing and set of filters."""

    def __init__(self, folder: Path, profile: str) -> None:
        self._folder = folder
        self._profile = profile

    def continued(self, listing: Listing, filters: Filters) -> Filters:
        """Return the filters, from where the last complete export with the same ones ended.

        They are as they were when there was none. Raises ``UsageError`` for a listing that cannot
        be asked for by the last update, or when a start is given too.
        """
        if Filter.FROM in filters.given:
            raise UsageError(
                Text(
                    pt="--since-last vai no lugar de --from.",
                    en="--since-last goes in the place of --from.",
                )
            )
        if not listing.is_windowed:
            raise UsageError(
                Text(
                    pt="A listagem {listing} não serve para --since-last: ela não é "
                    "pedida pela última atualização dos seus próprios registros.",
                    en="The listing {listing} will not do for --since-last: it is not asked for by "
                    "the last update of its own records.",
                ).format(listing=listing.name)
            )
        path = self._path(listing, filters)
        if not path.exists():
            return filters
        reached = datetime.fromisoformat(json.loads(path.read_text(encoding="utf-8"))["reached"])
        return filters.within(reached, filters.end)

    def record(self, listing: Listing, filters: Filters, result: ExportResult) -> None:
        """Remember how far a complete export came; one with a hole or an end changes nothing."""
        if not result.complete or not listing.is_windowed or filters.end is not None:
            return
        path = self._path(listing, filters)
        reached = _reached(result)
        if path.exists():
            earlier = json.loads(path.read_text(encoding="utf-8"))["reached"]
            reached = max(reached, datetime.fromisoformat(earlier))
        path.parent.mkdir(parents=True, exist_ok=True)
        state = {"version": _VERSION, "listing": listing.name, "reached": reached.isoformat()}
        with replacing(path) as temporary:
            temporary.write_text(json.dumps(state) + "\n", encoding="utf-8")

    def _path(self, listing: Listing, filters: Filters) -> Path:
        others = {str(k): str(v) for k, v in filters.given.items() if k is not Filter.FROM}
        what = json.dumps([self._profile, listing.name, others], sort_keys=True)
        return (
            self._folder / f"{listing.name}-{hashlib.sha256(what.encode()).hexdigest()[:16]}.json"
        )


def _reached(result: ExportResult) -> datetime:
    """Return a moment, by the remote system's clock, up to which nothing can have been missed."""
    if result.newest:
        newest = datetime.fromisoformat(result.newest).replace(tzinfo=None)
        return (newest - _STILL_ON_ITS_WAY).replace(second=0, microsecond=0)
    return (result.begun - _CLOCKS_APART).replace(second=0, microsecond=0)
