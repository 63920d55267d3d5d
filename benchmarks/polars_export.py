"""The fastest pipelines for an export: the answers as JSON, polars, and a writer of workbooks.

Numbers are binary floats; headers are the titles of our export, cells have no notes.

Usage: python benchmarks/polars_export.py URLS OUTPUT WRITER TITLES

URLS is a JSON list of addresses, WRITER one of those below, TITLES a JSON object of titles by
field.
"""

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import polars as pl
from usual_export import fetched_orders

Frames = Mapping[str, pl.DataFrame]
_LISTS = ("parcelas", "produtos")


def _write_with_jetxl(frames: Frames, output: str) -> None:
    import jetxl

    sheets = [{"data": frame, "name": name} for name, frame in frames.items()]
    jetxl.write_sheets_arrow(sheets, output, num_threads=1)


def _write_with_xlsxturbo(frames: Frames, output: str) -> None:
    import xlsxturbo

    xlsxturbo.dfs_to_xlsx([(frame, name) for name, frame in frames.items()], output)


def _write_with_polars(frames: Frames, output: str) -> None:
    import xlsxwriter

    with xlsxwriter.Workbook(output) as book:
        for name, frame in frames.items():
            frame.write_excel(book, name)


WRITERS: Mapping[str, Callable[[Frames, str], None]] = {
    "jetxl": _write_with_jetxl,
    "xlsxturbo": _write_with_xlsxturbo,
    "write_excel": _write_with_polars,
}


def main() -> None:
    """Fetch the answers; write orders, instalments and products as three sheets."""
    urls, output, writer = sys.argv[1:4]
    titles = json.loads(Path(sys.argv[4]).read_text("utf-8"))
    orders = fetched_orders(urls)
    rows = {
        "pedidos": [{n: v for n, v in order.items() if n not in _LISTS} for order in orders],
        **{name: [item for order in orders for item in order[name]] for name in _LISTS},
    }
    frames = {name: _frame(found, titles) for name, found in rows.items()}
    WRITERS[writer](frames, output)


def _frame(rows: list[dict[str, object]], titles: Mapping[str, str]) -> pl.DataFrame:
    """Return rows as a frame, with moments read, lists joined and titles for names."""
    frame = pl.DataFrame(rows, infer_schema_length=None)
    frame = frame.with_columns(pl.col(pl.Null).cast(pl.String))  # which jetxl cannot read
    moments = [n for n in frame.columns if n.startswith(("data", "ultima"))]
    frame = frame.with_columns(
        pl.col(moments).str.to_datetime("%Y-%m-%dT%H:%M:%S"),
        pl.col(pl.List(pl.Null), pl.List(pl.String)).cast(pl.List(pl.String)).list.join("\n"),
    )
    return frame.rename(titles, strict=False)


if __name__ == "__main__":
    main()
