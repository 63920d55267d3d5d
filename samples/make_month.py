"""Generate the workbooks of a month for ``samples/month/plan.yaml``: eight resources, all valid.

Receivables, payables and orders name the clients, suppliers and products of the same month.

Usage: python samples/make_month.py FOLDER [--month 2026-10] [--workbooks 40] [--rows 5000]
                                    [--bad 0.01]

With ``--bad``, that share of the rows has a bad cell. The same arguments give the same rows, so
the month without bad rows is the corrected version of the other.
"""

import argparse
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from random import Random

import xlsxwriter
from good_records import product, sales_order, supplier
from good_rows import (
    Row,
    addressing,
    client,
    payable,
    receivable,
    rows_of_child,
    service_invoice,
)

_HERE = Path(__file__).parent / "month"
_BRANCHES = (1, 2, 3)
_PRODUCTS = range(2001, 2061)
_SECTIONS = [f"{letter}-{shelf:02}" for letter in "ABCD" for shelf in range(1, 21)]
_WAREHOUSES = (2, 1)  # the small company has addresses in the first one already
_ROWS_OF_NUMBER = 100_000
_LISTS = ("produtos", "parcelas")
_FIRST_OF = {"clientes": 0, "fornecedores": 1, "produtos": 2}
"""First workbook of each registry, present in a month of any size."""


@dataclass(frozen=True)
class Month:
    """Size of a month: number of ``workbooks``, ``rows`` in each, share of bad rows."""

    month: str = "2026-10"
    workbooks: int = 40
    rows: int = 5000
    bad: float = 0.0
    seed: str = "month"


def write_month(folder: Path, month: Month) -> list[Path]:
    """Write plan and workbooks into a folder, replacing existing ones; return the workbooks."""
    shutil.copytree(_HERE, folder, dirs_exist_ok=True)
    written = []
    for number in range(month.workbooks):
        step = list(_STEPS)[number % len(_STEPS)]
        path = folder / step / f"{month.month}-{number // len(_STEPS) + 1:02}.xlsx"
        path.parent.mkdir(exist_ok=True)
        _write(path, list(_rows(step, number, month)))
        written.append(path)
    return written


def all_rows(month: Month) -> Iterator[Row]:
    """Yield all rows of a month, workbook by workbook."""
    for number in range(month.workbooks):
        yield from _rows(list(_STEPS)[number % len(_STEPS)], number, month)


def _rows(step: str, number: int, month: Month) -> Iterator[Row]:
    """Yield the rows of a workbook; bad cells use a random generator of their own."""
    random = Random(f"{month.seed} {number}")
    chance = Random(f"{month.seed} bad {number}")
    for row in range(1, month.rows + 1):
        made = _STEPS[step](random, number, row, month)
        yield _spoilt(made, chance) if chance.random() < month.bad else made


def _client(random: Random, workbook: int, row: int, month: Month) -> Row:
    made = client(random, 4 * (_ROWS_OF_NUMBER * workbook + row) + 2)
    return {**made, "cnpj": _document(workbook, row, month), "cpf": None}


def _supplier(random: Random, workbook: int, row: int, month: Month) -> Row:
    made = supplier(random, 20 * (_ROWS_OF_NUMBER * workbook + row) + 1)
    return {**made, "cnpj": _document(workbook, row, month)}


def _product(random: Random, workbook: int, row: int, month: Month) -> Row:
    made = product(random, _ROWS_OF_NUMBER * workbook + row)
    number = f"{workbook:02}{row:06}"
    code = _internal_code(workbook, row, month)
    return {**made, "codigoInterno": code, "codigoDeBarras": f"78910{number}"}


def _receivable(random: Random, workbook: int, row: int, month: Month) -> Row:
    made = receivable(random, _ROWS_OF_NUMBER * workbook + row)
    return {**made, "codigoDoCliente": _any_document("clientes", random, month)}


def _payable(random: Random, workbook: int, row: int, month: Month) -> Row:
    made = payable(random, _ROWS_OF_NUMBER * workbook + row)
    return {**made, "codigoDoFornecedor": _any_document("fornecedores", random, month)}


def _order(random: Random, workbook: int, row: int, month: Month) -> Row:
    made = sales_order(random, _ROWS_OF_NUMBER * workbook + row)
    items = [
        {**item, "idProduto": _internal_code(_FIRST_OF["produtos"], at % month.rows + 1, month)}
        for at, item in enumerate(made["produtos"], start=row)
    ]
    own = {"chave": f"PV-{workbook:03}-{row:06}", "produtos": items}
    client_of_order = {"codigoDoCliente": _any_document("clientes", random, month)}
    return {"codigoDaFilial": made["codigoDaFilial"], **made, **client_of_order, **own}


