"""Inventories: states and steps of their cycle, their products, handlers.

Source: the spec, Inventory header, States.
"""

from collections.abc import Callable, Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import uuid4

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    and_,
    exists,
    func,
    insert,
    select,
    type_coerce,
    update,
)

from xlbridge.sandbox.area_declarations import Amount, Call, handles
from xlbridge.sandbox.areas.movements import (
    BalanceKey,
    average_cost,
    balance_at,
    balances_of,
    format_quantity,
    inventories,
    inventory_items,
    movements,
    of_warehouse,
    record_movement,
    value_columns,
)
from xlbridge.sandbox.areas.registries import (
    CodeLookup,
    branches,
    cost_centres,
    next_number,
    products,
    warehouses,
)
from xlbridge.sandbox.problems import (
    QUANTITY_PLACES,
    STOCK_LIMIT,
    InvalidParameterError,
    RequestError,
    amount_problems,
    invalid,
    require_no_problems,
    round_half_up,
)
from xlbridge.wire import Operation, stock


def counted_quantity() -> ColumnElement[Decimal]:
    """Return the quantity of the last count of a product."""
    items = inventory_items.c
    return func.coalesce(items.count3, items.count2, items.count1)


def all_counted() -> ColumnElement[bool]:
    """Return the condition that an inventory has products and all of them are counted."""
    of_inventory = inventory_items.c.inventory == inventories.c.idInventario
    uncounted = exists().where(of_inventory, counted_quantity().is_(None))
    return and_(exists().where(of_inventory), ~uncounted)


def inventory_rows(number: int | None) -> Select[Any]:
    """Select the products of an inventory, in the order in which they were added."""
    items, counted = inventory_items.c, counted_quantity()
    return (
        select(
            items.seq,
            items.product.label("idProd"),
            items.serial.label("numeroDeSerieLote"),
            items.project.label("codigoDoProjeto"),
            items.balance.label("saldo"),
            items.count1.label("quantidadeContagem1"),
            items.count2.label("quantidadeContagem2"),
            items.count3.label("quantidadeContagem3"),
            counted.label("counted"),
            type_coerce(counted - items.balance, Amount).label("diferenca"),
            products.c.codigoInterno,
            products.c.descricaoDoProduto,
        )
        .join(products, products.c.idProduto == inventory_items.c.product)
        .where(inventory_items.c.inventory == number)
        .order_by(inventory_items.c.seq)
    )


def load_balances(
    connection: Connection, number: int, data: stock.InventoryInput, now: datetime
) -> None:
    """Add every product with a balance in the inventory's warehouse to the inventory."""
    balances = balances_of(
        connection,
        now,
        movements.c.codigoDaFilial == data.codigoDaFilial,
        movements.c.codigoDoAlmoxarifado == data.codigoDoAlmoxarifado,
    )
    nonzero = ((key, balance.quantity) for key, balance in balances if balance.quantity)
    rows = [
        _item_row(number, seq, key, quantity)
        for seq, (key, quantity) in enumerate(nonzero, start=1)
    ]
    if rows:
        connection.execute(insert(inventory_items), rows)


def record_counts(
    connection: Connection,
    inventory: stock.Inventory,
    count: int,
    data: stock.InventoryCount,
    now: datetime,
) -> None:
    """Record quantities of a count, adding products that are missing in the inventory.

    Raises ``RequestError`` (400) with the problems of the quantities.
    """
    lookup = CodeLookup(connection)
    problems = [
        (f"itens.{index}.{key}", message)
        for index, item in enumerate(data.itens)
        for key, message in [
            *lookup.field_problems(item, "idProd", "codigoDoProjeto"),
            *amount_problems("quantidade", item.quantidade, QUANTITY_PLACES, STOCK_LIMIT),
        ]
    ]
    require_no_problems(problems)
    seqs = {
        _balance_key(inventory, row): row.seq
        for row in connection.execute(inventory_rows(inventory.idInventario))
    }
    for item in data.itens:
        key = _balance_key(inventory, item)
        if key not in seqs:
            seqs[key] = len(seqs) + 1
            quantity = balance_at(connection, now, key).quantity
            row = _item_row(inventory.idInventario, seqs[key], key, quantity)
            connection.execute(insert(inventory_items), row)
        _update_item(connection, inventory, seqs[key], {f"count{count}": item.quantidade})


