"""Filters of an export: declarations, and parsing of what users write in options and plans."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.resources.names import field_title
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

    @property
    def label(self) -> Text:
        """Label for people: that of the record's field, or what it does."""
        fields = self.type.record_fields
        if fields and not self.type.is_flag:
            return field_title(fields[0])
        meaning = self.type.meaning
        does = Text(pt=meaning.pt.removesuffix("."), en=meaning.en.removesuffix("."))
        return _TITLES.get(self, does)


_TITLES = {
    Filter.FROM: Text(pt="Atualizados desde", en="Updated since"),
    Filter.TO: Text(pt="Atualizados até", en="Updated until"),
    Filter.ID: Text(pt="Só os números", en="These numbers only"),
    Filter.LIMIT: Text(pt="Máximo de registros", en="Records at most"),
}


class ValueKind(StrEnum):
    """Kind of a filter's value."""

    MOMENT = "moment"
    CODE = "code"
    CODES = "codes"
    TEXT = "text"
    TEXTS = "texts"
    FLAG = "flag"


YEAR_RANGE = range(1900, 3000)
"""Years that the remote system accepts."""

CODE_RANGE = range(1, 10**15)
"""Numbers that can be codes."""


@dataclass(frozen=True, slots=True)
class FilterType:
    """Type of a filter's values; codes lie within ``codes``.

    ``fields`` are the query fields that carry the filter, ``record_fields`` the fields of a record
    that show its value. With ``is_nonzero`` a record passes if these are not zero, with
    ``is_empty`` if all of them are empty. ``is_document``: the values are written with and without
    punctuation.
    """

    kind: ValueKind
    meaning: Text
    fields: tuple[str, ...] = ()
    codes: range = CODE_RANGE
    record_fields: tuple[str, ...] = ()
    is_nonzero: bool = False
    is_empty: bool = False
    is_document: bool = False

    @property
    def is_flag(self) -> bool:
        """True if the filter has no value."""
        return self.kind is ValueKind.FLAG

    @property
    def is_repeatable(self) -> bool:
        """True if the filter accepts several values."""
        return self.kind in (ValueKind.CODES, ValueKind.TEXTS)


_TYPES: Mapping[Filter, FilterType] = {
    Filter.FROM: FilterType(
        ValueKind.MOMENT,
        Text(
            pt="Atualizados desde este dia.",
            en="Updated since this day.",
        ),
        ("dataInferior",),
    ),
    Filter.TO: FilterType(
        ValueKind.MOMENT,
        Text(
            pt="Atualizados até este dia, inclusive.",
            en="Updated until this day, the day itself included.",
        ),
        ("dataSuperior",),
    ),
    Filter.BRANCH: FilterType(
        ValueKind.CODES,
        Text(pt="Só esta filial.", en="This branch only."),
        ("codigoDaFilial", "CodigoDaFilial", "filial"),
        record_fields=("codigoDaFilial",),
    ),
    Filter.CLIENT: FilterType(
        ValueKind.CODES,
        Text(pt="Só este cliente.", en="This client only."),
        ("codigoDoCliente",),
        record_fields=("codigoDoCliente",),
    ),
    Filter.SUPPLIER: FilterType(
        ValueKind.CODES,
        Text(pt="Só este fornecedor.", en="This supplier only."),
        record_fields=("codigoDoFornecedor",),
    ),
    Filter.PRODUCT: FilterType(
        ValueKind.CODES,
        Text(pt="Só este produto.", en="This product only."),
        record_fields=("idProd", "idProduto"),
    ),
    Filter.ACCOUNT: FilterType(
        ValueKind.CODES,
        Text(pt="Só esta conta corrente.", en="This current account only."),
        ("codigoDaContaCorrente",),
        record_fields=("codigoDaContaCorrente",),
    ),
    Filter.COST_CENTRE: FilterType(
        ValueKind.TEXTS,
        Text(pt="Só este centro de custo.", en="This cost centre only."),
        ("CodigosCentroCustos", "codigoDoCentroDeCusto"),
        record_fields=("codigoDoCentroDeCusto",),
    ),
    Filter.CATEGORY: FilterType(
        ValueKind.TEXT,
        Text(pt="Só este item de lançamento.", en="This category only."),
        ("codigoDoItemDeLancamento",),
        record_fields=("codigoDoItemDeLancamento",),
    ),
    Filter.PROJECT: FilterType(
        ValueKind.CODE,
        Text(pt="Só este projeto.", en="This project only."),
        ("codigoDoProjeto",),
        record_fields=("codigoDoProjeto",),
    ),
    Filter.YEAR: FilterType(
        ValueKind.CODE,
        Text(pt="Só este ano.", en="This year only."),
        ("ano",),
        YEAR_RANGE,
        record_fields=("ano",),
    ),
    Filter.MONTH: FilterType(
        ValueKind.CODE,
        Text(pt="Só este mês.", en="This month only."),
        ("mes",),
        range(1, 13),
        record_fields=("mes",),
    ),
    Filter.DOCUMENT: FilterType(
        ValueKind.TEXT,
        Text(pt="Só o registro com este CNPJ ou CPF.", en="The record with this CNPJ or CPF only."),
        ("cnpjcpf",),
        record_fields=("cnpjcpf",),
        is_document=True,
    ),
    Filter.IDWS: FilterType(
        ValueKind.TEXT,
        Text(
            pt="Só o registro com este identificador externo (idws).",
            en="The record with this external identifier (idws) only.",
        ),
        ("idws",),
        record_fields=("idws",),
    ),
    Filter.ID: FilterType(
        ValueKind.CODES,
        Text(pt="Só esses: 7, ou de 1-500.", en="Those only: 7, or from 1-500."),
    ),
    Filter.ACTIVE: FilterType(
        ValueKind.FLAG,
        Text(pt="Só os ativos.", en="Active ones only."),
        ("somenteAtivos",),
        record_fields=("ativo",),
    ),
    Filter.WITH_BALANCE: FilterType(
        ValueKind.FLAG,
        Text(pt="Só saldos diferentes de zero.", en="Only balances that are not zero."),
        record_fields=("quantidadeTotal",),
        is_nonzero=True,
    ),
    Filter.NOT_EMITTED: FilterType(
        ValueKind.FLAG,
        Text(pt="Só notas ainda não emitidas.", en="Only invoices that are not issued yet."),
        record_fields=("numeroDaNotaFiscalEletronica",),
        is_empty=True,
    ),
    Filter.UNFINISHED: FilterType(
        ValueKind.FLAG,
        Text(
            pt="Só inventários nem processados nem encerrados.",
            en="Only inventory counts that are neither processed nor closed.",
        ),
        record_fields=("idProcessamento", "dataDeEncerramento"),
        is_empty=True,
    ),
    Filter.LIMIT: FilterType(
        ValueKind.CODE,
        Text(
            pt="No máximo este número de registros; se vierem tantos, pode haver mais.",
            en="At most this many records; if that many come, there may be more.",
        ),
        ("qtde",),
    ),
}


