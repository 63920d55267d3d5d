"""Filters as people write them, on the command line or in a plan: read, and refused."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from xlbridge.errors import UsageError
from xlbridge.export.filters import CODES, FILTERS, YEARS, Filter, Filters, ValueKind
from xlbridge.i18n import Text
from xlbridge.wire.model import parse_moment

_CODE = re.compile(r"[0-9]{1,15}")
_RANGE = re.compile(r"([0-9]{1,15})(?:-([0-9]{1,15}))?")
_MOST_CODES = 1_000_000


class FilterMistake(UsageError):
    """Filters that cannot be what they are; ``names`` are theirs.

    ``what`` names them by ``{filters}``: in the message as the command's options, in ``bare`` as a
    plan writes them.
    """

    def __init__(
        self, what: Text, names: Sequence[Filter], hint: Text | None = None, **details: object
    ) -> None:
        super().__init__(what.format(filters=options(names), **details), hint)
        self.names = tuple(names)
        self.bare = what.format(filters=", ".join(names), **details)


def options(names: Sequence[Filter]) -> str:
    """Return the command's options of filters, as a text."""
    return ", ".join(f"--{name}" for name in names)


def read_filters(texts: Mapping[Filter, Any]) -> Filters:
    """Read the filters as a user writes them; None, false and no values are not given.

    Raises ``FilterMistake`` for a value that cannot be one, an empty one among them, or a start
    after the end.
    """
    wanted = {name: text for name, text in texts.items() if text not in (None, False, ())}
    _require_some_text(wanted)
    given = {name: _read(name, text) for name, text in wanted.items()}
    filters = Filters(given)
    if filters.start and filters.end and filters.start > filters.end:
        raise FilterMistake(
            Text(
                pt="{filters}: o início vem depois do fim.",
                en="{filters}: the start comes after the end.",
            ),
            [Filter.FROM, Filter.TO],
        )
    return filters


def _require_some_text(texts: Mapping[Filter, Any]) -> None:
    """Refuse empty values: a script's variable that is not set must not ask for everything."""
    empty = [
        name
        for name, text in texts.items()
        if not all(str(one).strip() for one in (text if isinstance(text, tuple) else (text,)))
    ]
    if empty:
        raise FilterMistake(
            Text(
                pt="{filters}: o valor está vazio. Escreva o valor, ou tire o filtro.",
                en="{filters}: the value is empty. Write the value, or leave the filter out.",
            ),
            empty,
        )


def _read(name: Filter, text: Any) -> Any:
    match FILTERS[name].kind:
        case ValueKind.MOMENT:
            return read_date(name, text)
        case ValueKind.CODE:
            return _code(name, str(text).strip())
        case ValueKind.CODES:
            return tuple(code for part in text for code in _codes(name, part))
        case ValueKind.TEXTS:
            return tuple(text)
        case _:
            return text


def _code(name: Filter, text: str) -> int:
    codes = FILTERS[name].codes
    code = int(text) if _CODE.fullmatch(text) else 0
    if code not in codes:
        raise FilterMistake(
            _NO_CODE if codes is CODES else _OUT_OF_RANGE,
            [name],
            text=text,
            first=codes[0],
            last=codes[-1],
        )
    return code


_NO_CODE = Text(
    pt="{filters}: {text!r} não é um código. Escreva um número, como 7.",
    en="{filters}: {text!r} is not a code. Write a number, such as 7.",
)
_OUT_OF_RANGE = Text(
    pt="{filters}: {text!r} não serve. Escreva um número de {first} a {last}.",
    en="{filters}: {text!r} will not do. Write a number from {first} to {last}.",
)


def _codes(name: Filter, text: str) -> Sequence[int]:
    match = _RANGE.fullmatch(text.strip())
    first = int(match[1]) if match else 0
    last = int(match[2] or match[1]) if match else 0
    if last - first >= _MOST_CODES:
        raise FilterMistake(
            Text(
                pt="{filters}: {text!r} são {count} códigos, e o máximo é {most}.",
                en="{filters}: {text!r} are {count} codes, and {most} is the most.",
            ),
            [name],
            text=text,
            count=last - first + 1,
            most=_MOST_CODES,
        )
    if not 0 < first <= last:
        raise FilterMistake(
            Text(
                pt="{filters}: {text!r} não é um código. Escreva 7, ou 1-500.",
                en="{filters}: {text!r} is not a code. Write 7, or 1-500.",
            ),
            [name],
            text=text,
        )
    return range(first, last + 1)


def read_date(option: Filter, text: str | None) -> datetime | None:
    """Read a date as dd/mm/yyyy or yyyy-mm-dd, optionally followed by HH:MM.

    A day alone as the end means all of that day. Raises ``FilterMistake`` for anything else,
    two-digit years included.
    """
    if text is None:
        return None
    try:
        moment = parse_moment(text) if "/" in text else datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if not isinstance(moment, datetime) or not _can_be_asked_for(moment):
        raise FilterMistake(
            Text(
                pt="{filters}: {text!r} não é uma data. Escreva 31/01/2026 ou 2026-01-31, com "
                "hora se preciso: “31/01/2026 18:30”.",
                en="{filters}: {text!r} is not a date. Write 31/01/2026 or 2026-01-31, with a "
                "time where needed: “31/01/2026 18:30”.",
            ),
            [option],
            text=text,
        )
    if option is Filter.TO and ":" not in text:
        return moment.replace(hour=23, minute=59)
    return moment


def _can_be_asked_for(moment: datetime) -> bool:
    is_whole_minute = not (moment.tzinfo or moment.second or moment.microsecond)
    return is_whole_minute and moment.year in YEARS
