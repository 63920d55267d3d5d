"""JSON Schema of schema files, the only declaration of their form.

The reader holds files to it, editors complete and check by it, and the reference shows it.
"""

from collections.abc import Mapping
from functools import cache

from xlbridge.resources.checks import ROW_RULES, RULES
from xlbridge.resources.checks.rule import RowRule, Rule, StatisticSchema
from xlbridge.resources.column import KIND_OF_DTYPE, Kind
from xlbridge.resources.references.registries import REFERENCES
from xlbridge.resources.remote.records import ExistingPolicy
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
                "title": described(_TEXT, "What the resource is called, in Portuguese."),
                "description": described({"type": "string"}, "What it is, in Portuguese."),
                "coerce": described(_FLAG, "Without effect: xlbridge types the cells itself."),
                "name": described(_TEXT, "Names a resource that has no `metadata.resource`."),
                "unique": described(
                    {"type": ["array", "string"]}, "The same as a check `no_repeated_rows`."
                ),
                **dict.fromkeys(_WITHOUT_EFFECT, described({}, "pandera's, without effect here.")),
                "metadata": _metadata(),
                "columns": {
                    "type": "object",
                    "minProperties": 1,
                    "maxProperties": _MAX_COLUMNS,
                    "propertyNames": {"pattern": UNPADDED},
                    "additionalProperties": _column(),
                    "description": "The columns, in the order in which templates have them.",
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
            "the name on the command line and in the import path, of a-z, 0-9 and hyphens",
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
        "natural_keys": described(_NAMES, "The columns that tell records apart."),
        "read_back": described(_read_back(), "How records are found again in the remote system."),
        "change": described(_change(), "How the interface changes a record that is there."),
        "control_totals": described(
            block_schema({"amount": _TEXT, "by": _NAMES}, needed=("by",)),
            "What a batch's closing proof adds up: a column of money, by which columns.",
        ),
        "columns": {"type": "object", "additionalProperties": _column_metadata()},
        "children": described(
            {
                "type": "object",
                "propertyNames": {"maxLength": _MAX_NAME_LENGTH},
                "additionalProperties": block_schema({"file": _TEXT}, needed=("file",)),
            },
            "The lists of a record, each a sheet of its own: list to its schema file.",
        ),
        "needs_children": described(_NAMES, "Lists of which a record has one at least."),
        "sums": described({"type": "array", "items": _sum()}, "Sums that must fit the record."),
        "import": described(_import(), "How the system takes a sheet of the resource."),
        "create": described(_create(), "Creates one record from a row."),
    }
    return block_schema(properties)


def _import() -> Schema:
    path: Schema = {"enum": [o.name for o in OPERATIONS.values() if o.upload]}
    waits = described(_FLAG, "A queued file waits for processar-arquivo.")
    return block_schema(
        {"direct": path, "queue": path, "needs_processar": waits}, needed=("direct",)
    )


def _create() -> Schema:
    posts = [o.name for o in OPERATIONS.values() if o.method == "POST"]
    taken = {"type": "array", "items": {"enum": posts}}
    properties = {
        "operation": {"enum": [name for name in posts if OPERATIONS[name].body]},
        "codes": described(_NAMES, "Fields of its answer: the record's code."),
        "twins": described(_lookup(), "Finds what is equal to a row without a key."),
        "twin_codes": described(_NAMES, "Fields of what it finds: their codes."),
        "lists": described(
            {"type": "object", "additionalProperties": taken},
            "Lists that operations of their own take, once the record is created.",
        ),
    }
    return block_schema(properties, needed=("operation",))


_TEXTS_BY_NAME: Schema = {"type": "object", "additionalProperties": _TEXT}


