"""Format of schema files: the only declaration of their root, metadata and columns.

The blocks about records and totals are declared by the structures that ``Resource`` consists of,
those of the rules by the rules.
"""

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

from xlbridge.i18n import Text
from xlbridge.resources.checks import ROW_RULES, RULES
from xlbridge.resources.column import (
    KIND_OF_DTYPE,
    USUAL_YEARS,
    ChildSum,
    ControlTotals,
    Kind,
    LayoutChange,
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
from xlbridge.resources.remote import (
    ImportPaths,
    ReadBack,
    RecordChange,
    RecordCreation,
)

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
    paths: ImportPaths | None = field(name="import", default=None)
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
