"""Operations that find, create and change a resource's records in the remote system.

Each structure is the declaration of a block of the schema file. Operations are stored by name and
looked up on use.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, cached_property
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from msgspec import Meta, Struct
from msgspec.structs import replace

from xlbridge.i18n import Text
from xlbridge.resources.models import NOT_IN_FILES, ColumnName, ColumnNames, Name, Names, one_of
from xlbridge.resources.names import fields_called

if TYPE_CHECKING:
    from xlbridge.wire import Operation

__all__ = [
    "ExistingPolicy",
    "Lookup",
    "ReadBack",
    "RecordChange",
    "RecordCreation",
    "RecordToRow",
    "SeparateList",
    "are_fields_of_others",
    "exported_fields",
    "operation_named",
    "record_fields",
]


def operation_if(accepts: "Callable[[Operation], object]") -> Meta:
    """Return the mark of names of operations that a condition accepts."""

    def names() -> list[str]:
        # Late: importing all operations takes a fifth of a second, and validation needs none.
        from xlbridge.wire import OPERATIONS

        return [one.name for one in OPERATIONS.values() if accepts(one)]

    return one_of(names)


_ReadName = Annotated[str, operation_if(lambda one: one.method == "GET")]
_PostName = Annotated[str, operation_if(lambda one: one.method == "POST")]
_ReadNames = Annotated[tuple[_ReadName, ...], Meta(min_length=1)]


class ExistingPolicy(StrEnum):
    """Treatment of a row whose record already exists: refused, replaced, or added again."""

    REFUSED = "refused"
    REPLACED = "replaced"
    ADDED = "added"


class SeparateList(Struct, frozen=True, rename={"operation_name": "operation"}):
    """List of a record that a separate operation returns, with items in another form.

    The path parameters of ``operation_name`` are fields of the record. Each filled one of an item's
    ``fields`` becomes a row.

    operation_name: Lists the items of the record in its path.
    fields: Fields of an item; each filled one becomes a row.
    number: The column for the position of the field, from 1.
    value: The column for the value of the field.
    """

    operation_name: _ReadName
    fields: Names
    number: Name
    value: Name

    def rows(self, items: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return the rows of items, with the items' other fields."""
        return [
            {name: value for name, value in item.items() if name not in self.fields}
            | {self.number: number, self.value: item[field]}
            for item in items
            for number, field in enumerate(self.fields, start=1)
            if item.get(field) is not None
        ]


class Lookup(Struct, frozen=True, rename={"operation_names": "operations", "filters": "filter"}):
    """Query that finds the records of a row.

    It serves rows with a filled key that match ``when``: allowed values of columns, None for an
    empty cell. If the interface does not support an ``assumed`` query, the lookup is ignored.

    key: Columns, with the record's fields.
    filters: Parameters of the query or the path, with columns.
    assumed: The interface may not support this query.
    only: Fields, with the values of the right records.
    counted: Path parameter that counts from 1 until nothing is found.
    may_be_hidden: Records may not show the key; then the other keys alone decide.
    """

    key: Annotated[Mapping[ColumnName, Name], Meta(min_length=1)]
    operation_names: _ReadNames
    filters: Mapping[str, ColumnName] = {}
    when: Mapping[ColumnName, tuple[Any, ...]] = {}
    assumed: bool = False
    only: Mapping[str, Any] = {}
    counted: Name | None = None
    may_be_hidden: bool = False

    @property
    def operations(self) -> "tuple[Operation, ...]":
        """The operations that list the records."""
        return tuple(map(operation_named, self.operation_names))

    def serves(self, row: Mapping[str, Any]) -> bool:
        """Return whether the lookup can find the records of a row."""
        return all(row.get(name) is not None for name in self.key) and self.applies_to(row)

    def applies_to(self, row: Mapping[str, Any]) -> bool:
        """Return whether a row or a record matches ``when``."""
        return all(row.get(name) in allowed for name, allowed in self.when.items())


