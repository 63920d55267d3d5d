"""The rules of product addressing. Source: the spec, Product addressing (mapeamento)."""

from functools import cache
from typing import Any

from sqlalchemy import Connection, and_, delete, exists, insert, select

from xlbridge.sandbox.answers import Problem
from xlbridge.sandbox.business.known import Known
from xlbridge.sandbox.tables.registries import branches, products, warehouses
from xlbridge.sandbox.tables.stock import addressings
from xlbridge.wire.stock import AddressingInput


class AddressingIntake:
    """Takes in product addresses; one that is there already is replaced."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._known = Known(connection)
        self._has_warehouse = cache(self._read_warehouse)
        self._rows: dict[tuple[Any, ...], dict[str, Any]] = {}

    def problems(self, data: AddressingInput) -> list[Problem]:
        """Return the rules that an address breaks."""
        problems = [
            *self._known.complaint("codigoDaFilial", branches, data.codigoDaFilial, "Filial"),
            *self._known.complaint("idProd", products, data.idProd, "Produto"),
        ]
        if not self._has_warehouse(data.codigoDaFilial, data.codigoDoAlmoxarifado):
            message = f"A filial {data.codigoDaFilial} não tem o almoxarifado informado."
            problems.append(("codigoDoAlmoxarifado", message))
        return problems

    def accept(self, data: AddressingInput) -> AddressingInput:
        """Take in an address without problems; its section is by default in its own place."""
        record = data.model_copy(
            update={
                "codigoDaFilialSecao": data.codigoDaFilialSecao or data.codigoDaFilial,
                "codigoDoAlmoxarifadoSecao": data.codigoDoAlmoxarifadoSecao
                or data.codigoDoAlmoxarifado,
            }
        )
        row = record.model_dump()
        self._rows[tuple(row[column.name] for column in addressings.primary_key)] = row
        return record

    def write(self) -> None:
        """Write all accepted addresses."""
        for key in self._rows:
            same = zip(addressings.primary_key, key, strict=True)
            this = and_(*(column == value for column, value in same))
            self._connection.execute(delete(addressings).where(this))
        if self._rows:
            self._connection.execute(insert(addressings), list(self._rows.values()))
            self._rows.clear()

    def _read_warehouse(self, branch: int, code: int) -> bool:
        of_branch = (warehouses.c.branch == branch) & (warehouses.c.code == code)
        return bool(self._connection.scalar(select(exists().where(of_branch))))
