"""What an export is narrowed to, checked before the first call."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.wire.model import WireModel, parse_moment


class Filter(StrEnum):
    """What a listing may be narrowed by; the value is the name of the command's option."""

    FROM = "from"
    TO = "to"
    BRANCH = "branch"
    CLIENT = "client"
    PRODUCT = "product"
    ACCOUNT = "account"
    COST_CENTRE = "cost-centre"
    CATEGORY = "category"
    PROJECT = "project"
    YEAR = "year"
    MONTH = "month"
    DOCUMENT = "document"
    IDWS = "idws"
    ID = "id"
    ACTIVE = "active"
    LIMIT = "limit"


class ValueKind(StrEnum):
    """What the value of a filter is."""

    MOMENT = "moment"
    CODE = "code"
    CODES = "codes"
    TEXT = "text"
    TEXTS = "texts"
    FLAG = "flag"


_YEARS = range(1900, 3000)
_CODES = range(1, 10**15)


@dataclass(frozen=True, slots=True)
class FilterType:
    """What a filter takes, and which fields of a query carry it; a code lies within ``codes``."""

    kind: ValueKind
    meaning: Text
    fields: tuple[str, ...] = ()
    codes: range = _CODES


FILTERS: Mapping[Filter, FilterType] = {
    Filter.FROM: FilterType(
        ValueKind.MOMENT,
        Text(pt="Atualizados desde: 31/01/2026.", en="Updated since: 31/01/2026 or 2026-01-31."),
        ("dataInferior",),
    ),
    Filter.TO: FilterType(
        ValueKind.MOMENT,
        Text(
            pt="Atualizados até esse dia, inclusive.",
            en="Updated until that day, the day itself included.",
        ),
        ("dataSuperior",),
    ),
    Filter.BRANCH: FilterType(
        ValueKind.CODE,
        Text(pt="Só essa filial.", en="That branch only."),
        ("codigoDaFilial", "CodigoDaFilial", "filial"),
    ),
    Filter.CLIENT: FilterType(
        ValueKind.CODES,
        Text(pt="Só esse cliente.", en="That client only."),
        ("codigoDoCliente",),
    ),
    Filter.PRODUCT: FilterType(
        ValueKind.CODES, Text(pt="Só esse produto.", en="That product only.")
    ),
    Filter.ACCOUNT: FilterType(
        ValueKind.CODE,
        Text(pt="A conta corrente.", en="The current account."),
        ("codigoDaContaCorrente",),
    ),
    Filter.COST_CENTRE: FilterType(
        ValueKind.TEXTS,
        Text(pt="Só esse centro de custo.", en="That cost centre only."),
        ("CodigosCentroCustos", "codigoDoCentroDeCusto"),
    ),
    Filter.CATEGORY: FilterType(
        ValueKind.TEXT,
        Text(pt="Só esse item de lançamento.", en="That posting item only."),
        ("codigoDoItemDeLancamento",),
    ),
    Filter.PROJECT: FilterType(
        ValueKind.CODE, Text(pt="Só esse projeto.", en="That project only."), ("codigoDoProjeto",)
    ),
    Filter.YEAR: FilterType(
        ValueKind.CODE, Text(pt="Só esse ano.", en="That year only."), ("ano",), _YEARS
    ),
    Filter.MONTH: FilterType(
        ValueKind.CODE, Text(pt="Só esse mês.", en="That month only."), ("mes",), range(1, 13)
    ),
    Filter.DOCUMENT: FilterType(
        ValueKind.TEXT,
        Text(pt="Só o registro com esse CNPJ ou CPF.", en="The record with that CNPJ or CPF only."),
        ("cnpjcpf",),
    ),
    Filter.IDWS: FilterType(
        ValueKind.TEXT,
        Text(
            pt="Só o registro com esse identificador seu.",
            en="The record with that identifier of yours only.",
        ),
        ("idws",),
    ),
    Filter.ID: FilterType(
        ValueKind.CODES,
        Text(pt="Só esses: 7, ou de 1-500.", en="Those only: 7, or from 1-500."),
    ),
    Filter.ACTIVE: FilterType(
        ValueKind.FLAG, Text(pt="Só os ativos.", en="Active ones only."), ("somenteAtivos",)
    ),
    Filter.LIMIT: FilterType(
        ValueKind.CODE,
        Text(
            pt="No máximo tantos registros; se vierem todos esses, não está completo.",
            en="So many records at most; if as many come, it is not complete.",
        ),
        ("qtde",),
    ),
}
"""Every filter, by its name."""

_CODE = re.compile(r"[0-9]{1,15}")
_RANGE = re.compile(r"([0-9]{1,15})(?:-([0-9]{1,15}))?")
_MOST_CODES = 1_000_000


def field_of(filter_name: Filter, query: type[WireModel] | None) -> str | None:
    """Return the field of a query that carries a filter, None where there is none."""
    fields = query.model_fields if query else {}
    return next((name for name in FILTERS[filter_name].fields if name in fields), None)


@dataclass(frozen=True, slots=True)
class Filters:
    """The filters of one export, by name; what is not there does not narrow.

    ``FROM`` and ``TO`` bound the last update, to the minute, both included.
    """

    given: Mapping[Filter, Any] = field(default_factory=dict)

    @property
    def start(self) -> datetime | None:
        """The first moment."""
        return self.given.get(Filter.FROM)

    @property
    def end(self) -> datetime | None:
        """The last minute."""
        return self.given.get(Filter.TO)

    def within(self, start: datetime | None, end: datetime | None) -> "Filters":
        """Return the same filters, narrowed to a window."""
        bounds = {Filter.FROM: start, Filter.TO: end}
        others = {name: value for name, value in self.given.items() if name not in bounds}
        return replace(self, given=others | {n: at for n, at in bounds.items() if at is not None})

    def query(self, model: type[WireModel] | None) -> WireModel | None:
        """Return the query that carries the filters; lists of one become the one."""
        if model is None:
            return None
        values = {}
        for name, value in self.given.items():
            place = field_of(name, model)
            if place is not None:
                is_list = "list" in str(model.model_fields[place].annotation)
                values[place] = value[0] if isinstance(value, tuple) and not is_list else value
        return model(**values)


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
            _NO_CODE if codes is _CODES else _OUT_OF_RANGE,
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
    return is_whole_minute and moment.year in _YEARS
