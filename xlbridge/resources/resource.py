"""Model of an importable resource: columns, rules, import paths, control totals, lists, layouts.

Each class mirrors a block of the schema file.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from xlbridge.i18n import Text
from xlbridge.resources.column import Column, Kind, columns_by_header
from xlbridge.resources.remote.records import (
    ReadBack,
    RecordChange,
    RecordCreation,
    operation_named,
)

if TYPE_CHECKING:
    from xlbridge.wire import Operation, WireModel

KEY = "chave"
"""Column that joins a child sheet to its main sheet; it is not sent and identifies nothing."""

_TITLE = Text(pt="Chave", en="Key")
_IN_MAIN = "Chave da linha, escolhida por quem preenche; não se repete e não é enviada."
_IN_CHILD = "Chave da linha da planilha principal a que esta pertence; não é enviada."
_LONGEST = 60


@dataclass(frozen=True, slots=True)
class ChildSum:
    """Sum of a column of a record's rows in a child sheet, which must fit the record.

    It equals ``number``, the record's column ``total``, or the sum over the rows in the sheet
    ``factors_in`` of the product of ``factors``; the last is not judged where a row lacks one of
    them or has any of the columns ``unless``, which change its price.
    """

    sheet: str
    column: str
    number: float | None = None
    total: str | None = None
    factors_in: str = ""
    factors: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()

    @classmethod
    def of(cls, stated: Mapping[str, Any]) -> "ChildSum":
        """Return the sum that an item of the block ``sums`` of a schema file states."""
        product = stated.get("product", {})
        return cls(
            stated["sheet"],
            stated["column"],
            stated.get("number"),
            stated.get("total"),
            product.get("sheet", ""),
            tuple(product.get("columns", ())),
            tuple(product.get("unless", ())),
        )


def key_of_main(*, required: bool) -> Column:
    """Return the key's column of a main sheet."""
    checks = {**_length(), "no_repeats": {}}
    return Column(KEY, Kind.TEXT, required, _TITLE, _IN_MAIN, example="A-1", checks=checks)


def key_of_child() -> Column:
    """Return the key's column of a child sheet."""
    return Column(KEY, Kind.TEXT, True, _TITLE, _IN_CHILD, example="A-1", checks=_length())


def _length() -> dict[str, Mapping[str, Any]]:
    return {"str_length": {"min_value": 1, "max_value": _LONGEST}}


def sums_of(stated: Sequence[Mapping[str, Any]]) -> tuple[ChildSum, ...]:
    """Return the sums that the block ``sums`` of a schema file states."""
    return tuple(map(ChildSum.of, stated))


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Mark by which a filled template is recognised, written ``name:layout:digest``.

    The digest covers the columns' names, kinds and obligation, so that a change of them is
    noticed although the layout's number was not raised. ``listed`` are the columns in which the
    template offers records of registries; where there are any, they are written behind the digest.
    """

    resource: str
    layout: int
    digest: str
    listed: tuple[str, ...] = ()

    @classmethod
    def of(cls, resource: str, layout: int, columns: Iterable[tuple[str, str, bool]]) -> Self:
        """Return the fingerprint of columns, each given by name, kind and obligation."""
        shape = json.dumps([list(column) for column in columns])
        return cls(resource, layout, hashlib.sha256(shape.encode()).hexdigest()[:12])

    @classmethod
    def parse(cls, text: str | None) -> Self | None:
        """Return the fingerprint that a text is, None where it is not one."""
        resource, _, rest = (text or "").partition(":")
        layout, _, digest = rest.partition(":")
        digest, _, listed = digest.partition(":")
        columns = tuple(filter(None, listed.split(",")))
        is_one = layout.isdecimal() and bool(digest)
        return cls(resource, int(layout), digest, columns) if is_one else None

    def __str__(self) -> str:
        own = f"{self.resource}:{self.layout}:{self.digest}"
        return f"{own}:{','.join(self.listed)}" if self.listed else own


@dataclass(frozen=True, slots=True)
class LayoutChange:
    """Changes of the layout after ``layout``: columns renamed (old to new) and removed."""

    layout: int
    renamed: Mapping[str, str] = field(default_factory=dict)
    removed: tuple[str, ...] = ()


def layout_changes(stated: Mapping[str, Mapping[str, Any]]) -> tuple[LayoutChange, ...]:
    """Return the changes that the block ``layouts`` of a schema file states, in its order."""
    return tuple(
        LayoutChange(int(layout), change.get("renamed", {}), tuple(change.get("removed", ())))
        for layout, change in stated.items()
    )


def column_changes_since(changes: Iterable[LayoutChange], layout: int) -> dict[str, str | None]:
    """Return today's name of each changed column of a layout, None for a removed one."""
    names: dict[str, str | None] = {}
    for change in sorted(changes, key=lambda change: change.layout):
        if change.layout < layout:
            continue
        for old, name in names.items():
            if name is not None:
                names[old] = None if name in change.removed else change.renamed.get(name, name)
        for old, new in change.renamed.items():
            names.setdefault(old, new)
        for gone in change.removed:
            names.setdefault(gone, None)
    return names


@dataclass(frozen=True, slots=True)
class ControlTotals:
    """Control totals: sums of the column ``amount`` by each of the columns ``by``.

    Without an amount the rows are counted. A date counts by its month and by its day.
    """

    amount: str | None
    by: tuple[str, ...]


def default_totals(columns: Sequence[Column]) -> ControlTotals:
    """Return the control totals of a resource that declares none.

    The first column of money, by every date and every column that refers to a registry.
    """
    money = (column.name for column in columns if column.kind is Kind.MONEY)
    return ControlTotals(
        amount=next(money, None),
        by=tuple(c.name for c in columns if c.kind is Kind.DATE or c.references is not None),
    )


