"""Chains of exports: each run of ``--since-last`` continues where the last complete one ended.

A chain belongs to a system, a listing and its filters, or to a name. Only its own runs move it, and
never beyond the system's own clock: a record from the future would silence it.
"""

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Self

from xlbridge.client.listings import CLOCK_TOLERANCE, UPDATE_FIELD, update_time
from xlbridge.errors import UsageError
from xlbridge.export.filters import Filter, Filters
from xlbridge.export.listing_model import Listing
from xlbridge.export.result import ExportResult
from xlbridge.files import make_private_folder, replace_atomically
from xlbridge.i18n import Text

_OVERLAP = timedelta(minutes=5)
"""Maximum delay before a change shows up in a listing; this much is requested again."""

_STATE_VERSION = 2


def require_chainable(listing: Listing, filters: Filters) -> None:
    """Raise ``UsageError`` for a listing without a filter of the last update, or one in use."""
    if Filter.FROM in filters.values:
        raise UsageError(
            Text(
                pt="--since-last substitui --from; use um dos dois.",
                en="--since-last replaces --from; use one of the two.",
            )
        )
    if not listing.is_windowed:
        raise UsageError(
            Text(
                pt="A listagem {listing} não serve para --since-last: ela não é filtrada "
                "pela última atualização dos seus próprios registros.",
                en="The listing {listing} cannot be used with --since-last: it is not "
                "filtered by the last update of its own records.",
            ).format(listing=listing.name)
        )


@dataclass(frozen=True, slots=True)
class Chain:
    """Chain of a system's listing, whose state is in the file ``path``.

    ``reached`` is the time up to which its exports are complete, None before the first run.
    """

    path: Path
    system: str
    listing: str
    reached: datetime | None

    @classmethod
    def open(
        cls, folder: Path, system: str, listing: Listing, filters: Filters, name: str | None
    ) -> Self:
        """Return the chain of a name, or that of the system, the listing and the filters.

        Raises ``UsageError`` for a name that is a chain of another system or listing.
        """
        others = {str(n): str(v) for n, v in filters.values.items() if n is not Filter.TO}
        identity = [system, listing.name, others] if name is None else ["", name]
        digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]
        path = folder / f"chain-{digest}.json"
        if not path.exists():
            return cls(path, system, listing.name, None)
        state = json.loads(path.read_text(encoding="utf-8"))
        if (state["system"], state["listing"]) != (system, listing.name):
            raise UsageError(
                Text(
                    pt="A cadeia {name!r} é da listagem {listing} de {system}.",
                    en="The chain {name!r} is of the listing {listing} of {system}.",
                ).format(name=name, listing=state["listing"], system=state["system"]),
                Text(pt="Dê outro nome em --chain.", en="Give another name with --chain."),
            )
        return cls(path, system, listing.name, datetime.fromisoformat(state["reached"]))

    def narrowed(self, filters: Filters) -> Filters:
        """Return the filters, starting where the last complete run ended."""
        return filters if self.reached is None else filters.within(self.reached, filters.end)

    def save(self, filters: Filters, result: ExportResult) -> None:
        """Store the end of a complete export; one with a gap or an end date changes nothing."""
        if not result.complete or filters.end is not None:
            return
        # By the remote clock, the time up to which the export is certain to be complete.
        reached = result.started - CLOCK_TOLERANCE
        if (last := update_time({UPDATE_FIELD: result.last_update})) is not None:
            reached = min(last, result.clock or last) - _OVERLAP
        reached = reached.replace(second=0, microsecond=0)
        if self.reached is not None:
            reached = max(reached, self.reached)
        make_private_folder(self.path.parent)
        state: dict[str, Any] = {
            "version": _STATE_VERSION,
            "system": self.system,
            "listing": self.listing,
            "reached": reached.isoformat(),
        }
        with replace_atomically(self.path) as temporary:
            temporary.write_text(json.dumps(state) + "\n", encoding="utf-8")
