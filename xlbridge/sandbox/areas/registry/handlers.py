"""Handlers of clients, contacts, suppliers, products and code lists.

Source: the spec, Client, Client contact, Product type, Registry, Limits, Versioning.
"""

from typing import Any

from sqlalchemy import Select, Table, exists, select, update

from xlbridge.sandbox.areas.registry.codes import CodeListRegistration, select_entries
from xlbridge.sandbox.areas.registry.rules import (
    PRODUCT_COLUMNS,
    SUPPLIER_COLUMNS,
    ClientRegistration,
    ContactRegistration,
    ProductRegistration,
    SupplierRegistration,
    unmasked_document,
)
from xlbridge.sandbox.areas.registry.tables import (
    client_categories,
    client_types,
    clients,
    contacts,
    cost_centres,
    product_types,
    products,
    suppliers,
)
from xlbridge.sandbox.columns import labelled_columns, to_row
from xlbridge.sandbox.handler_registry import Call, handle_creation, handles, window_conditions
from xlbridge.sandbox.problems import (
    first_or_404,
    invalid,
    not_found,
    require_no_problems,
)
from xlbridge.wire import Operation, WireModel
from xlbridge.wire.products import (
    PRODUCT_CREATE,
    PRODUCT_GET,
    PRODUCT_LIST,
    PRODUCT_UPDATE,
    Product,
    ProductChange,
)
from xlbridge.wire.registry import (
    CLIENT_CAP,
    CLIENT_CATEGORY_CREATE,
    CLIENT_CATEGORY_LIST,
    CLIENT_CREATE,
    CLIENT_LIST,
    CLIENT_SET_IDWS,
    CLIENT_TYPE_CREATE,
    CLIENT_TYPE_LIST,
    CONTACT_CREATE,
    CONTACT_GET,
    COST_CENTRE_CREATE,
    COST_CENTRE_LIST,
    PRODUCT_TYPE_CREATE,
    PRODUCT_TYPE_LIST,
    SUPPLIER_CREATE,
    SUPPLIER_LIST,
    Client,
    ClientCategory,
    ClientIdws,
    ClientQuery,
    ClientType,
    Contact,
    CostCentre,
    ProductType,
    Supplier,
)

handle_creation(CLIENT_CREATE, ClientRegistration)
handle_creation(CONTACT_CREATE, ContactRegistration)
handle_creation(SUPPLIER_CREATE, SupplierRegistration)
handle_creation(PRODUCT_CREATE, ProductRegistration)


@handles(CLIENT_SET_IDWS)
def set_client_idws(call: Call) -> Client:
    data = call.body_as(ClientIdws)
    by_code = clients.c.codigoDoCliente == data.codigoDoCliente
    is_duplicate = ~by_code & (clients.c.idws == data.idws)
    if call.connection.scalar(select(exists().where(is_duplicate))):
        raise invalid(("idws", f"O identificador {data.idws} já é de outro cliente."))
    client = call.connection.execute(
        update(clients)
        .where(by_code)
        .values(idws=data.idws, ultimaAtualizacao=call.now)
        .returning(clients)
    ).one_or_none()
    if client is None:
        raise not_found("codigoDoCliente", "Cliente não encontrado.")
    return Client.model_construct(**client._mapping)


@handles(CLIENT_LIST)
def list_clients(call: Call) -> Client | list[Client] | None:
    query = call.query_as(ClientQuery)
    statement = select(clients).order_by(clients.c.ultimaAtualizacao, clients.c.codigoDoCliente)
    statement = statement.where(*window_conditions(call, clients.c.ultimaAtualizacao))
    if query.idws is not None:
        statement = statement.where(clients.c.idws == query.idws)
    if query.cnpjcpf is not None:
        statement = statement.where(clients.c.cnpjcpf == unmasked_document(query.cnpjcpf))
    if query.idws is None and query.cnpjcpf is None:
        return call.read(Client, statement.limit(CLIENT_CAP))
    return next(iter(call.read(Client, statement.limit(1))), None)


@handles(CONTACT_GET)
def show_contact(call: Call) -> Contact:
    statement = select(contacts).where(
        contacts.c.codigoDoCliente == call.path["codcontato"],
        contacts.c.seqContato == call.path["seq"],
    )
    return first_or_404(call.read(Contact, statement), "seq", "Contato não encontrado.")


@handles(SUPPLIER_LIST)
def list_suppliers(call: Call) -> list[Supplier]:
    columns = labelled_columns(suppliers, SUPPLIER_COLUMNS)
    return call.read(Supplier, select(*columns).order_by(suppliers.c.code))


@handles(PRODUCT_UPDATE)
def alter_product(call: Call) -> Product:
    change = call.body_as(ProductChange)
    by_code = products.c.code == change.idProduto
    call.require_row(by_code, "idProduto", "Produto não encontrado.")
    require_no_problems(ProductRegistration(call.connection, call.now).problems(change))
    values = to_row(change, PRODUCT_COLUMNS)
    call.connection.execute(update(products).where(by_code).values(values))
    return Product(**change.model_dump())


@handles(PRODUCT_LIST)
def list_products(call: Call) -> list[Product]:
    return call.read(Product, _select_products())


@handles(PRODUCT_GET)
def show_product(call: Call) -> Product:
    statement = _select_products().where(products.c.code == call.path["idProduto"])
    return first_or_404(call.read(Product, statement), "idProduto", "Produto não encontrado.")


def _select_products() -> Select[Any]:
    return select(*labelled_columns(products, PRODUCT_COLUMNS)).order_by(products.c.code)


def _handle_code_list(
    create: Operation, listing: Operation, table: Table, model: type[WireModel]
) -> None:
    """Register the handlers that create and list the entries of a code list."""
    handle_creation(
        create,
        lambda connection, now: CodeListRegistration(connection, now, table, model),
        source=CodeListRegistration,
    )
    handles(listing, source=select_entries)(
        lambda call: call.read(model, select_entries(table, model))
    )


_handle_code_list(CLIENT_CATEGORY_CREATE, CLIENT_CATEGORY_LIST, client_categories, ClientCategory)
_handle_code_list(CLIENT_TYPE_CREATE, CLIENT_TYPE_LIST, client_types, ClientType)
_handle_code_list(PRODUCT_TYPE_CREATE, PRODUCT_TYPE_LIST, product_types, ProductType)
_handle_code_list(COST_CENTRE_CREATE, COST_CENTRE_LIST, cost_centres, CostCentre)
