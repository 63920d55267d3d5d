"""Parameters of a plan (``{month}``, ``{month.first}``, …), and its texts filled in with them."""

import calendar
import re
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.resources.yaml_files import Mistake, YamlDocument, YamlPath, format_yaml_path

_MONTH_PARAMETER = "month"
"""The parameter that ``--month`` sets."""

RELATIVE_MONTHS = ("current", "previous")
"""Names of months that may stand instead of a date."""

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_MONTH = re.compile(r"((?:19|20|21)\d\d)-(0[1-9]|1[0-2])")
_MONTH_LIKE = re.compile(r"\d{4}-\d\d?")
_NAME = re.compile(r"[^\W\d][\w-]*")
_VALUE = re.compile(r"[\w.-]+")

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


def is_valid_value(value: str) -> bool:
    """Return whether a value can be part of a file name on every system."""
    return _VALUE.fullmatch(value) is not None and value.strip(".") != ""


def is_month(value: str) -> bool:
    """Return whether a value is a month, such as ``2026-10``."""
    return _MONTH.fullmatch(value) is not None


def is_invalid_month(value: str) -> bool:
    """Return whether a value looks like a month and is none, such as ``2026-13``."""
    return _MONTH_LIKE.fullmatch(value) is not None and not is_month(value)


def is_valid_name(name: str) -> bool:
    """Return whether a text can be the name of a parameter."""
    return _NAME.fullmatch(name) is not None


def fill_in(text: str, parameters: Mapping[str, str]) -> str:
    """Return a text with its parameters' values. Raises ``UnknownParameter``."""
    known = _placeholder_values(parameters)

    def value(match: re.Match[str]) -> str:
        if match[1] in known:
            return known[match[1]]
        raise UnknownParameter(
            Text(
                pt="{found} não é um parâmetro; há: {known}.",
                en="{found} is no parameter; there are: {known}.",
            ).format(found=match[0], known=", ".join(f"{{{name}}}" for name in known) or "–")
        )

    return _PLACEHOLDER.sub(value, text)


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

    def add_mistake(self, key_path: YamlPath, what: Text) -> None:
        """Record a mistake at a key of the plan."""
        self.mistakes.append(
            Mistake(self._document.line(key_path), format_yaml_path(key_path), what)
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
                    ).format(plan=self._path, name=name, known=", ".join(declared) or "–"),
                    Text(
                        pt="Declare-o com um valor em parameters.",
                        en="Declare it with a value under parameters.",
                    ),
                )
        settled = resolve_months({**declared, **given}, today)
        for name, value in settled.items():
            if not is_valid_name(name):
                what = Text(
                    pt="{name!r} não serve: só letras, algarismos, hífen e sublinhado.",
                    en="{name!r} will not do: only letters, digits, hyphen and underscore.",
                )
                self.add_mistake(("parameters", name), what.format(name=name))
            if is_invalid_month(value):
                what = Text(pt="{value} não é um mês.", en="{value} is no month.")
                self.add_mistake(("parameters", name), what.format(value=value))
            if not is_valid_value(value):
                what = Text(
                    pt="{value!r} não serve: só letras, algarismos, ponto, hífen e sublinhado.",
                    en="{value!r} will not do: only letters, digits, dot, hyphen and underscore.",
                ).format(value=value)
                self.add_mistake(("parameters", name), what)
        return settled
