"""Listings are streamed: complete or an error, in the memory of one record."""

import json
import socket
import threading
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import datetime
from decimal import Decimal
from itertools import chain, islice
from typing import Any

import pytest
from hypothesis import given, strategies as st
from sampling import examples
from scripted_server import ScriptedServer, answer, ok, open_client

from xlbridge.client import Client
from xlbridge.client.listing_answer import RecordShape
from xlbridge.client.listing_stream import (
    InvalidJson,
    JsonReader,
    RecordSelector,
)
from xlbridge.errors import InDoubt, RemoteRejected, TransportError
from xlbridge.wire import Operation, WireModel
from xlbridge.wire.financial import RECEIVABLE_LIST_OPEN
from xlbridge.wire.registry import CLIENT_LIST, ClientQuery
from xlbridge.wire.sales import SALES_ORDER_LIST
from xlbridge.wire.stock import STOCK_BALANCES_OF_BRANCH

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
RECORDS = [{"numeroDoPedido": n, "nomeDoCliente": f"São João {n}", "idNF": None} for n in range(9)]
DOCUMENT = json.dumps(
    {"success": True, "data": RECORDS, "errors": None}, ensure_ascii=False
).encode()
HUNDREDTHS = b'{"data": [{"idNF": 1, "valorTotal": 12345678901234567.89}], "success": true}'

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.decimals(allow_nan=False, allow_infinity=False, places=3)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def pieces(text: bytes, sizes: list[int]) -> Iterator[bytes]:
    at = 0
    for size in sizes:
        yield text[at : at + size]
        at += size
    yield text[at:]


def items_of(reader: JsonReader) -> Iterator[Any]:
    return chain.from_iterable(reader.batches())


@examples(30)
@given(st.lists(json_values, max_size=6), st.lists(st.integers(0, 9)), st.booleans())
def test_a_list_is_read_the_same_in_any_pieces(
    values: list[Any], sizes: list[int], ascii_only: bool
) -> None:
    written = json.dumps(values, default=float, ensure_ascii=ascii_only)
    text = written.encode("utf-8", "surrogatepass" if ascii_only else "replace")
    expected = json.loads(text, parse_float=Decimal)
    assert list(items_of(JsonReader(pieces(text, sizes)))) == expected


confusing_objects = st.fixed_dictionaries(
    {"a": st.integers() | st.sampled_from(['},{"a"', "}", 1.5, [{"a": 1}, {"a": [{"a": 2}]}]])},
    optional={"b": st.lists(st.fixed_dictionaries({"a": st.integers()}), max_size=3)},
)


@examples(30)
@given(st.lists(confusing_objects | json_values, max_size=12), st.lists(st.integers(0, 200)))
def test_objects_decoded_together_equal_those_decoded_one_by_one(
    values: list[Any], sizes: list[int]
) -> None:
    text = json.dumps(values, default=float, separators=(",", ":")).encode()
    expected = json.loads(text, parse_float=Decimal)
    assert list(items_of(JsonReader(pieces(text, sizes)))) == expected
    assert list(items_of(JsonReader(pieces(text, [1] * len(text))))) == expected


@examples(30)
@given(st.lists(confusing_objects | json_values, max_size=12), st.lists(st.integers(0, 200)))
def test_wanted_objects_are_complete_and_every_field_occurs_once(
    values: list[Any], sizes: list[int]
) -> None:
    text = json.dumps(values, default=float, separators=(",", ":")).encode()
    everything = json.loads(text, parse_float=Decimal)
    names = {"a": "a", "b": "b"}
    selector = RecordSelector([("a", lambda values: [one == "}" for one in values])], names)
    selected = list(items_of(JsonReader(pieces(text, sizes), selector=selector)))
    rest = iter(everything)
    assert all(one in rest for one in selected)
    assert len(selected) + selector.dropped == len(everything)
    objects = [one for one in everything if isinstance(one, dict)]
    assert all(one in selected for one in objects if one.get("a", "}") == "}")
    seen = {name for one in selected if isinstance(one, dict) for name in one}
    assert seen & names.keys() == {name for one in objects for name in one} & names.keys()


def test_only_wanted_objects_are_decoded() -> None:
    text = json.dumps([{"a": n, "b": None} for n in range(5_000)], separators=(",", ":")).encode()
    selector = RecordSelector(
        [("a", lambda values: [one == 4_000 for one in values])], {"a": "a", "b": "b"}
    )
    selected = list(items_of(JsonReader(pieces(text, [10_000] * 5), selector=selector)))
    assert {"a": 4_000, "b": None} in selected
    assert selector.dropped > 3_000


