"""Registries of a code and a description. Source: the spec, Product type, Client contact, Registry.

Each entry has its code first and its description second; to create one, the description is
required. Only the product type's shape is shown
there; the others follow it by this project's choice (``docs/assumptions.md``).
"""

from xlbridge.wire.model import WireModel


class ProductType(WireModel):
    """A product type as it is read."""

    codigoDoTipoDeProduto: int | None = None
    descricaoDoTipoDeProduto: str | None = None


class ProductTypeInput(ProductType):
    """A product type to create; without a code, or with 0, the code is generated."""

    descricaoDoTipoDeProduto: str


class ClientCategory(WireModel):
    """A client category as it is read."""

    codigoDaCategoriaDeCliente: int | None = None
    descricaoDaCategoriaDeCliente: str | None = None


class ClientCategoryInput(ClientCategory):
    """A client category to create; without a code, or with 0, the code is generated."""

    descricaoDaCategoriaDeCliente: str


class ClientType(WireModel):
    """A client type as it is read."""

    codigoDoTipoDeCliente: int | None = None
    descricaoDoTipoDeCliente: str | None = None


class ClientTypeInput(ClientType):
    """A client type to create; without a code, or with 0, the code is generated."""

    descricaoDoTipoDeCliente: str


class CostCentre(WireModel):
    """A cost centre as it is read; its code is the company's own."""

    codigoDoCentroDeCusto: str
    descricaoDoCentroDeCusto: str | None = None


class CostCentreInput(CostCentre):
    """A cost centre to create."""

    descricaoDoCentroDeCusto: str
