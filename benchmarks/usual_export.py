"""The usual pipeline for an export: json_normalize, then ``DataFrame.to_excel``.

Usage: python benchmarks/usual_export.py URLS OUTPUT ENGINE      (a JSON list of addresses)
"""

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import httpx

_ORDERS = "/faturamento/pedido"


def fetched_orders(urls: str) -> list[dict[str, Any]]:
    """Return the orders at the addresses that a file lists."""
    addresses = [url for url in json.loads(Path(urls).read_text()) if _ORDERS in url]
    with httpx.Client() as client:
        return [order for url in addresses for order in client.get(url).json()["data"]]


def main() -> None:
    """Fetch the answers; write orders, instalments and products as three sheets."""
    urls, output, engine = sys.argv[1:4]
    import pandas as pd

    # xlsxwriter makes links of addresses, and tells of each that is too many for Excel.
    warnings.simplefilter("ignore")
    orders = fetched_orders(urls)
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
