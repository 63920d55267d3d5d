"""Rules of product addressing. Source: the spec, Product addressing (mapeamento)."""

from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, delete, insert, select, update

from xlbridge.sandbox.areas.registry.codes import CodeLookup
from xlbridge.sandbox.areas.registry.tables import branches, products
from xlbridge.sandbox.areas.stock.tables import addressings
from xlbridge.sandbox.problems import Problem, invalid, not_found
from xlbridge.wire.stock import AddressingInput, AddressingKey


class AddressingIntake:
    """Takes in product addresses; one that is there already is replaced."""

    def __init__(self, connection: Connection, now: datetime) -> None:
        self._connection = connection
        self._now = now
        self._known = CodeLookup(connection)
        self._rows: dict[tuple[Any, ...], dict[str, Any]] = {}

    def problems(self, data: AddressingInput) -> list[Problem]:
        """Return the rules that an address breaks."""
        known, section = self._known, _section_warehouse(data)
        return [
            *known.problems("codigoDaFilial", branches, data.codigoDaFilial, "Filial"),
            *known.problems("idProd", products, data.idProd, "Produto"),
            *known.warehouse_problems(data.codigoDaFilial, data.codigoDoAlmoxarifado),
            *known.section_problems(*section, data.codigoDaSecao),
        ]

    def accept(self, data: AddressingInput) -> AddressingInput:
        """Take in an address without problems; its section is by default in the same warehouse."""
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
            self._connection.execute(delete(addressings).where(address_condition(key)))
        if self._rows:
            self._connection.execute(insert(addressings), list(self._rows.values()))
            self._rows.clear()


def address_condition(key: AddressingKey) -> ColumnElement[bool]:
    """Return the condition that only one product address meets."""
    return and_(*(column == getattr(key, column.name) for column in addressings.primary_key))


def set_active(connection: Connection, key: AddressingKey, now: datetime, *, active: bool) -> None:
    """Activate or deactivate a product address.

    Raises ``RequestError``: 404 where there is none, 400 where it is so already.
    """
    this = address_condition(key)
    is_active = connection.scalar(select(addressings.c.ativo).where(this))
    if is_active is None:
        raise not_found("idProd", "Endereçamento não encontrado.")
    if is_active == active:
        raise invalid(("ativo", f"O endereçamento já está {'ativo' if active else 'inativo'}."))
    changed = update(addressings).where(this)
    connection.execute(changed.values(ativo=active, ultimaAtualizacao=now))


def _section_warehouse(data: AddressingInput) -> tuple[int, int]:
    """The branch and warehouse that the section is in, by default the product's own."""
    return (
        data.codigoDaFilialSecao or data.codigoDaFilial,
        data.codigoDoAlmoxarifadoSecao or data.codigoDoAlmoxarifado,
    )
