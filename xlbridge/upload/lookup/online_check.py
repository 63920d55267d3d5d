"""Online check: the rules of a validated sheet that only the remote system can decide.

Names must lead to a record; codes must exist and be active; records may exist already. Each value
is asked for once.
"""

from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType

from xlbridge.client import Client
from xlbridge.i18n import Text
from xlbridge.resources import Resource
from xlbridge.resources.checks import CATALOGUE
from xlbridge.resources.findings import Finding
from xlbridge.resources.references import REFERENCES
from xlbridge.resources.remote import ExistingPolicy, ReadBack
from xlbridge.upload.lookup.bulk_lookup import MAX_REQUESTS, look_up_rows
from xlbridge.upload.lookup.links import LinkResolver
from xlbridge.upload.lookup.registries import Registries
from xlbridge.upload.lookup.row_lookup import lookups_for
from xlbridge.upload.lookup.row_table import RowTable
from xlbridge.upload.lookup.snapshot import RowSnapshot
from xlbridge.upload.options import Progress
from xlbridge.validation import ValidatedSheet
from xlbridge.validation.cross_sheet import values_of

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
        self.registries = Registries(client, most_requests)
        self._links = LinkResolver(self.registries)

    def add_findings(
        self, judged: ValidatedSheet, supplied: Mapping[str, Collection[str]] = _NO_CODES
    ) -> None:
        """Add the findings of the remote system to a validated sheet.

        ``supplied`` are codes that other sheets of the same undertaking register, by registry:
        they need not be there yet. Cells with an error are not asked about. Names in linked cells
        become codes. Raises what ``Client.records`` raises, and leaves the sheet as it was then.
        """
        if judged.resource is None or judged.header_row is None or not judged.rows:
            return
        if judged.resource.base is not None:
            self._progress(Text(pt="Procurando os nomes", en="Looking for the names"))
        coded = self._links.fill_in(judged)
        resource = coded.resource or judged.resource
        found = [*self._references(coded, resource, supplied), *self._records(coded, resource)]
        judged.resource, judged.frame, judged.findings = resource, coded.frame, coded.findings
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
            for position, number in codes.cells_with(faults):
                yield judged.finding(faults[number], column.name, position, details)

    def _records(self, judged: ValidatedSheet, resource: Resource) -> Iterator[Finding]:
        read_back = resource.read_back
        if read_back is None:
            return
        wrong = {finding.row for finding in judged.error_findings()}
        positions = [i for i, row in enumerate(judged.rows) if row not in wrong]
        rows = RowTable.of(judged.frame.iloc[positions])
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
