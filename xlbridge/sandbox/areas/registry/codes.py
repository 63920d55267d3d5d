"""Codes: existing ones looked up, new ones given out, code lists extended.

Source: the spec, Product type, Errors.
"""

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Any, Generic, TypeVar

from sqlalchemy import (
    Column,
    Connection,
    Integer,
    Row,
    Select,
    Table,
    Text,
    bindparam,
    exists,
    insert,
    select,
    update,
)

from xlbridge.sandbox.areas.registry.tables import (
    abc_costs,
    accounts,
    branches,
    categories,
    client_types,
    clients,
    collaborators,
    cost_centres,
    invoice_models,
    payment_conditions,
    payment_methods,
    product_categories,
    product_groups,
    product_types,
    products,
    projects,
    purchase_reasons,
    purchase_types,
    sections,
    sellers,
    services,
    suppliers,
    units,
    warehouses,
)
from xlbridge.sandbox.columns import metadata
from xlbridge.sandbox.problems import Problem
from xlbridge.wire import WireModel

counters = Table(
    "counters",
    metadata,
    Column("scope", Text, primary_key=True),
    Column("last", Integer, nullable=False),
)

REGISTRIES: Mapping[str, tuple[Table, str]] = {
    "CodigoDoCustoABC": (abc_costs, "Custo ABC"),
    "CodigoDoProjeto": (projects, "Projeto"),
    "codigoDaCategoriaDeProduto": (product_categories, "Categoria de produto"),
    "codigoDaCondicaoDePagamento": (payment_conditions, "Condição de pagamento"),
    "codigoDaContaCorrente": (accounts, "Conta corrente"),
    "codigoDaFilial": (branches, "Filial"),
    "codigoDaFilialDoRateio": (branches, "Filial"),
    "codigoDaFormaDePagamento": (payment_methods, "Forma de pagamento"),
    "codigoDaNotaFiscal": (invoice_models, "Modelo de nota"),
    "codigoDaUnidadeDeMedida": (units, "Unidade de medida"),
    "codigoDoCentroDeCusto": (cost_centres, "Centro de custo"),
    "codigoDoColaborador": (collaborators, "Colaborador"),
    "codigoDoColaboradorDestino": (collaborators, "Colaborador"),
    "codigoDoColaboradorResponsavelCompras": (collaborators, "Colaborador"),
    "codigoDoColaboradorSolicitante": (collaborators, "Colaborador"),
    "codigoDoFornecedor": (suppliers, "Fornecedor"),
    "codigoDoGrupoDeProduto": (product_groups, "Grupo de produto"),
    "codigoDoItemDeLancamento": (categories, "Item de lançamento"),
    "codigoDoMotivo": (purchase_reasons, "Motivo"),
    "codigoDoProjeto": (projects, "Projeto"),
    "codigoDoServicoPrestado": (services, "Serviço"),
    "codigoDoTipoDeCliente": (client_types, "Tipo de cliente"),
    "codigoDoTipoDeCompra": (purchase_types, "Tipo de compra"),
    "codigoDoTipoDeProduto": (product_types, "Tipo de produto"),
    "codigoDoVendedor": (sellers, "Vendedor"),
    "idProd": (products, "Produto"),
    "idProduto": (products, "Produto"),
}
"""The registry in which the code of a field must exist, and what messages call its entries."""


# Statements that each call needs are made once: making one takes longer than carrying it out.
_all_entries = cache(select)
_CLIENT = select(clients).where(clients.c.codigoDoCliente == bindparam("code"))
_LAST_NUMBER = select(counters.c.last).where(counters.c.scope == bindparam("name"))


