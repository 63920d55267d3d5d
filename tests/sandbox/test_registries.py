"""Registries: unique generated codes, immediate use of new ones."""

from typing import Any

import httpx
import pytest
from servers import Start, log_in

CODE_LISTS = {
    "/v2/tipo-de-produto": ("codigoDoTipoDeProduto", "descricaoDoTipoDeProduto"),
    "/v2/tipocliente": ("codigoDoTipoDeCliente", "descricaoDoTipoDeCliente"),
    "/v2/categoriacliente": ("codigoDaCategoriaDeCliente", "descricaoDaCategoriaDeCliente"),
}


def created(http: httpx.Client, path: str, **fields: object) -> dict[str, Any]:
    answer = http.post(path, json=fields)
    assert answer.status_code == 200, answer.text
    data: dict[str, Any] = answer.json()["data"]
    return data


@pytest.mark.parametrize("path", CODE_LISTS)
def test_a_generated_code_skips_existing_ones(http: httpx.Client, path: str) -> None:
    code, name = CODE_LISTS[path]
    first = created(http, path, **{name: "Um"})[code]
    chosen = created(http, path, **{code: first + 2, name: "Dois"})[code]
    generated = [created(http, path, **{code: 0, name: "Três"})[code] for _ in range(3)]
    assert generated == [first + 1, first + 3, first + 4]
    codes = [entry[code] for entry in http.get(path).json()["data"]]
    assert {first, chosen, *generated} <= set(codes)
    assert codes == sorted(set(codes))


@pytest.mark.parametrize(
    ("path", "fields", "key"),
    [
        *(
            (path, {code: -1, name: "X"}, code)
            for path, (code, name) in CODE_LISTS.items()
        ),
        *((path, {name: "  "}, name) for path, (_, name) in CODE_LISTS.items()),
        ("/v2/tipocliente", {"codigoDoTipoDeCliente": "1", "descricaoDoTipoDeCliente": "X"},
         "codigoDoTipoDeCliente"),
        ("/v2/centrodecusto", {"codigoDoCentroDeCusto": " ", "descricaoDoCentroDeCusto": "X"},
         "codigoDoCentroDeCusto"),
        ("/v2/centrodecusto", {"codigoDoCentroDeCusto": 3, "descricaoDoCentroDeCusto": "X"},
         "codigoDoCentroDeCusto"),
        ("/v2/fornecedor", {"nomeComercial": "X", "natureza": "Z"}, "natureza"),
        ("/v2/fornecedor", {"nomeComercial": "X", "cnpj": "123"}, "cnpj"),
        ("/v2/produto", {"descricaoDoProduto": "X", "codigoInterno": " "}, "codigoInterno"),
        ("/v2/produto", {"descricaoDoProduto": "X", "valorUnitario": 0.0000001}, "valorUnitario"),
        ("/v2/produto", {"descricaoDoProduto": "X", "PesoBruto": -0.1}, "PesoBruto"),
        ("/v2/produto", {"descricaoDoProduto": "X", "Altura": 20}, "Altura"),
    ],
)  # fmt: skip
def test_a_bad_field_returns_400_with_its_name(
    http: httpx.Client, path: str, fields: dict[str, object], key: str
) -> None:
    refused = http.post(path, json=fields)
    assert refused.status_code == 400, refused.text
    assert [error["key"] for error in refused.json()["errors"]] == [key]


def test_a_new_code_can_be_used_immediately(http: httpx.Client) -> None:
    kind = created(http, "/v2/tipocliente", descricaoDoTipoDeCliente="Franquia")
    client = created(http, "/v2/cliente", nomeComercial="Franqueado", **_code_of(kind))
    assert client["codigoDoTipoDeCliente"] == kind["codigoDoTipoDeCliente"]

    kind = created(http, "/v2/tipo-de-produto", descricaoDoTipoDeProduto="Embalagem")
    product = created(http, "/v2/produto", descricaoDoProduto="Caixa", **_code_of(kind))
    assert product["codigoDoTipoDeProduto"] == kind["codigoDoTipoDeProduto"]
    balance = http.get(f"/v2/estoque/produto/{product['idProduto']}").json()["data"]
    assert (balance["idProd"], balance["quantidadeTotal"]) == (product["idProduto"], 0)

    supplier = created(http, "/v2/fornecedor", nomeComercial="Nova Fornecedora")
    centre = created(
        http,
        "/v2/centrodecusto",
        codigoDoCentroDeCusto="09.001",
        descricaoDoCentroDeCusto="Projetos",
    )
    title = created(
        http,
        "/v2/financeiro/contaspagar",
        codigoDaFilial=1,
        codigoDoItemDeLancamento="2.01.001",
        codigoDaContaCorrente=1,
        historico="Primeira compra",
        **_code_of(supplier),
        **_code_of(centre),
    )
    assert title["codigoDoFornecedor"] == supplier["codigoDoFornecedor"]


def test_an_inactive_supplier_gets_no_title(http: httpx.Client) -> None:
    supplier = created(http, "/v2/fornecedor", nomeComercial="Parada Ltda", ativo=False)
    refused = http.post(
        "/v2/financeiro/contaspagar",
        json={
            "codigoDaFilial": 1,
            "codigoDoItemDeLancamento": "2.01.001",
            "codigoDoCentroDeCusto": "01.001",
            "codigoDaContaCorrente": 1,
            "historico": "x",
            **_code_of(supplier),
        },
    )
    assert refused.status_code == 400
    assert [error["key"] for error in refused.json()["errors"]] == ["codigoDoFornecedor"]


def test_a_contact_may_be_of_an_inactive_client(http: httpx.Client) -> None:
    listed = http.get("/v2/cliente").json()["data"]
    inactive = next(client["codigoDoCliente"] for client in listed if not client["ativo"])
    contact = created(http, "/v2/clientecontato", codigoDoCliente=inactive, nome="Antigo")
    path = f"/v2/clientecontato/{inactive}/{contact['seqContato']}"
    assert http.get(path).json()["data"] == contact


def test_the_supporting_registries_exist_without_the_demo(start: Start) -> None:
    with log_in(start("--seed", "empty")) as http:
        for path in (*CODE_LISTS, "/v2/centrodecusto", "/v2/fornecedor"):
            assert http.get(path).json()["data"], path
        assert http.get("/v2/produto").json()["data"] == []
        assert created(http, "/v2/produto", descricaoDoProduto="Primeiro")["idProduto"] > 0


def _code_of(entry: dict[str, Any]) -> dict[str, Any]:
    name = next(name for name in entry if name.startswith("codigo"))
    return {name: entry[name]}
