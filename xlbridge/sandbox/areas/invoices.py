"""Product and service invoices, their emission, service forecasts: rules and handlers.

An invoice is pending until it is emitted with its access key, definitively. Source: the spec,
Product invoice (NF-e), Service invoice (NFS-e), States, Sales and billing (previsao).
"""

from calendar import monthrange
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, ClassVar

from sqlalchemy import Connection, Index, Table, select, update

from xlbridge.resources.checks import mod11_digit
from xlbridge.sandbox.area_declarations import (
    Call,
    Lists,
    derived_columns,
    equal_conditions,
    handle_records,
    handles,
    metadata,
    window_conditions,
)
from xlbridge.sandbox.areas.registries import (
    CodeLookup,
    RecordRegistration,
    invoice_models,
    issuers,
    next_number,
    products,
)
from xlbridge.sandbox.problems import Problem, amount_problems, invalid, item_total, rate_problems
from xlbridge.wire import sales

service_invoices = Table(
    "service_invoices",
    metadata,
    *derived_columns(sales.ServiceInvoice, keys=("idNF",)),
    Index("service_invoices_by_update", "ultimaAtualizacao", "idNF"),
)
product_invoices = Table(
    "product_invoices",
    metadata,
    *derived_columns(sales.ProductInvoice, keys=("idNF",), exclude=("produtos",)),
)
product_invoice_items = Table(
    "product_invoice_items",
    metadata,
    *derived_columns(sales.ProductInvoiceItem, keys=("idNF", "seq")),
)
service_forecasts = Table(
    "service_forecasts",
    metadata,
    *derived_columns(sales.ServiceForecast, keys=("codigoDaPrevisao",)),
)

_ITEMS = "produtos"
_NO_INVOICE = ("id", "Nota fiscal não encontrada.")
_ZERO = Decimal("0.00")


class ProductInvoiceRegistration(RecordRegistration[sales.ProductInvoice]):
    """Registration of new product invoices, pending emission.

    ``order`` is the sales order that they are generated from, if any; its products determine
    their amounts.
    """

    table, model, scope = product_invoices, sales.ProductInvoice, "product_invoice"
    lists: ClassVar[Lists] = {_ITEMS: (sales.ProductInvoiceItem, [product_invoice_items.c.idNF])}
    missing = _NO_INVOICE

    def __init__(
        self, connection: Connection, now: datetime, order: sales.SalesOrder | None = None
    ) -> None:
        super().__init__(connection, now)
        self._order = order

    def problems(self, data: sales.ProductInvoiceInput) -> list[Problem]:
        """Return the problems of a new invoice."""
        lookup = self._lookup
        problems = [
            *lookup.problems("codigoDaFilial", issuers, data.codigoDaFilial, "Filial"),
            *lookup.field_problems(
                data, "codigoDaNotaFiscal", "codigoDaFormaDePagamento", "codigoDoCliente"
            ),
        ]
        for index, item in enumerate(data.produtos):
            prefix = f"{_ITEMS}.{index}."
            problems += lookup.field_problems(item, "idProduto", prefix=prefix)
            problems += amount_problems(f"{prefix}valorUnitario", item_total(item))
        return problems or amount_problems(_ITEMS, sum(map(item_total, data.produtos), Decimal(0)))

    def accept(self, data: sales.ProductInvoiceInput) -> sales.ProductInvoice:
        """Accept an invoice, with the next id."""
        id_nf = self._numbers.next(self.scope)
        items = [
            sales.ProductInvoiceItem(
                idNF=id_nf,
                seq=seq,
                descricaoDoProduto=self._lookup.name(products, item.idProduto),
                valorTotal=item_total(item),
                **item.model_dump(),
            )
            for seq, item in enumerate(data.produtos, start=1)
        ]
        order = self._order
        lines = items if order is None else order.produtos
        invoice = sales.ProductInvoice(
            idNF=id_nf,
            numeroDoPedido=None if order is None else order.numeroDoPedido,
            **invoice_amounts(line.model_dump() for line in lines),
            ultimaAtualizacao=self._now,
            produtos=items,
            **data.model_dump(exclude={_ITEMS}),
        )
        self._keep(invoice)
        return invoice


_SUMMED = (
    "valorAcrescimo", "valorDesconto", "valorFrete", "valorSeguro", "valorOutros", "valorIPI",
    "valorICMSST", "baseICMS", "valorICMS",
)  # fmt: skip


