"""Product invoices, service invoices, recurring service forecasts: models and operations.

Source: the spec, Product invoice (NF-e), Service invoice (NFS-e), States, Sales and billing
(previsao). Fields of responses beyond those named there, the required fields of a service invoice,
and of a forecast all but readjustment, payment condition and automatic emission are this project's
choice (``docs/assumptions.md``).
"""

from typing import Literal

from pydantic import Field

from xlbridge.wire.model import (
    Many,
    Moment,
    Number,
    Operation,
    WireModel,
    empty_list,
)
from xlbridge.wire.sales import SalesOrderQuery

OperationKind = Literal["Entrada", "Saída", "Simples Remessa"]
"""``tipoDeOperacao``: inbound, outbound sale, shipment without transfer of ownership."""


class ProductInvoiceItemInput(WireModel):
    """One product of an invoice to create (``produtos[]``)."""

    idProduto: int
    quantidade: Number = Field(gt=0, decimal_places=6)
    valorUnitario: Number = Field(ge=0, decimal_places=6)


class ProductInvoiceInput(WireModel):
    """A product invoice to create, pending until it is processed.

    ``codigoDaNotaFiscal`` is a registered invoice model.
    """

    codigoDaFilial: int
    codigoDaNotaFiscal: int
    tipoDeOperacao: OperationKind
    naturezaDaOperacao: str = Field(min_length=1)
    codigoDaFormaDePagamento: int
    codigoDoCliente: int
    nomeDoCliente: str = Field(min_length=1)
    cep: str = Field(min_length=1)
    produtos: list[ProductInvoiceItemInput] = Field(default_factory=empty_list)


class ProductInvoiceItem(WireModel):
    """One product of an invoice in responses."""

    idNF: int | None = None
    seq: int | None = None
    idProduto: int | None = None
    descricaoDoProduto: str | None = None
    quantidade: Number | None = None
    valorUnitario: Number | None = None
    valorTotal: Number | None = None


class ProductInvoice(WireModel):
    """A product invoice. Number, 44-digit key and issue date are null until it is emitted.

    ``numeroDoPedido`` is the sales order that it was generated from, if any. ``valorTotal``
    includes surcharges, discounts, freight and taxes; ICMS is part of the prices.
    """

    idNF: int | None = None
    codigoDaFilial: int | None = None
    codigoDoCliente: int | None = None
    nomeDoCliente: str | None = None
    cep: str | None = None
    codigoDaNotaFiscal: int | None = None
    tipoDeOperacao: str | None = None
    naturezaDaOperacao: str | None = None
    codigoDaFormaDePagamento: int | None = None
    numeroDoPedido: int | None = None
    valorDosProdutos: Number | None = None
    valorAcrescimo: Number | None = None
    valorDesconto: Number | None = None
    valorFrete: Number | None = None
    valorSeguro: Number | None = None
    valorOutros: Number | None = None
    valorIPI: Number | None = None
    valorICMSST: Number | None = None
    baseICMS: Number | None = None
    valorICMS: Number | None = None
    valorTotal: Number | None = None
    dataDeEmissao: Moment | None = None
    numeroDaNotaFiscalEletronica: int | None = None
    chaveDaNotaFiscalEletronica: str | None = None
    ultimaAtualizacao: Moment | None = None
    produtos: Many[ProductInvoiceItem] = Field(default_factory=empty_list)


PRODUCT_INVOICE_CREATE = Operation.creation(
    "sales.product_invoices.create", "/v2/faturamento/nfe", ProductInvoiceInput, ProductInvoice
)
PRODUCT_INVOICE_PROCESS = Operation.step(
    "sales.product_invoices.process", "/v2/faturamento/nfe/processar/{id}", ProductInvoice
)
PRODUCT_INVOICE_GET = Operation.reading(
    "sales.product_invoices.get", "/v2/faturamento/nfe/{id}", ProductInvoice
)


class ServiceInvoiceTerms(WireModel):
    """Content of a service invoice, with the tax-reform fields of release 6.0.298."""

    codigoDaFilial: int | None = None
    codigoDoCliente: int | None = None
    codigoDoServicoPrestado: str | None = None
    valorDoServico: Number | None = None
    aliquotaISSRetido: Number | None = None
    CodigoNBS: str | None = None
    CodigoIndicadorDaOperacao: str | None = None
    CodigoTipoDaOperacao: int | None = None
    CodigoIndicadorDoDestinatario: int | None = None
    CodigoDaSituacaoTributariaIBSCBS: str | None = None
    ClassificacaoIBSCBS: str | None = None
    AliquotaIBSMunicipal: Number | None = None
    ValorIBSMunicipal: Number | None = None
    AliquotaIBSEstadual: Number | None = None
    ValorIBSEstadual: Number | None = None
    AliquotaCBS: Number | None = None
    ValorCBS: Number | None = None
    CodigoDaSituacaoTributariaPIS: str | None = None
    CodigoDaSituacaoTributariaCOFINS: str | None = None
    CodigoDaRetencaoPisCofinsCsll: str | None = None


class ServiceInvoiceInput(ServiceInvoiceTerms):
    """A service invoice to create, pending until it is processed."""

    codigoDaFilial: int
    codigoDoCliente: int
    codigoDoServicoPrestado: str
    valorDoServico: Number


