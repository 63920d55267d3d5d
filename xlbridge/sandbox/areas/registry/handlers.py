"""Handlers of clients, contacts, suppliers, products and code lists.

Source: the spec, Client, Client contact, Product type, Registry, Limits, Versioning.
"""

from typing import Any

from sqlalchemy import Select, exists, select, update

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
from xlbridge.sandbox.call import Call, handles, window_conditions
from xlbridge.sandbox.columns import labelled_columns, to_row
from xlbridge.sandbox.problems import (
    first_found,
    invalid,
    not_found,
    register_one,
    require_no_problems,
)
from xlbridge.wire.products import (
    PRODUCT_CREATE,
    PRODUCT_GET,
    PRODUCT_LIST,
    PRODUCT_UPDATE,
    Product,
    ProductChange,
    ProductInput,
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
    ClientInput,
    ClientQuery,
    ClientType,
    Contact,
    ContactInput,
    CostCentre,
    ProductType,
    Supplier,
    SupplierInput,
)


@handles(CLIENT_CREATE)
def create_client(call: Call) -> Client:
    return register_one(ClientRegistration(call.connection, call.now), call.body_as(ClientInput))


@handles(CLIENT_SET_IDWS)
def set_client_idws(call: Call) -> Client:
    wanted = call.body_as(ClientIdws)
    of_client = clients.c.codigoDoCliente == wanted.codigoDoCliente
    others = ~of_client & (clients.c.idws == wanted.idws)
    if call.connection.scalar(select(exists().where(others))):
        raise invalid(("idws", f"O identificador {wanted.idws} já é de outro cliente."))
    changed = call.connection.execute(
        update(clients)
        .where(of_client)
        .values(idws=wanted.idws, ultimaAtualizacao=call.now)
        .returning(clients)
    ).one_or_none()
    if changed is None:
        raise not_found("codigoDoCliente", "Cliente não encontrado.")
    return Client.model_construct(**changed._mapping)


@handles(CLIENT_LIST)
def list_clients(call: Call) -> Client | list[Client] | None:
    query = call.query_as(ClientQuery)
    found = select(clients).order_by(clients.c.ultimaAtualizacao, clients.c.codigoDoCliente)
    found = found.where(
        *window_conditions(
            call, clients.c.ultimaAtualizacao, query.dataInferior, query.dataSuperior
        )
    )
    if query.idws is not None:
        found = found.where(clients.c.idws == query.idws)
    if query.cnpjcpf is not None:
        found = found.where(clients.c.cnpjcpf == unmasked_document(query.cnpjcpf))
    if query.idws is None and query.cnpjcpf is None:
        return call.read(Client, found.limit(CLIENT_CAP))
    return next(iter(call.read(Client, found.limit(1))), None)


@handles(CONTACT_CREATE)
def create_contact(call: Call) -> Contact:
    return register_one(ContactRegistration(call.connection, call.now), call.body_as(ContactInput))


@handles(CONTACT_GET)
def show_contact(call: Call) -> Contact:
    found = select(contacts).where(
        contacts.c.codigoDoCliente == call.path["codcontato"],
        contacts.c.seqContato == call.path["seq"],
    )
    return first_found(call.read(Contact, found), "seq", "Contato não encontrado.")


@handles(SUPPLIER_CREATE)
def create_supplier(call: Call) -> Supplier:
    return register_one(
        SupplierRegistration(call.connection, call.now), call.body_as(SupplierInput)
    )


@handles(SUPPLIER_LIST)
def list_suppliers(call: Call) -> list[Supplier]:
    found = select(*labelled_columns(suppliers, SUPPLIER_COLUMNS)).order_by(suppliers.c.code)
    return call.read(Supplier, found)


@handles(PRODUCT_CREATE)
def create_product(call: Call) -> Product:
    return register_one(ProductRegistration(call.connection, call.now), call.body_as(ProductInput))


@handles(PRODUCT_UPDATE)
def alter_product(call: Call) -> Product:
    change = call.body_as(ProductChange)
    this = products.c.code == change.idProduto
    call.require_row(this, "idProduto", "Produto não encontrado.")
    require_no_problems(ProductRegistration(call.connection, call.now).problems(change))
    values = to_row(change, PRODUCT_COLUMNS)
    call.connection.execute(update(products).where(this).values(values))
    return Product(**change.model_dump())


@handles(PRODUCT_LIST)
def list_products(call: Call) -> list[Product]:
    return call.read(Product, _select_products())


@handles(PRODUCT_GET)
def show_product(call: Call) -> Product:
    found = _select_products().where(products.c.code == call.path["idProduto"])
    return first_found(call.read(Product, found), "idProduto", "Produto não encontrado.")


def _select_products() -> Select[Any]:
    return select(*labelled_columns(products, PRODUCT_COLUMNS)).order_by(products.c.code)


@handles(CLIENT_CATEGORY_CREATE)
def create_client_category(call: Call) -> ClientCategory:
    registration = CodeListRegistration(
        call.connection, call.now, client_categories, ClientCategory
    )
    return register_one(registration, call.body_as(ClientCategory))


@handles(CLIENT_CATEGORY_LIST)
def list_client_categories(call: Call) -> list[ClientCategory]:
    return call.read(ClientCategory, select_entries(client_categories, ClientCategory))


@handles(CLIENT_TYPE_CREATE)
def create_client_type(call: Call) -> ClientType:
    registration = CodeListRegistration(call.connection, call.now, client_types, ClientType)
    return register_one(registration, call.body_as(ClientType))


@handles(CLIENT_TYPE_LIST)
def list_client_types(call: Call) -> list[ClientType]:
    return call.read(ClientType, select_entries(client_types, ClientType))


@handles(PRODUCT_TYPE_CREATE)
def create_product_type(call: Call) -> ProductType:
    registration = CodeListRegistration(call.connection, call.now, product_types, ProductType)
    return register_one(registration, call.body_as(ProductType))


@handles(PRODUCT_TYPE_LIST)
def list_product_types(call: Call) -> list[ProductType]:
    return call.read(ProductType, select_entries(product_types, ProductType))


@handles(COST_CENTRE_CREATE)
def create_cost_centre(call: Call) -> CostCentre:
    registration = CodeListRegistration(call.connection, call.now, cost_centres, CostCentre)
    return register_one(registration, call.body_as(CostCentre))


@handles(COST_CENTRE_LIST)
def list_cost_centres(call: Call) -> list[CostCentre]:
    return call.read(CostCentre, select_entries(cost_centres, CostCentre))
