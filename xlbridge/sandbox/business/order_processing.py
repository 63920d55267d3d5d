"""Processing sales orders: registered, then processed once and for all.

Source: the spec, States (sales order).
"""

from datetime import datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, Row, select, update

from xlbridge.sandbox.answers import invalid, not_found
from xlbridge.sandbox.business.intake import admit
from xlbridge.sandbox.business.order_records import whole_orders
from xlbridge.sandbox.business.order_titles import open_titles
from xlbridge.sandbox.business.product_invoices import ProductInvoiceIntake
from xlbridge.sandbox.tables.sales import sales_order_items, sales_orders
from xlbridge.wire.product_invoices import ProductInvoiceInput
from xlbridge.wire.sales import SalesOrder

_KEY = "numeroPedido"
_SALE = {"tipoDeOperacao": "Saída", "naturezaDaOperacao": "Venda de mercadorias"}
_COPIED = (
    "codigoDaFilial", "codigoDaNotaFiscal", "codigoDaFormaDePagamento", "codigoDoCliente",
    "nomeDoCliente", "cep",
)  # fmt: skip


def process_order(connection: Connection, number: int, now: datetime) -> None:
    """Process a pending order: its titles are opened, its products invoiced.

    An order without products has no product invoice. Raises ``RequestError``: 404 when there is
    no such order, 400 when it is not pending any more or breaks a rule.
    """
    (order,) = whole_orders(connection, [_pending(connection, number)])
    open_titles(connection, order, now)
    id_nf = _invoice(connection, order, now) if order.produtos else None
    items = sales_order_items
    connection.execute(
        update(items)
        .where(items.c.numeroDoPedido == number)
        .values(
            quantidadeProcessadaParcial=items.c.quantidade,
            quantidadeDisponivelParaProcessamento=Decimal(0),
            valorDisponivelParaProcessamento=Decimal(0),
            disponivelParaProcessamentoParcial=False,
        )
    )
    connection.execute(
        update(sales_orders)
        .where(sales_orders.c.numeroDoPedido == number)
        .values(idNF=id_nf, pendente=False, processado=True, dataDeProcessamento=now, updated=now)
    )


def _pending(connection: Connection, number: int) -> Row[Any]:
    statement = select(sales_orders).where(sales_orders.c.numeroDoPedido == number)
    order = connection.execute(statement).one_or_none()
    if order is None:
        raise not_found(_KEY, "Pedido não encontrado.")
    if order.processado:
        raise invalid((_KEY, f"O pedido {number} já foi processado."))
    if order.cancelado:
        raise invalid((_KEY, f"O pedido {number} está cancelado."))
    return order


def _invoice(connection: Connection, order: SalesOrder, now: datetime) -> int:
    same = ("idProduto", "quantidade", "valorUnitario")
    content = ProductInvoiceInput.model_validate(
        _SALE
        | {name: getattr(order, name) for name in _COPIED}
        | {"produtos": [{name: getattr(item, name) for name in same} for item in order.produtos]}
    )
    intake = ProductInvoiceIntake(connection, now, order.numeroDoPedido)
    return admit(intake, content).idNF
