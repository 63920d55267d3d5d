"""Every operation of the interface, declared once: the client and the sandbox both go by it.

Source: the spec, Endpoints.
"""

from xlbridge.wire.authentication import Authentication, Credentials
from xlbridge.wire.financial import Receivable, ReceivableInput, ReceivableQuery
from xlbridge.wire.imports import AddressingRecords, ImportLog, ImportQuery, ImportRecords
from xlbridge.wire.operation import Operation
from xlbridge.wire.registry import Client, ClientIdws, ClientInput, ClientQuery
from xlbridge.wire.sales import SalesOrder, SalesOrderQuery
from xlbridge.wire.stock import StockBalance
from xlbridge.wire.system import SystemInfo

_UTILITIES = "Authentication and utilities"
_REGISTRY = "Registry"
_FINANCIAL = "Financial"
_SALES = "Sales and billing"
_STOCK = "Stock"

AUTHENTICATE = Operation(
    name="authenticate",
    method="POST",
    path="/v2/autenticar",
    section=_UTILITIES,
    body=Credentials,
    data=Authentication,
    enveloped=False,
    authenticated=False,
    repeatable=True,
)
SYSTEM_INFO = Operation(
    name="system.info",
    method="GET",
    path="/v2/sistema/info",
    section=_UTILITIES,
    data=SystemInfo,
    repeatable=True,
)
IMPORT = Operation(
    name="imports.direct",
    method="POST",
    path="/v2/importacao/{resource}",
    path_types={"resource": str},
    section=_UTILITIES,
    query=ImportQuery,
    upload=True,
    data=ImportRecords,
)
IMPORT_QUEUE = Operation(
    name="imports.queue",
    method="POST",
    path="/v2/importacao/{resource}/fila",
    path_types={"resource": str},
    section=_UTILITIES,
    upload=True,
    data=int,
)
IMPORT_PROCESS = Operation(
    name="imports.process",
    method="POST",
    path="/v2/importacao/processar-arquivo/{id}",
    section=_UTILITIES,
    data=ImportLog,
)
IMPORT_LOG = Operation(
    name="imports.log",
    method="GET",
    path="/v2/importacao/log-importacao/{id}",
    section=_UTILITIES,
    data=ImportLog,
    repeatable=True,
)
IMPORT_ADDRESSING = Operation(
    name="imports.addressing",
    method="POST",
    path="/v2/sistema/importacao/enderecamento-de-produto",
    section=_UTILITIES,
    query=ImportQuery,
    upload=True,
    data=AddressingRecords,
)
CLIENT_CREATE = Operation(
    name="registry.clients.create",
    method="POST",
    path="/v2/cliente",
    section=_REGISTRY,
    body=ClientInput,
    data=Client,
)
CLIENT_SET_IDWS = Operation(
    name="registry.clients.set_idws",
    method="PUT",
    path="/v2/cliente/idws",
    section=_REGISTRY,
    body=ClientIdws,
    data=Client,
    repeatable=True,
)
CLIENT_LIST = Operation(
    name="registry.clients.list",
    method="GET",
    path="/v2/cliente",
    section=_REGISTRY,
    query=ClientQuery,
    data=list[Client] | Client | None,
    repeatable=True,
)
RECEIVABLE_CREATE = Operation(
    name="financial.receivables.create",
    method="POST",
    path="/v2/financeiro/contasreceber",
    section=_FINANCIAL,
    body=ReceivableInput,
    data=Receivable,
)
RECEIVABLE_LIST_OPEN = Operation(
    name="financial.receivables.list_open",
    method="GET",
    path="/v2/financeiro/contasreceber",
    section=_FINANCIAL,
    query=ReceivableQuery,
    data=list[Receivable],
    repeatable=True,
)
RECEIVABLE_LIST_SETTLED = Operation(
    name="financial.receivables.list_settled",
    method="GET",
    path="/v2/financeiro/contasreceber/baixados",
    section=_FINANCIAL,
    query=ReceivableQuery,
    data=list[Receivable],
    repeatable=True,
)
SALES_ORDER_LIST = Operation(
    name="sales.orders.list",
    method="GET",
    path="/v2/faturamento/pedido",
    section=_SALES,
    query=SalesOrderQuery,
    data=list[SalesOrder],
    repeatable=True,
)
STOCK_BALANCES = Operation(
    name="stock.balances.list",
    method="GET",
    path="/v2/estoque",
    section=_STOCK,
    data=list[StockBalance],
    repeatable=True,
)
STOCK_BALANCE_OF_PRODUCT = Operation(
    name="stock.balances.of_product",
    method="GET",
    path="/v2/estoque/produto/{id}",
    section=_STOCK,
    data=StockBalance,
    repeatable=True,
)
STOCK_BALANCES_OF_BRANCH = Operation(
    name="stock.balances.of_branch",
    method="GET",
    path="/v2/estoque/filial/{id}",
    section=_STOCK,
    data=list[StockBalance],
    repeatable=True,
)

OPERATIONS: dict[str, Operation] = {
    operation.name: operation
    for operation in (
        AUTHENTICATE,
        SYSTEM_INFO,
        IMPORT,
        IMPORT_QUEUE,
        IMPORT_PROCESS,
        IMPORT_LOG,
        IMPORT_ADDRESSING,
        CLIENT_CREATE,
        CLIENT_SET_IDWS,
        CLIENT_LIST,
        RECEIVABLE_CREATE,
        RECEIVABLE_LIST_OPEN,
        RECEIVABLE_LIST_SETTLED,
        SALES_ORDER_LIST,
        STOCK_BALANCES,
        STOCK_BALANCE_OF_PRODUCT,
        STOCK_BALANCES_OF_BRANCH,
    )
}
"""Every operation, by its name."""