def invoice_amounts(lines: Iterable[Mapping[str, Any]]) -> dict[str, Decimal]:
    """Return the amounts of an invoice, summed over its lines."""
    amounts = dict.fromkeys(("valorDosProdutos", *_SUMMED, "valorTotal"), _ZERO)
    for line in lines:
        amounts["valorDosProdutos"] += line["valorTotal"]
        amounts["valorTotal"] += line.get("totalLiquido", line["valorTotal"])
        for name in _SUMMED:
            amounts[name] += line.get(name) or _ZERO
    return amounts


def require_pending(invoice: sales.ProductInvoice | sales.ServiceInvoice) -> None:
    """Raise ``RequestError`` (400) if an invoice was emitted."""
    if invoice.numeroDaNotaFiscalEletronica is not None:
        raise invalid(("id", f"A nota fiscal {invoice.idNF} já foi emitida."))


Invoices = type["ProductInvoiceRegistration | ServiceInvoiceRegistration"]


def emit_invoice(
    connection: Connection, invoices: Invoices, invoice_id: int, now: datetime
) -> None:
    """Emit a pending product or service invoice.

    Raises ``RequestError``: 404 if it does not exist, 400 if it was emitted.
    """
    invoice = invoices.get(connection, invoice_id)
    require_pending(invoice)
    lookup = CodeLookup(connection)
    branch = lookup.checked_entry(issuers, invoice.codigoDaFilial)
    issuer = Issuer(branch.cnpj, branch.municipality)
    if isinstance(invoice, sales.ProductInvoice):
        series = lookup.checked_entry(invoice_models, invoice.codigoDaNotaFiscal).series
        number = next_number(connection, product_invoice_scope(branch.code, series))
        key = product_invoice_key(issuer, series, number, now)
    else:
        number = next_number(connection, f"nfse:{branch.code}")
        key = service_invoice_key(issuer, number, now)
    connection.execute(
        update(invoices.table)
        .where(invoices.table.c.idNF == invoice_id)
        .values(
            numeroDaNotaFiscalEletronica=number,
            chaveDaNotaFiscalEletronica=key,
            dataDeEmissao=now,
            ultimaAtualizacao=now,
        )
    )


@dataclass(frozen=True, slots=True)
class Issuer:
    """Issuer of an invoice: CNPJ and IBGE code of its municipality."""

    cnpj: str
    municipality: str


def product_invoice_scope(branch: int, series: int) -> str:
    """Return the scope of the numbers of a branch's product invoices in a series."""
    return f"nfe:{branch}:{series}"


_PRODUCT_MODEL = "55"
_NORMAL_EMISSION = "1"
_MUNICIPAL_SYSTEM, _ISSUER_HAS_CNPJ = "1", "2"


def product_invoice_key(issuer: Issuer, series: int, number: int, emitted: datetime) -> str:
    """Return the 44-digit access key of a product invoice."""
    state = issuer.municipality[:2]
    stem = (
        f"{state}{emitted:%y%m}{issuer.cnpj}{_PRODUCT_MODEL}{series:03}{number:09}"
        f"{_NORMAL_EMISSION}{_key_code(number, 8)}"
    )
    return stem + mod11_digit(stem)


def service_invoice_key(issuer: Issuer, number: int, emitted: datetime) -> str:
    """Return the 50-digit access key of a service invoice."""
    stem = (
        f"{issuer.municipality}{_MUNICIPAL_SYSTEM}{_ISSUER_HAS_CNPJ}{issuer.cnpj}{number:013}"
        f"{emitted:%y%m}{_key_code(number, 9)}"
    )
    return stem + mod11_digit(stem)


def _key_code(number: int, width: int) -> str:
    """Return the random code of the key, derived from the invoice's number but different."""
    return f"{(10**width - 1 - number) % 10**width:0{width}}"


_AMOUNTS = tuple(
    name for name in sales.ServiceInvoiceInput.model_fields if name.lower().startswith("valor")
)
_RATES = tuple(
    name for name in sales.ServiceInvoiceInput.model_fields if name.lower().startswith("aliquota")
)


class ServiceInvoiceRegistration(RecordRegistration[sales.ServiceInvoice]):
    """Registration of new service invoices, pending emission."""

    table, model, scope = service_invoices, sales.ServiceInvoice, "service_invoice"
    missing = _NO_INVOICE

    def problems(self, data: sales.ServiceInvoiceInput) -> list[Problem]:
        """Return the problems of an invoice, new or altered."""
        lookup = self._lookup
        problems = [
            *lookup.problems("codigoDaFilial", issuers, data.codigoDaFilial, "Filial"),
            *lookup.field_problems(data, "codigoDoCliente", "codigoDoServicoPrestado"),
        ]
        for name in _AMOUNTS:
            problems.extend(amount_problems(name, getattr(data, name)))
        for name in _RATES:
            problems.extend(rate_problems(name, getattr(data, name)))
        return problems

    @staticmethod
    def require_changeable(record: sales.ServiceInvoice) -> None:
        """Raise ``RequestError`` (400) if an invoice was emitted."""
        require_pending(record)


