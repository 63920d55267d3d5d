"""Records of the demo: those in the contract, the same every time.

Inside: sandbox.
"""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from databases import TABLES, database_options, metadata, open_storage
from load_audit import balances_of
from sandboxes import create_database
from sqlalchemy import Connection, Table, delete, select

from xlbridge.sandbox import SeedKind, seed_database
from xlbridge.sandbox.demo_company import TODAY
from xlbridge.sandbox.storage import Storage

branches = TABLES["branches"]
clients = TABLES["clients"]
movements = TABLES["movements"]
portfolios = TABLES["portfolios"]
product_invoices = TABLES["product_invoices"]
receivables = TABLES["receivables"]
sales_orders = TABLES["sales_orders"]
service_forecasts = TABLES["service_forecasts"]
service_invoices = TABLES["service_invoices"]

Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    home = tmp_path_factory.mktemp("demo")
    create_database(home, database_options(home))
    storage = open_storage(home)
    with storage.transaction(writing=True) as connection:
        connection.execute(delete(TABLES["users"]))  # The account is not of the seed.
    with storage.transaction(writing=False) as connection:
        yield connection
    storage.close()


def seeded(home: Path, kind: SeedKind = SeedKind.DEMO, scale: int = 1) -> Storage:
    storage = open_storage(home)
    with storage.transaction(writing=True) as connection:
        assert seed_database(connection, kind, scale)
    return storage


def rows(connection: Connection, table: Table) -> Rows:
    statement = select(table).order_by(*table.primary_key)
    return [dict(row) for row in connection.execute(statement).mappings()]


def by_order(lines: Rows) -> dict[int, Rows]:
    grouped: dict[int, Rows] = defaultdict(list)
    for line in lines:
        grouped[line["numeroDoPedido"]].append(line)
    return grouped


def test_the_demo_has_the_records_in_the_contract(demo: Connection) -> None:
    registered = rows(demo, clients)
    assert len(registered) == 1300
    assert len(rows(demo, sales_orders)) == 2000
    assert len(rows(demo, branches)) >= 3
    assert {client["ativo"] for client in registered} == {True, False}
    assert any(not (client["cnpjcpf"] or "0").isdigit() for client in registered)
    states = ("pendente", "processado", "cancelado")
    orders = rows(demo, sales_orders)
    assert {state for order in orders for state in states if order[state]} == set(states)
    settled = {title["dataDeBaixa"] is not None for title in rows(demo, receivables)}
    assert settled == {True, False}
    empty = {balance.quantity == 0 for _, balance in balances_of(demo, TODAY)}
    assert empty == {True, False}


def test_demo_is_reproducible_and_a_second_seed_changes_nothing(
    demo: Connection, tmp_path: Path
) -> None:
    again = seeded(tmp_path / "again")
    with again.transaction(writing=False) as connection:
        for table in metadata.sorted_tables:
            assert rows(connection, table) == rows(demo, table), table.name
    with again.transaction(writing=True) as connection:
        assert not seed_database(connection, SeedKind.DEMO, 2)
        assert len(rows(connection, clients)) == len(rows(demo, clients))
    again.close()


def test_access_keys_are_unique(demo: Connection) -> None:
    keys = [row["chaveDaNotaFiscalEletronica"] for row in rows(demo, product_invoices)]
    services = [row["chaveDaNotaFiscalEletronica"] for row in rows(demo, service_invoices)]
    emitted = [key for key in services if key is not None]
    assert 0 < len(emitted) < len(services)
    assert {len(key) for key in keys} == {44}
    assert {len(key) for key in emitted} == {50}
    assert len({*keys, *emitted}) == len(keys) + len(emitted)


def test_a_forecast_has_a_next_date_until_it_ends(demo: Connection) -> None:
    forecasts = rows(demo, service_forecasts)
    assert {forecast["ativo"] for forecast in forecasts} == {True, False}
    for forecast in forecasts:
        following = forecast["dataDaProximaEmissao"]
        assert forecast["ativo"] == (following is not None and following > TODAY)
        assert forecast["ativo"] == (forecast["dataDeTermino"] is None)
        readjusted = forecast["dataDoProximoReajuste"]
        assert (readjusted is None) == (forecast["percentualDeReajuste"] is None)


@pytest.mark.slow  # test_unusable_databases.py covers the multiplied records
def test_scale_multiplies_the_records(tmp_path: Path) -> None:
    storage = seeded(tmp_path / "scaled", scale=2)
    with storage.transaction(writing=False) as connection:
        assert len(rows(connection, clients)) == 2600
        assert len(rows(connection, sales_orders)) == 4000
    storage.close()


def test_empty_seed_has_only_the_registries(tmp_path: Path) -> None:
    storage = seeded(tmp_path / "empty", SeedKind.EMPTY)
    with storage.transaction(writing=False) as connection:
        assert rows(connection, branches)
        assert rows(connection, portfolios)
        for table in (clients, sales_orders, movements, receivables):
            assert rows(connection, table) == []
    storage.close()
