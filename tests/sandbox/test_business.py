"""The sandbox does what a business would: goods, documents and numbers fit one another."""

from datetime import date, datetime, timedelta
from itertools import count
from typing import Any

import httpx
from workbooks import upload

_articles = count(1)


def data_of(answer: httpx.Response) -> Any:
    assert answer.status_code == 200, answer.text
    return answer.json()["data"]


def refused_keys(answer: httpx.Response) -> list[str]:
    assert answer.status_code == 400, answer.text
    return [error["key"] for error in answer.json()["errors"]]


def new_product(http: httpx.Client, **fields: object) -> int:
    content = {"descricaoDoProduto": "Artigo", "valorUnitario": 10, "codigoDaUnidadeDeMedida": 1}
    content |= {"codigoInterno": f"ART-{next(_articles)}"}
    number: int = data_of(http.post("/v2/produto", json=content | fields))["idProduto"]
    return number


def enter(http: httpx.Client, product: int, day: date, quantity: int) -> dict[str, Any]:
    entry = {"codigoDaFilial": 1, "idProd": product, "quantidade": quantity}
    entry |= {"dataDaEntrada": day.isoformat(), "valorUnitario": 2}
    entered: dict[str, Any] = data_of(http.post("/v2/estoque/entrada", json=entry))
    return entered


def in_stock(http: httpx.Client, product: int) -> float:
    amount: float = data_of(http.get(f"/v2/estoque/produto/{product}"))["quantidadeTotal"]
    return amount


def hand_out(http: httpx.Client, product: int, quantity: int, **fields: object) -> httpx.Response:
    output = {"codigoDaFilial": 1, "idProd": product, "quantidade": quantity}
    return http.post("/v2/estoque/saida", json=output | fields)


def test_an_entry_dated_in_the_future_does_not_count_today(http: httpx.Client) -> None:
    product, today = new_product(http), datetime.now().date()
    enter(http, product, today, 3)
    enter(http, product, today + timedelta(days=2), 40)
    assert in_stock(http, product) == 3
    of_branch = data_of(http.get("/v2/estoque/filial/1"))
    held = [row["quantidadeTotal"] for row in of_branch if row["idProd"] == product]
    assert sum(held) == 3
    assert refused_keys(hand_out(http, product, 4)) == ["quantidade"]
    assert hand_out(http, product, 3).status_code == 200


def test_the_history_of_a_product_is_in_the_order_of_its_dates(http: httpx.Client) -> None:
    product, today = new_product(http), datetime.now().date()
    for days_ago in (3, 40, 0, 12):
        enter(http, product, today - timedelta(days=days_ago), 5)
    assert data_of(hand_out(http, product, 1))["ultimaMovimentacao"]
    history = data_of(http.get(f"/v2/estoque/movimentacoes/produto/{product}"))
    dates = [row["dataDaMovimentacao"] for row in history]
    assert dates == sorted(dates)


def test_a_warehouse_has_one_open_inventory(http: httpx.Client) -> None:
    place = {"codigoDaFilial": 3, "codigoDoAlmoxarifado": 2}
    number = data_of(http.post("/v2/estoque/inventario", json=place))["idInventario"]
    again = http.post("/v2/estoque/inventario", json=place)
    assert refused_keys(again) == ["codigoDoAlmoxarifado"]
    closed = data_of(http.post(f"/v2/estoque/inventario/{number}/encerrar"))
    assert (closed["encerrado"], closed["podeEncerrar"]) == (True, False)
    number = data_of(http.post("/v2/estoque/inventario", json=place))["idInventario"]
    assert http.post(f"/v2/estoque/inventario/{number}/encerrar").status_code == 200


def test_a_quantity_is_in_the_unit_of_its_product(http: httpx.Client) -> None:
    product = new_product(http, codigoDaUnidadeDeMedida=2)
    enter(http, product, datetime.now().date(), 9)
    refused = hand_out(http, product, 1, codigoDaUnidadeDeMedida=3)
    assert refused_keys(refused) == ["codigoDaUnidadeDeMedida"]
    out = data_of(hand_out(http, product, 1, codigoDaUnidadeDeMedida=2))
    assert out["simboloDaUnidadeDeMedida"] == "CX"
    change = {"numeroDaSaida": out["numeroDaSaida"], "codigoDaFilial": 1, "quantidade": 1}
    altered = http.put("/v2/estoque/saida", json=change | {"codigoDaUnidadeDeMedida": 3})
    assert refused_keys(altered) == ["codigoDaUnidadeDeMedida"]


def test_an_imported_address_takes_the_place_of_the_one_that_was_there(http: httpx.Client) -> None:
    header = ["codigoDaFilial", "codigoDoAlmoxarifado", "codigoDaSecao", "idProd", "ativo"]
    product = new_product(http)
    for active in (True, False):
        files = upload([header, [2, 2, "C-07", product, active]])
        path = "/v2/sistema/importacao/enderecamento-de-produto"
        assert http.post(path, files=files).status_code == 200
        addresses = data_of(http.get("/v2/estoque/produto/mapeamento"))
        (own,) = [address for address in addresses if address["idProd"] == product]
        assert (own["codigoDaSecao"], own["ativo"]) == ("C-07", active)
