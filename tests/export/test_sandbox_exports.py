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
Fetch = Callable[..., list[dict[str, Any]]]


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


def test_exported_orders_equal_the_answer(tmp_path: Path, client: Client, fetch: Fetch) -> None:
    orders = fetch(PEDIDO, dataInferior="01/07/2026")
    records = {
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
    assert exported.sheets == {name: len(found) for name, found in records.items()}
    for read in (read_calamine, read_openpyxl):
        found = read(output)
        for sheet in listing.sheets:
            assert differences(sheet, found[sheet.name], records[sheet.name]) == [], read
        header, *rows = found["parcelas"]
        cents = sum(Decimal(str(row[header.index("valor")])) for row in rows)
        assert cents == sum(line["valor"] for line in records["parcelas"])


@pytest.mark.parametrize(
    ("listing", "filters", "path"),
    [
        ("estoque", Filters(), "/v2/estoque"),
        ("estoque", Filters({Filter.BRANCH: (2,)}), "/v2/estoque/filial/2"),
        ("contasreceber", Filters(), "/v2/financeiro/contasreceber"),
        ("contasreceber-baixados", Filters(), "/v2/financeiro/contasreceber/baixados"),
    ],
)
def test_other_exported_listings_equal_the_answer(
    tmp_path: Path, client: Client, fetch: Fetch, listing: str, filters: Filters, path: str
) -> None:
    answers = fetch(path)
    output = tmp_path / "out.xlsx"
    exported = export(client, listing, output, filters)
    assert exported.records == len(answers) > 0
    found = read_calamine(output)
    for sheet in LISTINGS[listing].sheets:
        records = answers
        if sheet.within:
            records = [record | part for record in answers for part in record[sheet.within[0]]]
        assert differences(sheet, found[sheet.name], records) == []


def test_orders_are_filtered_by_days_and_branch(
    tmp_path: Path, client: Client, fetch: Fetch
) -> None:
    start, end = datetime(2026, 3, 1), datetime(2026, 4, 30, 23, 59)
    answers = fetch(
        PEDIDO, dataInferior="01/03/2026", dataSuperior="30/04/2026", codigoDaFilial="1"
    )
    output = tmp_path / "pedidos.jsonl"
    exported = export(
        client,
        "pedidos",
        output,
        Filters({Filter.FROM: start, Filter.TO: end, Filter.BRANCH: (1,)}),
    )
    numbers = [json.loads(line)["numeroDoPedido"] for line in output.read_text().splitlines()]
    assert numbers == [order["numeroDoPedido"] for order in answers]
    assert 0 < exported.records < len(fetch(PEDIDO))


def test_progress_includes_what_is_left_before_the_first_call(
    tmp_path: Path, client: Client
) -> None:
    progress: list[ExportProgress] = []
    output = tmp_path / "c.csv"
    options = {"on_progress": progress.append}
    recent = Filters({Filter.FROM: datetime(2026, 10, 1)})
    done = export(client, "contatos", output, recent, run=options)
    assert progress[0] == ExportProgress(0, 0, None)
    assert progress[1].is_of_keys
    of_contacts = progress[1 + max(n for n, one in enumerate(progress) if one.is_of_keys) :]
    clients = of_contacts[0].records_left
    assert of_contacts[0].records == 0
    assert clients is not None
    assert 20 < clients < 200
    assert (of_contacts[-1].records, of_contacts[-1].records_left) == (done.records, 0)

    progress.clear()
    export(client, "nfe", output, Filters({Filter.ID: (1, 2)}), run=options)
    assert [one.records_left for one in progress if not one.records][:2] == [None, 2]
    assert progress[-1].records_left == 0

    progress.clear()
    export(client, "pedidos", output, run=options)
    assert progress[1].records == 0
    assert progress[1].windows_left
    assert progress[-1].windows_left == 0


def test_an_interrupted_export_leaves_no_file(tmp_path: Path, client: Client) -> None:
    def interrupt(advance: ExportProgress) -> None:
        if advance.records >= 3:
            raise KeyboardInterrupt

    for form in FORMATS:
        output = tmp_path / f"pedidos.{form}"
        with pytest.raises(KeyboardInterrupt):
            export(client, "pedidos", output, run={"on_progress": interrupt})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("output", ["missing/out.xlsx", "."])
def test_an_invalid_output_path_is_refused(tmp_path: Path, client: Client, output: str) -> None:
    with pytest.raises(UsageError):
        export(client, "estoque", tmp_path / output)
