"""Stock movements: balances that they sum up to, entries, outputs, requisitions that they settle.

Source: the spec, Stock balance row, Stock entry (entrada), Stock output (saida), Stock requisition.
"""

from collections.abc import Iterator
from dataclasses import astuple, dataclass
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    ColumnElement,
    Connection,
    DateTime,
    ForeignKey,
    FromClause,
    Index,
    Integer,
    Row,
    Select,
    Table,
    Text,
    Uuid,
    and_,
    case,
    func,
    insert,
    select,
    type_coerce,
    update,
)

from xlbridge.sandbox.area_declarations import Amount, IsoDateTime, derived_columns, metadata
from xlbridge.sandbox.areas.registries import CodeLookup, next_number, products, units, warehouses
from xlbridge.sandbox.problems import (
    PRICE_PLACES,
    QUANTITY_PLACES,
    STOCK_LIMIT,
    Problem,
    RequestError,
    amount_problems,
    first_or_404,
    invalid,
    require_no_problems,
    round_half_up,
)
from xlbridge.wire.stock import (
    AddressingInput,
    InventoryInput,
    StockEntryInput,
    StockOutputChange,
    StockOutputInput,
)

movements = Table(
    "movements",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("inward", Boolean, nullable=False),
    Column("number", Integer, nullable=False),
    Column("moved", DateTime, nullable=False),
    *derived_columns(StockOutputInput),
    Column("valorUnitario", Amount, nullable=False),
    Column("valorTotal", Amount, nullable=False),
    Column("reversed", Boolean, nullable=False),
    Column("reversal", Text),
    Column("reverses", Integer),
    Column("adjustment", Boolean, nullable=False),
    Column("ultimaAtualizacao", IsoDateTime, nullable=False),
    Index("movements_by_number", "inward", "number", unique=True),
    Index("movements_by_product", "idProd", "codigoDaFilial", "codigoDoAlmoxarifado"),
    Index("movements_by_requisition", "numeroDaRequisicao"),
)
"""Entries (``inward``) and outputs, in the order of recording.

A ``reversed`` output stays; ``reverses`` of the entry that returns it is its number.
"""


def of_warehouse(rows: FromClause) -> ColumnElement[bool]:
    """Return the condition that joins the warehouses to rows with their codes."""
    return (warehouses.c.branch == rows.c.codigoDaFilial) & (
        warehouses.c.code == rows.c.codigoDoAlmoxarifado
    )


stock_requisitions = Table(
    "stock_requisitions",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("requested", DateTime, nullable=False),
    Column("branch", ForeignKey("branches.code"), nullable=False),
    Column("cost_centre", ForeignKey("cost_centres.code")),
    Column("released", Boolean, nullable=False),
    Index("stock_requisitions_by_branch", "branch"),
)
stock_requisition_items = Table(
    "stock_requisition_items",
    metadata,
    Column("requisition", ForeignKey("stock_requisitions.number"), primary_key=True),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("product", ForeignKey("products.idProduto"), nullable=False),
    Column("quantity", Amount, nullable=False),
)

inventories = Table(
    "inventories",
    metadata,
    Column("idInventario", Integer, primary_key=True, autoincrement=False),
    *derived_columns(InventoryInput),
    Column("situation", Text, nullable=False),
    Column("count", Integer, nullable=False),
    Column("dataDeInicio", DateTime, nullable=False),
    Column("dataDeEncerramento", DateTime),
    Column("idProcessamento", Uuid),
    Column("logProcessamento", Text),
    Column("ultimaAtualizacao", IsoDateTime, nullable=False),
)
"""``count`` is the number of the last count started, 0 before the first."""

inventory_items = Table(
    "inventory_items",
    metadata,
    Column("inventory", ForeignKey("inventories.idInventario"), primary_key=True),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("product", ForeignKey("products.idProduto"), nullable=False),
    Column("serial", Text),
    Column("project", ForeignKey("projects.code")),
    Column("balance", Amount, nullable=False),
    Column("count1", Amount),
    Column("count2", Amount),
    Column("count3", Amount),
)

addressings = Table(
    "addressings",
    metadata,
    *derived_columns(
        AddressingInput, keys=("codigoDaFilial", "codigoDoAlmoxarifado", "codigoDaSecao", "idProd")
    ),
    Column("ultimaAtualizacao", IsoDateTime, nullable=False),
)


_UNIT_COST_STEP = Decimal("0.000001")

_BALANCE_KEY_COLUMNS = (
    movements.c.codigoDaFilial,
    movements.c.codigoDoAlmoxarifado,
    movements.c.idProd,
    movements.c.numeroDeSerie,
    movements.c.codigoDoProjeto,
)


