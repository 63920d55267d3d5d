"""What entries and outputs share: their rules, and how they are recorded."""

from datetime import datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, insert, select

from xlbridge.sandbox.answers import Problem, invalid
from xlbridge.sandbox.business.known import Known
from xlbridge.sandbox.business.numbers import Numbers
from xlbridge.sandbox.tables.registries import branches, products, projects, warehouses
from xlbridge.sandbox.tables.stock import movements
from xlbridge.wire.stock import StockEntryInput, StockOutputInput

QUANTITY_PLACES, COST_PLACES = 4, 6

_TOO_MUCH = Decimal(10) ** 9


def movement_problems(known: Known, data: StockEntryInput | StockOutputInput) -> list[Problem]:
    """Return the rules that any movement breaks: its quantity, its place, its product."""
    return [
        *measure_problems("quantidade", data.quantidade, QUANTITY_PLACES),
        *known.complaint("codigoDaFilial", branches, data.codigoDaFilial, "Filial"),
        *known.warehouse_complaint(data.codigoDaFilial, data.codigoDoAlmoxarifado),
        *known.complaint("idProd", products, data.idProd, "Produto"),
        *known.complaint("codigoDoProjeto", projects, data.codigoDoProjeto, "Projeto"),
    ]


def measure_problems(key: str, measure: Decimal | None, places: int) -> list[Problem]:
    """Return the problem of a quantity or unit cost that is too large or too fine."""
    if measure is None:
        return []
    if measure >= _TOO_MUCH:
        return [(key, "Valor fora do intervalo permitido.")]
    if measure != round(measure, places):
        return [(key, f"Valor com mais de {places} casas decimais.")]
    return []


def first_warehouse(connection: Connection, branch: int) -> int:
    """Return the warehouse that a branch's movements concern unless they name one.

    Raises ``RequestError`` (400) where the branch has none.
    """
    of_branch = select(warehouses.c.code).where(warehouses.c.branch == branch)
    code = connection.scalar(of_branch.order_by(warehouses.c.code).limit(1))
    if code is None:
        raise invalid(("codigoDoAlmoxarifado", f"A filial {branch} não tem almoxarifado."))
    return int(code)


def record_movement(
    connection: Connection, row: dict[str, Any], *, inward: bool, now: datetime
) -> int:
    """Write one movement, and return its number.

    ``row`` has the columns that are particular to it.
    """
    numbers = Numbers(connection)
    number = numbers.next("stock_entry" if inward else "stock_output")
    numbers.write()
    common = {
        "inward": inward,
        "number": number,
        "moved": now,
        "reversed": False,
        "adjustment": False,
        "ultimaAtualizacao": now,
    }
    connection.execute(insert(movements).values(common | row))
    return number
