"""Limits and spelling of numbers, texts and dates in requests.

Inside: sandbox.
"""

import json
from collections.abc import Iterator
from typing import Any, get_args, get_origin

import httpx
import pytest

from xlbridge.resources import Catalogue
from xlbridge.sandbox.area_declarations import plain_type
from xlbridge.wire import MAX_LENGTHS, OPERATIONS, WireModel

PARTY = {"nomeComercial": "Empório da Praça"}
TITLE = {
    "codigoDaFilial": 1,
    "codigoDoFornecedor": 501,
    "codigoDoItemDeLancamento": "2.01.001",
    "codigoDoCentroDeCusto": "01.001",
    "codigoDaContaCorrente": 1,
    "historico": "Aluguel",
}


def texts_of(model: type[WireModel]) -> Iterator[str]:
    for name, field in model.model_fields.items():
        kind = plain_type(field.annotation)
        item = plain_type(get_args(kind)[0]) if get_origin(kind) is list else kind
        if isinstance(item, type) and issubclass(item, WireModel):
            yield from texts_of(item)
        elif item is str:
            yield name


def test_every_text_in_a_request_has_a_maximum_length() -> None:
    sent = [m for o in OPERATIONS.values() for m in (o.body, o.query) if m is not None]
    names = {name for model in sent for name in texts_of(model)}
    assert names == set(MAX_LENGTHS)


def test_no_sheet_may_hold_a_longer_text_than_a_request(catalogue: Catalogue) -> None:
    compared = 0
    for resource in catalogue.values():
        for column in resource.columns:
            bounds = column.checks.get("str_length")
            # The column that joins sheets is not sent.
            if bounds is not None and column.name != "chave":
                assert bounds["max_value"] <= MAX_LENGTHS[column.name], column.name
                compared += 1
    assert compared


def refused_keys(http: httpx.Client, path: str, body: object) -> list[str]:
    content = body if isinstance(body, (bytes, str)) else json.dumps(body)
    answer = http.post(path, content=content)
    assert answer.status_code == 400, answer.text
    return [error["key"] for error in answer.json()["errors"]]


@pytest.mark.parametrize(
    ("path", "body", "keys"),
    [
        ("/v2/cliente", {"nomeComercial": " \t "}, ["nomeComercial"]),
        ("/v2/cliente", {"NomeComercial": "\u00a0"}, ["nomeComercial"]),
        ("/v2/clientecontato", {"codigoDoCliente": 1001, "nome": " "}, ["nome"]),
        ("/v2/tipo-de-produto", {"descricaoDoTipoDeProduto": ""}, ["descricaoDoTipoDeProduto"]),
        ("/v2/produto", {"descricaoDoProduto": "  "}, ["descricaoDoProduto"]),
        ("/v2/financeiro/contaspagar", TITLE | {"historico": " "}, ["historico"]),
        (
            "/v2/centrodecusto",
            {"codigoDoCentroDeCusto": "", "descricaoDoCentroDeCusto": " "},
            ["codigoDoCentroDeCusto", "descricaoDoCentroDeCusto"],
        ),
    ],
)
def test_a_required_text_of_blanks_counts_as_missing(
    http: httpx.Client, path: str, body: dict[str, Any], keys: list[str]
) -> None:
    assert refused_keys(http, path, body) == keys


@pytest.mark.parametrize(
    ("field", "length"),
    [("nomeComercial", 150), ("seuCodigo", 60), ("telefone", 30), ("email", 150)],
)
def test_a_text_has_a_maximum_length(http: httpx.Client, field: str, length: int) -> None:
    assert http.post("/v2/cliente", json=PARTY | {field: "ç" * length}).status_code == 200
    assert refused_keys(http, "/v2/cliente", PARTY | {field: "ç" * (length + 1)}) == [field]


def test_the_allowed_values_are_listed_in_portuguese(http: httpx.Client) -> None:
    refused = http.post("/v2/cliente", json=PARTY | {"natureza": "Z"})
    [error] = refused.json()["errors"]
    assert error["value"] == "Valor inválido: não é um dos permitidos ('J' ou 'F')."


