"""Product invoices: models and operations. Source: the spec, Product invoice (NF-e), States.

Fields of responses beyond those named there are this project's choice (``docs/assumptions.md``).
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


PRODUCT_INVOICE_CREATE = Operation(
    name="sales.product_invoices.create",
    method="POST",
    path="/v2/faturamento/nfe",
    body=ProductInvoiceInput,
    data=ProductInvoice,
)
PRODUCT_INVOICE_PROCESS = Operation(
    name="sales.product_invoices.process",
    method="POST",
    path="/v2/faturamento/nfe/processar/{id}",
    data=ProductInvoice,
)
PRODUCT_INVOICE_GET = Operation(
    name="sales.product_invoices.get",
    method="GET",
    path="/v2/faturamento/nfe/{id}",
    data=ProductInvoice,
)
