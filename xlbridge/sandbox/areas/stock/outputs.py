"""Rules of stock outputs and of the requisitions that they settle.

Source: the spec, Stock output (saida), Stock requisition.
"""

from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    and_,
    func,
    select,
    type_coerce,
    update,
)

from xlbridge.sandbox.amounts import round_half_up
from xlbridge.sandbox.areas.registry.codes import CodeLookup
from xlbridge.sandbox.areas.registry.tables import (
    products,
    units,
)
from xlbridge.sandbox.areas.stock.movements import (
    BalanceKey,
    balance_at,
    balances_of,
    default_warehouse,
    format_quantity,
    movement_problems,
    record_movement,
    unit_value,
    value_columns,
)
from xlbridge.sandbox.areas.stock.tables import (
    movements,
    stock_requisition_items,
    stock_requisitions,
)
from xlbridge.sandbox.columns import Amount
from xlbridge.sandbox.problems import (
    Problem,
    RequestError,
    invalid,
    not_found,
    require_no_problems,
)
from xlbridge.wire.stock import StockOutputChange, StockOutputInput

_ZERO = Decimal(0)
_FIXED_FIELDS = (
    "codigoDaFilial",
    "codigoDoAlmoxarifado",
    "idProd",
    "numeroDeSerie",
    "codigoDoProjeto",
    "numeroDaRequisicao",
    "seqRequisicao",
)
"""Fields that an alteration cannot change: source of the goods, and requisition."""


def register_output(connection: Connection, data: StockOutputInput, now: datetime) -> int:
    """Record an output at average cost, and return its number.

    Raises ``RequestError`` (400) with its problems.
    """
    requested = requested_item(connection, data)
    if data.idProd is None and requested is not None:
        data = data.model_copy(update={"idProd": requested.product})
    require_no_problems(
        [
            *_code_problems(CodeLookup(connection), data),
            *settlement_problems(connection, data, data.quantidade),
        ]
    )
    row = data.model_dump() | _source_columns(connection, now, data)
    return record_movement(connection, row, inward=False, now=now)


def change_output(connection: Connection, data: StockOutputChange, now: datetime) -> None:
    """Alter an output, or reverse it entirely.

    Raises ``RequestError``: 404 if it does not exist, 400 with the problems of the alteration.
    """
    by_number = movements.c.inward.is_(False) & (movements.c.number == data.numeroDaSaida)
    output = connection.execute(select(movements).where(by_number)).one_or_none()
    if output is None:
        raise not_found("numeroDaSaida", "Saída não encontrada.")
    fixed = {name: getattr(output, name) for name in _FIXED_FIELDS if getattr(data, name) is None}
    require_no_problems(
        [
            *_alteration_problems(output, data),
            *_code_problems(CodeLookup(connection), data.model_copy(update=fixed)),
        ]
    )
    values = data.model_dump(
        exclude={"numeroDaSaida", "estorno", "descricaoDoEstorno"}, exclude_none=True
    )
    values["ultimaAtualizacao"] = now
    if data.estorno:
        copied = (
            "codigoDaFilial", "codigoDoAlmoxarifado", "idProd", "numeroDeSerie", "codigoDoProjeto",
            "quantidade", "valorUnitario", "valorTotal", "documento",
        )  # fmt: skip
        row = {name: getattr(output, name) for name in copied} | {"reverses": output.number}
        record_movement(connection, row, inward=True, now=now)
        values |= {"reversed": True, "reversal": data.descricaoDoEstorno}
    else:
        values |= _changed_value(connection, now, output, data.quantidade)
    connection.execute(update(movements).where(by_number).values(values))


def _code_problems(lookup: CodeLookup, data: StockOutputInput) -> list[Problem]:
    warehouse = data.codigoDoAlmoxarifado
    return [
        *movement_problems(lookup, data),
        *lookup.section_problems(data.codigoDaFilial, warehouse, data.codigoDaSecao),
        *lookup.field_problems(data, "codigoDoCentroDeCusto"),
        *_unit_problems(lookup, data),
        *lookup.field_problems(
            data, "codigoDoColaboradorSolicitante", "codigoDoColaboradorDestino"
        ),
    ]


def _unit_problems(lookup: CodeLookup, data: StockOutputInput) -> list[Problem]:
    """Return the problem of a unit other than the product's: there is no conversion."""
    key, code = "codigoDaUnidadeDeMedida", data.codigoDaUnidadeDeMedida
    problems = lookup.field_problems(data, key)
    product = lookup.entry(products, data.idProd)
    if problems or code is None or product is None or product.unit in (None, code):
        return problems
    symbol = lookup.checked_entry(units, product.unit).symbol
    return [(key, f"O produto {product.code} é medido em {symbol}.")]


