"""Filters of an export: declarations, and parsing of what users write in options and plans."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.wire import WireModel, parse_moment


class Filter(StrEnum):
    """Filter of a listing; the value is the name of the command's option."""

    FROM = "from"
    TO = "to"
    BRANCH = "branch"
    CLIENT = "client"
    SUPPLIER = "supplier"
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
    WITH_BALANCE = "with-balance"
    NOT_EMITTED = "not-emitted"
    UNFINISHED = "unfinished"
    LIMIT = "limit"

    @property
    def type(self) -> "FilterType":
        """Type of its values, and the fields that carry them."""
        return _TYPES[self]


class ValueKind(StrEnum):
    """Kind of a filter's value."""

    MOMENT = "moment"
    CODE = "code"
    CODES = "codes"
    TEXT = "text"
    TEXTS = "texts"
    FLAG = "flag"


YEAR_RANGE = range(1900, 3000)
"""The years that the remote system can be asked for."""

CODE_RANGE = range(1, 10**15)
"""The numbers that can be codes."""


@dataclass(frozen=True, slots=True)
class FilterType:
    """Values of a filter; a code lies within ``codes``.

    ``fields`` are those of a query that carry it, ``of_record`` those in which a record shows it;
    with ``is_nonzero`` a record passes where it shows another number than zero there, with
    ``is_empty`` where it shows that there is nothing in any of them.
    """

    kind: ValueKind
    meaning: Text
    fields: tuple[str, ...] = ()
    codes: range = CODE_RANGE
    of_record: tuple[str, ...] = ()
    is_nonzero: bool = False
    is_empty: bool = False

    @property
    def is_flag(self) -> bool:
        """True when the filter is given or not, without a value."""
        return self.kind is ValueKind.FLAG

    @property
    def is_repeatable(self) -> bool:
        """True when the filter may be given several times."""
        return self.kind in (ValueKind.CODES, ValueKind.TEXTS)


_TYPES: Mapping[Filter, FilterType] = {
    Filter.FROM: FilterType(
        ValueKind.MOMENT,
        Text(
            pt="Atualizados desde esse dia (31/01/2026).",
            en="Updated since that day (31/01/2026 or 2026-01-31).",
        ),
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
        ValueKind.CODES,
        Text(pt="Só essa filial.", en="That branch only."),
        ("codigoDaFilial", "CodigoDaFilial", "filial"),
        of_record=("codigoDaFilial",),
    ),
    Filter.CLIENT: FilterType(
        ValueKind.CODES,
        Text(pt="Só esse cliente.", en="That client only."),
        ("codigoDoCliente",),
        of_record=("codigoDoCliente",),
    ),
    Filter.SUPPLIER: FilterType(
        ValueKind.CODES,
        Text(pt="Só esse fornecedor.", en="That supplier only."),
        of_record=("codigoDoFornecedor",),
    ),
    Filter.PRODUCT: FilterType(
        ValueKind.CODES,
        Text(pt="Só esse produto.", en="That product only."),
        of_record=("idProd", "idProduto"),
    ),
    Filter.ACCOUNT: FilterType(
        ValueKind.CODES,
        Text(pt="Só essa conta corrente.", en="That current account only."),
        ("codigoDaContaCorrente",),
        of_record=("codigoDaContaCorrente",),
    ),
    Filter.COST_CENTRE: FilterType(
        ValueKind.TEXTS,
        Text(pt="Só esse centro de custo.", en="That cost centre only."),
        ("CodigosCentroCustos", "codigoDoCentroDeCusto"),
        of_record=("codigoDoCentroDeCusto",),
    ),
    Filter.CATEGORY: FilterType(
        ValueKind.TEXT,
        Text(pt="Só esse item de lançamento.", en="That posting item only."),
        ("codigoDoItemDeLancamento",),
        of_record=("codigoDoItemDeLancamento",),
    ),
    Filter.PROJECT: FilterType(
        ValueKind.CODE,
        Text(pt="Só esse projeto.", en="That project only."),
        ("codigoDoProjeto",),
        of_record=("codigoDoProjeto",),
    ),
    Filter.YEAR: FilterType(
        ValueKind.CODE,
        Text(pt="Só esse ano.", en="That year only."),
        ("ano",),
        YEAR_RANGE,
        of_record=("ano",),
    ),
    Filter.MONTH: FilterType(
        ValueKind.CODE,
        Text(pt="Só esse mês.", en="That month only."),
        ("mes",),
        range(1, 13),
        of_record=("mes",),
    ),
    Filter.DOCUMENT: FilterType(
        ValueKind.TEXT,
        Text(pt="Só o registro com esse CNPJ ou CPF.", en="The record with that CNPJ or CPF only."),
        ("cnpjcpf",),
        of_record=("cnpjcpf",),
    ),
    Filter.IDWS: FilterType(
        ValueKind.TEXT,
        Text(
            pt="Só o registro com esse identificador seu.",
            en="The record with that identifier of yours only.",
        ),
        ("idws",),
        of_record=("idws",),
    ),
    Filter.ID: FilterType(
        ValueKind.CODES,
        Text(pt="Só esses: 7, ou de 1-500.", en="Those only: 7, or from 1-500."),
    ),
    Filter.ACTIVE: FilterType(
        ValueKind.FLAG,
        Text(pt="Só os ativos.", en="Active ones only."),
        ("somenteAtivos",),
        of_record=("ativo",),
    ),
    Filter.WITH_BALANCE: FilterType(
        ValueKind.FLAG,
        Text(pt="Só saldos diferentes de zero.", en="Only balances that are not zero."),
        of_record=("quantidadeTotal",),
        is_nonzero=True,
    ),
    Filter.NOT_EMITTED: FilterType(
        ValueKind.FLAG,
        Text(pt="Só notas ainda não emitidas.", en="Only invoices that are not emitted yet."),
        of_record=("numeroDaNotaFiscalEletronica",),
        is_empty=True,
    ),
    Filter.UNFINISHED: FilterType(
        ValueKind.FLAG,
        Text(
            pt="Só inventários nem processados nem encerrados.",
            en="Only inventories that are neither processed nor closed.",
        ),
        of_record=("idProcessamento", "dataDeEncerramento"),
        is_empty=True,
    ),
    Filter.LIMIT: FilterType(
        ValueKind.CODE,
        Text(
            pt="No máximo esse número de registros; se vierem tantos, pode haver mais.",
            en="At most this many records; if that many come, there may be more.",
        ),
        ("qtde",),
    ),
}


