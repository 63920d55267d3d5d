"""Stock balances. Source: the spec, Stock balance row, Stock."""

from decimal import Decimal
from typing import Any

from sqlalchemy import Select, exists, func, select, true

from xlbridge.sandbox.answers import not_found
from xlbridge.sandbox.business.stock_balances import balance_sums, product_balance
from xlbridge.sandbox.call import Call, handles
from xlbridge.sandbox.tables.registries import branches, products, projects, warehouses
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
    return call.read(StockBalance, _rows().where(branches.c.code == branch))


@handles(STOCK_BALANCE_OF_PRODUCT)
def of_product(call: Call) -> StockBalance:
    of_code = products.c.code == call.path["id"]
    product = call.connection.execute(select(products).where(of_code)).one_or_none()
    if product is None:
        raise not_found("id", "Produto não encontrado.")
    balance = product_balance(call.connection, product.code)
    return StockBalance(
        idProd=product.code,
        descricaoDoProduto=product.name,
        quantidadeTotal=balance.quantity,
        valorTotal=balance.value,
    )


def _rows() -> Select[Any]:
    """Every product in every warehouse, with and without balance."""
    sums = balance_sums().subquery()
    return (
        select(
            branches.c.code.label("codigoDaFilial"),
            branches.c.name.label("descricaoDaFilial"),
            warehouses.c.code.label("codigoDoAlmoxarifado"),
            warehouses.c.name.label("descricaoDoAlmoxarifado"),
            products.c.code.label("idProd"),
            products.c.name.label("descricaoDoProduto"),
            sums.c.numeroDeSerie.label("numeroDeSerieLote"),
            sums.c.codigoDoProjeto,
            projects.c.name.label("descricaoDoProjeto"),
            func.coalesce(sums.c.quantity, _NOTHING).label("quantidadeTotal"),
            func.coalesce(sums.c.value, _NOTHING).label("valorTotal"),
        )
        .select_from(warehouses)
        .join(branches, branches.c.code == warehouses.c.branch)
        .join(products, true())
        .outerjoin(
            sums,
            (sums.c.codigoDaFilial == warehouses.c.branch)
            & (sums.c.codigoDoAlmoxarifado == warehouses.c.code)
            & (sums.c.idProd == products.c.code),
        )
        .outerjoin(projects, projects.c.code == sums.c.codigoDoProjeto)
        .order_by(
            branches.c.code,
            warehouses.c.code,
            products.c.code,
            sums.c.codigoDoProjeto.nulls_first(),
            sums.c.numeroDeSerie.nulls_first(),
        )
    )
