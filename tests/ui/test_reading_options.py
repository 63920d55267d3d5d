"""Declared reading options of a mapping on the page: keys in the first row of a record only,
selected rows, signs, days of a month."""

from pathlib import Path
from typing import Any

import httpx
import pytest
from reading_options import KEYS_IN_FIRST_ROWS, SIGNED_TITLES
from running_page import open_workbook, wait_for_end

from xlbridge.sandbox import RunningSandbox


@pytest.fixture
def system(demo_sandbox: RunningSandbox) -> RunningSandbox:
    return demo_sandbox


def write(folder: Path, name: str, lines: tuple[str, ...]) -> Path:
    path = folder / name
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def confirmed(client: httpx.Client, form: dict[str, Any]) -> dict[str, Any]:
    names = ("resource", "sheet", "header_row", "columns", "rows", "once", "accept")
    answer = client.post("/api/map", json={name: form[name] for name in names})
    assert answer.status_code == 200, answer.text
    sheet: dict[str, Any] = answer.json()
    return sheet


def sent(client: httpx.Client) -> dict[str, Any]:
    token = client.post("/api/plan", json={}).json()["token"]
    client.post("/api/send", json={"token": token})
    rows: dict[str, Any] = wait_for_end(client)["outcome"]["rows"]
    return rows


def test_a_key_in_the_first_row_only_is_kept_on_the_page(
    client: httpx.Client, tmp_path: Path
) -> None:
    open_workbook(client, write(tmp_path, "pedidos.csv", KEYS_IN_FIRST_ROWS))
    form = client.post("/api/choose", json={"resource": "pedido"}).json()["mapping"]
    assert form["columns"]["chave"] == {"from": "Nº do pedido", "down": True}
    form["columns"]["codigoDaFilial"] = {"constant": "1"}
    assert confirmed(client, form)["errors"] == 0
    # The number of the record above is filled in after each edit.
    typed = [{"row": 4, "column": 4, "value": "3"}]
    assert client.post("/api/edit", json=typed).json()["errors"] == 0
    assert sent(client)["accepted"] == 2
    again = open_workbook(client, tmp_path / "pedidos.csv")["mapping"]
    assert (again["kind"], again["columns"]["chave"]["down"]) == ("remembered", True)


def test_rows_signs_and_days_are_kept_on_the_page(client: httpx.Client, tmp_path: Path) -> None:
    form: dict[str, Any] = open_workbook(client, write(tmp_path, "a receber.csv", SIGNED_TITLES))[
        "mapping"
    ]
    columns = form["columns"]
    assert form["rows"] == {"Situação": {"Em aberto": True, "Pago": False}}
    assert columns["valorDoLancamento"]["sign"] == "positive"
    assert columns["dataDeVencimento"] == {
        "from": "Dia de vencimento",
        "month": "Mês do vencimento",
    }
    assert confirmed(client, form)["errors"] == 0
    rows = sent(client)
    assert (rows["read"], rows["accepted"]) == (2, 2)
