"""Compare validating orders with child sheets and flat sheets with the same number of cells.

Usage: python benchmarks/child_sheets.py [ORDERS] [--runs RUNS] [--bad PERCENT]

Validates ORDERS (default 20,000) with four or five items each, every third with two instalments,
and flat sheets written in the same way: receivables with rows of twelve cells, a third of them
texts, and stock entries with rows of four, one a document shared by several rows. Commands take
turns. Prints seconds, processor seconds and memory of whole processes, and the processor time per
million cells. Asserts nothing.
"""

import argparse
import random
import sys
import tempfile
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import xlsxwriter
from bad_sheet import COLUMNS, write_sheet
from processes import costs

_HEADERS = {
    "pedido": ("chave", "codigoDaFilial", "codigoDoCliente", "dataDaOrdem", "observacao"),
    "produtos": ("chave", "idProduto", "quantidade", "valorUnitario"),
    "parcelas": ("chave", "numeroDaParcela", "dataDeVencimento", "valor"),
}
_ENTRY = ("documento", "codigoDaFilial", "dataDaEntrada", "quantidade")
_FIRST_DAY = datetime(2026, 1, 1)


def main() -> None:
    """Print the cost of a cell in each form."""
    parser = argparse.ArgumentParser()
    parser.add_argument("orders", nargs="?", type=int, default=20_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--bad", type=float, default=0, metavar="PERCENT")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        orders, wide, narrow = (Path(name, f"{n}.xlsx") for n in ("orders", "wide", "narrow"))
        cells = _write_orders(orders, arguments.orders, arguments.bad / 100)
        write_sheet(wide, round(cells / len(COLUMNS)), arguments.bad / 100, shared_texts=True)
        _write_entries(narrow, round(cells / len(_ENTRY)), arguments.bad / 100)
        sizes = {
            "orders with child sheets": (orders, cells),
            "flat, rows of twelve": (wide, cells),
            "flat, rows of four": (narrow, cells),
        }
        command = [sys.executable, "-m", "xlbridge", "validate", "--format", "json"]
        found = costs(
            {way: [*command, str(path)] for way, (path, _) in sizes.items()}, arguments.runs
        )
    per_million = {way: 1e6 * found[way].processor_seconds / sizes[way][1] for way in sizes}
    for way, (_, count) in sizes.items():
        cost, megabytes = found[way], found[way].megabytes or 0
        print(
            f"{way:25} {count:>10,} cells {cost.seconds:7.2f} s "
            f"{cost.processor_seconds:7.2f} s of processors {megabytes:6.0f} MB, "
            f"{per_million[way]:6.2f} s a million cells"
        )
    ours, *flat = per_million.values()
    ratios = " and ".join(f"{ours / one:.2f}" for one in flat)
    print(f"a cell of the orders costs {ratios} times one of the flat sheets")


def _write_orders(path: Path, count: int, bad: float) -> int:
    """Write orders and their child sheets; return the number of filled cells."""
    rng = random.Random(7)
    filled = 0
    with xlsxwriter.Workbook(path) as book:
        day = book.add_format({"num_format": "dd/mm/yyyy"})
        sheets = {name: book.add_worksheet(name) for name in _HEADERS}
        next_row = dict.fromkeys(_HEADERS, 1)
        for name, header in _HEADERS.items():
            sheets[name].write_row(0, 0, header)
        for number in range(1, count + 1):
            for name, row in _order(rng, number):
                for column, value in enumerate(row):
                    value = "dez" if column and rng.random() < bad else value
                    if isinstance(value, datetime):
                        sheets[name].write_datetime(next_row[name], column, value, day)
                    else:
                        sheets[name].write(next_row[name], column, value)
                next_row[name] += 1
                filled += len(row)
    return filled


def _write_entries(path: Path, count: int, bad: float) -> None:
    rng = random.Random(8)
    with xlsxwriter.Workbook(path) as book:
        day = book.add_format({"num_format": "dd/mm/yyyy"})
        sheet = book.add_worksheet("entrada")
        sheet.write_row(0, 0, _ENTRY)
        for row in range(1, count + 1):
            amount = "dez" if rng.random() < bad else rng.randrange(1, 9_000) / 100
            sheet.write(row, 0, f"NF-{row // 4:06}")
            sheet.write(row, 1, rng.randrange(1, 4))
            sheet.write_datetime(row, 2, _FIRST_DAY + timedelta(days=rng.randrange(300)), day)
            sheet.write(row, 3, amount)


def _order(rng: random.Random, number: int) -> list[tuple[str, tuple[Any, ...]]]:
    """Return the rows of an order, each with the name of its sheet."""
    key, ordered = f"PV-{number:06}", _FIRST_DAY + timedelta(days=rng.randrange(300))
    header = (key, rng.randrange(1, 4), rng.randrange(1, 1300), ordered, f"Pedido {number}")
    prices = [(rng.randrange(1, 90), rng.randrange(100, 9_000)) for _ in range(4 + number % 2)]
    rows: list[tuple[str, tuple[Any, ...]]] = [("pedido", header)]
    for amount, cents in prices:
        rows.append(("produtos", (key, rng.randrange(1, 500), amount, cents / 100)))
    if number % 3 == 0:
        total = sum(amount * cents for amount, cents in prices)
        for number_of_part, part in enumerate((total // 2, total - total // 2), start=1):
            due = ordered + timedelta(days=30 * number_of_part)
            rows.append(("parcelas", (key, number_of_part, due, part / 100)))
    return rows


if __name__ == "__main__":
    main()
