"""Format of a batch plan: its JSON Schema, and parameters that are filled into its texts.

The schema is for the reader, for completion in editors, and for the reference. Placeholders are
``{month}``, ``{month.first}``, ….
"""

import calendar
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from typing import Any, get_args

from xlbridge.errors import UsageError
from xlbridge.export import LISTINGS, Filter, ValueKind
from xlbridge.i18n import Text
from xlbridge.resources.yaml_files import (
    Mistake,
    Schema,
    YamlDocument,
    YamlPath,
    block_schema,
    described,
    format_yaml_path,
)
from xlbridge.settings import CSV_DELIMITERS, CSV_ENCODINGS, DateOrder, NumberStyle
from xlbridge.upload import RequestedMode
from xlbridge.upload.processing import KINDS

_NAME_SCHEMA: Schema = {"type": "string", "pattern": "^[a-z0-9]+(-[a-z0-9]+)*$"}
_TEXT: Schema = {"type": "string", "minLength": 1}
_ONE_OR_MORE: Schema = {
    "type": ["string", "array"],
    "minLength": 1,
    "minItems": 1,
    "items": _TEXT,
    "uniqueItems": True,
}
_FLAG: Schema = {"type": "boolean"}
_VALUE_SCHEMA: Schema = {"type": ["string", "integer"], "minLength": 1}

STEP_KINDS = ("upload", "validate", "export", "compare", "process")
"""Keys of which each step has exactly one: what it does."""


@cache
def plan_format() -> Schema:
    """Return the JSON Schema (2020-12) of a plan."""
    properties: Schema = {
        "version": {"const": 1},
        "name": described(
            _NAME_SCHEMA, "The name of the plan; with the parameters it names the batch."
        ),
        "profile": described(_TEXT, "The environment, a name from profiles.toml."),
        "parameters": described(
            {"type": "object", "additionalProperties": _VALUE_SCHEMA},
            "Values filled into texts of the plan: {month}, {month.first}. `current` and "
            "`previous` are months.",
        ),
        "proof": described(_TEXT, "The path of the closing proof, without extension."),
        "steps": {"type": "object", "minProperties": 1, "additionalProperties": _step()},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "xlbridge batch plan",
        "description": "Steps over many workbooks and listings, each run once, in the right order.",
        **block_schema(properties, needed=("name", "steps")),
    }


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
    kinds = {ValueKind.FLAG: _FLAG, ValueKind.CODE: {"type": ["integer", "string"], "minimum": 1}}
    repeatable: Schema = {"type": ["string", "integer", "array"], "items": _VALUE_SCHEMA}
    return block_schema(
        {
            name.value: repeatable
            if name.type.is_repeatable
            else kinds.get(name.type.kind, _VALUE_SCHEMA)
            for name in Filter
        }
    )


def _compared_listing() -> Schema:
    return block_schema(
        {
            "resource": described(
                _TEXT, "Compares only the fields of this resource's sheet; otherwise all fields."
            ),
            "and": described(
                _ONE_OR_MORE, "Other listings of the same records, compared together with it."
            ),
            "filters": _filters(),
            "apart": described(
                {"type": "object", "additionalProperties": _TEXT},
                "Fields that are not compared, with the reasons; list.field within a list.",
            ),
        }
    )