def query_field(filter_name: Filter, query: type[WireModel] | None) -> str | None:
    """Return the field of a query that carries a filter, None where there is none."""
    fields = query.model_fields if query else {}
    return next((name for name in filter_name.type.fields if name in fields), None)


@dataclass(frozen=True, slots=True)
class Filters:
    """The filters of one export, by name; what is not there does not narrow.

    ``FROM`` and ``TO`` bound the last update, to the minute, both included.
    """

    given: Mapping[Filter, Any] = field(default_factory=dict)

    @classmethod
    def parse(cls, texts: Mapping[Filter, Any]) -> "Filters":
        """Read the filters as a user writes them; None, false and no values are not given.

        Raises ``InvalidFilter`` for a value that cannot be one, an empty one among them, or a start
        after the end.
        """
        wanted = {name: text for name, text in texts.items() if text not in (None, False, ())}
        _require_values(wanted)
        given = {name: _parse(name, text) for name, text in wanted.items()}
        filters = cls(given)
        if filters.start and filters.end and filters.start > filters.end:
            raise InvalidFilter(
                Text(
                    pt="{filters}: o início vem depois do fim.",
                    en="{filters}: the start comes after the end.",
                ),
                [Filter.FROM, Filter.TO],
            )
        return filters

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

    def with_value(self, name: Filter, value: object) -> "Filters":
        """Return the same filters with one of them set to a value."""
        return replace(self, given={**self.given, name: value})

    def query(self, model: type[WireModel] | None) -> WireModel | None:
        """Return the query that carries the filters; lists of one become the one."""
        if model is None:
            return None
        values = {}
        for name, value in self.given.items():
            place = query_field(name, model)
            if place is not None:
                is_list = "list" in str(model.model_fields[place].annotation)
                values[place] = value[0] if isinstance(value, tuple) and not is_list else value
        return model(**values)


NO_FILTERS = Filters()