class CodeLookup:
    """Looks codes up within one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._entries = cache(self._read_entries)
        self._client = cache(self._read_client)
        self._is_place = cache(self._read_place)
        self._is_section = cache(self._read_section)

    def entry(self, registry: Table, code: object) -> Row[Any] | None:
        """Return a registry's entry, None where the code does not exist."""
        return None if code is None else self._entries(registry).get(code)

    def required(self, registry: Table, code: object) -> Row[Any]:
        """Return the entry of a code that was checked before."""
        return self._entries(registry)[code]

    def name(self, registry: Table, code: object) -> str | None:
        """Return what a code is called, None where it does not exist."""
        entry = self.entry(registry, code)
        return None if entry is None else entry.name

    def problems(self, key: str, registry: Table, code: object, label: str) -> list[Problem]:
        """Return the problem of a code that is given and is unknown or inactive, if there is one.

        Only some registries have entries that may be inactive.
        """
        if code is None:
            return []
        entry = self.entry(registry, code)
        if entry is None:
            return [(key, f"{label} {code}: código não cadastrado.")]
        return [] if getattr(entry, "active", True) else [(key, f"{label} {code} está inativo.")]

    def field_problems(self, data: WireModel, *names: str, prefix: str = "") -> list[Problem]:
        """Return the problems of the codes in these fields of a body, each in its registry.

        ``prefix`` is what the keys of the fields begin with.
        """
        found: list[Problem] = []
        for name in names:
            registry, label = REGISTRIES[name]
            found += self.problems(prefix + name, registry, getattr(data, name), label)
        return found

    def client_problems(self, code: int) -> list[Problem]:
        """Return the problem of a client code in a body: unknown or inactive.

        A client that a body names and that does not exist breaks a rule (400); one that a path
        or query names is a resource not found (404). Source: the spec, Errors.
        """
        unknown = self.unknown_client_problems(code)
        if unknown or self.client(code).ativo:
            return unknown
        return [("codigoDoCliente", f"Cliente {code} está inativo.")]

    def client(self, code: int) -> Row[Any]:
        """Return the client of a code that was checked before."""
        client = self._client(code)
        if client is None:
            raise KeyError(code)
        return client

    def unknown_client_problems(self, code: int) -> list[Problem]:
        """Return the problem of a client code in a body that no client has, active or not."""
        if self._client(code) is not None:
            return []
        return [("codigoDoCliente", f"Cliente {code}: código não cadastrado.")]

    def warehouse_problems(self, branch: int, code: int | None) -> list[Problem]:
        """Return the problem of a warehouse that is given and that its branch does not have."""
        if code is None or self._is_place(branch, code):
            return []
        message = f"A filial {branch} não tem o almoxarifado informado."
        return [("codigoDoAlmoxarifado", message)]

    def section_problems(
        self, branch: int, warehouse: int | None, code: str | None
    ) -> list[Problem]:
        """Return the problem of a section that is given and that is not in its warehouse.

        Without a warehouse, any of the branch's will do.
        """
        if code is None or self._is_section(branch, warehouse, code):
            return []
        return [("codigoDaSecao", f"Seção {code}: código não cadastrado no almoxarifado.")]

    def _read_entries(self, registry: Table) -> Mapping[object, Row[Any]]:
        return {row.code: row for row in self._connection.execute(_all_entries(registry))}

    def _read_client(self, code: int) -> Row[Any] | None:
        return self._connection.execute(_CLIENT, {"code": code}).one_or_none()

    def _read_place(self, branch: int, code: int) -> bool:
        found = (warehouses.c.branch == branch) & (warehouses.c.code == code)
        return bool(self._connection.scalar(select(exists().where(found))))

    def _read_section(self, branch: int, warehouse: int | None, code: str) -> bool:
        found = (sections.c.branch == branch) & (sections.c.code == code)
        if warehouse is not None:
            found &= sections.c.warehouse == warehouse
        return bool(self._connection.scalar(select(exists().where(found))))


class Numbers:
    """Gives out numbers in sequence, one sequence for each scope, within one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._last: dict[str, int] = {}
        self._stored: set[str] = set()

    def next(self, scope: str) -> int:
        """Return the next number of a scope; a scope starts at 1 unless it was seeded."""
        if scope not in self._last:
            self._last[scope] = self._load(scope)
        self._last[scope] += 1
        return self._last[scope]

    def write(self) -> None:
        """Write down what was given out."""
        for scope, last in self._last.items():
            if scope in self._stored:
                statement = update(counters).where(counters.c.scope == scope).values(last=last)
                self._connection.execute(statement)
            else:
                self._connection.execute(insert(counters).values(scope=scope, last=last))
                self._stored.add(scope)

    def _load(self, scope: str) -> int:
        last = self._connection.scalar(_LAST_NUMBER, {"name": scope})
        if last is None:
            return 0
        self._stored.add(scope)
        return int(last)


class RecordRegistration:
    """Base of registrations: looks codes up, numbers new records and writes them by table.

    A subclass has the rules (``problems``) and makes the rows of a record (``accept``). ``now``
    is the moment of the call, ``known`` the look-up of a transaction that has one already.
    """

    def __init__(
        self, connection: Connection, now: datetime, known: CodeLookup | None = None
    ) -> None:
        self._connection = connection
        self._now = now
        self._known = known or CodeLookup(connection)
        self._numbers = Numbers(connection)
        self._rows: defaultdict[Table, list[dict[str, Any]]] = defaultdict(list)

    def write(self) -> None:
        """Write all accepted records, the tables in the order of their first rows."""
        self._numbers.write()
        for table, rows in self._rows.items():
            if rows:
                self._connection.execute(insert(table), rows)
        self._rows.clear()


Entry = TypeVar("Entry", bound=WireModel)


class CodeListRegistration(RecordRegistration, Generic[Entry]):
    """Registration of new entries; one without a code, or with 0, is given the next that is free.

    ``model`` has the entry's code as its first field, the description as its second.
    """

    def __init__(
        self, connection: Connection, now: datetime, table: Table, model: type[Entry]
    ) -> None:
        super().__init__(connection, now)
        self._table = table
        self._code, self._name = model.model_fields

    def problems(self, data: Entry) -> list[Problem]:
        """Return the rules that a new entry breaks."""
        code, _ = self._values(data)
        if isinstance(code, int) and code < 0:
            return [(self._code, "Valor inválido: deve ser maior ou igual a 0.")]
        if code and self._exists(code):
            return [(self._code, f"O código {code} já está cadastrado.")]
        return []

    def accept(self, data: Entry) -> Entry:
        """Accept an entry without problems."""
        code, name = self._values(data)
        code = code or self._next()
        self._rows[self._table].append({"code": code, "name": name})
        return data.model_copy(update={self._code: code})

    def _values(self, data: Entry) -> tuple[int | str | None, str]:
        return getattr(data, self._code), getattr(data, self._name)

    def _next(self) -> int:
        while self._exists(code := self._numbers.next(self._table.name)):
            continue
        return code

    def _exists(self, code: int | str) -> bool:
        found = select(exists().where(self._table.c.code == code))
        return bool(self._connection.scalar(found))


def select_entries(table: Table, model: type[WireModel]) -> Select[Any]:
    """Return the statement that lists a registry, its columns named as the model's fields."""
    code, name = model.model_fields
    return select(table.c.code.label(code), table.c.name.label(name)).order_by(table.c.code)
