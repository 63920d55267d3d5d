"""Stock of the demo: movements, requisitions, product addresses, inventories."""

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

from sqlalchemy import Connection, Table

from xlbridge.sandbox.amounts import round_half_up
from xlbridge.sandbox.areas.inventories import open_inventory
from xlbridge.sandbox.areas.movements import (
    Balance,
    BalanceKey,
    addressings,
    movements,
    stock_requisition_items,
    stock_requisitions,
)
from xlbridge.sandbox.areas.registries import branches, collaborators, cost_centres, projects
from xlbridge.sandbox.demo.company import (
    FIRST_DAY,
    SECTIONS,
    TODAY,
    DemoProduct,
    codes,
    company,
    cost_of,
    office_moments,
    random_day,
    random_office_time,
    write_rows,
)
from xlbridge.wire.stock import InventoryInput

_EMPTY, _BATCHES, _FOR_PROJECT, _INACTIVE = 0.3, 0.1, 0.05, 0.05
_COST_FACTORS = ("1", "1.03", "1.08")
_MAX_RECEIVED, _MAX_MOVEMENTS = 400, 4
_MIN_REQUESTED, _MAX_REQUESTED = 2, 20
_FIRST_REQUEST = TODAY - timedelta(days=30)
_RELEASED, _REQUISITIONS = 0.8, 36
_FIRST_WAREHOUSE = 1

Rows = defaultdict[Table, list[dict[str, Any]]]


def seed_stock(
    connection: Connection, random: Random, products: list[DemoProduct], scale: int
) -> Counter[str]:
    """Write movements, requisitions and product addresses, and open an inventory per branch.

    Return the last number of each scope.
    """
    batch: Rows = defaultdict(list)
    balances = {
        balance_key: _make_movements(random, batch, balance_key, product)
        for balance_key, product in _balance_keys(random, products)
    }
    stocked = [key for key, balance in balances.items() if balance.quantity >= _MIN_REQUESTED]
    moments = office_moments(random, _REQUISITIONS * scale, _FIRST_REQUEST)
    requests = zip(random.sample(stocked, len(moments)), moments, strict=True)
    for number, (balance_key, requested) in enumerate(requests, start=1):
        _add_requisition(random, batch, balance_key, balances[balance_key], number, requested)
    last_numbers: Counter[str] = Counter()
    batch[movements].sort(key=lambda row: row["moved"])
    for row in batch[movements]:
        scope = "stock_entry" if row["inward"] else "stock_output"
        last_numbers[scope] += 1
        row["number"] = last_numbers[scope]
    sections = list(SECTIONS)
    for branch, product in itertools.product(codes(branches), products):
        address = {
            "codigoDaFilial": branch,
            "codigoDoAlmoxarifado": _FIRST_WAREHOUSE,
            "codigoDaSecao": random.choice(sections),
            "idProd": product["idProduto"],
            "codigoDaFilialSecao": branch,
            "codigoDoAlmoxarifadoSecao": _FIRST_WAREHOUSE,
            "ativo": random.random() >= _INACTIVE,
            "ultimaAtualizacao": random_office_time(random, random_day(random)),
        }
        batch[addressings].append(address)
    for table, rows in batch.items():
        write_rows(connection, table, rows)
    for branch in codes(branches):
        data = InventoryInput(
            codigoDaFilial=branch,
            codigoDoAlmoxarifado=_FIRST_WAREHOUSE,
            descricaoDoInventario="Inventário anual",
            carregarBaseDeProdutos=True,
        )
        open_inventory(connection, data, TODAY)
    return last_numbers


def _balance_keys(
    random: Random, products: list[DemoProduct]
) -> Iterator[tuple[BalanceKey, DemoProduct]]:
    """Yield the balances to create, each in a warehouse that has the product."""
    for branch in codes(branches):
        for warehouse in company()["warehouses"]:
            for product in products:
                if random.random() < _EMPTY:
                    continue
                code = product["idProduto"]
                has_batch, for_project = random.random() < _BATCHES, random.random() < _FOR_PROJECT
                serial = f"L{branch}{warehouse}{code}" if has_batch else None
                project = random.choice(codes(projects)) if for_project else None
                yield BalanceKey(branch, warehouse, code, serial, project), product