def query_field(filter_name: Filter, query: type[WireModel] | None) -> str | None:
    """Return the field of a query that carries a filter, None if there is none."""
    fields = query.model_fields if query else {}
    return next((name for name in filter_name.type.fields if name in fields), None)


@dataclass(frozen=True, slots=True)
class Filters:
    """Filters of one export. ``FROM`` and ``TO`` bound the last update, both minutes included."""

    values: Mapping[Filter, Any] = field(default_factory=dict)

    @classmethod
    def parse(cls, texts: Mapping[Filter, Any]) -> "Filters":
        """Parse filters as users write them; None, False and () mean no filter.

        Raises ``InvalidFilter`` for an invalid or empty value, or a start after the end.
        """
        given = {name: text for name, text in texts.items() if text not in (None, False, ())}
        empty = [
            name
            for name, text in given.items()
            if not all(str(one).strip() for one in (text if isinstance(text, tuple) else (text,)))
        ]
        if empty:
            # An unset variable of a script must not export everything.
            raise InvalidFilter(
                Text(
                    pt="{filters}: o valor está vazio. Escreva o valor, ou tire o filtro.",
                    en="{filters}: the value is empty. Write the value, or leave the filter out.",
                ),
                empty,
            )
        filters = cls({name: _parse(name, text) for name, text in given.items()})
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
        """First minute of the last update."""
        return self.values.get(Filter.FROM)

    @property
    def end(self) -> datetime | None:
        """Last minute of the last update."""
        return self.values.get(Filter.TO)

    def within(self, start: datetime | None, end: datetime | None) -> "Filters":
        """Return the filters with another period."""
        bounds = {Filter.FROM: start, Filter.TO: end}
        values = {**self.values, **bounds}
        return Filters({n: v for n, v in values.items() if n not in bounds or v is not None})

    def query(self, model: type[WireModel] | None) -> WireModel | None:
        """Return the query with the filters; the first value if the field is not a list."""
        if model is None:
            return None
        query = {}
        for name, value in self.values.items():
            field_name = query_field(name, model)
            if field_name is not None:
                is_list = "list" in str(model.model_fields[field_name].annotation)
                query[field_name] = value[0] if isinstance(value, tuple) and not is_list else value
        return model(**query)


NO_FILTERS = Filters()

_CODE = re.compile(r"[0-9]{1,15}")
_RANGE = re.compile(r"([0-9]{1,15})(?:-([0-9]{1,15}))?")
_MAX_CODES = 1_000_000


class InvalidFilter(UsageError):
    """Invalid filters, named by ``{filters}`` in the message: by default as command options.

    ``offered`` are the filters that the listing has, named in the hint.
    """

    def __init__(
        self,
        message: Text,
        names: Sequence[Filter],
        offered: Sequence[Filter] | None = None,
        **details: object,
    ) -> None:
        self.names, self._offered = tuple(names), offered
        self._template, self._details = message, details
        super().__init__(self.message_with(_option), self.hint_with(_option))

    def message_with(self, label: Callable[[Filter], str]) -> Text:
        """Return the message with other names of the filters."""
        return self._template.format(filters=", ".join(map(label, self.names)), **self._details)

    def hint_with(self, label: Callable[[Filter], str]) -> Text | None:
        """Return the hint with other names of the filters."""
        if self._offered is None:
            return None
        if not self._offered:
            return Text(pt="Ela não tem filtros.", en="It has no filters.")
        names = ", ".join(map(label, self._offered))
        return Text(pt="Ela tem: {names}.", en="It has: {names}.").format(names=names)


def _option(name: Filter) -> str:
    return f"--{name}"


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
    """Parse a date as dd/mm/yyyy or yyyy-mm-dd, optionally followed by HH:MM.

    A day alone as the end means all of that day. Raises ``InvalidFilter`` for anything else,
    such as two-digit years.
    """
    try:
        moment = parse_moment(text) if "/" in text else datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if (
        not isinstance(moment, datetime)
        or (moment.tzinfo or moment.second or moment.microsecond)
        or moment.year not in YEAR_RANGE
    ):
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
