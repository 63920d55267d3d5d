"""Compare creating orders one by one with a plain sequential loop of httpx posts.

Usage: python benchmarks/records.py [ORDERS]

``Connection.upload`` creates ORDERS (default 600) of three items with plan, journal and verdict, 1
and 4 at once, and the loop creates as many: first with a sandbox that takes 50 ms per answer, then,
three times in turn, with one without delay. Prints the medians of orders per second and of their
ratio to the loop of the same turn, the processor time of client and sandbox per order, and the
journal's share of an upload (time in its statements and commits). Then as many orders, and
``--most`` (10,000), are uploaded by separate processes, whose peak memory is printed after
validating, after planning and at the end. Asserts nothing.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import wraps
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import httpx
import xlsxwriter
from processes import processor_seconds

import xlbridge as xb
from xlbridge.local_database import LocalDatabase

_TURNS = {0.05: 1, 0.0: 3}
"""Repetitions of the comparison, by the delay of answers in seconds."""

_CONCURRENCIES = (1, 4)
_PATH = "/v2/faturamento/pedido"
_PRODUCTS = 3


def main() -> None:
    """Print the cost of orders created one by one."""
    parser = argparse.ArgumentParser()
    parser.add_argument("orders", nargs="?", type=int, default=600)
    parser.add_argument("--most", type=int, default=10_000)
    arguments = parser.parse_args()
    count: int = arguments.orders
    for delay, turns in _TURNS.items():
        print(f"{count:,} orders of {_PRODUCTS} items, answers after {delay * 1000:.0f} ms")
        with tempfile.TemporaryDirectory() as folder, _sandbox(Path(folder), delay) as http:
            _compare(http, Path(folder), count, turns)
    print("peak of an upload's memory, 4 at once, in a process of its own")
    for number in (count, arguments.most):
        with tempfile.TemporaryDirectory() as folder, _sandbox(Path(folder), 0.0) as http:
            path = _workbook(Path(folder) / "pedidos.xlsx", *_registries(http), number, "4")
            with ProcessPoolExecutor(1, get_context("spawn")) as alone:
                done = alone.submit(_upload, path, number, 4).result()
        print(
            f"  {number:6,} orders  {done.peak:5,.0f} MB, validated {done.validated:5,.0f} MB, "
            f"planned {done.planned:5,.0f} MB   "
            f"{done.rate:7.1f} orders/s",
            flush=True,
        )


def _compare(http: httpx.Client, folder: Path, count: int, turns: int) -> None:
    client, items = _registries(http)
    # What is imported and opened at the first upload is no part of the others.
    _upload(_workbook(folder / "primeiro.xlsx", client, items, 1, "0"), 1, 1)
    loops: list[_Cost] = []
    uploads: dict[int, list[_Cost]] = {at_once: [] for at_once in _CONCURRENCIES}
    for turn in range(turns):
        loops.append(_loop(http, client, items, count))
        for at_once, done in uploads.items():
            name = f"{turn}-{at_once}"
            path = _workbook(folder / f"{name}.xlsx", client, items, count, name)
            done.append(_upload(path, count, at_once))
    _print_medians("plain loop of posts", loops, loops)
    for at_once, done in uploads.items():
        _print_medians(f"upload, {at_once} at once", done, loops)


def _print_medians(name: str, done: "list[_Cost]", loops: "list[_Cost]") -> None:
    def median(of: Callable[[_Cost], float]) -> float:
        return statistics.median(map(of, done))

    ratio = statistics.median(one.rate / loop.rate for one, loop in zip(done, loops, strict=True))
    print(
        f"  {name:19} {median(lambda one: one.rate):7.1f} orders/s  {ratio:5.2f} x the loop  "
        f"processor ms each: client {median(lambda one: one.client) * 1000:5.2f}, "
        f"sandbox {median(lambda one: one.sandbox) * 1000:5.2f}   "
        f"journal {median(lambda one: one.journal):.1%}",
        flush=True,
    )


def _loop(http: httpx.Client, client: int, items: list[Any], count: int) -> "_Cost":
    """Create orders one after another; return the cost."""
    stopwatch = _Stopwatch()
    for number in range(count):
        order = {"codigoDaFilial": 1, "codigoDoCliente": client, "observacao": f"Laço {number}"}
        http.post(_PATH, json={**order, "produtos": items}).raise_for_status()
    return stopwatch.cost_of(count)


def _registries(http: httpx.Client) -> tuple[int, list[Any]]:
    """Create the records that orders refer to; return the client code and the items."""
    client = _create(http, "/v2/cliente", nomeComercial="Ana", cnpj="11222333000181")
    names = [f"Parafuso {place}" for place in range(_PRODUCTS)]
    products = [_create(http, "/v2/produto", descricaoDoProduto=name) for name in names]
    return client["codigoDoCliente"], [_item(product["idProduto"]) for product in products]


def _create(http: httpx.Client, path: str, **fields: str) -> Any:
    return http.post(path, json=fields).raise_for_status().json()["data"]


def _item(product: int) -> dict[str, Any]:
    return {"idProduto": product, "quantidade": 2, "valorUnitario": 12.5}


def _workbook(path: Path, client: int, items: list[Any], count: int, name: str) -> Path:
    """Write a workbook of orders that no other upload contains."""
    names = list(items[0])
    with xlsxwriter.Workbook(path) as book:
        orders, products = book.add_worksheet("pedido"), book.add_worksheet("produtos")
        orders.write_row(0, 0, ["chave", "codigoDaFilial", "codigoDoCliente", "observacao"])
        products.write_row(0, 0, ["chave", *names])
        for number in range(count):
            key = f"{name}-{number:06}"
            orders.write_row(number + 1, 0, [key, 1, client, f"Planilha {key}"])
            for row, item in enumerate(items, number * len(items) + 1):
                products.write_row(row, 0, [key, *item.values()])
    return path


@dataclass(frozen=True)
class _Cost:
    """Cost of orders: rate per second, processor seconds of client and sandbox per order,
    share of the journal; peak memory in MB after validating, after planning and at the end.
    """

    rate: float
    client: float
    sandbox: float
    journal: float
    validated: float = 0.0
    planned: float = 0.0
    peak: float = 0.0


class _Stopwatch:
    """Time spent since its creation."""

    def __init__(self) -> None:
        self._start = self._now()

    def cost_of(self, count: int) -> _Cost:
        """Return the cost of the given number of orders."""
        seconds, *others = (n - b for n, b in zip(self._now(), self._start, strict=True))
        client, sandbox, journal = others
        return _Cost(count / seconds, client / count, sandbox / count, journal / seconds)

    @staticmethod
    def _now() -> tuple[float, ...]:
        sandbox = processor_seconds(int(os.environ["SANDBOX_PID"]))
        return time.perf_counter(), time.process_time(), sandbox, _Journal.seconds


class _Journal:
    """Time spent by this process in statements and commits of its databases."""

    seconds = 0.0

    @classmethod
    def measure(cls) -> None:
        """Count the time of each statement from now on."""
        for name in ("execute", "executemany", "executescript"):
            statement = getattr(LocalDatabase, name)
            if not hasattr(statement, "__wrapped__"):
                setattr(LocalDatabase, name, cls._measured(statement))

    @classmethod
    def _measured(cls, statement: Any) -> Any:
        @wraps(statement)
        def measured(*arguments: Any) -> Any:
            start = time.perf_counter()
            try:
                return statement(*arguments)
            finally:
                cls.seconds += time.perf_counter() - start

        return measured


def _upload(path: Path, count: int, at_once: int) -> _Cost:
    """Create orders by an upload; return the cost."""
    _Journal.measure()
    report = xb.validate(path)
    validated = _peak()
    with xb.connect() as erp:
        # As with the loop, the login is not measured.
        erp.client.system.info()
        erp.plan(report)
        planned = _peak()
        stopwatch = _Stopwatch()
        outcome = erp.upload(report, mode="records", at_once=at_once, yes=True)
        done = stopwatch.cost_of(count)
    if outcome.rows["accepted"] != count:
        raise SystemExit(f"{outcome.state}: {outcome.rows}")
    return replace(done, validated=validated, planned=planned, peak=_peak())


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@contextmanager
def _sandbox(folder: Path, delay: float) -> Iterator[httpx.Client]:
    """Run a sandbox for this process and its uploads; yield a client of it."""
    ready = folder / "ready.json"
    os.environ["XLBRIDGE_HOME"] = str(folder / "home")
    options = ["--seed", "empty", "--db", str(folder / "sandbox.db"), "--ready-file", str(ready)]
    if delay:
        options += ["--faults", f"delay={delay}@1"]
    command = [sys.executable, "-m", "xlbridge", "sandbox", *options]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            while not ready.exists():
                time.sleep(0.05)
            running = json.loads(ready.read_text("utf-8"))
            os.environ["XLBRIDGE_BASE_URL"] = running["base_url"]
            os.environ["SANDBOX_PID"] = str(running["pid"])
            os.environ["XLBRIDGE_EMAIL"] = running["email"]
            os.environ["XLBRIDGE_PASSWORD"] = running["password"]
            login = {"email": running["email"], "password": running["password"]}
            with httpx.Client(base_url=running["base_url"], timeout=60) as http:
                token = http.post("/v2/autenticar", json=login).json()["accessToken"]
                http.headers["Authorization"] = f"Bearer {token}"
                yield http
        finally:
            process.terminate()


if __name__ == "__main__":
    main()
