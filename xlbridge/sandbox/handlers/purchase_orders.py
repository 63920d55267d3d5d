"""Purchase orders (Pedido). Source: the spec, Purchasing and Errors."""

from collections.abc import Sequence
from decimal import Decimal

from sqlalchemy import ColumnElement, select

from xlbridge.sandbox.answers import Problem, RequestError, not_found
from xlbridge.sandbox.business.intake import admit
from xlbridge.sandbox.business.purchase_orders import PurchaseOrderIntake
from xlbridge.sandbox.call import Call, handles
from xlbridge.sandbox.lines import lines_of
from xlbridge.sandbox.tables.purchasing import (
    purchase_order_files,
    purchase_order_items,
    purchase_orders,
)
from xlbridge.wire.attachments import Attachment
from xlbridge.wire.operations.purchasing import (
    PURCHASE_ORDER_CREATE,
    PURCHASE_ORDER_GET,
    PURCHASE_ORDER_LIST_CLOSED,
    PURCHASE_ORDER_LIST_OPEN,
)
from xlbridge.wire.purchasing import (
    Notification,
    PurchaseOrder,
    PurchaseOrderAnswer,
    PurchaseOrderCreated,
    PurchaseOrderInput,
    PurchaseOrderItem,
)

_headers = purchase_orders.c
_files = purchase_order_files.c


def _refused(problems: Sequence[Problem]) -> PurchaseOrderAnswer:
    notifications = [Notification(key=key, value=value) for key, value in problems]
    return PurchaseOrderAnswer(notifications=notifications, payload=None)


@handles(PURCHASE_ORDER_CREATE, on_invalid=_refused)
def create(call: Call) -> PurchaseOrderAnswer:
    intake = PurchaseOrderIntake(call.connection, call.now)
    try:
        order = admit(intake, call.sent(PurchaseOrderInput))
    except RequestError as error:
        return _refused(error.problems)
    created = PurchaseOrderCreated(
        numeroPedido=order.numeroPedido, codigoDoFornecedor=order.codigoDoFornecedor
    )
    return PurchaseOrderAnswer(notifications=[], payload=created)


@handles(PURCHASE_ORDER_LIST_OPEN)
def list_open(call: Call) -> list[PurchaseOrder]:
    return _found(call, _headers.encerrado.is_(False))


@handles(PURCHASE_ORDER_LIST_CLOSED)
def list_closed(call: Call) -> list[PurchaseOrder]:
    return _found(call, _headers.encerrado.is_(True))


@handles(PURCHASE_ORDER_GET)
def get(call: Call) -> PurchaseOrder:
    number = call.path["numeroPedido"]
    found = _found(call, _headers.numeroPedido == number)
    if not found:
        raise not_found("numeroPedido", "Pedido de compra não encontrado.")
    return found[0].model_copy(
        update={
            "Arquivos": _attached(call, number, of_invoice=False),
            "ArquivosNotasFiscais": _attached(call, number, of_invoice=True),
        }
    )


def _attached(call: Call, number: int, *, of_invoice: bool) -> list[Attachment]:
    wanted = (_files.number == number) & _files.of_invoice.is_(of_invoice)
    return call.read(Attachment, select(purchase_order_files).where(wanted).order_by(_files.Id))


def _found(call: Call, condition: ColumnElement[bool]) -> list[PurchaseOrder]:
    statement = select(purchase_orders).where(condition).order_by(_headers.numeroPedido)
    numbers = select(_headers.numeroPedido).where(condition)
    items = lines_of(call, PurchaseOrderItem, purchase_order_items, numbers)
    return [
        PurchaseOrder.model_construct(
            **row,
            itens=items[row["numeroPedido"]],
            valorTotal=sum(
                (item.valorTotal or Decimal(0) for item in items[row["numeroPedido"]]), Decimal(0)
            ),
        )
        for row in call.connection.execute(statement).mappings()
    ]
