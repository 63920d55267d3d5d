"""Complete exports equal the sandbox's database: counts, keys and cents, sheet by sheet."""

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
STORED_DECIMALS = 6
"""Decimals of amounts, which the sandbox stores as integers in SQLite."""

MAX_MEMORY = 300 * 2**20
"""Bytes."""


def peak_bytes(process: "subprocess.Popen[bytes]") -> int:
    """Wait for a process; return the peak memory of it and its helpers."""
    peak = 0
    while process.poll() is None:
        peak = max(peak, resident(process.pid))
        time.sleep(0.05)
    return peak


def database_totals(
    path: Path, table: str, key: tuple[str, ...], amount: str
) -> tuple[int, int, int]:
    """Return the count, the sum of the keys and the cents of a table."""
    with sqlite3.connect(path) as base:
        names = ", ".join([*key, amount])
        rows = base.execute(f"SELECT {names} FROM {table}").fetchall()
    base.close()
    cents = sum(int(Decimal(row[-1] or 0).scaleb(2 - STORED_DECIMALS)) for row in rows)
    return len(rows), sum(hash(row[:-1]) for row in rows), cents


def sheet_totals(path: Path, sheet: str, key: tuple[str, ...], amount: str) -> tuple[int, int, int]:
    """Return the same values of a sheet."""
    with path.open("rb") as stream:
        rows: Iterator[list[object]] = iter(
            python_calamine.load_workbook(stream).get_sheet_by_name(sheet).iter_rows()
        )
        header = next(rows)
        indexes = [header.index(name) for name in key]
        money = header.index(amount)
        count = keys = cents = 0
        for row in rows:
            count += 1
            keys += hash(tuple(int(row[index]) for index in indexes))  # type: ignore[call-overload]
            cents += int((Decimal(str(row[money] or 0)) * 100).to_integral())
    return count, keys, cents


@pytest.mark.processes
@pytest.mark.parametrize("scale", [1, pytest.param(50, marks=pytest.mark.slow)])
def test_exported_orders_equal_the_database(tmp_path: Path, scale: int) -> None:
    home = tmp_path / "home"
    output = tmp_path / "pedidos.xlsx"
    seed = ["--seed", "demo", "--scale", str(scale)]
    with sandbox_process(home, seed, clean_environment(home)) as sandbox:
        command = [sys.executable, "-m", "xlbridge", "export", "pedidos", "-o", str(output)]
        command += ["--headers", "names"]
        process = subprocess.Popen(
            command,
            env=clean_environment(tmp_path / "own", **credentials(sandbox)),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        peak = peak_bytes(process)
        assert process.stderr is not None
        stderr = process.stderr.read()
        process.stderr.close()
        assert process.returncode == 0, stderr
    (database,) = home.glob("*.db")
    for sheet, (table, key, amount) in SHEETS.items():
        expected = database_totals(database, table, key, amount)
        assert sheet_totals(output, sheet, key, amount) == expected, sheet
        assert expected[0] >= 2_000 * scale
    if os.name == "posix" and Path("/proc").is_dir():
        assert 0 < peak < MAX_MEMORY
    print(f"peak memory {peak / 2**20:.0f} MB")
