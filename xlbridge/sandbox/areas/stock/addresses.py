"""Product addresses in a warehouse: rules and handlers.

Source: the spec, Product addressing (mapeamento).
"""

from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    and_,
    case,
    delete,
    insert,
    null,
    select,
    update,
)

from xlbridge.sandbox.areas.registry.codes import CodeLookup
from xlbridge.sandbox.areas.registry.tables import (
    branches,
    product_categories,
    product_groups,
    product_types,
    products,
    sections,
    units,
    warehouses,
)
from xlbridge.sandbox.areas.stock.tables import addressings, of_warehouse
from xlbridge.sandbox.handler_registry import Call, handles, register_one
from xlbridge.sandbox.problems import Problem, invalid, not_found
from xlbridge.wire.stock import (
    ADDRESSING_ACTIVATE,
    ADDRESSING_CREATE,
    ADDRESSING_DEACTIVATE,
    ADDRESSING_LIST,
    ADDRESSING_MAPPING,
    Addressing,
    AddressingInput,
    AddressingKey,
)


class AddressingRegistration:
    """Registration of product addresses; an existing one is replaced."""

    def __init__(self, connection: Connection, now: datetime) -> None:
        self._connection = connection
        self._now = now
        self._lookup = CodeLookup(connection)
        self._rows: dict[tuple[Any, ...], dict[str, Any]] = {}

    def problems(self, data: AddressingInput) -> list[Problem]:
        """Return the problems of an address."""
        lookup = self._lookup
        return [
            *lookup.field_problems(data, "codigoDaFilial", "idProd"),
            *lookup.warehouse_problems(data.codigoDaFilial, data.codigoDoAlmoxarifado),
            *lookup.section_problems(*_section_warehouse(data), data.codigoDaSecao),
        ]

    def accept(self, data: AddressingInput) -> AddressingInput:
        """Accept an address; its section is by default in the same warehouse."""
        branch, warehouse = _section_warehouse(data)
        record = data.model_copy(
            update={"codigoDaFilialSecao": branch, "codigoDoAlmoxarifadoSecao": warehouse}
        )
        row = record.model_dump() | {"ultimaAtualizacao": self._now}
        self._rows[tuple(row[column.name] for column in addressings.primary_key)] = row
        return record

    def write(self) -> None:
        """Write all accepted addresses."""
        for row in self._rows.values():
            key = AddressingKey.model_construct(**row)
            self._connection.execute(delete(addressings).where(_key_condition(key)))
        if self._rows:
            self._connection.execute(insert(addressings), list(self._rows.values()))
            self._rows.clear()


def _key_condition(key: AddressingKey) -> ColumnElement[bool]:
    return and_(*(column == getattr(key, column.name) for column in addressings.primary_key))


def _section_warehouse(data: AddressingInput) -> tuple[int, int]:
    """Return the branch and warehouse of the section, by default those of the product."""
    return (
        data.codigoDaFilialSecao or data.codigoDaFilial,
        data.codigoDoAlmoxarifadoSecao or data.codigoDoAlmoxarifado,
    )


@handles(ADDRESSING_MAPPING)
@handles(ADDRESSING_LIST)
def list_addressings(call: Call) -> list[Addressing]:
    return call.read(Addressing, _select_addressings())


@handles(ADDRESSING_CREATE)
def create_addressing(call: Call) -> Addressing:
    data = call.body_as(AddressingInput)
    return _addressing(call, register_one(AddressingRegistration(call.connection, call.now), data))


@handles(ADDRESSING_ACTIVATE)
@handles(ADDRESSING_DEACTIVATE)
def change_addressing(call: Call) -> Addressing:
    key = call.body_as(AddressingKey)
    activate = call.operation is ADDRESSING_ACTIVATE
    by_key = _key_condition(key)
    is_active = call.connection.scalar(select(addressings.c.ativo).where(by_key))
    if is_active is None:
        raise not_found("idProd", "Endereçamento não encontrado.")
    if is_active == activate:
        raise invalid(("ativo", f"O endereçamento já está {'ativo' if activate else 'inativo'}."))
    values = {"ativo": activate, "ultimaAtualizacao": call.now}
    call.connection.execute(update(addressings).where(by_key).values(values))
    return _addressing(call, key)


def _addressing(call: Call, key: AddressingKey) -> Addressing:
    (addressing,) = call.read(Addressing, _select_addressings().where(_key_condition(key)))
    return addressing


def _select_addressings() -> Select[Any]:
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
        .join(warehouses, of_warehouse(addressings))
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
