"""Service invoices, under both of their paths. Source: the spec, Service invoice (NFS-e)."""

from sqlalchemy import select

from xlbridge.sandbox.answers import not_found
from xlbridge.sandbox.business.emission import emit_service_invoice
from xlbridge.sandbox.business.intake import admit
from xlbridge.sandbox.business.service_invoices import ServiceInvoiceIntake, change_service_invoice
from xlbridge.sandbox.call import Call, handles
from xlbridge.sandbox.tables.sales import service_invoices
from xlbridge.sandbox.windows import window
from xlbridge.wire.operations.sales import (
    SERVICE_INVOICE_CHANGE,
    SERVICE_INVOICE_CREATE,
    SERVICE_INVOICE_GET,
    SERVICE_INVOICE_LIST,
    SERVICE_INVOICE_PROCESS,
    SERVICE_INVOICE_REGISTER,
    SERVICE_INVOICE_UPDATE,
)
from xlbridge.wire.services import (
    ServiceInvoice,
    ServiceInvoiceChange,
    ServiceInvoiceInput,
    ServiceInvoiceQuery,
)


@handles(SERVICE_INVOICE_REGISTER)
@handles(SERVICE_INVOICE_CREATE)
def create(call: Call) -> ServiceInvoice:
    return admit(ServiceInvoiceIntake(call.connection, call.now), call.sent(ServiceInvoiceInput))


@handles(SERVICE_INVOICE_CHANGE)
def change(call: Call) -> ServiceInvoice:
    content = call.sent(ServiceInvoiceChange)
    change_service_invoice(call.connection, content.idNF, content, call.now)
    return _invoice(call, content.idNF)


@handles(SERVICE_INVOICE_UPDATE)
def update(call: Call) -> ServiceInvoice:
    invoice_id = call.path["id"]
    change_service_invoice(call.connection, invoice_id, call.sent(ServiceInvoiceInput), call.now)
    return _invoice(call, invoice_id)


@handles(SERVICE_INVOICE_PROCESS)
def process(call: Call) -> ServiceInvoice:
    emit_service_invoice(call.connection, call.path["id"], call.now)
    return _invoice(call, call.path["id"])


@handles(SERVICE_INVOICE_GET)
def show(call: Call) -> ServiceInvoice:
    return _invoice(call, call.path["id"])


@handles(SERVICE_INVOICE_LIST)
def list_invoices(call: Call) -> list[ServiceInvoice]:
    query = call.queried(ServiceInvoiceQuery)
    columns = service_invoices.c
    found = (
        select(service_invoices)
        .where(*window(call, columns.ultimaAtualizacao, query.dataInferior, query.dataSuperior))
        .order_by(columns.ultimaAtualizacao, columns.idNF)
    )
    if query.codigoDaFilial is not None:
        found = found.where(columns.codigoDaFilial == query.codigoDaFilial)
    if query.codigoDoCliente is not None:
        found = found.where(columns.codigoDoCliente == query.codigoDoCliente)
    if query.qtde:
        found = found.limit(query.qtde)
    return call.read(ServiceInvoice, found)


def _invoice(call: Call, invoice_id: int) -> ServiceInvoice:
    found = select(service_invoices).where(service_invoices.c.idNF == invoice_id)
    for invoice in call.read(ServiceInvoice, found):
        return invoice
    raise not_found("id", "Nota fiscal não encontrada.")
