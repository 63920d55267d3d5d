"""Declared reading options of a mapping on the page: keys in the first row of a record only,
selected rows, signs, days of a month."""

from pathlib import Path
from typing import Any

import httpx
import pytest
from running_page import open_workbook, wait_for_end

from xlbridge.sandbox import RunningSandbox

_BELOW = (
    "Nº do pedido;Emissão;Cliente;Código do produto;Qtde;Preço unitário;Total",
    "4501;23/11/2026;1311;;;;31,00",
    ";;;2001;2;10,50;21,00",
    ";;;2002;1;10,00;10,00",
    "4502;24/11/2026;1197;2001;1;10,50;10,50",
)
_SIGNED = (
    (
        "Cliente;Filial;Item;CC;Conta;Histórico;Nº documento;Dia de vencimento;Mês do vencimento;"
        "Valor;Situação"
    ),
    "1311;1;1.01.001;01.001;1;Aluguel;A-1;todo dia 10;11/2026;99,90;Em aberto",
    "1197;1;1.01.001;01.001;1;Suporte;A-2;dia 5;12/2026;-50,10;Em aberto",
    "1197;1;1.01.001;01.001;1;Suporte;A-3;dia 5;12/2026;50,10;Pago",
    "1197;1;1.01.001;01.001;1;Suporte;A-4;dia 5;12/2026;50,10;Em aberto",
)


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
    open_workbook(client, write(tmp_path, "pedidos.csv", _BELOW))
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
    form: dict[str, Any] = open_workbook(client, write(tmp_path, "a receber.csv", _SIGNED))[
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