@pytest.mark.parametrize(
    "wrong",
    ['{"a":}', '{"a":1}}', '{"a":NaN}', '{"a":' + "9" * 401 + "}", '{"a":1e401}', '{"a":"}'],
)
def test_invalid_json_among_many_objects_is_found_at_its_position(wrong: str) -> None:
    text = ("[" + '{"a":1},' * 3 + wrong + "," + '{"a":2},' * 3 + "3]").encode()
    items = items_of(JsonReader(pieces(text, [])))
    assert list(islice(items, 3)) == [{"a": 1}] * 3
    with pytest.raises(InvalidJson):
        list(items)


@pytest.mark.parametrize("number", ["-0.001", "1.5e+10", "12E-3", "7"])
def test_a_number_may_be_split_between_pieces(number: str) -> None:
    for size in range(len(number) + 2):
        assert list(items_of(JsonReader(pieces(f"[{number}]".encode(), [size])))) == [
            Decimal(number)
        ]


@pytest.mark.parametrize("number", ["-0.00", "1.5e+10", "12E-3", "7", "123456789012345678901.5"])
def test_numbers_can_be_kept_as_text(number: str) -> None:
    text = f'[{number}, {{"a": {number}}}, "{number}"]'.encode()
    for size in range(len(text)):
        read = items_of(JsonReader(pieces(text, [size]), (str, str)))
        assert list(read) == [number, {"a": number}, number]


@examples(30)
@given(st.binary(max_size=40), st.lists(st.integers(0, 9)))
def test_text_that_is_not_json_is_refused(text: bytes, sizes: list[int]) -> None:
    try:
        expected = json.loads(text.decode("utf-8-sig"), parse_float=Decimal)
    except ValueError:
        with pytest.raises(InvalidJson):
            read_value(text, sizes)
    else:
        if not any(odd in str(expected) for odd in ("NaN", "Inf", "E+", "E-")):
            assert read_value(text, sizes) == expected


def read_value(text: bytes, sizes: list[int]) -> Any:
    reader = JsonReader(pieces(text, sizes))
    value = reader.value()
    reader.expect("")
    return value


@pytest.mark.usefixtures("no_collection")
@pytest.mark.parametrize("text", ["[" * 200_000, '[{"a": ' * 100_000, "[1, NaN]", "[Infinity]"])
def test_hostile_text_is_refused(text: str) -> None:
    with pytest.raises(InvalidJson):
        read_value(text.encode(), [])


ABSURD_NUMBERS = [
    "1e999999999",
    "-1E-999999999",
    "1e99999999999999999999",
    "1e401",
    "9" * 401,
    "0." + "1" * 400,
]


@pytest.mark.parametrize("number", ABSURD_NUMBERS, ids=lambda number: number[:12])
def test_an_absurdly_large_number_is_refused_unless_it_remains_text(number: str) -> None:
    for size in range(0, len(number), 7):
        content = pieces(f"[{number}]".encode(), [size])
        with pytest.raises(InvalidJson):
            list(items_of(JsonReader(content)))
        content = pieces(f"[{number}]".encode(), [size])
        assert list(items_of(JsonReader(content, (str, int)))) == [number]


@pytest.mark.parametrize("number", ["1e400", "1e-400", "9" * 400, "1.50", "12e-2"])
def test_a_number_within_bounds_is_exact(number: str) -> None:
    (read,) = items_of(JsonReader(pieces(f"[{number}]".encode(), [])))
    assert read == Decimal(number)


@pytest.mark.parametrize("number", ABSURD_NUMBERS, ids=lambda number: number[:12])
def test_an_answer_with_an_absurd_number_is_refused(
    server: ScriptedServer, client: Client, number: str
) -> None:
    data = f'{{"success": true, "data": [{{"idProd": {number}, "valorTotal": {number}}}]}}'
    server.steps = [answer(200, data.encode())]
    with pytest.raises(TransportError):
        client.stock.balances.list()
    with pytest.raises(TransportError):
        list(client.records(STOCK_BALANCES_OF_BRANCH, path={"id": 1}))
    with pytest.raises(InDoubt):
        client.registry.clients.create(nomeComercial="Padaria")


def test_records_can_be_read_from_a_stored_answer(server: ScriptedServer, client: Client) -> None:
    server.steps = [answer(200, DOCUMENT)]
    with closing(client.listing(SALES_ORDER_LIST)) as stored:
        content = list(stored.pieces())
        read = stored.records(content, RecordShape({"numeroDoPedido": "numeroDoPedido"}))
        assert list(read) == [{"numeroDoPedido": n} for n in range(9)]
    assert b"".join(content) == DOCUMENT