class ServiceInvoiceId(WireModel):
    """Identifier of a service invoice."""

    idNF: int | None = None


class ServiceInvoice(ServiceInvoiceTerms, ServiceInvoiceId):
    """A service invoice. Number, 50-digit key and issue date are null until it is emitted."""

    dataDeEmissao: Moment | None = None
    numeroDaNotaFiscalEletronica: int | None = None
    chaveDaNotaFiscalEletronica: str | None = None
    ultimaAtualizacao: Moment | None = None


SERVICE_INVOICE_REGISTER = Operation.creation(
    "sales.service_invoices.register", "/v2/faturamento/nfs", ServiceInvoiceInput, ServiceInvoice
)
SERVICE_INVOICE_PROCESS = Operation.step(
    "sales.service_invoices.process", "/v2/faturamento/nfs/processar/{id}", ServiceInvoice
)


class ServiceInvoiceQuery(SalesOrderQuery):
    """Filters of the service-invoice listing, by last update; ``qtde`` 0 means unlimited."""

    codigoDoCliente: int | None = None


SERVICE_INVOICE_LIST = Operation.listing(
    "sales.service_invoices.list", "/v2/faturamento/nfse", ServiceInvoice, ServiceInvoiceQuery
)
SERVICE_INVOICE_CREATE = Operation.creation(
    "sales.service_invoices.create", "/v2/faturamento/nfse", ServiceInvoiceInput, ServiceInvoice
)


class ServiceInvoiceChange(ServiceInvoiceInput, ServiceInvoiceId):
    """New content of a pending service invoice, with its id in the body."""

    idNF: int


SERVICE_INVOICE_CHANGE = Operation.change(
    "sales.service_invoices.change", "/v2/faturamento/nfse", ServiceInvoiceChange, ServiceInvoice
)
SERVICE_INVOICE_GET = Operation.reading(
    "sales.service_invoices.get", "/v2/faturamento/nfse/{id}", ServiceInvoice
)
SERVICE_INVOICE_UPDATE = Operation.change(
    "sales.service_invoices.update",
    "/v2/faturamento/nfse/{id}",
    ServiceInvoiceInput,
    ServiceInvoice,
)
SERVICE_INVOICE_UPDATE_BY_POST = Operation.creation(
    "sales.service_invoices.update_by_post",
    "/v2/faturamento/nfse/{id}",
    ServiceInvoiceInput,
    ServiceInvoice,
)


class ServiceForecastTerms(WireModel):
    """Content of a forecast: a service that is billed repeatedly.

    ``percentualDeReajuste`` is the change of the amount every ``mesesEntreReajustes``, in per
    cent.
    """

    codigoDaFilial: int | None = None
    codigoDoCliente: int | None = None
    codigoDoServicoPrestado: str | None = None
    valorDoServico: Number | None = None
    dataDeInicio: Moment | None = None
    dataDeTermino: Moment | None = None
    mesesEntreEmissoes: int | None = None
    codigoDaCondicaoDePagamento: int | None = None
    percentualDeReajuste: Number | None = None
    mesesEntreReajustes: int | None = None
    emissaoAutomatica: bool | None = None
    ativo: bool | None = None
    observacao: str | None = None


class ServiceForecastCode(WireModel):
    """Code of a forecast."""

    codigoDaPrevisao: int | None = None


class ServiceForecast(ServiceForecastTerms, ServiceForecastCode):
    """A recurring service forecast; ``dataDoProximoReajuste`` is null without readjustment."""

    dataDaProximaEmissao: Moment | None = None
    dataDoProximoReajuste: Moment | None = None
    ultimaAtualizacao: Moment | None = None


class ServiceForecastQuery(WireModel):
    """Filters of the forecast listing."""

    codigoDaFilial: int | None = None
    codigoDoCliente: int | None = None
    somenteAtivos: bool = False


SERVICE_FORECAST_LIST = Operation.listing(
    "sales.forecasts.list", "/v2/faturamento/previsao", ServiceForecast, ServiceForecastQuery
)

MONTHS_PER_YEAR = 12


class ServiceForecastInput(ServiceForecastTerms):
    """A forecast to register, or its complete new content."""

    codigoDaFilial: int
    codigoDoCliente: int
    codigoDoServicoPrestado: str
    valorDoServico: Number
    dataDeInicio: Moment
    mesesEntreEmissoes: int = Field(default=1, ge=1, le=10 * MONTHS_PER_YEAR)
    mesesEntreReajustes: int = Field(default=MONTHS_PER_YEAR, ge=1, le=10 * MONTHS_PER_YEAR)
    emissaoAutomatica: bool = False
    ativo: bool = True


SERVICE_FORECAST_CREATE = Operation.creation(
    "sales.forecasts.create", "/v2/faturamento/previsao", ServiceForecastInput, ServiceForecast
)
SERVICE_FORECAST_GET = Operation.reading(
    "sales.forecasts.get", "/v2/faturamento/previsao/{id}", ServiceForecast
)
SERVICE_FORECAST_UPDATE = Operation.change(
    "sales.forecasts.update", "/v2/faturamento/previsao/{id}", ServiceForecastInput, ServiceForecast
)
