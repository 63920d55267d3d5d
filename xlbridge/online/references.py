"""Whether the codes of a sheet exist in the remote system, and may be used."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from xlbridge.api.client import Client
from xlbridge.api.listings import Listed, Listings
from xlbridge.api.record_shape import Record
from xlbridge.errors import RemoteRejected
from xlbridge.resources.references import Reference

_NOT_FOUND = 404


@dataclass(frozen=True, slots=True)
class Registered:
    """Which of some codes exist, each with whether it is active; ``whole`` says that no other of
    them does."""

    active: Mapping[str, bool]
    whole: bool = True

    def fault(self, code: str) -> str | None:
        """Return the finding that a code deserves, None where it may be used."""
        if code in self.active:
            return None if self.active[code] else "reference-inactive"
        return "reference-unknown" if self.whole else "reference-unproven"


class Registries:
    """Looks codes up, each at most once; in one listing where the interface has one."""

    def __init__(self, client: Client, listings: Listings) -> None:
        self._client = client
        self._listings = listings
        self._one_by_one: dict[tuple[str, str], bool] = {}
        self._registered: dict[str, Registered] = {}

    def look_up(self, name: str, reference: Reference, codes: Collection[str]) -> Registered:
        """Return which of the codes exist. Raises what ``Client.records`` raises."""
        if reference.one_by_one:
            return Registered(dict.fromkeys(self._existing(name, reference, codes), True))
        if name not in self._registered:
            listed = self.listed(reference)
            active = {
                str(record.get(reference.key)): bool(
                    reference.active is None or record.get(reference.active, True)
                )
                for record in listed.records
            }
            self._registered[name] = Registered(active, listed.whole)
        return self._registered[name]

    def listed(self, reference: Reference) -> Listed:
        """Return all records of a registry. Raises what ``Client.records`` raises."""
        return self._listings.all(reference.operation, reference.cap)

    def asked(self, reference: Reference, field: str, value: str) -> list[Record]:
        """Return the records that a registry lists for one value of a field of its query.

        Raises what ``Client.records`` raises.
        """
        query: Any = reference.operation.query
        try:
            return list(self._client.records(reference.operation, query=query(**{field: value})))
        except RemoteRejected as error:
            if error.status != _NOT_FOUND:
                raise
            return []

    def _existing(self, name: str, reference: Reference, codes: Collection[str]) -> Iterator[str]:
        for code in codes:
            if (name, code) not in self._one_by_one:
                self._one_by_one[name, code] = self._exists(reference, code)
            if self._one_by_one[name, code]:
                yield code

    def _exists(self, reference: Reference, code: str) -> bool:
        (parameter,) = reference.operation.path_parameters
        try:
            for _ in self._client.records(reference.operation, path={parameter: code}):
                break
        except RemoteRejected as error:
            if error.status == _NOT_FOUND:
                return False
            raise
        return True
