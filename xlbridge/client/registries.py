"""Registries of one remote system: codes, names and records, each read once."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from xlbridge.client.client import Client
from xlbridge.client.listing_stream import Record
from xlbridge.errors import NOT_AS_DOCUMENTED, RemoteRejected, TransportError, XlbridgeError
from xlbridge.files import write_private
from xlbridge.i18n import Text
from xlbridge.resources.references import REFERENCES, Reference
from xlbridge.settings import Settings

__all__ = [
    "NamedRecord",
    "Registries",
    "StoredNames",
    "named_record",
]

_NOT_FOUND = 404
_MOST_CODES = 500


@dataclass(frozen=True, slots=True)
class NamedRecord:
    """Record of a registry: its code, its label, and whether it is active."""

    code: int | str
    label: str
    active: bool

    def __str__(self) -> str:
        return f"{self.code} – {self.label}" if self.label else str(self.code)


def named_record(record: Record, reference: Reference) -> NamedRecord:
    """Return a record of a registry. Raises ``TransportError`` if it has no code."""
    code = record.get(reference.key)
    if isinstance(code, int | str):
        label = str(record.get(reference.label) or "")
        return NamedRecord(code, label, _is_active(record, reference))
    raise TransportError(
        Text(
            pt="{registry}: o campo {field} veio como {value}, que não é um código.",
            en="{registry}: the field {field} is {value}, which is not a code.",
        ).format(registry=reference.title, field=reference.key, value=repr(code)[:40]),
        NOT_AS_DOCUMENTED,
    )


def _is_active(record: Record, reference: Reference) -> bool:
    return reference.active is None or bool(record.get(reference.active, True))


@dataclass(frozen=True, slots=True)
class RegistryCodes:
    """Codes that exist, each with whether it is active.

    ``complete``: no others exist, except possibly those that were ``not_queried``.
    """

    active: Mapping[str, bool]
    complete: bool = True
    not_queried: Collection[str] = frozenset()

    def fault(self, code: str) -> str | None:
        """Return the code of the finding about a registry code, None if it may be used."""
        if code in self.active:
            return None if self.active[code] else "reference-inactive"
        return "reference-unknown" if self.proves(code) else "reference-unproven"

    def proves(self, code: str) -> bool:
        """Return whether a code is known to exist or not to exist."""
        return code in self.active or (self.complete and code not in self.not_queried)


@dataclass(slots=True)
class RegistryRecords:
    """Records of a registry; ``complete``: there are certainly no others."""

    records: list[Record] = field(default_factory=list)
    complete: bool = True


class Registries:
    """Lookup of codes in registries, each read at most once, in a single listing if there is one.

    In a registry without a listing, at most ``most_requests`` codes are queried.
    """

    def __init__(self, client: Client, most_requests: int = _MOST_CODES) -> None:
        self._client = client
        self._listed: dict[str, RegistryRecords] = {}
        self._most = most_requests
        self._one_by_one: defaultdict[str, dict[str, bool]] = defaultdict(dict)
        self._registered: dict[str, RegistryCodes] = {}
        self._names: dict[str, dict[str, str]] = {}

    def look_up(self, name: str, reference: Reference, codes: Collection[str]) -> RegistryCodes:
        """Return the codes that exist. Raises what ``Client.records`` raises."""
        if reference.one_by_one:
            known = self._one_by_one[name]
            for code in codes:
                if code not in known and len(known) < self._most:
                    (parameter,) = reference.operation.path_parameters
                    path = {parameter: code}
                    try:
                        next(iter(self._client.records(reference.operation, path=path)), None)
                        known[code] = True
                    except RemoteRejected as error:
                        if error.status != _NOT_FOUND:
                            raise
                        known[code] = False
            active = {code: True for code in codes if known.get(code)}
            return RegistryCodes(active, not_queried={code for code in codes if code not in known})
        if name not in self._registered:
            listed = self.load_all(reference)
            active = {
                str(record.get(reference.key)): _is_active(record, reference)
                for record in listed.records
            }
            self._registered[name] = RegistryCodes(active, listed.complete)
        return self._registered[name]

    def load_all(
        self, reference: Reference, on_records: Callable[[int], None] = lambda _count: None
    ) -> RegistryRecords:
        """Return all records of a registry; ``on_records`` gets their number as they are read.

        Raises what ``Client.records`` raises.
        """
        operation = reference.listing
        if operation.name not in self._listed:
            listed = RegistryRecords()
            for records, complete in self._client.all_records(operation, reference.cap):
                listed.records += records
                listed.complete &= complete
                on_records(len(listed.records))
            self._listed[operation.name] = listed
        return self._listed[operation.name]

    def named(self, reference: Reference) -> list[NamedRecord]:
        """Return the codes and labels of all records. Raises what ``Client.records`` raises."""
        return [named_record(it, reference) for it in self.load_all(reference).records]

    def names(self, reference: Reference) -> Mapping[str, str]:
        """Return the names of all records by their codes, without keeping the records.

        Raises what ``Client.records`` raises.
        """
        operation = reference.listing
        if operation.name not in self._names:
            names: dict[str, str] = {}
            for records, _ in self._client.all_records(operation, reference.cap):
                named = (named_record(record, reference) for record in records)
                names.update((str(one.code), " ".join(one.label.split())) for one in named)
            self._names[operation.name] = names
        return self._names[operation.name]

    def is_listed(self, reference: Reference) -> bool:
        """Return whether all records of a registry were already read."""
        return reference.listing.name in self._listed

    def forget(self, reference: Reference) -> None:
        """Read a registry's listing again when it is needed."""
        self._listed.pop(reference.listing.name, None)

    def query(self, reference: Reference, field: str, value: str) -> list[Record]:
        """Return the records of a registry that match a value of one query field.

        Raises what ``Client.records`` raises.
        """
        query: Any = reference.operation.query
        try:
            return list(self._client.records(reference.operation, query=query(**{field: value})))
        except RemoteRejected as error:
            if error.status != _NOT_FOUND:
                raise
            return []


class StoredNames:
    """Names of the records of a registry of the chosen system, by their codes.

    They were read earlier, and are in the home folder for use without a connection.
    """

    def __init__(self, settings: Settings, registry: str) -> None:
        system = f"{settings.profile} {settings.base_url}"
        name = hashlib.sha256(system.encode()).hexdigest()[:16]
        self._registry = registry
        self.path: Path = settings.home / "names" / name / f"{registry}.json"

    def read(self) -> tuple[dict[str, str], set[str]]:
        """Return the names and the codes of inactive records, none if none were read."""
        try:
            content: Any = json.loads(self.path.read_text("utf-8"))
        except (OSError, ValueError):
            return {}, set()
        if not isinstance(content, dict):
            return {}, set()
        return content.get("names", {}), set(content.get("inactive", ()))

    def read_from(self, client: Client) -> Mapping[str, str]:
        """Return the names that the system has now, and store them if possible.

        Raises what ``Client.records`` raises.
        """
        names = dict(Registries(client).names(REFERENCES[self._registry]))
        with suppress(XlbridgeError):
            self.write(names, self.read()[1])
        return names

    def write(self, names: dict[str, str], inactive: Set[str]) -> None:
        """Store the names. Raises ``UsageError`` if they cannot be written."""
        stored = {"names": names, "inactive": sorted(inactive)}
        write_private(self.path, json.dumps(stored, ensure_ascii=False))
