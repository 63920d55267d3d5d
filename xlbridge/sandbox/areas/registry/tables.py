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

from xlbridge.sandbox.columns import Amount, derived_columns, metadata, registry_table
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
products = registry_table(
    "products",
    Integer,
    Column("internal_code", Text, unique=True),
    Column("generic_code", Text),
    Column("english_name", Text),
    Column("barcode", Text),
    Column("ncm", Text),
    Column("price", Amount, nullable=False),
    Column("weight", Amount, nullable=False),
    Column("gross_weight", Amount),
    Column("net_weight", Amount),
    Column("height", Text),
    Column("width", Text),
    Column("length", Text),
    Column("brand", Text),
    Column("model", Text),
    Column("unit", ForeignKey("units.code")),
    Column("product_type", ForeignKey("product_types.code")),
    Column("product_group", ForeignKey("product_groups.code")),
    Column("product_category", ForeignKey("product_categories.code")),
)
PRODUCT_COLUMNS = {
    "idProduto": "code",
    "descricaoDoProduto": "name",
    "DescricaoDoProdutoIngles": "english_name",
    "codigoInterno": "internal_code",
    "CodigoGenerico": "generic_code",
    "codigoDeBarras": "barcode",
    "ncm": "ncm",
    "marca": "brand",
    "modelo": "model",
    "codigoDaUnidadeDeMedida": "unit",
    "codigoDoTipoDeProduto": "product_type",
    "codigoDoGrupoDeProduto": "product_group",
    "codigoDaCategoriaDeProduto": "product_category",
    "valorUnitario": "price",
    "Peso": "weight",
    "PesoBruto": "gross_weight",
    "PesoLiquido": "net_weight",
    "Altura": "height",
    "Largura": "width",
    "Comprimento": "length",
}
"""Columns of a product's fields."""

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
