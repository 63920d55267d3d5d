"""Registries: their tables, those of clients and users, lookup and generation of codes.

Records are registered here, and entries of code lists. Source: the spec, Product type, Errors.
"""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any, ClassVar, Generic, TypeVar

from sqlalchemy import (
    Boolean,
    Column,
    ColumnElement,
    Connection,
    DateTime,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
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

from xlbridge.sandbox.area_declarations import (
    Lists,
    derived_columns,
    metadata,
    read_documents,
    registry_table,
)
from xlbridge.sandbox.problems import Problem, first_or_404, require_no_problems
from xlbridge.wire import WireModel
from xlbridge.wire.registry import Client, Contact, Product, Supplier

companies = registry_table("companies", Integer)
branches = registry_table("branches", Integer)
client_types = registry_table("client_types", Integer)
client_categories = registry_table("client_categories", Integer)
sellers = registry_table("sellers", Integer)
categories = registry_table("categories", Text, Column("revenue", Boolean, nullable=False))
cost_centres = registry_table("cost_centres", Text)
abc_costs = registry_table("abc_costs", Text)
accounts = registry_table("accounts", Integer)
portfolios = registry_table(
    "portfolios", Integer, Column("account", ForeignKey("accounts.code"), nullable=False)
)
payment_methods = registry_table("payment_methods", Integer)
purchase_types = registry_table(
    "purchase_types", Integer, Column("active", Boolean, nullable=False)
)
purchase_reasons = registry_table(
    "purchase_reasons", Integer, Column("active", Boolean, nullable=False)
)
suppliers = Table(
    "suppliers",
    metadata,
    *derived_columns(Supplier, keys=("codigoDoFornecedor",)),
    Index("suppliers_by_document", "cnpjcpf"),
)
services = registry_table("services", Text)
projects = registry_table("projects", Integer)
collaborators = registry_table("collaborators", Integer)
units = registry_table("units", Integer, Column("symbol", Text, nullable=False))
product_types = registry_table("product_types", Integer)
product_groups = registry_table("product_groups", Text)
product_categories = registry_table("product_categories", Integer)
invoice_models = registry_table(
    "invoice_models", Integer, Column("series", Integer, nullable=False)
)
payment_conditions = registry_table(
    "payment_conditions",
    Integer,
    Column("instalments", Integer, nullable=False),
    Column("days_between", Integer, nullable=False),
)
issuers = registry_table(
    "issuers",
    Integer,
    Column("cnpj", Text, nullable=False),
    Column("municipality", Text, nullable=False),
    Column("postcode", Text, nullable=False),
    Column("invoice_model", ForeignKey("invoice_models.code"), nullable=False),
    Column("payment_method", ForeignKey("payment_methods.code"), nullable=False),
    Column("category", ForeignKey("categories.code"), nullable=False),
    Column("cost_centre", ForeignKey("cost_centres.code"), nullable=False),
    Column("account", ForeignKey("accounts.code"), nullable=False),
)
"""Branches as issuers of invoices, with their billing defaults."""
products = Table(
    "products",
    metadata,
    *derived_columns(Product, keys=("idProduto",)),
    Index("products_by_internal_code", "codigoInterno", unique=True),
)
warehouses = Table(
    "warehouses",
    metadata,
    Column("branch", ForeignKey("branches.code"), primary_key=True),
    Column("code", Integer, primary_key=True, autoincrement=False),
    Column("name", Text, nullable=False),
)
sections = Table(
    "sections",
    metadata,
    Column("branch", Integer, primary_key=True, autoincrement=False),
    Column("warehouse", Integer, primary_key=True, autoincrement=False),
    Column("code", Text, primary_key=True),
    Column("name", Text, nullable=False),
    ForeignKeyConstraint(["branch", "warehouse"], ["warehouses.branch", "warehouses.code"]),
)

clients = Table(
    "clients",
    metadata,
    *derived_columns(Client, keys=("codigoDoCliente",)),
    Index("clients_by_document", "cnpjcpf"),
    Index("clients_by_idws", "idws"),
    Index("clients_by_update", "ultimaAtualizacao"),
)
contacts = Table(
    "contacts",
    metadata,
    *derived_columns(Contact, keys=("codigoDoCliente", "seqContato")),
    ForeignKeyConstraint(["codigoDoCliente"], [clients.c.codigoDoCliente]),
)

users = Table(
    "users",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("code", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("email", Text, nullable=False, unique=True),
    Column("password", Text, nullable=False),
    Column("administrator", Boolean, nullable=False),
    Column("active", Boolean, nullable=False),
)
tokens = Table(
    "tokens",
    metadata,
    Column("digest", Text, primary_key=True),
    Column("user_id", ForeignKey("users.id"), nullable=False),
    Column("created", DateTime, nullable=False),
    Column("expiration", DateTime, nullable=False),
)


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
    "codigoDoCliente": (clients, "Cliente"),
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
"""Registry in which the code of a field must exist, and name of its entries in messages."""


# Statements are built once: building one takes longer than executing it.
_select_registry = cache(select)
_select_keys = cache(lambda table: select(*table.primary_key))
_SELECT_CLIENT = select(clients).where(clients.c.codigoDoCliente == bindparam("code"))
_SELECT_LAST_NUMBER = select(counters.c.last).where(counters.c.scope == bindparam("name"))
_UPDATE_COUNTER = (
    update(counters).where(counters.c.scope == bindparam("name")).values(last=bindparam("number"))
)


class CodeLookup:
    """Cached lookup of codes within one transaction; the first two columns of a registry are the
    code and the name."""

    def __init__(self, connection: Connection) -> None:
        self._entries: Callable[[Table], Mapping[object, Row[Any]]] = cache(
            lambda registry: {row[0]: row for row in connection.execute(_select_registry(registry))}
        )
        self._client: Callable[[object], Row[Any] | None] = cache(
            lambda code: connection.execute(_SELECT_CLIENT, {"code": code}).one_or_none()
        )
        self._keys: Callable[[Table], set[tuple[Any, ...]]] = cache(
            lambda table: {tuple(row) for row in connection.execute(_select_keys(table))}
        )

    def entry(self, registry: Table, code: object) -> Row[Any] | None:
        """Return a registry's entry, None if the code does not exist."""
        if code is None:
            return None
        # Other registries are read as a whole.
        is_client = registry is clients
        return self._client(code) if is_client else self._entries(registry).get(code)

    def checked_entry(self, registry: Table, code: object) -> Row[Any]:
        """Return the entry of a code that is known to exist."""
        entry = self.entry(registry, code)
        if entry is None:
            raise KeyError(code)
        return entry

    def name(self, registry: Table, code: object) -> str | None:
        """Return the name of a code, None if it does not exist."""
        entry = self.entry(registry, code)
        return None if entry is None else tuple(entry)[1]

    def problems(
        self, key: str, registry: Table, code: object, label: str, *, even_inactive: bool = False
    ) -> list[Problem]:
        """Return the problem of an unknown or inactive code in a body; None is accepted.

        It is an invalid value (400), whereas an unknown one in a path or query is a resource not
        found (404). Source: the spec, Errors.
        """
        if code is None:
            return []
        entry = self.entry(registry, code)
        if entry is None:
            return [(key, f"{label} {code}: código não cadastrado.")]
        active = getattr(entry, "active", getattr(entry, "ativo", True))
        return [] if active or even_inactive else [(key, f"{label} {code} está inativo.")]

    def field_problems(self, data: WireModel, *names: str, prefix: str = "") -> list[Problem]:
        """Return the problems of the codes in fields of a body, with keys that have a prefix."""
        problems: list[Problem] = []
        for name in names:
            registry, label = REGISTRIES[name]
            problems += self.problems(prefix + name, registry, getattr(data, name), label)
        return problems

    def warehouse_problems(self, branch: int, code: int | None) -> list[Problem]:
        """Return the problem of a warehouse that the branch does not have; None is accepted."""
        if code is None or (branch, code) in self._keys(warehouses):
            return []
        message = f"A filial {branch} não tem o almoxarifado informado."
        return [("codigoDoAlmoxarifado", message)]

    def section_problems(
        self, branch: int, warehouse: int | None, code: str | None
    ) -> list[Problem]:
        """Return the problem of a section that the warehouse does not have; None is accepted.

        Without a warehouse, any of the branch is accepted.
        """
        if code is None:
            return []
        existing = self._keys(sections)
        if warehouse is None and any(key[0] == branch and key[2] == code for key in existing):
            return []
        if (branch, warehouse, code) in existing:
            return []
        return [("codigoDaSecao", f"Seção {code}: código não cadastrado no almoxarifado.")]


class Numbers:
    """Generates sequential numbers by scope, within one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._last: dict[str, int] = {}
        self._stored: set[str] = set()

    def next(self, scope: str) -> int:
        """Return the next number of a scope, which starts at 1 unless it was seeded."""
        self.reserve(scope, 0)
        self._last[scope] += 1
        return self._last[scope]

    def reserve(self, scope: str, number: int) -> None:
        """Let the next number of a scope be greater than ``number``."""
        if scope not in self._last:
            last = self._connection.scalar(_SELECT_LAST_NUMBER, {"name": scope})
            if last is not None:
                self._stored.add(scope)
            self._last[scope] = last or 0
        self._last[scope] = max(self._last[scope], number)

    def write(self) -> None:
        """Store the last numbers."""
        for scope, last in self._last.items():
            if scope in self._stored:
                self._connection.execute(_UPDATE_COUNTER, {"name": scope, "number": last})
            else:
                self._connection.execute(insert(counters).values(scope=scope, last=last))
                self._stored.add(scope)


def next_number(connection: Connection, scope: str) -> int:
    """Return the next number of a scope, and store it as the last one."""
    numbers = Numbers(connection)
    number = numbers.next(scope)
    numbers.write()
    return number


Record = TypeVar("Record")


class RecordRegistration(ABC, Generic[Record]):
    """Records of one kind, within one transaction: looks up codes, numbers new records, writes
    them by table, changes and reads them.

    ``now`` is the time of the call; ``lookup`` may be shared within a transaction. Each record is a
    ``model`` in a ``table``, and its key is by default the next number of a ``scope``; ``lists``
    are its lists in other tables, in which ``place`` is an item's position. ``missing`` is the
    problem if there is no record with a key.
    """

    table: ClassVar[Table]
    model: ClassVar[type[Any]]
    scope: ClassVar[str]
    lists: ClassVar[Lists] = {}
    missing: ClassVar[Problem]

    def __init__(
        self, connection: Connection, now: datetime, lookup: CodeLookup | None = None
    ) -> None:
        self._connection = connection
        self._now = now
        self._lookup = lookup or CodeLookup(connection)
        self._numbers = Numbers(connection)
        self._rows: defaultdict[Table, list[dict[str, Any]]] = defaultdict(list)
        self._accepted: set[tuple[str, object]] = set()

    def _is_taken(self, column: Column[Any], value: object) -> bool:
        """Return whether a record, stored or among those ``_accepted``, has a value in a column."""
        stored = select(exists().where(column == value))
        return (column.name, value) in self._accepted or bool(self._connection.scalar(stored))

    @abstractmethod
    def problems(self, data: Any) -> list[Problem]:
        """Return the problems of a record, new or changed, considering those accepted before it."""

    def accept(self, data: Any) -> Record:
        """Number a record without problems and keep its rows for ``write``."""
        (number,) = self.table.primary_key
        record: Record = self.model(
            **{number.name: self._numbers.next(self.scope), **self._values(data)}
        )
        self._keep(record)
        return record

    def _content(self, data: Any) -> dict[str, Any]:
        """Return the fields of an accepted record, without its number."""
        fields: dict[str, Any] = data.model_dump()
        return fields

    def _values(self, data: Any) -> dict[str, Any]:
        is_dated = "ultimaAtualizacao" in self.table.c
        return self._content(data) | ({"ultimaAtualizacao": self._now} if is_dated else {})

    def _keep(self, record: Any) -> None:
        """Keep the rows of a record and of its lists for ``write``."""
        row = record.model_dump(include=_columns(self.table))
        self._rows[self.table].append(row)
        key = [row[column.name] for column in self.table.primary_key]
        for name, (_, owner) in self.lists.items():
            self._rows[owner[0].table] += list_rows(owner, key, getattr(record, name))

    def register(self, data: Any) -> Record:
        """Register a single record. Raises ``RequestError`` (400) with all its problems."""
        require_no_problems(self.problems(data))
        record = self.accept(data)
        self.write()
        return record

    def write(self) -> None:
        """Write all accepted records, in the order in which their tables were first used."""
        self._numbers.write()
        for table, rows in self._rows.items():
            if rows:
                self._connection.execute(insert(table), rows)
        self._rows.clear()

    def change(self, data: Any, *key: object) -> Record:
        """Replace the content of a record, but not its lists, and return it.

        Raises ``RequestError``: 404 if it does not exist, 400 if it may not be changed or its new
        content has problems.
        """
        self.require_changeable(self.get(self._connection, *key))
        require_no_problems(self.problems(data))
        changed = update(self.table).where(*self.by_key(key)).values(self._values(data))
        self._connection.execute(changed)
        return self.get(self._connection, *key)

    @staticmethod
    def require_changeable(record: Any) -> None:
        """Raise ``RequestError`` (400) if a record may not be changed any more."""

    @classmethod
    def statement(cls) -> Select[Any]:
        """Return the statement that selects all fields of the records except lists."""
        return select(cls.table)

    @classmethod
    def find(cls, connection: Connection, *conditions: ColumnElement[bool]) -> list[Record]:
        """Return the records that meet all conditions, ordered by key."""
        by_key = cls.table.primary_key
        return cls.read(connection, cls.statement().where(*conditions).order_by(*by_key))

    @classmethod
    def read(cls, connection: Connection, selected: Select[Any]) -> list[Record]:
        """Return the records that a statement selects, with their lists."""
        key = cls.table.primary_key
        return read_documents(connection, cls.model, key, cls.lists, selected)

    @classmethod
    def get(cls, connection: Connection, *key: object) -> Record:
        """Return the record with a key. Raises ``RequestError`` (404) if there is none."""
        return first_or_404(cls.find(connection, *cls.by_key(key)), *cls.missing)

    @classmethod
    def by_key(cls, key: Sequence[object]) -> list[ColumnElement[bool]]:
        """Return the conditions for the record with a key."""
        columns = zip(cls.table.primary_key, key, strict=True)
        return [column == value for column, value in columns]


_columns = cache(lambda table: frozenset(table.c.keys()))


def list_rows(
    owner: Sequence[Column[Any]], key: Sequence[object], items: Iterable[WireModel]
) -> Iterator[dict[str, Any]]:
    """Yield the items of the list of a record with a key as rows of their table."""
    of_record = dict(zip((column.name for column in owner), key, strict=True))
    has_place = "place" in owner[0].table.c
    for place, item in enumerate(items):
        yield {**of_record, **({"place": place} if has_place else {}), **item.model_dump()}


Entry = TypeVar("Entry", bound=WireModel)


class CodeListRegistration(RecordRegistration[Entry]):
    """Registration of new entries; a missing code, or 0, is replaced by the next free one.

    The first field of ``model`` is the code, the second the description.
    """

    def __init__(
        self, connection: Connection, now: datetime, table: Table, model: type[Entry]
    ) -> None:
        super().__init__(connection, now)
        self._table = table
        self._code, self._name = model.model_fields

    def problems(self, data: Entry) -> list[Problem]:
        """Return the problems of a new entry."""
        code: int | str | None = getattr(data, self._code)
        if isinstance(code, int) and code < 0:
            return [(self._code, "Valor inválido: deve ser maior ou igual a 0.")]
        if code and self._is_taken(self._table.c.code, code):
            return [(self._code, f"O código {code} já está cadastrado.")]
        return []

    def accept(self, data: Entry) -> Entry:
        """Accept an entry."""
        code = getattr(data, self._code)
        if not code:
            while self._is_taken(self._table.c.code, code := self._numbers.next(self._table.name)):
                continue
        self._rows[self._table].append({"code": code, "name": getattr(data, self._name)})
        return data.model_copy(update={self._code: code})


def select_entries(table: Table, model: type[WireModel]) -> Select[Any]:
    """Return the statement that lists a registry, with columns named like the model's fields.

    These are the code, the name and, if it has three, whether the entry is active.
    """
    fields = zip(model.model_fields, table.c, strict=False)
    return select(*(column.label(name) for name, column in fields)).order_by(table.c.code)