def test_a_text_in_a_list_has_a_maximum_length(http: httpx.Client) -> None:
    item = {"idProduto": 0, "descricaoDoProduto": "x" * 151, "quantidade": 1}
    body = {
        "codigoDaFilial": 1, "codigoDoTipoDeCompra": 1, "codigoDoColaborador": 1, "itens": [item],
    }  # fmt: skip
    assert refused_keys(http, "/v2/compras/requisicao", body) == ["itens.0.descricaoDoProduto"]


def test_a_text_in_the_query_has_a_maximum_length(http: httpx.Client) -> None:
    answer = http.get("/v2/cliente", params={"idws": "x" * 61})
    assert (answer.status_code, answer.json()) == (400, "Parâmetro inválido: idws")


@pytest.mark.parametrize(
    "number",
    ["1e99999999999999999999", "-1e-99999999999999999999", "1e999999", "1e400", "-1e12"],
)
def test_a_number_beyond_all_bounds_is_refused(http: httpx.Client, number: str) -> None:
    body = json.dumps(TITLE)[:-1] + f', "valorDoLancamento": {number}}}'
    assert refused_keys(http, "/v2/financeiro/contaspagar", body) in (
        ["valorDoLancamento"],
        ["body"],
    )


def test_a_number_is_kept_as_it_is_or_refused(http: httpx.Client) -> None:
    order = {"codigoDaFilial": 1, "codigoDoCliente": 1001, "parcelas": [{"valor": 10}]}
    kept = http.post("/v2/faturamento/pedido", json=order | {"transportadoraPesoBruto": 0.000001})
    assert kept.json()["data"]["transportadoraPesoBruto"] == 0.000001
    too_fine = order | {"transportadoraPesoBruto": 0.0000001}
    assert refused_keys(http, "/v2/faturamento/pedido", too_fine) == ["transportadoraPesoBruto"]


@pytest.mark.parametrize(
    "date",
    [
        "0001-01-01", "1899-12-31", "3000-01-01", "9999-12-31T23:59:59", "20261031", "1793404800",
        "2026-10-31T25:00:00", "2026-W44-6", "2026-10", " 2026-10-31", "٢٠٢٦-10-31",
    ],
)  # fmt: skip
def test_a_date_is_iso_8601_and_of_a_business(http: httpx.Client, date: str) -> None:
    body = TITLE | {"dataDeVencimento": date}
    assert refused_keys(http, "/v2/financeiro/contaspagar", body) == ["dataDeVencimento"]


@pytest.mark.parametrize(
    "date",
    ["2026-10-31", "2026-10-31T00:00", "2026-10-31T00:00:00.0000000", "2026-10-31T00:00:00-03:00"],
)
def test_iso_8601_has_many_spellings(http: httpx.Client, date: str) -> None:
    answer = http.post("/v2/financeiro/contaspagar", json=TITLE | {"dataDeVencimento": date})
    assert answer.json()["data"]["dataDeVencimento"] == "2026-10-31T00:00:00"


@pytest.mark.parametrize("code", ["2_001", "+2001", "2001.0", " 2001", "²", "٢٠٠١", "9" * 5_000])
def test_a_number_in_the_path_is_written_in_plain_digits(http: httpx.Client, code: str) -> None:
    answer = http.get(f"/v2/estoque/produto/{code}")
    assert (answer.status_code, answer.json()) == (400, "Parâmetro inválido: id")


@pytest.mark.parametrize("code", ["1_001", "1001.0", "+1001", "9" * 5_000])
def test_a_number_in_the_query_is_written_in_plain_digits(http: httpx.Client, code: str) -> None:
    answer = http.get("/v2/financeiro/contasreceber", params={"codigoDoCliente": code})
    assert (answer.status_code, answer.json()) == (400, "Parâmetro inválido: codigoDoCliente")


@pytest.mark.parametrize(
    ("text", "status"),
    [("true", 200), ("False", 200), ("", 200), ("1", 400), ("yes", 400), ("verdadeiro", 400)],
)
def test_a_boolean_in_the_query_is_true_or_false(
    http: httpx.Client, text: str, status: int
) -> None:
    path = "/v2/compras/gerenciamento/motivo"
    assert http.get(path, params={"somenteAtivos": text}).status_code == status


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("31/12/9999", 200), ("31/12/9999 23:59", 200), ("01/01/0001", 200),
        (" 1/02/2025", 400), ("1/02/2025", 400), ("01/02/25", 400), ("00/01/2025", 400),
        ("01/02/2025 24:00", 400), ("01/02/2025T10:00", 400), ("٠١/02/2025", 400),
    ],
)  # fmt: skip
def test_a_day_in_the_query(http: httpx.Client, text: str, status: int) -> None:
    answer = http.get("/v2/faturamento/pedido", params={"dataSuperior": text, "qtde": 1})
    assert answer.status_code == status, answer.text


