"""Whole exports equal the sandbox's database: counts, keys and cents, sheet by sheet."""

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
import python_calamine
from environment import clean_environment, credentials
from processes import resident
from sandboxes import sandbox_process

pytestmark = pytest.mark.one_database

SHEETS = {
    "pedidos": ("sales_orders", ("numeroDoPedido",), "transportadoraValorFrete"),
    "parcelas": ("sales_order_installments", ("numeroDoPedido", "numeroDaParcela"), "valor"),
    "produtos": ("sales_order_items", ("numeroDoPedido", "seq"), "totalLiquido"),
}
STORED_PLACES = 6
"""Columns that the sandbox stores as integers in SQLite."""

MOST_MEMORY = 300 * 2**20
"""Bytes."""


def peak_bytes(process: "subprocess.Popen[bytes]") -> int:
    """Wait for a process; return the peak memory of it and its helpers."""
    peak = 0
    while process.poll() is None:
        peak = max(peak, resident(process.pid))
        time.sleep(0.05)
    return peak


def of_database(path: Path, table: str, key: tuple[str, ...], amount: str) -> tuple[int, int, int]:
    """Return the count, the sum of the keys and the cents of a table."""
    with sqlite3.connect(path) as base:
        names = ", ".join([*key, amount])
        rows = base.execute(f"SELECT {names} FROM {table}").fetchall()
    base.close()
    cents = sum(int(Decimal(row[-1] or 0).scaleb(2 - STORED_PLACES)) for row in rows)
    return len(rows), sum(hash(row[:-1]) for row in rows), cents


def of_workbook(path: Path, sheet: str, key: tuple[str, ...], amount: str) -> tuple[int, int, int]:
    """Return the same of a sheet, whose rows are read one by one."""
    with path.open("rb") as stream:
        rows: Iterator[list[object]] = iter(
            python_calamine.load_workbook(stream).get_sheet_by_name(sheet).iter_rows()
        )
        header = next(rows)
        places = [header.index(name) for name in key]
        money = header.index(amount)
        count = keys = cents = 0
        for row in rows:
            count += 1
            keys += hash(tuple(int(row[place]) for place in places))  # type: ignore[call-overload]
            cents += int((Decimal(str(row[money] or 0)) * 100).to_integral())
    return count, keys, cents


@pytest.mark.parametrize("scale", [1, pytest.param(50, marks=pytest.mark.slow)])
def test_orders_are_those_of_the_database(tmp_path: Path, scale: int) -> None:
    home = tmp_path / "home"
    output = tmp_path / "pedidos.xlsx"
    seed = ["--seed", "demo", "--scale", str(scale)]
    with sandbox_process(home, seed, clean_environment(home)) as sandbox:
        command = [sys.executable, "-m", "xlbridge", "export", "pedidos", "-o", str(output)]
        process = subprocess.Popen(
            command,
            env=clean_environment(tmp_path / "own", **credentials(sandbox)),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        peak = peak_bytes(process)
        assert process.stderr is not None
        told = process.stderr.read()
        process.stderr.close()
        assert process.returncode == 0, told
    (database,) = home.glob("*.db")
    for sheet, (table, key, amount) in SHEETS.items():
        expected = of_database(database, table, key, amount)
        assert of_workbook(output, sheet, key, amount) == expected, sheet
        assert expected[0] >= 2_000 * scale
    if os.name == "posix" and Path("/proc").is_dir():
        assert 0 < peak < MOST_MEMORY
    print(f"peak memory {peak / 2**20:.0f} MB")
