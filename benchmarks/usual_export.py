"""The usual pipeline for an export: json_normalize, then ``DataFrame.to_excel``.

Usage: python benchmarks/usual_export.py URLS OUTPUT ENGINE      (a JSON list of addresses)
"""

import json
import sys
import warnings
from pathlib import Path

import httpx
import pandas as pd


def main() -> None:
    """Fetch the answers; write orders, instalments and products as three sheets."""
    urls, output, engine = json.loads(Path(sys.argv[1]).read_text()), sys.argv[2], sys.argv[3]
    # xlsxwriter makes links of addresses, and tells of each that is too many for Excel.
    warnings.simplefilter("ignore")
    with httpx.Client() as client:
        orders = [order for url in urls for order in client.get(url).json()["data"]]
    main_rows = [
        {name: value for name, value in order.items() if name not in ("parcelas", "produtos")}
        for order in orders
    ]
    frames = {
        "pedidos": pd.json_normalize(main_rows),
        "parcelas": pd.json_normalize(orders, "parcelas"),
        "produtos": pd.json_normalize(orders, "produtos"),
    }
    with pd.ExcelWriter(output, engine=engine) as writer:
        for name, frame in frames.items():
            for column in frame.columns:
                if column.startswith("data"):
                    frame[column] = pd.to_datetime(frame[column])
            frame.to_excel(writer, sheet_name=name, index=False)


if __name__ == "__main__":
    main()
