"""Sales orders: amounts, instalments and processing.

Inside: sandbox.
"""

from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import httpx
import pytest
from hypothesis import given, strategies as st
from servers import Start, log_in

from xlbridge.sandbox.problems import proportional_parts

ORDERS = "/v2/faturamento/pedido"
CENT = Decimal("0.01")
PRODUCT = {"idProduto": 2001, "quantidade": 1, "valorUnitario": 100}


def new_client(http: httpx.Client, **fields: Any) -> int:
    created = http.post("/v2/cliente", json={"nomeComercial": "Cliente de pedidos", **fields})
    return int(created.json()["data"]["codigoDoCliente"])


def order(http: httpx.Client, **fields: Any) -> dict[str, Any]:
    content = {"codigoDaFilial": 1, "codigoDoCliente": new_client(http), "produtos": [PRODUCT]}
    return content | fields


def data_of(answer: httpx.Response) -> dict[str, Any]:
    assert answer.status_code == 200, answer.text
    data: dict[str, Any] = answer.json(parse_float=Decimal)["data"]
    return data


def registered(http: httpx.Client, **fields: Any) -> dict[str, Any]:
    return data_of(http.post(ORDERS, json=order(http, **fields)))


def processed(http: httpx.Client, number: int) -> httpx.Response:
    return http.post(f"{ORDERS}/processar/{number}")


def keys(answer: httpx.Response) -> list[str]:
    assert answer.status_code == 400, answer.text
    return [error["key"] for error in answer.json()["errors"]]


SOME_WEEKS = {"dataInferior": "15/08/2026", "dataSuperior": "31/10/2026"}
"""Some hundred orders of all states, with active and inactive clients: all 2,000 take too long."""


def demo_order(http: httpx.Client, *, client_active: bool, **state: bool) -> dict[str, Any]:
    """Return an order of the demo in a state, whose client is active or inactive."""
    listed = http.get(ORDERS, params=SOME_WEEKS).json()["data"]
    warned = [] if client_active else ["Cliente inativo."]
    return next(
        sales_order
        for sales_order in listed
        if sales_order["avisos"] == warned
        and all(sales_order[name] is value for name, value in state.items())
    )


amounts = st.decimals(min_value=0, max_value=10**9, places=2)
weights = st.lists(st.decimals(min_value=CENT, max_value=100, places=2), min_size=1, max_size=60)


@given(amounts, weights)
def test_parts_add_up_and_none_is_negative(amount: Decimal, shares: list[Decimal]) -> None:
    parts = proportional_parts(amount, shares)
    assert len(parts) == len(shares)
    assert sum(parts) == amount
    assert all(part >= 0 and part == part.quantize(CENT) for part in parts)


@pytest.mark.parametrize(
    ("terms", "count", "days"),
    [
        pytest.param({}, 1, 30, id="nothing"),
        pytest.param({"codigoDaCondicaoDePagamento": 5}, 1, 0, id="at-once"),
        pytest.param({"codigoDaCondicaoDePagamento": 4}, 4, 30, id="condition"),
        pytest.param({"quantidadeDeParcelas": 7}, 7, 30, id="count"),
        pytest.param(
            {"codigoDaCondicaoDePagamento": 2, "quantidadeDeParcelas": 3}, 3, 30, id="both"
        ),
    ],
)
def test_instalments_follow_from_condition_and_count(
    http: httpx.Client, terms: dict[str, Any], count: int, days: int
) -> None:
    sales_order = registered(http, dataDaOrdem="2026-11-05T15:00:00", **terms)
    instalments = sales_order["parcelas"]
    assert sales_order["quantidadeDeParcelas"] == len(instalments) == count
    assert [part["numeroDaParcela"] for part in instalments] == list(range(1, count + 1))
    assert [date.fromisoformat(part["dataDeVencimento"][:10]) for part in instalments] == [
        date(2026, 11, 5) + timedelta(days * place) for place in range(1, count + 1)
    ]
    assert sum(part["valor"] for part in instalments) == 100
    assert sum(part["percentual"] for part in instalments) == 100


