"""Operations as attributes, against a real socket."""

import json
from pathlib import Path

import pytest
from generate_client_stub import STUB, stub
from pydantic import ValidationError
from scripted_server import ScriptedServer, ok

from xlbridge.client import Client, UploadFile
from xlbridge.errors import UsageError
from xlbridge.wire import OPERATIONS

CLIENT = {"codigoDoCliente": 7, "nomeComercial": "Ana", "natureza": "F"}


def test_the_stub_matches_the_operations() -> None:
    assert STUB.read_text(encoding="utf-8") == stub()


def test_arguments_become_query_body_or_path(server: ScriptedServer, client: Client) -> None:
    server.steps = [
        ok([CLIENT]),
        ok(CLIENT),
        ok({"idProd": 5, "quantidadeTotal": 1, "valorTotal": 2}),
    ]
    found = client.registry.clients.list(cnpjcpf="52998224725")
    created = client.registry.clients.create(nomeComercial="Ana", natureza="F")
    assert client.stock.balances.of_product(id=5).quantidadeTotal == 1
    assert found == [created]
    listed, posted, read = server.requests
    assert listed.path == "/v2/cliente?cnpjcpf=52998224725"
    assert json.loads(posted.body) == {"nomeComercial": "Ana", "natureza": "F"}
    assert read.path == "/v2/estoque/produto/5"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"nome": "Ana"}, ValidationError),
        ({"nomeComercial": "Ana", "nome": "Ana"}, TypeError),
        ({"nomeComercial": 1}, ValidationError),
    ],
)
def test_invalid_arguments_are_not_sent(
    server: ScriptedServer, client: Client, arguments: dict[str, object], error: type[Exception]
) -> None:
    with pytest.raises(error):
        client.registry.clients.create(**arguments)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="id"):
        client.stock.balances.of_product()  # type: ignore[call-arg]
    assert server.requests == []


def test_a_workbook_is_uploaded_by_name(
    server: ScriptedServer, client: Client, tmp_path: Path
) -> None:
    server.steps = [ok({"totalDeRegistros": 2, "registros": []}), ok(12)]
    workbook = UploadFile("clientes.xlsx", b"PK-workbook")
    read = client.imports.direct(resource="cliente", file=workbook, preview=True)
    assert (read.totalDeRegistros, client.imports.queue(resource="cliente", file=workbook)) == (
        2,
        12,
    )
    assert server.requests[0].path == "/v2/importacao/cliente?preview=true"
    assert b"PK-workbook" in server.requests[1].body
    (tmp_path / "pedido 1.xlsx").write_bytes(b"PK-by-path")
    for path in (tmp_path / "pedido 1.xlsx", str(tmp_path / "pedido 1.xlsx")):
        assert client.imports.queue(resource="cliente", file=path) == 12
        assert b"PK-by-path" in server.requests[-1].body
        assert b'filename="pedido 1.xlsx"' in server.requests[-1].body
    with pytest.raises(UsageError, match=r"missing\.xlsx"):
        client.imports.queue(resource="cliente", file=tmp_path / "missing.xlsx")
    with pytest.raises(TypeError, match="file"):
        client.imports.direct(resource="cliente")  # type: ignore[call-arg]


def test_groups_and_operations_are_listed_by_dir(client: Client) -> None:
    authenticated = {name for name, operation in OPERATIONS.items() if operation.authenticated}
    assert {name.split(".")[0] for name in authenticated} | {"call", "records"} <= set(dir(client))
    assert "create" in dir(client.registry.clients)
    assert "authenticate" not in dir(client)
    assert "list" in dir(client.registry.clients)
    with pytest.raises(AttributeError, match="nothing"):
        client.registry.nothing  # type: ignore[attr-defined]  # noqa: B018
