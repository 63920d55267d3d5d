"""Client with the particular answers and parameters of purchasing."""

from urllib.parse import parse_qs, urlsplit

import pytest
from scripted_server import ScriptedServer, ok

from xlbridge.client import Client, Executed, Rejected
from xlbridge.errors import ErrorDetail, RemoteRejected
from xlbridge.wire.purchasing import (
    PURCHASE_ORDER_CREATE,
    PURCHASE_ORDER_LIST_OPEN,
    REQUISITION_LIST_OPEN,
    PurchaseOrderInput,
    PurchaseOrderItemInput,
    RequisitionQuery,
)

INACTIVE = {"key": "codigoDoFornecedor", "value": "O fornecedor está inativo."}
REFUSED = {"notifications": [INACTIVE], "payload": None}
CREATED = {"notifications": [], "payload": {"numeroPedido": 9, "codigoDoFornecedor": 501}}


@pytest.fixture
def purchase() -> PurchaseOrderInput:
    item = PurchaseOrderItemInput(idProduto=1, quantidade=2, valorUnitario=3)
    return PurchaseOrderInput(codigoDaFilial=1, codigoDoFornecedor=501, itens=[item])


def test_notifications_in_a_success_are_a_rejection(
    server: ScriptedServer, client: Client, purchase: PurchaseOrderInput
) -> None:
    server.steps = [ok(REFUSED)]
    with pytest.raises(RemoteRejected, match="inativo") as caught:
        client.call(PURCHASE_ORDER_CREATE, body=purchase)
    assert caught.value.details == (ErrorDetail("codigoDoFornecedor", INACTIVE["value"]),)


def test_without_notifications_the_purchase_order_is_in_the_payload(
    server: ScriptedServer, client: Client, purchase: PurchaseOrderInput
) -> None:
    server.steps = [ok(CREATED)]
    answer = client.call(PURCHASE_ORDER_CREATE, body=purchase)
    assert answer.payload.numeroPedido == 9


@pytest.mark.parametrize(("data", "outcome"), [(REFUSED, Rejected), (CREATED, Executed)])
def test_a_raw_answer_is_classified_by_its_notifications(
    server: ScriptedServer, client: Client, data: dict[str, object], outcome: type
) -> None:
    server.steps = [ok(data)]
    reply = client.raw("POST", "/v2/compras/pedido", body={})
    assert isinstance(client.outcome_of(reply), outcome)


@pytest.mark.parametrize("centres", [[], ["01.001"], ["01.001", "02.001"]])
def test_a_list_is_sent_as_a_repeated_parameter(
    server: ScriptedServer, client: Client, centres: list[str]
) -> None:
    server.steps = [ok([])]
    client.call(REQUISITION_LIST_OPEN, query=RequisitionQuery(CodigosCentroCustos=centres))
    sent = parse_qs(urlsplit(server.requests[0].path).query)
    assert sent.get("CodigosCentroCustos", []) == centres


def test_a_listing_without_files_is_read(server: ScriptedServer, client: Client) -> None:
    read = {
        "numeroPedido": 9,
        "codigoDaFilial": 1,
        "codigoDoFornecedor": 501,
        "dataDoPedido": "2026-10-01T09:00:00",
        "encerrado": False,
        "valorTotal": 1.1,
        "itens": [],
    }
    server.steps = [ok([read])]
    (order,) = client.call(PURCHASE_ORDER_LIST_OPEN)
    assert (order.Arquivos, order.ArquivosNotasFiscais) == ([], [])
