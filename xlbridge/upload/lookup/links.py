"""Codes of the records that linked cells name, once the records are in the system.

Any of a record's names may stand in a loosely linked cell: there case, accents, repeated spaces
and the punctuation of documents do not count, and ``code – name`` names a record too. A name that
fits no record or several leads to no code.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from xlbridge.client import Record
from xlbridge.i18n import Text, untranslated
from xlbridge.resources import Column, Kind, Resource, strip_accents
from xlbridge.resources.checks import DOCUMENTS, bare_document
from xlbridge.resources.findings import Finding
from xlbridge.resources.references import REFERENCES, Link, Reference, SheetLink
from xlbridge.upload.lookup.registries import NamedRecord, Registries, named_record
from xlbridge.validation import ValidatedSheet
from xlbridge.validation.cross_sheet import first_occurrences, unique_keys, values_of
from xlbridge.workbook import cell_address

_NO_RECORD = "0"
_FEW = 20
"""Values that are asked for one by one before a whole listing is read."""
_MOST_NAMED, _MOST_COMPARED, _MOST_HINTED = 4, 50, 100
_SHORTEST_WORD, _ALIKE = 3, 0.6
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class ReferenceProblem:
    """Problem of a value that leads to no code: the code of a finding, and its details."""

    code: str
    details: Mapping[str, object]


def comparable_key(kind: Kind, value: object) -> str:
    """Return a value as records are named by it: documents without their mask, texts trimmed."""
    text = str(value)
    return bare_document(text) if kind in DOCUMENTS else text.strip()


def name_keys(link: Link, kind: Kind, value: object) -> tuple[str, ...]:
    """Return what a cell of a linked column names, as the keys of records are written.

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
    more = " …" if len(records) > _MOST_NAMED else ""
    named = "; ".join(records[:_MOST_NAMED]) + more
    return ReferenceProblem("link-ambiguous", {"by": link.by, "records": named})


@dataclass(frozen=True)
class RecordsByName:
    """Records of a registry by their names, as ``name_keys`` writes them.

    With ``whole`` there are no others; for the values in ``asked`` the system was queried.
    ``listed`` says that the registry's listing was read.
    """

    link: Link
    kind: Kind
    records: Mapping[str, list[NamedRecord]] = field(default_factory=dict)
    whole: bool = True
    asked: Set[str] = frozenset()
    listed: bool = True

    def is_conclusive_for(self, value: str) -> bool:
        """Return whether a value without a record here has none in the system."""
        return self.whole or not self.asked.isdisjoint(name_keys(self.link, self.kind, value))

    def found(self, value: str) -> list[NamedRecord]:
        """Return the records that a value names."""
        named = (self.records.get(key, ()) for key in name_keys(self.link, self.kind, value))
        return list({record.code: record for records in named for record in records}.values())

    def code(self, value: str) -> int | str:
        """Return the code of the one record that a value names."""
        (record,) = self.found(value)
        return record.code

    def problem(self, value: str, *, similar: bool = False) -> ReferenceProblem | None:
        """Return the problem of a value that names no usable record, None where it names one.

        With ``similar`` the records that are called alike are named.
        """
        found = self.found(value)
        registry = REFERENCES[self.link.registry].title
        if len(found) > 1:
            return ambiguous_link(self.link, list(map(str, found)))
        # Of names that nothing keeps apart, a record that was not read may have the same.
        if (self.link.is_loose and not self.whole) or not found:
            code = "link-unknown" if self.is_conclusive_for(value) else "link-unproven"
            details = {"by": self.link.by, "registry": registry}
            alike = list(map(str, self._similar(value))) if similar else []
            hint = _SIMILAR.format(records="; ".join(alike)) if alike else untranslated("")
            return ReferenceProblem(code, {**details, "similar": hint})
        inactive = ReferenceProblem("reference-inactive", {"registry": registry})
        return None if found[0].active else inactive

    def _similar(self, value: str) -> list[NamedRecord]:
        """Return the record with a value as its code, then those whose labels are most alike."""
        wanted = _folded(value)
        words = set(_WORD.findall(wanted))
        shared = Counter(
            record for word in words for record in self._words.get(word[:_SHORTEST_WORD], ())
        )
        alike = {}
        for record, _ in shared.most_common(_MOST_COMPARED):
            label = _folded(record.label)
            ratio = SequenceMatcher(None, wanted, label).ratio()
            if ratio >= _ALIKE or words <= set(_WORD.findall(label)):
                alike[record] = ratio
        best = sorted(alike, key=alike.__getitem__, reverse=True)
        coded = [one for one in self._every if str(one.code) == value.strip()]
        return [*coded, *best][:_MOST_NAMED]

    @cached_property
    def _every(self) -> list[NamedRecord]:
        return list({one.code: one for group in self.records.values() for one in group}.values())

    @cached_property
    def _words(self) -> Mapping[str, list[NamedRecord]]:
        """The records by the beginnings of the words of their labels."""
        found: defaultdict[str, list[NamedRecord]] = defaultdict(list)
        for record in self._every:
            for start in {w[:_SHORTEST_WORD] for w in _WORD.findall(_folded(record.label))}:
                if len(start) == _SHORTEST_WORD:
                    found[start].append(record)
        return found


