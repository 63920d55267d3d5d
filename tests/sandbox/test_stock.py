"""Balances are the sum of their movements, also under concurrency.

Inside: sandbox.
"""

from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime
from decimal import Decimal
from random import Random
from typing import Any

import httpx
import pytest
from databases import TABLES, open_storage
from hypothesis import given, strategies as st
from sampling import examples
from servers import Start, log_in
from sqlalchemy import Connection, insert, select

from xlbridge.sandbox import SeedKind, seed_database
from xlbridge.sandbox.areas.inventories import (
    find_inventory,
    open_inventory,
    process_inventory,
    record_counts,
    require_running_count,
    start_count,
    validate_inventory,
)
from xlbridge.sandbox.areas.movements import (
    Balance,
    BalanceKey,
    balances_of,
    change_output,
    register_entry,
    register_output,
)
from xlbridge.sandbox.demo_company import make_products
from xlbridge.sandbox.problems import RequestError
from xlbridge.sandbox.storage import Storage
from xlbridge.wire.stock import (
    CountedProduct,
    InventoryCount,
    InventoryInput,
    StockEntryInput,
    StockOutputChange,
    StockOutputInput,
)

movements = TABLES["movements"]
products = TABLES["products"]

NOW = datetime(2026, 11, 21, 10)
CENT = Decimal("0.01")

PRODUCTS = st.sampled_from([2001, 2002])
WAREHOUSES = st.sampled_from([1, 2])
QUANTITIES = st.decimals("0.0001", "500", places=4)
COSTS = st.none() | st.decimals("0", "99", places=6)
MOVES = st.one_of(
    st.tuples(st.just("entry"), PRODUCTS, WAREHOUSES, QUANTITIES, COSTS),
    st.tuples(st.just("output"), PRODUCTS, st.none() | WAREHOUSES, QUANTITIES),
    st.tuples(st.just("count"), PRODUCTS, WAREHOUSES, st.decimals("0", "500", places=4)),
    st.tuples(st.just("alter"), st.integers(1, 6), QUANTITIES),
    st.tuples(st.just("reverse"), st.integers(1, 6)),
)


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Storage]:
    """A database with the registries and two products."""
    opened = open_storage(tmp_path_factory.mktemp("stock"))
    with opened.transaction(writing=True) as connection:
        seed_database(connection, SeedKind.EMPTY, 1)
        rows = make_products(Random(1), 2)
        connection.execute(insert(products), list(rows))
    yield opened
    opened.close()


@given(st.lists(MOVES, max_size=20))
@examples(15)
def test_any_sequence_keeps_every_balance_the_sum_of_its_movements(
    storage: Storage, moves: list[tuple[Any, ...]]
) -> None:
    with storage.transaction(writing=True) as connection:
        for move in moves:
            with suppress(RequestError):
                perform(connection, *move)
        assert_balanced(connection)
        connection.rollback()


def perform(connection: Connection, kind: str, *values: Any) -> None:
    match kind, values:
        case "entry", (product, warehouse, quantity, cost):
            enter(connection, product, warehouse, quantity, cost)
        case "output", (product, warehouse, quantity):
            data = StockOutputInput(
                codigoDaFilial=1, quantidade=quantity, idProd=product,
                codigoDoAlmoxarifado=warehouse,
            )  # fmt: skip
            register_output(connection, data, NOW)
        case "count", (product, warehouse, quantity):
            count(connection, product, warehouse, quantity)
        case "alter", (number, quantity):
            change = StockOutputChange(numeroDaSaida=number, codigoDaFilial=1, quantidade=quantity)
            change_output(connection, change, NOW)
        case "reverse", (number,):
            reverse(connection, number)


def enter(
    connection: Connection, product: int, warehouse: int, quantity: Decimal, cost: Decimal | None
) -> None:
    data = StockEntryInput(
        codigoDaFilial=1, dataDaEntrada=NOW, quantidade=quantity, idProd=product,
        codigoDoAlmoxarifado=warehouse, valorUnitario=cost,
    )  # fmt: skip
    register_entry(connection, data, NOW)


