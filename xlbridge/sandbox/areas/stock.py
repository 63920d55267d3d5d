"""Handlers of stock balances, movements and requisitions.

Source: the spec, Stock, Stock balance row, Stock output, Stock entry, Stock requisition,
Limits.
"""

from decimal import Decimal
from typing import Any

from sqlalchemy import (
    Select,
    case,
    delete,
    exists,
    false,
    func,
    literal,
    null,
    select,
    true,
    tuple_,
    update,
)

from xlbridge.sandbox.area_declarations import Call, construct, handles
from xlbridge.sandbox.areas.movements import (
    addressings,
    balance_sums,
    change_output,
    movements,
    of_warehouse,
    product_balance,
    register_entry,
    register_output,
    select_requested_items,
    stock_requisitions,
)
from xlbridge.sandbox.areas.registries import (
    RecordRegistration,
    branches,
    collaborators,
    product_categories,
    product_groups,
    product_types,
    products,
    projects,
    sections,
    units,
    warehouses,
)
from xlbridge.sandbox.problems import Problem, first_or_404, invalid
from xlbridge.wire import stock

_ZERO = Decimal(0)


@handles(stock.STOCK_BALANCES)
def list_balances(call: Call) -> list[stock.StockBalance]:
    return call.read(stock.StockBalance, _select_balances(call))


@handles(stock.STOCK_BALANCES_OF_BRANCH)
def list_branch_balances(call: Call) -> list[stock.StockBalance]:
    branch = call.path["id"]
    call.require_row(branches.c.code == branch, "id", "Filial não encontrada.")
    return call.read(stock.StockBalance, _select_balances(call).where(branches.c.code == branch))


@handles(stock.STOCK_BALANCE_OF_PRODUCT)
def show_product_balance(call: Call) -> stock.StockBalance:
    statement = select(products).where(products.c.idProduto == call.path["id"])
    found = call.connection.execute(statement).all()
    product = first_or_404(found, "id", "Produto não encontrado.")
    balance = product_balance(call.connection, call.now, product.idProduto)
    return stock.StockBalance(
        idProd=product.idProduto,
        descricaoDoProduto=product.descricaoDoProduto,
        quantidadeTotal=balance.quantity,
        valorTotal=balance.value,
    )


def _select_balances(call: Call) -> Select[Any]:
    """Select the balances of all products in all warehouses, including empty ones."""
    sums = balance_sums(call.now).subquery()
    return (
        select(
            branches.c.code.label("codigoDaFilial"),
            branches.c.name.label("descricaoDaFilial"),
            warehouses.c.code.label("codigoDoAlmoxarifado"),
            warehouses.c.name.label("descricaoDoAlmoxarifado"),
            products.c.idProduto.label("idProd"),
            products.c.descricaoDoProduto,
            sums.c.numeroDeSerie.label("numeroDeSerieLote"),
            sums.c.codigoDoProjeto,
            projects.c.name.label("descricaoDoProjeto"),
            func.coalesce(sums.c.quantity, _ZERO).label("quantidadeTotal"),
            func.coalesce(sums.c.value, _ZERO).label("valorTotal"),
        )
        .select_from(warehouses)
        .join(branches, branches.c.code == warehouses.c.branch)
        .join(products, true())
        .outerjoin(sums, of_warehouse(sums) & (sums.c.idProd == products.c.idProduto))
        .outerjoin(projects, projects.c.code == sums.c.codigoDoProjeto)
        .order_by(
            branches.c.code,
            warehouses.c.code,
            products.c.idProduto,
            sums.c.codigoDoProjeto.nulls_first(),
            sums.c.numeroDeSerie.nulls_first(),
        )
    )


_SEQ = 1
"""``seq`` of every movement: each has a single line."""

_requesters, _recipients = collaborators.alias(), collaborators.alias()


