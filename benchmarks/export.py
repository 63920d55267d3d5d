"""Compare an export of sales orders with the usual pipeline on the same answers.

Usage: python benchmarks/export.py [ORDERS] [--alone] [--runs N] [--python PYTHON]

Exports ORDERS (default 20,000) N (5) times and prints the median, also with 1, 2 and 4 calls at
once. The usual pipeline takes minutes, so it runs once, or not at all with ``--alone``.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from processes import resident
from replay import Recorder
from seed import fill_database

from xlbridge.export import LISTINGS
from xlbridge.resources.names import field_title
from xlbridge.sandbox import sandbox_process

OURS = "xlbridge export"
CODES_ONLY = "xlbridge export --codes-only"
OPENPYXL = "json_normalize + to_excel (openpyxl)"
XLSXWRITER = "json_normalize + to_excel (xlsxwriter)"


@dataclass(frozen=True, slots=True)
class Cost:
    """Wall and processor seconds of a process and its helpers, peak memory in MB."""

    wall: float
    processor: float
    memory: float


WRITERS = ("jetxl", "xlsxturbo", "write_excel")
"""Writers of ``polars_export.py``, each after json and polars."""


def writer_command(python: str, folder: Path, writer: str) -> list[str]:
    """Return the command that exports the recorded orders with polars and a writer.

    It writes the titles of our columns, which the interpreter of the extra ``bench`` may not know.
    """
    titles = folder / "titles.json"
    columns = chain.from_iterable(sheet.columns for sheet in LISTINGS["pedidos"].sheets)
    named = {column.name: field_title(column.name).en for column in columns}
    titles.write_text(json.dumps(named), "utf-8")
    script = Path(__file__).with_name("polars_export.py")
    files = (folder / "urls", folder / f"{writer}.xlsx", writer, titles)
    return [python, str(script), *map(str, files)]


def cost_of(command: list[str], environment: dict[str, str]) -> Cost:
    """Run a command and return its cost as the operating system accounts for it.

    Memory is sampled 50 times a second.
    """
    start = time.perf_counter()
    # An installed program is compiled once, not with each command.
    compiled = {n: v for n, v in os.environ.items() if n != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(command, env=compiled | environment, stdout=subprocess.DEVNULL)
    peak = 0
    while True:
        pid, status, used = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        peak = max(peak, resident(process.pid))
        time.sleep(0.02)
    if status:
        sys.exit(f"{command} ended with {status}")
    return Cost(time.perf_counter() - start, used.ru_utime + used.ru_stime, peak / 2**20)


@contextmanager
def recorded_orders(
    folder: Path, orders: int, python: str = sys.executable
) -> Iterator[tuple[list[str], dict[str, str], Cost]]:
    """Yield the command and environment of an export from recorded answers, and its recording cost.

    ``python`` runs the command. The answers come from a sandbox seeded with the orders, in steps
    of two thousand.
    """
    folder.mkdir(exist_ok=True)
    environment = {"XLBRIDGE_HOME": str(folder / "home"), "XLBRIDGE_LANG": "en"}
    # To fill a large database, and to answer from it, may take longer than a user would wait.
    environment["XLBRIDGE_TIMEOUT"] = "600"
    database = str(folder / "seeded.db")
    fill_database(folder, database, max(1, orders // 2_000))
    with sandbox_process(folder, ["--db", database], os.environ | environment) as sandbox:
        recorder = Recorder(folder, sandbox.base_url)
        environment |= {
            "XLBRIDGE_BASE_URL": recorder.url,
            "XLBRIDGE_EMAIL": sandbox.email,
            "XLBRIDGE_PASSWORD": sandbox.password,
        }
        export = [python, "-m", "xlbridge", "export", "pedidos", "--force", "-o"]
        command = [*export, str(folder / "ours.xlsx")]
        first = cost_of(command, environment)
        print(f"{orders} orders, {len(recorder.recorded)} answers", file=sys.stderr)
        yield command, environment, first


def _median(costs: list[Cost]) -> Cost:
    return Cost(
        statistics.median(cost.wall for cost in costs),
        statistics.median(cost.processor for cost in costs),
        max(cost.memory for cost in costs),
    )


def main() -> None:
    """Print the costs and their ratios."""
    parser = argparse.ArgumentParser()
    parser.add_argument("orders", nargs="?", type=int, default=20_000)
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--runs", type=int, default=5, metavar="N")
    parser.add_argument("--python", default=sys.executable)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        recorded = recorded_orders(folder, arguments.orders, arguments.python)
        with recorded as (command, environment, first):
            coded, named = [], []
            for _ in range(arguments.runs):  # in turns, so that both meet the same other work
                coded.append(cost_of([*command, "--codes-only"], environment))
                named.append(cost_of(command, environment))
            costs = {OURS: _median(named), CODES_ONLY: _median(coded)}
            at_once = {
                calls: cost_of([*command, "--at-once", str(calls)], environment)
                for calls in (1, 2, 4)
            }
        urls = str(folder / "urls")
        usual = [arguments.python, str(Path(__file__).with_name("usual_export.py")), urls]
        engines = {} if arguments.alone else {OPENPYXL: "openpyxl", XLSXWRITER: "xlsxwriter"}
        for label, engine in engines.items():
            costs[label] = cost_of([*usual, str(folder / f"{engine}.xlsx"), engine], environment)
    ours = costs[OURS]
    for label, cost in costs.items():
        print(
            f"{label:40} {cost.wall:7.1f} s wall {cost.processor:7.1f} s processor "
            f"{cost.memory:6.0f} MB {cost.wall / ours.wall:7.1f} x wall "
            f"{cost.processor / ours.processor:6.1f} x processor "
            f"{cost.memory / ours.memory:6.1f} x memory"
        )
    for calls, cost in at_once.items():
        print(
            f"--at-once {calls}: {arguments.orders / cost.wall:,.0f} orders/s by the clock, "
            f"{arguments.orders / cost.processor:,.0f} in a second of processors, "
            f"{cost.memory:.0f} MB"
        )
    share = (first.wall - ours.wall) / first.wall
    print(f"the sandbox's own share of a live export ({first.wall:.1f} s): {share:.0%}", flush=True)


if __name__ == "__main__":
    main()
