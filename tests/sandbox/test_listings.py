"""Caps, windows and filters of the listings."""

from datetime import datetime, timedelta
from typing import Any

import httpx
import pytest
from servers import Start, log_in

CAP = 500


def windowed(http: httpx.Client, path: str, **query: str) -> list[dict[str, Any]]:
    answer = http.get(path, params=query)
    assert answer.status_code == 200, answer.text
    data: list[dict[str, Any]] = answer.json()["data"]
    return data


def test_a_client_listing_is_capped_at_500_and_windows_reach_all_clients(
    http: httpx.Client,
) -> None:
    assert len(windowed(http, "/v2/cliente")) == CAP
    seen: set[int] = set()
    month = datetime(2025, 1, 1)
    while month < datetime(2026, 11, 1):
        following = (month + timedelta(days=32)).replace(day=1)
        listed = windowed(
            http,
            "/v2/cliente",
            dataInferior=month.strftime("%d/%m/%Y"),
            dataSuperior=(following - timedelta(days=1)).strftime("%d/%m/%Y"),
        )
        codes = {client["codigoDoCliente"] for client in listed}
        assert len(listed) < CAP
        assert not codes & seen
        seen |= codes
        month = following
    assert seen == set(range(1001, 2301))


def test_clients_are_ordered_by_update_and_code(http: httpx.Client) -> None:
    listed = windowed(http, "/v2/cliente")
    order = [(client["ultimaAtualizacao"], client["codigoDoCliente"]) for client in listed]
    assert order == sorted(order)


@pytest.mark.parametrize("path", ["/v2/cliente", "/v2/faturamento/pedido"])
def test_both_ends_of_a_window_are_included(http: httpx.Client, path: str) -> None:
    # The last weeks only: all 2,000 orders take too long.
    since = {"dataInferior": "01/10/2026"}
    record = windowed(http, path, **since)[7]
    updated = datetime.fromisoformat(record["ultimaAtualizacao"])
    minute, day = updated.strftime("%d/%m/%Y %H:%M"), updated.strftime("%d/%m/%Y")
    before = (updated - timedelta(minutes=1)).strftime("%d/%m/%Y %H:%M")
    after = (updated + timedelta(minutes=1)).strftime("%d/%m/%Y %H:%M")
    assert record in windowed(http, path, dataInferior=minute, dataSuperior=minute)
    assert record in windowed(http, path, dataInferior=day, dataSuperior=day)
    assert record in windowed(http, path, DataInferior=minute)
    assert record not in windowed(http, path, dataSuperior=before, **since)
    assert record not in windowed(http, path, dataInferior=after)
    assert record not in windowed(http, path, dataInferior=day, dataSuperior=f"{day} 00:00")


def test_orders_are_unlimited_without_qtde(http: httpx.Client) -> None:
    path = "/v2/faturamento/pedido"
    of_the_demo = {"dataInferior": "01/05/2026", "dataSuperior": "31/10/2026"}
    orders = windowed(http, path, **of_the_demo)
    assert len(orders) > CAP
    assert windowed(http, path, qtde="0", **of_the_demo) == orders
    assert windowed(http, path, qtde="3", **of_the_demo) == orders[:3]
    order = [(record["ultimaAtualizacao"], record["numeroDoPedido"]) for record in orders]
    assert order == sorted(order)


def test_orders_are_filtered_by_branch(http: httpx.Client) -> None:
    listed = windowed(http, "/v2/faturamento/pedido", codigoDaFilial="2")
    assert {order["codigoDaFilial"] for order in listed} == {2}
    assert 0 < len(listed) < 2000


def test_a_consolidated_balance_is_the_sum_of_its_places(http: httpx.Client) -> None:
    rows = [row for row in windowed(http, "/v2/estoque") if row["idProd"] == 2005]
    total = http.get("/v2/estoque/produto/2005").json()["data"]
    assert total["quantidadeTotal"] == sum(row["quantidadeTotal"] for row in rows)
    assert total["valorTotal"] == pytest.approx(sum(row["valorTotal"] for row in rows))


def test_the_balances_of_the_branches_are_all_balances(http: httpx.Client) -> None:
    branches = [windowed(http, f"/v2/estoque/filial/{branch}") for branch in (1, 2, 3)]
    assert [row for rows in branches for row in rows] == windowed(http, "/v2/estoque")


def test_a_blank_filter_counts_as_none(http: httpx.Client) -> None:
    listed = windowed(http, "/v2/faturamento/pedido", dataInferior="", qtde="1")
    assert listed == windowed(http, "/v2/faturamento/pedido", qtde="1")


def test_an_empty_sandbox_lists_nothing(start: Start) -> None:
    with log_in(start("--seed", "empty")) as http:
        for path in ("/v2/cliente", "/v2/faturamento/pedido", "/v2/estoque"):
            assert windowed(http, path) == []
        assert windowed(http, "/v2/estoque/filial/1") == []
