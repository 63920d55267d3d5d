"""Product addressing. Source: the spec, Product addressing (mapeamento), Stock."""

from typing import Any

from sqlalchemy import Select, case, null, select

from xlbridge.sandbox.business.addressings import AddressingIntake, of_address, set_active
from xlbridge.sandbox.business.intake import admit
from xlbridge.sandbox.call import Call, handles
from xlbridge.sandbox.tables.registries import (
    branches,
    product_categories,
    product_groups,
    product_types,
    products,
    sections,
    units,
    warehouses,
)
from xlbridge.sandbox.tables.stock import addressings
from xlbridge.wire.operations.stock import (
    ADDRESSING_ACTIVATE,
    ADDRESSING_CREATE,
    ADDRESSING_DEACTIVATE,
    ADDRESSING_LIST,
    ADDRESSING_MAPPING,
)
from xlbridge.wire.stock import Addressing, AddressingInput, AddressingKey


@handles(ADDRESSING_MAPPING)
@handles(ADDRESSING_LIST)
def list_addressings(call: Call) -> list[Addressing]:
    return call.read(Addressing, _rows())


@handles(ADDRESSING_CREATE)
def create(call: Call) -> Addressing:
    data = call.sent(AddressingInput)
    return _addressing(call, admit(AddressingIntake(call.connection, call.now), data))


@handles(ADDRESSING_ACTIVATE)
def activate(call: Call) -> Addressing:
    key = call.sent(AddressingKey)
    set_active(call.connection, key, call.now, active=True)
    return _addressing(call, key)


@handles(ADDRESSING_DEACTIVATE)
def deactivate(call: Call) -> Addressing:
    key = call.sent(AddressingKey)
    set_active(call.connection, key, call.now, active=False)
    return _addressing(call, key)


def _addressing(call: Call, key: AddressingKey) -> Addressing:
    (addressing,) = call.read(Addressing, _rows().where(of_address(key)))
    return addressing


def _rows() -> Select[Any]:
    is_active = addressings.c.ativo
    return (
        select(
            addressings,
            branches.c.name.label("descricaoDaFilial"),
            warehouses.c.name.label("descricaoDoAlmoxarifado"),
            sections.c.name.label("descricaoDaSecao"),
            products.c.internal_code.label("codigoInterno"),
            products.c.name.label("descricaoDoProduto"),
            products.c.product_type.label("codigoDoTipoDeProduto"),
            products.c.product_group.label("codigoDoGrupoDeProduto"),
            products.c.product_category.label("codigoDaCategoriaDeProduto"),
            product_types.c.name.label("descricaoDoTipoDeProduto"),
            product_groups.c.name.label("descricaoDoGrupoDeProduto"),
            product_categories.c.name.label("descricaoDaCategoriaDeProduto"),
            units.c.symbol.label("simboloDaUnidadeDeMedida"),
            case((is_active, null()), else_="Endereço inativo.").label("aviso"),
            (~is_active).label("podeAtivar"),
            is_active.label("podeDesativar"),
        )
        .join(branches, branches.c.code == addressings.c.codigoDaFilial)
        .join(
            warehouses,
            (warehouses.c.branch == addressings.c.codigoDaFilial)
            & (warehouses.c.code == addressings.c.codigoDoAlmoxarifado),
        )
        .join(products, products.c.code == addressings.c.idProd)
        .outerjoin(
            sections,
            (sections.c.branch == addressings.c.codigoDaFilialSecao)
            & (sections.c.warehouse == addressings.c.codigoDoAlmoxarifadoSecao)
            & (sections.c.code == addressings.c.codigoDaSecao),
        )
        .outerjoin(product_types, product_types.c.code == products.c.product_type)
        .outerjoin(product_groups, product_groups.c.code == products.c.product_group)
        .outerjoin(product_categories, product_categories.c.code == products.c.product_category)
        .outerjoin(units, units.c.code == products.c.unit)
        .order_by(*addressings.primary_key)
    )