def _sum() -> Schema:
    product = block_schema(
        {
            "sheet": described(_TEXT, "The list whose rows have the factors."),
            "columns": described(_NAMES, "The factors."),
            "unless": described(_NAMES, "Columns with which a row costs something else."),
        },
        needed=("sheet", "columns"),
    )
    properties = {
        "sheet": described(_TEXT, "The list."),
        "column": described(_TEXT, "Its column that is added up."),
        "number": described({"type": "number"}, "What it adds up to."),
        "total": described(_TEXT, "The column of the record that it adds up to."),
        "product": described(product, "What it adds up to: a sum of products."),
    }
    return block_schema(properties, needed=("sheet", "column"))


def _lookup() -> Schema:
    readings = [o.name for o in OPERATIONS.values() if o.method == "GET"]
    names = _TEXTS_BY_NAME
    return block_schema(
        {
            "key": described({**names, "minProperties": 1}, "Columns to the fields of a record."),
            "operations": {"type": "array", "minItems": 1, "items": {"enum": readings}},
            "filter": described(names, "Fields of the query, or of the path, to columns."),
            "only": described({"type": "object"}, "Fields to values: which records are meant."),
            "when": {"type": "object", "additionalProperties": {"type": "array"}},
            "assumed": described(_FLAG, "The interface may not answer this query."),
            "counted": described(_TEXT, "Parameter of the path, from 1 on until nothing is found."),
        },
        needed=("key", "operations"),
    )


def _read_back() -> Schema:
    readings = [o.name for o in OPERATIONS.values() if o.method == "GET"]
    properties = {
        "lookups": {"type": "array", "minItems": 1, "items": _lookup()},
        "apart": described(_NAMES, "Columns that a record shows otherwise than they were sent."),
        "blank": described({"type": "object"}, "Columns to what an empty cell stands for."),
        "blank_as": described(
            _TEXTS_BY_NAME, "Columns to those whose value an empty cell stands for."
        ),
        "codes": _NAMES,
        "existing": {"enum": [existing.value for existing in ExistingPolicy]},
        "by_number": described(
            {"type": "array", "minItems": 1, "items": {"enum": readings}},
            "Operations that list the records, or read one, by the system's own number only.",
        ),
        "fields": described(_TEXTS_BY_NAME, "Columns to the fields that records name otherwise."),
        "lists": described(
            {"type": "object", "additionalProperties": _separate_list(readings)},
            "Lists that an operation of their own lists, its items in another form.",
        ),
    }
    either = {"anyOf": [{"required": ["lookups"]}, {"required": ["by_number", "codes"]}]}
    return block_schema(properties, needed=("existing",)) | either


def _separate_list(readings: list[str]) -> Schema:
    properties = {
        "operation": described({"enum": readings}, "Lists the items of the record of its path."),
        "fields": described(
            _NAMES, "Fields of an item, each a row of the list where it is filled."
        ),
        "number": described(_TEXT, "The column that takes the place of the field, from 1."),
        "value": described(_TEXT, "The column that takes what the field holds."),
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
        "columns": described(_NAMES, "The columns that can be changed; left out: all."),
        "not_listed": described(_NAMES, "Listings whose records cannot be changed."),
        "until": described(_NAMES, "Fields: records that have one cannot be changed any more."),
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
        "kind": described({"enum": [kind.value for kind in Kind]}, "What its values are."),
        "example": described({}, "Shown in the instructions of the template."),
        "references": described({"enum": list(REFERENCES)}, "What its values must exist in."),
        "registers": described({"enum": list(REFERENCES)}, "Where its values exist once sent."),
        "usual_years": described(_YEARS, "The first and the last year that are not asked about."),
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
            "As pandera lists them; better by their names.",
        ),
        **dict.fromkeys(_COLUMN_WITHOUT_EFFECT, described({}, "pandera's, without effect here.")),
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
    asked = {"properties": {"check_name": {"const": rule.name}}, "required": ["check_name"]}
    return {
        "if": {"properties": {"options": asked}, "required": ["options"]},
        "then": block_schema(statistics, needed=tuple(rule.statistics)),
    }