def _invoice(random: Random, workbook: int, row: int, _month: Month) -> Row:
    return service_invoice(random, _ROWS_OF_NUMBER * workbook + row)


def _address(random: Random, workbook: int, row: int, month: Month) -> Row:
    made = addressing(random, row)
    place = workbook // len(_STEPS) * month.rows + row - 1
    place, product = divmod(place, len(_PRODUCTS))
    place, branch = divmod(place, len(_BRANCHES))
    warehouse, section = divmod(place, len(_SECTIONS))
    return {
        **made,
        "codigoDaFilial": _BRANCHES[branch],
        "codigoDaFilialSecao": None,
        "codigoDoAlmoxarifado": _WAREHOUSES[warehouse],
        "codigoDoAlmoxarifadoSecao": None,
        "codigoDaSecao": _SECTIONS[section],
        "idProd": _PRODUCTS[product],
    }


_STEPS: Mapping[str, Callable[[Random, int, int, Month], Row]] = {
    "clientes": _client,
    "fornecedores": _supplier,
    "produtos": _product,
    "receber": _receivable,
    "pagar": _payable,
    "notas": _invoice,
    "pedidos": _order,
    "enderecos": _address,
}
"""Upload steps of the plan, with the function that makes a row of each."""


def _any_document(registry: str, random: Random, month: Month) -> str:
    """Return the CNPJ of one of the month's clients or suppliers."""
    return _document(_FIRST_OF[registry], random.randint(1, month.rows), month)


def _internal_code(workbook: int, row: int, month: Month) -> str:
    """Return the internal code of a product of the month."""
    return f"P{month.month.replace('-', '')}-{workbook:02}-{row:05}"


def _document(workbook: int, row: int, month: Month) -> str:
    """Return the CNPJ of a client or supplier of the month."""
    base = f"{int(month.month.replace('-', '')) % 100_00:04}{workbook:02}{row:06}"
    return base + _check_digits(base)


def _check_digits(base: str) -> str:
    for _ in range(2):
        weights = (2 + place % 8 for place in range(len(base)))
        rest = sum(int(d) * w for d, w in zip(reversed(base), weights, strict=False)) % 11
        base += "0" if rest < 2 else str(11 - rest)
    return base[-2:]


def _spoilt(row: Row, chance: Random) -> Row:
    """Return a row with a bad cell: text for a number, an impossible date, a missing value."""
    filled = [name for name, value in row.items() if value is not None]
    numbers = [name for name in filled if isinstance(row[name], int | float)]
    dates = [name for name in filled if isinstance(row[name], date)]
    kind = chance.randrange(3)
    if kind == 0 and numbers:
        return {**row, chance.choice(numbers): "a combinar"}
    if kind == 1 and dates:
        return {**row, chance.choice(dates): "31/02/2026"}
    return {**row, filled[0]: None}


def _write(path: Path, rows: list[Row]) -> None:
    lists = [name for name in _LISTS if name in rows[0]]
    main = [{n: v for n, v in row.items() if n not in lists} for row in rows]
    with xlsxwriter.Workbook(path, {"constant_memory": True}) as book:
        _write_sheet(book, "pedido" if lists else "Plan1", main)
        for name in lists:
            _write_sheet(book, name, rows_of_child(rows, name))


def _write_sheet(book: xlsxwriter.Workbook, name: str, rows: list[Row]) -> None:
    columns = list(dict.fromkeys(column for row in rows for column in row))
    sheet = book.add_worksheet(name)
    day = book.add_format({"num_format": "dd/mm/yyyy"})
    sheet.write_row(0, 0, columns)
    for number, row in enumerate(rows, start=1):
        for place, column in enumerate(columns):
            value = row.get(column)
            if isinstance(value, date):
                sheet.write_datetime(number, place, value, day)
            elif isinstance(value, str):
                sheet.write_string(number, place, value)
            elif value is not None:
                sheet.write(number, place, value)


def main() -> None:
    """Write a month as the command line specifies."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--month", default=Month.month)
    parser.add_argument("--workbooks", type=int, default=Month.workbooks)
    parser.add_argument("--rows", type=int, default=Month.rows)
    parser.add_argument("--bad", type=float, default=Month.bad)
    asked = parser.parse_args()
    month = Month(asked.month, asked.workbooks, asked.rows, asked.bad)
    written = write_month(asked.folder, month)
    print(f"{len(written)} workbooks, {month.workbooks * month.rows:,} rows in {asked.folder}")


if __name__ == "__main__":
    main()
