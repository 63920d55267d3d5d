"""Titles of the tables that reports of rehearsals name."""

from collections.abc import Mapping

from xlbridge.i18n import Text
from xlbridge.sandbox.areas.financial.tables import payables, receivables
from xlbridge.sandbox.areas.purchasing.tables import (
    buying_orders,
    purchase_orders,
    purchase_requisitions,
    spending_limits,
)
from xlbridge.sandbox.areas.registry.tables import (
    abc_costs,
    accounts,
    branches,
    categories,
    client_categories,
    client_types,
    clients,
    collaborators,
    contacts,
    cost_centres,
    invoice_models,
    payment_conditions,
    payment_methods,
    portfolios,
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
from xlbridge.sandbox.areas.sales.tables import (
    product_invoices,
    sales_orders,
    service_forecasts,
    service_invoices,
)
from xlbridge.sandbox.areas.stock.tables import addressings, inventories
from xlbridge.sandbox.imports.queue import own_records

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
    projects.name: Text(pt="projetos", en="projects"),
    collaborators.name: Text(pt="colaboradores", en="collaborators"),
    units.name: Text(pt="unidades de medida", en="units of measure"),
    product_groups.name: Text(pt="grupos de produto", en="product groups"),
    product_categories.name: Text(pt="categorias de produto", en="product categories"),
    purchase_types.name: Text(pt="tipos de compra", en="purchase types"),
    purchase_reasons.name: Text(pt="motivos de compra", en="purchase reasons"),
    invoice_models.name: Text(pt="modelos de nota", en="invoice models"),
    payment_conditions.name: Text(pt="condições de pagamento", en="payment conditions"),
}
"""Titles of the registries in which stand-ins are created."""

_TITLES: Mapping[str, Text] = {
    **REGISTRY_TITLES,
    receivables.name: Text(pt="contas a receber", en="receivables"),
    payables.name: Text(pt="contas a pagar", en="payables"),
    service_invoices.name: Text(pt="notas fiscais de serviço", en="service invoices"),
    addressings.name: Text(pt="endereçamentos de produtos", en="product addresses"),
    client_categories.name: Text(pt="categorias de cliente", en="client categories"),
    contacts.name: Text(pt="contatos de clientes", en="client contacts"),
    sales_orders.name: Text(pt="pedidos de venda", en="sales orders"),
    product_invoices.name: Text(pt="notas fiscais de produto", en="product invoices"),
    service_forecasts.name: Text(pt="previsões de serviço", en="service forecasts"),
    purchase_requisitions.name: Text(pt="requisições de compra", en="purchase requisitions"),
    buying_orders.name: Text(pt="ordens de compra", en="buying orders"),
    purchase_orders.name: Text(pt="pedidos de compra", en="purchase orders"),
    spending_limits.name: Text(pt="limites de gasto", en="spending limits"),
    "stock_entries": Text(pt="entradas de estoque", en="stock entries"),
    "stock_outputs": Text(pt="saídas de estoque", en="stock outputs"),
    inventories.name: Text(pt="inventários", en="inventories"),
}


def table_title(name: str) -> Text | str:
    """Return the title of a table in reports: for own resources, the resource's name."""
    return _TITLES.get(name, name.removeprefix(f"{own_records.name}:"))
