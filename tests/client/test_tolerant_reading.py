"""Answers in other shapes than the sandbox's: only documented fields are needed."""

from decimal import Decimal
from typing import Any

import pytest
from sampling import across
from scripted_server import ScriptedServer, answer, ok

from xlbridge.client import Client
from xlbridge.errors import InDoubt, TransportError
from xlbridge.wire import OPERATIONS

WRITES = [
    operation
    for operation in OPERATIONS.values()
    if operation.method != "GET" and operation.authenticated and operation.body
    # Its payload is promised, and so is what tells a success from a failure.
    if not operation.refuses_in_data
]


@pytest.mark.parametrize(
    ("operation", "data"),
    across(WRITES, [None, {}, True, "ok", {"novidade": [1]}]),
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_a_write_succeeds_whatever_data_its_answer_has(
    server: ScriptedServer, client: Client, operation, data: Any
) -> None:
    server.steps = [ok(data)]
    body = operation.body.model_construct()
    path = dict.fromkeys(operation.path_parameters, 1)
    assert client.call(operation, path=path, body=body) is not None
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [200, 201, 202])
def test_unreadable_fields_of_a_record_become_none(
    server: ScriptedServer, client: Client, status: int
) -> None:
    record = {"IdNF": "7", "dataDeEmissao": "ontem", "produtos": "dois", "ValorDosProdutos": 1.5}
    server.steps = [answer(status, {"Success": True, "Data": [record]})]
    invoice = client.sales.product_invoices.process(id=7)
    assert (invoice.idNF, invoice.dataDeEmissao, invoice.produtos) == (7, None, [])
    assert invoice.valorDosProdutos == Decimal("1.5")


def test_a_purchase_order_needs_a_payload_but_no_field_of_it(
    server: ScriptedServer, client: Client
) -> None:
    order = {"codigoDaFilial": 1, "codigoDoFornecedor": 2, "itens": []}
    body = OPERATIONS["purchasing.purchase_orders.create"].body
    assert body is not None
    sent = body.model_construct(**order)
    create = OPERATIONS["purchasing.purchase_orders.create"]
    server.steps = [ok({"payload": {"NumeroPedido": 9}})]
    assert client.call(create, body=sent).payload.numeroPedido == 9
    server.steps = [ok({"notifications": [], "payload": {}})]
    assert client.call(create, body=sent).payload.numeroPedido is None
    server.steps = [ok({"notifications": [], "payload": None})]
    with pytest.raises(InDoubt):
        client.call(create, body=sent)


def test_attachments_may_have_ids_of_any_type(server: ScriptedServer, client: Client) -> None:
    files = [{"Id": "7f1f9a0e", "NomeDoArquivo": "a.pdf"}, {"id": 3}, {}]
    server.steps = [ok({"arquivos": files})]
    title = client.financial.payables.get(ex=2026, fil=1, nrtrs=2, seqtrs=3)
    assert [file.Id for file in title.Arquivos] == ["7f1f9a0e", 3, None]


def test_a_field_of_another_type_is_an_error(server: ScriptedServer, client: Client) -> None:
    server.steps = [ok([{"idProd": 7, "valorTotal": "muito"}])]
    with pytest.raises(TransportError, match="valorTotal"):
        client.stock.balances.list()
