"""Links: the codes of the records that cells name.

A loosely linked cell may have any of a record's names, or ``code – name``, regardless of case,
accents, repeated spaces and the punctuation of documents. A name that matches no record or several
has no code. A template has lists of the records that its columns may name.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from datetime import datetime
from difflib import SequenceMatcher
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from xlbridge.client import Client, Record
from xlbridge.client.registries import NamedRecord, Registries, named_record
from xlbridge.errors import RemoteRejected, UnknownFields, UsageError, WorkbookRefused
from xlbridge.i18n import Text, count_text, untranslated
from xlbridge.resources import Column, Kind, Resource, normalize_header, strip_accents
from xlbridge.resources.checks import DOCUMENTS, bare_document
from xlbridge.resources.findings import Finding
from xlbridge.resources.names import field_title, number_headers
from xlbridge.resources.references import REFERENCES, Link, Reference, SheetLink, link_words
from xlbridge.settings import WorkbookLimits
from xlbridge.titles import WorkProgress
from xlbridge.upload.claims import Patience
from xlbridge.validation import ValidatedSheet
from xlbridge.validation.cells import display
from xlbridge.validation.cross_sheet import first_occurrences, unique_keys, values_of
from xlbridge.workbook import cell_address
from xlbridge.workbook.read import read_workbook

if TYPE_CHECKING:
    from xlbridge.workbook.write import RegistryList, RegistryLists

_NO_RECORD = "0"
"""The code that stands for no record in links to another sheet; others start at 1."""

_FEW = 20
"""Number of single values queried before the whole listing is read instead."""
_MAX_NAMED, _MAX_COMPARED, _MAX_HINTED = 4, 50, 100
_PREFIX_LENGTH, _MIN_SIMILARITY = 3, 0.6
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class ReferenceProblem:
    """Problem of a value without a usable code: the code of a finding, and its details."""

    code: str
    details: Mapping[str, object]


def comparable_key(kind: Kind, value: object) -> str:
    """Return a value as a key of records: documents without their mask, texts trimmed."""
    text = str(value)
    return bare_document(text) if kind in DOCUMENTS else text.strip()


def name_keys(link: Link, kind: Kind, value: object) -> tuple[str, ...]:
    """Return the keys of records that a cell of a linked column may name.

    A document in a loosely linked cell may have lost its leading zeros.
    """
    if not link.is_loose:
        return (comparable_key(kind, value),)
    bare = bare_document(str(value))
    documents = [
        full
        for name in link.names
        if name.kind in DOCUMENTS
        for document in [DOCUMENTS[name.kind]]
        if (full := bare.zfill(document.symbols)) == bare or document.is_valid(full)
    ]
    return tuple(dict.fromkeys((_folded(str(value)), *documents)))


def _folded(text: str) -> str:
    return " ".join(strip_accents(text).casefold().split()).replace(" - ", " – ")


def ambiguous_link(link: Link, records: list[str]) -> ReferenceProblem:
    """Return the problem of a value that names more than one record."""
    more = " …" if len(records) > _MAX_NAMED else ""
    named = "; ".join(records[:_MAX_NAMED]) + more
    return ReferenceProblem("link-ambiguous", {"by": link_words(link), "records": named})


@dataclass(frozen=True)
class RecordsByName:
    """Records of a registry by the keys of ``name_keys``.

    ``complete``: there are no others; ``queried`` are the keys that the system was queried for;
    ``listed``: the registry's listing was read; ``growing``: this home has just written some that
    may not be shown yet.
    """

    link: Link
    kind: Kind
    records: Mapping[str, list[NamedRecord]] = field(default_factory=dict)
    complete: bool = True
    queried: Set[str] = frozenset()
    listed: bool = True
    growing: bool = False

    def is_conclusive_for(self, value: str) -> bool:
        """Return whether a value without a record here has none in the system."""
        keys = name_keys(self.link, self.kind, value)
        return self.complete or not self.queried.isdisjoint(keys)

    def find(self, value: str) -> list[NamedRecord]:
        """Return the records that a value names."""
        named = (self.records.get(key, ()) for key in name_keys(self.link, self.kind, value))
        return list({record.code: record for records in named for record in records}.values())

    def code(self, value: str) -> int | str:
        """Return the code of the one record that a value names."""
        (record,) = self.find(value)
        return record.code

    def problem(self, value: str, *, similar: bool = False) -> ReferenceProblem | None:
        """Return the problem of a value, None if it names a single usable record.

        With ``similar``, records with similar names are suggested.
        """
        found = self.find(value)
        registry = REFERENCES[self.link.registry].title
        if len(found) > 1:
            return ambiguous_link(self.link, list(map(str, found)))
        # Loose names are not unique, so an unread record may have the same.
        if (self.link.is_loose and not self.complete) or not found:
            code = "link-unknown" if self.is_conclusive_for(value) else "link-unproven"
            details = {"by": link_words(self.link), "registry": registry}
            names = list(map(str, self._similar(value))) if similar else []
            hint = _SIMILAR.format(records="; ".join(names)) if names else untranslated("")
            if self.growing:
                hint = Text(pt=hint.pt + _GROWING.pt, en=hint.en + _GROWING.en)
            return ReferenceProblem(code, {**details, "similar": hint})
        inactive = ReferenceProblem("reference-inactive", {"registry": registry})
        return None if found[0].active else inactive

    def _similar(self, value: str) -> list[NamedRecord]:
        """Return the record with a value as its code, then those with the most similar labels."""
        wanted = _folded(value)
        words = set(_WORD.findall(wanted))
        shared = Counter(
            record for word in words for record in self._by_prefix.get(word[:_PREFIX_LENGTH], ())
        )
        similarity = {}
        for record, _ in shared.most_common(_MAX_COMPARED):
            label = _folded(record.label)
            ratio = SequenceMatcher(None, wanted, label).ratio()
            if ratio >= _MIN_SIMILARITY or words <= set(_WORD.findall(label)):
                similarity[record] = ratio
        best = sorted(similarity, key=similarity.__getitem__, reverse=True)
        with_code = [record for record in self._all_records if str(record.code) == value.strip()]
        return [*with_code, *best][:_MAX_NAMED]

    @cached_property
    def _all_records(self) -> list[NamedRecord]:
        return list(
            {record.code: record for group in self.records.values() for record in group}.values()
        )

    @cached_property
    def _by_prefix(self) -> Mapping[str, list[NamedRecord]]:
        """Records by the prefixes of the words in their labels."""
        found: defaultdict[str, list[NamedRecord]] = defaultdict(list)
        for record in self._all_records:
            for prefix in {w[:_PREFIX_LENGTH] for w in _WORD.findall(_folded(record.label))}:
                if len(prefix) == _PREFIX_LENGTH:
                    found[prefix].append(record)
        return found


_SIMILAR = Text(pt=" Parecidos: {records}.", en=" Similar: {records}.")
_GROWING = Text(
    pt=" Um registro enviado há pouco pode ainda não aparecer: tente de novo em alguns minutos.",
    en=" A record that was just sent may not be shown yet: try again in a few minutes.",
)


CodesOfSheet = Callable[[SheetLink], Mapping[str, str]]
"""Returns the codes of the records sent by another sheet, by the values of a column. Raises
``UsageError`` if it was not sent to this system, or has no such column."""


class LinkResolver:
    """Resolver of linked cells in one system; records are read once.

    ``codes_of_sheet`` returns the codes of records that were sent by another sheet. ``patience`` is
    the one with which records of a registry are awaited, none if none was just written.
    """

    def __init__(
        self,
        registries: Registries,
        codes_of_sheet: CodesOfSheet = lambda _link: {},
        patience: Callable[[str], Patience] = lambda _registry: Patience(0),
    ) -> None:
        self.registries = registries
        self._codes_of_sheet = codes_of_sheet
        self._patience = patience
        self._awaited: dict[str, Patience] = {}
        self._records: dict[tuple[str, tuple[str, ...], Kind, bool], RecordsByName] = {}

    def records(self, link: Link, kind: Kind, values: Iterable[str] = ()) -> RecordsByName:
        """Return the records of a link's registry by their names.

        A few ``values`` are queried one by one if the interface can do that, else the listing is
        read; if that is not proven complete, values that are not in it are queried, if possible.
        Records that were just written are awaited, once for each registry. Raises what
        ``Client.records`` raises.
        """
        values, registry = set(values), link.registry
        found = self._records_shown(link, kind, values)
        if registry in self._awaited or all(map(found.find, values)):
            return replace(found, growing=bool(self._awaited.get(registry, Patience(0)).seconds))
        patience = self._awaited[registry] = self._patience(registry)

        def read_again() -> RecordsByName:
            self.registries.forget(REFERENCES[registry])
            self._records = {k: known for k, known in self._records.items() if k[0] != registry}
            return self._records_shown(link, kind, values)

        readings = chain([found], iter(read_again, None))
        found = patience.read_until(
            lambda: next(readings), lambda found: all(map(found.find, values))
        )
        return replace(found, growing=bool(patience.seconds))

    def _records_shown(self, link: Link, kind: Kind, values: Set[str]) -> RecordsByName:
        """Return the records that the system shows, without waiting for others."""
        key = link.registry, link.fields, kind, link.has_codes
        reference = REFERENCES[link.registry]
        query = reference.operation.query
        query_fields = () if query is None else query.model_fields
        can_query = not link.is_loose and link.fields[0] in query_fields
        known = self._records.get(key)
        if known is None and can_query and not self.registries.is_listed(reference):
            known = RecordsByName(link, kind, complete=False, listed=False)
        elif known is None:
            known = self._read(link, kind)
        missing = self._missing(known, values)
        if not known.listed and len(known.queried | missing) > _FEW:
            known = self._read(link, kind)
            missing = self._missing(known, values)
        if can_query:
            records = dict(known.records)
            for value in sorted(missing):
                queried = self.registries.query(reference, link.fields[0], value)
                records |= _by_name(known.link, reference, known.kind, queried)
            known = replace(known, records=records, queried=known.queried | missing)
        self._records[key] = known
        return replace(known, link=link)

    def codes_if_sent(self, link: SheetLink) -> Mapping[str, str]:
        """Return the codes that the values of a link stand for, as far as its sheets were sent."""
        try:
            return {_NO_RECORD: _NO_RECORD, **self._codes_of_sheet(link)}
        except (UsageError, WorkbookRefused):
            return {_NO_RECORD: _NO_RECORD}

    def fill_in(self, sheet: ValidatedSheet) -> ValidatedSheet:
        """Return a sheet of a linked resource as one of its base resource, with codes for names.

        A cell without a single active record is left empty and gets an error, as does a row that
        repeats another once its names are codes. Raises what ``Client.records`` raises.
        """
        resource = sheet.resource
        if resource is None or resource.base is None:
            return sheet
        frame = sheet.frame.copy(deep=False)
        found: list[Finding] = []
        linked = [column for column in resource.columns if column.link or column.sheet_link]
        for column in linked:
            if column.name in frame:
                base = resource.base.by_name[column.name]
                if column.sheet_link is not None:
                    codes, findings = self._codes_of_rows(sheet, base, column.sheet_link)
                elif column.link is not None:
                    codes, findings = self._codes_of_names(sheet, column, column.link)
                dtype: Any = base.dtype
                frame[column.name] = pd.Series(codes, index=frame.index, dtype=dtype)
                found += findings
        filled = replace(
            sheet,
            resource=resource.base,
            frame=frame,
            findings=list(sheet.findings),
            children={name: self.fill_in(child) for name, child in sheet.children.items()},
            links={
                column.name: link.text
                for column in linked
                for link in (column.sheet_link, column.link)
                if link and not (isinstance(link, Link) and link.has_codes)
            },
        )
        filled.add(found)
        filled.add(list(_duplicate_rows(filled, {column.name for column in linked})))
        return filled

    def _missing(self, known: RecordsByName, values: Set[str]) -> set[str]:
        keys = {value: name_keys(known.link, known.kind, value)[0] for value in values}
        return {
            key
            for value, key in keys.items()
            if key not in known.records and not known.is_conclusive_for(value)
        }

    def _codes_of_rows(
        self, sheet: ValidatedSheet, column: Column, link: SheetLink
    ) -> tuple[Any, list[Finding]]:
        """Return the codes of the records that cells name by a column of another sheet."""
        cells = values_of(sheet, column.name)
        known = {_NO_RECORD: _NO_RECORD, **self._codes_of_sheet(link)}
        found: list[int | str | None] = []
        for value in cells.values:
            code = known.get(value.strip())
            is_number = code is not None and column.kind is Kind.INTEGER
            found.append((int(code) if code.isdecimal() else None) if code and is_number else code)
        missing = {number for number, code in enumerate(found) if code is None}
        codes = np.full(len(sheet.rows), None, dtype=object)
        codes[cells.positions] = np.array(found, dtype=object)[cells.indexes]
        details = {"file": link.file.name, "column": link.column}
        return codes, [
            sheet.finding("link-not-sent", column.name, position, details)
            for position, _ in cells.cells_with(missing)
        ]

    def _codes_of_names(
        self, sheet: ValidatedSheet, column: Column, link: Link
    ) -> tuple[Any, list[Finding]]:
        cells = values_of(sheet, column.name)
        records = self.records(link, column.kind, cells.values)
        problems: dict[int, ReferenceProblem] = {}
        for number, value in enumerate(cells.values):
            problem = records.problem(value, similar=len(problems) < _MAX_HINTED)
            if problem is not None:
                problems[number] = problem
        codes = np.full(len(sheet.rows), None, dtype=object)
        found = [
            None if number in problems else records.code(value)
            for number, value in enumerate(cells.values)
        ]
        codes[cells.positions] = np.array(found, dtype=object)[cells.indexes]
        return codes, [
            sheet.finding(problems[n].code, column.name, position, problems[n].details)
            for position, n in cells.cells_with(problems)
        ]

    def _read(self, link: Link, kind: Kind) -> RecordsByName:
        reference = REFERENCES[link.registry]
        listed = self.registries.load_all(reference)
        records = _by_name(link, reference, kind, listed.records)
        return RecordsByName(link, kind, records, listed.complete)


def _by_name(
    link: Link, reference: Reference, kind: Kind, records: Iterable[Record]
) -> dict[str, list[NamedRecord]]:
    """Return records of a registry by the keys of their names."""
    found: defaultdict[str, dict[int | str, NamedRecord]] = defaultdict(dict)
    for record in records:
        keys = list(_record_keys(link, reference, kind, record))
        if keys:
            named = named_record(record, reference)
            for key in keys:
                found[key][named.code] = named
    return {key: list(by_code.values()) for key, by_code in found.items()}


def _record_keys(link: Link, reference: Reference, kind: Kind, record: Record) -> Iterator[str]:
    kinds = {name.field: name.kind for name in link.names}
    for name, name_kind in kinds.items():
        value = record.get(name)
        if value in (None, ""):
            continue
        if not link.is_loose:
            yield comparable_key(kind, value)
        elif name_kind in DOCUMENTS:
            yield bare_document(str(value))
        else:
            yield _folded(str(value))
    if link.has_codes:
        yield _folded(str(record.get(reference.key)))
    if link.is_loose and record.get(reference.label):
        yield _folded(f"{record.get(reference.key)} – {record[reference.label]}")


def _duplicate_rows(sheet: ValidatedSheet, linked: Set[str]) -> Iterator[Finding]:
    """Yield the rows that are duplicates now that the linked columns have codes."""
    for column, columns in unique_keys(sheet.resource) if sheet.resource else ():
        if linked.isdisjoint(columns) or not set(columns) <= set(sheet.frame):
            continue
        keys = sheet.frame[list(columns)]
        wrong = sheet.rows_in_error((column, *columns))
        positions = np.flatnonzero(~wrong & keys.notna().all(axis="columns").to_numpy())
        firsts = positions[first_occurrences(keys.iloc[positions])] if len(positions) else positions
        for position, first in zip(positions, firsts, strict=True):
            if first < position:
                address = cell_address(sheet.rows[first], sheet.columns.get(column, 0))
                details = {"first": address}
                yield sheet.finding("duplicate-in-sheet", column, int(position), details)


_MAX_LISTED = 10_000
"""Limit on the records of one list, beyond which it is unusable and Excel becomes slow."""

_READING = Text(pt="Lendo {registry}", en="Reading {registry}")
_READ = Text(
    pt="Lendo {registry}: {n} {n:registro|registros}",
    en="Reading {registry}: {n} {n:record|records}",
)
_UNREAD = Text(
    pt="A lista não foi lida ({registry}): {reason}",
    en="The list of {registry} was not read: {reason}",
)
_CUT = Text(
    pt="A lista ({registry}) não está completa, {listed} de {total}; informe os outros registros "
    "pelo código, nome ou documento.",
    en="The list ({registry}) is not complete, {listed} of {total}; enter other records by code, "
    "name or document.",
)
_PARTLY_READ = Text(
    pt="Não há prova de que a lista ({registry}) esteja completa.",
    en="The list of {registry} is not proven complete.",
)


def registry_lists(
    client: Client,
    form: Resource,
    warn: Callable[[Text], None],
    progress: WorkProgress,
) -> "RegistryLists":
    """Return the active records of each registry that ``form`` links to, ordered by label.

    ``warn`` is called about incomplete lists. Raises ``TransportError`` or
    ``AuthenticationFailed`` if the system cannot be reached.
    """
    from xlbridge.workbook.write import RegistryLists  # Imported here, as slow to import.

    registries = Registries(client)
    columns = chain(form.columns, *(child.columns for child in form.children))
    links = {c.link.registry: c.link for c in columns if c.link is not None}
    lists = []
    for done, link in enumerate(links.values()):
        title = REFERENCES[link.registry].title
        progress.count(done, len(links))
        progress.show(_READING.format(registry=title))
        try:
            lists.append(_registry_list(registries, link, warn, progress.show))
        except (RemoteRejected, UnknownFields) as error:
            warn(_UNREAD.format(registry=title, reason=error.message))
            if isinstance(error, UnknownFields) and error.hint is not None:
                warn(error.hint)
    progress.count(len(links), len(links))
    moment = datetime.now().strftime("%d/%m/%Y %H:%M")
    source = f"{client.target.profile}, {moment}"
    return RegistryLists(source, tuple(lists), client.identity)


def _registry_list(
    registries: Registries,
    link: Link,
    warn: Callable[[Text], None],
    show: Callable[[Text], None],
) -> "RegistryList":
    from xlbridge.workbook.write import ListedRecord, RegistryList

    reference = REFERENCES[link.registry]

    def on_records(count: int) -> None:
        show(_READ.format(registry=reference.title, n=count_text(count)))

    listed = registries.load_all(reference, on_records)
    if not listed.complete:
        warn(_PARTLY_READ.format(registry=reference.title))
    fields = [name for name in link.fields if name not in (reference.key, reference.label)]
    records = {}
    for record in listed.records:
        named = named_record(record, reference)
        if named.active:
            names = tuple(str(record.get(field) or "") for field in fields)
            one = ListedRecord(str(named.code), " ".join(named.label.split()), names)
            records[one.code] = one
    ordered = sorted(records.values(), key=lambda one: (one.label.casefold(), one.code))
    _, _, without_article = str(reference.title).partition(" ")
    found = RegistryList(
        link.registry,
        without_article[:1].upper() + without_article[1:],
        tuple(str(field_title(field)) for field in fields),
        tuple(ordered[:_MAX_LISTED]),
        len(ordered),
    )
    if found.is_truncated:
        counts = {"listed": len(found.records), "total": found.total}
        warn(_CUT.format(registry=reference.title, **counts))
    return found


_MAX_HEADER_ROW = 50
"""Rows at the top of a sheet that are searched for a header."""


def texts_of_column(
    file: Path, sheet: str, name: str, limits: WorkbookLimits, resource: Resource | None
) -> tuple[int, dict[int, str]] | None:
    """Return a column of a sheet by its header, which may be that of the resource's column or of
    the system's numbers, None if there is none: its zero-based position, and its texts by Excel's
    row numbers.

    Raises ``WorkbookRefused``.
    """
    (cells,) = read_workbook(file, limits, sheet).sheets
    titles = {} if resource is None else resource.headers
    wanted = {header for header, column in titles.items() if column == name}
    wanted |= number_headers(name)
    header_cell = next(
        (
            (row, column)
            for row in range(min(cells.height, _MAX_HEADER_ROW))
            for column, value in enumerate(cells.row(row))
            if isinstance(value, str) and normalize_header(value) in wanted
        ),
        None,
    )
    if header_cell is None:
        return None
    header, position = header_cell
    column = cells.columns[position]
    return cells.first_column + position, {
        at + 1: display(value).strip()
        for at in range(header + 1, cells.height)
        if (value := column.value(at)) is not None
    }