def _adjust_product(
    connection: Connection, inventory: stock.Inventory, row: Row[Any], now: datetime
) -> Iterator[str]:
    key = _balance_key(inventory, row)
    balance = balance_at(connection, now, key)
    difference = row.counted - balance.quantity
    if not difference:
        return
    inward, quantity = difference > 0, abs(difference)
    if inward:
        unit_cost = average_cost(connection, now, key)
        values = value_columns(unit_cost, round_half_up(quantity * unit_cost))
    else:
        values = balance.value_columns_of(quantity)
    movement = {
        **key.movement_columns(),
        **values,
        "quantidade": quantity,
        "documento": f"INV-{inventory.idInventario}",
        "adjustment": True,
    }
    number = record_movement(connection, movement, inward=inward, now=now)
    kind = "entrada" if inward else "saída"
    yield f"Produto {key.product}: {kind} {number} de {format_quantity(quantity)}."


def _item_row(number: int | None, seq: int, key: BalanceKey, balance: Decimal) -> dict[str, Any]:
    return {
        "inventory": number,
        "seq": seq,
        "product": key.product,
        "serial": key.serial,
        "project": key.project,
        "balance": balance,
    }


def _balance_key(inventory: stock.Inventory, item: stock.CountedProduct | Row[Any]) -> BalanceKey:
    branch, warehouse = inventory.codigoDaFilial, inventory.codigoDoAlmoxarifado
    if branch is None or warehouse is None:
        raise AssertionError("every inventory has a warehouse")
    return BalanceKey(branch, warehouse, item.idProd, item.numeroDeSerieLote, item.codigoDoProjeto)


def _update_item(
    connection: Connection, inventory: stock.Inventory, seq: int, values: dict[str, Any]
) -> None:
    items = inventory_items.c
    by_key = (items.inventory == inventory.idInventario) & (items.seq == seq)
    connection.execute(update(inventory_items).where(by_key).values(values))


_COUNTS = (1, 2, 3)
_BEFORE_VALIDATION = (stock.InventorySituation.OPEN, stock.InventorySituation.COUNTING)
_BEFORE_PROCESSING = (*_BEFORE_VALIDATION, stock.InventorySituation.VALIDATED)


def read_inventories(
    connection: Connection, *conditions: ColumnElement[bool]
) -> list[stock.Inventory]:
    """Return inventories with their permissions, ordered by id."""
    statement = (
        select(
            inventories,
            branches.c.name.label("descricaoDaFilial"),
            warehouses.c.name.label("descricaoDoAlmoxarifado"),
            cost_centres.c.name.label("descricaoDoCentroDeCusto"),
            all_counted().label("counted"),
        )
        .join(branches, branches.c.code == inventories.c.codigoDaFilial)
        .join(warehouses, of_warehouse(inventories))
        .outerjoin(cost_centres, cost_centres.c.code == inventories.c.codigoDoCentroDeCusto)
        .where(*conditions)
        .order_by(inventories.c.idInventario)
    )
    found = []
    for row in connection.execute(statement).mappings():
        situation, count = stock.InventorySituation(row["situation"]), row["count"]
        can_count_again = situation is stock.InventorySituation.COUNTING and row["counted"]
        states = {
            **{f"inventarioContagem{number}": count >= number for number in _COUNTS},
            "situacaoDoInventario": situation,
            # Processing is one transaction, so it is never seen in progress.
            "emProcessamento": False,
            "encerrado": situation is stock.InventorySituation.CLOSED,
            "podeEditar": situation in _BEFORE_VALIDATION,
            "podeAtualizarSaldos": situation in _BEFORE_PROCESSING,
            "podeIniciarContagem1": situation is stock.InventorySituation.OPEN,
            "podeIniciarContagem2": can_count_again and count == 1,
            "podeIniciarContagem3": can_count_again and count == 2,
            "podeProcessar": situation is stock.InventorySituation.VALIDATED,
            "podeEncerrar": situation is not stock.InventorySituation.CLOSED,
        }
        found.append(stock.Inventory.model_validate({**row, **states}))
    return found


def find_inventory(connection: Connection, number: int) -> stock.Inventory | None:
    """Return the inventory with this id, None if there is none."""
    return next(iter(read_inventories(connection, inventories.c.idInventario == number)), None)