_COMMON: Schema = {
    "after": described(
        {**_ONE_OR_MORE, "minItems": 0},
        "The steps that must be done before; by default they follow from the schemas' references.",
    ),
    "profile": described(_TEXT, "The environment of this step."),
}
_WORKBOOKS: Schema = {
    "resource": described(_TEXT, "The resource of the workbooks."),
    "sheet": described(_TEXT, "The sheet of each workbook."),
    "dates": described({"enum": list(get_args(DateOrder))}, "The order of day and month in text."),
    "numbers": described(
        {"enum": list(get_args(NumberStyle))}, "The style of numbers kept as text."
    ),
    "delimiter": described({"enum": list(CSV_DELIMITERS)}, "The delimiter of .csv files."),
    "encoding": described({"enum": list(CSV_ENCODINGS)}, "The encoding of .csv files."),
    "links": described(
        {"type": "object", "additionalProperties": _TEXT},
        "Columns whose cells identify a record by another of its columns, codigoDoCliente: "
        "seuCodigo, by any of its names, codigoDoCliente: cliente, or by a column of a workbook "
        "that an earlier step sends, codigoDoCliente: clientes.xlsx#chave.",
    ),
    "map": described(_TEXT, "The mapping file of workbooks with foreign headers."),
    "may_be_empty": described(_FLAG, "The step may have no workbooks."),
}
_BLOCKS: Mapping[str, Schema] = {
    "upload": {
        "upload": described(_ONE_OR_MORE, "Workbooks to send: paths or patterns such as *.xlsx."),
        **_COMMON,
        **_WORKBOOKS,
        "mode": {"enum": [mode for mode in get_args(RequestedMode) if mode != "preview"]},
        "chunk_rows": {"type": "integer", "minimum": 1},
        "rest": described(
            {"type": "integer", "minimum": 1, "maximum": 3600},
            "Seconds between the parts of chunk_rows: a capped listing is read by the minute of "
            "the last update, and cannot prove more records of one minute than its cap.",
        ),
        "update": described(
            _FLAG, "Changes existing records with other values; --update does so for all steps."
        ),
        "foreign_numbers": described(
            _FLAG,
            "The record numbers in the workbooks belong to another system, such as those of an "
            "export from there: they are not looked up here.",
        ),
        "leave_out": described(_ONE_OR_MORE, "Columns that this step does not send."),
    },
    "validate": {
        "validate": described(
            _ONE_OR_MORE, "Workbooks to validate: paths or patterns such as *.xlsx."
        ),
        **_COMMON,
        **_WORKBOOKS,
    },
    "export": {
        "export": described({"enum": sorted(LISTINGS)}, "The listing."),
        **_COMMON,
        "output": described(_TEXT, "The file to write; its extension selects the format."),
        "filters": _filters(),
        "flat": described(_TEXT, "One sheet only: each row of this list joined to its record."),
        "as_template": described(_TEXT, "Uses the layout of this resource's import sheet."),
        "settled": described(_FLAG, "Settled titles may be written into an import sheet."),
        "manifest": described(_TEXT, "The path of the manifest."),
    },
    "compare": {
        "compare": described(
            {
                "type": "object",
                "minProperties": 1,
                "propertyNames": {"enum": sorted(LISTINGS)},
                "additionalProperties": _compared_listing(),
            },
            "The listings to compare, those of registries first.",
        ),
        "left_out": described(
            {
                "type": "object",
                "propertyNames": {"enum": sorted(LISTINGS)},
                "additionalProperties": _TEXT,
            },
            "Listings that are not compared, with the reasons, for the report.",
        ),
        **_COMMON,
        "with": described(_TEXT, "The environment to compare with, a name from profiles.toml."),
        "output": described(_TEXT, "The workbook to write the report to."),
    },
    "process": {
        "process": described(
            {"enum": sorted(KINDS)},
            "The listing of the records to process: emission of invoices, processing of orders, "
            "inventories, queued files. Consent is asked for when the records are known.",
        ),
        **_COMMON,
        "records_of": described(_TEXT, "The step whose sent records are processed."),
        "file": described(_TEXT, "A workbook with the record numbers, instead of a step."),
    },
}

STEP_KEYS = frozenset(key for block in _BLOCKS.values() for key in block)
"""The keys that steps of any kind may have."""
_REQUIRED: Mapping[str, tuple[str, ...]] = {
    "upload": ("resource",),
    "export": ("output",),
    "compare": ("with", "output"),
}


_MONTH_PARAMETER = "month"
"""The parameter that ``--month`` sets."""

_RELATIVE_MONTHS = ("current", "previous")
"""Month names that are allowed instead of ``2026-10``."""

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_MONTH = re.compile(r"((?:19|20|21)\d\d)-(0[1-9]|1[0-2])")
_MONTH_LIKE = re.compile(r"\d{4}-\d\d?")
_NAME = re.compile(r"[^\W\d][\w-]*")
_VALUE = re.compile(r"[\w.-]+")
"""Characters that are allowed in file names on every system; dots alone are not a name."""

_MONTH_PARTS: Mapping[str, Callable[[date], str]] = {
    "first": lambda first: first.isoformat(),
    "last": lambda first: _last_day(first).isoformat(),
    "year": lambda first: f"{first:%Y}",
    "number": lambda first: f"{first:%m}",
    "previous": lambda first: f"{first - timedelta(days=1):%Y-%m}",
    "next": lambda first: f"{_last_day(first) + timedelta(days=1):%Y-%m}",
}
"""Parts of a parameter that is a month."""


class UnknownParameter(ValueError):
    """Unknown parameter in a text; ``message`` names it and the known ones."""

    def __init__(self, message: Text) -> None:
        super().__init__(str(message))
        self.message = message


def resolve_months(values: Mapping[str, str], today: date) -> dict[str, str]:
    """Return the parameters with ``current`` and ``previous`` replaced by months."""
    before = today.replace(day=1) - timedelta(days=1)
    months = dict(zip(_RELATIVE_MONTHS, (f"{today:%Y-%m}", f"{before:%Y-%m}"), strict=True))
    return {name: months.get(value, value) for name, value in values.items()}


