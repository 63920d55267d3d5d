"""Registries of a code and a description. Source: the spec, Product type, Client contact, Registry.

Each entry has its code first and its description second. Only the product type's shape is shown
there; the others follow it by this project's choice (``docs/assumptions.md``).
"""

from xlbridge.wire.model import WireModel


class ProductType(WireModel):
    """A product type; without a code, or with 0, the code is generated."""

    codigoDoTipoDeProduto: int | None = None
    descricaoDoTipoDeProduto: str


class ClientCategory(WireModel):
    """A client category; without a code, or with 0, the code is generated."""

    codigoDaCategoriaDeCliente: int | None = None
    descricaoDaCategoriaDeCliente: str


class ClientType(WireModel):
    """A client type; without a code, or with 0, the code is generated."""

    codigoDoTipoDeCliente: int | None = None
    descricaoDoTipoDeCliente: str


class CostCentre(WireModel):
    """A cost centre; its code is the company's own."""

    codigoDoCentroDeCusto: str
    descricaoDoCentroDeCusto: str
