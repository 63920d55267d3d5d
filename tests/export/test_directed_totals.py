"""Totals of what comes in and goes out: the cash and bank statement, stock movements."""

import json
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import openpyxl
import pytest
from environment import Xlbridge
from fake_system import fake_system

PERIOD = ["--from", "01/10/2026", "--to", "30/11/2026"]


def line(number: int, kind: str | None, day: str, amount: float) -> dict[str, Any]:
    """Return a line of a statement, with its whole amount in one part."""
    key = {"codigoDoExercicio": 2026, "codigoDaFilial": 1, "sequenciaDaTransacao": 1}
    parts = [{"seq": 1, "valor": amount}]
    return {
        **key, "numeroDaTransacao": number, "tipo": kind, "data": day, "valor": amount,
        "rateio": parts,
    }  # fmt: skip


def export(path: Path, xlbridge: Xlbridge, lines: list[dict[str, Any]]) -> list[Any]:
    """Export a statement with these lines; return the totals of its manifest."""
    statement = {
        "codigoDaContaCorrente": 1,
        "totalDeEntradas": 100.5,
        "totalDeSaidas": 30,
        "lancamentos": lines,
    }
    manifest = path.with_suffix(".json")
    with fake_system({"/v2/financeiro/caixabancos": statement}) as system:
        options = ["-o", path, "--manifest", manifest, "--account", "1", *PERIOD]
        done = xlbridge("export", "caixabancos", *options, **system.environment())
    assert done.returncode == 0, done.stderr
    totals: list[Any] = json.loads(manifest.read_text("utf-8"))["totals"]
    return totals


LINES = [
    line(1, "Entrada", "2026-10-05", 100.5),
    line(2, "Saída", "2026-10-06", 30),
    line(3, "Saída", "2026-11-06", 12.25),
]


def test_outflows_are_taken_from_inflows(tmp_path: Path, xlbridge: Xlbridge) -> None:
    path = tmp_path / "cb.xlsx"
    by_month, by_branch = export(path, xlbridge, LINES)
    total = {"label": "1", "rows": 3, "amount": "58.25", "inflow": "100.5", "outflow": "42.25"}
    assert by_branch["sums"] == [total]
    assert [one["amount"] for one in by_month["sums"]] == ["70.5", "-12.25"]
    book = openpyxl.load_workbook(path)
    cover = [row[:5] for row in book.worksheets[0].iter_rows(values_only=True)]
    assert ("10/2026", 2, 100.5, 30, 70.5) in cover
    assert ("11/2026", 1, 0, 12.25, -12.25) in cover
    assert cover.count(("Total", 3, 100.5, 42.25, 58.25)) == 2
    chart = book.worksheets[0]._charts[0]
    assert chart.x_axis.tickLblPos == "low"  # not below the bars to the left of zero
    assert "Net (inflows" in "".join(run.t for run in chart.title.tx.rich.p[0].r)
    headings = ("Rows", "Inflows (R$)", "Outflows (R$)", "Net (inflows – outflows) (R$)")
    assert [row[1:] for row in cover].count(headings) == 2


@pytest.mark.parametrize("suffix", [".xlsx", ".ods"])
def test_mixed_amounts_have_no_sum_below_them(
    tmp_path: Path, xlbridge: Xlbridge, suffix: str
) -> None:
    path = tmp_path / f"cb{suffix}"
    export(path, xlbridge, LINES)
    if suffix == ".xlsx":
        book = openpyxl.load_workbook(path)
        rows = {sheet.title: sheet.max_row for sheet in book.worksheets[1:]}
        # The accounts' own amounts have one direction each.
        assert rows == {"caixabancos": 3, "lancamentos": 4, "lancamentos.rateio": 4}
    else:
        content = ZipFile(path).read("content.xml").decode()
        sheets = content.split("<table:table ")[1:]
        assert ["SUBTOTAL" in sheet for sheet in sheets] == [False, True, False, False]


def test_without_a_known_direction_there_are_no_totals(tmp_path: Path, xlbridge: Xlbridge) -> None:
    assert export(tmp_path / "cb.xlsx", xlbridge, [*LINES, line(4, None, "2026-10-07", 1)]) == []


def test_invoices_are_also_totalled_by_kind_of_operation(
    tmp_path: Path, xlbridge: Xlbridge
) -> None:
    invoice = {"idNF": 1, "valorDosProdutos": 5, "tipoDeOperacao": "Entrada"}
    path, manifest = tmp_path / "nfe.xlsx", tmp_path / "nfe.json"
    with fake_system({"/v2/faturamento/nfe/1": invoice}) as system:
        options = ["-o", path, "--manifest", manifest, "--id", "1"]
        done = xlbridge("export", "nfe", *options, **system.environment())
    assert done.returncode == 0, done.stderr
    by = {one["by"]: one["sums"] for one in json.loads(manifest.read_text("utf-8"))["totals"]}
    assert by["Kind of operation"] == [{"label": "Entrada", "rows": 1, "amount": "5"}]
