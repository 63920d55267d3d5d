"""Registries of a code and a description. Source: the spec, Product type, Registry."""

from xlbridge.sandbox.business.code_lists import CodeListIntake, entries
from xlbridge.sandbox.business.intake import admit
from xlbridge.sandbox.call import Call, handles
from xlbridge.sandbox.tables.registries import (
    client_categories,
    client_types,
    cost_centres,
    product_types,
)
from xlbridge.wire.code_lists import ClientCategory, ClientType, CostCentre, ProductType
from xlbridge.wire.operations.registry import (
    CLIENT_CATEGORY_CREATE,
    CLIENT_CATEGORY_LIST,
    CLIENT_TYPE_CREATE,
    CLIENT_TYPE_LIST,
    COST_CENTRE_CREATE,
    COST_CENTRE_LIST,
    PRODUCT_TYPE_CREATE,
    PRODUCT_TYPE_LIST,
)


@handles(CLIENT_CATEGORY_CREATE)
def create_client_category(call: Call) -> ClientCategory:
    intake = CodeListIntake(call.connection, client_categories, ClientCategory)
    return admit(intake, call.sent(ClientCategory))


@handles(CLIENT_CATEGORY_LIST)
def list_client_categories(call: Call) -> list[ClientCategory]:
    return call.read(ClientCategory, entries(client_categories, ClientCategory))


@handles(CLIENT_TYPE_CREATE)
def create_client_type(call: Call) -> ClientType:
    intake = CodeListIntake(call.connection, client_types, ClientType)
    return admit(intake, call.sent(ClientType))


@handles(CLIENT_TYPE_LIST)
def list_client_types(call: Call) -> list[ClientType]:
    return call.read(ClientType, entries(client_types, ClientType))


@handles(PRODUCT_TYPE_CREATE)
def create_product_type(call: Call) -> ProductType:
    intake = CodeListIntake(call.connection, product_types, ProductType)
    return admit(intake, call.sent(ProductType))


@handles(PRODUCT_TYPE_LIST)
def list_product_types(call: Call) -> list[ProductType]:
    return call.read(ProductType, entries(product_types, ProductType))


@handles(COST_CENTRE_CREATE)
def create_cost_centre(call: Call) -> CostCentre:
    intake = CodeListIntake(call.connection, cost_centres, CostCentre)
    return admit(intake, call.sent(CostCentre))


@handles(COST_CENTRE_LIST)
def list_cost_centres(call: Call) -> list[CostCentre]:
    return call.read(CostCentre, entries(cost_centres, CostCentre))
