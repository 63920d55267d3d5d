"""Exports of a plan: into an analyst's workbook and what to do if that fails, without names."""

import json
from contextlib import closing
from pathlib import Path
from shutil import copyfile

import xlsxwriter
from batch_parts import RunBatch, WritePlan
from openpyxl import load_workbook

_STEPS = """version: 1
name: {name}
steps:
  titles: {{export: contasreceber, into: {titles}}}
  clients: {{export: clientes, into: {clients}}}
"""


def _write_book(path: Path) -> None:
    titles = ["Número da transação", "Sequência da transação", "Valor do lançamento"]
    clients = ["Código do cliente", "Nome comercial"]
    with xlsxwriter.Workbook(str(path)) as book:
        for name, headers in (("Titulos", titles), ("Clientes", clients)):
            columns = [{"header": header} for header in headers]
            table = {"name": name, "columns": columns}
            book.add_worksheet(name).add_table(0, 0, 2, len(headers) - 1, table)


def test_two_listings_refresh_one_workbook_and_a_second_time_change_nothing(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path
) -> None:
    book = tmp_path / "book.xlsx"
    _write_book(book)
    empty, written = book.read_bytes(), []
    for name in ("first", "second"):
        plan = write_plan(_STEPS.format(name=name, titles="book.xlsx", clients="book.xlsx"))
        done = run_batch("run", plan, "--yes")
        assert done.returncode == 0, done.stdout + done.stderr
        written.append(book.read_bytes())
    assert written[0] == written[1] != empty


def test_a_workbook_that_cannot_be_refreshed_says_what_to_do(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path
) -> None:
    book, opened = tmp_path / "book.xlsx", tmp_path / "open.xlsx"
    _write_book(book)
    copyfile(book, opened)
    (tmp_path / "~$open.xlsx").touch()
    before = book.read_bytes()
    plan = _STEPS.format(name="open", titles="book.xlsx, sheet: Wrong", clients="open.xlsx")
    plan += "  orders: {export: estoque, into: missing.xlsx}\n"
    failed = run_batch("run", write_plan(plan), "--yes")
    assert failed.returncode == 1
    for told in (
        "book.xlsx has no sheet or table 'Wrong'",
        "There are: Titulos (Titulos), Clientes (Clientes)",
        "open.xlsx is open in another program. Save and close the workbook",
        "missing.xlsx does not exist. Check its name and folder",
    ):
        assert told in failed.stdout.replace("\n", " "), told
    assert book.read_bytes() == before
    assert f"{tmp_path}/open.xlsx is open" not in failed.stdout


def test_an_export_of_a_plan_leaves_out_names_on_request(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path
) -> None:
    steps = "  {0}: {{export: contasreceber, output: {0}.xlsx, codes_only: {1}}}\n"
    plan = "name: month\nsteps:\n" + steps.format("named", "false") + steps.format("coded", "true")
    done = run_batch("run", write_plan(plan), "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    headers = {}
    for name in ("named", "coded"):
        with closing(load_workbook(tmp_path / f"{name}.xlsx", read_only=True)) as book:
            headers[name] = {str(cell.value) for cell in next(book["contasreceber"].iter_rows())}
    assert headers["coded"] < headers["named"]
    assert {name for name in headers["named"] if name.endswith("(name)")} == (
        headers["named"] - headers["coded"]
    )


def test_an_export_with_another_option_is_done_again(
    run_batch: RunBatch, write_plan: WritePlan
) -> None:
    step = "export: contasreceber, output: t.xlsx, as_template: contasreceber"
    for more, state in (("", "done"), (", settled: true", "changed")):
        plan = write_plan(f"name: month\nsteps:\n  titles: {{{step}{more}}}\n")
        if not more:
            assert run_batch("run", plan, "--yes").returncode == 0
        found = json.loads(run_batch("status", "month", "--format", "json").stdout)
        assert [one["state"] for one in found["steps"]] == [state]
