"""Sales and billing: orders, product and service invoices, forecasts: models and operations.

Source: the spec, Sales order (Pedido de Venda) object, Product invoice (NF-e), Service invoice
(NFS-e), States, Sales and billing (previsao). This project's choice (``docs/assumptions.md``) are
the fields of an order that a request may set, fields of responses beyond those named there, the
required fields of a service invoice, and of a forecast all but readjustment, payment condition and
automatic emission.
"""

from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import Field

from xlbridge.wire.model import (
    Many,
    Moment,
    Number,
    Operation,
    QueryMoment,
    WireModel,
    empty_list,
)

MAX_INSTALLMENTS = 360
"""Maximum number of instalments of an order: thirty years, monthly."""


class SalesOrderInstallmentInput(WireModel):
    """One instalment of an order to register; omitted fields are calculated."""

    numeroDaParcela: int | None = None
    dataDeVencimento: Moment | None = None
    percentual: Number | None = None
    valor: Number | None = None


class SalesOrderInstallment(SalesOrderInstallmentInput):
    """One instalment of a sales order (``parcelas[]``)."""

    numeroDaParcela: int | None = None
    numeroDoPedido: int | None = None
    totalDoPedido: Number | None = None
    existeLancamentoCR: bool | None = None
    codigoDoExercicioCR: int | None = None
    codigoDaFilialCR: int | None = None
    numeroDaMovimentacaoCR: int | None = None
    sequenciaDaMovimentacaoCR: int | None = None


class SalesOrderItemTerms(WireModel):
    """Fields of one product of an order that a request may set. Rates are in per cent."""

    idProduto: int | None = None
    idMapeamentoPadrao: int | None = None
    largura: str | None = None
    altura: str | None = None
    comprimento: str | None = None
    url: str | None = None
    pesoBruto: Number | None = None
    pesoLiquido: Number | None = None
    quantidade: Number | None = None
    valorUnitario: Number | None = None
    valorFrete: Number | None = None
    valorSeguro: Number | None = None
    valorOutros: Number | None = None
    valorAcrescimo: Number | None = None
    valorDesconto: Number | None = None
    valorAcrescimoPercentual: Number | None = None
    valorDescontoPercentual: Number | None = None
    aliquotaIPI: Number | None = None
    aliquotaICMSST: Number | None = None
    aliquotaICMS: Number | None = None


class SalesOrderItemInput(SalesOrderItemTerms):
    """One product of an order to register; ``valorUnitario`` defaults to the product's price."""

    idProduto: int
    quantidade: Number = Field(gt=0, decimal_places=6)
    valorUnitario: Number | None = Field(default=None, ge=0, decimal_places=6)


class SalesOrderItemPlace(WireModel):
    """Position of a product in an order."""

    numeroDoPedido: int | None = None
    seq: int | None = None


class SalesOrderItem(SalesOrderItemTerms, SalesOrderItemPlace):
    """One product of a sales order (``produtos[]``)."""

    field_runs: ClassVar[Sequence[Sequence[str]]] = (
        ("idMapeamentoPadrao", "codigoInterno", "codigoDeBarras", "descricaoDoProduto", "ncm"),
        ("valorUnitario", "valorTotal"),
        ("valorDescontoPercentual", "baseIPI"),
        ("aliquotaIPI", "valorIPI"),
        ("aliquotaICMSST", "valorICMSST", "baseICMS"),
    )

    codigoInterno: str | None = None
    codigoDeBarras: str | None = None
    descricaoDoProduto: str | None = None
    ncm: str | None = None
    valorTotal: Number | None = None
    baseIPI: Number | None = None
    valorIPI: Number | None = None
    valorICMSST: Number | None = None
    baseICMS: Number | None = None
    valorICMS: Number | None = None
    totalLiquido: Number | None = None
    quantidadeProcessadaParcial: Number | None = None
    quantidadeDisponivelParaProcessamento: Number | None = None
    valorDisponivelParaProcessamento: Number | None = None
    disponivelParaProcessamentoParcial: bool | None = None