@handles(stock.STOCK_OUTPUT_CREATE)
def create_output(call: Call) -> stock.StockOutput:
    return _output(
        call, register_output(call.connection, call.body_as(stock.StockOutputInput), call.now)
    )


@handles(stock.STOCK_OUTPUT_CHANGE)
def alter_output(call: Call) -> stock.StockOutput:
    data = call.body_as(stock.StockOutputChange)
    change_output(call.connection, data, call.now)
    return _output(call, data.numeroDaSaida)


@handles(stock.STOCK_ENTRY_CREATE)
def create_entry(call: Call) -> stock.StockEntry:
    number = register_entry(call.connection, call.body_as(stock.StockEntryInput), call.now)
    is_entry = movements.c.inward.is_(True) & (movements.c.number == number)
    (entry,) = call.read(stock.StockEntry, _select_movements().where(is_entry))
    return entry


@handles(stock.STOCK_MOVEMENTS_OF_PRODUCT)
def list_product_movements(call: Call) -> list[stock.StockMovement]:
    product = call.path["id"]
    call.require_row(products.c.idProduto == product, "id", "Produto não encontrado.")
    return call.read(stock.StockMovement, _select_movements().where(movements.c.idProd == product))


def _output(call: Call, number: int) -> stock.StockOutput:
    is_output = movements.c.inward.is_(False) & (movements.c.number == number)
    (output,) = call.read(stock.StockOutput, _select_movements().where(is_output))
    return output


def _select_movements() -> Select[Any]:
    """Select movements by date, with columns named like the fields of their models."""
    is_reversed, later = movements.c.reversed, movements.alias()
    has_later = exists().where(
        later.c.idProd == movements.c.idProd,
        later.c.codigoDaFilial == movements.c.codigoDaFilial,
        later.c.codigoDoAlmoxarifado == movements.c.codigoDoAlmoxarifado,
        tuple_(later.c.moved, later.c.id) > tuple_(movements.c.moved, movements.c.id),
    )
    numbers = ("numeroDaSaida", "numeroDaEntrada", "numeroDaMovimentacao")
    dates = ("dataDaSaida", "dataDaEntrada", "dataDaMovimentacao")
    return (
        select(
            *(movements.c[name] for name in stock.StockOutputInput.model_fields),
            *(movements.c.number.label(name) for name in numbers),
            *(movements.c.moved.label(name) for name in dates),
            case((movements.c.inward, "Entrada"), else_="Saída").label("tipoDeMovimentacao"),
            literal(_SEQ).label("seq"),
            movements.c.numeroDeSerie.label("numeroDeSerieLote"),
            movements.c.valorUnitario,
            movements.c.valorTotal,
            (is_reversed | movements.c.reverses.is_not(None)).label("estorno"),
            case((is_reversed, movements.c.quantidade), else_=_ZERO).label("quantidadeEstornada"),
            movements.c.reversal.label("descricaoDoEstorno"),
            movements.c.reverses.label("numeroDaSaidaEstornada"),
            movements.c.adjustment.label("ajuste"),
            # The interface has no transfers between warehouses.
            false().label("transferencia"),
            (~has_later).label("ultimaMovimentacao"),
            movements.c.ultimaAtualizacao,
            branches.c.name.label("descricaoDaFilial"),
            warehouses.c.name.label("descricaoDoAlmoxarifado"),
            sections.c.name.label("descricaoDaSecao"),
            products.c.codigoInterno,
            products.c.descricaoDoProduto,
            products.c.marca,
            products.c.modelo,
            units.c.symbol.label("simboloDaUnidadeDeMedida"),
            _requesters.c.name.label("descricaoDoColaboradorSolicitante"),
            _recipients.c.name.label("descricaoDoColaboradorDestino"),
        )
        .select_from(movements)
        .join(branches, branches.c.code == movements.c.codigoDaFilial)
        .join(warehouses, of_warehouse(movements))
        .outerjoin(
            sections,
            (sections.c.branch == movements.c.codigoDaFilial)
            & (sections.c.warehouse == movements.c.codigoDoAlmoxarifado)
            & (sections.c.code == movements.c.codigoDaSecao),
        )
        .outerjoin(products, products.c.idProduto == movements.c.idProd)
        .outerjoin(
            units,
            units.c.code
            == func.coalesce(
                movements.c.codigoDaUnidadeDeMedida, products.c.codigoDaUnidadeDeMedida
            ),
        )
        .outerjoin(_requesters, _requesters.c.code == movements.c.codigoDoColaboradorSolicitante)
        .outerjoin(_recipients, _recipients.c.code == movements.c.codigoDoColaboradorDestino)
        .order_by(movements.c.moved, movements.c.id)
    )