def count(connection: Connection, product: int, warehouse: int, quantity: Decimal) -> None:
    opened = open_inventory(
        connection, InventoryInput(codigoDaFilial=1, codigoDoAlmoxarifado=warehouse), NOW
    )
    start_count(connection, opened, NOW, 1)
    counted = InventoryCount(itens=[CountedProduct(idProd=product, quantidade=quantity)])
    record_counts(connection, require_running_count(connection, opened, 1), 1, counted, NOW)
    validate_inventory(connection, opened, NOW)
    process_inventory(connection, opened, NOW)
    place = BalanceKey(1, warehouse, product)
    balance = dict(balances_of(connection, NOW)).get(place, Balance())
    assert balance.quantity == quantity
    processed = find_inventory(connection, opened)
    assert processed is not None
    assert processed.podeEncerrar


def reverse(connection: Connection, number: int) -> None:
    output = connection.execute(
        select(movements).where(movements.c.inward.is_(False), movements.c.number == number)
    ).one_or_none()
    if output is not None:
        change = StockOutputChange(
            numeroDaSaida=number, codigoDaFilial=1, quantidade=output.quantidade, estorno=True
        )
        change_output(connection, change, NOW)


def assert_balanced(connection: Connection) -> None:
    """Compare the balances with sums of the individual movements."""
    quantities: defaultdict[BalanceKey, Decimal] = defaultdict(Decimal)
    worths: defaultdict[BalanceKey, Decimal] = defaultdict(Decimal)
    for row in connection.execute(select(movements).order_by(movements.c.id)):
        place = BalanceKey(row.codigoDaFilial, row.codigoDoAlmoxarifado, row.idProd)
        sign = 1 if row.inward else -1
        quantities[place] += sign * row.quantidade
        worths[place] += sign * row.valorTotal
        assert row.valorTotal == row.valorTotal.quantize(CENT)
    balances = dict(balances_of(connection, NOW))
    assert {place: balance.quantity for place, balance in balances.items()} == quantities
    assert {place: balance.value for place, balance in balances.items()} == worths
    for balance in balances.values():
        assert balance.quantity >= 0
        assert balance.value >= 0
        assert balance.quantity or not balance.value


def test_concurrent_outputs_never_use_the_same_stock(http: httpx.Client) -> None:
    stock = {"codigoDaFilial": 1, "idProd": 2030, "numeroDeSerie": "GX-T"}
    entry = stock | {"dataDaEntrada": "2025-11-01", "quantidade": 25, "valorUnitario": 1.01}
    assert http.post("/v2/estoque/entrada", json=entry).status_code == 200
    with ThreadPoolExecutor(8) as pool:
        answers = list(
            pool.map(
                lambda _: http.post("/v2/estoque/saida", json=stock | {"quantidade": 1}), range(40)
            )
        )
    outputs = [answer.json()["data"] for answer in answers if answer.status_code == 200]
    assert sorted(answer.status_code for answer in answers) == [200] * 25 + [400] * 15
    assert len({output["numeroDaSaida"] for output in outputs}) == 25
    assert {output["valorTotal"] for output in outputs} == {1.01}
    rows = http.get("/v2/estoque/filial/1").json()["data"]
    (left,) = [row for row in rows if row["numeroDeSerieLote"] == "GX-T"]
    assert (left["quantidadeTotal"], left["valorTotal"]) == (0, 0)


