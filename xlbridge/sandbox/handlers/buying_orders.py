"""Orders (Ordem). Source: the spec, Purchasing."""

from sqlalchemy import ColumnElement, select

from xlbridge.sandbox.answers import not_found
from xlbridge.sandbox.business.buying_orders import BuyingOrderIntake
from xlbridge.sandbox.business.intake import admit
from xlbridge.sandbox.call import Call, handles
from xlbridge.sandbox.lines import lines_of
from xlbridge.sandbox.tables.purchasing import buying_order_items, buying_orders
from xlbridge.sandbox.tables.registries import collaborators, projects
from xlbridge.wire.operations.purchasing import (
    ORDER_CREATE,
    ORDER_GET,
    ORDER_LIST_CLOSED,
    ORDER_LIST_OPEN,
)
from xlbridge.wire.purchasing import BuyingOrder, BuyingOrderInput, RequestedItem

_headers = buying_orders.c


@handles(ORDER_CREATE)
def create(call: Call) -> BuyingOrder:
    return admit(BuyingOrderIntake(call.connection, call.now), call.sent(BuyingOrderInput))


@handles(ORDER_LIST_OPEN)
def list_open(call: Call) -> list[BuyingOrder]:
    return _found(call, _headers.encerrada.is_(False))


@handles(ORDER_LIST_CLOSED)
def list_closed(call: Call) -> list[BuyingOrder]:
    return _found(call, _headers.encerrada.is_(True))


@handles(ORDER_GET)
def get(call: Call) -> BuyingOrder:
    found = _found(call, _headers.numeroDaOrdem == call.path["id"])
    if not found:
        raise not_found("id", "Ordem de compra não encontrada.")
    return found[0]


def _found(call: Call, condition: ColumnElement[bool]) -> list[BuyingOrder]:
    statement = (
        select(
            buying_orders,
            projects.c.name.label("DescricaoDoProjeto"),
            collaborators.c.name.label("DescricaoDoColaboradorResponsavelCompras"),
        )
        .outerjoin(projects, projects.c.code == _headers.CodigoDoProjeto)
        .outerjoin(
            collaborators,
            collaborators.c.code == _headers.codigoDoColaboradorResponsavelCompras,
        )
        .where(condition)
        .order_by(_headers.numeroDaOrdem)
    )
    numbers = select(_headers.numeroDaOrdem).where(condition)
    items = lines_of(call, RequestedItem, buying_order_items, numbers)
    return [
        BuyingOrder.model_construct(**row, itens=items[row["numeroDaOrdem"]])
        for row in call.connection.execute(statement).mappings()
    ]
