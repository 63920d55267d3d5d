"""Registries of one remote system: their codes and records, each asked for once."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from xlbridge.client import Client, Record
from xlbridge.errors import RemoteRejected
from xlbridge.resources.references import Reference
from xlbridge.upload.lookup.bulk_lookup import MAX_REQUESTS

_NOT_FOUND = 404


@dataclass(frozen=True, slots=True)
class RegistryCodes:
    """Codes that exist, each with whether it is active.

    ``whole`` says that no others exist, except perhaps those that were ``not_asked``.
    """

    active: Mapping[str, bool]
    whole: bool = True
    not_asked: Collection[str] = frozenset()

    def fault(self, code: str) -> str | None:
        """Return the finding that a code deserves, None where it may be used."""
        if code in self.active:
            return None if self.active[code] else "reference-inactive"
        return "reference-unknown" if self.proves(code) else "reference-unproven"

    def proves(self, code: str) -> bool:
        """Tell whether a code is known to exist, or not to."""
        return code in self.active or (self.whole and code not in self.not_asked)


@dataclass(slots=True)
class RegistryRecords:
    """All records of a registry; ``complete`` says that there are surely no others."""

    records: list[Record] = field(default_factory=list)
    complete: bool = True


class Registries:
    """Lookup of codes in registries, each at most once; in one listing where there is one.

    Of a registry that has none, ``most_requests`` codes are asked for at most.
    """

    def __init__(self, client: Client, most_requests: int = MAX_REQUESTS) -> None:
        self._client = client
        self._listed: dict[str, RegistryRecords] = {}
        self._most = most_requests
        self._one_by_one: defaultdict[str, dict[str, bool]] = defaultdict(dict)
        self._registered: dict[str, RegistryCodes] = {}

    def look_up(self, name: str, reference: Reference, codes: Collection[str]) -> RegistryCodes:
        """Return which of the codes exist. Raises what ``Client.records`` raises."""
        if reference.one_by_one:
            return self._asked_one_by_one(reference, self._one_by_one[name], codes)
        if name not in self._registered:
            listed = self.listed(reference)
            active = {
                str(record.get(reference.key)): bool(
                    reference.active is None or record.get(reference.active, True)
                )
                for record in listed.records
            }
            self._registered[name] = RegistryCodes(active, listed.complete)
        return self._registered[name]

    def listed(self, reference: Reference) -> RegistryRecords:
        """Return all records of a registry, with what they are called.

        Raises what ``Client.records`` raises.
        """
        operation = reference.listing
        if operation.name not in self._listed:
            listed = RegistryRecords()
            for records, complete in self._client.all_records(operation, reference.cap):
                listed.records += records
                listed.complete &= complete
            self._listed[operation.name] = listed
        return self._listed[operation.name]

    def is_listed(self, reference: Reference) -> bool:
        """Return whether all records of a registry were read before."""
        return reference.listing.name in self._listed

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

    def _asked_one_by_one(
        self, reference: Reference, known: dict[str, bool], codes: Collection[str]
    ) -> RegistryCodes:
        for code in codes:
            if code not in known and len(known) < self._most:
                known[code] = self._exists(reference, code)
        active = {code: True for code in codes if known.get(code)}
        return RegistryCodes(active, not_asked={code for code in codes if code not in known})

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
