"""Products of an inventory: counts, balances, adjustment. Source: the spec, States."""

from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any

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

from xlbridge.sandbox.amounts import QUANTITY_PLACES, STOCK_LIMIT, amount_problems, round_half_up
from xlbridge.sandbox.areas.registry.codes import CodeLookup
from xlbridge.sandbox.areas.registry.tables import products
from xlbridge.sandbox.areas.stock.movements import (
    BalanceKey,
    average_cost,
    balance_at,
    balances_of,
    format_quantity,
    record_movement,
    value_columns,
)
from xlbridge.sandbox.areas.stock.tables import inventories, inventory_items, movements
from xlbridge.sandbox.columns import Amount
from xlbridge.sandbox.problems import require_no_problems
from xlbridge.wire.inventory import CountedProduct, Inventory, InventoryCount, InventoryInput


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
            products.c.internal_code.label("codigoInterno"),
            products.c.name.label("descricaoDoProduto"),
        )
        .join(products, products.c.code == inventory_items.c.product)
        .where(inventory_items.c.inventory == number)
        .order_by(inventory_items.c.seq)
    )


def load_balances(connection: Connection, number: int, data: InventoryInput, now: datetime) -> None:
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
    connection: Connection, inventory: Inventory, count: int, data: InventoryCount, now: datetime
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


def refresh_balances(connection: Connection, inventory: Inventory, now: datetime) -> None:
    """Update the balances that the counts are compared with."""
    for row in connection.execute(inventory_rows(inventory.idInventario)).all():
        balance = balance_at(connection, now, _balance_key(inventory, row))
        _update_item(connection, inventory, row.seq, {"balance": balance.quantity})


def adjust_stock(connection: Connection, inventory: Inventory, now: datetime) -> str:
    """Record entries and outputs that set each balance to the counted quantity; return a log.

    Entries are valued at average cost.
    """
    rows = connection.execute(inventory_rows(inventory.idInventario)).all()
    log = [f"{len(rows)} produto(s) contado(s)."]
    for row in sorted(rows, key=lambda row: row.idProd):
        log.extend(_adjust_product(connection, inventory, row, now))
    return "\n".join(log)


def _adjust_product(
    connection: Connection, inventory: Inventory, row: Row[Any], now: datetime
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


def _balance_key(inventory: Inventory, item: CountedProduct | Row[Any]) -> BalanceKey:
    branch, warehouse = inventory.codigoDaFilial, inventory.codigoDoAlmoxarifado
    if branch is None or warehouse is None:
        raise AssertionError("every inventory has a warehouse")
    return BalanceKey(branch, warehouse, item.idProd, item.numeroDeSerieLote, item.codigoDoProjeto)


def _update_item(
    connection: Connection, inventory: Inventory, seq: int, values: dict[str, Any]
) -> None:
    items = inventory_items.c
    by_key = (items.inventory == inventory.idInventario) & (items.seq == seq)
    connection.execute(update(inventory_items).where(by_key).values(values))
