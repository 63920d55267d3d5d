"""JSON Schema of schema files: the only declaration of their format, for validation, editors and
the reference."""

from collections.abc import Mapping
from functools import cache

from xlbridge.resources.checks import ROW_RULES, RULES
from xlbridge.resources.checks.rule import RowRule, Rule, StatisticSchema
from xlbridge.resources.kind import KIND_OF_DTYPE, Kind
from xlbridge.resources.references.reference_lists import REFERENCES
from xlbridge.resources.remote.record_operations import ExistingPolicy
from xlbridge.resources.yaml_files import Schema, block_schema, described
from xlbridge.resources.yaml_files.validation import UNPADDED, WHOLE_NUMBER
from xlbridge.wire import OPERATIONS

_TEXT: Schema = {"type": "string", "minLength": 1}
_NAMES: Schema = {"type": "array", "items": _TEXT, "uniqueItems": True}
_FLAG: Schema = {"type": "boolean"}
_WITHOUT_EFFECT = (
    *("strict", "api", "dataframe_library", "index", "multiindex", "ordered", "drop_invalid_rows"),
    *("report_duplicates", "unique_column_names", "add_missing_columns"),
)
_COLUMN_WITHOUT_EFFECT = ("coerce", "name", "report_duplicates", "drop_invalid_rows")
_MAX_NAME_LENGTH = 31  # of a sheet in Excel, which is named for the resource
_MAX_COLUMNS = 16_000  # of a sheet in Excel, less some that other files add