class Mode(StrEnum):
    """A way of sending a sheet.

    ``RECORDS`` creates and changes records one by one, without an import; ``UNDO`` reverses an
    upload so; ``PROCESS`` takes records to their next state.
    """

    DIRECT = "direct"
    PREVIEW = "preview"
    QUEUE = "queue"
    RECORDS = "records"
    UNDO = "undo"
    PROCESS = "process"

    @property
    def is_by_record(self) -> bool:
        """True where each record is written by itself."""
        return self in {Mode.RECORDS, Mode.UNDO, Mode.PROCESS}


@dataclass(frozen=True, slots=True)
class RowCheck:
    """A check across columns or rows: a name in ``ROW_RULES`` and its statistics."""

    name: str
    statistics: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ImportPaths:
    """Operations by which the remote system takes a resource's sheets.

    Without a ``direct_name`` it takes none. ``needs_processar`` says that a queued file waits
    until processar-arquivo is called for it.
    """

    direct_name: str | None = None
    queue_name: str | None = None
    needs_processar: bool = False

    @property
    def direct(self) -> "Operation":
        """The operation that takes a sheet at once, and answers previews.

        Raises ``KeyError`` where there is none.
        """
        return operation_named(self.direct_name or "")

    @property
    def queue(self) -> "Operation | None":
        """The operation that queues a sheet, None where there is none."""
        return None if self.queue_name is None else operation_named(self.queue_name)

    @property
    def modes(self) -> tuple[Mode, ...]:
        """The modes that the resource can be sent in."""
        direct = (Mode.DIRECT, Mode.PREVIEW) if self.direct_name else ()
        return (*direct, Mode.QUEUE) if self.queue_name else direct


@dataclass(frozen=True)
class Resource:
    """Kind of record that a sheet brings in: its columns, its rules and its ways of being sent.

    ``paths`` are the imports that take a sheet, ``create`` is the operation that creates one
    record; a resource has at least one of them.
    ``model`` names the wire model (``module.Class`` in ``xlbridge.wire``) that a row becomes.
    ``natural_keys`` are the columns that identify records without the remote system's own codes;
    ``read_back`` is how records are found by them, None where they cannot be.
    ``change`` is how the interface changes one of them, None where it does not.
    ``totals`` are the control totals of its rows. ``changes`` are those of the columns
    since earlier layouts. ``base`` is the resource of which this is a form with linked columns
    (see ``Link``), None otherwise.

    ``children`` are the lists of a record, each a sheet of its own; a record needs rows in one of
    ``needs_children``, and its ``sums`` fit. A child is named ``resource.list``.
    """

    name: str
    title: Text
    description: str
    layout: int
    section: str
    model: str | None
    paths: ImportPaths
    natural_keys: tuple[str, ...]
    columns: tuple[Column, ...]
    row_checks: tuple[RowCheck, ...]
    totals: ControlTotals
    source: Path
    read_back: ReadBack | None = None
    create: RecordCreation | None = None
    change: RecordChange | None = None
    changes: tuple[LayoutChange, ...] = ()
    base: "Resource | None" = None
    children: "tuple[Resource, ...]" = ()
    needs_children: tuple[str, ...] = ()
    sums: tuple[ChildSum, ...] = ()

    @property
    def sheet(self) -> str:
        """The name of the sheet in templates: of a child, that of the list."""
        return self.name.rpartition(".")[2]

    @property
    def sent_columns(self) -> tuple[Column, ...]:
        """The columns that are sent: all but the key that joins sheets."""
        return tuple(column for column in self.columns if column.name != KEY)

    @cached_property
    def by_name(self) -> Mapping[str, Column]:
        """The columns by their names."""
        return {column.name: column for column in self.columns}

    @cached_property
    def required(self) -> tuple[str, ...]:
        """The names of the columns that every sheet must have."""
        return tuple(column.name for column in self.columns if column.required)

    @cached_property
    def names_with_lists(self) -> frozenset[str]:
        """The names of the columns of the resource and of its lists."""
        return frozenset(c.name for one in (self, *self.children) for c in one.columns)

    @property
    def modes(self) -> tuple[Mode, ...]:
        """The modes that a sheet of the resource can be sent in."""
        return self.paths.modes if self.create is None else (*self.paths.modes, Mode.RECORDS)

    @property
    def is_imported(self) -> bool:
        """True where the remote system takes whole sheets of the resource."""
        return self.paths.direct_name is not None

    @cached_property
    def set_by_change(self) -> tuple[str, ...]:
        """The names of the columns that the import does not take: a change of the record does."""
        if self.change is None or self.row_model is None:
            return ()
        fields = self.row_model.model_fields
        return tuple(name for name in self.change.columns if name not in fields)

    @cached_property
    def row_model(self) -> "type[WireModel] | None":
        """The wire model that a row becomes, None where it has none."""
        from xlbridge.wire import wire_model

        return None if self.model is None else wire_model(self.model)

    @cached_property
    def headers(self) -> Mapping[str, str]:
        """Every header that names a column, as it is compared, with the column's name."""
        return columns_by_header(self.columns)

    def column_changes_since(self, layout: int) -> dict[str, str | None]:
        """Return today's name of each changed column of a layout, None for a removed one."""
        return column_changes_since(self.changes, layout)

    @cached_property
    def fingerprint(self) -> str:
        """The mark by which a filled template is recognised."""
        if self.base is not None:
            return self.base.fingerprint
        columns = ((c.name, c.kind.value, c.required) for c in self.sent_columns)
        return str(Fingerprint.of(self.name, self.layout, columns))
