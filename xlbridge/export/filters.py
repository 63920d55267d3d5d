"""What an export can be narrowed to, and what one is."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from xlbridge.i18n import Text
from xlbridge.wire.model import WireModel


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


YEARS = range(1900, 3000)
"""The years that the remote system can be asked for."""

CODES = range(1, 10**15)
"""The numbers that can be codes."""


@dataclass(frozen=True, slots=True)
class FilterType:
    """What a filter takes, and which fields of a query carry it; a code lies within ``codes``."""

    kind: ValueKind
    meaning: Text
    fields: tuple[str, ...] = ()
    codes: range = CODES


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
        ValueKind.CODE, Text(pt="Só esse ano.", en="That year only."), ("ano",), YEARS
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
