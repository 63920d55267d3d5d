"""Business rules of the sandbox: goods, documents and amounts."""

from datetime import date, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest
from environment import Xlbridge, credentials
from stdnum.br import cnpj
from workbooks import upload

from xlbridge.sandbox import RunningSandbox

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


def test_an_imported_address_replaces_an_existing_one(http: httpx.Client) -> None:
    header = ["codigoDaFilial", "codigoDoAlmoxarifado", "codigoDaSecao", "idProd", "ativo"]
    product = new_product(http)
    for active in (True, False):
        files = upload([header, [2, 2, "C-07", product, active]])
        path = "/v2/sistema/importacao/enderecamento-de-produto"
        assert http.post(path, files=files).status_code == 200
        addresses = data_of(http.get("/v2/estoque/produto/mapeamento"))
        (found,) = [address for address in addresses if address["idProd"] == product]
        assert (found["codigoDaSecao"], found["ativo"]) == ("C-07", active)


ORDERS = "/v2/faturamento/pedido"


def new_client(http: httpx.Client) -> int:
    number: int = data_of(http.post("/v2/cliente", json={"nomeComercial": "Freguês"}))[
        "codigoDoCliente"
    ]
    return number


def order_of(http: httpx.Client, *products: dict[str, Any], **fields: object) -> httpx.Response:
    content = {"codigoDaFilial": 1, "codigoDoCliente": new_client(http), "produtos": products}
    return http.post(ORDERS, json=content | fields)


def test_a_service_invoice_is_changed_by_a_post_under_its_id(http: httpx.Client) -> None:
    content = {"codigoDaFilial": 1, "codigoDoCliente": new_client(http)}
    content |= {"codigoDoServicoPrestado": "14.01", "valorDoServico": 100}
    path = "/v2/faturamento/nfse"
    number = data_of(http.post(path, json=content))["idNF"]
    changed = data_of(http.post(f"{path}/{number}", json=content | {"valorDoServico": 250.5}))
    assert (changed["idNF"], changed["valorDoServico"]) == (number, 250.5)
    assert data_of(http.get(f"{path}/{number}")) == changed
    assert http.post(f"{path}/999999", json=content).status_code == 404


@pytest.mark.parametrize("price", [0.0125, 1.234567])
def test_unit_prices_keep_their_decimals(http: httpx.Client, price: float) -> None:
    product = new_product(http, valorUnitario=price)
    assert data_of(http.get(f"/v2/produto/{product}"))["valorUnitario"] == price
    (sold,) = data_of(order_of(http, {"idProduto": product, "quantidade": 8000}))["produtos"]
    assert sold["valorUnitario"] == price
    item = {"idProduto": product, "quantidade": 8000, "valorUnitario": price}
    bought = {"codigoDaFilial": 1, "codigoDoFornecedor": 502, "itens": [item]}
    number = data_of(http.post("/v2/compras/pedido", json=bought))["payload"]["numeroPedido"]
    (line,) = data_of(http.get(f"/v2/compras/pedido/{number}"))["itens"]
    assert (line["valorUnitario"], line["valorTotal"]) == (price, round(8000 * price, 2))


@pytest.mark.parametrize(
    ("price", "terms", "key"),
    [
        pytest.param(0.02, {"quantidadeDeParcelas": 3}, "quantidadeDeParcelas", id="equal"),
        pytest.param(
            0.02,
            {"parcelas": [{"percentual": 20}, {"percentual": 80}]},
            "parcelas.0.percentual",
            id="percentage",
        ),
        pytest.param(
            5, {"parcelas": [{"valor": 0}, {"valor": 5}]}, "parcelas.0.valor", id="amount"
        ),
        pytest.param(
            5,
            {"parcelas": [{"valor": 3, "percentual": 50}, {"valor": 2, "percentual": 40}]},
            "parcelas",
            id="percentages-and-amounts",
        ),
    ],
)
def test_instalments_are_positive_and_percentages_add_up(
    http: httpx.Client, price: float, terms: dict[str, Any], key: str
) -> None:
    product = {"idProduto": 2001, "quantidade": 1, "valorUnitario": price}
    assert key in refused_keys(order_of(http, product, **terms))


def test_free_order_has_no_instalments(http: httpx.Client) -> None:
    sample = {"idProduto": 2001, "quantidade": 1, "valorUnitario": 0}
    order = data_of(order_of(http, sample))
    assert (order["parcelas"], order["quantidadeDeParcelas"]) == ([], 0)
    processed = data_of(http.post(f"{ORDERS}/processar/{order['numeroDoPedido']}"))
    assert processed["idNF"] is not None


def test_an_invoice_agrees_with_its_orders_instalments_and_taxes(http: httpx.Client) -> None:
    first = {"idProduto": 2001, "quantidade": 3, "valorUnitario": 33.333333, "valorFrete": 1.25}
    first |= {"aliquotaIPI": 5, "aliquotaICMS": 18, "valorDesconto": 4}
    second = {"idProduto": 2002, "quantidade": 2, "valorUnitario": 10, "aliquotaICMSST": 3}
    second |= {"valorSeguro": 0.5, "valorOutros": 0.75, "valorAcrescimo": 2, "aliquotaICMS": 12}
    order = data_of(order_of(http, first, second, quantidadeDeParcelas=3))
    number = data_of(http.post(f"{ORDERS}/processar/{order['numeroDoPedido']}"))["idNF"]
    invoice = data_of(http.get(f"/v2/faturamento/nfe/{number}"))
    total = round(sum(part["valor"] for part in order["parcelas"]), 2)
    assert invoice["valorTotal"] == total
    added = ("valorFrete", "valorSeguro", "valorOutros", "valorAcrescimo", "valorIPI")
    parts = sum(invoice[name] for name in (*added, "valorICMSST")) - invoice["valorDesconto"]
    assert round(invoice["valorDosProdutos"] + parts, 2) == total
    for name in ("baseICMS", "valorICMS", "valorIPI", "valorICMSST"):
        assert invoice[name] == round(sum(line[name] for line in order["produtos"]), 2)


