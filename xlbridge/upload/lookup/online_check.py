"""Online check: rules of a validated sheet that depend on the remote system.

Names must have a record, codes must exist and be active, and existing records are reported. Each
value is queried once.
"""

from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType

from xlbridge.client import Client
from xlbridge.client.registries import Registries
from xlbridge.i18n import Text
from xlbridge.resources import Catalogue, Kind, Resource
from xlbridge.resources.checks import CATALOGUE
from xlbridge.resources.findings import Finding
from xlbridge.resources.links import linked_catalogue
from xlbridge.resources.references import REFERENCES, Link
from xlbridge.resources.remote import ExistingPolicy
from xlbridge.upload.lookup.bulk_lookup import MAX_REQUESTS, record_reader
from xlbridge.upload.lookup.comparison import lookups_of_rows
from xlbridge.upload.lookup.links import LinkResolver
from xlbridge.upload.lookup.snapshot import RowTable
from xlbridge.upload.options import Progress
from xlbridge.validation import ValidatedSheet
from xlbridge.validation.cross_sheet import values_of
from xlbridge.validation.mapping import MappingProposal, SheetMapping
from xlbridge.workbook.read import SheetCells

_NO_CODES: Mapping[str, Collection[str]] = MappingProxyType({})

_UNCHANGED = Text(pt="um envio não o altera", en="an upload does not change it")
_HELD = Text(
    pt="com outros valores; no envio, a linha aguarda você, ou altera o registro com --update",
    en="with other values; in an upload the row waits for you, or changes the record with --update",
    page=Text(
        pt="com outros valores; no envio, a linha aguarda você, ou altera o registro com “Alterar "
        "registros que já existem com outros valores”",
        en="with other values; in an upload the row waits for you, or changes the record with "
        "“Change records that exist with other values”",
    ),
)


