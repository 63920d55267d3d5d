"""Products: models and operations. Source: the spec, Versioning (release 6.0.294), Registry.

The spec shows only the fields of that release; the others are taken from its stock and sales
records, this project's choice (``docs/assumptions.md``).
"""

from decimal import Decimal

from xlbridge.wire.model import Number, Operation, WireModel


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
