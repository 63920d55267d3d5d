"""The rules of a judged sheet that only the remote system can tell, each value asked once."""

from collections.abc import Callable, Collection, Iterator, Mapping
from types import MappingProxyType

from xlbridge.api.client import Client
from xlbridge.api.listings import Listings
from xlbridge.findings import Finding, Severity
from xlbridge.i18n import Text
from xlbridge.online.known_records import MOST_QUESTIONS, KnownRecords
from xlbridge.online.references import Registries
from xlbridge.resources.read_back import Existing, ReadBack
from xlbridge.resources.references import REFERENCES
from xlbridge.resources.resource import Resource
from xlbridge.upload.reading import RowReader, RowReading, requests_needed, rows_of
from xlbridge.validation.column_values import values_of
from xlbridge.validation.validate import ValidatedSheet

Tell = Callable[[Text], None]

_NOTHING: Mapping[str, Collection[str]] = MappingProxyType({})

_EFFECTS: Mapping[Existing, Text] = {
    Existing.ADDED: Text(pt="a linha será mais um registro", en="the row will be one more record"),
    Existing.REPLACED: Text(pt="a linha o substituirá", en="the row will replace it"),
}


class OnlineCheck:
    """Holds sheets against one remote system; what was asked is not asked again."""

    def __init__(self, client: Client, tell: Tell = lambda _text: None) -> None:
        self._client = client
        self._tell = tell
        self._listings = Listings(client)
        self.registries = Registries(client, self._listings)

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
            faults = {
                number: fault
                for number, code in enumerate(codes.values)
                if (fault := known.fault(code)) and (code in known.active or code not in coming)
            }
            details = {"registry": reference.title}
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
        many = requests_needed(resource, rows) > MOST_QUESTIONS
        source = KnownRecords(self._client, self._listings) if many else self._client
        reading = RowReader(source, resource, read_back).read(rows)
        for position, row in zip(positions, reading, strict=True):
            if row is not None and row.found:
                yield _existing(judged, position, row, read_back)


def _existing(
    judged: ValidatedSheet, position: int, row: RowReading, read_back: ReadBack
) -> Finding:
    column = next(iter(row.key))
    codes = ", ".join(record.code for record in row.found)
    if read_back.existing is Existing.REFUSED:
        return judged.finding("already-registered", column, position, {"code": codes})
    details = {"code": codes, "effect": _EFFECTS[read_back.existing]}
    return judged.finding("record-exists", column, position, details)
