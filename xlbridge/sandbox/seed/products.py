"""The demo's products."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Any

from stdnum.ean import calc_check_digit

from xlbridge.sandbox.seed.registries import FIRST_PRODUCT

_GRAMS = Decimal("0.001")
_GROSS = Decimal("1.1")


@dataclass(frozen=True, slots=True)
class Kind:
    """What products of one kind have in common; ``unit``, ``group`` … are registries' codes."""

    ncm: str
    brand: str
    unit: int
    group: str
    category: int = 1
    product_type: int = 1


_KINDS = {
    "Parafuso sextavado": Kind("73181500", "Fixar", unit=2, group="01"),
    "Cabo de aço": Kind("73121090", "Fixar", unit=3, group="01"),
    "Furadeira de impacto": Kind("84672100", "Voltar", unit=1, group="02"),
    "Lâmpada LED": Kind("85395200", "Voltar", unit=1, group="02"),
    "Tinta acrílica": Kind("32091010", "Boa Cor", unit=4, group="03"),
    "Torneira de metal": Kind("84818019", "Fixar", unit=1, group="03"),
    "Fechadura de embutir": Kind("83014000", "Fixar", unit=1, group="01"),
    "Mangueira de PVC": Kind("39173290", "Fixar", unit=3, group="03"),
    "Luva de segurança": Kind("40151900", "Zelo", unit=1, group="04", category=2),
    "Papel sulfite A4": Kind("48025610", "Folha", unit=2, group="04", product_type=2),
}
_VARIANTS = ("P", "M", "G", "Linha Ouro", "Linha Prata", "Reforçado", "Econômico", "Profissional")


@dataclass(frozen=True, slots=True)
class Product:
    """A product. ``price`` is in reais, ``weight`` in kilograms."""

    code: int
    name: str
    model: str
    kind: Kind
    barcode: str
    price: Decimal
    weight: Decimal

    @property
    def ncm(self) -> str:
        """The Mercosur code of its kind."""
        return self.kind.ncm

    @property
    def internal_code(self) -> str:
        """The company's own code."""
        return f"P{self.code:06}"


def make_products(random: Random, count: int) -> list[Product]:
    """Return the products, with codes in sequence."""
    return [_product(random, FIRST_PRODUCT + index) for index in range(count)]


def product_rows(products: list[Product]) -> Iterator[dict[str, Any]]:
    """Yield the products as rows of their table."""
    for product in products:
        yield {
            "code": product.code,
            "name": product.name,
            "internal_code": product.internal_code,
            "barcode": product.barcode,
            "ncm": product.ncm,
            "price": product.price,
            "weight": product.weight,
            "gross_weight": (product.weight * _GROSS).quantize(_GRAMS),
            "net_weight": product.weight,
            "height": "20",
            "width": "10",
            "length": "30",
            "brand": product.kind.brand,
            "model": product.model,
            "unit": product.kind.unit,
            "product_type": product.kind.product_type,
            "product_group": product.kind.group,
            "product_category": product.kind.category,
        }


def _product(random: Random, code: int) -> Product:
    name, kind = random.choice(list(_KINDS.items()))
    stem = f"789{code:09}"
    model = f"{random.choice(_VARIANTS)} {random.randrange(10, 100)}"
    return Product(
        code=code,
        name=f"{name} {model}",
        model=model,
        kind=kind,
        barcode=stem + calc_check_digit(stem),
        price=Decimal(random.randrange(190, 90000)).scaleb(-2),
        weight=Decimal(random.randrange(50, 20000)).scaleb(-3),
    )
