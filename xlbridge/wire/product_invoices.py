"""Product invoices. Source: the spec, Product invoice (NF-e), States.

What an invoice is read with, beyond the fields named there, is this project's choice
(``docs/assumptions.md``).
"""

from typing import Literal

from pydantic import Field

from xlbridge.wire.model import Moment, Number, WireModel

OperationKind = Literal["Entrada", "Saída", "Simples Remessa"]
"""``tipoDeOperacao``: inbound, outbound sale, shipment without transfer of ownership."""


class ProductInvoiceItemInput(WireModel):
    """One product of an invoice to create (``produtos[]``)."""

    idProduto: int
    quantidade: Number = Field(gt=0)
    valorUnitario: Number = Field(ge=0)


class ProductInvoiceTerms(WireModel):
    """What a product invoice is created with and read with alike.

    ``codigoDaNotaFiscal`` is the invoice's registered model.
    """

    codigoDaFilial: int
    codigoDaNotaFiscal: int
    tipoDeOperacao: OperationKind
    naturezaDaOperacao: str = Field(min_length=1)
    codigoDaFormaDePagamento: int
    codigoDoCliente: int
    nomeDoCliente: str = Field(min_length=1)
    cep: str = Field(min_length=1)


class ProductInvoiceInput(ProductInvoiceTerms):
    """A product invoice to create; it is pending until it is processed."""

    produtos: list[ProductInvoiceItemInput] = Field(default_factory=list)


class ProductInvoiceItem(ProductInvoiceItemInput):
    """One product of an invoice as it is read."""

    idNF: int
    seq: int
    descricaoDoProduto: str | None = None
    valorTotal: Number


class ProductInvoice(ProductInvoiceTerms):
    """A product invoice. Number, key of 44 digits and issue date are null until it is emitted.

    ``numeroDoPedido`` names the sales order that it was generated from, if there is one.
    """

    idNF: int
    numeroDoPedido: int | None = None
    valorDosProdutos: Number | None = None
    dataDeEmissao: Moment | None = None
    numeroDaNotaFiscalEletronica: int | None = None
    chaveDaNotaFiscalEletronica: str | None = None
    ultimaAtualizacao: Moment | None = None
    produtos: list[ProductInvoiceItem] = Field(default_factory=list)
