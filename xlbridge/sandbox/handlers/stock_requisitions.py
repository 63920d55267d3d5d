"""Stock requisitions, pending and settled. Source: the spec, Stock requisition (read), Limits."""

from collections import defaultdict
from typing import Any

from sqlalchemy import ColumnElement, Row, exists, select

from xlbridge.sandbox.answers import not_found
from xlbridge.sandbox.business.stock_requisitions import requested_items
from xlbridge.sandbox.call import Call, handles
from xlbridge.sandbox.tables.registries import branches, products
from xlbridge.sandbox.tables.stock import stock_requisitions
from xlbridge.wire.operations.stock import STOCK_REQUISITIONS_PENDING, STOCK_REQUISITIONS_SETTLED
from xlbridge.wire.stock import StockRequisition, StockRequisitionItem, StockRequisitionQuery


@handles(STOCK_REQUISITIONS_PENDING)
def list_pending(call: Call) -> list[StockRequisition]:
    return _requisitions(call, pending=True)


@handles(STOCK_REQUISITIONS_SETTLED)
def list_settled(call: Call) -> list[StockRequisition]:
    return _requisitions(call, pending=False)


def _requisitions(call: Call, *, pending: bool) -> list[StockRequisition]:
    query = call.queried(StockRequisitionQuery)
    if not call.connection.scalar(select(exists().where(branches.c.code == query.filial))):
        raise not_found("filial", "Filial não encontrada.")
    found = select(stock_requisitions).where(
        stock_requisitions.c.branch == query.filial, _is_pending() == pending
    )
    found = found.order_by(stock_requisitions.c.requested, stock_requisitions.c.number)
    if query.qtde:
        found = found.limit(query.qtde)
    headers = call.connection.execute(found).all()
    items = _items_of(call, [header.number for header in headers])
    return [_requisition(header, items[header.number], pending=pending) for header in headers]


def _is_pending() -> ColumnElement[bool]:
    items = requested_items().subquery()
    return exists().where(items.c.requisition == stock_requisitions.c.number, items.c.pending > 0)


def _items_of(call: Call, numbers: list[int]) -> defaultdict[int, list[StockRequisitionItem]]:
    items = requested_items().subquery()
    found = (
        select(items, products.c.name)
        .join(products, products.c.code == items.c.product)
        .where(items.c.requisition.in_(numbers))
        .order_by(items.c.requisition, items.c.seq)
    )
    grouped: defaultdict[int, list[StockRequisitionItem]] = defaultdict(list)
    for row in call.connection.execute(found):
        grouped[row.requisition].append(_item(row))
    return grouped


def _item(row: Row[Any]) -> StockRequisitionItem:
    return StockRequisitionItem(
        seq=row.seq,
        idProd=row.product,
        descricaoDoProduto=row.name,
        quantidade=row.quantity,
        quantidadeAtendida=row.settled,
        quantidadePendente=row.pending,
    )


def _requisition(
    header: Row[Any], items: list[StockRequisitionItem], *, pending: bool
) -> StockRequisition:
    return StockRequisition(
        numeroDaRequisicao=header.number,
        dataDaRequisicao=header.requested,
        codigoDaFilial=header.branch,
        codigoDoCentroDeCusto=header.cost_centre,
        pendente=pending,
        liberadoParaAprovacao=header.released,
        itens=items,
    )
