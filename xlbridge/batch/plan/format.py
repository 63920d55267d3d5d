"""Format of a batch plan: its JSON Schema, its parameters, and its texts filled in with them.

The reader checks plans against the schema, editors complete by it, and the reference shows it.
Parameters are written ``{month}``, ``{month.first}``, ….
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
"""The key of a step that says what it does, and to what."""


@cache
def plan_format() -> Schema:
    """Return the JSON Schema (2020-12) of a plan."""
    properties: Schema = {
        "version": {"const": 1},
        "name": described(
            _NAME_SCHEMA, "What the batch is called; with the parameters it is its name."
        ),
        "profile": described(_TEXT, "The environment, as profiles.toml calls it."),
        "parameters": described(
            {"type": "object", "additionalProperties": _VALUE_SCHEMA},
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
    values: dict[str, Schema] = {}
    for name in Filter:
        one = flag.get(name.type.kind, _VALUE_SCHEMA)
        values[name.value] = (
            {"type": ["string", "integer", "array"], "items": _VALUE_SCHEMA}
            if name.type.is_repeatable
            else one
        )
    return block_schema(values)


def _compared_listing() -> Schema:
    return block_schema(
        {
            "resource": described(
                _TEXT, "Compares the fields that this resource's sheet carries; else all of them."
            ),
            "and": described(_ONE_OR_MORE, "Other listings of the same records, taken together."),
            "filters": _filters(),
            "apart": described(
                {"type": "object", "additionalProperties": _TEXT},
                "Fields that are not compared, each with the reason; list.field within a list.",
            ),
        }
    )


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
        "Columns whose cells name a record by another column of it, codigoDoCliente: seuCodigo, by "
        "any of its names, codigoDoCliente: cliente, or by a column of a workbook that an earlier "
        "step sends, codigoDoCliente: clientes.xlsx#chave.",
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
        "rest": described(
            {"type": "integer", "minimum": 1, "maximum": 3600},
            "Seconds between the parts of chunk_rows: a listing that is capped is read by the "
            "minute of the last update, and proves no more records of one minute than its cap.",
        ),
        "update": described(
            _FLAG, "Records that are there with other values are changed; --update for all steps."
        ),
        "foreign_numbers": described(
            _FLAG,
            "The numbers of records in the workbooks are another system's, such as those of an "
            "export from there: they find nothing here.",
        ),
        "leave_out": described(_ONE_OR_MORE, "Columns whose cells are not sent by this step."),
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
            "Listings that are not compared, each with the reason, for the report.",
        ),
        **_COMMON,
        "with": described(_TEXT, "The environment to compare with, as profiles.toml calls it."),
        "output": described(_TEXT, "The workbook that the report is written into."),
    },
    "process": {
        "process": described(
            {"enum": sorted(KINDS)},
            "The listing of the records to process: emission of invoices, processing of orders, "
            "inventories, queued files. What is final is consented to when it is known.",
        ),
        **_COMMON,
        "records_of": described(_TEXT, "The step whose records are processed: what it has sent."),
        "file": described(_TEXT, "A workbook with the numbers of the records, in place of a step."),
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

RELATIVE_MONTHS = ("current", "previous")
"""Names of months that may stand instead of a date."""

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_MONTH = re.compile(r"((?:19|20|21)\d\d)-(0[1-9]|1[0-2])")
_MONTH_LIKE = re.compile(r"\d{4}-\d\d?")
_NAME = re.compile(r"[^\W\d][\w-]*")
_VALUE = re.compile(r"[\w.-]+")
"""What can be part of a file name on every system, unless it is nothing but dots."""

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
    """Return the parameters with ``current`` and ``previous`` as the months that they mean."""
    before = today.replace(day=1) - timedelta(days=1)
    months = dict(zip(RELATIVE_MONTHS, (f"{today:%Y-%m}", f"{before:%Y-%m}"), strict=True))
    return {name: months.get(value, value) for name, value in values.items()}


def with_month(values: Mapping[str, str], month: str) -> dict[str, str]:
    """Return the parameters with the month of ``--month``.

    Raises ``UsageError`` unless it is ``2026-10``, ``current`` or ``previous``.
    """
    if month not in RELATIVE_MONTHS and not is_month(month):
        raise UsageError(
            Text(
                pt="--month {month}: escreva AAAA-MM, current ou previous.",
                en="--month {month}: write YYYY-MM, current or previous.",
            ).format(month=month)
        )
    return {**values, _MONTH_PARAMETER: month}


def is_month(value: str) -> bool:
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

    Raises ``UsageError`` where a parameter is ``given`` that the plan does not have.
    """

    def __init__(
        self, path: Path, document: YamlDocument, given: Mapping[str, str], today: date
    ) -> None:
        self.content: Mapping[str, Any] = document.content
        self.mistakes: list[Mistake] = []
        self._path = path
        self._document = document
        self.parameters: Mapping[str, str] = self._settled(given, today)

    @property
    def folder(self) -> Path:
        """The folder of the plan, which its paths are relative to."""
        return self._path.parent

    def add_mistake(self, key_path: YamlPath, message: Text) -> None:
        """Record a mistake at a key of the plan."""
        self.mistakes.append(
            Mistake(self._document.line(key_path), format_yaml_path(key_path), message)
        )

    def text(self, key_path: YamlPath, text: object) -> str:
        """Return a text of the plan with its parameters' values."""
        try:
            return fill_in(str(text), self.parameters)
        except UnknownParameter as error:
            self.add_mistake(key_path, error.message)
            return str(text)

    def texts(self, key_path: YamlPath, value: Any) -> tuple[str, ...]:
        """Return one text, or several of a list."""
        if not isinstance(value, list):
            return (self.text(key_path, value),)
        return tuple(self.text((*key_path, number), text) for number, text in enumerate(value))

    def _settled(self, given: Mapping[str, str], today: date) -> dict[str, str]:
        declared = {
            name: str(value) for name, value in self._document.content.get("parameters", {}).items()
        }
        for name in given:
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
        settled = resolve_months({**declared, **given}, today)
        for name, value in settled.items():
            if not _NAME.fullmatch(name):
                message = Text(
                    pt="{name!r} não serve: só letras, algarismos, hífen e sublinhado.",
                    en="{name!r} is not valid: only letters, digits, hyphen and underscore.",
                )
                self.add_mistake(("parameters", name), message.format(name=name))
            if _MONTH_LIKE.fullmatch(value) and not is_month(value):
                message = Text(pt="{value} não é um mês.", en="{value} is not a month.")
                self.add_mistake(("parameters", name), message.format(value=value))
            if not _VALUE.fullmatch(value) or not value.strip("."):
                message = Text(
                    pt="{value!r} não serve: só letras, algarismos, ponto, hífen e sublinhado.",
                    en="{value!r} is not valid: only letters, digits, dot, hyphen and underscore.",
                ).format(value=value)
                self.add_mistake(("parameters", name), message)
        return settled
