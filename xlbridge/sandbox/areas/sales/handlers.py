"""Handlers of sales orders, invoices and service forecasts.

Source: the spec, Sales order (Pedido de Venda) object, Product invoice (NF-e), Service invoice
(NFS-e), Sales and billing (previsao).
"""

from sqlalchemy import select

from xlbridge.sandbox.areas.sales.invoices import (
    ProductInvoiceRegistration,
    ServiceInvoiceRegistration,
    change_forecast,
    change_service_invoice,
    emit_invoice,
    register_forecast,
)
from xlbridge.sandbox.areas.sales.orders import ORDER, load_orders, process_order, register_order
from xlbridge.sandbox.areas.sales.tables import (
    product_invoice_items,
    product_invoices,
    sales_orders,
    service_forecasts,
    service_invoices,
)
from xlbridge.sandbox.call import (
    Call,
    equal_conditions,
    handle_creation,
    handles,
    window_conditions,
)
from xlbridge.sandbox.problems import first_found
from xlbridge.wire.product_invoices import (
    PRODUCT_INVOICE_CREATE,
    PRODUCT_INVOICE_GET,
    PRODUCT_INVOICE_PROCESS,
    ProductInvoice,
    ProductInvoiceItem,
)
from xlbridge.wire.sales import (
    SALES_ORDER_CREATE,
    SALES_ORDER_LIST,
    SALES_ORDER_PROCESS,
    SalesOrder,
    SalesOrderInput,
    SalesOrderQuery,
)
from xlbridge.wire.services import (
    SERVICE_FORECAST_CREATE,
    SERVICE_FORECAST_GET,
    SERVICE_FORECAST_LIST,
    SERVICE_FORECAST_UPDATE,
    SERVICE_INVOICE_CHANGE,
    SERVICE_INVOICE_CREATE,
    SERVICE_INVOICE_GET,
    SERVICE_INVOICE_LIST,
    SERVICE_INVOICE_PROCESS,
    SERVICE_INVOICE_REGISTER,
    SERVICE_INVOICE_UPDATE,
    SERVICE_INVOICE_UPDATE_BY_POST,
    ServiceForecast,
    ServiceForecastInput,
    ServiceForecastQuery,
    ServiceInvoice,
    ServiceInvoiceChange,
    ServiceInvoiceInput,
    ServiceInvoiceQuery,
)


@handles(SALES_ORDER_CREATE)
def create_sales_order(call: Call) -> SalesOrder:
    return register_order(call.connection, call.body_as(SalesOrderInput), call.now)


@handles(SALES_ORDER_PROCESS)
def process_sales_order(call: Call) -> SalesOrder:
    number = call.path["numeroPedido"]
    process_order(call.connection, number, call.now)
    header = call.connection.execute(ORDER, {"number": number}).one()
    (order,) = load_orders(call.connection, [header])
    return order


@handles(SALES_ORDER_LIST)
def list_sales_orders(call: Call) -> list[SalesOrder]:
    query = call.query_as(SalesOrderQuery)
    found = (
        select(sales_orders)
        .where(
            *window_conditions(call, sales_orders.c.updated),
            *equal_conditions(sales_orders, query, "codigoDaFilial"),
        )
        .order_by(sales_orders.c.updated, sales_orders.c.numeroDoPedido)
    )
    if query.qtde:
        found = found.limit(query.qtde)
    return load_orders(call.connection, call.connection.execute(found).all())


handle_creation(PRODUCT_INVOICE_CREATE, ProductInvoiceRegistration)
handle_creation(SERVICE_INVOICE_REGISTER, ServiceInvoiceRegistration)
handle_creation(SERVICE_INVOICE_CREATE, ServiceInvoiceRegistration)


@handles(PRODUCT_INVOICE_PROCESS)
def process_product_invoice(call: Call) -> ProductInvoice:
    emit_invoice(call.connection, product_invoices, call.path["id"], call.now)
    return show_product_invoice(call)


