"""Registries of one remote system: their codes and records, each asked for once, and lists of them
for a template."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from typing import Any

from xlbridge.client import Client, Record
from xlbridge.errors import RemoteRejected, TransportError
from xlbridge.i18n import Text
from xlbridge.resources import Resource
from xlbridge.resources.references import REFERENCES, Link, Reference
from xlbridge.upload.lookup.bulk_lookup import MAX_REQUESTS
from xlbridge.workbook.write import ListedRecord, RegistryList, RegistryLists

_NOT_FOUND = 404


@dataclass(frozen=True, slots=True)
class NamedRecord:
    """Record of a registry: its code, what people call it, and whether it is active."""

    code: int | str
    label: str
    active: bool

    def __str__(self) -> str:
        return f"{self.code} – {self.label}" if self.label else str(self.code)


def named_record(record: Record, reference: Reference) -> NamedRecord:
    """Return a record of a registry. Raises ``TransportError`` where it has no code."""
    code = record.get(reference.key)
    if isinstance(code, int | str):
        active = reference.active is None or bool(record.get(reference.active, True))
        return NamedRecord(code, str(record.get(reference.label) or ""), active)
    raise TransportError(
        Text(
            pt="{registry}: o campo {field} veio como {value}, e não é um código.",
            en="{registry}: the field {field} came as {value}, which is not a code.",
        ).format(registry=reference.title, field=reference.key, value=repr(code)[:40])
    )


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
            known = self._one_by_one[name]
            for code in codes:
                if code not in known and len(known) < self._most:
                    known[code] = self._exists(reference, code)
            active = {code: True for code in codes if known.get(code)}
            return RegistryCodes(active, not_asked={code for code in codes if code not in known})
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


_MOST_LISTED = 10_000
"""Records of one list; in more than that nobody finds one, and Excel becomes slow."""

_READING = Text(pt="Lendo {registry}", en="Reading {registry}")
_UNREAD = Text(pt="Sem lista de {registry}: {reason}", en="No list of {registry}: {reason}")
_CUT = Text(
    pt="A lista ({registry}) não está completa, {listed} de {total}; os outros registros valem por "
    "código, nome ou documento.",
    en="The list ({registry}) is not complete, {listed} of {total}; other records may be given by "
    "code, name or document.",
)
_PARTLY_READ = Text(
    pt="Não é certo que a lista de {registry} esteja completa.",
    en="The list of {registry} is not proven complete.",
)


def registry_lists(
    client: Client,
    form: Resource,
    tell: Callable[[Text], None],
    progress: Callable[[Text], None] = lambda _text: None,
) -> RegistryLists:
    """Return the active records of each registry that ``form`` links to, ordered by their names.

    ``tell`` is told of what the lists lack. Raises ``TransportError`` or ``AuthenticationFailed``
    when the system cannot be asked.
    """
    registries = Registries(client)
    columns = chain(form.columns, *(child.columns for child in form.children))
    links = {c.link.registry: c.link for c in columns if c.link is not None}
    lists = []
    for link in links.values():
        title = REFERENCES[link.registry].title
        progress(_READING.format(registry=title))
        try:
            lists.append(_list_of(registries, link, tell))
        except RemoteRejected as error:
            tell(_UNREAD.format(registry=title, reason=error.message))
    moment = datetime.now().strftime("%d/%m/%Y %H:%M")
    return RegistryLists(f"{client.target.profile}, {moment}", tuple(lists))


def _list_of(registries: Registries, link: Link, tell: Callable[[Text], None]) -> RegistryList:
    reference = REFERENCES[link.registry]
    listed = registries.listed(reference)
    if not listed.complete:
        tell(_PARTLY_READ.format(registry=reference.title))
    fields = [name for name in link.fields if name not in (reference.key, reference.label)]
    records = {one.code: one for one in _usable_records(listed.records, link, fields)}
    ordered = sorted(records.values(), key=lambda one: (one.label.casefold(), one.code))
    found = RegistryList(
        link.registry,
        _without_article(reference.title.pt),
        tuple(fields),
        tuple(ordered[:_MOST_LISTED]),
        len(ordered),
    )
    if found.is_truncated:
        counts = {"listed": len(found.records), "total": found.total}
        tell(_CUT.format(registry=reference.title, **counts))
    return found


def _usable_records(
    records: Iterable[Record], link: Link, fields: Iterable[str]
) -> Iterator[ListedRecord]:
    """Yield the records that may be used, as a template lists them."""
    for record in records:
        named = named_record(record, REFERENCES[link.registry])
        if named.active:
            names = tuple(str(record.get(field) or "") for field in fields)
            yield ListedRecord(str(named.code), " ".join(named.label.split()), names)


def _without_article(text: str) -> str:
    """Return "o cadastro de clientes" as a title."""
    _, _, rest = text.partition(" ")
    return rest[:1].upper() + rest[1:]
