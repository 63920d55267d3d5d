"""The rules of orders (Ordem). Source: the spec, Purchasing and States (purchase flow)."""

from datetime import datetime
from decimal import Decimal

from sqlalchemy import Connection, exists, select

from xlbridge.sandbox.answers import Problem
from xlbridge.sandbox.business.known import Known
from xlbridge.sandbox.business.numbers import Numbers
from xlbridge.sandbox.business.purchase_documents import approve, origin_problems, write_documents
from xlbridge.sandbox.business.purchase_items import (
    request_header,
    request_problems,
    requested_items,
)
from xlbridge.sandbox.tables.purchasing import (
    buying_order_items,
    buying_orders,
    purchase_requisition_items,
    purchase_requisitions,
)
from xlbridge.sandbox.tables.registries import collaborators
from xlbridge.sandbox.tables.stock import stock_requisitions
from xlbridge.wire.purchasing import BuyingOrder, BuyingOrderInput

_NO_QUOTATIONS = 0


class BuyingOrderIntake:
    """Takes in new orders; the requisition that one names is closed by it."""

    def __init__(self, connection: Connection, now: datetime) -> None:
        self._connection = connection
        self._now = now
        self._known = Known(connection)
        self._numbers = Numbers(connection)
        self._accepted: list[BuyingOrder] = []

    def problems(self, data: BuyingOrderInput) -> list[Problem]:
        """Return the rules that a new order breaks."""
        return [
            *request_problems(self._known, data),
            *self._known.complaint(
                "codigoDoColaboradorResponsavelCompras",
                collaborators,
                data.codigoDoColaboradorResponsavelCompras,
                "Colaborador",
            ),
            *origin_problems(
                self._connection,
                "NumeroDaRequisicaoDeCompra",
                purchase_requisitions,
                data.NumeroDaRequisicaoDeCompra,
                "Requisição de compra",
            ),
            *self._stock_requisition_problems(data.NumeroDaRequisicaoDeEstoque),
        ]

    def accept(self, data: BuyingOrderInput) -> BuyingOrder:
        """Take in an order without problems, open, under the next number."""
        buyer = self._known.name(collaborators, data.codigoDoColaboradorResponsavelCompras)
        order = BuyingOrder(
            **request_header(self._known, data),
            numeroDaOrdem=self._numbers.next("buying_order"),
            dataDaOrdem=self._now,
            DescricaoDoColaboradorResponsavelCompras=buyer,
            TotalDeCotacoes=_NO_QUOTATIONS,
            encerrada=False,
            itens=requested_items(self._known, data),
        )
        self._accepted.append(order)
        approve(
            self._connection,
            purchase_requisitions,
            purchase_requisition_items,
            data.NumeroDaRequisicaoDeCompra,
        )
        return order

    def write(self) -> None:
        """Write all accepted orders."""
        self._numbers.write()
        write_documents(self._connection, buying_orders, buying_order_items, self._accepted)
        self._accepted.clear()

    def _stock_requisition_problems(self, number: Decimal | None) -> list[Problem]:
        found = select(exists().where(stock_requisitions.c.number == number))
        if number is None or self._connection.scalar(found):
            return []
        message = f"Requisição de estoque {number}: número não cadastrado."
        return [("NumeroDaRequisicaoDeEstoque", message)]
