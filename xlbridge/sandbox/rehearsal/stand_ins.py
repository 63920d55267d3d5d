"""Stand-ins for codes that real workbooks refer to and the rehearsal database lacks.

The registry of a code comes from the ``references`` of its column in the schema, or from the rules
of the record.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Table, func, insert, select, update

from xlbridge.i18n import Text
from xlbridge.resources import Resource
from xlbridge.sandbox.areas.registry.codes import REGISTRIES, Numbers, counters
from xlbridge.sandbox.areas.registry.tables import (
    abc_costs,
    accounts,
    branches,
    categories,
    client_types,
    clients,
    cost_centres,
    issuers,
    payment_methods,
    portfolios,
    product_types,
    products,
    sections,
    sellers,
    services,
    suppliers,
    warehouses,
)
from xlbridge.wire.financial import PayableInput, ReceivableInput
from xlbridge.wire.registry import Client

REGISTRY_TITLES: Mapping[str, Text] = {
    clients.name: Text(pt="clientes", en="clients"),
    suppliers.name: Text(pt="fornecedores", en="suppliers"),
    products.name: Text(pt="produtos", en="products"),
    branches.name: Text(pt="filiais", en="branches"),
    warehouses.name: Text(pt="almoxarifados", en="warehouses"),
    sections.name: Text(pt="seções", en="sections"),
    cost_centres.name: Text(pt="centros de custo", en="cost centres"),
    categories.name: Text(pt="categorias", en="categories"),
    accounts.name: Text(pt="contas correntes", en="current accounts"),
    portfolios.name: Text(pt="carteiras", en="portfolios"),
    payment_methods.name: Text(pt="formas de pagamento", en="payment methods"),
    product_types.name: Text(pt="tipos de produto", en="product types"),
    client_types.name: Text(pt="tipos de cliente", en="client types"),
    sellers.name: Text(pt="vendedores", en="sellers"),
    abc_costs.name: Text(pt="custos ABC", en="ABC costs"),
    services.name: Text(pt="serviços", en="services"),
}
"""Titles of the registries in which stand-ins are created."""

_ALTERNATIVE_KEYS: Mapping[str, frozenset[str]] = {
    "cliente": frozenset({"cnpjcpf", "seuCodigo", "idws", "nomeComercial"}),
}
"""Fields other than the code by which rows refer to a record of a registry."""

_BY_CODE = (
    "codigoDaContaCorrente", "codigoDaFormaDePagamento", "codigoDoVendedor",
    "codigoDoTipoDeCliente", "codigoDoCentroDeCusto", "CodigoDoCustoABC", "codigoDoServicoPrestado",
)  # fmt: skip
_WAREHOUSE_FIELDS = ("codigoDaFilial", "codigoDoAlmoxarifado")
_SECTION_WAREHOUSE_FIELDS = ("codigoDaFilialSecao", "codigoDoAlmoxarifadoSecao")
_REVENUE = {ReceivableInput: True, PayableInput: False}
_SCOPE_OF_REGISTRY = {clients: "client", suppliers: "supplier", products: "product"}
"""Registries whose codes the system generates, with the scope of their counter."""

CODE_COLUMNS = frozenset(
    {
        *_BY_CODE,
        *_WAREHOUSE_FIELDS,
        *_SECTION_WAREHOUSE_FIELDS,
        "codigoDoItemDeLancamento",
        "codigoDaCarteira",
        "codigoDaSecao",
    }
)
"""Columns without a reference whose values must exist in a registry."""


class StandIns:
    """Creates records that rows refer to and the database lacks, within one transaction.

    ``counts`` are the records created by table, including existing ones that had to be activated
    or reassigned.
    """

    def __init__(self, connection: Connection, now: datetime) -> None:
        self._connection = connection
        self._now = now
        self._existing: dict[str, dict[object, Mapping[str, Any]]] = {}
        self.counts: Counter[str] = Counter()
        self._ensure_by_reference: Mapping[str, Callable[[Any], None]] = {
            "cliente": self._ensure_client,
            "fornecedor": lambda code: self._ensure(suppliers, code, active=True),
            "produto": lambda code: self._ensure(products, code, {"price": 0, "weight": 0}),
            "centro-de-custo": lambda code: self._ensure(cost_centres, code),
            "tipo-de-cliente": lambda code: self._ensure(client_types, code),
            "tipo-de-produto": lambda code: self._ensure(product_types, code),
            "filial": self._ensure_branch,
        }

    def create_for_row(self, resource: Resource, row: Mapping[str, Any]) -> None:
        """Create what one row refers to; ``row`` has its filled cells in columns of codes."""
        for column in resource.columns:
            if column.references is not None and column.name in row:
                self._ensure_by_reference[column.references](row[column.name])
        model = resource.row_model
        if model is None:
            return
        for name in _BY_CODE:
            if name in row:
                self._ensure(REGISTRIES[name][0], row[name])
        if (code := row.get("codigoDoItemDeLancamento")) is not None and model in _REVENUE:
            self._ensure(categories, code, revenue=_REVENUE[model])
        if (code := row.get("codigoDaCarteira")) is not None:
            self._ensure(portfolios, code, account=row["codigoDaContaCorrente"])
        branch, warehouse = (row.get(name) for name in _WAREHOUSE_FIELDS)
        if branch is None or warehouse is None:
            return
        self._ensure_warehouse(branch, warehouse)
        section = row.get("codigoDaSecao")
        if section is not None:
            section_branch, section_warehouse = (row.get(n) for n in _SECTION_WAREHOUSE_FIELDS)
            branch, warehouse = section_branch or branch, section_warehouse or warehouse
            self._ensure_warehouse(branch, warehouse)
            self._ensure_row(sections, branch=branch, warehouse=warehouse, code=section)

    def create_by_field(self, registry: str, field: str, value: str) -> None:
        """Create a record with this value of a field, if the registry has none."""
        if field not in _ALTERNATIVE_KEYS.get(registry, ()):
            return
        matching = select(clients.c.codigoDoCliente).where(clients.c[field] == value)
        if self._connection.execute(matching).first() is None:
            self._advance_counter(clients)
            numbers = Numbers(self._connection)
            code = numbers.next(_SCOPE_OF_REGISTRY[clients])
            numbers.write()
            self._insert_client(code, {field: value})

    def advance_counters(self) -> None:
        """Advance the counters of generated codes past those that were created."""
        for table in _SCOPE_OF_REGISTRY:
            self._advance_counter(table)

    def _advance_counter(self, table: Table) -> None:
        (key,) = table.primary_key
        last = self._connection.scalar(select(func.max(key))) or 0
        is_behind = (counters.c.scope == _SCOPE_OF_REGISTRY[table]) & (counters.c.last < last)
        self._connection.execute(update(counters).where(is_behind).values(last=last))

    def _ensure(
        self, table: Table, code: Any, defaults: Mapping[str, Any] | None = None, **required: Any
    ) -> None:
        """Insert a missing code with ``defaults``, and set the ``required`` values."""
        existing = self._rows(table, "code")
        row = existing.get(code)
        if row is None:
            row = {"code": code, "name": _stand_in_name(code), **(defaults or {}), **required}
            self._connection.execute(insert(table).values(row))
        elif any(row[name] != value for name, value in required.items()):
            self._connection.execute(update(table).where(table.c.code == code).values(required))
        else:
            return
        existing[code] = {**row, **required}
        self.counts[table.name] += 1

    def _ensure_client(self, code: int) -> None:
        existing = self._rows(clients, "codigoDoCliente")
        client = existing.get(code)
        if client is None:
            self._insert_client(code, {})
        elif not client["ativo"]:
            by_code = clients.c.codigoDoCliente == code
            self._connection.execute(update(clients).where(by_code).values(ativo=True))
            existing[code] = {**client, "ativo": True}
            self.counts[clients.name] += 1

    def _insert_client(self, code: int, values: Mapping[str, Any]) -> None:
        client = Client(
            codigoDoCliente=code,
            nomeComercial=_stand_in_name(code),
            natureza="J",
            ativo=True,
            ultimaAtualizacao=self._now,
            **values,
        )
        self._connection.execute(insert(clients).values(client.model_dump()))
        self._rows(clients, "codigoDoCliente")[code] = client.model_dump()
        self.counts[clients.name] += 1

    def _ensure_branch(self, code: int) -> None:
        """Ensure a branch that can bill, with the billing defaults of the first issuer."""
        self._ensure(branches, code)
        existing = self._rows(issuers, "code")
        if code not in existing and existing:
            first = existing[min(existing)]  # type: ignore[type-var]
            row = {**first, "code": code, "name": _stand_in_name(code)}
            self._connection.execute(insert(issuers).values(row))
            existing[code] = row

    def _ensure_warehouse(self, branch: int, warehouse: int) -> None:
        self._ensure_branch(branch)
        self._ensure_row(warehouses, branch=branch, code=warehouse)

    def _ensure_row(self, table: Table, **key: Any) -> None:
        """Insert a missing row of a table with a composite key."""
        if table.name not in self._existing:
            columns = [table.c[name] for name in key]
            rows = self._connection.execute(select(*columns))
            self._existing[table.name] = {tuple(row): {} for row in rows}
        key_values = tuple(key.values())
        if key_values not in self._existing[table.name]:
            self._connection.execute(insert(table).values(**key, name=_stand_in_name(key["code"])))
            self._existing[table.name][key_values] = {}
            self.counts[table.name] += 1

    def _rows(self, table: Table, key: str) -> dict[object, Mapping[str, Any]]:
        if table.name not in self._existing:
            rows = self._connection.execute(select(table)).mappings()
            self._existing[table.name] = {row[key]: dict(row) for row in rows}
        return self._existing[table.name]


def _stand_in_name(code: object) -> str:
    return f"{code} (ensaio)"