def test_the_last_nonblank_value_of_a_repeated_parameter_counts(http: httpx.Client) -> None:
    listing = "/v2/faturamento/pedido"
    day = {"dataInferior": "01/06/2025", "qtde": 3}
    whole = http.get(listing, params=day | {"dataSuperior": "30/06/2025"}).json()
    repeated = http.get(listing, params=day | {"dataSuperior": ["01/01/1999", "30/06/2025", ""]})
    assert whole["data"]
    assert repeated.json() == whole


@pytest.mark.parametrize(
    "header",
    [
        "text/plain", "application/xml", "multipart/form-data; boundary=x", "?",
        "application/x-www-form-urlencoded",
    ],
)  # fmt: skip
def test_a_body_that_is_declared_as_something_else_is_refused(
    http: httpx.Client, header: str
) -> None:
    answer = http.post("/v2/cliente", content=json.dumps(PARTY), headers={"Content-Type": header})
    assert answer.status_code == 400
    assert [error["key"] for error in answer.json()["errors"]] == ["Content-Type"]


@pytest.mark.parametrize(
    "header", ["application/json", "Application/JSON; charset=utf-8", "application/vnd.api+json"]
)
def test_a_body_that_is_declared_as_json_is_read(http: httpx.Client, header: str) -> None:
    answer = http.post("/v2/cliente", content=json.dumps(PARTY), headers={"Content-Type": header})
    assert answer.status_code == 200


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "PATCH", "TRACE", "DELETE", "QUERY"])
@pytest.mark.parametrize(
    ("path", "allowed"),
    [("/v2/cliente", "GET, POST"), ("/v2/autenticar", "POST"), ("/openapi.json", "GET, HEAD")],
)
def test_another_method_returns_405_with_the_allowed_ones(
    http: httpx.Client, method: str, path: str, allowed: str
) -> None:
    answer = http.request(method, path)
    if method in allowed:
        assert answer.status_code == 200
    else:
        assert (answer.status_code, answer.headers["Allow"]) == (405, allowed)
        assert method == "HEAD" or answer.json()["success"] is False


@pytest.mark.parametrize("path", ["/v2/cliente/", "//v2/cliente", "/v2/Cliente", "/v2", "/"])
def test_a_path_must_match_exactly(http: httpx.Client, path: str) -> None:
    answer = http.get(httpx.URL(f"{str(http.base_url).rstrip('/')}{path}"))
    assert answer.status_code == 404
    assert answer.json()["success"] is False


def test_an_identifier_belongs_to_one_client(http: httpx.Client) -> None:
    codes = [
        http.post("/v2/cliente", json=PARTY).json()["data"]["codigoDoCliente"] for _ in range(2)
    ]
    first, second = ({"codigoDoCliente": code, "idws": "ERP-único"} for code in codes)
    for _ in range(2):
        assert http.put("/v2/cliente/idws", json=first).status_code == 200
    refused = http.put("/v2/cliente/idws", json=second)
    assert refused.status_code == 400
    assert refused.json()["errors"][0]["key"] == "idws"
    assert (
        http.get("/v2/cliente", params={"idws": "ERP-único"}).json()["data"]["codigoDoCliente"]
        == first["codigoDoCliente"]
    )


def test_an_order_must_refer_to_an_existing_stock_requisition(http: httpx.Client) -> None:
    pending = http.get("/v2/estoque/requisicao/pendentes", params={"filial": 1}).json()["data"]
    order = {
        "codigoDaFilial": 1, "codigoDoTipoDeCompra": 1, "codigoDoColaborador": 1,
        "itens": [{"idProduto": 2001, "quantidade": 1}],
    }  # fmt: skip
    known = {"NumeroDaRequisicaoDeEstoque": pending[0]["numeroDaRequisicao"]}
    assert http.post("/v2/compras/ordem", json=order | known).status_code == 200
    unknown = {"NumeroDaRequisicaoDeEstoque": 999_999}
    assert refused_keys(http, "/v2/compras/ordem", order | unknown) == [*unknown]