def test_the_total_of_an_invoice_without_an_order_is_that_of_its_products(
    http: httpx.Client,
) -> None:
    content = {"codigoDaFilial": 1, "codigoDaNotaFiscal": 1, "tipoDeOperacao": "Saída"}
    content |= {"naturezaDaOperacao": "Venda", "codigoDaFormaDePagamento": 1, "cep": "01310-100"}
    content |= {"codigoDoCliente": new_client(http), "nomeDoCliente": "Freguês"}
    product = {"idProduto": 2001, "quantidade": 3, "valorUnitario": 1.335}
    invoice = data_of(http.post("/v2/faturamento/nfe", json=content | {"produtos": [product]}))
    assert (invoice["valorDosProdutos"], invoice["valorTotal"]) == (4.0, 4.0)
    assert (invoice["valorIPI"], invoice["valorDesconto"]) == (0, 0)


def request_goods(http: httpx.Client, *items: dict[str, Any]) -> dict[str, Any]:
    header = {"codigoDaFilial": 1, "codigoDoTipoDeCompra": 1, "codigoDoColaborador": 1}
    requisition: dict[str, Any] = data_of(
        http.post("/v2/compras/requisicao", json=header | {"itens": items})
    )
    return requisition


def order_goods(http: httpx.Client, requisition: int, *items: dict[str, Any]) -> httpx.Response:
    header = {"codigoDaFilial": 1, "codigoDoTipoDeCompra": 1, "codigoDoColaborador": 1}
    origin = {"NumeroDaRequisicaoDeCompra": requisition}
    return http.post("/v2/compras/ordem", json=header | origin | {"itens": items})


def test_an_order_may_only_have_items_of_its_requisition(http: httpx.Client) -> None:
    wire = {"idProduto": 0, "descricaoDoProduto": "Fio de prumo", "quantidade": 2}
    requisition = request_goods(http, {"idProduto": 2001, "quantidade": 5}, wire)
    number = requisition["numeroDaRequisicao"]
    other, more = {"idProduto": 2002, "quantidade": 1}, {"idProduto": 2001, "quantidade": 6}
    assert refused_keys(order_goods(http, number, other)) == ["itens.0.idProduto"]
    assert refused_keys(order_goods(http, number, wire, more)) == ["itens.1.quantidade"]
    twice = {"idProduto": 2001, "quantidade": 3}
    assert refused_keys(order_goods(http, number, twice, twice)) == ["itens.1.quantidade"]
    assert not data_of(http.get(f"/v2/compras/requisicao/{number}"))["encerrada"]
    order = data_of(order_goods(http, number, {"idProduto": 2001, "quantidade": 4}))
    closed = data_of(http.get(f"/v2/compras/requisicao/{number}"))
    assert closed["encerrada"]
    assert [item["quantidadeAprovada"] for item in closed["itens"]] == [4, 0]
    bought = {"codigoDaFilial": 1, "codigoDoFornecedor": 502}
    bought |= {"numeroDaOrdem": order["numeroDaOrdem"]}
    item = {"idProduto": 2002, "quantidade": 1, "valorUnitario": 1}
    refused = data_of(http.post("/v2/compras/pedido", json=bought | {"itens": [item]}))
    assert [item["key"] for item in refused["notifications"]] == ["itens.0.idProduto"]


def test_demo_suppliers_have_valid_unique_documents(http: httpx.Client) -> None:
    listed = data_of(http.get("/v2/fornecedor"))
    seeded = [supplier for supplier in listed if supplier["codigoDoFornecedor"] <= 506]
    assert len({supplier["cnpjcpf"] for supplier in seeded}) == len(seeded) == 6
    assert all(cnpj.is_valid(supplier["cnpjcpf"]) for supplier in seeded)


def test_attachments_are_downloaded_from_the_sandbox_itself(
    http: httpx.Client, server: RunningSandbox
) -> None:
    (bill,) = data_of(http.get("/v2/financeiro/contaspagar/2025/1/1/1"))["Arquivos"]
    closed = data_of(http.get("/v2/compras/pedido/encerrados"))[0]["numeroPedido"]
    (invoice,) = data_of(http.get(f"/v2/compras/pedido/{closed}"))["ArquivosNotasFiscais"]
    for file, beginning in ((bill, b"%PDF-"), (invoice, b"<?xml")):
        assert file["Url"].startswith(f"{server.base_url}/arquivos/")
        got = httpx.get(file["Url"])
        assert got.status_code == 200
        assert got.content.startswith(beginning)
        assert httpx.get(file["Url"][:-1] + "x").status_code == 404
        assert httpx.get(file["Url"].partition("?")[0]).status_code == 404


def test_an_export_with_attachments_has_them(
    server: RunningSandbox, xlbridge: Xlbridge, tmp_path: Path
) -> None:
    folder = tmp_path / "files"
    options = ("-o", tmp_path / "pagar.xlsx", "--attachments", folder)
    ended = xlbridge("export", "contaspagar-baixados", *options, **credentials(server))
    assert ended.returncode == 0, ended.stderr
    files = sorted(folder.iterdir())
    assert f"{len(files)} attachments downloaded." in ended.stdout + ended.stderr
    assert all(file.read_bytes().startswith(b"%PDF-") for file in files)