def test_movements_of_all_kinds_at_once_lose_no_update(http: httpx.Client) -> None:
    place = {"codigoDaFilial": 2, "idProd": 2031, "numeroDeSerie": "GX-U"}
    entry = place | {"dataDaEntrada": "2025-11-01", "quantidade": 3, "valorUnitario": 2}

    def move(turn: int) -> None:
        assert http.post("/v2/estoque/entrada", json=entry).status_code == 200
        out = http.post("/v2/estoque/saida", json=place | {"quantidade": 2}).json()["data"]
        if turn % 2:
            again = place | {"quantidade": 2, "numeroDaSaida": out["numeroDaSaida"]}
            assert http.put("/v2/estoque/saida", json=again | {"estorno": True}).status_code == 200

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(move, range(24)))
    history = http.get("/v2/estoque/movimentacoes/produto/2031").json()["data"]
    movements = [row for row in history if row["numeroDeSerieLote"] == "GX-U"]
    assert len(movements) == 24 + 24 + 12
    rows = http.get("/v2/estoque/filial/2").json()["data"]
    (left,) = [row for row in rows if row["numeroDeSerieLote"] == "GX-U"]
    assert (left["quantidadeTotal"], left["valorTotal"]) == (24 * 3 - 12 * 2, 2 * 48)


@pytest.mark.parametrize("branch", [1, 2, 3])
def test_the_demo_balances_follow_from_its_history(http: httpx.Client, branch: int) -> None:
    rows = http.get(f"/v2/estoque/filial/{branch}").json()["data"]
    for product in (2001, 2040, 2119):
        history = http.get(f"/v2/estoque/movimentacoes/produto/{product}").json()["data"]
        signed = [
            (1 if row["tipoDeMovimentacao"] == "Entrada" else -1) * row["quantidade"]
            for row in history
            if row["codigoDaFilial"] == branch
        ]
        assert sum(signed) == sum(
            row["quantidadeTotal"] for row in rows if row["idProd"] == product
        )


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("quantidade", 1e300),
        ("quantidade", 10**9),
        ("quantidade", 0.00001),
        ("quantidade", "1"),
        ("valorUnitario", -1),
        ("valorUnitario", 0.0000001),
        ("valorUnitario", 999_999_999),
        ("dataDaEntrada", "01/11/2026"),
        ("codigoDoAlmoxarifado", 9),
        ("idProd", 0),
        ("codigoDoProjeto", 9),
    ],
)
def test_a_bad_field_of_an_entry_returns_400_with_its_name(
    http: httpx.Client, field: str, value: object
) -> None:
    entry = {"codigoDaFilial": 3, "dataDaEntrada": "2025-11-01", "quantidade": 2, "idProd": 2033}
    refused = http.post("/v2/estoque/entrada", json=entry | {field: value})
    assert refused.status_code == 400
    assert [error["key"] for error in refused.json()["errors"]] == [field]


def test_an_output_uses_the_first_balance_with_enough_stock(http: httpx.Client) -> None:
    stock = {"codigoDaFilial": 3, "idProd": 2034}
    large = stock | {"dataDaEntrada": "2025-11-01", "quantidade": 5000, "codigoDoProjeto": 2}
    entered = http.post("/v2/estoque/entrada", json=large | {"codigoDoAlmoxarifado": 2})
    assert entered.status_code == 200
    out = http.post("/v2/estoque/saida", json=stock | {"quantidade": 4000}).json()["data"]
    assert (out["codigoDoAlmoxarifado"], out["codigoDoProjeto"]) == (2, 2)
    other = http.post("/v2/estoque/saida", json=stock | {"quantidade": 900, "codigoDoProjeto": 1})
    assert other.status_code == 400


def test_an_output_at_average_cost_leaves_no_cent_behind(http: httpx.Client) -> None:
    stock = {"codigoDaFilial": 3, "idProd": 2035, "numeroDeSerie": "GX-C"}
    for quantity, cost in ((1, 10), (2, 0.01)):
        entry = stock | {"dataDaEntrada": "2025-11-01", "quantidade": quantity}
        http.post("/v2/estoque/entrada", json=entry | {"valorUnitario": cost})
    outputs = [
        http.post("/v2/estoque/saida", json=stock | {"quantidade": 1}).json()["data"]
        for _ in range(3)
    ]
    assert [output["valorTotal"] for output in outputs] == [3.34, 3.34, 3.34]
    assert outputs[0]["valorUnitario"] == 3.34