@handles(stock.STOCK_REQUISITIONS_PENDING)
@handles(stock.STOCK_REQUISITIONS_SETTLED)
def list_requisitions(call: Call) -> list[stock.StockRequisition]:
    query = call.query_as(stock.StockRequisitionQuery)
    pending = call.operation is stock.STOCK_REQUISITIONS_PENDING
    call.require_row(branches.c.code == query.filial, "filial", "Filial não encontrada.")
    requested = select_requested_items().subquery()
    is_pending = exists().where(
        requested.c.requisition == stock_requisitions.c.number, requested.c.pending > 0
    )
    columns = stock_requisitions.c
    statement = (
        select(
            columns.number.label("numeroDaRequisicao"),
            columns.requested.label("dataDaRequisicao"),
            columns.branch.label("codigoDaFilial"),
            columns.cost_centre.label("codigoDoCentroDeCusto"),
            columns.released.label("liberadoParaAprovacao"),
            literal(pending).label("pendente"),
        )
        .where(columns.branch == query.filial, is_pending == pending)
        .order_by(columns.requested, columns.number)
        .limit(query.qtde or None)
    )
    found = {one.numeroDaRequisicao: one for one in call.read(stock.StockRequisition, statement)}
    lines = (
        select(
            requested.c.requisition,
            requested.c.seq,
            requested.c.product.label("idProd"),
            products.c.descricaoDoProduto,
            requested.c.quantity.label("quantidade"),
            requested.c.settled.label("quantidadeAtendida"),
            requested.c.pending.label("quantidadePendente"),
        )
        .join(products, products.c.idProduto == requested.c.product)
        .where(requested.c.requisition.in_(list(found)))
        .order_by(requested.c.requisition, requested.c.seq)
    )
    for line in call.connection.execute(lines).mappings():
        found[line["requisition"]].itens.append(construct(stock.StockRequisitionItem, line))
    return list(found.values())


