"""Product invoices. Source: the spec, Product invoice (NF-e), Sales and billing."""

from sqlalchemy import select

from xlbridge.sandbox.answers import not_found
from xlbridge.sandbox.business.emission import emit_product_invoice
from xlbridge.sandbox.business.intake import admit
from xlbridge.sandbox.business.product_invoices import ProductInvoiceIntake
from xlbridge.sandbox.call import Call, handles
from xlbridge.sandbox.tables.sales import product_invoice_items, product_invoices
from xlbridge.wire.operations.sales import (
    PRODUCT_INVOICE_CREATE,
    PRODUCT_INVOICE_GET,
    PRODUCT_INVOICE_PROCESS,
)
from xlbridge.wire.product_invoices import ProductInvoice, ProductInvoiceInput, ProductInvoiceItem


@handles(PRODUCT_INVOICE_CREATE)
def create(call: Call) -> ProductInvoice:
    return admit(ProductInvoiceIntake(call.connection, call.now), call.sent(ProductInvoiceInput))


@handles(PRODUCT_INVOICE_PROCESS)
def process(call: Call) -> ProductInvoice:
    emit_product_invoice(call.connection, call.path["id"], call.now)
    return _invoice(call)


@handles(PRODUCT_INVOICE_GET)
def show(call: Call) -> ProductInvoice:
    return _invoice(call)


def _invoice(call: Call) -> ProductInvoice:
    invoice_id = call.path["id"]
    statement = select(product_invoices).where(product_invoices.c.idNF == invoice_id)
    header = call.connection.execute(statement).one_or_none()
    if header is None:
        raise not_found("id", "Nota fiscal não encontrada.")
    items = (
        select(product_invoice_items)
        .where(product_invoice_items.c.idNF == invoice_id)
        .order_by(product_invoice_items.c.seq)
    )
    return ProductInvoice.model_construct(
        **header._mapping, produtos=call.read(ProductInvoiceItem, items)
    )
