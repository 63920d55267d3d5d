"""Orders with items created one by one, against a plain sequential loop of httpx posts, in one run.

Usage: python benchmarks/records.py [ORDERS]

ORDERS (600 unless told) orders of three items are created by ``Connection.upload``, with the plan,
the journal and the verdict, 1 and 4 at once, and as many by the loop: first by a sandbox that takes
50 ms for an answer, then by one without that delay. Printed are orders per second, the ratio to the
loop, and the peak of the uploads' memory. Nothing is asserted.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import xlsxwriter

import xlbridge as xb

_DELAY = 0.05
_WAYS = (1, 4)
_PATH = "/v2/faturamento/pedido"
_PRODUCTS = 3


def main() -> None:
    """Print what orders cost, by one call each."""
    parser = argparse.ArgumentParser()
    parser.add_argument("orders", nargs="?", type=int, default=600)
    count: int = parser.parse_args().orders
    for delay in (_DELAY, 0.0):
        with tempfile.TemporaryDirectory() as folder, _sandbox(Path(folder), delay) as http:
            _compare(http, Path(folder), count, delay)


def _compare(http: httpx.Client, folder: Path, count: int, delay: float) -> None:
    print(f"{count:,} orders of {_PRODUCTS} items, answers after {delay * 1000:.0f} ms")
    client = _created(http, "/v2/cliente", nomeComercial="Ana", cnpj="11222333000181")
    names = [f"Parafuso {place}" for place in range(_PRODUCTS)]
    products = [_created(http, "/v2/produto", descricaoDoProduto=name) for name in names]
    whose = client["codigoDoCliente"]
    items = [_item(product["idProduto"]) for product in products]
    before = time.perf_counter()
    for number in range(count):
        order = {"codigoDaFilial": 1, "codigoDoCliente": whose, "observacao": f"Laço {number}"}
        http.post(_PATH, json={**order, "produtos": items}).raise_for_status()
    loop = count / (time.perf_counter() - before)
    print(f"  plain loop of posts {loop:7.1f} orders/s")
    for at_once in _WAYS:
        path = _workbook(folder / f"pedidos-{at_once}.xlsx", whose, items, count, at_once)
        rate = _upload(path, count, at_once)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        ratio = f"{rate / loop:5.2f} x the loop"
        print(f"  upload, {at_once} at once   {rate:7.1f} orders/s  {ratio}  peak {peak:,.0f} MB")


def _created(http: httpx.Client, path: str, **fields: str) -> Any:
    return http.post(path, json=fields).raise_for_status().json()["data"]


def _item(product: int) -> dict[str, Any]:
    return {"idProduto": product, "quantidade": 2, "valorUnitario": 12.5}


def _workbook(path: Path, client: int, items: list[Any], count: int, at_once: int) -> Path:
    """Write the sheets of the orders, which no other upload has."""
    names = list(items[0])
    with xlsxwriter.Workbook(path) as book:
        orders, products = book.add_worksheet("pedido"), book.add_worksheet("produtos")
        orders.write_row(0, 0, ["chave", "codigoDaFilial", "codigoDoCliente", "observacao"])
        products.write_row(0, 0, ["chave", *names])
        for number in range(count):
            key = f"{at_once}-{number:06}"
            orders.write_row(number + 1, 0, [key, 1, client, f"Planilha {key}"])
            for place, item in enumerate(items, number * len(items) + 1):
                products.write_row(place, 0, [key, *item.values()])
    return path


def _upload(path: Path, count: int, at_once: int) -> float:
    """Return how many orders a second an upload creates, its plan included."""
    report = xb.validate(path)
    with xb.connect() as erp:
        before = time.perf_counter()
        outcome = erp.upload(report, mode="records", at_once=at_once, yes=True)
        seconds = time.perf_counter() - before
    if outcome.rows["accepted"] != count:
        raise SystemExit(f"{outcome.state}: {outcome.rows}")
    return count / seconds


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
