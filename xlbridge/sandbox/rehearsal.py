"""Stand-ins for codes of real workbooks that a rehearsal's database lacks.

The registry of a code comes from the ``references`` of its column in the schema, or from the rules
of the record.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any

from sqlalchemy import Connection, Table, insert, or_, select, update

from xlbridge.i18n import Text
from xlbridge.resources import Resource
from xlbridge.resources.names import coded_title, registry_of
from xlbridge.resources.references import REFERENCES
from xlbridge.sandbox.areas import registries as registry
from xlbridge.sandbox.areas.records import (
    ClientRegistration,
    ProductRegistration,
    SupplierRegistration,
)
from xlbridge.sandbox.areas.registries import REGISTRIES, Numbers
from xlbridge.wire import WireModel
from xlbridge.wire.financial import PayableInput, ReceivableInput
from xlbridge.wire.purchasing import SpendingLimitInput
from xlbridge.wire.registry import Client, ProductInput
from xlbridge.wire.sales import SalesOrderInput

__all__ = [
    "CODE_COLUMNS",
    "StandIns",
    "registry_title",
]

_WAREHOUSE_FIELDS = ("codigoDaFilial", "codigoDoAlmoxarifado")
_SECTION_WAREHOUSE_FIELDS = ("codigoDaFilialSecao", "codigoDoAlmoxarifadoSecao")
_REVENUE: Mapping[type[WireModel] | None, bool] = {
    ReceivableInput: True,
    SalesOrderInput: True,
    PayableInput: False,
    SpendingLimitInput: False,
}
_SCOPE_OF_REGISTRY = {
    one.table: one.scope for one in (ClientRegistration, SupplierRegistration, ProductRegistration)
}
"""Registries whose codes the system generates, with the scope of their counter."""

_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    registry.clients.name: Client(codigoDoCliente=0, natureza="J").model_dump(),
    registry.products.name: ProductInput(descricaoDoProduto="").model_dump(),
    registry.categories.name: {"revenue": False},
    registry.units.name: {"symbol": "UN"},
    registry.invoice_models.name: {"series": 1},
    registry.payment_conditions.name: {"instalments": 1, "days_between": 30},
}
"""Values of required columns of a new record, by table."""

_ACTIVE = ("active", "ativo")
_NAME = ("name", "nomeComercial", "descricaoDoProduto")
_UPDATED = "ultimaAtualizacao"
_FIRST_WAREHOUSE = 1
_TEXT_CODE_PREFIX = "ENSAIO-"
_NO_PRODUCT = 0
"""Code of items that are no registered products."""

CODE_COLUMNS = frozenset(
    {
        *REGISTRIES,
        *_WAREHOUSE_FIELDS,
        *_SECTION_WAREHOUSE_FIELDS,
        "codigoDaCarteira",
        "codigoDaSecao",
    }
)
"""Columns without a reference whose values must exist in a registry."""


class StandIns:
    """Creates records that rows refer to and the database lacks, within one transaction.

    ``provided`` are the codes that rows of workbooks will create themselves, by registry.
    ``counts`` are the records created by table, including existing ones that had to be activated
    or reassigned.
    """

    def __init__(
        self,
        connection: Connection,
        now: datetime,
        provided: Mapping[str, Collection[str]] = MappingProxyType({}),
    ) -> None:
        self._connection = connection
        self._now = now
        # The table of each registry that columns refer to.
        self._tables = {registry_of(field): table for field, (table, _) in REGISTRIES.items()}
        self._provided = {self._tables[name].name: codes for name, codes in provided.items()}
        self._existing: dict[str, dict[tuple[Any, ...], Mapping[str, Any]]] = {}
        self._numbers = Numbers(connection)
        self.counts: Counter[str] = Counter()

    def create_for_row(
        self, resource: Resource, row: Mapping[str, Any], record: Resource | None = None
    ) -> None:
        """Create what one row refers to; ``row`` has its filled cells in columns of codes.

        ``record`` is the resource that the row of a child sheet belongs to.
        """
        model = (record or resource).row_model
        for column in resource.columns:
            code = row.get(column.name)
            if code is None or column.registers is not None:
                continue
            if column.references is not None:
                self._ensure_entry(self._tables[column.references], code, model)
            elif model is not None and column.name in REGISTRIES:
                self._ensure_entry(REGISTRIES[column.name][0], code, model)
        if model is None:
            return
        if (portfolio := row.get("codigoDaCarteira")) is not None:
            account = row.get("codigoDaContaCorrente")
            if account is None:
                account = self._rows(registry.issuers)[(row["codigoDaFilial"],)]["account"]
            self._ensure(registry.portfolios, portfolio, account=account)
        if _WAREHOUSE_FIELDS[1] in resource.by_name:
            self._ensure_place(row)

    def create_by_name(
        self, registry: str, fields: Collection[str], field: str, value: str
    ) -> None:
        """Create a record with this value of a field, unless any of the fields has it already."""
        table = self._tables[registry]
        # A code list has the field of its names as a column of another name.
        columns = {REFERENCES[registry].label: table.c.get("name"), **table.c}
        known = [column for name in fields if (column := columns.get(name)) is not None]
        if (column := columns.get(field)) is None:
            return
        (key,) = table.primary_key
        if self._connection.execute(select(key).where(or_(*(c == value for c in known)))).first():
            return
        scope = _SCOPE_OF_REGISTRY.get(table, table.name)
        taken = {"", *self._provided.get(table.name, ())}
        taken |= {str(code) for (code,) in self._rows(table)}
        code: Any = ""
        while str(code) in taken:
            number = self._numbers.next(scope)
            code = number if key.type.python_type is int else f"{_TEXT_CODE_PREFIX}{number}"
        self._ensure(table, code, defaults={column.name: value})

    def write_counters(self) -> None:
        """Store the counters of generated codes."""
        self._numbers.write()

    def _ensure_entry(self, table: Table, code: Any, model: type[WireModel] | None) -> None:
        """Ensure the record of a code to which a row of a ``model`` refers."""
        if table is registry.branches:
            self._ensure_branch(code)
        elif table is registry.categories and model in _REVENUE:
            self._ensure(table, code, revenue=_REVENUE[model])
        elif table is not registry.products or code != _NO_PRODUCT:
            self._ensure(table, code)

    def _ensure_branch(self, code: int) -> None:
        """Ensure a branch that can bill, with the billing defaults of the first issuer."""
        self._ensure(registry.branches, code)
        issuers = self._rows(registry.issuers)
        if issuers and (code,) not in issuers:
            row = {**issuers[min(issuers)], "code": code, "name": _stand_in_name(code)}
            self._connection.execute(insert(registry.issuers).values(row))
            issuers[(code,)] = row

    def _ensure_place(self, row: Mapping[str, Any]) -> None:
        """Ensure the warehouse and section of a row, by default the first of its branch."""
        branch, warehouse = (row.get(name) for name in _WAREHOUSE_FIELDS)
        if branch is None:
            return
        if warehouse is None:
            of_branch = [code for other, code in self._rows(registry.warehouses) if other == branch]
            warehouse = min(of_branch, default=_FIRST_WAREHOUSE)
        places = [(branch, warehouse)]
        section = row.get("codigoDaSecao")
        if section is not None:
            own = [row.get(name) for name in _SECTION_WAREHOUSE_FIELDS]
            places.append((own[0] or branch, own[1] or warehouse))
        for place in places:
            self._ensure_branch(place[0])
            self._ensure(registry.warehouses, *place)
        if section is not None:
            self._ensure(registry.sections, *places[-1], section)

    def _ensure(
        self, table: Table, *key: Any, defaults: Mapping[str, Any] | None = None, **required: Any
    ) -> None:
        """Insert a missing record with ``defaults``, and set the ``required`` values.

        ``key`` is its primary key, its code last. A record that may be inactive is activated.
        """
        if str(key[-1]) in self._provided.get(table.name, ()):
            return
        required |= {name: True for name in _ACTIVE if name in table.c}
        existing = self._rows(table)
        row = existing.get(key)
        if row is None:
            own = {column.name: value for column, value in zip(table.primary_key, key, strict=True)}
            own |= {name: _stand_in_name(key[-1]) for name in _NAME if name in table.c}
            own |= {_UPDATED: self._now} if _UPDATED in table.c else {}
            row = {**_DEFAULTS.get(table.name, {}), **own, **(defaults or {}), **required}
            self._connection.execute(insert(table).values(row))
            if table in _SCOPE_OF_REGISTRY:
                self._numbers.reserve(_SCOPE_OF_REGISTRY[table], key[-1])
        elif any(row[name] != value for name, value in required.items()):
            by_key = (column == value for column, value in zip(table.primary_key, key, strict=True))
            self._connection.execute(update(table).where(*by_key).values(required))
        else:
            return
        existing[key] = {**row, **required}
        self.counts[table.name] += 1

    def _rows(self, table: Table) -> dict[tuple[Any, ...], Mapping[str, Any]]:
        """Return the rows of a table by primary key."""
        if table.name not in self._existing:
            names = [column.name for column in table.primary_key]
            rows = self._connection.execute(select(table)).mappings()
            self._existing[table.name] = {tuple(row[n] for n in names): dict(row) for row in rows}
        return self._existing[table.name]


def _stand_in_name(code: object) -> str:
    return f"{code} (ensaio)"


def registry_title(name: str) -> Text:
    """Return the title of the registry whose table has a name."""
    fields = {table.name: field for field, (table, _) in REGISTRIES.items()} | {
        registry.portfolios.name: "codigoDaCarteira",
        registry.warehouses.name: _WAREHOUSE_FIELDS[1],
        registry.sections.name: "codigoDaSecao",
    }
    return coded_title(fields[name])
