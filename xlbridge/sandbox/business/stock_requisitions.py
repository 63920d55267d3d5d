"""Stock requisitions: what outputs have settled of them. Source: the spec, Stock requisition."""

from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, Row, Select, and_, func, select, type_coerce

from xlbridge.sandbox.answers import Problem
from xlbridge.sandbox.business.stock_balances import shown
from xlbridge.sandbox.columns import Amount
from xlbridge.sandbox.tables.stock import movements, stock_requisition_items, stock_requisitions
from xlbridge.wire.stock import StockOutputInput

_NOTHING = Decimal(0)


def requested_items() -> Select[Any]:
    """Select the items of requisitions, each with what outputs have settled of it."""
    items = stock_requisition_items
    settles = and_(
        movements.c.numeroDaRequisicao == items.c.requisition,
        movements.c.seqRequisicao == items.c.seq,
        movements.c.inward.is_(False),
        movements.c.reversed.is_(False),
    )
    settled = func.coalesce(func.sum(movements.c.quantidade), _NOTHING)
    pending = type_coerce(items.c.quantity - settled, Amount)
    return (
        select(items, settled.label("settled"), pending.label("pending"))
        .outerjoin(movements, settles)
        .group_by(*items.c)
        .order_by(items.c.requisition, items.c.seq)
    )


def requested_item(connection: Connection, data: StockOutputInput) -> Row[Any] | None:
    """Return the requisition's item that an output names, None where it names none."""
    items = stock_requisition_items.c
    this = (items.requisition == data.numeroDaRequisicao) & (items.seq == data.seqRequisicao)
    return connection.execute(requested_items().where(this)).one_or_none()


def settlement_problems(
    connection: Connection, data: StockOutputInput, quantity: Decimal
) -> list[Problem]:
    """Return the rules that settling a quantity of the named requisition breaks."""
    number = data.numeroDaRequisicao
    if number is None and data.seqRequisicao is None:
        return []
    if number is None or data.seqRequisicao is None:
        key = "numeroDaRequisicao" if number is None else "seqRequisicao"
        return [(key, "Informe a requisição e o item dela.")]
    of_number = select(stock_requisitions.c.branch).where(stock_requisitions.c.number == number)
    branch = connection.scalar(of_number)
    if branch is None:
        return [("numeroDaRequisicao", f"Requisição {number}: número não cadastrado.")]
    if branch != data.codigoDaFilial:
        return [("numeroDaRequisicao", f"A requisição {number} é da filial {branch}.")]
    item = requested_item(connection, data)
    if item is None:
        return [("seqRequisicao", f"A requisição {number} não tem o item informado.")]
    if data.idProd not in (None, item.product):
        return [("idProd", f"O item da requisição é do produto {item.product}.")]
    if quantity > item.pending:
        return [("quantidade", f"Do item da requisição há {shown(item.pending)} pendente.")]
    return []
