"""The rules of product invoices. Source: the spec, Product invoice (NF-e), States."""

from datetime import datetime
from decimal import Decimal

from sqlalchemy import Connection, insert

from xlbridge.sandbox.answers import Problem
from xlbridge.sandbox.business.entries import amount_problems
from xlbridge.sandbox.business.known import Known
from xlbridge.sandbox.business.money import cents
from xlbridge.sandbox.business.numbers import Numbers
from xlbridge.sandbox.tables.registries import invoice_models, issuers, payment_methods, products
from xlbridge.sandbox.tables.sales import product_invoice_items, product_invoices
from xlbridge.wire.product_invoices import (
    ProductInvoice,
    ProductInvoiceInput,
    ProductInvoiceItem,
    ProductInvoiceItemInput,
)

_ITEMS = "produtos"


class ProductInvoiceIntake:
    """Takes in new product invoices, pending emission.

    ``order`` is the number of the sales order that they are generated from, if there is one.
    """

    def __init__(self, connection: Connection, now: datetime, order: int | None = None) -> None:
        self._connection = connection
        self._now = now
        self._order = order
        self._known = Known(connection)
        self._numbers = Numbers(connection)
        self._invoices: list[ProductInvoice] = []

    def problems(self, data: ProductInvoiceInput) -> list[Problem]:
        """Return the rules that a new invoice breaks."""
        known = self._known
        problems = [
            *known.complaint("codigoDaFilial", issuers, data.codigoDaFilial, "Filial"),
            *known.complaint(
                "codigoDaNotaFiscal", invoice_models, data.codigoDaNotaFiscal, "Modelo de nota"
            ),
            *known.complaint(
                "codigoDaFormaDePagamento",
                payment_methods,
                data.codigoDaFormaDePagamento,
                "Forma de pagamento",
            ),
            *known.client_complaint(data.codigoDoCliente),
        ]
        for index, item in enumerate(data.produtos):
            key = f"{_ITEMS}.{index}"
            problems += known.complaint(f"{key}.idProduto", products, item.idProduto, "Produto")
            problems += amount_problems(f"{key}.valorUnitario", _worth(item))
        return problems or amount_problems(_ITEMS, _total(data))

    def accept(self, data: ProductInvoiceInput) -> ProductInvoice:
        """Take in an invoice without problems, under the next id."""
        id_nf = self._numbers.next("product_invoice")
        items = [self._item(id_nf, seq, item) for seq, item in enumerate(data.produtos, start=1)]
        invoice = ProductInvoice(
            idNF=id_nf,
            numeroDoPedido=self._order,
            valorDosProdutos=_total(data),
            ultimaAtualizacao=self._now,
            produtos=items,
            **data.model_dump(exclude={_ITEMS}),
        )
        self._invoices.append(invoice)
        return invoice

    def write(self) -> None:
        """Write all accepted invoices."""
        self._numbers.write()
        for invoice in self._invoices:
            header = invoice.model_dump(exclude={_ITEMS})
            self._connection.execute(insert(product_invoices).values(header))
            items = [item.model_dump() for item in invoice.produtos]
            if items:
                self._connection.execute(insert(product_invoice_items), items)
        self._invoices.clear()

    def _item(self, id_nf: int, seq: int, item: ProductInvoiceItemInput) -> ProductInvoiceItem:
        return ProductInvoiceItem(
            idNF=id_nf,
            seq=seq,
            descricaoDoProduto=self._known.required(products, item.idProduto).name,
            valorTotal=_worth(item),
            **item.model_dump(),
        )


def _worth(item: ProductInvoiceItemInput) -> Decimal:
    return cents(item.quantidade * item.valorUnitario)


def _total(data: ProductInvoiceInput) -> Decimal:
    return sum(map(_worth, data.produtos), Decimal(0))
