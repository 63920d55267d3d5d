"""Operations by which records of a resource are found, created and changed in the remote system.

Each class mirrors a block of the schema file. Operations are kept by name and looked up when they
are used.
"""

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache, cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xlbridge.wire import Operation


class ExistingPolicy(StrEnum):
    """Treatment of a row whose record already exists: refused, replaced, or added again."""

    REFUSED = "refused"
    REPLACED = "replaced"
    ADDED = "added"


@dataclass(frozen=True, slots=True)
class SeparateList:
    """List of a record that an operation of its own lists, its items in another form.

    The path of ``operation_name`` names the record by fields of the same names. An item has a row
    for each of ``fields`` that is filled: the column ``value`` takes what it holds, ``number`` its
    place, from 1.
    """

    operation_name: str
    number: str
    value: str
    fields: tuple[str, ...]

    @classmethod
    def of(cls, stated: Mapping[str, Any]) -> "SeparateList":
        """Return the list that an item of the block ``lists`` of a schema file states."""
        operation, fields = stated["operation"], tuple(stated["fields"])
        return cls(operation, stated["number"], stated["value"], fields)

    def rows(self, items: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return the rows of items, with what else these tell."""
        return [
            {name: told for name, told in item.items() if name not in self.fields}
            | {self.number: number, self.value: item[field]}
            for item in items
            for number, field in enumerate(self.fields, start=1)
            if item.get(field) is not None
        ]


@dataclass(frozen=True, slots=True)
class Lookup:
    """Query that finds the records of a row.

    ``key`` maps the sheet's columns that identify a record to the record's fields. It serves the
    rows in which all of them are filled and ``when`` holds (column to allowed values, None for an
    empty cell). ``operation_names`` are the operations that list the records; ``filters`` maps
    fields of their query, or parameters of their path, to columns. ``assumed`` says that the
    interface may not answer the query at all: then the lookup counts as none. ``only`` are values
    of the records that are meant, where the operations list others, too. ``counted`` is a parameter
    of the path that counts from 1 until nothing is found.
    """

    key: Mapping[str, str]
    operation_names: tuple[str, ...]
    filters: Mapping[str, str] = field(default_factory=dict)
    when: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    assumed: bool = False
    only: Mapping[str, Any] = field(default_factory=dict)
    counted: str | None = None

    @property
    def operations(self) -> "tuple[Operation, ...]":
        """The operations that list the records."""
        return tuple(map(operation_named, self.operation_names))

    def serves(self, row: Mapping[str, Any]) -> bool:
        """Tell whether the records of a row can be found by it."""
        return all(row.get(name) is not None for name in self.key) and self.is_meant_for(row)

    def is_meant_for(self, row: Mapping[str, Any]) -> bool:
        """Tell whether ``when`` holds for a row or a record."""
        return all(row.get(name) in allowed for name, allowed in self.when.items())


@dataclass(frozen=True)
class ReadBack:
    """Rules for finding the rows of a resource again in the remote system.

    The ``lookups`` that serve a row are tried in their order. Of ``columns``, the resource's own,
    ``not_compared`` are those that the remote system does not show as they were sent. ``codes``
    are the record's fields that make up its code in the remote system. ``blank`` maps columns to
    the value that an empty cell means, ``blank_as`` to the column whose value it means.
    ``number_operations`` list the records, or read one by its codes, where no key but the system's
    own number tells them apart. ``fields`` maps columns to the fields that records name otherwise.
    ``lists`` are the lists that records do not carry, by their names.
    """

    lookups: tuple[Lookup, ...]
    columns: tuple[str, ...]
    codes: tuple[str, ...]
    existing: ExistingPolicy
    not_compared: tuple[str, ...] = ()
    blank: Mapping[str, Any] = field(default_factory=dict)
    blank_as: Mapping[str, str] = field(default_factory=dict)
    number_operations: tuple[str, ...] = ()
    fields: Mapping[str, str] = field(default_factory=dict)
    lists: Mapping[str, SeparateList] = field(default_factory=dict)

    @property
    def operation_names(self) -> tuple[str, ...]:
        """The operations that list, find or read the records."""
        of_lookups = (name for way in self.lookups for name in way.operation_names)
        return tuple(dict.fromkeys((*of_lookups, *self.number_operations)))

    @property
    def compare(self) -> tuple[str, ...]:
        """The columns that a record has too, by which it is compared with its row."""
        lists = list(map(record_fields, self.operation_names))
        return tuple(
            name
            for name in self.columns
            if name not in self.not_compared and all(name in fields for fields in lists)
        )

    def meant(self, row: Mapping[str, Any], column: str) -> Any:
        """Return the value that a row gives a column: of an empty cell, what it stands for."""
        value = row.get(column)
        if value is not None:
            return value
        return self.blank.get(column, row.get(self.blank_as.get(column, "")))

    @property
    def number_columns(self) -> tuple[str, ...]:
        """The columns in which a sheet may carry the system's own number; they are never sent."""
        return tuple(name for name in self.codes if name not in self.columns)

    @cached_property
    def by_number(self) -> Lookup | None:
        """The lookup by the system's own number, None where the sheet has no column for it."""
        if not self.number_columns:
            return None
        key = {name: name for name in self.codes}
        if self.number_operations:
            path = operation_named(self.number_operations[0]).path_parameters
            return Lookup(key, self.number_operations, dict(zip(path, self.codes, strict=False)))
        promised = [way for way in self.lookups if not way.assumed]
        lists = (name for way in promised or self.lookups for name in way.operation_names)
        return Lookup(key, tuple(dict.fromkeys(lists)), assumed=not promised)

    def item_columns(self, name: str) -> frozenset[str]:
        """Return the columns of a list's rows that the system shows."""
        if (apart := self.lists.get(name)) is not None:
            return record_fields(apart.operation_name) | {apart.number, apart.value}
        return frozenset().union(*(item_fields(one, name) for one in self.operation_names))

    @property
    def renamed(self) -> tuple[str, ...]:
        """The columns that a record has under another name."""
        keys = chain(self.fields.items(), *(lookup.key.items() for lookup in self.lookups))
        return tuple(dict.fromkeys(column for column, of_record in keys if column != of_record))

    @property
    def as_row(self) -> "RecordToRow":
        """The conversion of a record into a row of the sheet."""
        own = tuple(name for name in self.columns if name not in self.renamed)
        return RecordToRow(own, self.renamed, self.lookups, self.fields)


@dataclass(frozen=True, slots=True)
class RecordChange:
    """Change of a record that is there, as far as the interface has one.

    ``operation_name`` changes one record, ``read_name`` reads it by its own number,
    ``delete_name`` removes it; without an operation the import replaces records. An operation that
    reads replaces the whole record. ``columns`` are those that can be changed, all of them where it
    is empty. Records that a listing of ``not_listed`` holds cannot be changed, nor can those that
    have one of the fields of ``until``.
    """

    operation_name: str | None
    read_name: str | None = None
    delete_name: str | None = None
    columns: tuple[str, ...] = ()
    not_listed: tuple[str, ...] = ()
    until: tuple[str, ...] = ()

    @property
    def by_import(self) -> bool:
        """True where importing a record again replaces it."""
        return self.operation_name is None

    @property
    def operation(self) -> "Operation":
        """The operation that changes one record. Raises ``KeyError`` where the import does."""
        return operation_named(self.operation_name or "")

    def can_empty(self, column: str) -> bool:
        """Tell whether a field of a record can be emptied."""
        if self.operation_name is None:
            return True
        body = self.operation.body
        field = None if body is None else body.model_fields.get(column)
        return field is not None and not field.is_required()

    def covers(self, listing: str, columns: Iterable[str]) -> bool:
        """Tell whether columns of a record that ``listing`` holds can be changed."""
        return listing not in self.not_listed and (
            not self.columns or set(columns) <= set(self.columns)
        )


@dataclass(frozen=True, slots=True)
class RecordToRow:
    """Conversion of a record into a row; ``own`` are the columns that a record names alike.

    ``fields`` maps columns to the fields that every record has under another name.
    """

    own: tuple[str, ...]
    renamed: tuple[str, ...]
    lookups: tuple[Lookup, ...]
    fields: Mapping[str, str]

    def __call__(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Return the row of a record; each key's column is filled where its ``when`` holds."""
        row = {name: record.get(name) for name in self.own} | dict.fromkeys(self.renamed)
        return row | {c: record.get(f) for c, f in self._filled_by(record)}

    def renamed_fields(self, record: Mapping[str, Any]) -> set[str]:
        """Return the fields of a record that columns of another name are filled from."""
        return {of_record for _, of_record in self._filled_by(record)}

    def _filled_by(self, record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        yield from self.fields.items()
        for lookup in self.lookups:
            if lookup.is_meant_for(record):
                pairs = lookup.key.items()
                yield from ((c, f) for c, f in pairs if c in self.renamed and c != f)


@dataclass(frozen=True, slots=True)
class RecordCreation:
    """Operation of the interface that creates one record from a row.

    ``codes`` are the fields of its answer that make up the record's code. ``twins`` finds the
    records that are equal to a row which has no key: they identify nothing, and are counted;
    ``twin_codes`` are their fields that make up the code. ``lists`` are the record's lists that
    operations of their own take once it is created, by the names of these.
    """

    operation_name: str
    codes: tuple[str, ...] = ()
    twins: Lookup | None = None
    twin_codes: tuple[str, ...] = ()
    lists: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def operation_names(self) -> tuple[str, ...]:
        """The operations that create a record and take its lists."""
        return (self.operation_name, *chain.from_iterable(self.lists.values()))

    @property
    def operation(self) -> "Operation":
        """The operation that creates one record."""
        return operation_named(self.operation_name)


def operation_named(name: str) -> "Operation":
    """Return the operation of that name. Raises ``KeyError`` when there is none."""
    # All operations take a fifth of a second to import, and judging a sheet needs none.
    from xlbridge.wire import OPERATIONS

    return OPERATIONS[name]


@cache
def record_fields(name: str) -> frozenset[str]:
    """Return the fields of the records that an operation lists or finds."""
    from xlbridge.wire import record_model

    model = record_model(operation_named(name).data)
    return frozenset(model.model_fields if model else ())


@cache
def item_fields(name: str, sheet: str) -> frozenset[str]:
    """Return the fields of the items in a list of the records that an operation lists or finds."""
    from xlbridge.wire import record_model

    record = record_model(operation_named(name).data)
    of_list = None if record is None else record.model_fields.get(sheet)
    item = None if of_list is None else record_model(of_list.annotation)
    return frozenset(item.model_fields if item else ())


def are_fields_of_others(names: Set[str], own: Set[str], operations: Iterable[str]) -> bool:
    """Tell whether more of the names are fields of another kind of record than of one's own.

    ``own`` are the columns of a resource, whose records ``operations`` show. Rows of a list stand
    with what tells their record.
    """
    operations = list(operations)
    known = len(names & {*own, *chain.from_iterable(map(record_fields, operations))})
    shown = frozenset().union(*(_fields_of(operation_named(one).data) for one in operations))
    return any(len(names & fields) > known for fields in _shown_fields() - shown)


@cache
def _shown_fields() -> frozenset[frozenset[str]]:
    """Return the fields of each kind of record, and of item of its lists, that the system shows."""
    from xlbridge.wire import OPERATIONS

    return frozenset().union(*(_fields_of(one.data) for one in OPERATIONS.values()))


def _fields_of(data: Any, above: frozenset[str] = frozenset()) -> frozenset[frozenset[str]]:
    """Return the fields of the records in an answer, and of the items of their lists, each with
    those of what holds it."""
    from xlbridge.wire import record_model

    model = record_model(data)
    if model is None:
        return frozenset()
    fields = above | frozenset(model.model_fields)
    items = (_fields_of(field.annotation, fields) for field in model.model_fields.values())
    return frozenset({fields}).union(*items)
