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


CLIENT_CREATE = Operation.creation("registry.clients.create", "/v2/cliente", ClientInput, Client)
CLIENT_SET_IDWS = Operation.change(
    "registry.clients.set_idws", "/v2/cliente/idws", ClientIdws, Client
)
CLIENT_LIST = Operation(
    name="registry.clients.list",
    method="GET",
    path="/v2/cliente",
    query=ClientQuery,
    single_record_filters=("idws", "cnpjcpf"),
    data=list[Client] | Client | None,
)
CONTACT_CREATE = Operation.creation(
    "registry.contacts.create", "/v2/clientecontato", ContactInput, Contact
)
CONTACT_GET = Operation.reading(
    "registry.contacts.get", "/v2/clientecontato/{codcontato}/{seq}", Contact
)
CLIENT_CATEGORY_CREATE = Operation.creation(
    "registry.client_categories.create", "/v2/categoriacliente", ClientCategoryInput, ClientCategory
)
CLIENT_CATEGORY_LIST = Operation.listing(
    "registry.client_categories.list", "/v2/categoriacliente", ClientCategory
)
CLIENT_TYPE_CREATE = Operation.creation(
    "registry.client_types.create", "/v2/tipocliente", ClientTypeInput, ClientType
)
CLIENT_TYPE_LIST = Operation.listing("registry.client_types.list", "/v2/tipocliente", ClientType)
PRODUCT_TYPE_CREATE = Operation.creation(
    "registry.product_types.create", "/v2/tipo-de-produto", ProductTypeInput, ProductType
)
PRODUCT_TYPE_LIST = Operation.listing(
    "registry.product_types.list", "/v2/tipo-de-produto", ProductType
)
SUPPLIER_CREATE = Operation.creation(
    "registry.suppliers.create", "/v2/fornecedor", SupplierInput, Supplier
)
SUPPLIER_LIST = Operation.listing("registry.suppliers.list", "/v2/fornecedor", Supplier)
COST_CENTRE_CREATE = Operation.creation(
    "registry.cost_centres.create", "/v2/centrodecusto", CostCentreInput, CostCentre
)
COST_CENTRE_LIST = Operation.listing("registry.cost_centres.list", "/v2/centrodecusto", CostCentre)


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


PRODUCT_CREATE = Operation.creation(
    "registry.products.create", "/v2/produto", ProductInput, Product
)


class ProductChange(ProductInput, ProductId):
    """New content of a product; omitted fields are cleared."""

    idProduto: int


PRODUCT_UPDATE = Operation.change("registry.products.update", "/v2/produto", ProductChange, Product)
PRODUCT_LIST = Operation.listing("registry.products.list", "/v2/produto", Product)
PRODUCT_GET = Operation.reading("registry.products.get", "/v2/produto/{idProduto}", Product)
