"""Codes of the records that linked cells name, once the records are in the system."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from xlbridge.client import Record
from xlbridge.errors import TransportError
from xlbridge.i18n import Text
from xlbridge.resources import REFERENCES, Column, Kind, Link, Reference
from xlbridge.resources.checks import bare_document
from xlbridge.resources.findings import Finding
from xlbridge.upload.lookup import Registries
from xlbridge.validation import ValidatedSheet
from xlbridge.validation.cross_sheet import values_of

_DOCUMENT_KINDS = frozenset({Kind.CNPJ, Kind.CPF})


@dataclass(frozen=True, slots=True)
class RecordCode:
    """Code of a record that a value names, and whether the record is active."""

    code: int | str
    active: bool


@dataclass(frozen=True, slots=True)
class ReferenceProblem:
    """Problem of a value that leads to no code: the code of a finding, and its details."""

    code: str
    details: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class RecordsByKey:
    """Records of a registry by one of their keys.

    With ``whole`` there are no others; for the values in ``asked`` the system was queried.
    """

    link: Link
    records: Mapping[str, list[RecordCode]] = field(default_factory=dict)
    whole: bool = True
    asked: Set[str] = frozenset()

    def is_conclusive_for(self, value: str) -> bool:
        """Return whether a value without a record here has none in the system."""
        return self.whole or value in self.asked

    def code(self, value: str) -> int | str:
        """Return the code of the one record that a value names."""
        (record,) = self.records[value]
        return record.code

    def problem(self, value: str) -> ReferenceProblem | None:
        """Return the problem of a value that names no usable record, None where it names one."""
        found = self.records.get(value, [])
        registry = REFERENCES[self.link.registry].title
        if len(found) > 1:
            return ambiguous_link(self.link, [str(record.code) for record in found])
        if found:
            inactive = ReferenceProblem("reference-inactive", {"registry": registry})
            return None if found[0].active else inactive
        code = "link-unknown" if self.is_conclusive_for(value) else "link-unproven"
        return ReferenceProblem(code, {"by": self.link.column, "registry": registry})


def comparable_key(kind: Kind, value: object) -> str:
    """Return a value as records are named by it: documents without their mask, texts trimmed."""
    text = str(value)
    return bare_document(text) if kind in _DOCUMENT_KINDS else text.strip()


def ambiguous_link(link: Link, records: list[str]) -> ReferenceProblem:
    """Return the problem of a value that names more than one record."""
    return ReferenceProblem("link-ambiguous", {"by": link.column, "records": ", ".join(records)})


class LinkResolver:
    """Finds the records that linked cells name, in one system at one time."""

    def __init__(self, registries: Registries) -> None:
        self._registries = registries
        self._records: dict[tuple[str, str, Kind], RecordsByKey] = {}

    def records(self, link: Link, kind: Kind, values: Iterable[str] = ()) -> RecordsByKey:
        """Return the records of a link's registry by the values of its field.

        Where the listing cannot be proven whole, the system is asked for each of the ``values``
        that is not in it, if it can be. Raises what ``Client.records`` raises.
        """
        key = link.registry, link.field, kind
        if key not in self._records:
            self._records[key] = self._read(link, kind)
        known = self._records[key]
        query = REFERENCES[link.registry].operation.query
        if not known.whole and query is not None and link.field in query.model_fields:
            missing = {
                v for v in values if v not in known.records and not known.is_conclusive_for(v)
            }
            self._records[key] = self._with_asked(known, kind, missing)
        return replace(self._records[key], link=link)

    def _with_asked(self, known: RecordsByKey, kind: Kind, values: Set[str]) -> RecordsByKey:
        reference = REFERENCES[known.link.registry]
        records = dict(known.records)
        for value in values:
            found = self._registries.asked(reference, known.link.field, value)
            records |= _codes_by_key(known.link, reference, kind, found)
        return replace(known, records=records, asked=known.asked | values)

    def fill_in(self, sheet: ValidatedSheet) -> ValidatedSheet:
        """Return a sheet of a linked resource as one of the resource itself, with the codes.

        A cell that names no record, more than one, or an inactive one is left empty and has a
        finding that is an error. Raises what ``Client.records`` raises.
        """
        resource = sheet.resource
        if resource is None or resource.base is None:
            return sheet
        frame = sheet.frame.copy(deep=False)
        found: list[Finding] = []
        for column in resource.columns:
            if column.link is not None:
                codes, findings = self._codes(sheet, column, column.link)
                dtype: Any = resource.base.by_name[column.name].dtype
                frame[column.name] = pd.Series(codes, index=frame.index, dtype=dtype)
                found += findings
        filled = replace(sheet, resource=resource.base, frame=frame, findings=list(sheet.findings))
        filled.add(found)
        return filled

    def _codes(
        self, sheet: ValidatedSheet, column: Column, link: Link
    ) -> tuple[Any, list[Finding]]:
        cells = values_of(sheet, column.name)
        values = [comparable_key(column.kind, value) for value in cells.values]
        records = self.records(link, column.kind, values)
        problems = {
            n: problem for n, value in enumerate(values) if (problem := records.problem(value))
        }
        codes = np.full(len(sheet.rows), None, dtype=object)
        found = [None if n in problems else records.code(value) for n, value in enumerate(values)]
        codes[cells.positions] = np.array(found, dtype=object)[cells.which]
        return codes, [
            sheet.finding(problems[n].code, column.name, position, problems[n].details)
            for position, n in cells.cells(problems)
        ]

    def _read(self, link: Link, kind: Kind) -> RecordsByKey:
        reference = REFERENCES[link.registry]
        listed = self._registries.listed(reference)
        return RecordsByKey(
            link, _codes_by_key(link, reference, kind, listed.records), listed.complete
        )


def _codes_by_key(
    link: Link, reference: Reference, kind: Kind, records: Iterable[Record]
) -> dict[str, list[RecordCode]]:
    """Return records of a registry by the values that name them."""
    found: defaultdict[str, list[RecordCode]] = defaultdict(list)
    for record in records:
        value = record.get(link.field)
        if value not in (None, ""):
            active = reference.active is None or bool(record.get(reference.active, True))
            found[comparable_key(kind, value)].append(
                RecordCode(_code_of(record, reference), active)
            )
    return dict(found)


def _code_of(record: Record, reference: Reference) -> int | str:
    code = record.get(reference.key)
    if isinstance(code, int | str):
        return code
    raise TransportError(
        Text(
            pt="{registry}: o campo {field} veio como {value}, e não é um código.",
            en="{registry}: the field {field} came as {value}, which is no code.",
        ).format(registry=reference.title, field=reference.key, value=repr(code)[:40])
    )