class OnlineCheck:
    """Check of sheets against one remote system; no code is queried twice.

    ``most_requests`` limits the requests for a sheet's records, and for the codes of each registry
    that the interface does not list; the rest is reported as not looked up.
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
        self, sheet: ValidatedSheet, provided: Mapping[str, Collection[str]] = _NO_CODES
    ) -> None:
        """Add findings from the remote system to a validated sheet.

        ``provided`` are the codes that other sheets will register, by registry; they need not exist
        yet. Cells with an error are not checked. Names in linked cells become codes. Raises what
        ``Client.records`` raises, and then leaves the sheet unchanged.
        """
        if sheet.resource is None or sheet.header_row is None or not sheet.rows:
            return
        if sheet.resource.base is not None:
            self._progress(Text(pt="Procurando os nomes", en="Looking for the names"))
        coded = self._links.fill_in(sheet)
        resource = coded.resource or sheet.resource
        found = [*self._references(coded, resource, provided), *self._records(coded, resource)]
        sheet.resource, sheet.frame, sheet.findings = resource, coded.frame, coded.findings
        sheet.add(found)

    def ask_unknown_names(
        self, proposal: MappingProposal, cells: SheetCells, catalogue: Catalogue
    ) -> MappingProposal:
        """Return a proposed mapping that asks for the names in ``cells`` which the system lacks,
        with those that are similar. Raises what ``Client.records`` raises."""
        names = proposal.names_to_look_up(cells)
        asked = (proposal.all_columns[path] for path in names)
        links = {one.name: one.body["link"] for one in asked}
        resource = linked_catalogue(links, catalogue)[proposal.resource.name]
        for path, texts in names.items():
            column = resource.column_at(path)
            if column is not None and column.link is not None and texts:
                records = self._links.records(column.link, column.kind, texts)
                problems = ((text, records.problem(text, similar=True)) for text in texts)
                unknown = {
                    text: problem.details["similar"]
                    for text, problem in problems
                    if problem is not None and problem.code == "link-unknown"
                }
                proposal = proposal.asking(path, unknown) if unknown else proposal
        return proposal

    def problems_of_names(
        self, mapping: SheetMapping, catalogue: Catalogue
    ) -> Iterator[tuple[str, str | None, Text]]:
        """Yield the names in a mapping that do not name one record: the column, the word of the
        sheet that the name stands for, None if it is for all rows, and the message.

        Raises what ``Client.records`` raises.
        """
        for name, kind, link, names in self.names_in_mapping(mapping, catalogue):
            records = self._links.records(link, kind, [text for _, text in names])
            for word, text in names:
                if problem := records.problem(text, similar=True):
                    code = CATALOGUE[problem.code]
                    yield name, word, Finding(code, value=text, details=problem.details).message

    @staticmethod
    def names_in_mapping(
        mapping: SheetMapping, catalogue: Catalogue
    ) -> Iterator[tuple[str, Kind, Link, list[tuple[str | None, str]]]]:
        """Yield the columns of a mapping whose values name records, each with its kind, its link
        and the names: the word of the sheet that a name stands for, None if it is for all rows."""
        resource = linked_catalogue(mapping.links, catalogue)[mapping.resource]
        for name, mapped in mapping.by_path.items():
            column = resource.column_at(name)
            if column is not None and column.link is not None:
                given = [(None, mapped.constant), *(mapped.values or {}).items()]
                names = [(word, text) for word, text in given if isinstance(text, str)]
                yield name, column.kind, column.link, names

    def _references(
        self, sheet: ValidatedSheet, resource: Resource, provided: Mapping[str, Collection[str]]
    ) -> Iterator[Finding]:
        for column in resource.columns:
            is_present = column.name in sheet.columns or column.name in sheet.constants
            if column.references is None or not is_present:
                continue
            reference = REFERENCES[column.references]
            self._progress(
                Text(pt="Consultando {r}", en="Looking up {r}").format(r=reference.title)
            )
            codes = values_of(sheet, column.name)
            pending = provided.get(column.references, ())
            known = self.registries.look_up(column.references, reference, codes.values)
            left = {code for code in known.not_queried if code not in pending}
            faults = {
                number: fault
                for number, code in enumerate(codes.values)
                if code not in left
                and (fault := known.fault(code))
                and (code in known.active or code not in pending)
            }
            details = {"registry": reference.title}
            if left:
                counts = {**details, "count": len(left), "codes": len(codes.values)}
                yield _column_finding(sheet, "references-not-looked-up", column.name, counts)
            for position, number in codes.cells_with(faults):
                yield sheet.finding(faults[number], column.name, position, details)

    def _records(self, sheet: ValidatedSheet, resource: Resource) -> Iterator[Finding]:
        read_back = resource.read_back
        if read_back is None:
            return
        wrong = {finding.row for finding in sheet.error_findings()}
        positions = [i for i, row in enumerate(sheet.rows) if row not in wrong]
        rows = RowTable.of(sheet.frame.iloc[positions])
        if not rows:
            return
        self._progress(Text(pt="Procurando os registros", en="Looking for the records"))
        looked_up = record_reader(self._client, resource, rows, self._most)()
        keyed = (bool(lookups) for lookups in lookups_of_rows(resource, rows))
        left = sum(
            found is None and has_key and at not in looked_up.near
            for at, (found, has_key) in enumerate(zip(looked_up.snapshot, keyed, strict=True))
        )
        if left:
            details = {"count": left, "why": looked_up.reason}
            yield _column_finding(sheet, "records-not-looked-up", None, details)
        for at, (position, row) in enumerate(zip(positions, looked_up.snapshot, strict=True)):
            if at in looked_up.near:
                near = looked_up.near[at]
                yield sheet.finding("record-near", near.column, position, {"record": near.text})
            elif row is not None and row.found:
                column = next(iter(row.key))
                found = {"code": ", ".join(record.code for record in row.found)}
                unchanged = any(record.unchanged for record in row.found)
                if read_back.existing is ExistingPolicy.REFUSED and not unchanged:
                    yield sheet.finding("already-registered", column, position, found)
                else:
                    found_as = {**found, "effect": _UNCHANGED if unchanged else _HELD}
                    yield sheet.finding("record-exists", column, position, found_as)


def _column_finding(
    sheet: ValidatedSheet, code: str, column: str | None, details: Mapping[str, object]
) -> Finding:
    return Finding(CATALOGUE[code], row=sheet.header_row, column=column, details=details)
