"""Records that the rows of workbooks refer to, and stand-ins for those that a database lacks."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from xlbridge.resources import Kind, Resource
from xlbridge.resources.references import REFERENCES, Link, LinkName, key_fields, registry_named
from xlbridge.sandbox.rehearsal import CODE_COLUMNS, StandIns, own_code, table_name_of
from xlbridge.sandbox.storage import Storage
from xlbridge.upload.lookup import comparable_key, name_keys
from xlbridge.validation import ValidatedSheet


@dataclass(slots=True)
class RequiredRecords:
    """Records that the rows of sheets refer to, without those that the sheets create themselves."""

    _rows: list[tuple[Resource, Resource, list[dict[str, Any]]]] = field(default_factory=list)
    _linked: dict[tuple[str, str], Link] = field(default_factory=dict)
    _provided_names: set[tuple[str, str, str]] = field(default_factory=set)
    _provided_codes: defaultdict[str, set[object]] = field(default_factory=lambda: defaultdict(set))

    def add(self, sheet: ValidatedSheet) -> None:
        """Add the records of a sheet and its child sheets."""
        record = sheet.resource
        if record is None:
            return
        for part in sheet.with_children:
            if part.resource is not None:
                self._rows.append(
                    (part.resource, record, list(_distinct_rows(part, part.resource)))
                )
                for column in part.resource.columns:
                    if column.link is not None:
                        for value in part.frame[column.name].dropna().unique():
                            self._linked[column.link.registry, str(value)] = column.link
        self._add_provided(sheet, record)

    def _add_provided(self, sheet: ValidatedSheet, resource: Resource) -> None:
        code = own_code(resource)
        if code is not None:
            codes = sheet.frame[code].dropna().unique().tolist()
            self._provided_codes[table_name_of(resource)].update(codes)
        registry = registry_named(resource.name)
        if registry is None:
            return
        plain = resource.base or resource
        for name in {*key_fields(plain), REFERENCES[registry].label} & plain.by_name.keys():
            kind = plain.by_name[name].kind
            for value in sheet.frame[name].dropna().unique():
                key = comparable_key(kind, value).casefold()
                self._provided_names.add((registry, name, key))

    def create_missing(self, storage: Storage) -> Counter[str]:
        """Create the records that a database lacks; return how many, by table."""
        with storage.transaction(writing=True) as connection:
            now = datetime.now().replace(microsecond=0)
            stand_ins = StandIns(connection, now, self._provided_codes)
            for resource, record, rows in self._rows:
                for row in rows:
                    stand_ins.create_for_row(resource, row, record)
            for (registry, value), link in sorted(self._linked.items(), key=lambda item: item[0]):
                if not self._is_provided(link, value):
                    name = _name_of(link, value)
                    key = comparable_key(name.kind, value)
                    stand_ins.create_by_name(registry, link.fields, name.field, key)
            stand_ins.advance_counters()
        return stand_ins.counts

    def _is_provided(self, link: Link, value: str) -> bool:
        """Return whether a sheet brings a record with one of the names that a value may be."""
        return any(
            (link.registry, name.column, key.casefold()) in self._provided_names
            for name in link.names
            for key in (comparable_key(name.kind, value), *name_keys(link, name.kind, value))
        )


def _distinct_rows(sheet: ValidatedSheet, resource: Resource) -> Iterator[dict[str, Any]]:
    """Yield the distinct values of the columns whose codes must exist."""
    names = [
        column.name
        for column in resource.columns
        if column.references is not None
        or (column.name in CODE_COLUMNS and column.link is None and column.sheet_link is None)
    ]
    for _, row in sheet.frame[names].drop_duplicates().iterrows():
        yield {
            str(name): value.item() if hasattr(value, "item") else value
            for name, value in row.dropna().items()
        }


def _name_of(link: Link, value: str) -> LinkName:
    """Return the kind of name that a value is: a document, or else a text."""
    is_document = len(name_keys(link, Kind.TEXT, value)) > 1
    wanted = {Kind.CNPJ, Kind.CPF} if is_document else {Kind.TEXT}
    fitting = (name for name in link.names if name.kind in wanted)
    return next(fitting, link.names[0]) if link.is_loose else link.names[0]
