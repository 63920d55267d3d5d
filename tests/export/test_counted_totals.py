"""Totals of listings without an amount: numbers of rows by month, branch, status and client."""

import json
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from environment import Xlbridge
from fake_system import fake_system
from python_calamine import load_workbook

BRANCHES = [{"codigoDaFilial": 1, "descricaoDaFilial": "Matriz"}]
DAYS = ["2026-10-05T00:00:00", "2026-10-31T00:00:00", "2026-11-02T00:00:00", None]
ORDERS = [
    {"numeroDaOrdem": number, "codigoDaFilial": branch, "dataDaOrdem": day}
    for number, (day, branch) in enumerate(zip(DAYS, (1, 1, 2, 1), strict=True), start=1)
]
CLIENTS = [
    {"codigoDoCliente": number, "nomeComercial": f"Cliente {number}", "ativo": active}
    for number, active in enumerate([True] * 3 + [False, None], start=1)
]


def export(path: Path, xlbridge: Xlbridge, answers: dict[str, Any], *arguments: str) -> Any:
    """Export a listing of a system with these answers; return the totals of its manifest."""
    manifest = path.with_suffix(".json")
    with fake_system(answers) as system:
        options = ["-o", path, "--manifest", manifest]
        done = xlbridge("export", *arguments, *options, **system.environment())
    assert done.returncode == 0, done.stderr
    return json.loads(manifest.read_text("utf-8"))["totals"]


@pytest.mark.parametrize("suffix", [".xlsx", ".ods"])
@pytest.mark.parametrize(
    ("language", "month", "branch", "rows", "empty"),
    [
        ("en", "Order date, by month", "Branch", "Rows", "(empty)"),
        ("pt-BR", "Data da ordem, por mês", "Filial", "Linhas", "(vazio)"),
    ],
)
def test_orders_are_counted_by_month_and_branch(
    tmp_path: Path,
    xlbridge: Xlbridge,
    suffix: str,
    language: str,
    month: str,
    branch: str,
    rows: str,
    empty: str,
) -> None:
    path = tmp_path / f"ordens{suffix}"
    answers = {"/v2/compras/ordem/abertas": ORDERS, "/v2/estoque": BRANCHES}
    by_month, by_branch = export(path, xlbridge, answers, "ordens", "--lang", language)
    assert by_month == {
        "by": month,
        "sums": [
            {"label": "2026-10", "rows": 2},
            {"label": "2026-11", "rows": 1},
            {"label": "–", "rows": 1},
        ],
    }
    assert by_branch["sums"] == [{"label": "1", "rows": 3}, {"label": "2", "rows": 1}]
    cover = load_workbook(path).get_sheet_by_index(0).to_python()
    lines = [tuple(value for value in row if value != "") for row in cover]
    at = lines.index((month, rows))
    assert lines[at + 1 : at + 5] == [("10/2026", 2), ("11/2026", 1), (empty, 1), ("Total", 4)]
    at = lines.index((branch, rows))
    assert lines[at + 1 : at + 4] == [("1 – Matriz", 3), ("2", 1), ("Total", 4)]
    if suffix == ".xlsx":
        charts = openpyxl.load_workbook(path).worksheets[0]._charts
        name = "Export cover" if language == "en" else "Capa da exportação"
        counted = [f"'{name}'!$B$", f"'{name}'!$B$"]
        drawn = [chart.series[0].val.numRef.f for chart in charts]
        assert [found[: len(start)] for found, start in zip(drawn, counted, strict=True)] == counted
        assert {chart.y_axis.majorUnit for chart in charts} == {1}  # no fractions of rows


def test_clients_are_counted_by_whether_they_are_active(tmp_path: Path, xlbridge: Xlbridge) -> None:
    path = tmp_path / "clientes.xlsx"
    (by_status,) = export(path, xlbridge, {"/v2/cliente": CLIENTS}, "clientes")
    assert by_status["by"] == "Active"
    assert by_status["sums"] == [
        {"label": "false", "rows": 1},
        {"label": "true", "rows": 3},
        {"label": "–", "rows": 1},
    ]
    cover = [*openpyxl.load_workbook(path).worksheets[0].iter_rows(values_only=True, max_col=2)]
    at = cover.index(("Active", "Rows"))
    assert cover[at + 1 : at + 5] == [("no", 1), ("yes", 3), ("(empty)", 1), ("Total", 5)]


def test_the_clients_with_the_most_contacts_come_first(tmp_path: Path, xlbridge: Xlbridge) -> None:
    def contacts(client: int, count: int) -> dict[str, Any]:
        path = "/v2/clientecontato"
        return {
            f"{path}/{client}/{seq}": {"codigoDoCliente": client, "seqContato": seq, "ativo": True}
            for seq in range(1, count + 1)
        }

    answers = {"/v2/cliente": CLIENTS, **contacts(1, 1), **contacts(4, 2)}
    path = tmp_path / "contatos.xlsx"
    by_status, by_client = export(path, xlbridge, answers, "contatos")
    assert by_status["sums"] == [{"label": "true", "rows": 3}]
    assert by_client["sums"] == [{"label": "4", "rows": 2}, {"label": "1", "rows": 1}]


def test_an_export_without_rows_has_no_totals(tmp_path: Path, xlbridge: Xlbridge) -> None:
    answers: dict[str, Any] = {"/v2/compras/ordem/abertas": []}
    assert export(tmp_path / "ordens.xlsx", xlbridge, answers, "ordens") == []


@pytest.mark.parametrize(
    ("language", "heading", "states"),
    [
        ("en", "State", [("Cancelled", 1), ("Pending", 2)]),
        ("pt-BR", "Situação", [("Cancelado", 1), ("Pendente", 2)]),
    ],
)
def test_states_of_orders_have_words(
    tmp_path: Path, xlbridge: Xlbridge, language: str, heading: str, states: list[tuple[str, int]]
) -> None:
    path = tmp_path / "pedidos.xlsx"
    orders = [
        {"numeroDoPedido": number, state: True, "parcelas": [{"numero": 1, "valor": 10}]}
        for number, state in enumerate(("pendente", "cancelado", "pendente"), start=1)
    ]
    answers = {"/v2/faturamento/pedido": orders}
    by_state, _ = export(path, xlbridge, answers, "pedidos", "--codes-only", "--lang", language)
    assert [one["label"] for one in by_state["sums"]] == ["cancelado", "pendente"]
    cover = load_workbook(path).get_sheet_by_index(0).to_python()
    lines = [tuple(row[:2]) for row in cover]
    at = next(number for number, line in enumerate(lines) if line[0] == heading)
    assert lines[at + 1 : at + 3] == states
