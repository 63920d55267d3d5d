"""Records created one by one, against a plain sequential loop of httpx posts, in one run.

Usage: python benchmarks/records.py [ROWS]

ROWS (600 unless told) product types are created by ``Connection.upload``, with the plan, the
journal and the verdict, 1 and 4 at once, and as many by the loop: first by a sandbox that takes
50 ms for an answer, then by one without that delay. Printed are records per second and the ratio to
the loop. Nothing is asserted.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pandas as pd

import xlbridge as xb

_DELAY = 0.05
_WAYS = (1, 4)
_PATH = "/v2/tipo-de-produto"


def main() -> None:
    """Print what records cost, by one call each."""
    parser = argparse.ArgumentParser()
    parser.add_argument("rows", nargs="?", type=int, default=600)
    rows: int = parser.parse_args().rows
    for delay in (_DELAY, 0.0):
        with tempfile.TemporaryDirectory() as folder, _sandbox(Path(folder), delay) as http:
            _compare(http, rows, delay)


def _compare(http: httpx.Client, rows: int, delay: float) -> None:
    print(f"{rows:,} product types, answers after {delay * 1000:.0f} ms")
    before = time.perf_counter()
    for number in range(rows):
        body = {"descricaoDoTipoDeProduto": f"Laço {number:06}"}
        http.post(_PATH, json=body).raise_for_status()
    loop = rows / (time.perf_counter() - before)
    print(f"  plain loop of posts {loop:7.1f} records/s")
    for at_once in _WAYS:
        rate = _upload(rows, at_once)
        print(f"  upload, {at_once} at once   {rate:7.1f} records/s  {rate / loop:5.2f} x the loop")


def _upload(rows: int, at_once: int) -> float:
    """Return how many records a second an upload creates, its plan included."""
    names = [f"Tipo {at_once}-{number:06}" for number in range(rows)]
    report = xb.validate(
        pd.DataFrame({"descricaoDoTipoDeProduto": names}), resource="tipo-de-produto"
    )
    with xb.connect() as erp:
        before = time.perf_counter()
        outcome = erp.upload(report, mode="records", at_once=at_once, yes=True)
        seconds = time.perf_counter() - before
    if outcome.rows["accepted"] != rows:
        raise SystemExit(f"{outcome.state}: {outcome.rows}")
    return rows / seconds


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