@dataclass(frozen=True, slots=True)
class BalanceKey:
    """Key of a balance: stock is kept separately by serial number and project."""

    branch: int
    warehouse: int
    product: int
    serial: str | None = None
    project: int | None = None

    def movement_columns(self) -> dict[str, Any]:
        """Return the columns of a movement of this balance."""
        names = (column.name for column in _BALANCE_KEY_COLUMNS)
        return dict(zip(names, astuple(self), strict=True))


@dataclass(frozen=True, slots=True)
class Balance:
    """Quantity in stock, and its total cost in reais."""

    quantity: Decimal = Decimal(0)
    value: Decimal = Decimal(0)

    @property
    def unit_cost(self) -> Decimal:
        """Average cost of one unit; 0 without stock."""
        return unit_value(self.quantity, self.value)

    def value_columns_of(self, quantity: Decimal) -> dict[str, Decimal]:
        """Return the value of part of the balance at average cost, as columns of a movement."""
        return value_columns(self.unit_cost, self.cost_of(quantity))

    def cost_of(self, quantity: Decimal) -> Decimal:
        """Return the cost of part of the balance; the last part gets the rounding difference."""
        if quantity == self.quantity:
            return self.value
        return round_half_up(self.value * quantity / self.quantity)


def value_columns(unit_cost: Decimal, value: Decimal) -> dict[str, Decimal]:
    """Return the value of a movement as columns of its table."""
    return {"valorUnitario": unit_cost, "valorTotal": value}


def unit_value(quantity: Decimal, value: Decimal) -> Decimal:
    """Return the value of one unit, to six places; 0 without stock."""
    if not quantity:
        return Decimal(0)
    return (value / quantity).quantize(_UNIT_COST_STEP, ROUND_HALF_UP)


def format_quantity(quantity: Decimal) -> str:
    """Format a quantity for a message, without trailing zeros."""
    return f"{quantity.normalize():f}"


def net_sum(amount: ColumnElement[Decimal]) -> ColumnElement[Decimal]:
    """Sum an amount over movements: entries less outputs."""
    return func.sum(case((movements.c.inward, amount), else_=-amount))


def has_happened(now: datetime) -> ColumnElement[bool]:
    """Return the condition that a movement counts: entries dated after today do not yet.

    Movements recorded on their own date or later always count, as the demo has dates of its own.
    """
    tomorrow = now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    return (movements.c.moved < tomorrow) | (movements.c.moved <= movements.c.ultimaAtualizacao)


def balance_sums(now: datetime) -> Select[Any]:
    """Select every balance with movements."""
    return (
        select(
            *_BALANCE_KEY_COLUMNS,
            net_sum(movements.c.quantidade).label("quantity"),
            net_sum(movements.c.valorTotal).label("value"),
        )
        .where(movements.c.idProd.is_not(None), has_happened(now))
        .group_by(*_BALANCE_KEY_COLUMNS)
    )


def balances_of(
    connection: Connection, now: datetime, *conditions: ColumnElement[bool]
) -> Iterator[tuple[BalanceKey, Balance]]:
    """Yield the balances of movements that meet all conditions; unassigned stock first."""
    ordered = (
        balance_sums(now)
        .where(*conditions)
        .order_by(
            movements.c.idProd,
            movements.c.codigoDaFilial,
            movements.c.codigoDoAlmoxarifado,
            movements.c.codigoDoProjeto.nulls_first(),
            movements.c.numeroDeSerie.nulls_first(),
        )
    )
    for row in connection.execute(ordered):
        yield BalanceKey(*row[: len(_BALANCE_KEY_COLUMNS)]), Balance(row.quantity, row.value)


def balance_at(connection: Connection, now: datetime, balance_key: BalanceKey) -> Balance:
    """Return the balance of a key."""
    conditions = [
        column.is_not_distinct_from(value)
        for column, value in zip(_BALANCE_KEY_COLUMNS, astuple(balance_key), strict=True)
    ]
    return next((balance for _, balance in balances_of(connection, now, *conditions)), Balance())


def product_balance(connection: Connection, now: datetime, product: int) -> Balance:
    """Return the total balance of a product."""
    balances = balances_of(connection, now, movements.c.idProd == product)
    parts = [balance for _, balance in balances]
    quantity = sum((part.quantity for part in parts), Decimal(0))
    return Balance(quantity, sum((part.value for part in parts), Decimal(0)))


