"""The sandbox's tables. What the wire shows is derived from the wire models, never repeated."""

from typing import Any

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    DateTime,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)

from xlbridge.sandbox.columns import Amount, derived_columns
from xlbridge.wire.financial import PayableInput, Receivable
from xlbridge.wire.registry import Client
from xlbridge.wire.sales import SalesOrder, SalesOrderInstallment, SalesOrderItem
from xlbridge.wire.services import ServiceInvoiceInput
from xlbridge.wire.stock import AddressingInput

metadata = MetaData()

_TITLE_KEY = ("codigoDoExercicio", "codigoDaFilial", "numeroDaTransacao", "sequenciaDaTransacao")


def _registry(name: str, code: type[Integer] | type[Text], *extra: Column[Any]) -> Table:
    return Table(
        name,
        metadata,
        Column("code", code(), primary_key=True, autoincrement=False),
        Column("name", Text, nullable=False),
        *extra,
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

companies = _registry("companies", Integer)
branches = _registry("branches", Integer)
client_types = _registry("client_types", Integer)
sellers = _registry("sellers", Integer)
categories = _registry("categories", Text, Column("revenue", Boolean, nullable=False))
cost_centres = _registry("cost_centres", Text)
abc_costs = _registry("abc_costs", Text)
accounts = _registry("accounts", Integer)
portfolios = _registry(
    "portfolios", Integer, Column("account", ForeignKey("accounts.code"), nullable=False)
)
payment_methods = _registry("payment_methods", Integer)
suppliers = _registry("suppliers", Integer, Column("active", Boolean, nullable=False))
services = _registry("services", Text)
projects = _registry("projects", Integer)
products = _registry(
    "products",
    Integer,
    Column("internal_code", Text, nullable=False),
    Column("barcode", Text),
    Column("ncm", Text),
    Column("price", Amount, nullable=False),
    Column("weight", Amount, nullable=False),
)
warehouses = Table(
    "warehouses",
    metadata,
    Column("branch", ForeignKey("branches.code"), primary_key=True),
    Column("code", Integer, primary_key=True, autoincrement=False),
    Column("name", Text, nullable=False),
)

clients = Table(
    "clients",
    metadata,
    *derived_columns(Client, keys=("codigoDoCliente",)),
    Index("clients_by_document", "cnpjcpf"),
    Index("clients_by_idws", "idws"),
    Index("clients_by_update", "ultimaAtualizacao"),
)
receivables = Table(
    "receivables",
    metadata,
    *derived_columns(Receivable, keys=_TITLE_KEY),
    Index("receivables_by_client", "codigoDoCliente"),
)
payables = Table(
    "payables",
    metadata,
    Column("codigoDoExercicio", Integer, primary_key=True, autoincrement=False),
    Column("numeroDaTransacao", Integer, primary_key=True, autoincrement=False),
    Column("sequenciaDaTransacao", Integer, primary_key=True, autoincrement=False),
    *derived_columns(PayableInput, keys=("codigoDaFilial",)),
)
service_invoices = Table(
    "service_invoices",
    metadata,
    Column("idNF", Integer, primary_key=True, autoincrement=False),
    *derived_columns(ServiceInvoiceInput),
    Column("emitted", Boolean, nullable=False, default=False),
)
addressings = Table(
    "addressings",
    metadata,
    *derived_columns(
        AddressingInput, keys=("codigoDaFilial", "codigoDoAlmoxarifado", "codigoDaSecao", "idProd")
    ),
)
own_records = Table(
    "own_records",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("resource", Text, nullable=False),
    Column("record", JSON, nullable=False),
)
balances = Table(
    "balances",
    metadata,
    Column("branch", Integer, primary_key=True, autoincrement=False),
    Column("warehouse", Integer, primary_key=True, autoincrement=False),
    Column("product", ForeignKey("products.code"), primary_key=True),
    Column("serial", Text),
    Column("project", ForeignKey("projects.code")),
    Column("quantity", Amount, nullable=False),
    Column("value", Amount, nullable=False),
)

sales_orders = Table(
    "sales_orders",
    metadata,
    *derived_columns(
        SalesOrder,
        keys=("numeroDoPedido",),
        leave_out=("parcelas", "produtos", "ultimaAtualizacao"),
    ),
    Column("updated", DateTime, nullable=False),
    Index("sales_orders_by_update", "updated", "numeroDoPedido"),
)
sales_order_installments = Table(
    "sales_order_installments",
    metadata,
    *derived_columns(SalesOrderInstallment, keys=("numeroDoPedido", "numeroDaParcela")),
)
sales_order_items = Table(
    "sales_order_items",
    metadata,
    *derived_columns(SalesOrderItem, keys=("numeroDoPedido", "seq")),
)

import_logs = Table(
    "import_logs",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("resource", Text, nullable=False),
    Column("filename", Text),
    Column("content", LargeBinary, nullable=False),
    Column("user_id", ForeignKey("users.id"), nullable=False),
    Column("state", Text, nullable=False),
    Column("released", Boolean, nullable=False),
    Column("included", DateTime, nullable=False),
    Column("started", DateTime),
    Column("finished", DateTime),
    Column("total", Integer, nullable=False, default=0),
    Column("imported", Integer, nullable=False, default=0),
    Column("message", Text),
)
rejected_lines = Table(
    "rejected_lines",
    metadata,
    Column("log_id", ForeignKey("import_logs.id"), primary_key=True),
    Column("line", Integer, primary_key=True, autoincrement=False),
    Column("column", Text),
    Column("message", Text, nullable=False),
)
outbox = Table(
    "outbox",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("log_id", ForeignKey("import_logs.id"), nullable=False),
    Column("recipient", Text, nullable=False),
    Column("subject", Text, nullable=False),
    UniqueConstraint("log_id"),
)
