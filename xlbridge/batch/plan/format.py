"""Format of a batch plan: its root, the keys of its steps, and parameters filled into its texts.

Placeholders are ``{month}``, ``{month.first}``, ….
"""

import calendar
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, timedelta
from functools import cache
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from xlbridge.batch.plan.steps import (
    CompareStep,
    ExportStep,
    ProcessStep,
    SendOptions,
    WorkbookStep,
)
from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.resources.models import (
    UNIQUE,
    Alternatives,
    Block,
    Identifier,
    Name,
    OneOrMore,
    Schema,
    json_schema,
    one_of,
    with_form,
)
from xlbridge.settings import CSV_DELIMITERS, CSV_ENCODINGS, DateOrder, NumberStyle


class _StepHead(Struct):
    """Keys that every step may have.

    after: The steps that must be done before; by default they follow from the schemas'
        references.
    """

    after: Name | Annotated[tuple[Name, ...], UNIQUE] = ()


class Reading(Struct, frozen=True):
    """Reading of the workbooks of a step.

    dates: The order of day and month in text.
    numbers: The style of numbers kept as text.
    delimiter: The delimiter of .csv files.
    encoding: The encoding of .csv files.
    map: The mapping file of workbooks with foreign headers.
    accept: The findings that are right as they are, each as CODE or CODE:COLUMN.
    """

    dates: DateOrder | None = None
    numbers: NumberStyle | None = None
    delimiter: Annotated[str | None, one_of(lambda: CSV_DELIMITERS)] = None
    encoding: Annotated[str | None, one_of(lambda: CSV_ENCODINGS)] = None
    map: Name | None = None
    accept: tuple[Name, ...] = ()


class _SentWorkbooks(Struct):
    """Workbooks of a step that sends them.

    upload: Workbooks to send: paths or patterns such as *.xlsx.
    """

    upload: OneOrMore


class _OfResource(Struct):
    """Keys that only a step that sends must have."""

    resource: Name


class _ValidatedWorkbooks(Struct):
    """Workbooks of a step that only validates them.

    validate: Workbooks to validate: paths or patterns such as *.xlsx.
    """

    validate: OneOrMore


_MODELS: Mapping[str, tuple[type[Struct], ...]] = {
    "upload": (_SentWorkbooks, _StepHead, _OfResource, WorkbookStep, Reading, SendOptions),
    "validate": (_ValidatedWorkbooks, _StepHead, WorkbookStep, Reading),
    "export": (_StepHead, ExportStep),
    "compare": (_StepHead, CompareStep),
    "process": (_StepHead, ProcessStep),
}
"""Keys of which each step has exactly one: what it does; with what it may have."""


STEP_KINDS = tuple(_MODELS)


def kind_of(step: Mapping[str, Any]) -> str | None:
    """Return the key of a step that says what it does, None if it has none."""
    return next((kind for kind in _MODELS if kind in step), None)


@cache
def _step() -> Alternatives:
    blocks = {kind: ({"required": [kind]}, Block.of(*models)) for kind, models in _MODELS.items()}
    return Alternatives(Block({}).with_types(dict.fromkeys(_MODELS, Any)), blocks, kind_of)


def step_keys() -> set[str]:
    """Return the keys that steps of any kind may have."""
    return {key for models in _MODELS.values() for key in Block.of(*models).types}


class PlanFile(Struct, frozen=True, kw_only=True):
    """Root of a plan.

    name: The name of the plan; with the parameters it names the batch.
    profile: The environment, a name from profiles.toml.
    parameters: Values filled into texts of the plan: {month}, {month.first}. `current` and
        `previous` are months.
    proof: The path of the closing proof; each of its forms gets its ending.
    """

    version: Literal[1] = 1
    name: Identifier
    profile: Name | None = None
    parameters: Mapping[str, Name | int] = {}
    proof: Name | None = None
    steps: Annotated[Mapping[str, Annotated[dict[str, Any], with_form(_step)]], Meta(min_length=1)]


def plan_format() -> Schema:
    """Return the JSON Schema (2020-12) of a plan."""
    return json_schema(
        "xlbridge batch plan",
        "Steps over many workbooks and listings, each run once, in the right order.",
        Block.of(PlanFile),
    )


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


def resolve_months(values: Mapping[str, str], today: Callable[[], date]) -> dict[str, str]:
    """Return the parameters with ``current`` and ``previous`` replaced by months."""
    if not set(_RELATIVE_MONTHS) & set(values.values()):
        return dict(values)
    current = today().replace(day=1)
    days = current, current - timedelta(days=1)
    months = dict(zip(_RELATIVE_MONTHS, (f"{day:%Y-%m}" for day in days), strict=True))
    return {name: months.get(value, value) for name, value in values.items()}


def with_month(values: Mapping[str, str], month: str) -> dict[str, str]:
    """Return the parameters with the month of ``--month``.

    Raises ``UsageError`` unless it is ``2026-10``, ``current`` or ``previous``.
    """
    if month not in _RELATIVE_MONTHS and not _MONTH.fullmatch(month):
        raise UsageError(
            Text(
                pt="--month {month}: escreva AAAA-MM, current ou previous.",
                en="--month {month}: write YYYY-MM, current or previous.",
                page=Text(
                    pt="“{month}” não é um mês. Escolha o mês e o ano.",
                    en="“{month}” is not a month. Choose the month and the year.",
                ),
            ).format(month=month)
        )
    return {**values, _MONTH_PARAMETER: month}


def fill_in(text: str, parameters: Mapping[str, str]) -> str:
    """Return a text with its parameters' values. Raises ``UnknownParameter``."""
    known = dict(parameters)
    for name, text_of in parameters.items():
        if month := _MONTH.fullmatch(text_of):
            first = date(int(month[1]), int(month[2]), 1)
            known |= {f"{name}.{part}": part_of(first) for part, part_of in _MONTH_PARTS.items()}

    def value(match: re.Match[str]) -> str:
        if match[1] in known:
            return known[match[1]]
        raise UnknownParameter(
            Text(
                pt="{found} não é um parâmetro; há: {known}.",
                en="{found} is not a parameter; there are: {known}.",
            ).format(found=match[0], known=listed(f"{{{name}}}" for name in known))
        )

    return _PLACEHOLDER.sub(value, text)


def listed(names: Iterable[str]) -> Text | str:
    return ", ".join(names) or Text(pt="nenhum", en="none")


def _last_day(first: date) -> date:
    return first.replace(day=calendar.monthrange(first.year, first.month)[1])


def parameter_mistakes(name: str, value: str) -> Iterator[Text]:
    """Yield what is wrong with the name and the value of a parameter."""
    if not _NAME.fullmatch(name):
        yield Text(
            pt="{name!r} não serve: só letras, algarismos, hífen e sublinhado.",
            en="{name!r} is not valid: only letters, digits, hyphen and underscore.",
        ).format(name=name)
    if _MONTH_LIKE.fullmatch(value) and not _MONTH.fullmatch(value):
        yield Text(pt="{value} não é um mês.", en="{value} is not a month.").format(value=value)
    if not _VALUE.fullmatch(value) or not value.strip("."):
        yield Text(
            pt="{value!r} não serve: só letras, algarismos, ponto, hífen e sublinhado.",
            en="{value!r} is not valid: only letters, digits, dot, hyphen and underscore.",
        ).format(value=value)
