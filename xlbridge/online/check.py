"""The rules of a judged sheet that only the remote system can tell, each value asked once."""

from collections.abc import Callable, Collection, Iterator, Mapping
from types import MappingProxyType

from xlbridge.api.client import Client
from xlbridge.api.listings import Listings
from xlbridge.findings import CATALOGUE, Finding, Severity
from xlbridge.i18n import Text
from xlbridge.online.references import Registries
from xlbridge.resources.read_back import Existing, ReadBack
from xlbridge.resources.references import REFERENCES
from xlbridge.resources.resource import Resource
from xlbridge.upload.reading import RowReading, lookup_for, rows_of
from xlbridge.upload.whole_reading import MOST_REQUESTS, read_rows
from xlbridge.validation.column_values import values_of
from xlbridge.validation.validate import ValidatedSheet

Tell = Callable[[Text], None]

_NOTHING: Mapping[str, Collection[str]] = MappingProxyType({})

_EFFECTS: Mapping[Existing, Text] = {
    Existing.ADDED: Text(pt="a linha será mais um registro", en="the row will be one more record"),
    Existing.REPLACED: Text(pt="a linha o substituirá", en="the row will replace it"),
}


class OnlineCheck:
    """Holds sheets against one remote system; no code is asked for again.

    A sheet's records take ``most_requests`` at most, and so do the codes of each registry that
    the interface does not list; what is left is said not to be looked up.
    """

    def __init__(
        self,
        client: Client,
        tell: Tell = lambda _text: None,
        most_requests: int = MOST_REQUESTS,
    ) -> None:
        self._client = client
        self._tell = tell
        self._most = most_requests
        self.registries = Registries(client, Listings(client), most_requests)

    def add_findings(
        self, judged: ValidatedSheet, supplied: Mapping[str, Collection[str]] = _NOTHING
    ) -> None:
        """Add to a judged sheet what the remote system says of its rows.

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
            if column.references is None or column.name not in judged.columns:
                continue
            reference = REFERENCES[column.references]
            self._tell(Text(pt="Consultando {r}", en="Asking for {r}").format(r=reference.title))
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
                told = {**details, "count": len(left), "codes": len(codes.values)}
                yield _of_column(judged, "references-not-looked-up", column.name, told)
            for position, number in codes.cells(faults):
                yield judged.finding(faults[number], column.name, position, details)

    def _records(self, judged: ValidatedSheet, resource: Resource) -> Iterator[Finding]:
        read_back = resource.read_back
        if read_back is None:
            return
        wrong = {f.row for f in judged.findings if f.kind.severity is Severity.ERROR}
        positions = [i for i, row in enumerate(judged.rows) if row not in wrong]
        rows = rows_of(judged.frame.iloc[positions])
        if not rows:
            return
        self._tell(Text(pt="Procurando os registros", en="Looking for the records"))
        reading, why = read_rows(self._client, resource, rows, self._most)
        left = sum(
            found is None and lookup_for(resource, row) is not None
            for row, found in zip(rows, reading, strict=True)
        )
        if left:
            told = {"count": left, "why": why}
            yield _of_column(judged, "records-not-looked-up", None, told)
        for position, row in zip(positions, reading, strict=True):
            if row is not None and row.found:
                yield _existing(judged, position, row, read_back)


def _of_column(
    judged: ValidatedSheet, code: str, column: str | None, details: Mapping[str, object]
) -> Finding:
    return Finding(CATALOGUE[code], row=judged.header_row, column=column, details=details)


def _existing(
    judged: ValidatedSheet, position: int, row: RowReading, read_back: ReadBack
) -> Finding:
    column = next(iter(row.key))
    codes = ", ".join(record.code for record in row.found)
    if read_back.existing is Existing.REFUSED:
        return judged.finding("already-registered", column, position, {"code": codes})
    details = {"code": codes, "effect": _EFFECTS[read_back.existing]}
    return judged.finding("record-exists", column, position, details)