_CODE = re.compile(r"[0-9]{1,15}")
_RANGE = re.compile(r"([0-9]{1,15})(?:-([0-9]{1,15}))?")
_MAX_CODES = 1_000_000


class InvalidFilter(UsageError):
    """Filters that cannot be what they are; ``names`` are theirs.

    ``what`` names them by ``{filters}``: in the message as the command's options, elsewhere as
    ``told`` is asked to.
    """

    def __init__(
        self, what: Text, names: Sequence[Filter], hint: Text | None = None, **details: object
    ) -> None:
        super().__init__(what.format(filters=option_names(names), **details), hint)
        self.names = tuple(names)
        self._what, self._details = what, details

    def told(self, name: Callable[[Filter], str]) -> Text:
        """Return the message with each filter as ``name`` calls it."""
        return self._what.format(filters=", ".join(map(name, self.names)), **self._details)


def option_names(names: Sequence[Filter]) -> str:
    """Return the command's options of filters, as a text."""
    return ", ".join(f"--{name}" for name in names)


def _require_values(texts: Mapping[Filter, Any]) -> None:
    """Refuse empty values: a script's variable that is not set must not ask for everything."""
    empty = [
        name
        for name, text in texts.items()
        if not all(str(one).strip() for one in (text if isinstance(text, tuple) else (text,)))
    ]
    if empty:
        raise InvalidFilter(
            Text(
                pt="{filters}: o valor está vazio. Escreva o valor, ou tire o filtro.",
                en="{filters}: the value is empty. Write the value, or leave the filter out.",
            ),
            empty,
        )


def _parse(name: Filter, text: Any) -> Any:
    match name.type.kind:
        case ValueKind.MOMENT:
            return _parse_date(name, text)
        case ValueKind.CODE:
            return _parse_code(name, str(text).strip())
        case ValueKind.CODES:
            return tuple(code for part in text for code in _parse_codes(name, part))
        case ValueKind.TEXTS:
            return tuple(text)
        case _:
            return text


def _parse_code(name: Filter, text: str) -> int:
    codes = name.type.codes
    code = int(text) if _CODE.fullmatch(text) else 0
    if code not in codes:
        raise InvalidFilter(
            _NOT_A_CODE if codes is CODE_RANGE else _OUT_OF_RANGE,
            [name],
            text=text,
            first=codes[0],
            last=codes[-1],
        )
    return code


_NOT_A_CODE = Text(
    pt="{filters}: {text!r} não é um código. Escreva um número, como 7.",
    en="{filters}: {text!r} is not a code. Write a number, such as 7.",
)
_OUT_OF_RANGE = Text(
    pt="{filters}: {text!r} não serve. Escreva um número de {first} a {last}.",
    en="{filters}: {text!r} is not valid. Write a number from {first} to {last}.",
)


def _parse_codes(name: Filter, text: str) -> Sequence[int]:
    match = _RANGE.fullmatch(text.strip())
    first = int(match[1]) if match else 0
    last = int(match[2] or match[1]) if match else 0
    if last - first >= _MAX_CODES:
        raise InvalidFilter(
            Text(
                pt="{filters}: {text!r} são {count} códigos, e o máximo é {most}.",
                en="{filters}: {text!r} are {count} codes, and {most} is the most.",
            ),
            [name],
            text=text,
            count=last - first + 1,
            most=_MAX_CODES,
        )
    if not 0 < first <= last:
        raise InvalidFilter(
            Text(
                pt="{filters}: {text!r} não é um código. Escreva 7, ou 1-500.",
                en="{filters}: {text!r} is not a code. Write 7, or 1-500.",
            ),
            [name],
            text=text,
        )
    return range(first, last + 1)


def _parse_date(option: Filter, text: str) -> datetime:
    """Read a date as dd/mm/yyyy or yyyy-mm-dd, optionally followed by HH:MM.

    A day alone as the end means all of that day. Raises ``InvalidFilter`` for anything else,
    two-digit years included.
    """
    try:
        moment = parse_moment(text) if "/" in text else datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if not isinstance(moment, datetime) or not _is_queryable(moment):
        raise InvalidFilter(
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


def _is_queryable(moment: datetime) -> bool:
    is_whole_minute = not (moment.tzinfo or moment.second or moment.microsecond)
    return is_whole_minute and moment.year in YEAR_RANGE
