"""Online check: the rules of a validated sheet that only the remote system can decide.

Codes must exist and be active; records may exist already. Each value is asked for once.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from xlbridge.client import Client, Record
from xlbridge.client.listings import CompleteListing, ListingCache
from xlbridge.errors import RemoteRejected
from xlbridge.i18n import Text
from xlbridge.resources import REFERENCES, ExistingPolicy, ReadBack, Reference, Resource
from xlbridge.resources.findings import CATALOGUE, Finding
from xlbridge.upload.context import Progress
from xlbridge.upload.lookup.bulk_lookup import MAX_REQUESTS, look_up_rows
from xlbridge.upload.lookup.row_lookup import lookups_for, rows_of
from xlbridge.upload.lookup.snapshot import RowSnapshot
from xlbridge.validation import ValidatedSheet
from xlbridge.validation.cross_sheet import values_of

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


class Registries:
    """Lookup of codes in registries, each at most once; in one listing where there is one.

    Of a registry that has none, ``most_requests`` codes are asked for at most.
    """

    def __init__(
        self, client: Client, listings: ListingCache, most_requests: int = MAX_REQUESTS
    ) -> None:
        self._client = client
        self._listings = listings
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

    def listed(self, reference: Reference) -> CompleteListing:
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


_NO_CODES: Mapping[str, Collection[str]] = MappingProxyType({})

_UNCHANGED = Text(pt="um envio não o altera", en="an upload leaves it as it is")
_HELD = Text(
    pt="com outros valores; um envio retém a linha, ou altera o registro com --update",
    en="with other values; an upload holds the row, or changes the record with --update",
)


class OnlineCheck:
    """Check of sheets against one remote system; no code is asked for twice.

    A sheet's records take ``most_requests`` at most, and so do the codes of each registry that
    the interface does not list; what is left is said not to be looked up.
    """

    def __init__(
        self,
        client: Client,
        progress: Progress = lambda _text: None,
        most_requests: int = MAX_REQUESTS,
    ) -> None:
        self._client = client
        self._progress = progress
        self._most = most_requests
        self.registries = Registries(client, ListingCache(client), most_requests)

    def add_findings(
        self, judged: ValidatedSheet, supplied: Mapping[str, Collection[str]] = _NO_CODES
    ) -> None:
        """Add the findings of the remote system to a validated sheet.

        ``supplied`` are codes that other sheets of the same undertaking register, by registry:
        they need not be there yet. Cells with an error are not asked about. Raises what
        ``Client.records`` raises, and leaves the sheet as it was then.
        """
        if judged.resource is None or judged.header_row is None or not judged.rows:
            return
        found = [
            *self._references(judged, judged.resource, supplied),
            *self._records(judged, judged.resource),
        ]
        judged.add(found)

    def _references(
        self,
        judged: ValidatedSheet,
        resource: Resource,
        supplied: Mapping[str, Collection[str]],
    ) -> Iterator[Finding]:
        for column in resource.columns:
            given = column.name in judged.columns or column.name in judged.constants
            if column.references is None or not given:
                continue
            reference = REFERENCES[column.references]
            self._progress(
                Text(pt="Consultando {r}", en="Asking for {r}").format(r=reference.title)
            )
            codes = values_of(judged, column.name)
            coming = supplied.get(column.references, ())
            known = self.registries.look_up(column.references, reference, codes.values)
            left = {code for code in known.not_asked if code not in coming}
            faults = {
                number: fault
                for number, code in enumerate(codes.values)
                if code not in left
                and (fault := known.fault(code))
                and (code in known.active or code not in coming)
            }
            details = {"registry": reference.title}
            if left:
                counts = {**details, "count": len(left), "codes": len(codes.values)}
                yield _column_finding(judged, "references-not-looked-up", column.name, counts)
            for position, number in codes.cells(faults):
                yield judged.finding(faults[number], column.name, position, details)

    def _records(self, judged: ValidatedSheet, resource: Resource) -> Iterator[Finding]:
        read_back = resource.read_back
        if read_back is None:
            return
        wrong = {finding.row for finding in judged.error_findings()}
        positions = [i for i, row in enumerate(judged.rows) if row not in wrong]
        rows = rows_of(judged.frame.iloc[positions])
        if not rows:
            return
        self._progress(Text(pt="Procurando os registros", en="Looking for the records"))
        reading, why = look_up_rows(self._client, resource, rows, self._most)
        left = sum(
            found is None and bool(lookups_for(resource, row))
            for row, found in zip(rows, reading, strict=True)
        )
        if left:
            details = {"count": left, "why": why}
            yield _column_finding(judged, "records-not-looked-up", None, details)
        for position, row in zip(positions, reading, strict=True):
            if row is not None and row.found:
                yield _existing_record_finding(judged, position, row, read_back)


def _column_finding(
    judged: ValidatedSheet, code: str, column: str | None, details: Mapping[str, object]
) -> Finding:
    return Finding(CATALOGUE[code], row=judged.header_row, column=column, details=details)


def _existing_record_finding(
    judged: ValidatedSheet, position: int, row: RowSnapshot, read_back: ReadBack
) -> Finding:
    column = next(iter(row.key))
    codes = ", ".join(record.code for record in row.found)
    unchanged = any(record.unchanged for record in row.found)
    if read_back.existing is ExistingPolicy.REFUSED and not unchanged:
        return judged.finding("already-registered", column, position, {"code": codes})
    details = {"code": codes, "effect": _UNCHANGED if unchanged else _HELD}
    return judged.finding("record-exists", column, position, details)