def test_percentages_share_the_total_out(http: httpx.Client) -> None:
    product = {"idProduto": 2001, "quantidade": 1, "valorUnitario": 10.01}
    sales_order = registered(
        http,
        produtos=[product],
        parcelas=[{"percentual": 33.3}, {"percentual": 33.3}, {"percentual": 33.4}],
    )
    assert [part["valor"] for part in sales_order["parcelas"]] == [
        Decimal("3.33"),
        Decimal("3.33"),
        Decimal("3.35"),
    ]


@pytest.mark.parametrize(
    ("fields", "key"),
    [
        pytest.param({"parcelas": [{"valor": 99.99}]}, "parcelas", id="sum"),
        pytest.param({"parcelas": [{"valor": 60}, {}]}, "parcelas", id="amount-missing"),
        pytest.param({"parcelas": [{"percentual": 99}]}, "parcelas", id="percentages"),
        pytest.param({"parcelas": [{"percentual": 0}]}, "parcelas.0.percentual", id="zero"),
        pytest.param(
            {"parcelas": [{"valor": 150}, {"valor": -150}]}, "parcelas.1.valor", id="negative"
        ),
        pytest.param(
            {"parcelas": [{"valor": 100}], "quantidadeDeParcelas": 2},
            "quantidadeDeParcelas",
            id="count",
        ),
        pytest.param(
            {"parcelas": [{"numeroDaParcela": 2, "valor": 100}]},
            "parcelas.0.numeroDaParcela",
            id="number",
        ),
        pytest.param(
            {"parcelas": [{"dataDeVencimento": "2000-01-01", "valor": 100}]},
            "parcelas.0.dataDeVencimento",
            id="date",
        ),
        pytest.param({"quantidadeDeParcelas": 0}, "quantidadeDeParcelas", id="none"),
        pytest.param({"quantidadeDeParcelas": 361}, "quantidadeDeParcelas", id="too-many"),
    ],
)
def test_instalments_that_do_not_fit_are_refused(
    http: httpx.Client, fields: dict[str, Any], key: str
) -> None:
    assert key in keys(http.post(ORDERS, json=order(http, **fields)))


def test_the_figures_of_a_product_follow_from_one_another(http: httpx.Client) -> None:
    product = {
        "idProduto": 2001,
        "quantidade": 3,
        "valorUnitario": 33.335,
        "valorDescontoPercentual": 10,
        "valorAcrescimo": 1.5,
        "valorFrete": 12.5,
        "valorSeguro": 0.5,
        "valorOutros": 0.25,
        "aliquotaIPI": 5,
        "aliquotaICMSST": 2,
        "aliquotaICMS": 18,
    }
    sales_order = registered(http, produtos=[product, PRODUCT])
    line, other = sales_order["produtos"]
    assert (line["seq"], other["seq"]) == (1, 2)
    assert line["valorTotal"] == Decimal("100.00")
    assert line["valorDesconto"] == Decimal("10.00")
    assert line["valorAcrescimoPercentual"] == Decimal("1.5")
    assert line["baseIPI"] == line["baseICMS"] == Decimal("91.5")
    assert (line["valorIPI"], line["valorICMSST"]) == (Decimal("4.58"), Decimal("1.83"))
    assert line["valorICMS"] == Decimal("16.47")
    assert line["totalLiquido"] == Decimal("111.16")
    assert {part["totalDoPedido"] for part in sales_order["parcelas"]} == {Decimal("211.16")}


def test_defaults_come_from_product_client_and_branch(http: httpx.Client) -> None:
    client = new_client(
        http, natureza="F", cpf="86288366757", codigoDoVendedor=3, telefone="(11) 4004-0000"
    )
    sales_order = registered(
        http, codigoDoCliente=client, produtos=[{"idProduto": 2002, "quantidade": 2}]
    )
    price = sales_order["produtos"][0]["valorUnitario"]
    assert price > 0
    assert sales_order["produtos"][0]["valorTotal"] == 2 * price
    assert (sales_order["cnpjcpf"], sales_order["naturezaJuridica"]) == ("86288366757", "F")
    assert (sales_order["codigoDoVendedor"], sales_order["telefone"]) == (3, "(11) 4004-0000")
    assert sales_order["nomeDoClienteFmt"] == f"{client} - Cliente de pedidos"
    assert sales_order["numeroDaOrdem"] == sales_order["numeroDoPedido"]
    assert sales_order["codigoDoItemDeLancamento"] == "1.01.001"
    assert sales_order["cep"]
    assert len(sales_order["avisos"]) == 1


