"""The strict sandbox: spelling, dates and documents exactly as in the spec.

It must accept the golden exchanges, which are written by hand, and the requests of our client.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from environment import Xlbridge, credentials
from exchange_files import Case, golden_cases
from golden_steps import ClientStep, client_steps
from good_rows import make_rows
from sampling import every
from servers import log_in, sandbox_on
from sheets import write_rows
from test_golden_exchanges import test_exchange as compare_with_exchange

from xlbridge.client import Client, Target
from xlbridge.errors import ApiError, RemoteRejected
from xlbridge.resources import Catalogue
from xlbridge.sandbox import RunningSandbox

ORDERS = "/v2/faturamento/pedido"
MISSPELLED = "Grafia do nome: escreva"
CASES = golden_cases()
QUERIES = [
    client_step
    for client_step in client_steps()
    if client_step.operation.method == "GET" and client_step.query is not None
]
"""Reads of our client; ``test_three_servers.py`` sends its writes to this sandbox."""


@pytest.fixture(scope="module")
def strict_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSandbox]:
    with sandbox_on(tmp_path_factory.mktemp("strict"), "--strict") as running:
        yield running


@pytest.fixture(scope="module")
def strict(strict_server: RunningSandbox) -> Iterator[httpx.Client]:
    with log_in(strict_server) as client:
        yield client


@pytest.fixture(scope="module")
def client(strict_server: RunningSandbox) -> Iterator[Client]:
    running = strict_server
    with Client(Target("strict", running.base_url, running.email, running.password)) as opened:
        yield opened


@pytest.mark.parametrize("case", every(4, CASES), ids=lambda case: case.name)
def test_the_spelling_of_the_spec_is_accepted(
    case: Case, strict: httpx.Client, strict_server: RunningSandbox
) -> None:
    compare_with_exchange(case, strict, strict_server)


_SET_BY_CHANGES = ("Arquivos", "ultimaAtualizacao", "dataDaProximaEmissao")
"""Fields that a listing does not fill, or that a change sets."""


@pytest.mark.parametrize(
    ("listing", "number"),
    [
        ("/v2/produto", None),
        ("/v2/financeiro/contaspagar", None),
        ("/v2/faturamento/nfse", "idNF"),
        ("/v2/faturamento/previsao", "codigoDaPrevisao"),
        ("/v2/compras/planejamento", None),
    ],
)
def test_a_record_that_was_answered_is_accepted_as_a_change(
    strict: httpx.Client, listing: str, number: str | None
) -> None:
    records = strict.get(listing).json()["data"]
    record = next(one for one in records if not one.get("numeroDaNotaFiscalEletronica"))
    path = listing if number is None else f"{listing}/{record[number]}"
    changed = strict.put(path, json=record)
    assert changed.status_code == 200, changed.text
    returned = changed.json()["data"]
    assert {n: returned[n] for n in record if n not in _SET_BY_CHANGES} == {
        n: value for n, value in record.items() if n not in _SET_BY_CHANGES
    }


@pytest.mark.parametrize("name", ["CodigoDeBarras", "codigoDeBarras"])
def test_names_of_tables_and_of_samples_are_accepted(strict: httpx.Client, name: str) -> None:
    title = strict.get("/v2/financeiro/contaspagar").json()["data"][0]
    barcode = "23793381286000782713695000063305975520000370000"
    body = {key: value for key, value in title.items() if key.lower() != name.lower()}
    changed = strict.put("/v2/financeiro/contaspagar", json=body | {name: barcode})
    assert changed.status_code == 200, changed.text
    assert changed.json()["data"]["CodigoDeBarras"] == barcode


@pytest.mark.parametrize("client_step", every(3, QUERIES), ids=lambda client_step: client_step.name)
def test_requests_of_our_client_are_spelled_like_the_spec(
    client_step: ClientStep, client: Client
) -> None:
    message = ""
    try:
        client.call(client_step.operation, path=client_step.path, query=client_step.query)
    except RemoteRejected as error:
        message = " ".join(item.value for item in error.details)
    except ApiError:
        pass
    assert MISSPELLED not in message
    assert "data ISO 8601" not in message


def order(http: httpx.Client, **fields: Any) -> httpx.Response:
    client = http.post("/v2/cliente", json={"nomeComercial": "X"}).json()["data"]
    content = {"codigoDaFilial": 1, "codigoDoCliente": client["codigoDoCliente"]}
    content |= {"produtos": [{"idProduto": 2001, "quantidade": 1, "valorUnitario": 5}]}
    return http.post(ORDERS, json=content | fields)


@pytest.mark.parametrize(
    ("fields", "key"),
    [
        ({"cep": "abc"}, "cep"),
        ({"cep": "0131010"}, "cep"),
        ({"entregaCEP": "abc"}, "entregaCEP"),
        ({"cnpjcpf": "123"}, "cnpjcpf"),
        ({"cnpjcpf": "111.444.777-36"}, "cnpjcpf"),
        ({"transportadoraCNPJ": "11222333000182"}, "transportadoraCNPJ"),
        ({"uf": "XX"}, "uf"),
        ({"email": "ninguém"}, "email"),
        ({"dataDaOrdem": "2026-10-01 10:00:00"}, "dataDaOrdem"),
        ({"dataDaOrdem": "2026-10-01T10:00:00-03:00"}, "dataDaOrdem"),
        ({"Observacao": "x"}, "Observacao"),
        (
            {"produtos": [{"IdProduto": 2001, "quantidade": 1, "valorUnitario": 5}]},
            "produtos.0.IdProduto",
        ),
    ],
)
def test_requests_only_the_tolerant_sandbox_accepts_are_refused(
    http: httpx.Client, strict: httpx.Client, fields: dict[str, Any], key: str
) -> None:
    assert order(http, **fields).status_code == 200
    refused = order(strict, **fields)
    assert refused.status_code == 400
    assert [error["key"] for error in refused.json()["errors"]] == [key]


@pytest.mark.parametrize(
    "fields",
    [
        {"cep": "01310-100", "entregaCEP": "01310100", "uf": "SP"},
        {"cnpjcpf": "60.701.190/0001-04", "transportadoraCNPJ": "12ABC34501DE35"},
        {"cnpjcpf": "11144477735", "email": "a@example.com"},
        {"cep": "", "email": None, "dataDaOrdem": "2026-10-01"},
        {"dataDaOrdem": "2026-10-01T10:00:00"},
    ],
)
def test_texts_in_the_right_format_are_accepted(
    strict: httpx.Client, fields: dict[str, Any]
) -> None:
    assert order(strict, **fields).status_code == 200


def test_a_parameter_must_be_spelled_like_the_spec(
    http: httpx.Client, strict: httpx.Client
) -> None:
    query = {"codigoDoCliente": 1001}
    for path in ("/v2/financeiro/contasreceber",):
        other = {"CodigoDoCliente": 1001}
        assert strict.get(path, params=query).status_code == 200
        assert http.get(path, params=other).status_code == 200
        refused = strict.get(path, params=other)
        assert (refused.status_code, refused.json()) == (400, "Parâmetro inválido: CodigoDoCliente")


@pytest.mark.parametrize("mode", ["direct", "queue"])
def test_uploads_are_accepted(
    strict_server: RunningSandbox,
    xlbridge: Xlbridge,
    catalogue: Catalogue,
    tmp_path: Path,
    mode: str,
) -> None:
    for resource in catalogue.values():
        if mode not in resource.paths.modes:
            continue
        path = tmp_path / f"{resource.name}.xlsx"
        rows = make_rows(resource.name, 6, mode)
        names = [column.name for column in resource.columns]
        write_rows(path, names, [[row.get(name) for name in names] for row in rows])
        options = ("--resource", resource.name, "--mode", mode, "--yes")
        ended = xlbridge("upload", path, *options, **credentials(strict_server))
        assert ended.returncode == 0, ended.stderr