def open_inventory(connection: Connection, data: stock.InventoryInput, now: datetime) -> int:
    """Open an inventory, and return its id. Raises ``RequestError`` (400) with its problems."""
    lookup = CodeLookup(connection)
    problems = [
        *lookup.field_problems(data, "codigoDaFilial"),
        *lookup.warehouse_problems(data.codigoDaFilial, data.codigoDoAlmoxarifado),
        *lookup.field_problems(data, "codigoDoCentroDeCusto"),
    ]
    # Of two unprocessed inventories in a warehouse both would adjust it.
    unfinished = (
        (inventories.c.codigoDaFilial == data.codigoDaFilial)
        & (inventories.c.codigoDoAlmoxarifado == data.codigoDoAlmoxarifado)
        & inventories.c.situation.in_(_BEFORE_PROCESSING)
    )
    other = connection.scalar(select(inventories.c.idInventario).where(unfinished).limit(1))
    if other is not None and not problems:
        message = f"O inventário {other} deste almoxarifado está aberto."
        problems.append(("codigoDoAlmoxarifado", message))
    require_no_problems(problems)
    number = next_number(connection, "inventory")
    row = data.model_dump() | {
        "idInventario": number,
        "situation": stock.InventorySituation.OPEN,
        "count": 0,
        "dataDeInicio": now,
        "ultimaAtualizacao": now,
    }
    connection.execute(insert(inventories), row)
    if data.carregarBaseDeProdutos:
        load_balances(connection, number, data, now)
    return number


def start_count(connection: Connection, number: int, now: datetime, count: int) -> None:
    """Start a count. Raises ``RequestError`` (400) if the inventory does not allow it now."""
    if count not in _COUNTS:
        raise invalid(("contagem", "Valor inválido: informe 1, 2 ou 3."))
    require_permission(connection, number, f"podeIniciarContagem{count}")
    _update_inventory(
        connection, number, now, situation=stock.InventorySituation.COUNTING, count=count
    )


def require_running_count(
    connection: Connection, number: int, count: int | None = None
) -> stock.Inventory:
    """Return an inventory of which a count is in progress, the one with this number if given.

    Raises ``RequestError`` (400) if it is not.
    """
    inventory = _existing_inventory(connection, number)
    if inventory.situacaoDoInventario != stock.InventorySituation.COUNTING:
        raise _not_allowed(inventory)
    started = sum(getattr(inventory, f"inventarioContagem{number}") for number in _COUNTS)
    if count not in (None, started):
        raise invalid(("contagem", f"A contagem em andamento é a {started}."))
    return inventory


def validate_inventory(connection: Connection, number: int, now: datetime) -> None:
    """End the counting.

    Raises ``RequestError`` (400) unless a count is in progress and every product is counted.
    """
    require_running_count(connection, number)
    by_id = inventories.c.idInventario == number
    if not connection.scalar(select(all_counted()).select_from(inventories).where(by_id)):
        raise invalid(("idInventario", "Há produtos sem contagem, ou nenhum foi contado."))
    _update_inventory(connection, number, now, situation=stock.InventorySituation.VALIDATED)


def process_inventory(connection: Connection, number: int, now: datetime) -> None:
    """Record entries and outputs that set each balance to the counted quantity.

    Entries are valued at average cost. Raises ``RequestError`` (400) if the inventory does not
    allow it now.
    """
    inventory = require_permission(connection, number, "podeProcessar")
    rows = connection.execute(inventory_rows(number)).all()
    log = [f"{len(rows)} produto(s) contado(s)."]
    for row in sorted(rows, key=lambda row: row.idProd):
        log.extend(_adjust_product(connection, inventory, row, now))
    _update_inventory(
        connection,
        number,
        now,
        situation=stock.InventorySituation.PROCESSED,
        idProcessamento=uuid4(),
        logProcessamento="\n".join(log),
    )


def close_inventory(connection: Connection, number: int, now: datetime) -> None:
    """Close an inventory; without processing, no balance is adjusted.

    Raises ``RequestError`` (400) if the inventory does not allow it now.
    """
    require_permission(connection, number, "podeEncerrar")
    _update_inventory(
        connection, number, now, situation=stock.InventorySituation.CLOSED, dataDeEncerramento=now
    )


