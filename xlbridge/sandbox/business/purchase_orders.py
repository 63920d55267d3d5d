"""The rules of purchase orders (Pedido). Source: the spec, Purchasing and States."""

from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal

from sqlalchemy import Connection

from xlbridge.sandbox.answers import Problem
from xlbridge.sandbox.business.entries import amount_problems
from xlbridge.sandbox.business.known import Known
from xlbridge.sandbox.business.money import cents
from xlbridge.sandbox.business.numbers import Numbers
from xlbridge.sandbox.business.purchase_documents import approve, origin_problems, write_documents
from xlbridge.sandbox.business.purchase_items import quantity_problems
from xlbridge.sandbox.tables.purchasing import (
    buying_order_items,
    buying_orders,
    purchase_order_items,
    purchase_orders,
)
from xlbridge.sandbox.tables.registries import branches, products, suppliers
from xlbridge.wire.purchasing import (
    PurchaseOrder,
    PurchaseOrderInput,
    PurchaseOrderItem,
    PurchaseOrderItemInput,
)


class PurchaseOrderIntake:
    """Takes in new purchase orders; the order (Ordem) that one names is closed by it."""

    def __init__(self, connection: Connection, now: datetime) -> None:
        self._connection = connection
        self._now = now
        self._known = Known(connection)
        self._numbers = Numbers(connection)
        self._accepted: list[PurchaseOrder] = []

    def problems(self, data: PurchaseOrderInput) -> list[Problem]:
        """Return the rules that a new purchase order breaks."""
        known = self._known
        problems = [
            *known.complaint("codigoDaFilial", branches, data.codigoDaFilial, "Filial"),
            *known.inactive_complaint(
                "codigoDoFornecedor", suppliers, data.codigoDoFornecedor, "Fornecedor"
            ),
            *origin_problems(
                self._connection, "numeroDaOrdem", buying_orders, data.numeroDaOrdem, "Ordem"
            ),
        ]
        for place, item in enumerate(data.itens):
            problems.extend(_item_problems(known, f"itens.{place}", item))
        return problems

    def accept(self, data: PurchaseOrderInput) -> PurchaseOrder:
        """Take in a purchase order without problems, open, under the next number."""
        items = [self._item(seq, item) for seq, item in enumerate(data.itens, start=1)]
        order = PurchaseOrder(
            **data.model_dump(exclude={"itens"}),
            numeroPedido=self._numbers.next("purchase_order"),
            dataDoPedido=self._now,
            encerrado=False,
            valorTotal=sum(map(_worth, data.itens), Decimal(0)),
            itens=items,
        )
        self._accepted.append(order)
        approve(self._connection, buying_orders, buying_order_items, data.numeroDaOrdem)
        return order

    def write(self) -> None:
        """Write all accepted purchase orders."""
        self._numbers.write()
        write_documents(self._connection, purchase_orders, purchase_order_items, self._accepted)
        self._accepted.clear()

    def _item(self, seq: int, item: PurchaseOrderItemInput) -> PurchaseOrderItem:
        return PurchaseOrderItem(
            seq=seq,
            idProduto=item.idProduto,
            descricaoDoProduto=self._known.required(products, item.idProduto).name,
            quantidade=item.quantidade,
            valorUnitario=item.valorUnitario,
            valorTotal=_worth(item),
        )


def _item_problems(known: Known, place: str, item: PurchaseOrderItemInput) -> Iterator[Problem]:
    yield from known.complaint(f"{place}.idProduto", products, item.idProduto, "Produto")
    problems = [
        *quantity_problems(f"{place}.quantidade", item.quantidade),
        *amount_problems(f"{place}.valorUnitario", item.valorUnitario),
    ]
    if not problems:
        problems = amount_problems(f"{place}.valorUnitario", _worth(item))
    yield from problems


def _worth(item: PurchaseOrderItemInput) -> Decimal:
    return cents(item.quantidade * item.valorUnitario)