def _make_movements(
    random: Random, batch: Rows, balance_key: BalanceKey, product: DemoProduct
) -> Balance:
    cost = round_half_up(cost_of(product))
    moved = random_office_time(random, random_day(random, FIRST_DAY, TODAY - timedelta(days=90)))
    balance = _add_entry(random, batch, balance_key, moved, cost)
    for _ in range(random.randrange(_MAX_MOVEMENTS)):
        moved = min(moved + timedelta(days=random.randrange(1, 60)), _FIRST_REQUEST)
        if random.random() < 1 / _MAX_MOVEMENTS:
            new_cost = round_half_up(cost * Decimal(random.choice(_COST_FACTORS)))
            received = _add_entry(random, batch, balance_key, moved, new_cost)
            balance = Balance(balance.quantity + received.quantity, balance.value + received.value)
        elif balance.quantity:
            quantity = Decimal(random.randint(1, int(balance.quantity)))
            balance = _add_output(batch, balance_key, balance, quantity, moved, {})
    return balance


def _add_entry(
    random: Random, batch: Rows, balance_key: BalanceKey, moved: datetime, cost: Decimal
) -> Balance:
    quantity = Decimal(random.randrange(1, _MAX_RECEIVED))
    received = Balance(quantity, quantity * cost)
    document = {"documento": f"NF-{random.randrange(1000, 9999)}"}
    batch[movements].append(_movement(balance_key, received, quantity, moved) | document)
    return received


def _add_output(
    batch: Rows,
    balance_key: BalanceKey,
    balance: Balance,
    quantity: Decimal,
    moved: datetime,
    references: dict[str, Any],
) -> Balance:
    movement = _movement(balance_key, balance, quantity, moved) | {"inward": False} | references
    batch[movements].append(movement)
    return Balance(balance.quantity - quantity, balance.value - balance.cost_of(quantity))


def _add_requisition(
    random: Random,
    batch: Rows,
    balance_key: BalanceKey,
    balance: Balance,
    number: int,
    requested: datetime,
) -> None:
    """Add a requisition: a third of them is settled, a third partly, a third not at all."""
    quantity = Decimal(random.randint(_MIN_REQUESTED, min(_MAX_REQUESTED, int(balance.quantity))))
    cost_centre = random.choice(codes(cost_centres))
    settled = (Decimal(0), quantity // 2, quantity)[number % 3]
    batch[stock_requisitions].append(
        {
            "number": number,
            "requested": requested,
            "branch": balance_key.branch,
            "cost_centre": cost_centre,
            "released": bool(settled) or random.random() < _RELEASED,
        }
    )
    batch[stock_requisition_items].append(
        {"requisition": number, "seq": 1, "product": balance_key.product, "quantity": quantity}
    )
    if settled:
        references = {
            "codigoDoCentroDeCusto": cost_centre,
            "numeroDaRequisicao": number,
            "seqRequisicao": 1,
            "codigoDoColaboradorSolicitante": random.choice(codes(collaborators)),
        }
        moved = requested + timedelta(hours=1)
        _add_output(batch, balance_key, balance, settled, moved, references)


def _movement(
    balance_key: BalanceKey, balance: Balance, quantity: Decimal, moved: datetime
) -> dict[str, Any]:
    """Return an entry of part of a balance, with empty optional columns."""
    optional = ("documento", "codigoDoCentroDeCusto", "numeroDaRequisicao", "seqRequisicao",
                "codigoDoColaboradorSolicitante")  # fmt: skip
    return {
        **dict.fromkeys(optional),
        "inward": True,
        "moved": moved,
        **balance_key.movement_columns(),
        "quantidade": quantity,
        **balance.value_columns_of(quantity),
        "reversed": False,
        "adjustment": False,
        "ultimaAtualizacao": moved,
    }
