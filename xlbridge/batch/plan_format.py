"""JSON Schema of a batch plan.

The reader checks plans against it, editors complete by it, and the reference shows it.
"""

from collections.abc import Mapping
from functools import cache
from typing import get_args

from xlbridge.export import FILTERS, LISTINGS, Filter, ValueKind
from xlbridge.resources.yaml_files import Schema, block_schema, described
from xlbridge.settings import CSV_DELIMITERS, CSV_ENCODINGS
from xlbridge.upload import RequestedMode
from xlbridge.validation import DateOrder, NumberStyle

_NAME: Schema = {"type": "string", "pattern": "^[a-z0-9]+(-[a-z0-9]+)*$"}
_TEXT: Schema = {"type": "string", "minLength": 1}
_ONE_OR_MORE: Schema = {
    "type": ["string", "array"],
    "minLength": 1,
    "minItems": 1,
    "items": _TEXT,
    "uniqueItems": True,
}
_FLAG: Schema = {"type": "boolean"}
_VALUE: Schema = {"type": ["string", "integer"], "minLength": 1}

STEP_KINDS = ("upload", "validate", "export")
"""The key of a step that says what it does, and to what."""


@cache
def plan_format() -> Schema:
    """Return the JSON Schema (2020-12) of a plan."""
    properties: Schema = {
        "version": {"const": 1},
        "name": described(_NAME, "What the batch is called; with the parameters it is its name."),
        "profile": described(_TEXT, "The environment, as profiles.toml calls it."),
        "parameters": described(
            {"type": "object", "additionalProperties": _VALUE},
            "Values for texts of the plan: {month}, {month.first}. `current` and `previous` are "
            "months.",
        ),
        "proof": described(_TEXT, "Where the closing proof goes, without extension."),
        "steps": {"type": "object", "minProperties": 1, "additionalProperties": _step()},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "xlbridge batch plan",
        "description": "Steps over many workbooks and listings, done once, in the right order.",
        **block_schema(properties, needed=("name", "steps")),
    }


def keys_of(kind: str) -> tuple[str, ...]:
    """Return the keys that a step of a kind may have."""
    return tuple(_BLOCKS[kind])


def _step() -> Schema:
    return {
        "type": "object",
        "properties": dict.fromkeys(STEP_KINDS, True),
        "allOf": [
            {
                "if": {"required": [kind]},
                "then": block_schema(_BLOCKS[kind], needed=_REQUIRED.get(kind, ())),
            }
            for kind in STEP_KINDS
        ],
    }


def _filters() -> Schema:
    flag = {ValueKind.FLAG: _FLAG, ValueKind.CODE: {"type": ["integer", "string"], "minimum": 1}}
    several = {ValueKind.CODES, ValueKind.TEXTS}
    values: dict[str, Schema] = {}
    for name in Filter:
        kind = FILTERS[name].kind
        one = flag.get(kind, _VALUE)
        values[name.value] = (
            {"type": ["string", "integer", "array"], "items": _VALUE} if kind in several else one
        )
    return block_schema(values)


_COMMON: Schema = {
    "after": described(
        {**_ONE_OR_MORE, "minItems": 0},
        "The steps that must be done before; taken from the schemas' references where it is "
        "left out.",
    ),
    "profile": described(_TEXT, "The environment of this step alone."),
}
_WORKBOOKS: Schema = {
    "resource": described(_TEXT, "What the workbooks hold."),
    "sheet": described(_TEXT, "The sheet of each workbook."),
    "dates": described({"enum": list(get_args(DateOrder))}, "The order of day and month in text."),
    "numbers": described(
        {"enum": list(get_args(NumberStyle))}, "The style of numbers kept as text."
    ),
    "delimiter": described({"enum": list(CSV_DELIMITERS)}, "The delimiter of .csv files."),
    "encoding": described({"enum": list(CSV_ENCODINGS)}, "The encoding of .csv files."),
    "links": described(
        {"type": "object", "additionalProperties": _TEXT},
        "Columns whose cells name a record by another column of it, codigoDoCliente: seuCodigo, or "
        "by any of its names, codigoDoCliente: cliente.",
    ),
    "map": described(_TEXT, "The mapping file of workbooks with a header of their own."),
    "may_be_empty": described(_FLAG, "No workbook at all is no mistake."),
}
_BLOCKS: Mapping[str, Schema] = {
    "upload": {
        "upload": described(_ONE_OR_MORE, "Workbooks to send: paths or patterns such as *.xlsx."),
        **_COMMON,
        **_WORKBOOKS,
        "mode": {"enum": [mode for mode in get_args(RequestedMode) if mode != "preview"]},
        "chunk_rows": {"type": "integer", "minimum": 1},
    },
    "validate": {
        "validate": described(
            _ONE_OR_MORE, "Workbooks to judge: paths or patterns such as *.xlsx."
        ),
        **_COMMON,
        **_WORKBOOKS,
    },
    "export": {
        "export": described({"enum": sorted(LISTINGS)}, "The listing."),
        **_COMMON,
        "output": described(_TEXT, "The file to write; its extension is its format."),
        "filters": _filters(),
        "flat": described(_TEXT, "One sheet only: each row of this one beside its record."),
        "as_template": described(_TEXT, "Written in the layout of that resource's import sheet."),
        "settled": described(_FLAG, "Settled titles may be written into an import sheet."),
        "manifest": described(_TEXT, "Where the manifest goes."),
    },
}
_REQUIRED: Mapping[str, tuple[str, ...]] = {"upload": ("resource",), "export": ("output",)}
