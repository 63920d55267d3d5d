"""Sequential and concurrent answers give the same lines and the same errors."""

import json
import re
from collections.abc import Iterator
from datetime import datetime
from email.message import Message
from pathlib import Path
from threading import Event
from typing import Any
from zipfile import ZipFile

import pytest
from exporting import export
from fake_system import Query, Reply, replying_server
from sampling import across

from xlbridge.client import Client, RetryPolicy, Target
from xlbridge.errors import XlbridgeError
from xlbridge.export import Filter, Filters

pytestmark = pytest.mark.one_database

LARGE = "x" * 1_200_000
WITHIN = Filters({Filter.FROM: datetime(2025, 1, 1), Filter.TO: datetime(2025, 8, 31, 23, 59)})
# In the cover's texts: two exports may end in different seconds.
EXPORTED_AT = rb"\d\d/\d\d/\d{4} \d\d:\d\d:\d\d"
FIRST_MONTH, BAD_MONTH = "01/01/2025 00:00", "01/07/2025 00:00"


class System:
    """Remote system with a large first answer, or a bad answer for a later month."""

    def __init__(self) -> None:
        self.bad_answer: bytes | None = None
        self.cut = False
        self.released = Event()
        self.padding = ""
        self.delay = 0.0

    def answer(self, start: str) -> bytes:
        if start == BAD_MONTH and self.bad_answer is not None:
            return self.bad_answer
        if start == BAD_MONTH:
            self.released.wait(self.delay)
        year, number = int(start[6:10]), int(start[3:5])
        if year > 2025:
            return document([])
        month, moment = number + 12 * year, f"{year}-{number:02}-02T03:04:05"
        orders = [order(100 * month + n, ultimaAtualizacao=moment) for n in range(3)]
        return document(orders, padding=self.padding if start == FIRST_MONTH else "")


def order(number: int, **fields: Any) -> dict[str, Any]:
    products = [
        {"NumeroDoPedido": number, "seq": seq, "valorTotal": number / 4, "quantidade": 2.50}
        for seq in (1, 2)
    ]
    return {
        "NumeroDoPedido": number,
        "nomeDoCliente": f"=Padaria & Cia \ud83d\ude00 {number}",
        "ultimaAtualizacao": "2025-01-02T03:04:05",
        "produtos": products,
        "parcelas": None,
        "corFavorita": {"a": [1, 2.50]},
        **fields,
    }


def document(orders: list[Any], **members: Any) -> bytes:
    document = {"success": True, "data": orders, **members}
    return json.dumps(document, separators=(",", ":")).encode()


@pytest.fixture
def system() -> System:
    return System()


@pytest.fixture
def client(system: System) -> Iterator[Client]:
    def reply(_path: str, query: Query, _headers: Message) -> Reply:
        start = query["dataInferior"][0]
        return Reply(system.answer(start), missing=system.cut and start == BAD_MONTH)

    with replying_server(reply) as address:
        target = Target("t", address, "a@example.com", "unused")
        with Client(target, retry_policy=RetryPolicy(tries=1)) as opened:
            yield opened
        system.released.set()


def outcome(client: Client, output: Path, at_once: int, **options: Any) -> Any:
    """Return the outcome of an export: files, counts and digests, or its error."""
    counted: list[int] = []
    try:
        done = export(
            client,
            "pedidos",
            output,
            WITHIN,
            at_once=at_once,
            run={"on_progress": lambda advance: counted.append(advance.records)},
            **options,
        )
    except XlbridgeError as error:
        assert not any(output.parent.iterdir())
        return type(error), str(error.message), str(error.hint)
    assert counted[-1] == done.records
    files = {path.name: content_of(path) for path in output.parent.iterdir()}
    counts = (done.records, done.sheets, done.last_update, done.totals, done.calls)
    return files, counts, [(window.records, window.digest) for window in done.windows]


def content_of(path: Path) -> object:
    """Return a file's content; of a workbook without its cover and the times of its export."""
    if path.suffix != ".xlsx":
        return path.read_bytes()
    with ZipFile(path) as archive:
        names = set(archive.namelist()) - {"xl/worksheets/sheet1.xml", "docProps/core.xml"}
        parts = {name: archive.read(name) for name in names}
    texts = "xl/sharedStrings.xml"
    parts[texts] = re.sub(EXPORTED_AT, b"", parts[texts])
    return parts


