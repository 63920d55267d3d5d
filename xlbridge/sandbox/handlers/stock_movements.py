"""Stock outputs, entries and history. Source: the spec, Stock output, Stock entry, Stock."""

from decimal import Decimal
from typing import Any

from sqlalchemy import ColumnElement, Select, case, exists, false, func, literal, select

from xlbridge.sandbox.answers import not_found
from xlbridge.sandbox.business.stock_entries import register_entry
from xlbridge.sandbox.business.stock_outputs import change_output, register_output
from xlbridge.sandbox.call import Call, handles
from xlbridge.sandbox.tables.registries import (
    branches,
    collaborators,
    products,
    sections,
    units,
    warehouses,
)
from xlbridge.sandbox.tables.stock import movements
from xlbridge.wire.operations.stock import (
    STOCK_ENTRY_CREATE,
    STOCK_MOVEMENTS_OF_PRODUCT,
    STOCK_OUTPUT_CHANGE,
    STOCK_OUTPUT_CREATE,
)
from xlbridge.wire.stock import (
    StockEntry,
    StockEntryInput,
    StockMovement,
    StockOutput,
    StockOutputChange,
    StockOutputInput,
)

_NOTHING = Decimal(0)
_ONLY_LINE = 1
"""The ``seq`` of every movement: each is recorded as one line."""

_asks, _receives = collaborators.alias(), collaborators.alias()


@handles(STOCK_OUTPUT_CREATE)
def create_output(call: Call) -> StockOutput:
    return _output(call, register_output(call.connection, call.sent(StockOutputInput), call.now))


@handles(STOCK_OUTPUT_CHANGE)
def alter_output(call: Call) -> StockOutput:
    data = call.sent(StockOutputChange)
    change_output(call.connection, data, call.now)
    return _output(call, data.numeroDaSaida)


@handles(STOCK_ENTRY_CREATE)
def create_entry(call: Call) -> StockEntry:
    number = register_entry(call.connection, call.sent(StockEntryInput), call.now)
    is_entry = movements.c.inward.is_(True) & (movements.c.number == number)
    (entry,) = call.read(StockEntry, _recorded().where(is_entry))
    return entry


@handles(STOCK_MOVEMENTS_OF_PRODUCT)
def history(call: Call) -> list[StockMovement]:
    product = call.path["id"]
    if not call.connection.scalar(select(exists().where(products.c.code == product))):
        raise not_found("id", "Produto não encontrado.")
    return call.read(StockMovement, _recorded().where(movements.c.idProd == product))


def _output(call: Call, number: int) -> StockOutput:
    is_output = movements.c.inward.is_(False) & (movements.c.number == number)
    (output,) = call.read(StockOutput, _recorded().where(is_output))
    return output


def _recorded() -> Select[Any]:
    """Movements in the order in which they were recorded, under the names of their models."""
    return (
        select(*_own_columns(), *_described())
        .select_from(movements)
        .join(branches, branches.c.code == movements.c.codigoDaFilial)
        .join(
            warehouses,
            (warehouses.c.branch == movements.c.codigoDaFilial)
            & (warehouses.c.code == movements.c.codigoDoAlmoxarifado),
        )
        .outerjoin(
            sections,
            (sections.c.branch == movements.c.codigoDaFilial)
            & (sections.c.warehouse == movements.c.codigoDoAlmoxarifado)
            & (sections.c.code == movements.c.codigoDaSecao),
        )
        .outerjoin(products, products.c.code == movements.c.idProd)
        .outerjoin(
            units,
            units.c.code == func.coalesce(movements.c.codigoDaUnidadeDeMedida, products.c.unit),
        )
        .outerjoin(_asks, _asks.c.code == movements.c.codigoDoColaboradorSolicitante)
        .outerjoin(_receives, _receives.c.code == movements.c.codigoDoColaboradorDestino)
        .order_by(movements.c.id)
    )


def _own_columns() -> list[ColumnElement[Any]]:
    is_reversed = movements.c.reversed
    kind = case((movements.c.inward, "Entrada"), else_="Saída")
    returned = case((is_reversed, movements.c.quantidade), else_=_NOTHING)
    numbers = ("numeroDaSaida", "numeroDaEntrada", "numeroDaMovimentacao")
    dates = ("dataDaSaida", "dataDaEntrada", "dataDaMovimentacao")
    return [
        *(movements.c[name] for name in StockOutputInput.model_fields),
        *(movements.c.number.label(name) for name in numbers),
        *(movements.c.moved.label(name) for name in dates),
        kind.label("tipoDeMovimentacao"),
        literal(_ONLY_LINE).label("seq"),
        movements.c.numeroDeSerie.label("numeroDeSerieLote"),
        movements.c.valorUnitario,
        movements.c.valorTotal,
        (is_reversed | movements.c.reverses.is_not(None)).label("estorno"),
        returned.label("quantidadeEstornada"),
        movements.c.reversal.label("descricaoDoEstorno"),
        movements.c.reverses.label("numeroDaSaidaEstornada"),
        movements.c.adjustment.label("ajuste"),
        # Nothing in the interface moves goods from one warehouse to another.
        false().label("transferencia"),
        _is_last().label("ultimaMovimentacao"),
        movements.c.ultimaAtualizacao,
    ]


def _described() -> list[ColumnElement[Any]]:
    return [
        branches.c.name.label("descricaoDaFilial"),
        warehouses.c.name.label("descricaoDoAlmoxarifado"),
        sections.c.name.label("descricaoDaSecao"),
        products.c.internal_code.label("codigoInterno"),
        products.c.name.label("descricaoDoProduto"),
        products.c.brand.label("marca"),
        products.c.model.label("modelo"),
        units.c.symbol.label("simboloDaUnidadeDeMedida"),
        _asks.c.name.label("descricaoDoColaboradorSolicitante"),
        _receives.c.name.label("descricaoDoColaboradorDestino"),
    ]


def _is_last() -> ColumnElement[bool]:
    """Whether a movement is the last one of its product in its warehouse."""
    later = movements.alias()
    return ~exists().where(
        later.c.idProd == movements.c.idProd,
        later.c.codigoDaFilial == movements.c.codigoDaFilial,
        later.c.codigoDoAlmoxarifado == movements.c.codigoDoAlmoxarifado,
        later.c.id > movements.c.id,
    )