class ReadBack(
    Struct,
    frozen=True,
    kw_only=True,
    dict=True,
    rename={"not_compared": "apart", "number_operations": "by_number"},
):
    """Rules for finding the rows of a resource in the remote system.

    The ``lookups`` are tried in order, if they serve a row; ``codes`` are the fields of the
    record's code in the remote system; ``columns`` are the resource's.

    not_compared: Columns that a record does not return as sent.
    blank: Columns, with the value of an empty cell.
    blank_as: Columns, with the column whose value an empty cell means.
    number_operations: Operations that list the records, or read one, only by the system's own
        number.
    fields: Columns, with fields of other names in records.
    lists: Lists that a separate operation returns, with items in another form.
    closed_by: Fields that are filled, or true, in records that are settled, closed or cancelled.
    """

    lookups: Annotated[tuple[Lookup, ...], Meta(min_length=1)] = ()
    not_compared: ColumnNames = ()
    blank: Mapping[ColumnName, Any] = {}
    blank_as: Mapping[ColumnName, ColumnName] = {}
    codes: Names = ()
    existing: ExistingPolicy
    number_operations: _ReadNames = ()
    fields: Mapping[ColumnName, Name] = {}
    lists: Mapping[str, SeparateList] = {}
    closed_by: Names = ()
    columns: Annotated[tuple[str, ...], NOT_IN_FILES] = ()

    @property
    def operation_names(self) -> tuple[str, ...]:
        """The operations that list, find or read the records."""
        of_lookups = (name for lookup in self.lookups for name in lookup.operation_names)
        return tuple(dict.fromkeys((*of_lookups, *self.number_operations)))

    @property
    def compare(self) -> tuple[str, ...]:
        """The columns by which a record is compared with its row."""
        lists = list(map(record_fields, self.operation_names))
        return tuple(
            name
            for name in self.columns
            if name not in self.not_compared and all(name in fields for fields in lists)
        )

    def meant(self, row: Mapping[str, Any], column: str) -> Any:
        """Return the value of a row's column, for an empty cell the value that it means."""
        value = row.get(column)
        if value is not None:
            return value
        return self.blank.get(column, row.get(self.blank_as.get(column, "")))

    @property
    def number_columns(self) -> tuple[str, ...]:
        """Columns for the system's own number, which a sheet may have and which are never sent."""
        return tuple(name for name in self.codes if name not in self.columns)

    @cached_property
    def by_number(self) -> Lookup | None:
        """The lookup by the system's own number, None if the sheet has no column for it."""
        if not self.number_columns:
            return None
        key = {name: name for name in self.codes}
        if self.number_operations:
            path = operation_named(self.number_operations[0]).path_parameters
            return Lookup(key, self.number_operations, dict(zip(path, self.codes, strict=False)))
        supported = [lookup for lookup in self.lookups if not lookup.assumed]
        lists = (name for one in supported or self.lookups for name in one.operation_names)
        return Lookup(key, tuple(dict.fromkeys(lists)), assumed=not supported)

    @property
    def all_lookups(self) -> tuple[Lookup, ...]:
        """The lookups, the one by the system's own number first."""
        return self.lookups if self.by_number is None else (self.by_number, *self.lookups)

    def item_columns(self, name: str) -> frozenset[str]:
        """Return the columns of a list's rows that the system returns."""
        if (separate := self.lists.get(name)) is not None:
            return record_fields(separate.operation_name) | {separate.number, separate.value}
        return frozenset().union(*(item_fields(one, name) for one in self.operation_names))

    @property
    def renamed(self) -> tuple[str, ...]:
        """The columns that a record has under another name."""
        keys = chain(self.fields.items(), *(lookup.key.items() for lookup in self.lookups))
        return tuple(dict.fromkeys(column for column, name in keys if column != name))

    def joined_codes(self, record: Mapping[str, Any]) -> str | None:
        """Return the codes of a record as one text, the key that joins it to its lists; None if
        one is missing."""
        codes = [record.get(name) for name in self.codes]
        return None if None in codes else "/".join(map(str, codes))

    @property
    def as_row(self) -> "RecordToRow":
        """The conversion of a record into a row of the sheet."""
        same_name = tuple(name for name in self.columns if name not in self.renamed)
        return RecordToRow(same_name, self.renamed, self.lookups, self.fields)


class RecordChange(
    Struct,
    frozen=True,
    rename={"operation_name": "operation", "read_name": "read", "delete_name": "delete"},
):
    """Operations of the interface that change an existing record.

    Either an operation changes one record, or the import replaces it. If there is an operation that
    reads, the change replaces the whole record.

    operation_name: Changes one record.
    read_name: Reads one record by its own number, or lists all.
    delete_name: Removes one record by its own number.
    by_import: Importing a record again replaces it.
    columns: The columns that can be changed; by default all.
    not_listed: Listings whose records cannot be changed.
    until: Fields that make a record unchangeable once one is filled.
    """

    operation_name: Annotated[
        str | None, operation_if(lambda one: one.method in {"PUT", "POST"})
    ] = None
    read_name: Annotated[str | None, operation_if(lambda one: one.method == "GET")] = None
    delete_name: Annotated[str | None, operation_if(lambda one: one.method == "DELETE")] = None
    by_import: Annotated[bool, one_of(lambda: [True])] = False
    columns: Names = ()
    not_listed: Names = ()
    until: Names = ()

    @property
    def operation(self) -> "Operation":
        """The operation that changes one record. Raises ``KeyError`` if the import does it."""
        return operation_named(self.operation_name or "")

    def can_empty(self, column: str) -> bool:
        """Return whether a field of a record can be emptied."""
        if self.operation_name is None:
            return True
        body = self.operation.body
        field = None if body is None else body.model_fields.get(column)
        return field is not None and not field.is_required()

    def covers(self, columns: Iterable[str]) -> bool:
        """Return whether columns of a record can be changed, unless it is final."""
        return not self.columns or set(columns) <= set(self.columns)


