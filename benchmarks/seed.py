"""Measure how long ``xlbridge sandbox --seed demo --scale N`` takes to fill a new database.

Usage: python benchmarks/seed.py [SCALE [DATABASE]]

The default is scale 50, 100,000 sales orders, in a new SQLite file. DATABASE must be new.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from sqlalchemy import func, select

from xlbridge.sandbox import open_database
from xlbridge.sandbox.seed import metadata
from xlbridge.sandbox.storage import database_url

_PRINTED_TABLES = ("sales_orders", "sales_order_items", "sales_order_installments", "receivables")


def main() -> None:
    """Print the seconds, the peak memory and the number of records."""
    scale = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    with tempfile.TemporaryDirectory() as folder:
        database = sys.argv[2] if len(sys.argv) > 2 else str(Path(folder) / "seeded.db")
        seconds = fill_database(Path(folder), database, scale)
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
        counts = _counts(database)
    print(f"scale {scale}: {seconds:.1f} s, {peak} MB")
    for name in _PRINTED_TABLES:
        print(f"{counts[name]:12,} {name}")
    print(f"{sum(counts.values()):12,} rows in total")


def fill_database(folder: Path, database: str, scale: int) -> float:
    """Seed a new database; return the seconds until the sandbox answers."""
    ready = folder / "ready.json"
    command = [sys.executable, "-m", "xlbridge", "sandbox", "--db", database]
    command += ["--scale", str(scale), "--ready-file", str(ready)]
    start = time.perf_counter()
    with subprocess.Popen(command, env=os.environ | {"XLBRIDGE_HOME": str(folder)}) as process:
        while not ready.exists():
            if process.poll() is not None:
                sys.exit(process.returncode)
            time.sleep(0.05)
        seconds = time.perf_counter() - start
        process.terminate()
    return seconds


def _counts(database: str) -> dict[str, int]:
    storage = open_database(database_url(database))
    with storage.transaction(writing=False) as connection:
        counts = {
            table.name: connection.scalar(select(func.count()).select_from(table)) or 0
            for table in metadata.sorted_tables
        }
    storage.close()
    return counts


if __name__ == "__main__":
    main()
