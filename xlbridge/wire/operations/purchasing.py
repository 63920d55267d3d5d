"""Purchases and their budget. Source: the spec, Endpoints, Purchasing."""

from xlbridge.wire.budget import (
    SpendingLimit,
    SpendingLimitChange,
    SpendingLimitId,
    SpendingLimitInput,
    SpendingLimitQuery,
)
from xlbridge.wire.operation import Operation
from xlbridge.wire.purchasing import (
    ActiveQuery,
    BuyingOrder,
    BuyingOrderInput,
    PurchaseOrder,
    PurchaseOrderAnswer,
    PurchaseOrderInput,
    PurchaseReason,
    PurchaseRequisition,
    PurchaseRequisitionInput,
    PurchaseType,
    RequisitionQuery,
)

_SECTION = "Purchasing"
_BUDGET = "/v2/compras/planejamento"

REQUISITION_CREATE = Operation(
    name="purchasing.requisitions.create",
    method="POST",
    path="/v2/compras/requisicao",
    section=_SECTION,
    body=PurchaseRequisitionInput,
    data=PurchaseRequisition,
)
REQUISITION_CREATE_SUFFIXED = Operation(
    name="purchasing.requisitions.create_suffixed",
    method="POST",
    path="/v2/compras/requisicao/create",
    section=_SECTION,
    body=PurchaseRequisitionInput,
    data=PurchaseRequisition,
)
REQUISITION_LIST_OPEN = Operation(
    name="purchasing.requisitions.list_open",
    method="GET",
    path="/v2/compras/requisicao/abertas",
    section=_SECTION,
    query=RequisitionQuery,
    data=list[PurchaseRequisition],
    repeatable=True,
)
REQUISITION_LIST_CLOSED = Operation(
    name="purchasing.requisitions.list_closed",
    method="GET",
    path="/v2/compras/requisicao/encerradas",
    section=_SECTION,
    query=RequisitionQuery,
    data=list[PurchaseRequisition],
    repeatable=True,
)
REQUISITION_GET = Operation(
    name="purchasing.requisitions.get",
    method="GET",
    path="/v2/compras/requisicao/{id}",
    section=_SECTION,
    data=PurchaseRequisition,
    repeatable=True,
)
ORDER_CREATE = Operation(
    name="purchasing.orders.create",
    method="POST",
    path="/v2/compras/ordem",
    section=_SECTION,
    body=BuyingOrderInput,
    data=BuyingOrder,
)
ORDER_LIST_OPEN = Operation(
    name="purchasing.orders.list_open",
    method="GET",
    path="/v2/compras/ordem/abertas",
    section=_SECTION,
    data=list[BuyingOrder],
    repeatable=True,
)
ORDER_LIST_CLOSED = Operation(
    name="purchasing.orders.list_closed",
    method="GET",
    path="/v2/compras/ordem/encerradas",
    section=_SECTION,
    data=list[BuyingOrder],
    repeatable=True,
)
ORDER_GET = Operation(
    name="purchasing.orders.get",
    method="GET",
    path="/v2/compras/ordem/{id}",
    section=_SECTION,
    data=BuyingOrder,
    repeatable=True,
)
PURCHASE_ORDER_CREATE = Operation(
    name="purchasing.purchase_orders.create",
    method="POST",
    path="/v2/compras/pedido",
    section=_SECTION,
    body=PurchaseOrderInput,
    data=PurchaseOrderAnswer,
)
PURCHASE_ORDER_LIST_OPEN = Operation(
    name="purchasing.purchase_orders.list_open",
    method="GET",
    path="/v2/compras/pedido/abertos",
    section=_SECTION,
    data=list[PurchaseOrder],
    repeatable=True,
)
PURCHASE_ORDER_LIST_CLOSED = Operation(
    name="purchasing.purchase_orders.list_closed",
    method="GET",
    path="/v2/compras/pedido/encerrados",
    section=_SECTION,
    data=list[PurchaseOrder],
    repeatable=True,
)
PURCHASE_ORDER_GET = Operation(
    name="purchasing.purchase_orders.get",
    method="GET",
    path="/v2/compras/pedido/{numeroPedido}",
    section=_SECTION,
    data=PurchaseOrder,
    repeatable=True,
)
PURCHASE_TYPE_LIST = Operation(
    name="purchasing.types.list",
    method="GET",
    path="/v2/compras/gerenciamento/tipodecompra",
    section=_SECTION,
    query=ActiveQuery,
    data=list[PurchaseType],
    repeatable=True,
)
PURCHASE_REASON_LIST = Operation(
    name="purchasing.reasons.list",
    method="GET",
    path="/v2/compras/gerenciamento/motivo",
    section=_SECTION,
    query=ActiveQuery,
    data=list[PurchaseReason],
    repeatable=True,
)
SPENDING_LIMIT_LIST = Operation(
    name="purchasing.budget.list",
    method="GET",
    path=_BUDGET,
    section=_SECTION,
    query=SpendingLimitQuery,
    data=list[SpendingLimit],
    repeatable=True,
)
SPENDING_LIMIT_CREATE = Operation(
    name="purchasing.budget.create",
    method="POST",
    path=_BUDGET,
    section=_SECTION,
    body=SpendingLimitInput,
    data=SpendingLimit,
)
SPENDING_LIMIT_UPDATE = Operation(
    name="purchasing.budget.update",
    method="PUT",
    path=_BUDGET,
    section=_SECTION,
    body=SpendingLimitChange,
    data=SpendingLimit,
    repeatable=True,
)
SPENDING_LIMIT_DELETE = Operation(
    name="purchasing.budget.delete",
    method="DELETE",
    path=_BUDGET,
    section=_SECTION,
    query=SpendingLimitId,
    data=SpendingLimit,
)

OPERATIONS = (
    REQUISITION_CREATE,
    REQUISITION_CREATE_SUFFIXED,
    REQUISITION_LIST_OPEN,
    REQUISITION_LIST_CLOSED,
    REQUISITION_GET,
    ORDER_CREATE,
    ORDER_LIST_OPEN,
    ORDER_LIST_CLOSED,
    ORDER_GET,
    PURCHASE_ORDER_CREATE,
    PURCHASE_ORDER_LIST_OPEN,
    PURCHASE_ORDER_LIST_CLOSED,
    PURCHASE_ORDER_GET,
    PURCHASE_TYPE_LIST,
    PURCHASE_REASON_LIST,
    SPENDING_LIMIT_LIST,
    SPENDING_LIMIT_CREATE,
    SPENDING_LIMIT_UPDATE,
    SPENDING_LIMIT_DELETE,
)