def with_month(values: Mapping[str, str], month: str) -> dict[str, str]:
    """Return the parameters with the month of ``--month``.

    Raises ``UsageError`` unless it is ``2026-10``, ``current`` or ``previous``.
    """
    if month not in _RELATIVE_MONTHS and not _is_month(month):
        raise UsageError(
            Text(
                pt="--month {month}: escreva AAAA-MM, current ou previous.",
                en="--month {month}: write YYYY-MM, current or previous.",
            ).format(month=month)
        )
    return {**values, _MONTH_PARAMETER: month}


def _is_month(value: str) -> bool:
    """Return whether a value is a month, such as ``2026-10``."""
    return _MONTH.fullmatch(value) is not None


def fill_in(text: str, parameters: Mapping[str, str]) -> str:
    """Return a text with its parameters' values. Raises ``UnknownParameter``."""
    known = _placeholder_values(parameters)

    def value(match: re.Match[str]) -> str:
        if match[1] in known:
            return known[match[1]]
        raise UnknownParameter(
            Text(
                pt="{found} não é um parâmetro; há: {known}.",
                en="{found} is not a parameter; there are: {known}.",
            ).format(found=match[0], known=_listed(f"{{{name}}}" for name in known))
        )

    return _PLACEHOLDER.sub(value, text)


def _listed(names: Iterable[str]) -> Text | str:
    return ", ".join(names) or Text(pt="nenhum", en="none")


def _placeholder_values(parameters: Mapping[str, str]) -> dict[str, str]:
    known = dict(parameters)
    for name, value in parameters.items():
        if month := _MONTH.fullmatch(value):
            first = date(int(month[1]), int(month[2]), 1)
            known |= {f"{name}.{part}": part_of(first) for part, part_of in _MONTH_PARTS.items()}
    return known


def _last_day(first: date) -> date:
    return first.replace(day=calendar.monthrange(first.year, first.month)[1])


class PlanDocument:
    """A checked plan document with its parameters.

    ``overrides`` replace declared parameters. Raises ``UsageError`` if one is not declared.
    """

    def __init__(
        self, path: Path, document: YamlDocument, overrides: Mapping[str, str], today: date
    ) -> None:
        self.content: Mapping[str, Any] = document.content
        self.mistakes: list[Mistake] = []
        self._path = path
        self._document = document
        self.parameters: Mapping[str, str] = self._resolve_parameters(overrides, today)

    @property
    def folder(self) -> Path:
        """The folder that the plan's paths are relative to."""
        return self._path.parent

    def add_mistake(self, key_path: YamlPath, message: Text) -> None:
        """Record a mistake at a key of the plan."""
        self.mistakes.append(
            Mistake(self._document.line(key_path), format_yaml_path(key_path), message)
        )

    def text(self, key_path: YamlPath, text: object) -> str:
        """Return a text of the plan with the parameters filled in."""
        try:
            return fill_in(str(text), self.parameters)
        except UnknownParameter as error:
            self.add_mistake(key_path, error.message)
            return str(text)

    def texts(self, key_path: YamlPath, value: Any) -> tuple[str, ...]:
        """Return the texts of a list, or the only one, with the parameters filled in."""
        if not isinstance(value, list):
            return (self.text(key_path, value),)
        return tuple(self.text((*key_path, number), text) for number, text in enumerate(value))

    def _resolve_parameters(self, overrides: Mapping[str, str], today: date) -> dict[str, str]:
        declared = {
            name: str(value) for name, value in self._document.content.get("parameters", {}).items()
        }
        for name in overrides:
            if name not in declared:
                raise UsageError(
                    Text(
                        pt="{plan} não tem o parâmetro {name}; tem: {known}.",
                        en="{plan} has no parameter {name}; it has: {known}.",
                    ).format(plan=self._path, name=name, known=_listed(declared)),
                    Text(
                        pt="Declare-o com um valor em parameters.",
                        en="Declare it with a value under parameters.",
                    ),
                )
        parameters = resolve_months({**declared, **overrides}, today)
        for name, value in parameters.items():
            if not _NAME.fullmatch(name):
                message = Text(
                    pt="{name!r} não serve: só letras, algarismos, hífen e sublinhado.",
                    en="{name!r} is not valid: only letters, digits, hyphen and underscore.",
                )
                self.add_mistake(("parameters", name), message.format(name=name))
            if _MONTH_LIKE.fullmatch(value) and not _is_month(value):
                message = Text(pt="{value} não é um mês.", en="{value} is not a month.")
                self.add_mistake(("parameters", name), message.format(value=value))
            if not _VALUE.fullmatch(value) or not value.strip("."):
                message = Text(
                    pt="{value!r} não serve: só letras, algarismos, ponto, hífen e sublinhado.",
                    en="{value!r} is not valid: only letters, digits, dot, hyphen and underscore.",
                ).format(value=value)
                self.add_mistake(("parameters", name), message)
        return parameters
