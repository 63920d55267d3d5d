"""Invoices: pending, emitted once, with unique numbers and keys."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from itertools import pairwise
from typing import Any

import httpx
import pytest
from servers import Start, log_in
from workbooks import upload

from xlbridge.resources.checks import mod11_digit

WEIGHTS = (4, 3, 2, 9, 8, 7, 6, 5)
"""Weights of the first 43 digits of a key, from the left; they repeat."""


def product_invoice(client: int, **fields: Any) -> dict[str, Any]:
    return {
        "codigoDaFilial": 1,
        "codigoDaNotaFiscal": 1,
        "tipoDeOperacao": "Saída",
        "naturezaDaOperacao": "Venda",
        "codigoDaFormaDePagamento": 1,
        "codigoDoCliente": client,
        "nomeDoCliente": "Cliente",
        "cep": "01310-100",
        **fields,
    }


def service_invoice(client: int, **fields: Any) -> dict[str, Any]:
    return {
        "codigoDaFilial": 1,
        "codigoDoCliente": client,
        "codigoDoServicoPrestado": "14.01",
        "valorDoServico": 100,
        **fields,
    }


KINDS = pytest.mark.parametrize(
    ("create", "process", "show", "content"),
    [
        pytest.param("nfe", "nfe/processar", "nfe", product_invoice, id="nfe"),
        pytest.param("nfs", "nfs/processar", "nfse", service_invoice, id="nfs"),
        pytest.param("nfse", "nfs/processar", "nfse", service_invoice, id="nfse"),
    ],
)
Content = Callable[..., dict[str, Any]]


def new_client(http: httpx.Client) -> int:
    created = http.post("/v2/cliente", json={"nomeComercial": "Cliente de notas"}).json()
    return int(created["data"]["codigoDoCliente"])


def data_of(answer: httpx.Response) -> dict[str, Any]:
    assert answer.status_code == 200, answer.text
    data: dict[str, Any] = answer.json()["data"]
    return data


def created(http: httpx.Client, path: str, content: dict[str, Any]) -> int:
    return int(data_of(http.post(f"/v2/faturamento/{path}", json=content))["idNF"])


@KINDS
def test_an_invoice_is_emitted_once_however_many_try(
    http: httpx.Client, create: str, process: str, show: str, content: Content
) -> None:
    invoice = created(http, create, content(new_client(http)))
    with ThreadPoolExecutor(8) as pool:
        answers = list(
            pool.map(lambda _: http.post(f"/v2/faturamento/{process}/{invoice}"), range(8))
        )
    assert sorted(answer.status_code for answer in answers) == [200] + [400] * 7
    (emitted,) = (answer.json()["data"] for answer in answers if answer.status_code == 200)
    assert emitted == data_of(http.get(f"/v2/faturamento/{show}/{invoice}"))
    assert emitted["dataDeEmissao"] is not None


@KINDS
def test_each_branch_numbers_its_invoices_without_gaps(
    http: httpx.Client, create: str, process: str, show: str, content: Content
) -> None:
    client = new_client(http)
    for branch in (1, 3):
        numbers = []
        for _ in range(3):
            invoice = created(http, create, content(client, codigoDaFilial=branch))
            emitted = data_of(http.post(f"/v2/faturamento/{process}/{invoice}"))
            numbers.append(emitted["numeroDaNotaFiscalEletronica"])
        assert all(after == before + 1 for before, after in pairwise(numbers))


def test_each_series_has_its_own_numbers(start: Start) -> None:
    with log_in(start("--seed", "empty")) as http:
        client = new_client(http)
        numbers = []
        for model in (1, 2, 1):
            invoice = created(http, "nfe", product_invoice(client, codigoDaNotaFiscal=model))
            emitted = data_of(http.post(f"/v2/faturamento/nfe/processar/{invoice}"))
            key = emitted["chaveDaNotaFiscalEletronica"]
            numbers.append((key[22:25], emitted["numeroDaNotaFiscalEletronica"]))
    assert numbers == [("001", 1), ("002", 1), ("001", 2)]


def test_an_access_key_has_issuer_month_and_number(http: httpx.Client) -> None:
    invoice = created(http, "nfe", product_invoice(new_client(http), codigoDaFilial=2))
    emitted = data_of(http.post(f"/v2/faturamento/nfe/processar/{invoice}"))
    key = emitted["chaveDaNotaFiscalEletronica"]
    issued = datetime.fromisoformat(emitted["dataDeEmissao"])
    assert key[:2] == "41"
    assert key[2:6] == issued.strftime("%y%m")
    assert key[6:20] == "12345678000276"
    assert key[20:22] == "55"
    assert int(key[25:34]) == emitted["numeroDaNotaFiscalEletronica"]
    weighted = sum(int(key[place]) * WEIGHTS[place % 8] for place in range(43))
    rest = weighted % 11
    assert int(key[43]) == (0 if rest < 2 else 11 - rest)


@pytest.mark.parametrize(
    "key",
    [
        "43171207364617000135550000000120141000120146",
        "52060433009911002506550120000007800267301615",
    ],
)
def test_the_check_digit_is_that_of_published_keys(key: str) -> None:
    assert mod11_digit(key[:43]) == key[43]


def test_a_change_moves_the_last_update_and_an_emission_too(http: httpx.Client) -> None:
    client = new_client(http)
    invoice = created(http, "nfse", service_invoice(client))
    changed = data_of(
        http.put(f"/v2/faturamento/nfse/{invoice}", json=service_invoice(client, valorDoServico=5))
    )
    assert changed["ultimaAtualizacao"] is not None
    day = datetime.fromisoformat(changed["ultimaAtualizacao"]).strftime("%d/%m/%Y")
    listed = http.get("/v2/faturamento/nfse", params={"dataInferior": day}).json()["data"]
    assert changed in listed
    earlier = http.get("/v2/faturamento/nfse", params={"dataSuperior": "31/10/2026"}).json()["data"]
    assert changed not in earlier


def test_imported_line_is_checked_like_a_request(http: httpx.Client) -> None:
    client = new_client(http)
    content = service_invoice(client, codigoDoServicoPrestado="99.99")
    refused = http.post("/v2/faturamento/nfs", json=content).json()["errors"]
    rows = [list(content), list(content.values())]
    line = http.post("/v2/importacao/nota-fiscal-servico", files=upload(rows)).json()["errors"]
    assert [(error["key"], f"Linha 2: {error['value']}") for error in refused] == [
        (error["key"], error["value"]) for error in line
    ]


def test_an_inactive_client_gets_no_invoice(http: httpx.Client) -> None:
    listed = http.get("/v2/cliente").json()["data"]
    inactive = next(client["codigoDoCliente"] for client in listed if not client["ativo"])
    for path, content in (("nfe", product_invoice), ("nfs", service_invoice)):
        refused = http.post(f"/v2/faturamento/{path}", json=content(inactive))
        assert refused.status_code == 400
        assert [error["key"] for error in refused.json()["errors"]] == ["codigoDoCliente"]


@pytest.mark.parametrize(
    ("items", "key"),
    [
        ([(999_999_999_999, 999_999_999_999)], "produtos.0.valorUnitario"),
        ([(1, 999_999_999_999), (1, 1)], "produtos"),
    ],
)
def test_products_that_are_worth_too_much_are_refused(
    http: httpx.Client, items: list[tuple[int, int]], key: str
) -> None:
    invoice = {
        "codigoDaFilial": 1, "codigoDaNotaFiscal": 1, "tipoDeOperacao": "Saída",
        "naturezaDaOperacao": "Venda", "codigoDaFormaDePagamento": 1, "codigoDoCliente": 1001,
        "nomeDoCliente": "Empório", "cep": "01310-100",
        "produtos": [
            {"idProduto": 2001, "quantidade": quantity, "valorUnitario": price}
            for quantity, price in items
        ],
    }  # fmt: skip
    refused = http.post("/v2/faturamento/nfe", json=invoice)
    assert refused.status_code == 400
    assert [error["key"] for error in refused.json()["errors"]] == [key]
