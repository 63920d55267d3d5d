"""Sales orders: models and operations. Source: the spec, Sales order (Pedido de Venda) object.

Which of its fields a request may set is this project's choice (``docs/assumptions.md``).
"""

from collections.abc import Sequence
from typing import ClassVar

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
