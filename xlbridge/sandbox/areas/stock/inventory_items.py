"""Products of an inventory: counted, compared, adjusted. Source: the spec, States."""

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

from xlbridge.sandbox.areas.financial.rules import round_half_up
from xlbridge.sandbox.areas.registry.codes import CodeLookup
from xlbridge.sandbox.areas.registry.tables import products
from xlbridge.sandbox.areas.stock.movements import (
    QUANTITY_PLACES,
    BalanceKey,
    average_cost,
    balance_at,
    balances_of,
    format_quantity,
    measure_problems,
    record_movement,
    value_columns,
)
from xlbridge.sandbox.areas.stock.tables import inventories, inventory_items, movements
from xlbridge.sandbox.columns import Amount
from xlbridge.sandbox.problems import invalid
from xlbridge.wire.inventory import CountedProduct, Inventory, InventoryCount, InventoryInput


def counted_quantity() -> ColumnElement[Decimal]:
    """The quantity that holds: that of the last count that has the product."""
    items = inventory_items.c
    return func.coalesce(items.count3, items.count2, items.count1)


def all_counted() -> ColumnElement[bool]:
    """Return whether an inventory has products and all of them are counted."""
    of_inventory = inventory_items.c.inventory == inventories.c.idInventario
    uncounted = exists().where(of_inventory, counted_quantity().is_(None))
    return and_(exists().where(of_inventory), ~uncounted)


def inventory_rows(number: int | None) -> Select[Any]:
    """Select the products of an inventory, in the order in which they joined it."""
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
    """Add every product with a balance in the inventory's warehouse to the count."""
    found = balances_of(
        connection,
        now,
        movements.c.codigoDaFilial == data.codigoDaFilial,
        movements.c.codigoDoAlmoxarifado == data.codigoDoAlmoxarifado,
    )
    there = [(balance_key, balance.quantity) for balance_key, balance in found if balance.quantity]
    rows = [
        _item_row(number, seq, balance_key) | {"balance": quantity}
        for seq, (balance_key, quantity) in enumerate(there, start=1)
    ]
    if rows:
        connection.execute(insert(inventory_items), rows)


def record_counts(
    connection: Connection, inventory: Inventory, count: int, data: InventoryCount, now: datetime
) -> None:
    """Write down quantities of a count; products that the inventory has not yet join it.

    Raises ``RequestError`` (400) with every rule that one of them breaks.
    """
    lookup = CodeLookup(connection)
    problems = [
        (f"itens.{index}.{key}", message)
        for index, item in enumerate(data.itens)
        for key, message in [
            *lookup.field_problems(item, "idProd", "codigoDoProjeto"),
            *measure_problems("quantidade", item.quantidade, QUANTITY_PLACES),
        ]
    ]
    if problems:
        raise invalid(*problems)
    there = {
        _balance_key(inventory, row): row.seq
        for row in connection.execute(inventory_rows(inventory.idInventario))
    }
    for item in data.itens:
        balance_key = _balance_key(inventory, item)
        if balance_key not in there:
            there[balance_key] = len(there) + 1
            row = _item_row(inventory.idInventario, there[balance_key], balance_key)
            row["balance"] = balance_at(connection, now, balance_key).quantity
            connection.execute(insert(inventory_items), row)
        _update_item(connection, inventory, there[balance_key], {f"count{count}": item.quantidade})


def refresh_balances(connection: Connection, inventory: Inventory, now: datetime) -> None:
    """Bring the balances that the counts are compared with up to date."""
    for row in connection.execute(inventory_rows(inventory.idInventario)).all():
        balance = balance_at(connection, now, _balance_key(inventory, row))
        _update_item(connection, inventory, row.seq, {"balance": balance.quantity})


def adjust_stock(connection: Connection, inventory: Inventory, now: datetime) -> str:
    """Move what is missing or too much, so that each balance is what was counted.

    Return a log of it. What is added costs what the product usually costs.
    """
    rows = connection.execute(inventory_rows(inventory.idInventario)).all()
    log = [f"{len(rows)} produto(s) contado(s)."]
    # In the order of their codes, so that two inventories never wait for each other.
    for row in sorted(rows, key=lambda row: row.idProd):
        log.extend(_adjust_product(connection, inventory, row, now))
    return "\n".join(log)


def _adjust_product(
    connection: Connection, inventory: Inventory, row: Row[Any], now: datetime
) -> Iterator[str]:
    balance_key = _balance_key(inventory, row)
    balance = balance_at(connection, now, balance_key)
    surplus = row.counted - balance.quantity
    if not surplus:
        return
    inward, quantity = surplus > 0, abs(surplus)
    if inward:
        unit_cost = average_cost(connection, now, balance_key)
        worth = value_columns(unit_cost, round_half_up(quantity * unit_cost))
    else:
        worth = balance.part(quantity)
    movement = {
        "codigoDaFilial": balance_key.branch,
        "codigoDoAlmoxarifado": balance_key.warehouse,
        "idProd": balance_key.product,
        "numeroDeSerie": balance_key.serial,
        "codigoDoProjeto": balance_key.project,
        "quantidade": quantity,
        **worth,
        "documento": f"INV-{inventory.idInventario}",
        "adjustment": True,
    }
    number = record_movement(connection, movement, inward=inward, now=now)
    kind = "entrada" if inward else "saída"
    yield f"Produto {balance_key.product}: {kind} {number} de {format_quantity(quantity)}."


def _item_row(number: int | None, seq: int, balance_key: BalanceKey) -> dict[str, Any]:
    return {
        "inventory": number,
        "seq": seq,
        "product": balance_key.product,
        "serial": balance_key.serial,
        "project": balance_key.project,
    }


def _balance_key(inventory: Inventory, item: CountedProduct | Row[Any]) -> BalanceKey:
    branch, warehouse = inventory.codigoDaFilial, inventory.codigoDoAlmoxarifado
    if branch is None or warehouse is None:
        raise AssertionError("an inventory of ours is of a warehouse")
    return BalanceKey(branch, warehouse, item.idProd, item.numeroDeSerieLote, item.codigoDoProjeto)


def _update_item(
    connection: Connection, inventory: Inventory, seq: int, values: dict[str, Any]
) -> None:
    items = inventory_items.c
    this = (items.inventory == inventory.idInventario) & (items.seq == seq)
    connection.execute(update(inventory_items).where(this).values(values))