def require_permission(connection: Connection, number: int, flag: str) -> stock.Inventory:
    """Return an inventory whose permission flag is set.

    Raises ``RequestError`` (400) if it does not exist or the flag is not set.
    """
    inventory = _existing_inventory(connection, number)
    if not getattr(inventory, flag):
        raise _not_allowed(inventory)
    return inventory


def _existing_inventory(connection: Connection, number: int) -> stock.Inventory:
    inventory = find_inventory(connection, number)
    if inventory is None:
        raise invalid(("idInventario", "Inventário não encontrado."))
    return inventory


def _not_allowed(inventory: stock.Inventory) -> RequestError:
    situation = inventory.situacaoDoInventario
    return invalid(("idInventario", f"Não permitido agora (situação: {situation})."))


def _update_inventory(connection: Connection, number: int, now: datetime, **values: Any) -> None:
    by_id = inventories.c.idInventario == number
    values["ultimaAtualizacao"] = now
    connection.execute(update(inventories).where(by_id).values(values))


@handles(stock.INVENTORY_LIST)
def list_inventories(call: Call) -> list[stock.Inventory]:
    return read_inventories(call.connection)


@handles(stock.INVENTORY_OPEN)
def create_inventory(call: Call) -> stock.Inventory:
    return _requested_inventory(
        call, open_inventory(call.connection, call.body_as(stock.InventoryInput), call.now)
    )


@handles(stock.INVENTORY_EDIT)
def update_inventory(call: Call) -> stock.Inventory:
    data, connection = call.body_as(stock.InventoryChange), call.connection
    require_permission(connection, data.idInventario, "podeEditar")
    require_no_problems(CodeLookup(connection).field_problems(data, "codigoDoCentroDeCusto"))
    values = data.model_dump(exclude={"idInventario"})
    _update_inventory(connection, data.idInventario, call.now, **values)
    return _requested_inventory(call, data.idInventario)


@handles(stock.INVENTORY_SHOW)
def show_inventory(call: Call) -> stock.Inventory:
    return _requested_inventory(call, call.path["idInventario"])


@handles(stock.INVENTORY_ITEMS)
def list_items(call: Call) -> list[stock.InventoryItem]:
    return _items(call, _requested_inventory(call, call.path["idInventario"]))


@handles(stock.INVENTORY_COUNT)
def record_inventory_count(call: Call) -> list[stock.InventoryItem]:
    count = call.path["contagem"]
    inventory = require_running_count(call.connection, call.path["idInventario"], count)
    record_counts(call.connection, inventory, count, call.body_as(stock.InventoryCount), call.now)
    return _items(call, inventory)


@handles(stock.INVENTORY_REFRESH)
def refresh_inventory_balances(call: Call) -> list[stock.InventoryItem]:
    inventory = require_permission(
        call.connection, call.path["idInventario"], "podeAtualizarSaldos"
    )
    for row in call.connection.execute(inventory_rows(inventory.idInventario)).all():
        balance = balance_at(call.connection, call.now, _balance_key(inventory, row))
        _update_item(call.connection, inventory, row.seq, {"balance": balance.quantity})
    return _items(call, inventory)


def _handle_step(operation: Operation, step: Callable[..., None]) -> None:
    """Register the handler of a step without a request body; it gets the parameters of the path."""

    @handles(operation, source=step)
    def run_step(call: Call) -> stock.Inventory:
        number, *others = call.path.values()
        step(call.connection, number, call.now, *others)
        return _requested_inventory(call, number)


_handle_step(stock.INVENTORY_START_COUNT, start_count)
_handle_step(stock.INVENTORY_VALIDATE, validate_inventory)
_handle_step(stock.INVENTORY_PROCESS, process_inventory)
_handle_step(stock.INVENTORY_CLOSE, close_inventory)


def _requested_inventory(call: Call, number: int) -> stock.Inventory:
    """Return the inventory with this id; an unknown id is an invalid parameter.

    Source: the spec, Errors, 400.
    """
    inventory = find_inventory(call.connection, number)
    if inventory is None:
        raise InvalidParameterError("idInventario")
    return inventory


def _items(call: Call, inventory: stock.Inventory) -> list[stock.InventoryItem]:
    return call.read(stock.InventoryItem, inventory_rows(inventory.idInventario))
