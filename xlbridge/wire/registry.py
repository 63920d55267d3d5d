"""Clients, contacts, suppliers and code lists: models and operations.

Source: the spec, Client, Client contact, Product type, Registry. Suppliers and the code lists
other than product types are not shown there; they are this project's choice
(``docs/assumptions.md``).
"""

from typing import Literal

from pydantic import Field

from xlbridge.wire.model import Moment, Operation, QueryMoment, WireModel

CLIENT_CAP = 500
"""Maximum records of a GET /v2/cliente without a single-record filter (the spec, Limits)."""


class PartyInput(WireModel):
    """A client or supplier to create; only ``nomeComercial`` is required."""

    nomeComercial: str = Field(min_length=1)
    natureza: Literal["J", "F"] = "J"
    cnpj: str | None = None
    cpf: str | None = None


class ClientInput(PartyInput):
    """A client to create."""

    seuCodigo: str | None = None
    codigoDoTipoDeCliente: int | None = None
    codigoDoVendedor: int | None = None
    email: str | None = None
    telefone: str | None = None


class Client(WireModel):
    """A client in responses.

    ``ultimaAtualizacao``, to which the update window applies, is this project's choice
    (``docs/assumptions.md``).
    """

    codigoDoCliente: int | None = None
    nomeComercial: str | None = None
    natureza: str | None = None
    cnpjcpf: str | None = None
    seuCodigo: str | None = None
    codigoDoTipoDeCliente: int | None = None
    codigoDoVendedor: int | None = None
    email: str | None = None
    telefone: str | None = None
    ativo: bool | None = None
    idws: str | None = None
    ultimaAtualizacao: Moment | None = None


class ClientIdws(WireModel):
    """The caller's stable identifier for a client."""

    codigoDoCliente: int
    idws: str = Field(min_length=1)


class ClientQuery(WireModel):
    """Filters of the client listing; ``idws`` and ``cnpjcpf`` identify a single record."""

    idws: str | None = None
    cnpjcpf: str | None = None
    dataInferior: QueryMoment | None = None
    dataSuperior: QueryMoment | None = None


class ContactInput(WireModel):
    """A client's contact to create; its sequence is generated."""

    codigoDoCliente: int
    nome: str = Field(min_length=1)
    email: str | None = None
    telefone: str | None = None
    cargo: str | None = None


class Contact(WireModel):
    """A client's contact in responses.

    ``cargo``, which the spec has only in the request, is this project's choice
    (``docs/assumptions.md``).
    """

    codigoDoCliente: int | None = None
    seqContato: int | None = None
    nomeDoContato: str | None = None
    nomeAbreviado: str | None = None
    departamento: str | None = None
    cargo: str | None = None
    telefone: str | None = None
    celular: str | None = None
    email: str | None = None
    observacao: str | None = None
    ativo: bool | None = None


class SupplierInput(PartyInput):
    """A supplier to create."""

    email: str | None = None
    telefone: str | None = None
    ativo: bool = True


class Supplier(WireModel):
    """A supplier in responses."""

    codigoDoFornecedor: int | None = None
    nomeComercial: str | None = None
    natureza: str | None = None
    cnpjcpf: str | None = None
    email: str | None = None
    telefone: str | None = None
    ativo: bool | None = None


class ProductType(WireModel):
    """A product type in responses."""

    codigoDoTipoDeProduto: int | None = None
    descricaoDoTipoDeProduto: str | None = None


class ProductTypeInput(ProductType):
    """A product type to create; the code is generated if it is missing or 0."""

    descricaoDoTipoDeProduto: str


class ClientCategory(WireModel):
    """A client category in responses."""

    codigoDaCategoriaDeCliente: int | None = None
    descricaoDaCategoriaDeCliente: str | None = None


class ClientCategoryInput(ClientCategory):
    """A client category to create; the code is generated if it is missing or 0."""

    descricaoDaCategoriaDeCliente: str


class ClientType(WireModel):
    """A client type in responses."""

    codigoDoTipoDeCliente: int | None = None
    descricaoDoTipoDeCliente: str | None = None


class ClientTypeInput(ClientType):
    """A client type to create; the code is generated if it is missing or 0."""

    descricaoDoTipoDeCliente: str


class CostCentre(WireModel):
    """A cost centre in responses; its code is the company's own."""

    codigoDoCentroDeCusto: str | None = None
    descricaoDoCentroDeCusto: str | None = None


class CostCentreInput(CostCentre):
    """A cost centre to create."""

    codigoDoCentroDeCusto: str
    descricaoDoCentroDeCusto: str


CLIENT_CREATE = Operation(
    name="registry.clients.create",
    method="POST",
    path="/v2/cliente",
    body=ClientInput,
    data=Client,
)
CLIENT_SET_IDWS = Operation(
    name="registry.clients.set_idws",
    method="PUT",
    path="/v2/cliente/idws",
    body=ClientIdws,
    data=Client,
    repeatable=True,
)
CLIENT_LIST = Operation(
    name="registry.clients.list",
    method="GET",
    path="/v2/cliente",
    query=ClientQuery,
    single_record_filters=("idws", "cnpjcpf"),
    data=list[Client] | Client | None,
)
CONTACT_CREATE = Operation(
    name="registry.contacts.create",
    method="POST",
    path="/v2/clientecontato",
    body=ContactInput,
    data=Contact,
)
CONTACT_GET = Operation(
    name="registry.contacts.get",
    method="GET",
    path="/v2/clientecontato/{codcontato}/{seq}",
    data=Contact,
)
CLIENT_CATEGORY_CREATE = Operation(
    name="registry.client_categories.create",
    method="POST",
    path="/v2/categoriacliente",
    body=ClientCategoryInput,
    data=ClientCategory,
)
CLIENT_CATEGORY_LIST = Operation(
    name="registry.client_categories.list",
    method="GET",
    path="/v2/categoriacliente",
    data=list[ClientCategory],
)
CLIENT_TYPE_CREATE = Operation(
    name="registry.client_types.create",
    method="POST",
    path="/v2/tipocliente",
    body=ClientTypeInput,
    data=ClientType,
)
CLIENT_TYPE_LIST = Operation(
    name="registry.client_types.list",
    method="GET",
    path="/v2/tipocliente",
    data=list[ClientType],
)
PRODUCT_TYPE_CREATE = Operation(
    name="registry.product_types.create",
    method="POST",
    path="/v2/tipo-de-produto",
    body=ProductTypeInput,
    data=ProductType,
)
PRODUCT_TYPE_LIST = Operation(
    name="registry.product_types.list",
    method="GET",
    path="/v2/tipo-de-produto",
    data=list[ProductType],
)
SUPPLIER_CREATE = Operation(
    name="registry.suppliers.create",
    method="POST",
    path="/v2/fornecedor",
    body=SupplierInput,
    data=Supplier,
)
SUPPLIER_LIST = Operation(
    name="registry.suppliers.list",
    method="GET",
    path="/v2/fornecedor",
    data=list[Supplier],
)
COST_CENTRE_CREATE = Operation(
    name="registry.cost_centres.create",
    method="POST",
    path="/v2/centrodecusto",
    body=CostCentreInput,
    data=CostCentre,
)
COST_CENTRE_LIST = Operation(
    name="registry.cost_centres.list",
    method="GET",
    path="/v2/centrodecusto",
    data=list[CostCentre],
)