class SalesOrderTerms(WireModel):
    """Fields of an order that a request may set: parties, delivery, carrier, payment."""

    codigoDaNotaFiscal: int | None = None
    codigoDaFilial: int | None = None
    codigoDaCondicaoDePagamento: int | None = None
    numeroDaOrdem: int | None = None
    codigoDoCliente: int | None = None
    codigoDoVendedor: int | None = None
    codigoDoProjeto: int | None = None
    codigoDaFormaDePagamento: int | None = None
    codigoDaContaCorrente: int | None = None
    codigoDaCarteira: int | None = None
    codigoDaClassificacaoAuxiliar: int | None = None
    quantidadeDeParcelas: int | None = None
    dataDaOrdem: Moment | None = None
    nomeDoCliente: str | None = None
    naturezaJuridica: str | None = None
    cnpjcpf: str | None = None
    inscricaoEstadual: str | None = None
    inscricaoMunicipal: str | None = None
    cep: str | None = None
    logradouro: str | None = None
    numero: str | None = None
    complemento: str | None = None
    bairro: str | None = None
    cidade: str | None = None
    uf: str | None = None
    codigoDoMunicipio: str | None = None
    contato: str | None = None
    telefone: str | None = None
    email: str | None = None
    observacao: str | None = None
    dadosAdicionais: str | None = None
    codigoDoItemDeLancamento: str | None = None
    historicoCR: str | None = None
    codigoDoCentroDeCusto: str | None = None
    observacaoCR: str | None = None
    faturamentoNotaFiscalUnica: bool | None = None
    entregaNomeContato: str | None = None
    entregaCEP: str | None = None
    entregaLogradouro: str | None = None
    entregaNumero: str | None = None
    entregaComplemento: str | None = None
    entregaBairro: str | None = None
    entregaCidade: str | None = None
    entregaCodigoMunicipio: str | None = None
    entregaUF: str | None = None
    transportadoraCodigo: int | None = None
    transportadoraNome: str | None = None
    transportadoraEndereco: str | None = None
    transportadoraCidade: str | None = None
    transportadoraUF: str | None = None
    transportadoraPlaca: str | None = None
    transportadoraPlacaUF: str | None = None
    transportadoraNatureza: str | None = None
    transportadoraCNPJ: str | None = None
    transportadoraIE: str | None = None
    transportadoraEspecie: str | None = None
    transportadoraVolume: str | None = None
    transportadoraFreteEmiDest: str | None = None
    transportadoraObservacao: str | None = None
    transportadoraPesoBruto: Number | None = None
    transportadoraPesoLiquido: Number | None = None
    transportadoraValorFrete: Number | None = None
    transportadoraValorSeguro: Number | None = None
    transportadoraVolumeComprimento: Number | None = None
    transportadoraVolumeAltura: Number | None = None
    transportadoraVolumeLargura: Number | None = None
    transportadoraQtde: Number | None = None


class SalesOrderInput(SalesOrderTerms):
    """A sales order to register, with products or with the amounts of its instalments."""

    codigoDaFilial: int
    codigoDoCliente: int
    quantidadeDeParcelas: int | None = Field(default=None, ge=1, le=MAX_INSTALLMENTS)
    parcelas: list[SalesOrderInstallmentInput] = Field(
        default_factory=empty_list, max_length=MAX_INSTALLMENTS
    )
    produtos: list[SalesOrderItemInput] = Field(default_factory=empty_list)


class SalesOrderNumber(WireModel):
    """Number of an order."""

    numeroDoPedido: int | None = None


class SalesOrder(SalesOrderTerms, SalesOrderNumber):
    """A sales order with its instalments and products."""

    field_runs: ClassVar[Sequence[Sequence[str]]] = (
        ("codigoDaCondicaoDePagamento", "numeroDoPedido"),
        ("codigoDaClassificacaoAuxiliar", "idNF"),
        ("dataDaOrdem", "dataDeProcessamento", "dataDeCancelamento"),
        ("nomeDoCliente", "nomeDoClienteFmt"),
        ("observacaoCR", "ultimaAtualizacao"),
        (
            "faturamentoNotaFiscalUnica", "consolidado", "pendente", "processado", "cancelado",
            "avisos",
        ),
    )  # fmt: skip

    idNF: int | None = None
    dataDeProcessamento: Moment | None = None
    dataDeCancelamento: Moment | None = None
    nomeDoClienteFmt: str | None = None
    ultimaAtualizacao: str | None = None
    consolidado: bool | None = None
    pendente: bool | None = None
    processado: bool | None = None
    cancelado: bool | None = None
    avisos: Many[str] = Field(default_factory=empty_list)
    parcelas: Many[SalesOrderInstallment] = Field(default_factory=empty_list)
    produtos: Many[SalesOrderItem] = Field(default_factory=empty_list)


class SalesOrderQuery(WireModel):
    """Filters of the sales-order listing, by last update; ``qtde`` 0 means unlimited.

    The spec does not name the branch filter; ``codigoDaFilial`` is this project's choice
    (``docs/assumptions.md``).
    """

    dataInferior: QueryMoment | None = None
    dataSuperior: QueryMoment | None = None
    qtde: int = Field(default=0, ge=0)
    codigoDaFilial: int | None = None


SALES_ORDER_CREATE = Operation.creation(
    "sales.orders.create", "/v2/faturamento/pedido", SalesOrderInput, SalesOrder
)
SALES_ORDER_PROCESS = Operation.step(
    "sales.orders.process", "/v2/faturamento/pedido/processar/{numeroPedido}", SalesOrder
)
SALES_ORDER_LIST = Operation.listing(
    "sales.orders.list", "/v2/faturamento/pedido", SalesOrder, SalesOrderQuery
)


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
