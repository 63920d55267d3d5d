"""Products. Source: the spec, Registry, Versioning (release 6.0.294)."""

from typing import Any

from sqlalchemy import Select, exists, select, update

from xlbridge.sandbox.answers import RequestError, not_found
from xlbridge.sandbox.business.intake import admit
from xlbridge.sandbox.business.products import PRODUCT_COLUMNS, ProductIntake
from xlbridge.sandbox.call import Call, handles
from xlbridge.sandbox.columns import labelled, stored
from xlbridge.sandbox.tables.registries import products
from xlbridge.wire.operations.registry import (
    PRODUCT_CREATE,
    PRODUCT_GET,
    PRODUCT_LIST,
    PRODUCT_UPDATE,
)
from xlbridge.wire.products import Product, ProductChange, ProductInput


@handles(PRODUCT_CREATE)
def create(call: Call) -> Product:
    return admit(ProductIntake(call.connection), call.sent(ProductInput))


@handles(PRODUCT_UPDATE)
def alter(call: Call) -> Product:
    change = call.sent(ProductChange)
    this = products.c.code == change.idProduto
    if not call.connection.scalar(select(exists().where(this))):
        raise not_found("idProduto", "Produto não encontrado.")
    problems = ProductIntake(call.connection).problems(change)
    if problems:
        raise RequestError(400, problems)
    values = stored(change, PRODUCT_COLUMNS)
    call.connection.execute(update(products).where(this).values(values))
    return Product(**change.model_dump())


@handles(PRODUCT_LIST)
def list_products(call: Call) -> list[Product]:
    return call.read(Product, _found())


@handles(PRODUCT_GET)
def show(call: Call) -> Product:
    for product in call.read(Product, _found().where(products.c.code == call.path["idProduto"])):
        return product
    raise not_found("idProduto", "Produto não encontrado.")


def _found() -> Select[Any]:
    return select(*labelled(products, PRODUCT_COLUMNS)).order_by(products.c.code)
