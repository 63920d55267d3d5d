"""Balances, movements and addressing. Source: the spec, Endpoints, Stock."""

from xlbridge.wire.operation import Operation
from xlbridge.wire.stock import StockBalance

_SECTION = "Stock"

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

OPERATIONS = (
    STOCK_BALANCES,
    STOCK_BALANCE_OF_PRODUCT,
    STOCK_BALANCES_OF_BRANCH,
)