@pytest.mark.parametrize(
    ("product", "key"),
    [
        ({"quantidade": 0}, "quantidade"),
        ({"quantidade": 10**11, "valorUnitario": 10**6}, "totalLiquido"),
        ({"quantidade": 1e300}, "quantidade"),
        ({"valorUnitario": -1}, "valorUnitario"),
        ({"valorFrete": -1}, "valorFrete"),
        ({"valorDesconto": 100.01}, "valorDesconto"),
        ({"valorDescontoPercentual": 100.5}, "valorDescontoPercentual"),
        ({"aliquotaIPI": 101}, "aliquotaIPI"),
    ],
)
def test_products_with_wrong_figures_are_refused(
    http: httpx.Client, product: dict[str, Any], key: str
) -> None:
    refused = http.post(ORDERS, json=order(http, produtos=[PRODUCT, PRODUCT | product]))
    assert f"produtos.1.{key}" in keys(refused)


@pytest.mark.parametrize("moment", ["9999-12-31", "0001-01-01"])
def test_a_date_that_no_due_date_can_follow_is_refused(http: httpx.Client, moment: str) -> None:
    assert keys(http.post(ORDERS, json=order(http, dataDaOrdem=moment))) == ["dataDaOrdem"]


def test_fields_set_by_the_system_are_ignored_in_requests(http: httpx.Client) -> None:
    sales_order = registered(
        http, numeroDoPedido=7, idNF=7, processado=True, pendente=False, cancelado=True
    )
    assert sales_order["numeroDoPedido"] != 7
    assert sales_order["idNF"] is None
    assert (sales_order["pendente"], sales_order["processado"], sales_order["cancelado"]) == (
        True,
        False,
        False,
    )


def test_an_order_is_processed_once_however_many_try(http: httpx.Client) -> None:
    client = new_client(http)
    number = registered(http, codigoDoCliente=client, quantidadeDeParcelas=3)["numeroDoPedido"]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: processed(http, number), range(8)))
    assert sorted(answer.status_code for answer in answers) == [200] + [400] * 7
    titles = http.get("/v2/financeiro/contasreceber", params={"codigoDoCliente": client}).json()
    assert len(titles["data"]) == 3


def test_processing_moves_the_last_update(start: Start) -> None:
    with log_in(start("--seed", "demo")) as http:
        sales_order = demo_order(http, client_active=True, pendente=True)
        after = data_of(processed(http, sales_order["numeroDoPedido"]))
        assert after["ultimaAtualizacao"] > sales_order["ultimaAtualizacao"]
        assert after["dataDeProcessamento"] == after["ultimaAtualizacao"]
        day = datetime.fromisoformat(after["ultimaAtualizacao"]).strftime("%d/%m/%Y")
        moved = http.get(ORDERS, params={"dataInferior": day}).json(parse_float=Decimal)["data"]
        assert moved == [after]
        invoice = http.get(f"/v2/faturamento/nfe/{after['idNF']}").json()["data"]
        assert invoice["numeroDoPedido"] == sales_order["numeroDoPedido"]
        before = http.get(ORDERS, params=SOME_WEEKS).json()["data"]
        assert sales_order["numeroDoPedido"] not in {left["numeroDoPedido"] for left in before}


@pytest.mark.parametrize("state", ["cancelado", "processado"])
def test_an_order_that_is_not_pending_is_not_processed(http: httpx.Client, state: str) -> None:
    sales_order = demo_order(http, client_active=True, **{state: True})
    assert keys(processed(http, sales_order["numeroDoPedido"])) == ["numeroPedido"]


def test_a_refused_processing_leaves_the_order_as_it_was(http: httpx.Client) -> None:
    sales_order = demo_order(http, client_active=False, pendente=True)
    assert keys(processed(http, sales_order["numeroDoPedido"])) == ["codigoDoCliente"]
    assert demo_order(http, client_active=False, pendente=True) == sales_order
    titles = {"codigoDoCliente": sales_order["codigoDoCliente"]}
    listed = http.get("/v2/financeiro/contasreceber", params=titles).json()["data"]
    assert f"PV-{sales_order['numeroDoPedido']:06}/1" not in {
        t["numeroDoDocumento"] for t in listed
    }