_SIMILAR = Text(pt=" Parecidos: {records}.", en=" Alike: {records}.")


CodesOfSheet = Callable[[SheetLink], Mapping[str, str]]
"""Returns the codes that the system gave to the records of another sheet, by a column's values."""


class LinkResolver:
    """Finds the records that linked cells name, in one system at one time.

    ``codes_of_sheet`` tells the codes of records that were sent by another sheet.
    """

    def __init__(
        self, registries: Registries, codes_of_sheet: CodesOfSheet = lambda _link: {}
    ) -> None:
        self._registries = registries
        self._codes_of_sheet = codes_of_sheet
        self._records: dict[tuple[str, tuple[str, ...], Kind, bool], RecordsByName] = {}

    def records(self, link: Link, kind: Kind, values: Iterable[str] = ()) -> RecordsByName:
        """Return the records of a link's registry by their names.

        A few ``values`` are asked for one by one where the interface has a query for them, else
        the listing is read; where it cannot be proven whole, the system is asked for each of them
        that is not in it, if it can be. Raises what ``Client.records`` raises.
        """
        key = link.registry, link.fields, kind, link.has_codes
        values, reference = set(values), REFERENCES[link.registry]
        query = reference.operation.query
        asks_for = () if query is None else query.model_fields
        askable = not link.is_loose and link.fields[0] in asks_for
        known = self._records.get(key)
        if known is None:
            listed = not askable or self._registries.is_listed(reference)
            known = self._read(link, kind) if listed else _nothing_read(link, kind)
        missing = self._missing(known, values)
        if not known.listed and len(known.asked | missing) > _FEW:
            known = self._read(link, kind)
            missing = self._missing(known, values)
        if askable:
            known = self._with_asked(known, missing)
        self._records[key] = known
        return replace(known, link=link)

    def fill_in(self, sheet: ValidatedSheet) -> ValidatedSheet:
        """Return a sheet of a linked resource as one of the resource itself, with the codes.

        A cell that names no record, more than one, or an inactive one is left empty and has a
        finding that is an error; so has a row that repeats another once its names are codes.
        Raises what ``Client.records`` raises.
        """
        resource = sheet.resource
        if resource is None or resource.base is None:
            return sheet
        frame = sheet.frame.copy(deep=False)
        found: list[Finding] = []
        linked = [one for one in resource.columns if one.link or one.sheet_link]
        for column in linked:
            if column.name in frame:
                codes, findings = self._codes(sheet, column, resource.base)
                dtype: Any = resource.base.by_name[column.name].dtype
                frame[column.name] = pd.Series(codes, index=frame.index, dtype=dtype)
                found += findings
        filled = replace(
            sheet,
            resource=resource.base,
            frame=frame,
            findings=list(sheet.findings),
            children={name: self.fill_in(child) for name, child in sheet.children.items()},
        )
        filled.add(found)
        filled.add(list(_repeated(filled, {column.name for column in linked})))
        return filled

    def _missing(self, known: RecordsByName, values: Set[str]) -> set[str]:
        keys = {value: name_keys(known.link, known.kind, value)[0] for value in values}
        return {
            key
            for value, key in keys.items()
            if key not in known.records and not known.is_conclusive_for(value)
        }

    def _with_asked(self, known: RecordsByName, missing: Set[str]) -> RecordsByName:
        reference = REFERENCES[known.link.registry]
        records = dict(known.records)
        for value in sorted(missing):
            found = self._registries.asked(reference, known.link.fields[0], value)
            records |= _by_name(known.link, reference, known.kind, found)
        return replace(known, records=records, asked=known.asked | missing)

    def _codes(
        self, sheet: ValidatedSheet, column: Column, base: Resource
    ) -> tuple[Any, list[Finding]]:
        if column.sheet_link is not None:
            return self._codes_of_rows(sheet, base.by_name[column.name], column.sheet_link)
        if column.link is not None:
            return self._codes_of_names(sheet, column, column.link)
        raise AssertionError(f"{column.name} is not linked")

    def _codes_of_rows(
        self, sheet: ValidatedSheet, column: Column, link: SheetLink
    ) -> tuple[Any, list[Finding]]:
        """Return the codes of the records that cells name by a column of another sheet."""
        cells = values_of(sheet, column.name)
        # The interface's codes begin at 1: 0 says that there is no record.
        known = {_NO_RECORD: _NO_RECORD, **self._codes_of_sheet(link)}
        found = [_code_of_kind(column.kind, known.get(value.strip())) for value in cells.values]
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
            problem = records.problem(value, similar=len(problems) < _MOST_HINTED)
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
        listed = self._registries.listed(reference)
        records = _by_name(link, reference, kind, listed.records)
        return RecordsByName(link, kind, records, listed.complete)


