"""Stock balances. Source: the spec, Stock balance row, Stock."""

from decimal import Decimal
from typing import Any

from sqlalchemy import Select, exists, func, select

from xlbridge.sandbox.answers import not_found
from xlbridge.sandbox.call import Call, handles
from xlbridge.sandbox.tables.registries import branches, products, projects, warehouses
from xlbridge.sandbox.tables.stock import balances
from xlbridge.wire.operations.stock import (
    STOCK_BALANCE_OF_PRODUCT,
    STOCK_BALANCES,
    STOCK_BALANCES_OF_BRANCH,
)
from xlbridge.wire.stock import StockBalance

_NOTHING = Decimal(0)


@handles(STOCK_BALANCES)
def list_balances(call: Call) -> list[StockBalance]:
    return call.read(StockBalance, _rows())


@handles(STOCK_BALANCES_OF_BRANCH)
def list_of_branch(call: Call) -> list[StockBalance]:
    branch = call.path["id"]
    if not call.connection.scalar(select(exists().where(branches.c.code == branch))):
        raise not_found("id", "Filial não encontrada.")
    return call.read(StockBalance, _rows().where(balances.c.branch == branch))


@handles(STOCK_BALANCE_OF_PRODUCT)
def of_product(call: Call) -> StockBalance:
    total = call.connection.execute(
        select(
            products.c.code.label("idProd"),
            products.c.name.label("descricaoDoProduto"),
            func.sum(balances.c.quantity).label("quantidadeTotal"),
            func.sum(balances.c.value).label("valorTotal"),
        )
        .outerjoin(balances)
        .where(products.c.code == call.path["id"])
        .group_by(products.c.code, products.c.name)
    ).one_or_none()
    if total is None:
        raise not_found("id", "Produto não encontrado.")
    return StockBalance.model_construct(
        idProd=total.idProd,
        descricaoDoProduto=total.descricaoDoProduto,
        quantidadeTotal=total.quantidadeTotal or _NOTHING,
        valorTotal=total.valorTotal or _NOTHING,
    )


def _rows() -> Select[Any]:
    return (
        select(
            balances.c.branch.label("codigoDaFilial"),
            branches.c.name.label("descricaoDaFilial"),
            balances.c.warehouse.label("codigoDoAlmoxarifado"),
            warehouses.c.name.label("descricaoDoAlmoxarifado"),
            balances.c.product.label("idProd"),
            products.c.name.label("descricaoDoProduto"),
            balances.c.serial.label("numeroDeSerieLote"),
            balances.c.project.label("codigoDoProjeto"),
            projects.c.name.label("descricaoDoProjeto"),
            balances.c.quantity.label("quantidadeTotal"),
            balances.c.value.label("valorTotal"),
        )
        .join(branches, branches.c.code == balances.c.branch)
        .join(
            warehouses,
            (warehouses.c.branch == balances.c.branch)
            & (warehouses.c.code == balances.c.warehouse),
        )
        .join(products, products.c.code == balances.c.product)
        .outerjoin(projects, projects.c.code == balances.c.project)
        .order_by(balances.c.branch, balances.c.warehouse, balances.c.product)
    )
