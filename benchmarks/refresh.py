"""Compare ``export --into`` with openpyxl: the rows of a table in an analyst's workbook, replaced.

Usage: python benchmarks/refresh.py [TITLES] [--runs N] [--python PYTHON]

The workbook has a table of TITLES (default 100,000) open titles with a calculated column, sums on
another sheet and a chart of them. Both programs fetch the same recorded answer; openpyxl deletes
the rows and writes the new ones, and follows no references. The medians of N (3) runs are printed.
"""

import argparse
import json
import statistics
import sys
import tempfile
from datetime import date, timedelta
from http.server import ThreadingHTTPServer
from pathlib import Path
from shutil import copyfile
from threading import Thread

import xlsxwriter
from export import Cost, cost_of
from replay import JsonHandler

_TITLES = (
    "codigoDoExercicio", "codigoDaFilial", "numeroDaTransacao", "sequenciaDaTransacao",
    "codigoDoCliente", "historico", "dataDeEmissao", "dataDeVencimento", "valorDoLancamento",
)  # fmt: skip
_AMOUNT = _TITLES.index("valorDoLancamento")
_OPENPYXL = """
import json, sys, urllib.request
from datetime import datetime
from openpyxl import load_workbook
address, path, names = sys.argv[1], sys.argv[2], sys.argv[3].split(",")
records = json.load(urllib.request.urlopen(address))["data"]
book = load_workbook(path)
sheet = book["Dados"]
sheet.delete_rows(2, sheet.max_row)
for row, record in enumerate(records, start=2):
    cells = [record[name] for name in names]
    cells = [datetime.fromisoformat(c) if n.startswith("data") else c for n, c in zip(names, cells)]
    sheet.append([*cells, f"=I{row}*1.1"])
sheet.tables["Titulos"].ref = f"A1:J{len(records) + 1}"
book.save(path)
"""


def records(count: int, first: int) -> list[dict[str, object]]:
    """Return as many titles, numbered from ``first``."""
    day = date(2026, 1, 1)
    return [
        dict(
            zip(
                _TITLES,
                (
                    *(2026, 1 + number % 3, number, 1, 1000 + number % 400),
                    f"Pedido de venda {number}",
                    day.isoformat(),
                    (day + timedelta(days=number % 300)).isoformat(),
                    number % 900 + 0.25,
                ),
                strict=True,
            )
        )
        for number in range(first, first + count)
    ]


def write_book(path: Path, count: int) -> None:
    """Write the analyst's workbook."""
    with xlsxwriter.Workbook(str(path)) as book:
        data, sums = book.add_worksheet("Dados"), book.add_worksheet("Resumo")
        days = book.add_format({"num_format": "dd/mm/yyyy"})
        for row, record in enumerate(records(count, 1), start=1):
            for column, (name, value) in enumerate(record.items()):
                if name.startswith("data"):
                    data.write_datetime(row, column, date.fromisoformat(str(value)), days)
                else:
                    data.write(row, column, value)
        columns = [{"header": name} for name in _TITLES]
        columns.append({"header": "Com juros", "formula": "=[@valorDoLancamento]*1.1"})
        data.add_table(0, 0, count, _AMOUNT + 1, {"name": "Titulos", "columns": columns})
        for branch in (1, 2, 3):
            sums.write(branch, 0, branch)
            formula = f"=SUMIFS(Dados!$I$2:$I${count + 1},Dados!$B$2:$B${count + 1},A{branch + 1})"
            sums.write_formula(branch, 1, formula)
        chart = book.add_chart({"type": "bar"})
        chart.add_series({"values": "=Resumo!$B$2:$B$4", "categories": "=Resumo!$A$2:$A$4"})
        sums.insert_chart("D2", chart)


class _Titles(JsonHandler):
    """Handler that answers with the recorded titles, and to a login with a token."""

    content = b""

    def do_GET(self) -> None:  # noqa: N802 - called so by the server
        known = "contasreceber" in self.path
        self.answer(self.content if known else b'{"success":true,"data":{"codigoDaEmpresa":1}}')

    def do_POST(self) -> None:  # noqa: N802 - called so by the server
        self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(b'{"authenticated":true,"accessToken":"x"}')


def main() -> None:
    """Print the costs and their ratios."""
    parser = argparse.ArgumentParser()
    parser.add_argument("titles", nargs="?", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=3, metavar="N")
    parser.add_argument("--python", default=sys.executable)
    arguments = parser.parse_args()
    new = records(arguments.titles, arguments.titles // 10)
    _Titles.content = json.dumps({"success": True, "data": new}).encode()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Titles)
    Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_address[1]}"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        book, copy = folder / "book.xlsx", folder / "copy.xlsx"
        write_book(book, arguments.titles)
        environment = {
            "XLBRIDGE_HOME": str(folder / "home"),
            "XLBRIDGE_BASE_URL": address,
            "XLBRIDGE_EMAIL": "a@example.com",
            "XLBRIDGE_PASSWORD": "unused",
            "XLBRIDGE_PROFILE": "stand-in",
        }
        refresh = [*("-m", "xlbridge", "export", "contasreceber", "--into"), str(copy), "--yes"]
        titles = f"{address}/v2/financeiro/contasreceber"
        commands = {
            "xlbridge export --into": refresh,
            "openpyxl": ["-c", _OPENPYXL, titles, str(copy), ",".join(_TITLES)],
        }
        found: dict[str, list[Cost]] = {label: [] for label in commands}
        for _ in range(arguments.runs):  # in turns, so that both meet the same other work
            for label, words in commands.items():
                copyfile(book, copy)
                found[label].append(cost_of([arguments.python, *words], environment))
    server.shutdown()
    print(f"{arguments.titles} titles")
    ours: tuple[float, float] | None = None
    for label, costs in found.items():
        processor = statistics.median(cost.processor for cost in costs)
        memory = max(cost.memory for cost in costs)
        ours = ours or (processor, memory)
        print(
            f"{label:25} {processor:7.1f} s processor {memory:6.0f} MB "
            f"{processor / ours[0]:6.1f} x processor {memory / ours[1]:6.1f} x memory"
        )


if __name__ == "__main__":
    main()
