"""The inventory cycle. Source: the spec, Inventory header, States, Stock."""

from xlbridge.sandbox.answers import InvalidParameterError
from xlbridge.sandbox.business.inventories import (
    close_inventory,
    edit_inventory,
    find_inventory,
    open_inventory,
    process_inventory,
    read_inventories,
    require,
    require_running,
    start_count,
    validate_inventory,
)
from xlbridge.sandbox.business.inventory_items import (
    inventory_rows,
    record_counts,
    refresh_balances,
)
from xlbridge.sandbox.call import Call, handles
from xlbridge.wire.inventory import (
    Inventory,
    InventoryChange,
    InventoryCount,
    InventoryInput,
    InventoryItem,
)
from xlbridge.wire.operations.inventory import (
    INVENTORY_CLOSE,
    INVENTORY_COUNT,
    INVENTORY_EDIT,
    INVENTORY_ITEMS,
    INVENTORY_LIST,
    INVENTORY_OPEN,
    INVENTORY_PROCESS,
    INVENTORY_REFRESH,
    INVENTORY_SHOW,
    INVENTORY_START_COUNT,
    INVENTORY_VALIDATE,
)


@handles(INVENTORY_LIST)
def list_inventories(call: Call) -> list[Inventory]:
    return read_inventories(call.connection)


@handles(INVENTORY_OPEN)
def open_one(call: Call) -> Inventory:
    return _header(call, open_inventory(call.connection, call.sent(InventoryInput), call.now))


@handles(INVENTORY_EDIT)
def edit(call: Call) -> Inventory:
    data = call.sent(InventoryChange)
    edit_inventory(call.connection, data, call.now)
    return _header(call, data.idInventario)


@handles(INVENTORY_SHOW)
def show(call: Call) -> Inventory:
    return _header(call, call.path["idInventario"])


@handles(INVENTORY_ITEMS)
def list_items(call: Call) -> list[InventoryItem]:
    return _items(call, _header(call, call.path["idInventario"]))


@handles(INVENTORY_START_COUNT)
def start(call: Call) -> Inventory:
    number = call.path["idInventario"]
    start_count(call.connection, number, call.path["contagem"], call.now)
    return _header(call, number)


@handles(INVENTORY_COUNT)
def count(call: Call) -> list[InventoryItem]:
    running = call.path["contagem"]
    inventory = require_running(call.connection, call.path["idInventario"], running)
    record_counts(call.connection, inventory, running, call.sent(InventoryCount))
    return _items(call, inventory)


@handles(INVENTORY_REFRESH)
def refresh(call: Call) -> list[InventoryItem]:
    inventory = require(call.connection, call.path["idInventario"], "podeAtualizarSaldos")
    refresh_balances(call.connection, inventory)
    return _items(call, inventory)


@handles(INVENTORY_VALIDATE)
def validate(call: Call) -> Inventory:
    number = call.path["idInventario"]
    validate_inventory(call.connection, number, call.now)
    return _header(call, number)


@handles(INVENTORY_PROCESS)
def process(call: Call) -> Inventory:
    number = call.path["idInventario"]
    process_inventory(call.connection, number, call.now)
    return _header(call, number)


@handles(INVENTORY_CLOSE)
def close(call: Call) -> Inventory:
    number = call.path["idInventario"]
    close_inventory(call.connection, number, call.now)
    return _header(call, number)


def _header(call: Call, number: int) -> Inventory:
    """The inventory of an id; one that does not exist is an invalid parameter.

    Source: the spec, Errors, 400.
    """
    inventory = find_inventory(call.connection, number)
    if inventory is None:
        raise InvalidParameterError("idInventario")
    return inventory


def _items(call: Call, inventory: Inventory) -> list[InventoryItem]:
    return call.read(InventoryItem, inventory_rows(inventory.idInventario))