def both_outcomes(client: Client, folder: Path, form: str, **options: Any) -> list[Any]:
    """Return the outcomes of exports with sequential and with concurrent calls."""
    outcomes = []
    for at_once in (1, 2):
        within = folder / str(at_once)
        within.mkdir()
        outcomes.append(outcome(client, within / f"pedidos.{form}", at_once, **options))
    return outcomes


@pytest.mark.parametrize(
    ("form", "layout"),
    across(["xlsx", "csv", "jsonl"], [{}, {"flat": "produtos"}, {"keep_unknown": True}]),
    ids=str,
)
def test_concurrent_answers_give_the_same_lines(
    client: Client, tmp_path: Path, form: str, layout: dict[str, Any]
) -> None:
    sequential, concurrent = both_outcomes(client, tmp_path, form, **layout)
    assert sequential == concurrent
    assert sequential[1][0] == 3 * 8


BAD_ANSWERS = {
    "not JSON": b'{"success": true, "data": [{"numeroDoPedido": 7}, oops]}',
    "no document": b"<html>",
    "NaN": b'{"success": true, "data": [{"numeroDoPedido": NaN}]}',
    "deep": b'{"success": true, "data": [' + b"[" * 100_000,
    "cut": document([order(7), order(8)])[:-30],
    "too much": document([order(7)]) + b"{}",
    "no object": document([order(7), 8]),
    "an object for a list": document([order(7, parcelas={"valor": 1})]),
    "refused late": b'{"data": [{"numeroDoPedido": 7}], "success": false, "errors": '
    b'[{"key": "k", "value": "late"}]}',
    "no data": b'{"success": true}',
    "no success": b'{"data": [{"numeroDoPedido": 7}]}',
    "invalid errors": document([order(7)], errors=7),
    "notified": b'{"success": true, "data": {"notifications": [{"key": "k", "value": "v"}]}}',
}


@pytest.mark.usefixtures("no_collection")
@pytest.mark.parametrize("name", BAD_ANSWERS)
def test_concurrent_answers_give_the_same_error_for_a_bad_answer(
    system: System, client: Client, tmp_path: Path, name: str
) -> None:
    system.bad_answer = BAD_ANSWERS[name]
    sequential, concurrent = both_outcomes(client, tmp_path, "jsonl")
    assert sequential == concurrent
    assert issubclass(sequential[0], XlbridgeError)


def test_concurrent_answers_give_the_same_error_for_a_truncated_answer(
    system: System, client: Client, tmp_path: Path
) -> None:
    system.bad_answer, system.cut = document([order(7), order(8)]), True
    sequential, concurrent = both_outcomes(client, tmp_path, "jsonl")
    assert sequential == concurrent
    assert "after 2 records" in sequential[1] or "depois de 2 registros" in sequential[1]


UNUSUAL = {
    "wrong type": document([order(7), order(8, quantidadeDeParcelas="two")]),
    "true for a number": document([order(7, idNF=1), order(8, idNF=True), order(9)]),
    "a number for true": document([order(7, pendente=True), order(8, pendente=1), order(9)]),
    "half a surrogate": order(7, nomeDoCliente="a\ud800b", bairro="\x00\x1f"),
    "a name twice": b'{"numeroDoPedido": 1, "numeroDoPedido": 7, "uf": "SP"}',
    "large numbers": b'{"numeroDoPedido": 123456789012345678901234567890, '
    b'"transportadoraValorFrete": 12345678901234567.890, "transportadoraPesoBruto": 1E+2}',
    "other members": document([order(7)], errors=None, notifications=[], extra=1.5),
    "one object": b'{"success": true, "data": {"numeroDoPedido": 7}}',
    "camel and pascal": b'{"Success": true, "Data": [{"NumeroDoPedido": 7}]}',
}


@pytest.mark.parametrize("name", UNUSUAL)
def test_concurrent_answers_give_the_same_result_for_unusual_answers(
    system: System, client: Client, tmp_path: Path, name: str
) -> None:
    unusual = UNUSUAL[name]
    if isinstance(unusual, dict):
        unusual = document([unusual])
    elif b"uccess" not in unusual:
        unusual = b'{"success": true, "data": [' + unusual + b"]}"
    system.bad_answer = unusual
    sequential, concurrent = both_outcomes(client, tmp_path, "jsonl")
    assert sequential == concurrent
    assert isinstance(sequential[0], dict)
