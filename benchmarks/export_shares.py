"""Measure the processor time of each step of an export, in one process.

Usage: python benchmarks/export_shares.py [ORDERS]      (default 20,000)
"""

import sys
import tempfile
import threading
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from export import recorded_orders

from xlbridge.client import Client, Target, listing_answer as answer, listing_stream as stream
from xlbridge.export import ExportRequest, OutputFile, flatten, part_reader, part_store
from xlbridge.export.formats import xlsx
from xlbridge.resources import load_catalogue


class Steps:
    """Processor seconds of functions, without those of other timed functions they call."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self._inner = threading.local()

    def time(self, owner: Any, name: str, label: str) -> None:
        """Time a function from now on."""
        function = getattr(owner, name)
        setattr(
            owner,
            name,
            lambda *arguments, **options: self._timed(label, function, *arguments, **options),
        )

    def time_items(self, owner: Any, name: str, label: str) -> None:
        """Time a generator from now on, item by item."""
        function = getattr(owner, name)

        def items(*arguments: Any, **options: Any) -> Iterator[Any]:
            found, end = function(*arguments, **options), object()
            while (item := self._timed(label, next, found, end)) is not end:
                yield item

        setattr(owner, name, items)

    def _timed(
        self, label: str, function: Callable[..., Any], *arguments: Any, **options: Any
    ) -> Any:
        outer, start = getattr(self._inner, "seconds", 0.0), time.thread_time()
        self._inner.seconds = 0.0
        try:
            return function(*arguments, **options)
        finally:
            elapsed = time.thread_time() - start
            self.seconds[label] += elapsed - self._inner.seconds
            self._inner.seconds = outer + elapsed


def main() -> None:
    """Print the seconds of each step, and its share."""
    orders = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    steps = Steps()
    steps.time_items(answer.ListingAnswer, "pieces", "receiving")
    steps.time_items(answer.ListingAnswer, "batches", "naming and flattening")
    steps.time_items(stream.ListingReader, "batches", "decoding")
    steps.time(part_reader.PartReader, "write", "naming and flattening")
    steps.time(flatten.Flattener, "lines", "naming and flattening")
    steps.time(flatten.SheetLines, "of_columns", "cells' XML")
    steps.time(part_store.Part, "add", "storing lines")
    steps.time(xlsx, "number_rows", "numbering rows")
    steps.time(zipfile._ZipWriteFile, "write", "compression")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with recorded_orders(folder, orders) as (_, environment, _cost):
            keys = ("BASE_URL", "EMAIL", "PASSWORD")
            with Client(
                Target("recorded", *(environment[f"XLBRIDGE_{k}"] for k in keys))
            ) as client:
                request = ExportRequest(listing="pedidos", at_once=1)
                output = OutputFile(folder / "ours.xlsx")
                request.prepare(output, load_catalogue).run(client)
    total = steps.seconds.total()
    for label, seconds in steps.seconds.most_common():
        print(f"{label:25} {seconds:6.2f} s of processors, {seconds / total:.0%}", flush=True)


if __name__ == "__main__":
    main()
