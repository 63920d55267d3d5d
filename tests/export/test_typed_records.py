"""Records with undocumented fields are decoded in another way, and exported alike."""

import json
from email.message import Message
from pathlib import Path
from typing import Any

import pytest
from exporting import export
from fake_system import Query, Reply, replying_server

from xlbridge.client import Client, Target
from xlbridge.errors import TransportError
from xlbridge.export import ExportResult

pytestmark = pytest.mark.one_database

ORDERS: list[dict[str, Any]] = [
    {
        "nomeDoCliente": f"Padaria São João & filhos {n}" if n % 3 else None,
        "numeroDoPedido": n,
        "codigoDaFilial": n % 4,
        "ultimaAtualizacao": f"2026-01-31T08:{n % 60:02}:09",
        "transportadoraValorFrete": n / 100,
        "processado": n % 2 == 0,
        "avisos": ["a"] * (n % 3),
        "parcelas": [
            {"valor": n / 8, "numeroDaParcela": 1, "dataDeVencimento": "2026-02-28T00:00:00"},
            {"numeroDoPedido": n, "numeroDaParcela": 2, "valor": 5},
        ][: n % 3],
        "produtos": None if n % 5 else [],
    }
    for n in range(2_500)
]
"""More than are decoded together."""


def number(digits: str) -> str:
    """Return a text that is sent as a number."""
    return f"@{digits}@"


def exported(folder: Path, orders: list[dict[str, Any]]) -> tuple[ExportResult, list[bytes]]:
    def reply(_path: str, query: Query, _headers: Message) -> Reply:
        data = [] if "dataInferior" in query else orders
        answer = {"success": True, "data": data}
        text = json.dumps(answer, ensure_ascii=False, separators=(",", ":"))
        return Reply(text.replace('"@', "").replace('@"', "").encode())

    folder.mkdir()
    with (
        replying_server(reply) as address,
        Client(Target("stand-in", address, "a@example.com", "unused")) as client,
    ):
        result = export(client, "pedidos", folder / "p.csv")
    return result, [path.read_bytes() for path in sorted(folder.iterdir())]


ODD = 1_249


@pytest.mark.parametrize(
    "odd",
    [
        ORDERS[ODD] | {"novo": [1]},
        ORDERS[ODD] | {"parcelas": [item | {"novo": 1.5} for item in ORDERS[ODD]["parcelas"]]},
        {name.capitalize() if name == "avisos" else name: v for name, v in ORDERS[ODD].items()},
    ],
    ids=["undocumented field", "undocumented field of an item", "other spelling"],
)
def test_records_after_an_odd_one_are_exported_alike(tmp_path: Path, odd: dict[str, Any]) -> None:
    usual, usual_files = exported(tmp_path / "usual", ORDERS)
    other, other_files = exported(tmp_path / "other", [*ORDERS[:ODD], odd, *ORDERS[ODD + 1 :]])
    assert other_files == usual_files
    assert (other.totals, other.sheets, other.last_update) == (
        usual.totals,
        usual.sheets,
        "2026-01-31T08:59:09",
    )
    assert usual.sheets["pedidos"] == len(ORDERS)


@pytest.mark.parametrize("odd", [{}, {"novo": 1}], ids=["empty", "unknown"])
def test_a_record_without_documented_fields_is_refused(tmp_path: Path, odd: dict[str, Any]) -> None:
    with pytest.raises(TransportError):
        exported(tmp_path / "p", [*ORDERS, odd, *ORDERS])


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        ("processado", 1, "1"),
        ("contato", number("1.50"), "1.50"),
        ("transportadoraValorFrete", number("1e999999999"), "1e999999999"),
        ("transportadoraValorFrete", number("9" * 4_000), "9" * 4_000),
        ("transportadoraValorFrete", number("9" * 5_000), "9" * 5_000),
        ("transportadoraValorFrete", number("0." + "1" * 400), "0." + "1" * 400),
    ],
    ids=[
        "wrong type",
        "number for a text",
        "absurd exponent",
        "absurd integer",
        "not even an int",
        "absurd fraction",
    ],
)
@pytest.mark.parametrize("others", [{}, {"novo": 1}], ids=["typed", "with an unknown field"])
def test_an_unexpected_value_is_kept_as_text(
    tmp_path: Path, field: str, value: object, text: str, others: dict[str, Any]
) -> None:
    odd = ORDERS[ODD] | {field: value} | others
    result, (records, *_) = exported(tmp_path / "p", [*ORDERS[:ODD], odd, *ORDERS[ODD + 1 :]])
    assert result.as_text == {f"pedidos.{field}": text[:40]}
    assert f",{text}," in records.decode()


def test_digits_of_numbers_are_exported_unchanged(tmp_path: Path) -> None:
    sent = {"transportadoraValorFrete": number("12345678901234567.10")}
    orders = [*ORDERS[:ODD], ORDERS[ODD] | sent, *ORDERS[ODD + 1 :]]
    _, (records, *_) = exported(tmp_path / "p", orders)
    assert b",12345678901234567.10," in records
