"""Tables of the supporting registries, of clients and their contacts, and of users."""

from sqlalchemy import (
    Boolean,
    Column,
    DateTime,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    Table,
    Text,
)

from xlbridge.sandbox.columns import derived_columns, metadata, registry_table
from xlbridge.wire.products import Product
from xlbridge.wire.registry import Client, Contact

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
suppliers = registry_table(
    "suppliers",
    Integer,
    Column("active", Boolean, nullable=False),
    Column("nature", Text, nullable=False, default="J"),
    Column("document", Text, index=True),
    Column("email", Text),
    Column("telephone", Text),
)
SUPPLIER_COLUMNS = {
    "codigoDoFornecedor": "code",
    "nomeComercial": "name",
    "natureza": "nature",
    "cnpjcpf": "document",
    "email": "email",
    "telefone": "telephone",
    "ativo": "active",
}
"""Columns of a supplier's fields."""

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
