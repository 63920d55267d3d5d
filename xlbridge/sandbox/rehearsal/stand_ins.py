"""Stand-ins for codes that real workbooks refer to and the rehearsal database lacks.

The registry of a code comes from the ``references`` of its column in the schema, or from the rules
of the record.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any

from sqlalchemy import Connection, Table, func, insert, or_, select, update

from xlbridge.i18n import Text
from xlbridge.resources import Resource
from xlbridge.sandbox.areas.registry import tables
from xlbridge.sandbox.areas.registry.codes import REGISTRIES, counters
from xlbridge.sandbox.areas.registry.tables import PRODUCT_COLUMNS, SUPPLIER_COLUMNS
from xlbridge.wire import WireModel
from xlbridge.wire.budget import SpendingLimitInput
from xlbridge.wire.financial import PayableInput, ReceivableInput
from xlbridge.wire.registry import Client
from xlbridge.wire.sales import SalesOrderInput

REGISTRY_TITLES: Mapping[str, Text] = {
    tables.clients.name: Text(pt="clientes", en="clients"),
    tables.suppliers.name: Text(pt="fornecedores", en="suppliers"),
    tables.products.name: Text(pt="produtos", en="products"),
    tables.branches.name: Text(pt="filiais", en="branches"),
    tables.warehouses.name: Text(pt="almoxarifados", en="warehouses"),
    tables.sections.name: Text(pt="seções", en="sections"),
    tables.cost_centres.name: Text(pt="centros de custo", en="cost centres"),
    tables.categories.name: Text(pt="categorias", en="categories"),
    tables.accounts.name: Text(pt="contas correntes", en="current accounts"),
    tables.portfolios.name: Text(pt="carteiras", en="portfolios"),
    tables.payment_methods.name: Text(pt="formas de pagamento", en="payment methods"),
    tables.product_types.name: Text(pt="tipos de produto", en="product types"),
    tables.client_types.name: Text(pt="tipos de cliente", en="client types"),
    tables.sellers.name: Text(pt="vendedores", en="sellers"),
    tables.abc_costs.name: Text(pt="custos ABC", en="ABC costs"),
    tables.services.name: Text(pt="serviços", en="services"),
    tables.projects.name: Text(pt="projetos", en="projects"),
    tables.collaborators.name: Text(pt="colaboradores", en="collaborators"),
    tables.units.name: Text(pt="unidades de medida", en="units of measure"),
    tables.product_groups.name: Text(pt="grupos de produto", en="product groups"),
    tables.product_categories.name: Text(pt="categorias de produto", en="product categories"),
    tables.purchase_types.name: Text(pt="tipos de compra", en="purchase types"),
    tables.purchase_reasons.name: Text(pt="motivos de compra", en="purchase reasons"),
    tables.invoice_models.name: Text(pt="modelos de nota", en="invoice models"),
    tables.payment_conditions.name: Text(pt="condições de pagamento", en="payment conditions"),
}
"""Titles of the registries in which stand-ins are created."""

_REGISTRIES: Mapping[str, tuple[Table, Mapping[str, str]]] = {
    "cliente": (
        tables.clients,
        {name: name for name in ("cnpjcpf", "seuCodigo", "idws", "nomeComercial")},
    ),
    "fornecedor": (tables.suppliers, SUPPLIER_COLUMNS),
    "produto": (tables.products, PRODUCT_COLUMNS),
    "centro-de-custo": (tables.cost_centres, {"descricaoDoCentroDeCusto": "name"}),
    "tipo-de-cliente": (tables.client_types, {"descricaoDoTipoDeCliente": "name"}),
    "tipo-de-produto": (tables.product_types, {"descricaoDoTipoDeProduto": "name"}),
    "filial": (tables.branches, {"descricaoDaFilial": "name"}),
}
"""Table of each registry that columns refer to, and its columns by the fields that name records."""

_WAREHOUSE_FIELDS = ("codigoDaFilial", "codigoDoAlmoxarifado")
_SECTION_WAREHOUSE_FIELDS = ("codigoDaFilialSecao", "codigoDoAlmoxarifadoSecao")
_REVENUE: Mapping[type[WireModel] | None, bool] = {
    ReceivableInput: True,
    SalesOrderInput: True,
    PayableInput: False,
    SpendingLimitInput: False,
}
_SCOPE_OF_REGISTRY = {
    tables.clients: "client",
    tables.suppliers: "supplier",
    tables.products: "product",
}
"""Registries whose codes the system generates, with the scope of their counter."""

_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    tables.products.name: {"price": 0, "weight": 0},
    tables.units.name: {"symbol": "UN"},
    tables.invoice_models.name: {"series": 1},
    tables.payment_conditions.name: {"instalments": 1, "days_between": 30},
}
"""Values of required columns of a new record, by table."""

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

    ``provided`` are the codes that rows of workbooks will create themselves, by table. ``counts``
    are the records created by table, including existing ones that had to be activated or
    reassigned.
    """

    def __init__(
        self,
        connection: Connection,
        now: datetime,
        provided: Mapping[str, Collection[object]] = MappingProxyType({}),
    ) -> None:
        self._connection = connection
        self._now = now
        self._provided = provided
        self._existing: dict[str, dict[object, Mapping[str, Any]]] = {}
        self._last_codes: dict[str, int] = {}
        self.counts: Counter[str] = Counter()

    def create_for_row(
        self, resource: Resource, row: Mapping[str, Any], record: Resource | None = None
    ) -> None:
        """Create what one row refers to; ``row`` has its filled cells in columns of codes.

        ``record`` is the resource that the row of a child sheet belongs to.
        """
        model = (record or resource).row_model
        own = own_code(resource)
        for column in resource.columns:
            code = row.get(column.name)
            if code is None or column.name == own:
                continue
            if column.references is not None:
                self._ensure_entry(_REGISTRIES[column.references][0], code, model)
            elif model is not None and column.name in REGISTRIES:
                self._ensure_entry(REGISTRIES[column.name][0], code, model)
        if model is None:
            return
        if (code := row.get("codigoDaCarteira")) is not None:
            self._ensure(tables.portfolios, code, account=self._account_of(row))
        if _WAREHOUSE_FIELDS[1] in resource.by_name:
            self._ensure_place(row)

    def create_by_name(
        self, registry: str, fields: Collection[str], field: str, value: str
    ) -> None:
        """Create a record with this value of a field, unless any of the fields has it already."""
        table, columns = _REGISTRIES[registry]
        if field not in columns:
            return
        (key,) = table.primary_key
        has_name = or_(*(table.c[columns[name]] == value for name in fields if name in columns))
        if self._connection.execute(select(key).where(has_name)).first() is not None:
            return
        code = self._next_code(table)
        if table is tables.clients:
            self._insert_client(code, {field: value})
        else:
            self._ensure(table, code, {columns[field]: value})

    def advance_counters(self) -> None:
        """Advance the counters of generated codes past those that were created."""
        for table, scope in _SCOPE_OF_REGISTRY.items():
            (key,) = table.primary_key
            by_scope = counters.c.scope == scope
            last = self._connection.scalar(select(func.max(key))) or 0
            counted = self._connection.scalar(select(counters.c.last).where(by_scope))
            if counted is None:
                self._connection.execute(insert(counters).values(scope=scope, last=last))
            elif counted < last:
                self._connection.execute(update(counters).where(by_scope).values(last=last))

    def _next_code(self, table: Table) -> Any:
        """Return a code that is not used yet."""
        if table.name not in self._last_codes:
            (key,) = table.primary_key
            codes = self._connection.scalars(select(key))
            counted = select(counters.c.last).where(
                counters.c.scope == _SCOPE_OF_REGISTRY.get(table, table.name)
            )
            last = self._connection.scalar(counted) or 0
            self._last_codes[table.name] = max(
                [last, *(code for code in codes if isinstance(code, int))]
            )
        self._last_codes[table.name] += 1
        code = self._last_codes[table.name]
        return code if table is not tables.cost_centres else f"{_TEXT_CODE_PREFIX}{code}"

    def _ensure_entry(self, table: Table, code: Any, model: type[WireModel] | None) -> None:
        """Ensure the record of a code to which a row of a ``model`` refers."""
        if table is tables.clients:
            self._ensure_client(code)
        elif table is tables.branches:
            self._ensure_branch(code)
        elif table is tables.categories:
            required = {"revenue": _REVENUE[model]} if model in _REVENUE else {}
            self._ensure(table, code, {"revenue": False}, **required)
        elif table is not tables.products or code != _NO_PRODUCT:
            self._ensure(table, code)

    def _account_of(self, row: Mapping[str, Any]) -> Any:
        """Return the account of a row: its own, or the default of its branch."""
        account = row.get("codigoDaContaCorrente")
        if account is not None:
            return account
        return self._rows(tables.issuers, "code")[row["codigoDaFilial"]]["account"]

    def _ensure_place(self, row: Mapping[str, Any]) -> None:
        """Ensure the warehouse and section of a row, by default the first of its branch."""
        branch, warehouse = (row.get(name) for name in _WAREHOUSE_FIELDS)
        if branch is None:
            return
        warehouse = warehouse or self._first_warehouse(branch)
        self._ensure_warehouse(branch, warehouse)
        section = row.get("codigoDaSecao")
        if section is not None:
            section_branch, section_warehouse = (row.get(n) for n in _SECTION_WAREHOUSE_FIELDS)
            branch, warehouse = section_branch or branch, section_warehouse or warehouse
            self._ensure_warehouse(branch, warehouse)
            self._ensure_row(tables.sections, branch=branch, warehouse=warehouse, code=section)

    def _first_warehouse(self, branch: int) -> int:
        first = select(func.min(tables.warehouses.c.code)).where(
            tables.warehouses.c.branch == branch
        )
        return self._connection.scalar(first) or _FIRST_WAREHOUSE

    def _ensure(
        self, table: Table, code: Any, defaults: Mapping[str, Any] | None = None, **required: Any
    ) -> None:
        """Insert a missing code with ``defaults``, and set the ``required`` values.

        A record that may be inactive is activated.
        """
        if code in self._provided.get(table.name, ()):
            return
        if "active" in table.c:
            required["active"] = True
        existing = self._rows(table, "code")
        row = existing.get(code)
        if row is None:
            basis = {"code": code, "name": _stand_in_name(code), **_DEFAULTS.get(table.name, {})}
            row = {**basis, **(defaults or {}), **required}
            self._connection.execute(insert(table).values(row))
        elif any(row[name] != value for name, value in required.items()):
            self._connection.execute(update(table).where(table.c.code == code).values(required))
        else:
            return
        existing[code] = {**row, **required}
        self.counts[table.name] += 1

    def _ensure_client(self, code: int) -> None:
        existing = self._rows(tables.clients, "codigoDoCliente")
        client = existing.get(code)
        if client is None:
            self._insert_client(code, {})
        elif not client["ativo"]:
            by_code = tables.clients.c.codigoDoCliente == code
            self._connection.execute(update(tables.clients).where(by_code).values(ativo=True))
            existing[code] = {**client, "ativo": True}
            self.counts[tables.clients.name] += 1

    def _insert_client(self, code: int, values: Mapping[str, Any]) -> None:
        client = Client(
            codigoDoCliente=code,
            nomeComercial=_stand_in_name(code),
            natureza="J",
            ativo=True,
            ultimaAtualizacao=self._now,
            **values,
        )
        self._connection.execute(insert(tables.clients).values(client.model_dump()))
        self._rows(tables.clients, "codigoDoCliente")[code] = client.model_dump()
        self.counts[tables.clients.name] += 1

    def _ensure_branch(self, code: int) -> None:
        """Ensure a branch that can bill, with the billing defaults of the first issuer."""
        self._ensure(tables.branches, code)
        existing = self._rows(tables.issuers, "code")
        if code not in existing and existing:
            first = existing[min(existing)]  # type: ignore[type-var]
            row = {**first, "code": code, "name": _stand_in_name(code)}
            self._connection.execute(insert(tables.issuers).values(row))
            existing[code] = row

    def _ensure_warehouse(self, branch: int, warehouse: int) -> None:
        self._ensure_branch(branch)
        self._ensure_row(tables.warehouses, branch=branch, code=warehouse)

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


def own_code(resource: Resource) -> str | None:
    """Return the column in which rows of a resource bring the code of their own record, if any."""
    codes = () if resource.create is None else resource.create.codes
    return codes[0] if len(codes) == 1 and codes[0] in resource.by_name else None


def _stand_in_name(code: object) -> str:
    return f"{code} (ensaio)"