def movement_problems(
    lookup: CodeLookup, data: StockEntryInput | StockOutputInput
) -> list[Problem]:
    """Return the problems common to all movements: quantity, branch, warehouse, product."""
    return [
        *amount_problems("quantidade", data.quantidade, QUANTITY_PLACES, STOCK_LIMIT),
        *lookup.field_problems(data, "codigoDaFilial"),
        *lookup.warehouse_problems(data.codigoDaFilial, data.codigoDoAlmoxarifado),
        *lookup.field_problems(data, "idProd", "codigoDoProjeto"),
    ]


def default_warehouse(connection: Connection, branch: int) -> int:
    """Return the default warehouse of a branch: its first.

    Raises ``RequestError`` (400) if the branch has none.
    """
    first = select(func.min(warehouses.c.code)).where(warehouses.c.branch == branch)
    code = connection.scalar(first)
    if code is None:
        raise invalid(("codigoDoAlmoxarifado", f"A filial {branch} não tem almoxarifado."))
    return int(code)


def record_movement(
    connection: Connection, row: dict[str, Any], *, inward: bool, now: datetime
) -> int:
    """Insert a movement and return its number; ``row`` has the columns without defaults."""
    number = next_number(connection, "stock_entry" if inward else "stock_output")
    defaults = {
        "inward": inward,
        "number": number,
        "moved": now,
        "reversed": False,
        "adjustment": False,
        "ultimaAtualizacao": now,
    }
    connection.execute(insert(movements), defaults | row)
    return number


def register_entry(connection: Connection, data: StockEntryInput, now: datetime) -> int:
    """Record an entry, and return its number. Raises ``RequestError`` (400) with its problems."""
    require_no_problems(
        [
            *movement_problems(CodeLookup(connection), data),
            *amount_problems("valorUnitario", data.valorUnitario, PRICE_PLACES, STOCK_LIMIT),
        ]
    )
    warehouse = data.codigoDoAlmoxarifado
    if warehouse is None:
        warehouse = default_warehouse(connection, data.codigoDaFilial)
    unit_cost = data.valorUnitario
    if unit_cost is None and data.idProd is not None:
        balance_key = BalanceKey(
            data.codigoDaFilial, warehouse, data.idProd, data.numeroDeSerie, data.codigoDoProjeto
        )
        unit_cost = average_cost(connection, now, balance_key)
    unit_cost = unit_cost or Decimal(0)
    value = round_half_up(data.quantidade * unit_cost)
    require_no_problems(amount_problems("valorUnitario", value, limit=STOCK_LIMIT))
    row = data.model_dump(exclude={"dataDaEntrada"}) | value_columns(unit_cost, value)
    row |= {"codigoDoAlmoxarifado": warehouse, "moved": data.dataDaEntrada}
    return record_movement(connection, row, inward=True, now=now)


def average_cost(connection: Connection, now: datetime, balance_key: BalanceKey) -> Decimal:
    """Return the average unit cost of a balance, or of the product if the balance is empty.

    It is 0 for a product without stock.
    """
    balance = balance_at(connection, now, balance_key)
    return balance.unit_cost or product_balance(connection, now, balance_key.product).unit_cost


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
    found = connection.execute(select(movements).where(by_number)).all()
    output = first_or_404(found, "numeroDaSaida", "Saída não encontrada.")
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
    key, unit = "codigoDaUnidadeDeMedida", data.codigoDaUnidadeDeMedida
    unit_problems = lookup.field_problems(data, key)
    product = lookup.entry(products, data.idProd)
    if (
        unit is not None
        and product is not None
        and product.codigoDaUnidadeDeMedida not in (None, unit)
    ):
        # There is no conversion of units.
        symbol = lookup.checked_entry(units, product.codigoDaUnidadeDeMedida).symbol
        message = f"O produto {product.idProduto} é medido em {symbol}."
        unit_problems = unit_problems or [(key, message)]
    return [
        *movement_problems(lookup, data),
        *lookup.section_problems(data.codigoDaFilial, warehouse, data.codigoDaSecao),
        *lookup.field_problems(data, "codigoDoCentroDeCusto"),
        *unit_problems,
        *lookup.field_problems(
            data, "codigoDoColaboradorSolicitante", "codigoDoColaboradorDestino"
        ),
    ]


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
    conditions = [
        column == value
        for column in _BALANCE_KEY_COLUMNS
        if (value := getattr(data, column.name)) is not None
    ]
    largest = _ZERO
    for balance_key, balance in balances_of(connection, now, *conditions):
        if balance.quantity >= data.quantidade:
            values = balance.value_columns_of(data.quantidade)
            return balance_key.movement_columns() | values
        largest = max(largest, balance.quantity)
    raise _insufficient(data.idProd, largest)


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