class AddressingRegistration(RecordRegistration[Any]):
    """Registration of product addresses; an existing one is replaced."""

    table, model = addressings, stock.Addressing
    missing = ("idProd", "Endereçamento não encontrado.")

    def problems(self, data: stock.AddressingInput) -> list[Problem]:
        """Return the problems of an address."""
        lookup = self._lookup
        return [
            *lookup.field_problems(data, "codigoDaFilial", "idProd"),
            *lookup.warehouse_problems(data.codigoDaFilial, data.codigoDoAlmoxarifado),
            *lookup.section_problems(*_section_warehouse(data), data.codigoDaSecao),
        ]

    def accept(self, data: stock.AddressingInput) -> stock.AddressingInput:
        """Accept an address; its section is by default in the same warehouse."""
        branch, warehouse = _section_warehouse(data)
        record = data.model_copy(
            update={"codigoDaFilialSecao": branch, "codigoDoAlmoxarifadoSecao": warehouse}
        )
        self._rows[addressings].append(record.model_dump() | {"ultimaAtualizacao": self._now})
        return record

    def write(self) -> None:
        """Write all accepted addresses, of several with the same key the last."""
        names = [column.name for column in addressings.primary_key]
        rows = {tuple(row[name] for name in names): row for row in self._rows[addressings]}
        for key in rows:
            self._connection.execute(delete(addressings).where(*self.by_key(key)))
        self._rows[addressings] = list(rows.values())
        super().write()

    @classmethod
    def statement(cls) -> Select[Any]:
        """Return the statement that selects addresses with the descriptions of their codes."""
        is_active = addressings.c.ativo
        return (
            select(
                addressings,
                branches.c.name.label("descricaoDaFilial"),
                warehouses.c.name.label("descricaoDoAlmoxarifado"),
                sections.c.name.label("descricaoDaSecao"),
                products.c.codigoInterno,
                products.c.descricaoDoProduto,
                products.c.codigoDoTipoDeProduto,
                products.c.codigoDoGrupoDeProduto,
                products.c.codigoDaCategoriaDeProduto,
                product_types.c.name.label("descricaoDoTipoDeProduto"),
                product_groups.c.name.label("descricaoDoGrupoDeProduto"),
                product_categories.c.name.label("descricaoDaCategoriaDeProduto"),
                units.c.symbol.label("simboloDaUnidadeDeMedida"),
                case((is_active, null()), else_="Endereço inativo.").label("aviso"),
                (~is_active).label("podeAtivar"),
                is_active.label("podeDesativar"),
            )
            .join(branches, branches.c.code == addressings.c.codigoDaFilial)
            .join(warehouses, of_warehouse(addressings))
            .join(products, products.c.idProduto == addressings.c.idProd)
            .outerjoin(
                sections,
                (sections.c.branch == addressings.c.codigoDaFilialSecao)
                & (sections.c.warehouse == addressings.c.codigoDoAlmoxarifadoSecao)
                & (sections.c.code == addressings.c.codigoDaSecao),
            )
            .outerjoin(product_types, product_types.c.code == products.c.codigoDoTipoDeProduto)
            .outerjoin(product_groups, product_groups.c.code == products.c.codigoDoGrupoDeProduto)
            .outerjoin(
                product_categories,
                product_categories.c.code == products.c.codigoDaCategoriaDeProduto,
            )
            .outerjoin(units, units.c.code == products.c.codigoDaUnidadeDeMedida)
        )


def _section_warehouse(data: stock.AddressingInput) -> tuple[int, int]:
    """Return the branch and warehouse of the section, by default those of the product."""
    return (
        data.codigoDaFilialSecao or data.codigoDaFilial,
        data.codigoDoAlmoxarifadoSecao or data.codigoDoAlmoxarifado,
    )


def _key_of(data: stock.AddressingKey) -> list[object]:
    return [getattr(data, column.name) for column in addressings.primary_key]


@handles(stock.ADDRESSING_MAPPING)
@handles(stock.ADDRESSING_LIST)
def list_addressings(call: Call) -> list[stock.Addressing]:
    return AddressingRegistration.find(call.connection)


@handles(stock.ADDRESSING_CREATE)
def create_addressing(call: Call) -> stock.Addressing:
    data = call.body_as(stock.AddressingInput)
    AddressingRegistration(call.connection, call.now).register(data)
    created: stock.Addressing = AddressingRegistration.get(call.connection, *_key_of(data))
    return created


@handles(stock.ADDRESSING_ACTIVATE)
@handles(stock.ADDRESSING_DEACTIVATE)
def change_addressing(call: Call) -> stock.Addressing:
    key = _key_of(call.body_as(stock.AddressingKey))
    activate = call.operation is stock.ADDRESSING_ACTIVATE
    if AddressingRegistration.get(call.connection, *key).ativo == activate:
        raise invalid(("ativo", f"O endereçamento já está {'ativo' if activate else 'inativo'}."))
    values = {"ativo": activate, "ultimaAtualizacao": call.now}
    by_key = AddressingRegistration.by_key(key)
    call.connection.execute(update(addressings).where(*by_key).values(values))
    changed: stock.Addressing = AddressingRegistration.get(call.connection, *key)
    return changed