def test_money_stays_exact(server: ScriptedServer, client: Client) -> None:
    server.steps = [answer(200, HUNDREDTHS)]
    (record,) = client.records(SALES_ORDER_LIST, keep_unknown=True)
    assert record["valorTotal"] == Decimal("12345678901234567.89")


def test_unknown_fields_are_kept_on_request(server: ScriptedServer, client: Client) -> None:
    order = {"NumeroDoPedido": 1, "novidade": {"x": 1}, "parcelas": [{"Valor": 1, "outra": 2}]}
    server.steps = [ok([order])]
    assert list(client.records(SALES_ORDER_LIST, keep_unknown=True)) == [
        {"numeroDoPedido": 1, "novidade": {"x": 1}, "parcelas": [{"valor": 1, "outra": 2}]}
    ]


@pytest.mark.parametrize("framing", ["length", "closing", "chunked"])
@pytest.mark.parametrize("cut", [0, 1, 15, 40, 70, len(DOCUMENT) - 20, len(DOCUMENT) - 1])
def test_a_truncated_answer_is_an_error(
    server: ScriptedServer, client: Client, framing: str, cut: int
) -> None:
    body = DOCUMENT[:cut]
    head, sent = {
        "length": (b"Content-Length: %d\r\n" % len(DOCUMENT), body),
        "closing": (b"Connection: close\r\n", body),
        "chunked": (b"Transfer-Encoding: chunked\r\n", b"%x\r\n%s\r\n" % (cut, body)),
    }[framing]
    if framing == "chunked" and not cut:
        sent = b""
    server.steps = [HEAD + head + b"\r\n" + sent]
    received: list[Any] = []
    with pytest.raises(TransportError):
        received.extend(client.records(SALES_ORDER_LIST))
    assert received == RECORDS[: len(received)]


def test_a_complete_answer_is_read_completely(server: ScriptedServer, client: Client) -> None:
    server.steps = [answer(200, DOCUMENT)]
    assert list(client.records(SALES_ORDER_LIST)) == RECORDS


@pytest.mark.parametrize(
    "body",
    [
        b'{"data": [{"codigoDoCliente": 1}]}',
        b'{"data": [{"codigoDoCliente": 1}], "success": "maybe"}',
        b'{"success": true, "data": [{"codigoDoCliente": 1}]} and more',
        b'{"success": true, "data": [{"codigoDoCliente": 1},]}',
        b'{"success": true "data": []}',
        b'{"success": true, "data": 7}',
        b'{"success": true, "data": "x"}',
        b'{"success": true, "data": [1]}',
        b'{"success": true, "data": [[]]}',
        b"{}",
        b"[]",
        b"",
        b"\xff\xfe",
        b"<html>Portal</html>",
    ],
)
def test_an_answer_without_a_valid_envelope_is_an_error(
    server: ScriptedServer, client: Client, body: bytes
) -> None:
    server.steps = [answer(200, body)]
    with pytest.raises(TransportError):
        list(client.records(CLIENT_LIST))


@pytest.mark.parametrize(
    "body",
    [
        b'{"success": false, "data": [{"codigoDoCliente": 1}], "errors": [{"value": "nao"}]}',
        b'{"data": [{"codigoDoCliente": 1}], "errors": [{"value": "nao"}], "success": false}',
        b'{"Data": null, "Errors": [{"Key": "k", "Value": "nao"}], "Success": false}',
    ],
)
def test_a_failure_is_raised_wherever_the_envelope_reports_it(
    server: ScriptedServer, client: Client, body: bytes
) -> None:
    server.steps = [answer(200, body)]
    with pytest.raises(RemoteRejected, match="nao"):
        list(client.records(CLIENT_LIST))


@pytest.mark.parametrize(
    ("data", "count"), [("null", 0), ("[]", 0), ('{"CodigoDoCliente": 1}', 1), (" [ ] ", 0)]
)
def test_a_listing_of_one_record_may_be_an_object_or_null(
    server: ScriptedServer, client: Client, data: str, count: int
) -> None:
    server.steps = [answer(200, f'{{"Data":{data},"Success":true}}'.encode())]
    query = ClientQuery(idws="a")
    assert list(client.records(CLIENT_LIST, query=query)) == [{"codigoDoCliente": 1}] * count


