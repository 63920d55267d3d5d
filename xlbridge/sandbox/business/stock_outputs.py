"""The rules of stock outputs. Source: the spec, Stock output (saida)."""

from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, select, update

from xlbridge.sandbox.answers import Problem, RequestError, invalid, not_found
from xlbridge.sandbox.business.known import Known
from xlbridge.sandbox.business.stock_balances import (
    Place,
    balance_at,
    balances_of,
    shown,
    to_cents,
    unit_value,
    valued,
)
from xlbridge.sandbox.business.stock_movements import (
    first_warehouse,
    movement_problems,
    record_movement,
)
from xlbridge.sandbox.business.stock_requisitions import requested_item, settlement_problems
from xlbridge.sandbox.tables.registries import collaborators, cost_centres, units
from xlbridge.sandbox.tables.stock import movements
from xlbridge.wire.stock import StockOutputChange, StockOutputInput

_NOTHING = Decimal(0)
_SETTLED_BY_THE_GOODS = (
    "codigoDaFilial",
    "codigoDoAlmoxarifado",
    "idProd",
    "numeroDeSerie",
    "codigoDoProjeto",
    "numeroDaRequisicao",
    "seqRequisicao",
)
"""What an alteration cannot change: the goods have left from there, for that."""


def register_output(connection: Connection, data: StockOutputInput, now: datetime) -> int:
    """Record an output at average cost, and return its number.

    Raises ``RequestError`` (400) with every rule that it breaks.
    """
    requested = requested_item(connection, data)
    if data.idProd is None and requested is not None:
        data = data.model_copy(update={"idProd": requested.product})
    problems = [
        *_code_problems(Known(connection), data),
        *settlement_problems(connection, data, data.quantidade),
    ]
    if problems:
        raise invalid(*problems)
    row = data.model_dump() | _source(connection, data)
    return record_movement(connection, row, inward=False, now=now)


def change_output(connection: Connection, data: StockOutputChange, now: datetime) -> None:
    """Alter an output, or reverse it whole.

    Raises ``RequestError``: 404 where there is none of this number, 400 with every rule that the
    alteration breaks.
    """
    this = movements.c.inward.is_(False) & (movements.c.number == data.numeroDaSaida)
    output = connection.execute(select(movements).where(this)).one_or_none()
    if output is None:
        raise not_found("numeroDaSaida", "Saída não encontrada.")
    problems = [
        *_finality_problems(output, data),
        *_code_problems(Known(connection), data),
    ]
    if problems:
        raise invalid(*problems)
    values = data.model_dump(
        exclude={"numeroDaSaida", "estorno", "descricaoDoEstorno"}, exclude_none=True
    )
    values["ultimaAtualizacao"] = now
    if data.estorno:
        _return_goods(connection, output, now)
        values |= {"reversed": True, "reversal": data.descricaoDoEstorno}
    else:
        values |= _changed_value(connection, output, data.quantidade)
    connection.execute(update(movements).where(this).values(values))


def _code_problems(known: Known, data: StockOutputInput) -> list[Problem]:
    warehouse = data.codigoDoAlmoxarifado
    asks, receives = data.codigoDoColaboradorSolicitante, data.codigoDoColaboradorDestino
    return [
        *movement_problems(known, data),
        *known.section_complaint(data.codigoDaFilial, warehouse, data.codigoDaSecao),
        *known.complaint(
            "codigoDoCentroDeCusto", cost_centres, data.codigoDoCentroDeCusto, "Centro de custo"
        ),
        *known.complaint(
            "codigoDaUnidadeDeMedida", units, data.codigoDaUnidadeDeMedida, "Unidade de medida"
        ),
        *known.complaint("codigoDoColaboradorSolicitante", collaborators, asks, "Colaborador"),
        *known.complaint("codigoDoColaboradorDestino", collaborators, receives, "Colaborador"),
    ]


def _source(connection: Connection, data: StockOutputInput) -> dict[str, Any]:
    """The first balance that fits what the output names and suffices, and what the goods cost.

    An output without a product is recorded, and moves no balance.
    """
    if data.idProd is None:
        warehouse = data.codigoDoAlmoxarifado
        if warehouse is None:
            warehouse = first_warehouse(connection, data.codigoDaFilial)
        return {"codigoDoAlmoxarifado": warehouse} | valued(_NOTHING, _NOTHING)
    most = _NOTHING
    for place, balance in balances_of(connection, *_fitting(data)):
        if balance.quantity >= data.quantidade:
            return {
                "codigoDoAlmoxarifado": place.warehouse,
                "numeroDeSerie": place.serial,
                "codigoDoProjeto": place.project,
                **balance.part(data.quantidade),
            }
        most = max(most, balance.quantity)
    raise _insufficient(data.idProd, most)


def _fitting(data: StockOutputInput) -> Iterator[ColumnElement[bool]]:
    yield movements.c.idProd == data.idProd
    yield movements.c.codigoDaFilial == data.codigoDaFilial
    for name in ("codigoDoAlmoxarifado", "numeroDeSerie", "codigoDoProjeto"):
        if (wanted := getattr(data, name)) is not None:
            yield movements.c[name] == wanted


def _finality_problems(output: Row[Any], data: StockOutputChange) -> Iterator[Problem]:
    if output.reversed:
        yield "numeroDaSaida", f"A saída {output.number} já foi estornada."
    if output.adjustment:
        yield "numeroDaSaida", f"A saída {output.number} é um ajuste de inventário."
    for name in _SETTLED_BY_THE_GOODS:
        if getattr(data, name) not in (None, getattr(output, name)):
            yield name, "Não pode ser alterado em uma saída já registrada."
    if data.estorno and data.quantidade != output.quantidade:
        yield "quantidade", "O estorno é da saída inteira."


def _return_goods(connection: Connection, output: Row[Any], now: datetime) -> None:
    copied = (
        "codigoDaFilial", "codigoDoAlmoxarifado", "idProd", "numeroDeSerie", "codigoDoProjeto",
        "quantidade", "valorUnitario", "valorTotal", "documento",
    )  # fmt: skip
    row = {name: getattr(output, name) for name in copied} | {"reverses": output.number}
    record_movement(connection, row, inward=True, now=now)


def _changed_value(
    connection: Connection, output: Row[Any], quantity: Decimal
) -> dict[str, Decimal]:
    """What an output is worth with another quantity; what it takes in addition, at today's cost."""
    more = quantity - output.quantidade
    if more <= 0 or output.idProd is None:
        rest = to_cents(output.valorTotal * quantity / output.quantidade)
        return valued(output.valorUnitario, rest)
    problems = settlement_problems(
        connection, StockOutputInput.model_validate(output._mapping), more
    )
    if problems:
        raise invalid(*problems)
    place = Place(output.codigoDaFilial, output.codigoDoAlmoxarifado, output.idProd,
                  output.numeroDeSerie, output.codigoDoProjeto)  # fmt: skip
    balance = balance_at(connection, place)
    if balance.quantity < more:
        raise _insufficient(output.idProd, balance.quantity)
    value = balance.cost_of(more) + output.valorTotal
    return valued(unit_value(quantity, value), value)


def _insufficient(product: int, available: Decimal) -> RequestError:
    message = f"Saldo insuficiente do produto {product}: há {shown(available)} disponível."
    return invalid(("quantidade", message))
