"""Handlers of sales orders, invoices and service forecasts.

Source: the spec, Sales order (Pedido de Venda) object, Product invoice (NF-e), Service invoice
(NFS-e), Sales and billing (previsao).
"""

from sqlalchemy import select, update

from xlbridge.sandbox.areas.sales.invoices import (
    ProductInvoiceRegistration,
    ServiceForecastRegistration,
    ServiceInvoiceRegistration,
    change_service_invoice,
    emit_invoice,
    forecast_values,
)
from xlbridge.sandbox.areas.sales.orders import (
    SELECT_ORDER,
    load_orders,
    process_order,
    register_order,
)
from xlbridge.sandbox.areas.sales.tables import (
    product_invoice_items,
    product_invoices,
    sales_orders,
    service_forecasts,
    service_invoices,
)
from xlbridge.sandbox.handler_registry import (
    Call,
    equal_conditions,
    handle_creation,
    handles,
    window_conditions,
)
from xlbridge.sandbox.problems import (
    first_or_404,
    require_no_problems,
)
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

_NO_FORECAST = "Previsão não encontrada."


@handles(SALES_ORDER_CREATE)
def create_sales_order(call: Call) -> SalesOrder:
    return register_order(call.connection, call.body_as(SalesOrderInput), call.now)


@handles(SALES_ORDER_PROCESS)
def process_sales_order(call: Call) -> SalesOrder:
    number = call.path["numeroPedido"]
    process_order(call.connection, number, call.now)
    header = call.connection.execute(SELECT_ORDER, {"number": number}).one()
    (order,) = load_orders(call.connection, [header])
    return order


@handles(SALES_ORDER_LIST)
def list_sales_orders(call: Call) -> list[SalesOrder]:
    query = call.query_as(SalesOrderQuery)
    statement = (
        select(sales_orders)
        .where(
            *window_conditions(call, sales_orders.c.updated),
            *equal_conditions(sales_orders, query, "codigoDaFilial"),
        )
        .order_by(sales_orders.c.updated, sales_orders.c.numeroDoPedido)
        .limit(query.qtde or None)
    )
    return load_orders(call.connection, call.connection.execute(statement).all())


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
    header = first_or_404(headers, "id", "Nota fiscal não encontrada.")
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
    data = call.body_as(ServiceInvoiceChange)
    change_service_invoice(call.connection, data.idNF, data, call.now)
    return _service_invoice(call, data.idNF)


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
    statement = (
        select(service_invoices)
        .where(
            *window_conditions(call, columns.ultimaAtualizacao),
            *equal_conditions(service_invoices, query, "codigoDaFilial", "codigoDoCliente"),
        )
        .order_by(columns.ultimaAtualizacao, columns.idNF)
        .limit(query.qtde or None)
    )
    return call.read(ServiceInvoice, statement)


def _service_invoice(call: Call, invoice_id: int) -> ServiceInvoice:
    statement = select(service_invoices).where(service_invoices.c.idNF == invoice_id)
    return first_or_404(call.read(ServiceInvoice, statement), "id", "Nota fiscal não encontrada.")


handle_creation(SERVICE_FORECAST_CREATE, ServiceForecastRegistration)


@handles(SERVICE_FORECAST_UPDATE)
def update_forecast(call: Call) -> ServiceForecast:
    code, data = call.path["id"], call.body_as(ServiceForecastInput)
    by_code = service_forecasts.c.codigoDaPrevisao == code
    call.require_row(by_code, "id", _NO_FORECAST)
    require_no_problems(ServiceForecastRegistration(call.connection, call.now).problems(data))
    values = forecast_values(data, call.now)
    call.connection.execute(update(service_forecasts).where(by_code).values(values))
    return _forecast(call, code)


@handles(SERVICE_FORECAST_GET)
def show_forecast(call: Call) -> ServiceForecast:
    return _forecast(call, call.path["id"])


@handles(SERVICE_FORECAST_LIST)
def list_forecasts(call: Call) -> list[ServiceForecast]:
    query = call.query_as(ServiceForecastQuery)
    statement = (
        select(service_forecasts)
        .where(*equal_conditions(service_forecasts, query, "codigoDaFilial", "codigoDoCliente"))
        .order_by(service_forecasts.c.codigoDaPrevisao)
    )
    if query.somenteAtivos:
        statement = statement.where(service_forecasts.c.ativo)
    return call.read(ServiceForecast, statement)


def _forecast(call: Call, code: int) -> ServiceForecast:
    statement = select(service_forecasts).where(service_forecasts.c.codigoDaPrevisao == code)
    return first_or_404(call.read(ServiceForecast, statement), "id", _NO_FORECAST)
