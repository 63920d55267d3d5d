"""Exports of the demonstration company equal the system's own answers, cell by cell."""

import json
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from exporting import export
from reading import ExportColumn, Rows, Sheet, read_calamine, read_openpyxl, same

from xlbridge.client import Client
from xlbridge.errors import UsageError
from xlbridge.export import FORMATS, LISTINGS, ExportProgress, Filter, Filters
from xlbridge.resources import Kind

PEDIDO = "/v2/faturamento/pedido"
Ask = Callable[..., list[dict[str, Any]]]


def expected(column: ExportColumn, value: Any) -> object:
    """Return the expected cell of a value, computed independently."""
    if column.kind is Kind.DATE and value is not None:
        return datetime.strptime(value[:19], "%Y-%m-%dT%H:%M:%S").isoformat()
    return value


def differences(sheet: Sheet, rows: Rows, answers: list[dict[str, Any]]) -> list[object]:
    header, *body = rows
    assert header == [column.name for column in sheet.columns]
    assert len(body) == len(answers)
    return [
        (number, column.name, answer.get(column.name), cell)
        for number, (row, answer) in enumerate(zip(body, answers, strict=True))
        for column, cell in zip(sheet.columns, row, strict=True)
        if not same(column, expected(column, answer.get(column.name)), cell)
    ]


def test_orders_equal_the_answer(tmp_path: Path, client: Client, ask: Ask) -> None:
    orders = ask(PEDIDO, dataInferior="01/07/2026")
    lines = {
        "pedidos": orders,
        "parcelas": [line for order in orders for line in order["parcelas"]],
        "produtos": [line for order in orders for line in order["produtos"]],
    }
    listing = LISTINGS["pedidos"]
    output = tmp_path / "pedidos.xlsx"
    filters = Filters({Filter.FROM: datetime(2026, 7, 1)})
    exported = export(client, listing.name, output, filters)

    assert exported.complete
    assert exported.records == len(orders) > 15
    assert exported.sheets == {name: len(found) for name, found in lines.items()}
    for read in (read_calamine, read_openpyxl):
        found = read(output)
        for sheet in listing.sheets:
            assert differences(sheet, found[sheet.name], lines[sheet.name]) == [], read
        header, *rows = found["parcelas"]
        cents = sum(Decimal(str(row[header.index("valor")])) for row in rows)
        assert cents == sum(line["valor"] for line in lines["parcelas"])


@pytest.mark.parametrize(
    ("listing", "filters", "path"),
    [
        ("estoque", Filters(), "/v2/estoque"),
        ("estoque", Filters({Filter.BRANCH: (2,)}), "/v2/estoque/filial/2"),
        ("contasreceber", Filters(), "/v2/financeiro/contasreceber"),
        ("contasreceber-baixados", Filters(), "/v2/financeiro/contasreceber/baixados"),
    ],
)
def test_other_listings_equal_the_answer(
    tmp_path: Path, client: Client, ask: Ask, listing: str, filters: Filters, path: str
) -> None:
    answers = ask(path)
    output = tmp_path / "out.xlsx"
    exported = export(client, listing, output, filters)
    assert exported.records == len(answers) > 0
    found = read_calamine(output)
    for sheet in LISTINGS[listing].sheets:
        lines = answers
        if sheet.within:
            lines = [record | part for record in answers for part in record[sheet.within[0]]]
        assert differences(sheet, found[sheet.name], lines) == []


def test_orders_are_narrowed_to_whole_days_and_a_branch(
    tmp_path: Path, client: Client, ask: Ask
) -> None:
    start, end = datetime(2026, 3, 1), datetime(2026, 4, 30, 23, 59)
    answers = ask(PEDIDO, dataInferior="01/03/2026", dataSuperior="30/04/2026", codigoDaFilial="1")
    output = tmp_path / "pedidos.jsonl"
    exported = export(
        client,
        "pedidos",
        output,
        Filters({Filter.FROM: start, Filter.TO: end, Filter.BRANCH: (1,)}),
    )
    numbers = [json.loads(line)["numeroDoPedido"] for line in output.read_text().splitlines()]
    assert numbers == [order["numeroDoPedido"] for order in answers]
    assert 0 < exported.records < len(ask(PEDIDO))


def test_what_is_left_is_told_before_the_first_call(tmp_path: Path, client: Client) -> None:
    told: list[ExportProgress] = []
    output = tmp_path / "c.csv"
    following = {"on_progress": told.append}
    lately = Filters({Filter.FROM: datetime(2026, 10, 1)})
    done = export(client, "contatos", output, lately, run=following)
    assert told[0] == ExportProgress(0, 0, None)
    assert told[1].is_of_keys
    own = told[1 + max(n for n, one in enumerate(told) if one.is_of_keys) :]
    clients = own[0].records_left
    assert own[0].records == 0
    assert clients is not None
    assert 20 < clients < 200
    assert (own[-1].records, own[-1].records_left) == (done.records, 0)

    told.clear()
    export(client, "nfe", output, Filters({Filter.ID: (1, 2)}), run=following)
    assert [one.records_left for one in told if not one.records][:2] == [None, 2]
    assert told[-1].records_left == 0

    told.clear()
    export(client, "pedidos", output, run=following)
    assert told[1].records == 0
    assert told[1].windows_left
    assert told[-1].windows_left == 0


def test_an_interrupted_export_leaves_nothing(tmp_path: Path, client: Client) -> None:
    def interrupt(advance: ExportProgress) -> None:
        if advance.records >= 3:
            raise KeyboardInterrupt

    for form in FORMATS:
        output = tmp_path / f"pedidos.{form}"
        with pytest.raises(KeyboardInterrupt):
            export(client, "pedidos", output, run={"on_progress": interrupt})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("output", ["missing/out.xlsx", "."])
def test_an_output_that_cannot_be_is_refused(tmp_path: Path, client: Client, output: str) -> None:
    with pytest.raises(UsageError):
        export(client, "estoque", tmp_path / output)