def _source_columns(
    connection: Connection, now: datetime, data: StockOutputInput
) -> dict[str, Any]:
    """Return the key and value columns of the first matching balance with enough stock.

    An output without a product is recorded, but affects no balance.
    """
    if data.idProd is None:
        warehouse = data.codigoDoAlmoxarifado
        if warehouse is None:
            warehouse = default_warehouse(connection, data.codigoDaFilial)
        return {"codigoDoAlmoxarifado": warehouse} | value_columns(_ZERO, _ZERO)
    largest = _ZERO
    for balance_key, balance in balances_of(connection, now, *_source_conditions(data)):
        if balance.quantity >= data.quantidade:
            values = balance.value_columns_of(data.quantidade)
            return balance_key.movement_columns() | values
        largest = max(largest, balance.quantity)
    raise _insufficient(data.idProd, largest)


def _source_conditions(data: StockOutputInput) -> Iterator[ColumnElement[bool]]:
    yield movements.c.idProd == data.idProd
    yield movements.c.codigoDaFilial == data.codigoDaFilial
    for name in ("codigoDoAlmoxarifado", "numeroDeSerie", "codigoDoProjeto"):
        if (value := getattr(data, name)) is not None:
            yield movements.c[name] == value


def _alteration_problems(output: Row[Any], data: StockOutputChange) -> Iterator[Problem]:
    if output.reversed:
        yield "numeroDaSaida", f"A saída {output.number} já foi estornada."
    if output.adjustment:
        yield "numeroDaSaida", f"A saída {output.number} é um ajuste de inventário."
    for name in _FIXED_FIELDS:
        if getattr(data, name) not in (None, getattr(output, name)):
            yield name, "Não pode ser alterado em uma saída já registrada."
    if data.estorno and data.quantidade != output.quantidade:
        yield "quantidade", "O estorno deve ser da saída inteira."


def _changed_value(
    connection: Connection, now: datetime, output: Row[Any], quantity: Decimal
) -> dict[str, Decimal]:
    """Return an output's value for a new quantity; an increase is valued at the current cost."""
    increase = quantity - output.quantidade
    if increase <= 0 or output.idProd is None:
        value = round_half_up(output.valorTotal * quantity / output.quantidade)
        return value_columns(output.valorUnitario, value)
    data = StockOutputInput.model_validate(output._mapping)
    require_no_problems(settlement_problems(connection, data, increase))
    balance_key = BalanceKey(output.codigoDaFilial, output.codigoDoAlmoxarifado, output.idProd,
                  output.numeroDeSerie, output.codigoDoProjeto)  # fmt: skip
    balance = balance_at(connection, now, balance_key)
    if balance.quantity < increase:
        raise _insufficient(output.idProd, balance.quantity)
    value = balance.cost_of(increase) + output.valorTotal
    return value_columns(unit_value(quantity, value), value)


def _insufficient(product: int, available: Decimal) -> RequestError:
    message = (
        f"Saldo insuficiente do produto {product}: há {format_quantity(available)} disponível."
    )
    return invalid(("quantidade", message))


def select_requested_items() -> Select[Any]:
    """Select the items of requisitions with their settled and pending quantities."""
    items = stock_requisition_items
    settles = and_(
        movements.c.numeroDaRequisicao == items.c.requisition,
        movements.c.seqRequisicao == items.c.seq,
        movements.c.inward.is_(False),
        movements.c.reversed.is_(False),
    )
    settled = func.coalesce(func.sum(movements.c.quantidade), _ZERO)
    pending = type_coerce(items.c.quantity - settled, Amount)
    return (
        select(items, settled.label("settled"), pending.label("pending"))
        .outerjoin(movements, settles)
        .group_by(*items.c)
        .order_by(items.c.requisition, items.c.seq)
    )


def requested_item(connection: Connection, data: StockOutputInput) -> Row[Any] | None:
    """Return the requisition item that an output refers to, None if there is none."""
    items = stock_requisition_items.c
    by_key = (items.requisition == data.numeroDaRequisicao) & (items.seq == data.seqRequisicao)
    return connection.execute(select_requested_items().where(by_key)).one_or_none()


def settlement_problems(
    connection: Connection, data: StockOutputInput, quantity: Decimal
) -> list[Problem]:
    """Return the problems of settling a quantity of the requisition that an output refers to."""
    number = data.numeroDaRequisicao
    if number is None and data.seqRequisicao is None:
        return []
    if number is None or data.seqRequisicao is None:
        key = "numeroDaRequisicao" if number is None else "seqRequisicao"
        return [(key, "Informe a requisição e o item dela.")]
    by_number = stock_requisitions.c.number == number
    branch = connection.scalar(select(stock_requisitions.c.branch).where(by_number))
    if branch is None:
        return [("numeroDaRequisicao", f"Requisição {number}: número não cadastrado.")]
    if branch != data.codigoDaFilial:
        return [("numeroDaRequisicao", f"A requisição {number} é da filial {branch}.")]
    item = requested_item(connection, data)
    if item is None:
        return [("seqRequisicao", f"A requisição {number} não tem o item informado.")]
    if data.idProd not in (None, item.product):
        return [("idProd", f"O item da requisição é do produto {item.product}.")]
    if quantity > item.pending:
        pending = format_quantity(item.pending)
        return [("quantidade", f"A quantidade pendente do item da requisição é {pending}.")]
    return []
