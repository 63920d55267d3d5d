"""Purchases: states of the documents, rules, filters of the listings."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import httpx
import pytest

REQUEST = {
    "codigoDaFilial": 1,
    "codigoDoTipoDeCompra": 1,
    "codigoDoColaborador": 1,
    "itens": [{"idProduto": 2001, "quantidade": 2}],
}
BOUGHT = {"idProduto": 2001, "quantidade": 2, "valorUnitario": 5}
PURCHASE = {"codigoDaFilial": 1, "codigoDoFornecedor": 502, "itens": [BOUGHT]}
CENTRES = ("01.001", "01.002", "02.001")
AT_ONCE = 8

Documents = list[dict[str, Any]]


def listed(http: httpx.Client, path: str, query: Any = None) -> Documents:
    answer = http.get(f"/v2/compras/{path}", params=query)
    assert answer.status_code == 200, answer.text
    documents: Documents = answer.json()["data"]
    return documents


def created(http: httpx.Client, path: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = http.post(f"/v2/compras/{path}", json=body)
    assert answer.status_code == 200, answer.text
    data: dict[str, Any] = answer.json()["data"]
    return data


def notified(http: httpx.Client, body: dict[str, Any]) -> list[str]:
    data = created(http, "pedido", body)
    assert (data["payload"] is None) == bool(data["notifications"])
    return [item["key"] for item in data["notifications"]]


@pytest.fixture(scope="module")
def requisitions(http: httpx.Client) -> dict[str, int]:
    """Requisitions of branch 2, one per cost centre."""
    return {
        centre: created(
            http,
            "requisicao",
            REQUEST | {"codigoDaFilial": 2, "codigoDoCentroDeCusto": centre},
        )["numeroDaRequisicao"]
        for centre in CENTRES
    }


@pytest.mark.parametrize(
    ("query", "centres"),
    [
        ([("CodigosCentroCustos", "01.001"), ("CodigosCentroCustos", "02.001")], (0, 2)),
        ([("codigosCentroCustos", "01.001"), ("codigosCentroCustos", "02.001")], (0, 2)),
        ([("CodigosCentroCustos", "01.002")], (1,)),
        ([("CodigosCentroCustos", ""), ("CodigosCentroCustos", "01.002")], (1,)),
        ([("CodigosCentroCustos", "")], (0, 1, 2)),
        ([], (0, 1, 2)),
        ([("CodigoDaFilial", "2")], (0, 1, 2)),
        ([("CodigoDaFilial", "3")], ()),
    ],
)
def test_requisitions_are_filtered_by_cost_centres(
    http: httpx.Client, requisitions: dict[str, int], query: Any, centres: tuple[int, ...]
) -> None:
    found = {item["numeroDaRequisicao"] for item in listed(http, "requisicao/abertas", query)}
    assert found & set(requisitions.values()) == {requisitions[CENTRES[i]] for i in centres}


@pytest.mark.parametrize(
    ("create", "closed", "origin", "number"),
    [
        ("requisicao", "requisicao/encerradas", "NumeroDaRequisicaoDeCompra", "numeroDaRequisicao"),
        ("ordem", "ordem/encerradas", "numeroDaOrdem", "numeroDaOrdem"),
    ],
)
def test_only_one_of_many_concurrent_documents_closes_its_origin(
    http: httpx.Client, create: str, closed: str, origin: str, number: str
) -> None:
    source = created(http, create, REQUEST)[number]
    follow: Callable[[int], bool] = {
        "requisicao": lambda _: ordered(http, {origin: source}),
        "ordem": lambda _: not notified(http, PURCHASE | {origin: source}),
    }[create]
    with ThreadPoolExecutor(AT_ONCE) as threads:
        succeeded = list(threads.map(follow, range(AT_ONCE)))
    assert sum(succeeded) == 1
    assert source in {document[number] for document in listed(http, closed)}


def ordered(http: httpx.Client, origin: dict[str, int]) -> bool:
    return http.post("/v2/compras/ordem", json=REQUEST | origin).status_code == 200


def test_a_refused_purchase_order_leaves_its_order_open_and_uses_no_number(
    http: httpx.Client,
) -> None:
    order = created(http, "ordem", REQUEST)["numeroDaOrdem"]
    before = created(http, "pedido", PURCHASE)["payload"]["numeroPedido"]
    refused = PURCHASE | {"numeroDaOrdem": order, "codigoDoFornecedor": 505}
    assert notified(http, refused) == ["codigoDoFornecedor"]
    assert listed(http, f"ordem/{order}")["encerrada"] is False
    assert created(http, "pedido", PURCHASE)["payload"]["numeroPedido"] == before + 1


@pytest.mark.parametrize(
    ("item", "keys"),
    [
        ({"quantidade": 0.000001}, []),
        ({"quantidade": 0.0000001}, ["itens.0.quantidade"]),
        ({"quantidade": 1e12}, ["itens.0.quantidade"]),
        ({"valorUnitario": 0}, []),
        ({"valorUnitario": 1.005}, []),
        ({"valorUnitario": 1.0000005}, ["itens.0.valorUnitario"]),
        ({"valorUnitario": 1e12}, ["itens.0.valorUnitario"]),
        ({"quantidade": 1e7, "valorUnitario": 1e7}, ["itens.0.valorUnitario"]),
        ({"idProduto": 0}, ["itens.0.idProduto"]),
        ({"idProduto": "2001"}, ["itens.0.idProduto"]),
    ],
)
def test_quantity_of_a_bought_item_is_validated(
    http: httpx.Client, item: dict[str, Any], keys: list[str]
) -> None:
    assert notified(http, PURCHASE | {"itens": [BOUGHT | item]}) == keys


@pytest.mark.parametrize(
    ("quantity", "price", "total"), [(1.4, 0.01, 0.01), (1.6, 0.01, 0.02), (0.333333, 100, 33.33)]
)
def test_an_item_is_worth_whole_cents(
    http: httpx.Client, quantity: float, price: float, total: float
) -> None:
    items = [BOUGHT | {"quantidade": quantity, "valorUnitario": price}] * 2
    number = created(http, "pedido", PURCHASE | {"itens": items})["payload"]["numeroPedido"]
    order = httpx_decimals(http, f"/v2/compras/pedido/{number}")
    assert [item["valorTotal"] for item in order["itens"]] == [Decimal(str(total))] * 2
    assert order["valorTotal"] == 2 * Decimal(str(total))


def httpx_decimals(http: httpx.Client, path: str) -> dict[str, Any]:
    data: dict[str, Any] = http.get(path).json(parse_float=Decimal)["data"]
    return data


@pytest.mark.parametrize("number", [0, -1, 1.5, 1e15, 10**12])
def test_a_number_that_no_document_has_is_refused(http: httpx.Client, number: float) -> None:
    answer = http.post("/v2/compras/ordem", json=REQUEST | {"NumeroDaRequisicaoDeCompra": number})
    assert answer.status_code == 400
    assert [item["key"] for item in answer.json()["errors"]] == ["NumeroDaRequisicaoDeCompra"]


def test_a_limit_cannot_be_changed_to_the_key_of_another(http: httpx.Client) -> None:
    limit = {
        "codigoDaFilial": 2,
        "codigoDoCentroDeCusto": "01.001",
        "codigoDoItemDeLancamento": "2.02.001",
        "ano": 2030,
        "mes": 1,
        "valorLimite": 10,
    }
    created(http, "planejamento", limit)
    other = created(http, "planejamento", limit | {"codigoDoProjeto": 1})
    answer = http.put("/v2/compras/planejamento", json=other | {"codigoDoProjeto": None})
    assert [item["key"] for item in answer.json()["errors"]] == ["mes"]
    assert listed(http, "planejamento", {"ano": 2030, "codigoDoProjeto": 1}) == [other]


def test_demo_has_consistent_purchases_in_every_state(http: httpx.Client) -> None:
    closed = {item["numeroDaRequisicao"] for item in listed(http, "requisicao/encerradas")}
    orders = [*listed(http, "ordem/abertas"), *listed(http, "ordem/encerradas")]
    origins = [item["NumeroDaRequisicaoDeCompra"] for item in orders]
    assert sorted(filter(None, origins)) == sorted(closed)
    bought = [*listed(http, "pedido/abertos"), *listed(http, "pedido/encerrados")]
    formalized = [item["numeroDaOrdem"] for item in bought]
    ended = [item["numeroDaOrdem"] for item in listed(http, "ordem/encerradas")]
    assert sorted(filter(None, formalized)) == sorted(ended)
    assert {item["encerrado"] for item in bought} == {True, False}
