"""Sales orders and invoices. Source: the spec, Endpoints, Sales and billing."""

from xlbridge.wire.forecasts import (
    ServiceForecast,
    ServiceForecastInput,
    ServiceForecastQuery,
)
from xlbridge.wire.operation import Operation
from xlbridge.wire.product_invoices import ProductInvoice, ProductInvoiceInput
from xlbridge.wire.sales import SalesOrder, SalesOrderInput, SalesOrderQuery
from xlbridge.wire.services import (
    ServiceInvoice,
    ServiceInvoiceChange,
    ServiceInvoiceInput,
    ServiceInvoiceQuery,
)

_SECTION = "Sales and billing"

PRODUCT_INVOICE_CREATE = Operation(
    name="sales.product_invoices.create",
    method="POST",
    path="/v2/faturamento/nfe",
    section=_SECTION,
    body=ProductInvoiceInput,
    data=ProductInvoice,
)
PRODUCT_INVOICE_PROCESS = Operation(
    name="sales.product_invoices.process",
    method="POST",
    path="/v2/faturamento/nfe/processar/{id}",
    section=_SECTION,
    data=ProductInvoice,
)
PRODUCT_INVOICE_GET = Operation(
    name="sales.product_invoices.get",
    method="GET",
    path="/v2/faturamento/nfe/{id}",
    section=_SECTION,
    data=ProductInvoice,
    repeatable=True,
)
SERVICE_INVOICE_REGISTER = Operation(
    name="sales.service_invoices.register",
    method="POST",
    path="/v2/faturamento/nfs",
    section=_SECTION,
    body=ServiceInvoiceInput,
    data=ServiceInvoice,
)
SERVICE_INVOICE_PROCESS = Operation(
    name="sales.service_invoices.process",
    method="POST",
    path="/v2/faturamento/nfs/processar/{id}",
    section=_SECTION,
    data=ServiceInvoice,
)
SERVICE_INVOICE_LIST = Operation(
    name="sales.service_invoices.list",
    method="GET",
    path="/v2/faturamento/nfse",
    section=_SECTION,
    query=ServiceInvoiceQuery,
    data=list[ServiceInvoice],
    repeatable=True,
)
SERVICE_INVOICE_CREATE = Operation(
    name="sales.service_invoices.create",
    method="POST",
    path="/v2/faturamento/nfse",
    section=_SECTION,
    body=ServiceInvoiceInput,
    data=ServiceInvoice,
)
SERVICE_INVOICE_CHANGE = Operation(
    name="sales.service_invoices.change",
    method="PUT",
    path="/v2/faturamento/nfse",
    section=_SECTION,
    body=ServiceInvoiceChange,
    data=ServiceInvoice,
    repeatable=True,
)
SERVICE_INVOICE_GET = Operation(
    name="sales.service_invoices.get",
    method="GET",
    path="/v2/faturamento/nfse/{id}",
    section=_SECTION,
    data=ServiceInvoice,
    repeatable=True,
)
SERVICE_INVOICE_UPDATE = Operation(
    name="sales.service_invoices.update",
    method="PUT",
    path="/v2/faturamento/nfse/{id}",
    section=_SECTION,
    body=ServiceInvoiceInput,
    data=ServiceInvoice,
    repeatable=True,
)
SALES_ORDER_CREATE = Operation(
    name="sales.orders.create",
    method="POST",
    path="/v2/faturamento/pedido",
    section=_SECTION,
    body=SalesOrderInput,
    data=SalesOrder,
)
SALES_ORDER_PROCESS = Operation(
    name="sales.orders.process",
    method="POST",
    path="/v2/faturamento/pedido/processar/{numeroPedido}",
    section=_SECTION,
    data=SalesOrder,
)
SALES_ORDER_LIST = Operation(
    name="sales.orders.list",
    method="GET",
    path="/v2/faturamento/pedido",
    section=_SECTION,
    query=SalesOrderQuery,
    data=list[SalesOrder],
    repeatable=True,
)
SERVICE_FORECAST_LIST = Operation(
    name="sales.forecasts.list",
    method="GET",
    path="/v2/faturamento/previsao",
    section=_SECTION,
    query=ServiceForecastQuery,
    data=list[ServiceForecast],
    repeatable=True,
)
SERVICE_FORECAST_CREATE = Operation(
    name="sales.forecasts.create",
    method="POST",
    path="/v2/faturamento/previsao",
    section=_SECTION,
    body=ServiceForecastInput,
    data=ServiceForecast,
)
SERVICE_FORECAST_GET = Operation(
    name="sales.forecasts.get",
    method="GET",
    path="/v2/faturamento/previsao/{id}",
    section=_SECTION,
    data=ServiceForecast,
    repeatable=True,
)
SERVICE_FORECAST_UPDATE = Operation(
    name="sales.forecasts.update",
    method="PUT",
    path="/v2/faturamento/previsao/{id}",
    section=_SECTION,
    body=ServiceForecastInput,
    data=ServiceForecast,
    repeatable=True,
)

OPERATIONS = (
    PRODUCT_INVOICE_CREATE,
    PRODUCT_INVOICE_PROCESS,
    PRODUCT_INVOICE_GET,
    SERVICE_INVOICE_REGISTER,
    SERVICE_INVOICE_PROCESS,
    SERVICE_INVOICE_LIST,
    SERVICE_INVOICE_CREATE,
    SERVICE_INVOICE_CHANGE,
    SERVICE_INVOICE_GET,
    SERVICE_INVOICE_UPDATE,
    SALES_ORDER_CREATE,
    SALES_ORDER_PROCESS,
    SALES_ORDER_LIST,
    SERVICE_FORECAST_LIST,
    SERVICE_FORECAST_CREATE,
    SERVICE_FORECAST_GET,
    SERVICE_FORECAST_UPDATE,
)
