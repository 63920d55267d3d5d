"""A .csv or .ods file of a batch is corrected on the page, and goes back in its own form."""

from pathlib import Path
from typing import Any

import httpx
import pytest
from libreoffice import save_with_libreoffice
from open_document import date_cell, number_cell, text_cell, write_ods
from running_page import wait_for_end
from sheets import write_records

from xlbridge.sandbox import RunningSandbox
from xlbridge.settings import WorkbookLimits
from xlbridge.workbook.read import read_workbook

CSV = (
    "sep=;\r\n"
    "codigoDaFilial;codigoDoCliente;codigoDoItemDeLancamento;codigoDoCentroDeCusto;"
    "codigoDaContaCorrente;numeroDoDocumento;valorDoLancamento;dataDeEmissao;dataDeVencimento;"
    "historico\r\n"
    '1;1;11;1;1;NF-1;1.000,10;20/09/2026;20/11/2026;"à vista; ""já"""\r\n'
    '1;1;11;1;1;NF-2;abc;20/09/2026;20/11/2026;="007"\r\n'
    "\r\n"
    "1;1;11;1;1;NF-3;30,50;20/09/2026;21/11/2026;ok"
).encode("cp1252")

NEW = ("1", "1", "11", "1", "1", "NF-9", "5", "20/09/2026", "23/11/2026", "nova")


@pytest.fixture
def system(demo_sandbox: RunningSandbox) -> RunningSandbox:
    """The system to which the page sends: a company with clients."""
    return demo_sandbox


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "Mês 2026-11"
    folder.mkdir()
    return folder


def opened(client: httpx.Client, folder: Path) -> dict[str, Any]:
    """Begin the batch of the only workbook of a folder, and open it as a copy."""
    (book,) = client.post("/api/workbooks", json={"folder": str(folder)}).json()["workbooks"]
    body = {"folder": str(folder), "name": "m", "month": "2026-11", "workbooks": [book["key"]]}
    plan = client.post("/api/new-plan", json=body).json()["plan"]
    assert client.post("/api/begin-batch", json={"plan": plan, "month": "2026-11"}).is_success
    wait_for_end(client)
    (batch,) = client.get("/api/batches").json()["batches"]
    unit = {"batch": batch["batch"], "step": book["title"], "unit": book["file"]}
    sheet: dict[str, Any] = client.post("/api/batch-unit", json=unit).json()
    return sheet


def edited(client: httpx.Client, *cells: tuple[int, int, str]) -> dict[str, Any]:
    content = [{"row": row, "column": column, "value": text} for row, column, text in cells]
    sheet: dict[str, Any] = client.post("/api/edit", json=content).json()
    return sheet


def replaced(client: httpx.Client) -> str:
    answer = client.post("/api/replace-unit", json={}).json()
    return str(answer.get("message") or answer["error"]["message"])


def test_edited_rows_of_a_csv_are_written_as_the_others_are(
    client: httpx.Client, folder: Path, home: Path
) -> None:
    file = folder / "titulos.csv"
    file.write_bytes(CSV)
    assert opened(client, folder)["errors"] == 1
    sheet = edited(client, (3, 6, "1234,5"), (3, 8, "22/11/2026"), (3, 9, "São João"))
    assert sheet["errors"] == 0
    assert "titulos.csv" in replaced(client)
    lines = CSV.split(b"\r\n")
    lines[3] = "1;1;11;1;1;NF-2;1234,5;20/09/2026;22/11/2026;São João".encode("cp1252")
    assert file.read_bytes() == b"\r\n".join(lines)
    (kept,) = (home / "replaced").iterdir()
    assert kept.read_bytes() == CSV


def test_rows_of_a_csv_are_inserted_and_deleted_in_their_place(
    client: httpx.Client, folder: Path
) -> None:
    file = folder / "titulos.csv"
    file.write_bytes(CSV)
    opened(client, folder)
    client.post("/api/insert-rows", json={"above": 2, "count": 1})
    edited(client, *((6, column, text) for column, text in enumerate(NEW)))
    block = {"view": "all", "first": 3, "last": 3, "left": 0, "right": 9}
    assert client.post("/api/delete-rows", json=block).json()["errors"] == 0
    assert "titulos.csv" in replaced(client)
    lines = CSV.split(b"\r\n")
    lines[3] = ";".join(NEW).encode()
    assert file.read_bytes() == b"\r\n".join(lines)


