"""The inventory cycle. Source: the spec, Endpoints, Stock ("any" of the inventory), States."""

from xlbridge.wire.inventory import (
    Inventory,
    InventoryChange,
    InventoryCount,
    InventoryInput,
    InventoryItem,
)
from xlbridge.wire.operation import Operation

_SECTION = "Stock"

INVENTORY_LIST = Operation(
    name="stock.inventories.list",
    method="GET",
    path="/v2/estoque/inventario",
    section=_SECTION,
    data=list[Inventory],
    repeatable=True,
)
INVENTORY_OPEN = Operation(
    name="stock.inventories.open",
    method="POST",
    path="/v2/estoque/inventario",
    section=_SECTION,
    body=InventoryInput,
    data=Inventory,
)
INVENTORY_EDIT = Operation(
    name="stock.inventories.edit",
    method="PUT",
    path="/v2/estoque/inventario",
    section=_SECTION,
    body=InventoryChange,
    data=Inventory,
    repeatable=True,
)
INVENTORY_SHOW = Operation(
    name="stock.inventories.show",
    method="GET",
    path="/v2/estoque/inventario/{idInventario}",
    section=_SECTION,
    data=Inventory,
    repeatable=True,
)
INVENTORY_ITEMS = Operation(
    name="stock.inventories.items",
    method="GET",
    path="/v2/estoque/inventario/{idInventario}/produtos",
    section=_SECTION,
    data=list[InventoryItem],
    repeatable=True,
)
INVENTORY_START_COUNT = Operation(
    name="stock.inventories.start_count",
    method="POST",
    path="/v2/estoque/inventario/{idInventario}/contagem/{contagem}/iniciar",
    section=_SECTION,
    data=Inventory,
)
INVENTORY_COUNT = Operation(
    name="stock.inventories.count",
    method="POST",
    path="/v2/estoque/inventario/{idInventario}/contagem/{contagem}",
    section=_SECTION,
    body=InventoryCount,
    data=list[InventoryItem],
    repeatable=True,
)
INVENTORY_REFRESH = Operation(
    name="stock.inventories.refresh",
    method="POST",
    path="/v2/estoque/inventario/{idInventario}/atualizar-saldos",
    section=_SECTION,
    data=list[InventoryItem],
    repeatable=True,
)
INVENTORY_VALIDATE = Operation(
    name="stock.inventories.validate",
    method="POST",
    path="/v2/estoque/inventario/{idInventario}/validar",
    section=_SECTION,
    data=Inventory,
)
INVENTORY_PROCESS = Operation(
    name="stock.inventories.process",
    method="POST",
    path="/v2/estoque/inventario/{idInventario}/processar",
    section=_SECTION,
    data=Inventory,
)
INVENTORY_CLOSE = Operation(
    name="stock.inventories.close",
    method="POST",
    path="/v2/estoque/inventario/{idInventario}/encerrar",
    section=_SECTION,
    data=Inventory,
)

OPERATIONS = (
    INVENTORY_LIST,
    INVENTORY_OPEN,
    INVENTORY_EDIT,
    INVENTORY_SHOW,
    INVENTORY_ITEMS,
    INVENTORY_START_COUNT,
    INVENTORY_COUNT,
    INVENTORY_REFRESH,
    INVENTORY_VALIDATE,
    INVENTORY_PROCESS,
    INVENTORY_CLOSE,
)
