"""The values that a plan's texts are filled in with: ``{month}``, ``{month.first}``, …"""

import calendar
import re
from collections.abc import Callable, Mapping
from datetime import date, timedelta

from xlbridge.i18n import Text

MONTH = "month"
"""The parameter that ``--month`` sets."""

MONTHS = ("current", "previous")
"""What a month may be called instead of being written."""

_PLACE = re.compile(r"\{([^{}]*)\}")
_MONTH = re.compile(r"((?:19|20|21)\d\d)-(0[1-9]|1[0-2])")
_LIKE_A_MONTH = re.compile(r"\d{4}-\d\d?")
_NAME = re.compile(r"[^\W\d][\w-]*")
_VALUE = re.compile(r"[\w.-]+")

_PARTS: Mapping[str, Callable[[date], str]] = {
    "first": lambda first: first.isoformat(),
    "last": lambda first: _last(first).isoformat(),
    "year": lambda first: f"{first:%Y}",
    "number": lambda first: f"{first:%m}",
    "previous": lambda first: f"{first - timedelta(days=1):%Y-%m}",
    "next": lambda first: f"{_last(first) + timedelta(days=1):%Y-%m}",
}
"""What can be taken of a parameter that is a month."""


class UnknownParameter(ValueError):
    """A text names what is no parameter; ``told`` says which, and which there are."""

    def __init__(self, told: Text) -> None:
        super().__init__(str(told))
        self.told = told


def settle(values: Mapping[str, str], today: date) -> dict[str, str]:
    """Return the parameters with ``current`` and ``previous`` as the months that they mean."""
    before = today.replace(day=1) - timedelta(days=1)
    months = dict(zip(MONTHS, (f"{today:%Y-%m}", f"{before:%Y-%m}"), strict=True))
    return {name: months.get(value, value) for name, value in values.items()}


def is_usable(value: str) -> bool:
    """Whether a value can be part of a file's name anywhere."""
    return _VALUE.fullmatch(value) is not None and value.strip(".") != ""


def is_month(value: str) -> bool:
    """Whether a value is a month: ``2026-10``."""
    return _MONTH.fullmatch(value) is not None


def is_no_month(value: str) -> bool:
    """Whether a value looks like a month and is none, such as ``2026-13``."""
    return _LIKE_A_MONTH.fullmatch(value) is not None and not is_month(value)


def is_name(name: str) -> bool:
    """Whether a parameter can be called so."""
    return _NAME.fullmatch(name) is not None


def fill_in(text: str, parameters: Mapping[str, str]) -> str:
    """Return a text with its parameters' values. Raises ``UnknownParameter``."""
    known = _known(parameters)

    def value(match: re.Match[str]) -> str:
        if match[1] in known:
            return known[match[1]]
        raise UnknownParameter(
            Text(
                pt="{found} não é um parâmetro; há: {known}.",
                en="{found} is no parameter; there are: {known}.",
            ).format(found=match[0], known=", ".join(f"{{{name}}}" for name in known) or "–")
        )

    return _PLACE.sub(value, text)


def _known(parameters: Mapping[str, str]) -> dict[str, str]:
    known = dict(parameters)
    for name, value in parameters.items():
        if month := _MONTH.fullmatch(value):
            first = date(int(month[1]), int(month[2]), 1)
            known |= {f"{name}.{part}": told(first) for part, told in _PARTS.items()}
    return known


def _last(first: date) -> date:
    return first.replace(day=calendar.monthrange(first.year, first.month)[1])