def _code_of_kind(kind: Kind, code: str | None) -> int | str | None:
    """Return a code as a column of a kind has it; None where it cannot be in there."""
    if code is None or kind is not Kind.INTEGER:
        return code
    return int(code) if code.isdecimal() else None


def _nothing_read(link: Link, kind: Kind) -> RecordsByName:
    return RecordsByName(link, kind, whole=False, listed=False)


def _by_name(
    link: Link, reference: Reference, kind: Kind, records: Iterable[Record]
) -> dict[str, list[NamedRecord]]:
    """Return records of a registry by the names that lead to them."""
    found: defaultdict[str, dict[int | str, NamedRecord]] = defaultdict(dict)
    for record in records:
        keys = list(_record_keys(link, reference, kind, record))
        if keys:
            named = named_record(record, reference)
            for key in keys:
                found[key][named.code] = named
    return {key: list(of_key.values()) for key, of_key in found.items()}


def _record_keys(link: Link, reference: Reference, kind: Kind, record: Record) -> Iterator[str]:
    kinds = {name.field: name.kind for name in link.names}
    for name, of_name in kinds.items():
        value = record.get(name)
        if value in (None, ""):
            continue
        if not link.is_loose:
            yield comparable_key(kind, value)
        elif of_name in DOCUMENTS:
            yield bare_document(str(value))
        else:
            yield _folded(str(value))
    if link.has_codes:
        yield _folded(str(record.get(reference.key)))
    if link.is_loose and record.get(reference.label):
        yield _folded(f"{record.get(reference.key)} – {record[reference.label]}")


def _repeated(sheet: ValidatedSheet, linked: Set[str]) -> Iterator[Finding]:
    """Yield the rows that are repeated now that the linked columns have codes."""
    for column, columns in unique_keys(sheet.resource) if sheet.resource else ():
        if linked.isdisjoint(columns) or not set(columns) <= set(sheet.frame):
            continue
        keys = sheet.frame[list(columns)]
        wrong = sheet.rows_in_error((column, *columns))
        places = np.flatnonzero(~wrong & keys.notna().all(axis="columns").to_numpy())
        firsts = places[first_occurrences(keys.iloc[places])] if len(places) else places
        for place, first in zip(places, firsts, strict=True):
            if first < place:
                at = cell_address(sheet.rows[first], sheet.columns.get(column, 0))
                yield sheet.finding("duplicate-in-sheet", column, int(place), {"first": at})
