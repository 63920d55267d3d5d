"""Handlers of purchase requisitions, orders (Ordem), purchase orders (Pedido), spending limits.

Source: the spec, Purchasing, Errors.
"""

import unicodedata
from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Select, Table, delete, select, update

from xlbridge.sandbox.areas.purchasing.rules import (
    LIMIT_CODES,
    BuyingOrderRegistration,
    PurchaseOrderRegistration,
    PurchaseRequisitionRegistration,
    SpendingLimitRegistration,
    buying_order_items,
    buying_orders,
    purchase_order_files,
    purchase_order_items,
    purchase_orders,
    purchase_requisition_items,
    purchase_requisitions,
    spending_limits,
)
from xlbridge.sandbox.areas.registry.codes import CodeLookup
from xlbridge.sandbox.areas.registry.tables import (
    branches,
    collaborators,
    cost_centres,
    projects,
    purchase_reasons,
    purchase_types,
)
from xlbridge.sandbox.handler_registry import (
    Call,
    Lists,
    Model,
    handle_creation,
    handles,
    read_documents,
)
from xlbridge.sandbox.problems import Problem, RequestError, first_or_404, require_no_problems
from xlbridge.wire import Attachment
from xlbridge.wire.budget import (
    SPENDING_LIMIT_CREATE,
    SPENDING_LIMIT_DELETE,
    SPENDING_LIMIT_LIST,
    SPENDING_LIMIT_UPDATE,
    SpendingLimit,
    SpendingLimitChange,
    SpendingLimitKey,
    SpendingLimitQuery,
)
from xlbridge.wire.purchasing import (
    ORDER_CREATE,
    ORDER_GET,
    ORDER_LIST_CLOSED,
    ORDER_LIST_OPEN,
    PURCHASE_ORDER_CREATE,
    PURCHASE_ORDER_GET,
    PURCHASE_ORDER_LIST_CLOSED,
    PURCHASE_ORDER_LIST_OPEN,
    PURCHASE_REASON_LIST,
    PURCHASE_TYPE_LIST,
    REQUISITION_CREATE,
    REQUISITION_CREATE_SUFFIXED,
    REQUISITION_GET,
    REQUISITION_LIST_CLOSED,
    REQUISITION_LIST_OPEN,
    ActiveQuery,
    BuyingOrder,
    Notification,
    PurchaseOrder,
    PurchaseOrderAnswer,
    PurchaseOrderCreated,
    PurchaseOrderInput,
    PurchaseOrderItem,
    PurchaseReason,
    PurchaseRequisition,
    PurchaseType,
    RequestedItem,
    RequisitionQuery,
)

_requisitions = purchase_requisitions.c


handle_creation(REQUISITION_CREATE, PurchaseRequisitionRegistration)
handle_creation(REQUISITION_CREATE_SUFFIXED, PurchaseRequisitionRegistration)
handle_creation(ORDER_CREATE, BuyingOrderRegistration)


@handles(REQUISITION_LIST_OPEN)
@handles(REQUISITION_LIST_CLOSED)
def list_requisitions(call: Call) -> list[PurchaseRequisition]:
    in_state = _requisitions.encerrada.is_(call.operation is REQUISITION_LIST_CLOSED)
    query = call.query_as(RequisitionQuery)
    lookup = CodeLookup(call.connection)
    problems = lookup.problems("CodigoDaFilial", branches, query.CodigoDaFilial, "Filial")
    for code in query.CodigosCentroCustos:
        problems += lookup.problems("CodigosCentroCustos", cost_centres, code, "Centro de custo")
    if problems:
        raise RequestError(404, problems)
    conditions: list[ColumnElement[bool]] = [in_state]
    if query.CodigoDaFilial is not None:
        conditions.append(_requisitions.codigoDaFilial == query.CodigoDaFilial)
    if query.CodigosCentroCustos:
        conditions.append(_requisitions.codigoDoCentroDeCusto.in_(query.CodigosCentroCustos))
    return _find_requisitions(call, *conditions)