@pytest.mark.parametrize(
    ("members", "empty"),
    [("", False), (', "data": null', True), (', "Data": null, "errors": null', True)],
)
@pytest.mark.parametrize(
    ("operation", "path", "query"),
    [
        (CLIENT_LIST, {}, ClientQuery(dataInferior=datetime(2026, 1, 1))),
        (RECEIVABLE_LIST_OPEN, {}, None),
        (SALES_ORDER_LIST, {}, None),
        (STOCK_BALANCES_OF_BRANCH, {"id": 1}, None),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_null_is_an_empty_listing_and_missing_data_is_an_error(
    server: ScriptedServer,
    client: Client,
    operation: Operation,
    path: dict[str, object],
    query: WireModel | None,
    members: str,
    empty: bool,
) -> None:
    server.steps = [answer(200, f'{{"success": true{members}}}'.encode())]
    if empty:
        assert list(client.records(operation, path=path, query=query)) == []
        assert not client.call(operation, path=path, query=query)
        return
    with pytest.raises(TransportError, match="data"):
        list(client.records(operation, path=path, query=query))


@pytest.mark.parametrize("status", [200, 404])
def test_a_rejection_without_reasons_is_reported(
    server: ScriptedServer, client: Client, status: int
) -> None:
    server.steps = [answer(status, {"success": False, "data": [{}], "errors": []})]
    with pytest.raises(RemoteRejected, match=rf"{status}\),? (without|sem)"):
        list(client.records(SALES_ORDER_LIST))


@pytest.mark.parametrize(
    ("value", "words"),
    [
        *((one, r"numeroDoPedido 7: .*parcelas") for one in ({"valor": 1}, {}, "x", 7)),
        ([1], "not an object"),
    ],
)
def test_an_object_instead_of_a_list_is_reported_with_record_and_field(
    server: ScriptedServer, client: Client, value: object, words: str
) -> None:
    server.steps = [ok([{"numeroDoPedido": 7, "parcelas": value}])]
    with pytest.raises(TransportError, match=words):
        list(client.records(SALES_ORDER_LIST))


def test_memory_does_not_grow_with_the_answer(server: ScriptedServer, client: Client) -> None:
    record = json.dumps({"codigoDoCliente": 1, "nomeComercial": "x" * 2_000}).encode()
    many = 8_000

    def send(connection: socket.socket) -> None:
        connection.sendall(HEAD + b'Connection: close\r\n\r\n{"success":true,"data":[' + record)
        for _ in range(many - 1):
            connection.sendall(b"," + record)
        connection.sendall(b"]}")

    server.steps = [send]
    records = client.records(CLIENT_LIST)
    next(records)
    tracemalloc.start()
    try:
        count = 1 + sum(1 for _ in records)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == many
    assert peak < 2_000_000 < many * len(record)


@pytest.mark.parametrize(
    "begin", [b"", b'{"success":true,"data":[', b'{"success":true,"data":[{"nomeComercial":"']
)
def test_a_listing_that_comes_byte_by_byte_ends(server: ScriptedServer, begin: bytes) -> None:
    def send(connection: socket.socket) -> None:
        with suppress(ConnectionError):
            connection.sendall(HEAD + b"Connection: close\r\n\r\n" + begin)
            # Until the client goes away.
            while True:
                connection.sendall(b" ")
                time.sleep(0.02)

    server.steps = [send]
    with (
        open_client(server.base_url, [], timeout=0.1) as client,
        pytest.raises(TransportError, match="stopped midway"),
    ):
        list(client.records(CLIENT_LIST))


def test_an_answer_that_announces_a_terabyte_is_not_read(
    server: ScriptedServer, client: Client
) -> None:
    server.steps = [HEAD + b"Content-Length: 1099511627776\r\n\r\n{"]
    with pytest.raises(InDoubt):
        client.registry.clients.create(nomeComercial="Ana")
    with pytest.raises(TransportError, match="stopped midway"):
        list(client.records(CLIENT_LIST))


def test_records_are_yielded_before_the_answer_has_ended(
    server: ScriptedServer, client: Client
) -> None:
    client_disconnected = threading.Event()

    def send(connection: socket.socket) -> None:
        connection.sendall(HEAD + b'Connection: close\r\n\r\n{"success":true,"data":[')
        connection.sendall(b'{"codigoDoCliente": 1}, ' * 8_000)
        # The rest never comes: this waits for the client to go away.
        with suppress(ConnectionError):
            connection.recv(1)
        client_disconnected.set()

    server.steps = [send]
    records = client.records(CLIENT_LIST)
    assert next(records) == {"codigoDoCliente": 1}
    assert not client_disconnected.is_set()
    records.close()
    assert client_disconnected.wait(60)