def test_reversing_an_output_opens_its_requisition_again(http: httpx.Client) -> None:
    pending = http.get("/v2/estoque/requisicao/pendentes", params={"filial": 3}).json()["data"]
    requisition, item = pending[0], pending[0]["itens"][0]
    entry = {"codigoDaFilial": 3, "dataDaEntrada": "2025-11-01", "idProd": item["idProd"]}
    amount = item["quantidadePendente"]
    assert http.post("/v2/estoque/entrada", json=entry | {"quantidade": amount}).status_code == 200
    output = {
        "codigoDaFilial": 3,
        "numeroDaRequisicao": requisition["numeroDaRequisicao"],
        "seqRequisicao": item["seq"],
    }
    half = http.post("/v2/estoque/saida", json=output | {"quantidade": 1}).json()["data"]
    change = {"numeroDaSaida": half["numeroDaSaida"], "codigoDaFilial": 3}
    beyond = http.put("/v2/estoque/saida", json=change | {"quantidade": amount + 1})
    assert [error["key"] for error in beyond.json()["errors"]] == ["quantidade"]
    whole = http.put("/v2/estoque/saida", json=change | {"quantidade": amount})
    assert whole.status_code == 200

    def numbers(state: str) -> set[int]:
        listed = http.get(f"/v2/estoque/requisicao/{state}", params={"filial": 3}).json()["data"]
        return {entry["numeroDaRequisicao"] for entry in listed}

    assert requisition["numeroDaRequisicao"] in numbers("finalizadas") - numbers("pendentes")
    reversed_ = http.put("/v2/estoque/saida", json=change | {"quantidade": amount, "estorno": True})
    assert reversed_.json()["data"]["quantidadeEstornada"] == amount
    assert requisition["numeroDaRequisicao"] in numbers("pendentes") - numbers("finalizadas")


def test_an_adjustment_of_an_inventory_is_final(http: httpx.Client) -> None:
    opened = http.post(
        "/v2/estoque/inventario", json={"codigoDaFilial": 1, "codigoDoAlmoxarifado": 2}
    ).json()["data"]
    path = f"/v2/estoque/inventario/{opened['idInventario']}"
    stock = {"codigoDaFilial": 1, "idProd": 2036, "numeroDeSerie": "GX-A"}
    stock |= {"codigoDoAlmoxarifado": 2}
    http.post("/v2/estoque/entrada", json=stock | {"dataDaEntrada": "2025-11-01", "quantidade": 5})
    http.post(f"{path}/contagem/1/iniciar")
    item = {"idProd": 2036, "numeroDeSerieLote": "GX-A", "quantidade": 3}
    http.post(f"{path}/contagem/1", json={"itens": [item]})
    http.post(f"{path}/validar")
    assert http.post(f"{path}/processar").status_code == 200
    history = http.get("/v2/estoque/movimentacoes/produto/2036").json()["data"]
    (adjustment,) = [row for row in history if row["ajuste"]]
    assert (adjustment["tipoDeMovimentacao"], adjustment["quantidade"]) == ("Saída", 2)
    change = {"numeroDaSaida": adjustment["numeroDaMovimentacao"], "codigoDaFilial": 1}
    refused = http.put("/v2/estoque/saida", json=change | {"quantidade": 1})
    assert [error["key"] for error in refused.json()["errors"]] == ["numeroDaSaida"]


def test_an_empty_sandbox_has_no_stock_and_no_inventories(start: Start) -> None:
    with log_in(start("--seed", "empty")) as http:
        for path in ("/v2/estoque/inventario", "/v2/estoque/produto/mapeamento"):
            assert http.get(path).json()["data"] == []
        pending = http.get("/v2/estoque/requisicao/pendentes", params={"filial": 1})
        assert pending.json()["data"] == []