@handles(REQUISITION_GET)
def show_requisition(call: Call) -> PurchaseRequisition:
    requisitions = _find_requisitions(call, _requisitions.numeroDaRequisicao == call.path["id"])
    return first_or_404(requisitions, "id", "Requisição de compra não encontrada.")


def _find_requisitions(call: Call, *conditions: ColumnElement[bool]) -> list[PurchaseRequisition]:
    statement = select(
        purchase_requisitions, projects.c.name.label("DescricaoDoProjeto")
    ).outerjoin(projects, projects.c.code == _requisitions.CodigoDoProjeto)
    lists = {"itens": (RequestedItem, [purchase_requisition_items.c.number])}
    return _documents(
        call, PurchaseRequisition, purchase_requisitions, lists, statement, conditions
    )


def _documents(
    call: Call,
    model: type[Model],
    headers: Table,
    lists: Lists,
    statement: Select[Any],
    conditions: Sequence[ColumnElement[bool]],
) -> list[Model]:
    """Return the documents of a statement that meet all conditions, in the order of numbers."""
    key = headers.primary_key
    return read_documents(
        call.connection, model, key, lists, statement.where(*conditions).order_by(*key)
    )


_orders = buying_orders.c


@handles(ORDER_LIST_OPEN)
@handles(ORDER_LIST_CLOSED)
def list_orders(call: Call) -> list[BuyingOrder]:
    return _find_orders(call, _orders.encerrada.is_(call.operation is ORDER_LIST_CLOSED))


@handles(ORDER_GET)
def show_order(call: Call) -> BuyingOrder:
    orders = _find_orders(call, _orders.numeroDaOrdem == call.path["id"])
    return first_or_404(orders, "id", "Ordem de compra não encontrada.")


def _find_orders(call: Call, condition: ColumnElement[bool]) -> list[BuyingOrder]:
    statement = (
        select(
            buying_orders,
            projects.c.name.label("DescricaoDoProjeto"),
            collaborators.c.name.label("DescricaoDoColaboradorResponsavelCompras"),
        )
        .outerjoin(projects, projects.c.code == _orders.CodigoDoProjeto)
        .outerjoin(
            collaborators,
            collaborators.c.code == _orders.codigoDoColaboradorResponsavelCompras,
        )
    )
    lists = {"itens": (RequestedItem, [buying_order_items.c.number])}
    return _documents(call, BuyingOrder, buying_orders, lists, statement, [condition])


_purchase_orders = purchase_orders.c
_purchase_order_files = purchase_order_files.c


def _reject_order(problems: Sequence[Problem]) -> PurchaseOrderAnswer:
    notifications = [Notification(key=key, value=value) for key, value in problems]
    return PurchaseOrderAnswer(notifications=notifications, payload=None)


@handles(PURCHASE_ORDER_CREATE, on_invalid=_reject_order)
def create_purchase_order(call: Call) -> PurchaseOrderAnswer:
    registration = PurchaseOrderRegistration(call.connection, call.now)
    try:
        order = registration.register(call.body_as(PurchaseOrderInput))
    except RequestError as error:
        return _reject_order(error.problems)
    created = PurchaseOrderCreated(
        numeroPedido=order.numeroPedido, codigoDoFornecedor=order.codigoDoFornecedor
    )
    return PurchaseOrderAnswer(notifications=[], payload=created)


@handles(PURCHASE_ORDER_LIST_OPEN)
@handles(PURCHASE_ORDER_LIST_CLOSED)
def list_purchase_orders(call: Call) -> list[PurchaseOrder]:
    closed = call.operation is PURCHASE_ORDER_LIST_CLOSED
    return _find_purchase_orders(call, _purchase_orders.encerrado.is_(closed))


@handles(PURCHASE_ORDER_GET)
def show_purchase_order(call: Call) -> PurchaseOrder:
    number = call.path["numeroPedido"]
    orders = _find_purchase_orders(call, _purchase_orders.numeroPedido == number)
    order = first_or_404(orders, "numeroPedido", "Pedido de compra não encontrado.")
    return order.model_copy(
        update={
            "Arquivos": _attached_files(call, number, of_invoice=False),
            "ArquivosNotasFiscais": _attached_files(call, number, of_invoice=True),
        }
    )