class ServiceForecastRegistration(RecordRegistration[sales.ServiceForecast]):
    """Registration of new service forecasts."""

    table, model, scope = service_forecasts, sales.ServiceForecast, "service_forecast"
    missing = ("id", "Previsão não encontrada.")

    def problems(self, data: sales.ServiceForecastInput) -> list[Problem]:
        """Return the problems of a forecast, new or altered."""
        lookup = self._lookup
        problems = [
            *lookup.problems("codigoDaFilial", issuers, data.codigoDaFilial, "Filial"),
            *lookup.field_problems(
                data, "codigoDoCliente", "codigoDoServicoPrestado", "codigoDaCondicaoDePagamento"
            ),
            *amount_problems("valorDoServico", data.valorDoServico),
            *rate_problems("percentualDeReajuste", data.percentualDeReajuste),
        ]
        if data.dataDeTermino is not None and data.dataDeTermino < data.dataDeInicio:
            problems.append(("dataDeTermino", "O término é anterior ao início."))
        return problems

    def _content(self, data: sales.ServiceForecastInput) -> dict[str, Any]:
        """Return the content of a forecast with the dates derived from it."""
        next_readjustment = None
        if data.percentualDeReajuste is not None:
            next_readjustment = months_after(data.dataDeInicio, data.mesesEntreReajustes)
        return data.model_dump() | {
            "dataDaProximaEmissao": data.dataDeInicio,
            "dataDoProximoReajuste": next_readjustment,
        }


def months_after(moment: datetime, months: int) -> datetime:
    """Return the same day ``months`` later, or the last day of a shorter month."""
    years, month = divmod(moment.month - 1 + months, 12)
    year, month = moment.year + years, month + 1
    day = min(moment.day, monthrange(year, month)[1])
    return moment.replace(year=year, month=month, day=day)


handle_records(ProductInvoiceRegistration, sales.PRODUCT_INVOICE_CREATE, sales.PRODUCT_INVOICE_GET)
handle_records(
    ServiceInvoiceRegistration,
    sales.SERVICE_INVOICE_REGISTER,
    sales.SERVICE_INVOICE_CREATE,
    sales.SERVICE_INVOICE_CHANGE,
    sales.SERVICE_INVOICE_UPDATE,
    sales.SERVICE_INVOICE_UPDATE_BY_POST,
    sales.SERVICE_INVOICE_GET,
)
handle_records(
    ServiceForecastRegistration,
    sales.SERVICE_FORECAST_CREATE,
    sales.SERVICE_FORECAST_UPDATE,
    sales.SERVICE_FORECAST_GET,
)


@handles(sales.PRODUCT_INVOICE_PROCESS)
@handles(sales.SERVICE_INVOICE_PROCESS)
def process_invoice(call: Call) -> sales.ProductInvoice | sales.ServiceInvoice:
    is_product = call.operation is sales.PRODUCT_INVOICE_PROCESS
    invoices: Invoices = ProductInvoiceRegistration if is_product else ServiceInvoiceRegistration
    emit_invoice(call.connection, invoices, call.path["id"], call.now)
    return invoices.get(call.connection, call.path["id"])


@handles(sales.SERVICE_INVOICE_LIST)
def list_service_invoices(call: Call) -> list[sales.ServiceInvoice]:
    query = call.query_as(sales.ServiceInvoiceQuery)
    columns = service_invoices.c
    statement = (
        select(service_invoices)
        .where(
            *window_conditions(call, columns.ultimaAtualizacao),
            *equal_conditions(service_invoices, query, "codigoDaFilial", "codigoDoCliente"),
        )
        .order_by(columns.ultimaAtualizacao, columns.idNF)
        .limit(query.qtde or None)
    )
    return call.read(sales.ServiceInvoice, statement)


@handles(sales.SERVICE_FORECAST_LIST)
def list_forecasts(call: Call) -> list[sales.ServiceForecast]:
    query = call.query_as(sales.ServiceForecastQuery)
    filters = equal_conditions(service_forecasts, query, "codigoDaFilial", "codigoDoCliente")
    active = [service_forecasts.c.ativo] if query.somenteAtivos else []
    return ServiceForecastRegistration.find(call.connection, *filters, *active)
