"""What is usually written: json_normalize, then ``DataFrame.to_excel``, of the same answers.

Usage: python benchmarks/usual_export.py ANSWERS OUTPUT ENGINE
"""

import json
import sys
from pathlib import Path

import pandas as pd


def main() -> None:
    """Read the recorded answers; write orders, instalments and products as three sheets."""
    folder, output, engine = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    orders = [
        order
        for name in json.loads((folder / "files").read_text())
        for order in json.loads(Path(name).read_bytes())["data"]
    ]
    own = [
        {name: value for name, value in order.items() if name not in ("parcelas", "produtos")}
        for order in orders
    ]
    frames = {
        "pedidos": pd.json_normalize(own),
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
