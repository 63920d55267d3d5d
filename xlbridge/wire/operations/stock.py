"""Balances, movements, requisitions and addressing. Source: the spec, Endpoints, Stock."""

from xlbridge.wire.operation import Operation
from xlbridge.wire.stock import (
    Addressing,
    AddressingInput,
    AddressingKey,
    StockBalance,
    StockEntry,
    StockEntryInput,
    StockMovement,
    StockOutput,
    StockOutputChange,
    StockOutputInput,
    StockRequisition,
    StockRequisitionQuery,
)

_SECTION = "Stock"

STOCK_OUTPUT_CREATE = Operation(
    name="stock.outputs.create",
    method="POST",
    path="/v2/estoque/saida",
    section=_SECTION,
    body=StockOutputInput,
    data=StockOutput,
)
STOCK_OUTPUT_CHANGE = Operation(
    name="stock.outputs.change",
    method="PUT",
    path="/v2/estoque/saida",
    section=_SECTION,
    body=StockOutputChange,
    data=StockOutput,
)
STOCK_ENTRY_CREATE = Operation(
    name="stock.entries.create",
    method="POST",
    path="/v2/estoque/entrada",
    section=_SECTION,
    body=StockEntryInput,
    data=StockEntry,
)
STOCK_BALANCES = Operation(
    name="stock.balances.list",
    method="GET",
    path="/v2/estoque",
    section=_SECTION,
    data=list[StockBalance],
    repeatable=True,
)
STOCK_BALANCE_OF_PRODUCT = Operation(
    name="stock.balances.of_product",
    method="GET",
    path="/v2/estoque/produto/{id}",
    section=_SECTION,
    data=StockBalance,
    repeatable=True,
)
STOCK_BALANCES_OF_BRANCH = Operation(
    name="stock.balances.of_branch",
    method="GET",
    path="/v2/estoque/filial/{id}",
    section=_SECTION,
    data=list[StockBalance],
    repeatable=True,
)
STOCK_MOVEMENTS_OF_PRODUCT = Operation(
    name="stock.movements.of_product",
    method="GET",
    path="/v2/estoque/movimentacoes/produto/{id}",
    section=_SECTION,
    data=list[StockMovement],
    repeatable=True,
)
STOCK_REQUISITIONS_PENDING = Operation(
    name="stock.requisitions.list_pending",
    method="GET",
    path="/v2/estoque/requisicao/pendentes",
    section=_SECTION,
    query=StockRequisitionQuery,
    data=list[StockRequisition],
    repeatable=True,
)
STOCK_REQUISITIONS_SETTLED = Operation(
    name="stock.requisitions.list_settled",
    method="GET",
    path="/v2/estoque/requisicao/finalizadas",
    section=_SECTION,
    query=StockRequisitionQuery,
    data=list[StockRequisition],
    repeatable=True,
)
ADDRESSING_MAPPING = Operation(
    name="stock.addressings.mapping",
    method="GET",
    path="/v2/estoque/produto/mapeamento",
    section=_SECTION,
    data=list[Addressing],
    repeatable=True,
)
ADDRESSING_LIST = Operation(
    name="stock.addressings.list",
    method="GET",
    path="/v2/estoque/enderecamento",
    section=_SECTION,
    data=list[Addressing],
    repeatable=True,
)
ADDRESSING_CREATE = Operation(
    name="stock.addressings.create",
    method="POST",
    path="/v2/estoque/enderecamento",
    section=_SECTION,
    body=AddressingInput,
    data=Addressing,
    repeatable=True,
)
ADDRESSING_ACTIVATE = Operation(
    name="stock.addressings.activate",
    method="PUT",
    path="/v2/estoque/enderecamento/ativar",
    section=_SECTION,
    body=AddressingKey,
    data=Addressing,
)
ADDRESSING_DEACTIVATE = Operation(
    name="stock.addressings.deactivate",
    method="PUT",
    path="/v2/estoque/enderecamento/desativar",
    section=_SECTION,
    body=AddressingKey,
    data=Addressing,
)

OPERATIONS = (
    STOCK_OUTPUT_CREATE,
    STOCK_OUTPUT_CHANGE,
    STOCK_ENTRY_CREATE,
    STOCK_BALANCES,
    STOCK_BALANCE_OF_PRODUCT,
    STOCK_BALANCES_OF_BRANCH,
    STOCK_MOVEMENTS_OF_PRODUCT,
    STOCK_REQUISITIONS_PENDING,
    STOCK_REQUISITIONS_SETTLED,
    ADDRESSING_MAPPING,
    ADDRESSING_LIST,
    ADDRESSING_CREATE,
    ADDRESSING_ACTIVATE,
    ADDRESSING_DEACTIVATE,
)