def test_a_text_that_the_encoding_of_a_csv_lacks_is_refused(
    client: httpx.Client, folder: Path
) -> None:
    file = folder / "titulos.csv"
    file.write_bytes(CSV)
    opened(client, folder)
    edited(client, (3, 9, "日本"))
    assert "Windows-1252" in replaced(client)
    assert file.read_bytes() == CSV


def columns_of(path: Path) -> list[list[object]]:
    (sheet,) = read_workbook(path, WorkbookLimits(), trusted=path.read_bytes()).sheets
    return [[column.value(row) for column in sheet.columns] for row in range(sheet.height)]


def write_titles(path: Path) -> Path:
    """Write titles, of which one has a wrong amount; equal cells that follow each other are one."""
    header = CSV.decode("cp1252").split("\r\n")[1].split(";")
    row = [number_cell(value) for value in (1, 1, 11, 1, 1)]
    row += [text_cell("NF-1"), number_cell(10.5), date_cell("2026-09-20")]
    row += [date_cell("2026-11-20"), text_cell("a")]
    second = [*row[:5], text_cell("NF-2"), text_cell("abc"), *row[7:]]
    twice = '<table:table-cell table:number-columns-repeated="2" office:value-type="float" '
    twice += 'office:value="1"><text:p>1</text:p></table:table-cell>'
    third = [twice, *row[2:5], text_cell("NF-3"), *row[6:]]
    return write_ods(path, [map(text_cell, header), row, second, third])


def test_cells_of_an_ods_are_edited_in_place(client: httpx.Client, folder: Path) -> None:
    file = write_titles(folder / "titulos.ods")
    before = columns_of(file)
    assert opened(client, folder)["errors"] == 1
    edited(client, (3, 6, "1234.5"), (4, 1, "2"), (4, 8, "22/11/2026"), (2, 9, "b\nc"))
    client.post("/api/insert-rows", json={"above": 2, "count": 1})
    sheet = edited(client, *((5, n, text) for n, text in enumerate(NEW)))
    assert sheet["errors"] == 0, sheet["rules"]
    assert "titulos.ods" in replaced(client)
    after = columns_of(file)
    assert [row[5] for row in after[1:]] == ["NF-1", "NF-9", "NF-2", "NF-3"]
    assert after[1] == [*before[1][:9], "b\nc"]
    assert after[3][6] == 1234.5
    assert (after[4][0], after[4][1], str(after[4][8])[:10]) == (1.0, 2.0, "2026-11-22")


def test_an_ods_with_formulas_is_left_as_it_was(client: httpx.Client, folder: Path) -> None:
    sum_cell = '<table:table-cell table:formula="of:=1+1" office:value-type="float" '
    sum_cell += 'office:value="2"><text:p>2</text:p></table:table-cell>'
    names = [text_cell("nomeComercial"), text_cell("natureza"), text_cell("codigoDoVendedor")]
    rows = [names, [text_cell("Ana"), text_cell("X"), sum_cell]]
    file = write_ods(folder / "clientes.ods", rows)
    before = file.read_bytes()
    opened(client, folder)
    edited(client, (2, 0, "Bia"))
    assert "has formulas" in replaced(client)
    assert file.read_bytes() == before


@pytest.mark.programs
def test_a_workbook_of_libreoffice_is_edited_in_place(
    client: httpx.Client, folder: Path, tmp_path: Path
) -> None:
    source = write_records(
        tmp_path / "clientes.xlsx", "cliente", [{"nomeComercial": None}, {"cnpj": None}]
    )
    (saved,) = save_with_libreoffice([source], tmp_path / "saved", "ods")
    file = saved.rename(folder / "clientes.ods")
    before = columns_of(file)
    sheet = opened(client, folder)
    assert sheet["errors"] == 1, sheet["rules"]
    at = next(column["index"] for column in sheet["columns"] if column["name"] == "nomeComercial")
    row = sheet["header_row"] + 1
    assert edited(client, (row, at, "Padaria  do   Zé"))["errors"] == 0
    assert "clientes.ods" in replaced(client)
    before[row - 1][at] = "Padaria  do   Zé"
    after = columns_of(file)
    assert [row for row, old in zip(after, before, strict=True) if row != old] == []