@dataclass(frozen=True, slots=True)
class RecordToRow:
    """Conversion of a record into a row.

    ``same_name``: columns with the name of their field; ``renamed``: all others, of which
    ``fields`` maps those with the same field in every record.
    """

    same_name: tuple[str, ...]
    renamed: tuple[str, ...]
    lookups: tuple[Lookup, ...]
    fields: Mapping[str, str]

    def __call__(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Return the row of a record; keys of lookups are only filled if the lookup applies."""
        row = {name: record.get(name) for name in self.same_name} | dict.fromkeys(self.renamed)
        return row | {column: record.get(field) for column, field in self._renamed(record)}

    def renamed_fields(self, record: Mapping[str, Any]) -> set[str]:
        """Return the fields of a record whose columns have other names."""
        return {field for _, field in self._renamed(record)}

    def sources(self, column: str) -> list[str]:
        """Return the fields of a record that decide the value of a renamed column, its own first.

        The others may be empty.
        """
        found = [self.fields[column]] if column in self.fields else []
        for lookup in self.lookups:
            if lookup.key.get(column, column) != column:
                found += [lookup.key[column], *lookup.when]
        return list(dict.fromkeys(found))

    def _renamed(self, record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        yield from self.fields.items()
        for lookup in self.lookups:
            if lookup.applies_to(record):
                pairs = lookup.key.items()
                yield from ((c, f) for c, f in pairs if c in self.renamed and c != f)


class RecordCreation(Struct, frozen=True, rename={"operation_name": "operation"}):
    """Operation of the interface that creates one record from a row.

    Records found by ``identical`` are only counted. By default ``codes`` are those of the
    read-back, and ``identical_codes`` the same.

    codes: Fields of the answer with the record's code.
    identical: Finds records that are equal to a row without a key.
    identical_codes: Fields of those records with their codes.
    lists: Lists whose items are created by separate operations after the record.
    """

    operation_name: Annotated[
        str, operation_if(lambda one: one.method == "POST" and one.body is not None)
    ]
    codes: Names = ()
    identical: Lookup | None = None
    identical_codes: Names = ()
    lists: Mapping[str, tuple[_PostName, ...]] = {}

    def with_codes(self, codes: tuple[str, ...]) -> "RecordCreation":
        """Return the creation with these codes by default."""
        codes = self.codes or codes
        return replace(self, codes=codes, identical_codes=self.identical_codes or codes)

    @property
    def operation_names(self) -> tuple[str, ...]:
        """The operations that create a record and its lists."""
        return (self.operation_name, *chain.from_iterable(self.lists.values()))

    @property
    def operation(self) -> "Operation":
        """The operation that creates one record."""
        return operation_named(self.operation_name)


class Mode(StrEnum):
    """Mode of an upload, which names its channel; in ``auto``'s order of preference."""

    QUEUE = "queue"
    DIRECT = "direct"
    PREVIEW = "preview"
    RECORDS = "records"
    UNDO = "undo"
    PROCESS = "process"

    @property
    def channel(self) -> "Channel":
        """Channel of the mode."""
        return _CHANNELS[self]


class Channel(NamedTuple):
    """Channel by which rows are written: its name, and why ``auto`` chooses it, if it may.

    ``by_record``: each record is written by a request of its own and proven by reading it, instead
    of a file with many rows; ``is_queued``: a file's log proves what became of it. ``is_task``: the
    job changes records instead of sending the rows of a sheet; ``of_listing``: it is not the sheet
    of a resource that names them. ``writes`` is False if nothing is written.
    """

    name: Text
    auto_reason: Text | None = None
    by_record: bool = False
    is_queued: bool = False
    is_task: bool = False
    of_listing: bool = False
    writes: bool = True


_CHANNELS: Mapping[Mode, Channel] = {
    Mode.QUEUE: Channel(
        Text(pt="fila", en="queue"),
        Text(
            pt="fila: o resultado pode ser conferido pelo log",
            en="queue: the outcome can be checked in the log",
        ),
        is_queued=True,
    ),
    Mode.DIRECT: Channel(
        Text(pt="direto", en="direct"),
        Text(pt="direto: este recurso não tem fila", en="direct: this resource has no queue"),
    ),
    Mode.PREVIEW: Channel(Text(pt="prévia", en="preview"), writes=False),
    Mode.RECORDS: Channel(
        Text(pt="um a um", en="one by one"),
        Text(
            pt="registro a registro: este recurso não tem importação",
            en="record by record: this resource has no import",
        ),
        by_record=True,
    ),
    Mode.UNDO: Channel(Text(pt="desfazer", en="undo"), by_record=True, is_task=True),
    Mode.PROCESS: Channel(
        Text(pt="processar", en="process"), by_record=True, is_task=True, of_listing=True
    ),
}


_Import = operation_if(lambda operation: operation.upload)


class ImportPaths(Struct, frozen=True, rename={"direct_name": "direct", "queue_name": "queue"}):
    """Operations that import a resource's sheets, none without a ``direct_name``.

    needs_processar: A queued file is processed after a call of processar-arquivo.
    """

    direct_name: Annotated[str | None, _Import]
    queue_name: Annotated[str | None, _Import] = None
    needs_processar: bool = False

    @property
    def direct(self) -> "Operation":
        """The operation that imports a sheet at once, and answers previews.

        Raises ``KeyError`` if there is none.
        """
        return operation_named(self.direct_name or "")

    @property
    def queue(self) -> "Operation":
        """The operation that queues a sheet. Raises ``KeyError`` if there is none."""
        return operation_named(self.queue_name or "")

    @property
    def modes(self) -> tuple[Mode, ...]:
        """The modes that the resource can be sent in."""
        direct = (Mode.DIRECT, Mode.PREVIEW) if self.direct_name else ()
        return (*direct, Mode.QUEUE) if self.queue_name else direct


NO_IMPORT = ImportPaths(None)


def operation_named(name: str) -> "Operation":
    """Return the operation with a name. Raises ``KeyError`` if there is none."""
    # Late: importing all operations takes a fifth of a second, and validation needs none.
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
    list_field = None if record is None else record.model_fields.get(sheet)
    item = None if list_field is None else record_model(list_field.annotation)
    return frozenset(item.model_fields if item else ())


def are_fields_of_others(names: Set[str], columns: Set[str], operations: Iterable[str]) -> bool:
    """Return whether another kind of record has more of the names as fields than a resource with
    the given ``columns``, whose records ``operations`` return."""
    operations = list(operations)
    known = len(names & {*columns, *chain.from_iterable(map(record_fields, operations))})
    own_kinds = frozenset().union(*(field_sets(operation_named(one).data) for one in operations))
    return any(len(names & fields) > known for fields in _all_field_sets() - own_kinds)


def exported_fields(header: Iterable[str]) -> Mapping[str, str]:
    """Return the fields that the header of an exported sheet names by their titles, by header.

    A title of several fields is that of the kind of record with most of the titles and fewest other
    fields; nothing if other texts are as many as titles.
    """
    texts = list(header)
    named = {text: names for text in texts if (names := fields_called(text))}
    within = {text: text.partition(": ") for text in texts if text not in named}
    joined_fields = {
        text: f"{sheet}.{min(names)}"
        for text, (sheet, _, title) in within.items()
        if title and (names := fields_called(title))
    }
    if len(named) + len(joined_fields) <= len(texts) / 2:
        return {}
    fields: frozenset[str] = max(
        _all_field_sets(),
        key=lambda fields: (
            sum(not fields.isdisjoint(names) for names in named.values()),
            -len(fields),
        ),
    )
    return joined_fields | {text: min(names & fields or names) for text, names in named.items()}


@cache
def _all_field_sets() -> frozenset[frozenset[str]]:
    """Return the fields of all kinds of records, and of items of their lists, that the system
    returns."""
    from xlbridge.wire import OPERATIONS

    return frozenset().union(*(field_sets(one.data) for one in OPERATIONS.values()))


def field_sets(data: Any, parents: frozenset[str] = frozenset()) -> frozenset[frozenset[str]]:
    """Return the fields of the records in an answer or a request, and of the items of their lists,
    each with those of their parents."""
    from xlbridge.wire import record_model

    model = record_model(data)
    if model is None:
        return frozenset()
    fields = parents | frozenset(model.model_fields)
    items = (field_sets(field.annotation, fields) for field in model.model_fields.values())
    return frozenset({fields}).union(*items)
