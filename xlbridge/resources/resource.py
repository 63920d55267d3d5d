"""Model of an importable resource: columns, rules, operations, control totals, lists, layouts; and
the format of its schema file.

The format is the only declaration of a file's root, metadata and columns. The blocks about records
and totals are declared by the structures that ``Resource`` consists of, those of the rules by the
rules.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from msgspec import Meta, Struct, field as struct_field

from xlbridge.i18n import Text, joined, untranslated
from xlbridge.resources.checks import ROW_RULES, RULES
from xlbridge.resources.column import (
    KIND_OF_DTYPE,
    USUAL_YEARS,
    ChildSum,
    Column,
    ControlTotals,
    Kind,
    LayoutChange,
    column_changes_since,
)
from xlbridge.resources.models import (
    OR_NULL,
    Alternatives,
    Block,
    ColumnName,
    ColumnNames,
    Identifier,
    Name,
    Names,
    Schema,
    UnpaddedLine,
    WholeNumber,
    json_schema,
    one_of,
    with_form,
    with_keys,
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


_WITHOUT_EFFECT = (
    *("strict", "api", "dataframe_library", "index", "multiindex", "ordered", "drop_invalid_rows"),
    *("report_duplicates", "unique_column_names", "add_missing_columns"),
)
_COLUMN_WITHOUT_EFFECT = ("coerce", "name", "report_duplicates", "drop_invalid_rows")
_FOR_PANDERA = Annotated[Any, Meta(description="For pandera, without effect here.")]
_MAX_NAME_LENGTH = 31  # of a sheet in Excel, which is named for the resource
_MAX_COLUMNS = 16_000  # of a sheet in Excel, less some that other files add


def _references() -> Mapping[str, object]:
    # Late: it imports the models of the interface.
    from xlbridge.resources.references import REFERENCES

    return REFERENCES


class ColumnMetadata(Struct, frozen=True):
    """Properties of a column that pandera does not know.

    kind: The kind of its values.
    example: Shown in the instructions of the template.
    references: The registry in which its values must exist.
    registers: The registry in which its values exist after sending.
    usual_years: The first and the last year without a warning.
    month: Dates stand for their month, and may be shown without the day if it is the first.
    measure: Texts may be numbers with decimals, which are sent with a point.
    units: Words that may be shown after numbers.
    """

    title_en: Name | None = None
    description_en: str = ""
    kind: Kind | None = None
    example: Any = None
    references: Annotated[str | None, one_of(_references)] = None
    registers: Annotated[str | None, one_of(_references)] = None
    usual_years: Annotated[
        tuple[Annotated[int, Meta(ge=1905, le=2999)], ...], Meta(min_length=2, max_length=2)
    ] = USUAL_YEARS
    month: bool = False
    measure: bool = False
    units: Names = ()


_NO_LOOKUP = Text(
    pt="falta lookups, ou by_number com codes.", en="lookups is missing, or by_number with codes."
)
_ONE_CHANGE = Text(
    pt="use exatamente um destes: operation, by_import.",
    en="use exactly one of: operation, by_import.",
)


class ChildFile(Struct, frozen=True):
    """Schema file of a list of the records."""

    file: Name


class Metadata(Struct, frozen=True, kw_only=True):
    """The block ``metadata``, which pandera does not read.

    resource: The name on the command line and in the import path, of a-z, 0-9 and hyphens.
    layout: Raise it when the columns change.
    layouts: Earlier layouts by number, with what the next one renamed (old: new) and removed.
    model: The wire model of a resource of the interface: module.Class.
    natural_keys: The columns that identify records.
    read_back: How records are found in the remote system.
    change: How the interface changes an existing record.
    control_totals: The totals of uploads and of a batch's closing proof: an amount, and columns
        to group by.
    children: The lists of a record, each in a separate sheet, with their schema files.
    needs_children: Lists of which a record needs at least one.
    sums: Expected sums of a record's lists.
    paths: How the system imports a sheet of the resource.
    create: How one record is created from a row.
    """

    resource: Annotated[Identifier, Meta(min_length=1, max_length=_MAX_NAME_LENGTH)] = ""
    layout: Annotated[int, Meta(ge=1)] = 1
    layouts: Mapping[WholeNumber, LayoutChange] = {}
    title_en: Name | None = None
    description_en: str = ""
    section: str = ""
    model: Name | None = None
    natural_keys: ColumnNames = ()
    read_back: Annotated[
        ReadBack | None, with_keys(_NO_LOOKUP, ("lookups",), ("by_number", "codes"))
    ] = None
    change: Annotated[
        RecordChange | None, with_keys(_ONE_CHANGE, ("operation",), ("by_import",), only_one=True)
    ] = None
    control_totals: ControlTotals | None = None
    columns: Mapping[ColumnName, Annotated[ColumnMetadata | None, OR_NULL]] = {}
    children: Mapping[Annotated[str, Meta(max_length=_MAX_NAME_LENGTH)], ChildFile] = {}
    needs_children: Names = ()
    sums: tuple[ChildSum, ...] = ()
    paths: ImportPaths | None = struct_field(name="import", default=None)
    create: RecordCreation | None = None


class ColumnBody(Struct, frozen=True):
    """Column of a sheet, as pandera reads it; the rules are further keys.

    nullable: false: the column is required, and each of its cells.
    unique: The same as `no_repeats`.
    checks: A list as written by pandera; preferably, use the names of the checks as keys.
    """

    title: Name | None = None
    description: str = ""
    dtype: Annotated[str, one_of(lambda: KIND_OF_DTYPE)] = "str"
    required: bool | None = None
    nullable: bool = False
    unique: bool = False
    regex: Annotated[bool, one_of(lambda: [False])] = False
    checks: Annotated[list[Any], Meta(max_length=0)] = []


@cache
def _column() -> Block:
    without_effect = dict.fromkeys(_COLUMN_WITHOUT_EFFECT, _FOR_PANDERA)
    rules: dict[str, Any] = {}
    for name, rule in RULES.items():
        single = rule.statistics.get("value") if len(rule.statistics) == 1 else None
        rules[name] = single or Block.of_types(rule.statistics, rule.optional)
    return Block.of(ColumnBody).with_types(without_effect | rules)


class _CheckName(Struct):
    check_name: Annotated[str, one_of(lambda: ROW_RULES)]


class _NamedCheck(Struct):
    options: _CheckName


_COLUMNS_OF: Mapping[str, Any] = {
    "column": ColumnName,
    "other": ColumnName,
    "columns": Annotated[ColumnNames, Meta(min_length=1)],
}
"""Types of the statistics that name columns of the file."""


@cache
def _row_check() -> Alternatives:
    def choose(check: Mapping[str, Any]) -> str | None:
        options = check.get("options")
        name = options.get("check_name") if isinstance(options, Mapping) else None
        return name if isinstance(name, str) and name in ROW_RULES else None

    return Alternatives(
        Block.of(_NamedCheck),
        {
            name: (
                {
                    "properties": {
                        "options": {
                            "properties": {"check_name": {"const": name}},
                            "required": ["check_name"],
                        }
                    },
                    "required": ["options"],
                },
                Block.of_types(
                    {
                        "options": Any,
                        **{n: _COLUMNS_OF.get(n, kind) for n, kind in rule.statistics.items()},
                    },
                    optional=("options",),
                ),
            )
            for name, rule in ROW_RULES.items()
        },
        choose,
    )


class SchemaFile(Struct, frozen=True, kw_only=True):
    """Root of a schema file, in our form and completed from the model of its rows.

    title: The title of the resource, in Portuguese.
    description: A description, in Portuguese.
    coerce: Without effect: xlbridge types the cells itself.
    name: The default of `metadata.resource`.
    unique: The same as a check `no_repeated_rows`.
    columns: The columns, in the order of the template.
    """

    schema_type: Literal["dataframe"] = "dataframe"
    version: Name | None = None
    title: Name | None = None
    description: str = ""
    coerce: bool = False
    name: Name | None = None
    unique: list[Any] | str = ""
    metadata: Metadata = Metadata()
    columns: Annotated[
        Mapping[UnpaddedLine, Annotated[ColumnBody, with_form(_column)]],
        Meta(min_length=1, max_length=_MAX_COLUMNS),
    ]
    checks: Annotated[list[Annotated[Mapping[str, Any], with_form(_row_check)]] | None, OR_NULL] = (
        None
    )


@cache
def schema_file() -> Block:
    """Return the declaration of a schema file's root."""
    return Block.of(SchemaFile).with_types(dict.fromkeys(_WITHOUT_EFFECT, _FOR_PANDERA))


def schema_file_format() -> Schema:
    """Return the JSON Schema (2020-12) of a schema file."""
    return json_schema(
        "xlbridge resource",
        "A pandera schema file with the block `metadata`, which is xlbridge's.",
        schema_file(),
    )


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
