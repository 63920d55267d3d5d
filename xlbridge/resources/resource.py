"""Model of an importable resource: columns, rules, operations, control totals, lists, layouts."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from xlbridge.i18n import Text, joined, untranslated
from xlbridge.resources.column import (
    ChildSum,
    Column,
    ControlTotals,
    Kind,
    LayoutChange,
    column_changes_since,
)
from xlbridge.resources.names import normalize_header
from xlbridge.resources.remote import (
    ImportPaths,
    Mode,
    ReadBack,
    RecordChange,
    RecordCreation,
)
from xlbridge.titles import title_at

if TYPE_CHECKING:
    from xlbridge.wire import WireModel

_NAME = re.compile(r"\b\w*[a-z][A-Z]\w*|\b\w+(?=:)")
"""Name of a column in a text: a word with a hump, or one before a colon."""

_UNITS: Mapping[Kind, tuple[str, ...]] = {
    Kind.MONEY: ("(r$)", "[r$]", "r$", "- r$", "(em r$)", "(reais)", "(em reais)", "(brl)"),
    Kind.DATE: ("(dd/mm/aaaa)", "(dd/mm/yyyy)"),
    Kind.NUMBER: ("(%)", "[%]", "%", "(em %)"),
}
"""Normalized units that may follow the header of a column without changing it; those of numbers
are for rates."""

_WHOLE_RATE = 100

KEY = "chave"
"""Column that joins a child sheet to its main sheet; it is never sent."""

_MAX_KEY_LENGTH = 60

CHILD_KEY = Column(
    KEY,
    Kind.TEXT,
    required=True,
    title=Text(pt="Chave", en="Key"),
    description=Text(
        pt="Chave da linha da planilha principal a que esta pertence; não é enviada.",
        en="Key of the row of the main sheet that this one belongs to; not sent.",
    ),
    example="A-1",
    checks={"str_length": {"min_value": 1, "max_value": _MAX_KEY_LENGTH}},
)
"""Key column of a child sheet."""

MAIN_KEY = replace(
    CHILD_KEY,
    description=Text(
        pt="Chave da linha, escolhida por quem preenche; não se repete e não é enviada.",
        en="Key of the row, chosen by who fills it in; unique, and not sent.",
    ),
    checks={**CHILD_KEY.checks, "no_repeats": {}},
)
"""Key column of a main sheet, which need not be required."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Fingerprint of a template, formatted as ``name:layout:digest[:listed]``.

    The digest covers the names and kinds of columns and whether they are required, to detect
    changes without a new layout number. ``listed`` are the columns for which the template offers
    records of registries.
    """

    resource: str
    layout: int
    digest: str
    listed: tuple[str, ...] = ()

    @classmethod
    def of(cls, resource: str, layout: int, columns: Iterable[tuple[str, str, bool]]) -> Self:
        """Return the fingerprint of columns, each with name, kind and whether it is required."""
        shape = json.dumps([list(column) for column in columns])
        return cls(resource, layout, hashlib.sha256(shape.encode()).hexdigest()[:12])

    @classmethod
    def parse(cls, text: str | None) -> Self | None:
        """Parse a fingerprint, None if the text is not one."""
        resource, _, rest = (text or "").partition(":")
        layout, _, digest = rest.partition(":")
        digest, _, listed = digest.partition(":")
        columns = tuple(filter(None, listed.split(",")))
        is_valid = layout.isdecimal() and bool(digest)
        return cls(resource, int(layout), digest, columns) if is_valid else None

    def __str__(self) -> str:
        base = f"{self.resource}:{self.layout}:{self.digest}"
        return f"{base}:{','.join(self.listed)}" if self.listed else base


def default_totals(columns: Sequence[Column]) -> ControlTotals:
    """Return the default control totals of a resource: the first money column, by every date and
    every column that refers to a registry."""
    money = (column.name for column in columns if column.kind is Kind.MONEY)
    return ControlTotals(
        amount=next(money, None),
        by=tuple(c.name for c in columns if c.kind is Kind.DATE or c.references is not None),
    )


def with_titles(text: Text | str, titles: Mapping[str, Text | str]) -> str:
    """Return a text with titles for the names of columns."""
    return _NAME.sub(lambda name: str(titles.get(name[0], name[0])), str(text))


@dataclass(frozen=True, slots=True)
class RowCheck:
    """A check across columns or rows: a name in ``ROW_RULES`` and its statistics."""

    name: str
    statistics: Mapping[str, Any]

    @classmethod
    def of(cls, item: Mapping[str, Any]) -> Self:
        """Create a check from an item of the list ``checks`` of a schema file."""
        statistics = {key: value for key, value in item.items() if key != "options"}
        return cls(item["options"]["check_name"], statistics)

    def within_record(self) -> "RowCheck":
        """Return the check of a child sheet, with unique values required only in each record."""
        if self.name not in {"no_repeated_rows", "no_equal_rows"}:
            return self
        columns = [KEY, *self.statistics["columns"]]
        return RowCheck(self.name, {**self.statistics, "columns": columns})


@dataclass(frozen=True)
class Resource:
    """Kind of record in an import sheet: its columns, rules and operations.

    ``paths``: imports of whole sheets; ``create``: operation that creates one record (a resource
    has at least one of the two); ``model``: wire model of a row (``module.Class`` in
    ``xlbridge.wire``); ``natural_keys``: columns that identify records without the remote system's
    codes; ``read_back``: how records are found, None if they cannot be; ``change``: how a record is
    changed, None if it cannot be; ``totals``: control totals; ``changes``: changes made to earlier
    layouts, by their numbers; ``base``: the original resource of one with linked columns (see
    ``Link``).

    ``children`` are the lists of a record, each in its own sheet and named ``resource.list``; a
    record needs rows in one of ``needs_children``, and its ``sums`` must be right.
    """

    name: str
    title: Text
    description: Text
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
    changes: Mapping[str, LayoutChange] = field(default_factory=dict)
    base: "Resource | None" = None
    children: "tuple[Resource, ...]" = ()
    needs_children: tuple[str, ...] = ()
    sums: tuple[ChildSum, ...] = ()

    @property
    def sheet(self) -> str:
        """The name of the sheet in templates, which is the list's for a child sheet."""
        return self.name.rpartition(".")[2]

    @property
    def sent_columns(self) -> tuple[Column, ...]:
        """The columns that are sent: all except the key that joins sheets."""
        return tuple(column for column in self.columns if column.name != KEY)

    @cached_property
    def sheet_columns(self) -> tuple[Column, ...]:
        """The columns in the order of templates: the required ones first."""
        return tuple(sorted(self.columns, key=lambda column: not column.required))

    @cached_property
    def by_name(self) -> Mapping[str, Column]:
        """The columns by their names."""
        return {column.name: column for column in self.columns}

    @cached_property
    def amount_title(self) -> Text | None:
        """The title of the amount of the control totals, None if these count rows."""
        totals = self.totals
        if (products := totals.products) is not None:
            factors = (self.by_path[f"{products.sheet}.{name}"] for name in products.columns)
            return joined((factor.title for factor in factors), " × ")
        return None if totals.amount is None else self.by_name[totals.amount].title

    @cached_property
    def by_path(self) -> Mapping[str, Column]:
        """The columns by their names, those of lists by ``list.name``."""
        lists = {
            f"{one.sheet}.{column.name}": column for one in self.children for column in one.columns
        }
        return {**self.by_name, **lists}

    def column_at(self, path: str) -> Column | None:
        """Return a column by its name, that of a list by ``list.name`` or ``list.number.name``;
        None if there is none."""
        name, *rest = path.split(".")
        if name == self.name and rest:
            return self.by_name.get(rest[-1])
        return self.by_path.get(".".join([name, *rest[-1:]]))

    def title_at(self, path: str) -> Text:
        """Return the title of a column by its path, that of a list with the name of its sheet; the
        path itself if there is none."""
        own = path.rpartition(".")[2] if path.startswith(f"{self.name}.") else path
        return title_at(own, {name: column.title for name, column in self.by_path.items()})

    def with_titles(self, text: Text | str, titles: Mapping[str, Text | str] | None = None) -> str:
        """Return a text with titles for the names of columns, by default the resource's own."""
        return with_titles(text, self._titles if titles is None else titles)

    def titles_beside(self, headers: Mapping[str, str]) -> Mapping[str, Text | str]:
        """Return what the author of a sheet calls the columns: by its ``headers``, other columns
        by their titles, unless most headers are names."""
        names = sum(name == header for name, header in headers.items())
        return headers if 2 * names >= len(headers) else {**self._titles, **headers}

    def titled_as(self, headers: Mapping[str, str]) -> "Resource":
        """Return the resource with its columns titled as by ``titles_beside``."""
        titles = self.titles_beside(headers)

        def titled(part: Resource, within: str) -> tuple[Column, ...]:
            found = [
                titles.get(within + column.name) or titles.get(column.name, column.name)
                for column in part.columns
            ]
            return tuple(
                replace(column, title=title if isinstance(title, Text) else untranslated(title))
                for column, title in zip(part.columns, found, strict=True)
            )

        children = (replace(it, columns=titled(it, f"{it.sheet}.")) for it in self.children)
        return replace(self, columns=titled(self, ""), children=tuple(children))

    @cached_property
    def _titles(self) -> Mapping[str, Text]:
        # Lists may have columns of the same names.
        return {column.name: column.title for column in [*self.by_path.values()][::-1]}

    @cached_property
    def required(self) -> tuple[str, ...]:
        """Names of the required columns."""
        return tuple(column.name for column in self.columns if column.required)

    @cached_property
    def names_with_lists(self) -> frozenset[str]:
        """Names of the columns of the resource and its lists."""
        return frozenset(c.name for one in (self, *self.children) for c in one.columns)

    @property
    def modes(self) -> tuple[Mode, ...]:
        """The modes in which a sheet of the resource can be sent."""
        return self.paths.modes if self.create is None else (*self.paths.modes, Mode.RECORDS)

    @property
    def is_imported(self) -> bool:
        """True if the remote system imports whole sheets of the resource."""
        return self.paths.direct_name is not None

    @cached_property
    def set_by_change(self) -> tuple[str, ...]:
        """Names of the columns that are not imported, but set by a change of the record."""
        if self.change is None or self.row_model is None:
            return ()
        fields = self.row_model.model_fields
        return tuple(name for name in self.change.columns if name not in fields)

    @cached_property
    def row_model(self) -> "type[WireModel] | None":
        """The wire model of a row, if there is one."""
        from xlbridge.wire import wire_model

        return None if self.model is None else wire_model(self.model)

    @cached_property
    def headers(self) -> Mapping[str, str]:
        """Column names by normalized header.

        Wire names take precedence over the titles in both languages; each may be followed by the
        unit of the column's values.
        """
        with_units, titles = dict[str, str](), dict[str, str]()
        for column in self.columns:
            headers = [*map(normalize_header, (column.name, column.title.pt, column.title.en))]
            is_rate = column.checks.get("in_range", {}).get("max_value") == _WHOLE_RATE
            if column.kind is not Kind.NUMBER or is_rate:
                for unit in _UNITS.get(column.kind, ()):
                    with_units |= {f"{header} {unit}": column.name for header in headers}
            titles |= dict.fromkeys(headers[1:], column.name)
        names = {normalize_header(column.name): column.name for column in self.columns}
        return with_units | titles | names

    def column_changes_since(self, layout: int) -> dict[str, str | None]:
        """Return the current name of each changed column of a layout, None for a removed one."""
        return column_changes_since(self.changes, layout)

    @cached_property
    def fingerprint(self) -> str:
        """Fingerprint of the template."""
        if self.base is not None:
            return self.base.fingerprint
        columns = ((c.name, c.kind.value, c.required) for c in self.sent_columns)
        return str(Fingerprint.of(self.name, self.layout, columns))
