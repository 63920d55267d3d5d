"""Service invoices and recurring service forecasts: models and operations.

Source: the spec, Service invoice (NFS-e), States, Sales and billing (previsao). It shows neither
the required fields of an invoice nor further fields of responses; of a forecast it names only
readjustment, payment condition and automatic emission. The rest is this project's choice
(``docs/assumptions.md``).
"""

from pydantic import Field

from xlbridge.wire.model import Moment, Number, Operation, QueryMoment, WireModel


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


SERVICE_INVOICE_REGISTER = Operation(
    name="sales.service_invoices.register",
    method="POST",
    path="/v2/faturamento/nfs",
    body=ServiceInvoiceInput,
    data=ServiceInvoice,
)
SERVICE_INVOICE_PROCESS = Operation(
    name="sales.service_invoices.process",
    method="POST",
    path="/v2/faturamento/nfs/processar/{id}",
    data=ServiceInvoice,
)


class ServiceInvoiceQuery(WireModel):
    """Filters of the service-invoice listing, by last update; ``qtde`` 0 means unlimited."""

    dataInferior: QueryMoment | None = None
    dataSuperior: QueryMoment | None = None
    qtde: int = Field(default=0, ge=0)
    codigoDaFilial: int | None = None
    codigoDoCliente: int | None = None


SERVICE_INVOICE_LIST = Operation(
    name="sales.service_invoices.list",
    method="GET",
    path="/v2/faturamento/nfse",
    query=ServiceInvoiceQuery,
    data=list[ServiceInvoice],
)
SERVICE_INVOICE_CREATE = Operation(
    name="sales.service_invoices.create",
    method="POST",
    path="/v2/faturamento/nfse",
    body=ServiceInvoiceInput,
    data=ServiceInvoice,
)


class ServiceInvoiceChange(ServiceInvoiceInput, ServiceInvoiceId):
    """New content of a pending service invoice, with its id in the body."""

    idNF: int


SERVICE_INVOICE_CHANGE = Operation(
    name="sales.service_invoices.change",
    method="PUT",
    path="/v2/faturamento/nfse",
    body=ServiceInvoiceChange,
    data=ServiceInvoice,
    repeatable=True,
)
SERVICE_INVOICE_GET = Operation(
    name="sales.service_invoices.get",
    method="GET",
    path="/v2/faturamento/nfse/{id}",
    data=ServiceInvoice,
)
SERVICE_INVOICE_UPDATE = Operation(
    name="sales.service_invoices.update",
    method="PUT",
    path="/v2/faturamento/nfse/{id}",
    body=ServiceInvoiceInput,
    data=ServiceInvoice,
    repeatable=True,
)
SERVICE_INVOICE_UPDATE_BY_POST = Operation(
    name="sales.service_invoices.update_by_post",
    method="POST",
    path="/v2/faturamento/nfse/{id}",
    body=ServiceInvoiceInput,
    data=ServiceInvoice,
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


SERVICE_FORECAST_LIST = Operation(
    name="sales.forecasts.list",
    method="GET",
    path="/v2/faturamento/previsao",
    query=ServiceForecastQuery,
    data=list[ServiceForecast],
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


SERVICE_FORECAST_CREATE = Operation(
    name="sales.forecasts.create",
    method="POST",
    path="/v2/faturamento/previsao",
    body=ServiceForecastInput,
    data=ServiceForecast,
)
SERVICE_FORECAST_GET = Operation(
    name="sales.forecasts.get",
    method="GET",
    path="/v2/faturamento/previsao/{id}",
    data=ServiceForecast,
)
SERVICE_FORECAST_UPDATE = Operation(
    name="sales.forecasts.update",
    method="PUT",
    path="/v2/faturamento/previsao/{id}",
    body=ServiceForecastInput,
    data=ServiceForecast,
    repeatable=True,
)