@cache
def schema_file_format() -> Schema:
    """Return the JSON Schema (2020-12) of a schema file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "xlbridge resource",
        "description": "A pandera schema file with the block `metadata`, which is xlbridge's.",
        **block_schema(
            {
                "schema_type": {"const": "dataframe"},
                "version": _TEXT,
                "title": described(_TEXT, "The title of the resource, in Portuguese."),
                "description": described({"type": "string"}, "A description, in Portuguese."),
                "coerce": described(_FLAG, "Without effect: xlbridge types the cells itself."),
                "name": described(_TEXT, "The default of `metadata.resource`."),
                "unique": described(
                    {"type": ["array", "string"]}, "The same as a check `no_repeated_rows`."
                ),
                **dict.fromkeys(
                    _WITHOUT_EFFECT, described({}, "For pandera, without effect here.")
                ),
                "metadata": _metadata(),
                "columns": {
                    "type": "object",
                    "minProperties": 1,
                    "maxProperties": _MAX_COLUMNS,
                    "propertyNames": {"pattern": UNPADDED},
                    "additionalProperties": _column(),
                    "description": "The columns, in the order of the template.",
                },
                "checks": {"type": ["array", "null"], "items": _row_check()},
            },
            needed=("columns",),
        ),
    }


def _metadata() -> Schema:
    name: Schema = {"type": "string", "pattern": "^[a-z0-9]+(-[a-z0-9]+)*$"}
    change = block_schema(
        {"renamed": {"type": "object", "additionalProperties": _TEXT}, "removed": _NAMES}
    )
    properties = {
        "resource": described(
            {**name, "minLength": 1, "maxLength": _MAX_NAME_LENGTH},
            "The name on the command line and in the import path, of a-z, 0-9 and hyphens.",
        ),
        "layout": described({"type": "integer", "minimum": 1}, "Raise it when the columns change."),
        "layouts": described(
            {
                "type": "object",
                "propertyNames": {"pattern": WHOLE_NUMBER},
                "additionalProperties": change,
            },
            "Earlier layouts by number, with what the next one renamed (old: new) and removed.",
        ),
        "title_en": _TEXT,
        "section": {"type": "string"},
        "model": described(_TEXT, "The wire model of a resource of the interface: module.Class."),
        "natural_keys": described(_NAMES, "The columns that identify records."),
        "read_back": described(_read_back(), "How records are found in the remote system."),
        "change": described(_change(), "How the interface changes an existing record."),
        "control_totals": described(
            block_schema({"amount": _TEXT, "by": _NAMES}, needed=("by",)),
            "The totals of a batch's closing proof: a column of money, and columns to group by.",
        ),
        "columns": {"type": "object", "additionalProperties": _column_metadata()},
        "children": described(
            {
                "type": "object",
                "propertyNames": {"maxLength": _MAX_NAME_LENGTH},
                "additionalProperties": block_schema({"file": _TEXT}, needed=("file",)),
            },
            "The lists of a record, each in a separate sheet, with their schema files.",
        ),
        "needs_children": described(_NAMES, "Lists of which a record needs at least one."),
        "sums": described({"type": "array", "items": _sum()}, "Expected sums of a record's lists."),
        "import": described(_import(), "How the system imports a sheet of the resource."),
        "create": described(_create(), "How one record is created from a row."),
    }
    return block_schema(properties)


def _import() -> Schema:
    path: Schema = {"enum": [o.name for o in OPERATIONS.values() if o.upload]}
    waits = described(_FLAG, "A queued file is processed after a call of processar-arquivo.")
    return block_schema(
        {"direct": path, "queue": path, "needs_processar": waits}, needed=("direct",)
    )


def _create() -> Schema:
    posts = [o.name for o in OPERATIONS.values() if o.method == "POST"]
    operations = {"type": "array", "items": {"enum": posts}}
    properties = {
        "operation": {"enum": [name for name in posts if OPERATIONS[name].body]},
        "codes": described(_NAMES, "Fields of the answer with the record's code."),
        "twins": described(_lookup(), "Finds records that are equal to a row without a key."),
        "twin_codes": described(_NAMES, "Fields of those records with their codes."),
        "lists": described(
            {"type": "object", "additionalProperties": operations},
            "Lists whose items are created by separate operations after the record.",
        ),
    }
    return block_schema(properties, needed=("operation",))


_TEXTS_BY_NAME: Schema = {"type": "object", "additionalProperties": _TEXT}


def _sum() -> Schema:
    product = block_schema(
        {
            "sheet": described(_TEXT, "The list whose rows have the factors."),
            "columns": described(_NAMES, "The factors."),
            "unless": described(_NAMES, "Columns whose values change the price of a row."),
        },
        needed=("sheet", "columns"),
    )
    properties = {
        "sheet": described(_TEXT, "The list."),
        "column": described(_TEXT, "The column that is added up."),
        "number": described({"type": "number"}, "The expected sum."),
        "total": described(_TEXT, "The column of the record with the expected sum."),
        "product": described(product, "The expected sum, as a sum of products."),
    }
    return block_schema(properties, needed=("sheet", "column"))


def _lookup() -> Schema:
    readings = [o.name for o in OPERATIONS.values() if o.method == "GET"]
    names = _TEXTS_BY_NAME
    return block_schema(
        {
            "key": described({**names, "minProperties": 1}, "Columns, with the record's fields."),
            "operations": {"type": "array", "minItems": 1, "items": {"enum": readings}},
            "filter": described(names, "Parameters of the query or the path, with columns."),
            "only": described({"type": "object"}, "Fields, with the values of the right records."),
            "when": {"type": "object", "additionalProperties": {"type": "array"}},
            "assumed": described(_FLAG, "The interface may not support this query."),
            "counted": described(
                _TEXT, "Path parameter that counts from 1 until nothing is found."
            ),
        },
        needed=("key", "operations"),
    )


def _read_back() -> Schema:
    readings = [o.name for o in OPERATIONS.values() if o.method == "GET"]
    properties = {
        "lookups": {"type": "array", "minItems": 1, "items": _lookup()},
        "apart": described(_NAMES, "Columns that a record does not return as sent."),
        "blank": described({"type": "object"}, "Columns, with the value of an empty cell."),
        "blank_as": described(
            _TEXTS_BY_NAME, "Columns, with the column whose value an empty cell means."
        ),
        "codes": _NAMES,
        "existing": {"enum": [existing.value for existing in ExistingPolicy]},
        "by_number": described(
            {"type": "array", "minItems": 1, "items": {"enum": readings}},
            "Operations that list the records, or read one, only by the system's own number.",
        ),
        "fields": described(_TEXTS_BY_NAME, "Columns, with fields of other names in records."),
        "lists": described(
            {"type": "object", "additionalProperties": _separate_list(readings)},
            "Lists that a separate operation returns, with items in another form.",
        ),
    }
    either = {"anyOf": [{"required": ["lookups"]}, {"required": ["by_number", "codes"]}]}
    return block_schema(properties, needed=("existing",)) | either


def _separate_list(readings: list[str]) -> Schema:
    properties = {
        "operation": described({"enum": readings}, "Lists the items of the record in its path."),
        "fields": described(_NAMES, "Fields of an item; each filled one becomes a row."),
        "number": described(_TEXT, "The column for the position of the field, from 1."),
        "value": described(_TEXT, "The column for the value of the field."),
    }
    return block_schema(properties, needed=tuple(properties))


def _change() -> Schema:
    def methods(*names: str) -> Schema:
        return {"enum": [o.name for o in OPERATIONS.values() if o.method in names]}

    properties = {
        "operation": described(methods("PUT", "POST"), "Changes one record."),
        "read": described(methods("GET"), "Reads one record by its own number, or lists all."),
        "delete": described(methods("DELETE"), "Removes one record by its own number."),
        "by_import": described({"const": True}, "Importing a record again replaces it."),
        "columns": described(_NAMES, "The columns that can be changed; by default all."),
        "not_listed": described(_NAMES, "Listings whose records cannot be changed."),
        "until": described(_NAMES, "Fields that make a record unchangeable once one is filled."),
    }
    return block_schema(properties)


_YEARS: Schema = {
    "type": "array",
    "items": {"type": "integer", "minimum": 1905, "maximum": 2999},
    "minItems": 2,
    "maxItems": 2,
}


def _column_metadata() -> Schema:
    properties = {
        "title_en": _TEXT,
        "kind": described({"enum": [kind.value for kind in Kind]}, "The kind of its values."),
        "example": described({}, "Shown in the instructions of the template."),
        "references": described(
            {"enum": list(REFERENCES)}, "The registry in which its values must exist."
        ),
        "registers": described(
            {"enum": list(REFERENCES)}, "The registry in which its values exist after sending."
        ),
        "usual_years": described(_YEARS, "The first and the last year without a warning."),
    }
    return {**block_schema(properties), "type": ["object", "null"]}


def _column() -> Schema:
    properties = {
        "title": _TEXT,
        "description": {"type": "string"},
        "dtype": {"enum": list(KIND_OF_DTYPE)},
        "required": _FLAG,
        "nullable": described(_FLAG, "false: the column is required, and each of its cells."),
        "unique": described(_FLAG, "The same as `no_repeats`."),
        "regex": {"const": False},
        "checks": described(
            {"type": ["array", "object"], "maxItems": 0},
            "A list as written by pandera; preferably, use the names of the checks as keys.",
        ),
        **dict.fromkeys(_COLUMN_WITHOUT_EFFECT, described({}, "For pandera, without effect here.")),
        **{name: _check(rule) for name, rule in RULES.items()},
    }
    return block_schema(properties)


def _check(rule: Rule) -> Schema:
    statistics = _statistics(rule.statistics)
    if list(statistics) == ["value"]:
        return dict(statistics["value"])
    needed = tuple(name for name in statistics if name not in rule.optional)
    block = block_schema(statistics, needed=needed)
    return block if needed or not statistics else {**block, "minProperties": 1}


def _statistics(statistics: Mapping[str, StatisticSchema]) -> Schema:
    return {
        name: dict(schema() if callable(schema) else schema) for name, schema in statistics.items()
    }


def _row_check() -> Schema:
    named = block_schema({"check_name": {"enum": list(ROW_RULES)}}, needed=("check_name",))
    return {
        "type": "object",
        "required": ["options"],
        "properties": {"options": named},
        "allOf": [_row_check_statistics(rule) for rule in ROW_RULES.values()],
    }


def _row_check_statistics(rule: RowRule) -> Schema:
    statistics = {"options": True, **_statistics(rule.statistics)}
    is_rule = {"properties": {"check_name": {"const": rule.name}}, "required": ["check_name"]}
    return {
        "if": {"properties": {"options": is_rule}, "required": ["options"]},
        "then": block_schema(statistics, needed=tuple(rule.statistics)),
    }