def _attached_files(call: Call, number: int, *, of_invoice: bool) -> list[Attachment]:
    files = _purchase_order_files
    columns = tuple(files[name] for name in Attachment.model_fields)
    statement = select(*columns).where(files.number == number, files.of_invoice.is_(of_invoice))
    return call.read_attachments(statement.order_by(files.Id))


def _find_purchase_orders(call: Call, condition: ColumnElement[bool]) -> list[PurchaseOrder]:
    lists = {"itens": (PurchaseOrderItem, [purchase_order_items.c.number])}
    statement = select(purchase_orders)
    return _documents(call, PurchaseOrder, purchase_orders, lists, statement, [condition])


@handles(PURCHASE_TYPE_LIST)
def list_purchase_types(call: Call) -> list[PurchaseType]:
    names = ("codigoDoTipoDeCompra", "descricaoDoTipoDeCompra")
    return _registry_entries(call, PurchaseType, purchase_types, names)


@handles(PURCHASE_REASON_LIST)
def list_purchase_reasons(call: Call) -> list[PurchaseReason]:
    names = ("codigoDoMotivo", "descricaoDoMotivo")
    reasons = _registry_entries(call, PurchaseReason, purchase_reasons, names)

    def dictionary_order(reason: PurchaseReason) -> str:
        """Sort key that ignores accents and case, the same on every database."""
        plain = unicodedata.normalize("NFKD", reason.descricaoDoMotivo or "")
        return plain.encode("ascii", "ignore").decode().casefold()

    return sorted(reasons, key=dictionary_order)


def _registry_entries(
    call: Call, model: type[Model], registry: Table, names: tuple[str, str]
) -> list[Model]:
    code, description = names
    statement = select(
        registry.c.code.label(code),
        registry.c.name.label(description),
        registry.c.active.label("ativo"),
    ).order_by(registry.c.code)
    if call.query_as(ActiveQuery).somenteAtivos:
        statement = statement.where(registry.c.active)
    return call.read(model, statement)


@handles(SPENDING_LIMIT_LIST)
def list_spending_limits(call: Call) -> list[SpendingLimit]:
    query = call.query_as(SpendingLimitQuery)
    lookup = CodeLookup(call.connection)
    unknown = lookup.field_problems(query, *LIMIT_CODES, "codigoDoItemDeLancamento")
    if unknown:
        raise RequestError(404, unknown)
    statement = select(spending_limits).order_by(spending_limits.c.idPlanejamento)
    for name, value in query.model_dump(exclude_none=True).items():
        statement = statement.where(spending_limits.c[name] == value)
    return call.read(SpendingLimit, statement)


handle_creation(SPENDING_LIMIT_CREATE, SpendingLimitRegistration)


@handles(SPENDING_LIMIT_UPDATE)
def update_spending_limit(call: Call) -> SpendingLimit:
    data = call.body_as(SpendingLimitChange)
    _existing_limit(call, data.idPlanejamento)
    require_no_problems(SpendingLimitRegistration(call.connection, call.now).problems(data))
    by_id = spending_limits.c.idPlanejamento == data.idPlanejamento
    call.connection.execute(update(spending_limits).where(by_id).values(data.model_dump()))
    return SpendingLimit(**data.model_dump())


@handles(SPENDING_LIMIT_DELETE)
def delete_spending_limit(call: Call) -> SpendingLimit:
    limit = _existing_limit(call, call.query_as(SpendingLimitKey).idPlanejamento)
    by_id = spending_limits.c.idPlanejamento == limit.idPlanejamento
    call.connection.execute(delete(spending_limits).where(by_id))
    return limit


def _existing_limit(call: Call, number: int) -> SpendingLimit:
    statement = select(spending_limits).where(spending_limits.c.idPlanejamento == number)
    limits = call.read(SpendingLimit, statement)
    return first_or_404(limits, "idPlanejamento", "Planejamento não encontrado.")
