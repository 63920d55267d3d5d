"""Products. Source: the spec, Versioning (release 6.0.294), Registry.

The fields beyond that release's are not shown there; those here are what its stock and sales
records say of a product, this project's choice (``docs/assumptions.md``).
"""

from decimal import Decimal

from xlbridge.wire.model import Number, WireModel


class ProductInput(WireModel):
    """A product to create. Weights are in kilograms; ``Peso`` fills neither of the others."""

    descricaoDoProduto: str
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
    valorUnitario: Number = Decimal(0)
    Peso: Number = Decimal(0)
    PesoBruto: Number | None = None
    PesoLiquido: Number | None = None
    Altura: str | None = None
    Largura: str | None = None
    Comprimento: str | None = None


class Product(ProductInput):
    """A product as it is read, and as it is to be from now on: what is left out is emptied."""

    idProduto: int
