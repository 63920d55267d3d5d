"""Purchase requisitions. Source: the spec, Purchasing."""

from collections.abc import Iterator

from sqlalchemy import ColumnElement, select

from xlbridge.sandbox.answers import RequestError, not_found
from xlbridge.sandbox.business.intake import admit
from xlbridge.sandbox.business.known import Known
from xlbridge.sandbox.business.purchase_requisitions import PurchaseRequisitionIntake
from xlbridge.sandbox.call import Call, handles
from xlbridge.sandbox.lines import lines_of
from xlbridge.sandbox.tables.purchasing import purchase_requisition_items, purchase_requisitions
from xlbridge.sandbox.tables.registries import branches, cost_centres, projects
from xlbridge.wire.operations.purchasing import (
    REQUISITION_CREATE,
    REQUISITION_CREATE_SUFFIXED,
    REQUISITION_GET,
    REQUISITION_LIST_CLOSED,
    REQUISITION_LIST_OPEN,
)
from xlbridge.wire.purchasing import (
    PurchaseRequisition,
    PurchaseRequisitionInput,
    RequestedItem,
    RequisitionQuery,
)

_headers = purchase_requisitions.c


@handles(REQUISITION_CREATE)
@handles(REQUISITION_CREATE_SUFFIXED)
def create(call: Call) -> PurchaseRequisition:
    intake = PurchaseRequisitionIntake(call.connection, call.now)
    return admit(intake, call.sent(PurchaseRequisitionInput))


@handles(REQUISITION_LIST_OPEN)
def list_open(call: Call) -> list[PurchaseRequisition]:
    return _found(call, _headers.encerrada.is_(False), *_filters(call))


@handles(REQUISITION_LIST_CLOSED)
def list_closed(call: Call) -> list[PurchaseRequisition]:
    return _found(call, _headers.encerrada.is_(True), *_filters(call))


@handles(REQUISITION_GET)
def get(call: Call) -> PurchaseRequisition:
    found = _found(call, _headers.numeroDaRequisicao == call.path["id"])
    if not found:
        raise not_found("id", "Requisição de compra não encontrada.")
    return found[0]


def _filters(call: Call) -> Iterator[ColumnElement[bool]]:
    query = call.queried(RequisitionQuery)
    known = Known(call.connection)
    problems = known.complaint("CodigoDaFilial", branches, query.CodigoDaFilial, "Filial")
    for code in query.CodigosCentroCustos:
        problems += known.complaint("CodigosCentroCustos", cost_centres, code, "Centro de custo")
    if problems:
        raise RequestError(404, problems)
    if query.CodigoDaFilial is not None:
        yield _headers.codigoDaFilial == query.CodigoDaFilial
    if query.CodigosCentroCustos:
        yield _headers.codigoDoCentroDeCusto.in_(query.CodigosCentroCustos)


def _found(call: Call, *conditions: ColumnElement[bool]) -> list[PurchaseRequisition]:
    statement = (
        select(purchase_requisitions, projects.c.name.label("DescricaoDoProjeto"))
        .outerjoin(projects, projects.c.code == _headers.CodigoDoProjeto)
        .where(*conditions)
        .order_by(_headers.numeroDaRequisicao)
    )
    numbers = select(_headers.numeroDaRequisicao).where(*conditions)
    items = lines_of(call, RequestedItem, purchase_requisition_items, numbers)
    return [
        PurchaseRequisition.model_construct(**row, itens=items[row["numeroDaRequisicao"]])
        for row in call.connection.execute(statement).mappings()
    ]