@handles(PRODUCT_INVOICE_GET)
def show_product_invoice(call: Call) -> ProductInvoice:
    invoice_id = call.path["id"]
    statement = select(product_invoices).where(product_invoices.c.idNF == invoice_id)
    headers = call.connection.execute(statement).all()
    header = first_found(headers, "id", "Nota fiscal não encontrada.")
    items = (
        select(product_invoice_items)
        .where(product_invoice_items.c.idNF == invoice_id)
        .order_by(product_invoice_items.c.seq)
    )
    return ProductInvoice.model_construct(
        **header._mapping, produtos=call.read(ProductInvoiceItem, items)
    )


@handles(SERVICE_INVOICE_CHANGE)
def replace_service_invoice(call: Call) -> ServiceInvoice:
    content = call.body_as(ServiceInvoiceChange)
    change_service_invoice(call.connection, content.idNF, content, call.now)
    return _service_invoice(call, content.idNF)


@handles(SERVICE_INVOICE_UPDATE)
@handles(SERVICE_INVOICE_UPDATE_BY_POST)
def update_service_invoice(call: Call) -> ServiceInvoice:
    invoice_id = call.path["id"]
    change_service_invoice(call.connection, invoice_id, call.body_as(ServiceInvoiceInput), call.now)
    return _service_invoice(call, invoice_id)


@handles(SERVICE_INVOICE_PROCESS)
def process_service_invoice(call: Call) -> ServiceInvoice:
    emit_invoice(call.connection, service_invoices, call.path["id"], call.now)
    return _service_invoice(call, call.path["id"])


@handles(SERVICE_INVOICE_GET)
def show_service_invoice(call: Call) -> ServiceInvoice:
    return _service_invoice(call, call.path["id"])


@handles(SERVICE_INVOICE_LIST)
def list_service_invoices(call: Call) -> list[ServiceInvoice]:
    query = call.query_as(ServiceInvoiceQuery)
    columns = service_invoices.c
    found = (
        select(service_invoices)
        .where(
            *window_conditions(call, columns.ultimaAtualizacao),
            *equal_conditions(service_invoices, query, "codigoDaFilial", "codigoDoCliente"),
        )
        .order_by(columns.ultimaAtualizacao, columns.idNF)
    )
    if query.qtde:
        found = found.limit(query.qtde)
    return call.read(ServiceInvoice, found)


def _service_invoice(call: Call, invoice_id: int) -> ServiceInvoice:
    found = select(service_invoices).where(service_invoices.c.idNF == invoice_id)
    return first_found(call.read(ServiceInvoice, found), "id", "Nota fiscal não encontrada.")


@handles(SERVICE_FORECAST_CREATE)
def create_forecast(call: Call) -> ServiceForecast:
    code = register_forecast(call.connection, call.body_as(ServiceForecastInput), call.now)
    return _forecast(call, code)


@handles(SERVICE_FORECAST_UPDATE)
def update_forecast(call: Call) -> ServiceForecast:
    code = call.path["id"]
    change_forecast(call.connection, code, call.body_as(ServiceForecastInput), call.now)
    return _forecast(call, code)


@handles(SERVICE_FORECAST_GET)
def show_forecast(call: Call) -> ServiceForecast:
    return _forecast(call, call.path["id"])


@handles(SERVICE_FORECAST_LIST)
def list_forecasts(call: Call) -> list[ServiceForecast]:
    query = call.query_as(ServiceForecastQuery)
    found = (
        select(service_forecasts)
        .where(*equal_conditions(service_forecasts, query, "codigoDaFilial", "codigoDoCliente"))
        .order_by(service_forecasts.c.codigoDaPrevisao)
    )
    if query.somenteAtivos:
        found = found.where(service_forecasts.c.ativo)
    return call.read(ServiceForecast, found)


def _forecast(call: Call, code: int) -> ServiceForecast:
    found = select(service_forecasts).where(service_forecasts.c.codigoDaPrevisao == code)
    return first_found(call.read(ServiceForecast, found), "id", "Previsão não encontrada.")
