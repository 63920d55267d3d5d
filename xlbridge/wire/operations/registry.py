"""Clients and the other registries. Source: the spec, Endpoints, Registry."""

from xlbridge.wire.code_lists import (
    ClientCategory,
    ClientCategoryInput,
    ClientType,
    ClientTypeInput,
    CostCentre,
    CostCentreInput,
    ProductType,
    ProductTypeInput,
)
from xlbridge.wire.operation import Operation
from xlbridge.wire.products import Product, ProductChange, ProductInput
from xlbridge.wire.registry import (
    Client,
    ClientIdws,
    ClientInput,
    ClientQuery,
    Contact,
    ContactInput,
    Supplier,
    SupplierInput,
)

_SECTION = "Registry"

CLIENT_CREATE = Operation(
    name="registry.clients.create",
    method="POST",
    path="/v2/cliente",
    section=_SECTION,
    body=ClientInput,
    data=Client,
)
CLIENT_SET_IDWS = Operation(
    name="registry.clients.set_idws",
    method="PUT",
    path="/v2/cliente/idws",
    section=_SECTION,
    body=ClientIdws,
    data=Client,
    repeatable=True,
)
CLIENT_LIST = Operation(
    name="registry.clients.list",
    method="GET",
    path="/v2/cliente",
    section=_SECTION,
    query=ClientQuery,
    single_record_filters=("idws", "cnpjcpf"),
    data=list[Client] | Client | None,
    repeatable=True,
)
CONTACT_CREATE = Operation(
    name="registry.contacts.create",
    method="POST",
    path="/v2/clientecontato",
    section=_SECTION,
    body=ContactInput,
    data=Contact,
)
CONTACT_GET = Operation(
    name="registry.contacts.get",
    method="GET",
    path="/v2/clientecontato/{codcontato}/{seq}",
    section=_SECTION,
    data=Contact,
    repeatable=True,
)
CLIENT_CATEGORY_CREATE = Operation(
    name="registry.client_categories.create",
    method="POST",
    path="/v2/categoriacliente",
    section=_SECTION,
    body=ClientCategoryInput,
    data=ClientCategory,
)
CLIENT_CATEGORY_LIST = Operation(
    name="registry.client_categories.list",
    method="GET",
    path="/v2/categoriacliente",
    section=_SECTION,
    data=list[ClientCategory],
    repeatable=True,
)
CLIENT_TYPE_CREATE = Operation(
    name="registry.client_types.create",
    method="POST",
    path="/v2/tipocliente",
    section=_SECTION,
    body=ClientTypeInput,
    data=ClientType,
)
CLIENT_TYPE_LIST = Operation(
    name="registry.client_types.list",
    method="GET",
    path="/v2/tipocliente",
    section=_SECTION,
    data=list[ClientType],
    repeatable=True,
)
PRODUCT_TYPE_CREATE = Operation(
    name="registry.product_types.create",
    method="POST",
    path="/v2/tipo-de-produto",
    section=_SECTION,
    body=ProductTypeInput,
    data=ProductType,
)
PRODUCT_TYPE_LIST = Operation(
    name="registry.product_types.list",
    method="GET",
    path="/v2/tipo-de-produto",
    section=_SECTION,
    data=list[ProductType],
    repeatable=True,
)
PRODUCT_CREATE = Operation(
    name="registry.products.create",
    method="POST",
    path="/v2/produto",
    section=_SECTION,
    body=ProductInput,
    data=Product,
)
PRODUCT_UPDATE = Operation(
    name="registry.products.update",
    method="PUT",
    path="/v2/produto",
    section=_SECTION,
    body=ProductChange,
    data=Product,
    repeatable=True,
)
PRODUCT_LIST = Operation(
    name="registry.products.list",
    method="GET",
    path="/v2/produto",
    section=_SECTION,
    data=list[Product],
    repeatable=True,
)
PRODUCT_GET = Operation(
    name="registry.products.get",
    method="GET",
    path="/v2/produto/{idProduto}",
    section=_SECTION,
    data=Product,
    repeatable=True,
)
SUPPLIER_CREATE = Operation(
    name="registry.suppliers.create",
    method="POST",
    path="/v2/fornecedor",
    section=_SECTION,
    body=SupplierInput,
    data=Supplier,
)
SUPPLIER_LIST = Operation(
    name="registry.suppliers.list",
    method="GET",
    path="/v2/fornecedor",
    section=_SECTION,
    data=list[Supplier],
    repeatable=True,
)
COST_CENTRE_CREATE = Operation(
    name="registry.cost_centres.create",
    method="POST",
    path="/v2/centrodecusto",
    section=_SECTION,
    body=CostCentreInput,
    data=CostCentre,
)
COST_CENTRE_LIST = Operation(
    name="registry.cost_centres.list",
    method="GET",
    path="/v2/centrodecusto",
    section=_SECTION,
    data=list[CostCentre],
    repeatable=True,
)

OPERATIONS = (
    CLIENT_CREATE,
    CLIENT_SET_IDWS,
    CLIENT_LIST,
    CONTACT_CREATE,
    CONTACT_GET,
    CLIENT_CATEGORY_CREATE,
    CLIENT_CATEGORY_LIST,
    CLIENT_TYPE_CREATE,
    CLIENT_TYPE_LIST,
    PRODUCT_TYPE_CREATE,
    PRODUCT_TYPE_LIST,
    PRODUCT_CREATE,
    PRODUCT_UPDATE,
    PRODUCT_LIST,
    PRODUCT_GET,
    SUPPLIER_CREATE,
    SUPPLIER_LIST,
    COST_CENTRE_CREATE,
    COST_CENTRE_LIST,
)
