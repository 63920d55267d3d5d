"""Stand-ins for codes that real workbooks name and a practice database lacks.

The schema's ``references`` tell in which registry a code must exist; for columns without one,
it is the registry that the rules of the record look in.
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
"""Names of the registries in which stand-ins are made."""

_NAMED_BY: Mapping[str, frozenset[str]] = {
    "cliente": frozenset({"cnpjcpf", "seuCodigo", "idws", "nomeComercial"}),
}
"""The fields by which a record of a registry can be made that is named otherwise than by code."""

_BY_CODE = (
    "codigoDaContaCorrente", "codigoDaFormaDePagamento", "codigoDoVendedor",
    "codigoDoTipoDeCliente", "codigoDoCentroDeCusto", "CodigoDoCustoABC", "codigoDoServicoPrestado",
)  # fmt: skip
_WAREHOUSE_FIELDS = ("codigoDaFilial", "codigoDoAlmoxarifado")
_SECTION_WAREHOUSE_FIELDS = ("codigoDaFilialSecao", "codigoDoAlmoxarifadoSecao")
_REVENUE = {ReceivableInput: True, PayableInput: False}
_SCOPE_OF_REGISTRY = {clients: "client", suppliers: "supplier", products: "product"}
"""The registries whose codes the system gives out, with the scope that it counts them in."""

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
"""The columns without a reference whose values must exist all the same."""


class StandIns:
    """Makes what rows name and the database lacks, within one transaction.

    ``made`` counts them by the table that they are in; what was there and inactive, or belonged
    elsewhere, is made usable and counted too.
    """

    def __init__(self, connection: Connection, now: datetime) -> None:
        self._connection = connection
        self._now = now
        self._known: dict[str, dict[object, Mapping[str, Any]]] = {}
        self.made: Counter[str] = Counter()
        self._by_reference: Mapping[str, Callable[[Any], None]] = {
            "cliente": self._client,
            "fornecedor": lambda code: self._need(suppliers, code, active=True),
            "produto": lambda code: self._need(products, code, {"price": 0, "weight": 0}),
            "centro-de-custo": lambda code: self._need(cost_centres, code),
            "tipo-de-cliente": lambda code: self._need(client_types, code),
            "tipo-de-produto": lambda code: self._need(product_types, code),
            "filial": self._branch,
        }

    def for_row(self, resource: Resource, row: Mapping[str, Any]) -> None:
        """Make what one row names; ``row`` holds its filled cells in the columns concerned."""
        for column in resource.columns:
            if column.references is not None and column.name in row:
                self._by_reference[column.references](row[column.name])
        model = resource.row_model
        if model is None:
            return
        for name in _BY_CODE:
            if name in row:
                self._need(REGISTRIES[name][0], row[name])
        if (code := row.get("codigoDoItemDeLancamento")) is not None and model in _REVENUE:
            self._need(categories, code, revenue=_REVENUE[model])
        if (code := row.get("codigoDaCarteira")) is not None:
            self._need(portfolios, code, account=row["codigoDaContaCorrente"])
        branch, warehouse = (row.get(name) for name in _WAREHOUSE_FIELDS)
        if branch is None or warehouse is None:
            return
        self._need_place(branch, warehouse)
        theirs, there = (row.get(name) for name in _SECTION_WAREHOUSE_FIELDS)
        place = (theirs or branch, there or warehouse)
        if (code := row.get("codigoDaSecao")) is not None:
            self._need_place(*place)
            self._need_row(sections, branch=place[0], warehouse=place[1], code=code)

    def named(self, registry: str, field: str, value: str) -> None:
        """Make a record of a registry that is named by a field of its listing, if there is none."""
        if field not in _NAMED_BY.get(registry, ()):
            return
        found = select(clients.c.codigoDoCliente).where(clients.c[field] == value)
        if self._connection.execute(found).first() is None:
            self._move_on(clients)
            numbers = Numbers(self._connection)
            code = numbers.next(_SCOPE_OF_REGISTRY[clients])
            numbers.write()
            self._insert_client(code, {field: value})

    def finish(self) -> None:
        """Advance the system's own codes past those that were made."""
        for table in _SCOPE_OF_REGISTRY:
            self._move_on(table)

    def _move_on(self, table: Table) -> None:
        (key,) = table.primary_key
        last = self._connection.scalar(select(func.max(key))) or 0
        outrun = (counters.c.scope == _SCOPE_OF_REGISTRY[table]) & (counters.c.last < last)
        self._connection.execute(update(counters).where(outrun).values(last=last))

    def _need(
        self, table: Table, code: Any, fresh: Mapping[str, Any] | None = None, **wanted: Any
    ) -> None:
        """Insert a code that is missing, and give its columns the ``wanted`` values."""
        known = self._rows(table, "code")
        there = known.get(code)
        if there is None:
            row = {"code": code, "name": _stand_in_name(code), **(fresh or {}), **wanted}
            self._connection.execute(insert(table).values(row))
        elif any(there[name] != value for name, value in wanted.items()):
            self._connection.execute(update(table).where(table.c.code == code).values(wanted))
        else:
            return
        known[code] = {**(there or {}), "code": code, **wanted}
        self.made[table.name] += 1

    def _client(self, code: int) -> None:
        known = self._rows(clients, "codigoDoCliente")
        there = known.get(code)
        if there is None:
            self._insert_client(code, {})
        elif not there["ativo"]:
            of_code = clients.c.codigoDoCliente == code
            self._connection.execute(update(clients).where(of_code).values(ativo=True))
            known[code] = {**there, "ativo": True}
            self.made[clients.name] += 1

    def _insert_client(self, code: int, said: Mapping[str, Any]) -> None:
        client = Client(
            codigoDoCliente=code,
            nomeComercial=_stand_in_name(code),
            natureza="J",
            ativo=True,
            ultimaAtualizacao=self._now,
            **said,
        )
        self._connection.execute(insert(clients).values(client.model_dump()))
        self._rows(clients, "codigoDoCliente")[code] = client.model_dump()
        self.made[clients.name] += 1

    def _branch(self, code: int) -> None:
        """A branch that bills, as the first of those that do."""
        self._need(branches, code)
        known = self._rows(issuers, "code")
        if code not in known and known:
            like = known[min(known)]  # type: ignore[type-var]
            row = {**like, "code": code, "name": _stand_in_name(code)}
            self._connection.execute(insert(issuers).values(row))
            known[code] = row

    def _need_place(self, branch: int, warehouse: int) -> None:
        self._branch(branch)
        self._need_row(warehouses, branch=branch, code=warehouse)

    def _need_row(self, table: Table, **key: Any) -> None:
        """Make a row that a code alone does not name."""
        if table.name not in self._known:
            columns = [table.c[name] for name in key]
            found = self._connection.execute(select(*columns))
            self._known[table.name] = {tuple(row): {} for row in found}
        place = tuple(key.values())
        if place not in self._known[table.name]:
            self._connection.execute(insert(table).values(**key, name=_stand_in_name(key["code"])))
            self._known[table.name][place] = {}
            self.made[table.name] += 1

    def _rows(self, table: Table, code: str) -> dict[object, Mapping[str, Any]]:
        if table.name not in self._known:
            found = self._connection.execute(select(table)).mappings()
            self._known[table.name] = {row[code]: dict(row) for row in found}
        return self._known[table.name]


def _stand_in_name(code: object) -> str:
    return f"{code} (ensaio)"
