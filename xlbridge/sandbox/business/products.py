"""The rules of products. Source: the spec, Versioning (release 6.0.294), Registry."""

from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection, exists, insert, select

from xlbridge.sandbox.answers import Problem
from xlbridge.sandbox.business.entries import amount_problems
from xlbridge.sandbox.business.known import Known
from xlbridge.sandbox.business.numbers import Numbers
from xlbridge.sandbox.columns import stored
from xlbridge.sandbox.tables.registries import (
    product_categories,
    product_groups,
    product_types,
    products,
    units,
)
from xlbridge.wire.products import Product, ProductChange, ProductInput

PRODUCT_COLUMNS = {
    "idProduto": "code",
    "descricaoDoProduto": "name",
    "DescricaoDoProdutoIngles": "english_name",
    "codigoInterno": "internal_code",
    "CodigoGenerico": "generic_code",
    "codigoDeBarras": "barcode",
    "ncm": "ncm",
    "marca": "brand",
    "modelo": "model",
    "codigoDaUnidadeDeMedida": "unit",
    "codigoDoTipoDeProduto": "product_type",
    "codigoDoGrupoDeProduto": "product_group",
    "codigoDaCategoriaDeProduto": "product_category",
    "valorUnitario": "price",
    "Peso": "weight",
    "PesoBruto": "gross_weight",
    "PesoLiquido": "net_weight",
    "Altura": "height",
    "Largura": "width",
    "Comprimento": "length",
}
"""The column of each of a product's fields."""

_CODES = (
    ("codigoDaUnidadeDeMedida", units, "Unidade de medida"),
    ("codigoDoTipoDeProduto", product_types, "Tipo de produto"),
    ("codigoDoGrupoDeProduto", product_groups, "Grupo de produto"),
    ("codigoDaCategoriaDeProduto", product_categories, "Categoria de produto"),
)
_WEIGHTS = ("Peso", "PesoBruto", "PesoLiquido")
_GRAMS = 3


class ProductIntake:
    """Takes in new products."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._known = Known(connection)
        self._numbers = Numbers(connection)
        self._rows: list[dict[str, Any]] = []

    def problems(self, data: ProductInput) -> list[Problem]:
        """Return the rules that a product breaks, new or altered."""
        return list(self._problems(data))

    def accept(self, data: ProductInput) -> Product:
        """Take in a product without problems, under the next id."""
        product = Product(idProduto=self._numbers.next("product"), **data.model_dump())
        self._rows.append(stored(product, PRODUCT_COLUMNS))
        return product

    def write(self) -> None:
        """Write all accepted products."""
        self._numbers.write()
        if self._rows:
            self._connection.execute(insert(products), self._rows)
            self._rows.clear()

    def _problems(self, data: ProductInput) -> Iterator[Problem]:
        for key, registry, label in _CODES:
            yield from self._known.complaint(key, registry, getattr(data, key), label)
        yield from amount_problems("valorUnitario", data.valorUnitario)
        for key in _WEIGHTS:
            yield from amount_problems(key, getattr(data, key), _GRAMS)
        gross, net = data.PesoBruto, data.PesoLiquido
        if gross is not None and net is not None and net > gross:
            yield "PesoLiquido", "O peso líquido passa do peso bruto."
        yield from self._taken(data)

    def _taken(self, data: ProductInput) -> Iterator[Problem]:
        """A blank code would be the same for all that have none."""
        if data.codigoInterno is None:
            return
        if not data.codigoInterno.strip():
            yield "codigoInterno", "O código interno está em branco."
        others = products.c.internal_code == data.codigoInterno
        if isinstance(data, ProductChange):
            others &= products.c.code != data.idProduto
        if self._connection.scalar(select(exists().where(others))):
            yield "codigoInterno", f"O código {data.codigoInterno} já é de outro produto."
