"""Clients, contacts, suppliers, products and code lists: models and operations.

Source: the spec, Client, Client contact, Product type, Registry, Versioning (release 6.0.294). Not
shown there, and therefore this project's choice (``docs/assumptions.md``), are suppliers, the code
lists other than product types, and the fields of a product beyond those of that release, which are
taken from its stock and sales records.
"""

from decimal import Decimal
from typing import Literal

from pydantic import Field

from xlbridge.wire.model import Moment, Number, Operation, QueryMoment, WireModel

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


class ProductTerms(WireModel):
    """Content of a product. Weights are in kilograms; ``Peso`` does not fill the other two."""

    descricaoDoProduto: str | None = None
    DescricaoDoProdutoIngles: str | None = None
    codigoInterno: str | None = None
    CodigoGenerico: str | None = None
    codigoDeBarras: str | None = None
    ncm: str | None = None
    marca: str | None = None
    modelo: str | None = None
    codigoDaUnidadeDeMedida: int | None = None
    codigoDoTipoDeProduto: int | None = None
    codigoDoGrupoDeProduto: str | None = None
    codigoDaCategoriaDeProduto: int | None = None
    valorUnitario: Number | None = None
    Peso: Number | None = None
    PesoBruto: Number | None = None
    PesoLiquido: Number | None = None
    Altura: str | None = None
    Largura: str | None = None
    Comprimento: str | None = None


class ProductInput(ProductTerms):
    """A product to create."""

    descricaoDoProduto: str
    valorUnitario: Number = Decimal(0)
    Peso: Number = Decimal(0)


class ProductId(WireModel):
    """Identifier of a product."""

    idProduto: int | None = None


class Product(ProductTerms, ProductId):
    """A product in responses."""


PRODUCT_CREATE = Operation(
    name="registry.products.create",
    method="POST",
    path="/v2/produto",
    body=ProductInput,
    data=Product,
)


class ProductChange(ProductInput, ProductId):
    """New content of a product; omitted fields are cleared."""

    idProduto: int


PRODUCT_UPDATE = Operation(
    name="registry.products.update",
    method="PUT",
    path="/v2/produto",
    body=ProductChange,
    data=Product,
    repeatable=True,
)
PRODUCT_LIST = Operation(
    name="registry.products.list",
    method="GET",
    path="/v2/produto",
    data=list[Product],
)
PRODUCT_GET = Operation(
    name="registry.products.get",
    method="GET",
    path="/v2/produto/{idProduto}",
    data=Product,
)
