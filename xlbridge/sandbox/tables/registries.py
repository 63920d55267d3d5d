"""The supporting registries."""

from sqlalchemy import Boolean, Column, ForeignKey, ForeignKeyConstraint, Integer, Table, Text

from xlbridge.sandbox.columns import Amount
from xlbridge.sandbox.tables.schema import metadata, registry

companies = registry("companies", Integer)
branches = registry("branches", Integer)
client_types = registry("client_types", Integer)
client_categories = registry("client_categories", Integer)
sellers = registry("sellers", Integer)
categories = registry("categories", Text, Column("revenue", Boolean, nullable=False))
cost_centres = registry("cost_centres", Text)
abc_costs = registry("abc_costs", Text)
accounts = registry("accounts", Integer)
portfolios = registry(
    "portfolios", Integer, Column("account", ForeignKey("accounts.code"), nullable=False)
)
payment_methods = registry("payment_methods", Integer)
purchase_types = registry("purchase_types", Integer, Column("active", Boolean, nullable=False))
purchase_reasons = registry("purchase_reasons", Integer, Column("active", Boolean, nullable=False))
suppliers = registry(
    "suppliers",
    Integer,
    Column("active", Boolean, nullable=False),
    Column("nature", Text, nullable=False, default="J"),
    Column("document", Text, index=True),
    Column("email", Text),
    Column("telephone", Text),
)
services = registry("services", Text)
projects = registry("projects", Integer)
collaborators = registry("collaborators", Integer)
units = registry("units", Integer, Column("symbol", Text, nullable=False))
product_types = registry("product_types", Integer)
product_groups = registry("product_groups", Text)
product_categories = registry("product_categories", Integer)
invoice_models = registry("invoice_models", Integer, Column("series", Integer, nullable=False))
payment_conditions = registry(
    "payment_conditions",
    Integer,
    Column("instalments", Integer, nullable=False),
    Column("days_between", Integer, nullable=False),
)
issuers = registry(
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
"""Each branch as the issuer of invoices, and what it bills with unless told otherwise."""
products = registry(
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
