"""The demo's products and their balances."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Any

from stdnum.ean import calc_check_digit

from xlbridge.sandbox.seed.registries import WAREHOUSES, codes
from xlbridge.sandbox.tables.registries import branches, projects

FIRST_PRODUCT = 2001

_CENTS = Decimal("0.01")
_COST = Decimal("0.6")
_EMPTY, _BATCHED, _FOR_PROJECT = 0.3, 0.1, 0.05
_KINDS = {
    "Parafuso sextavado": "73181500",
    "Cabo de aço": "73121090",
    "Furadeira de impacto": "84672100",
    "Lâmpada LED": "85395200",
    "Tinta acrílica": "32091010",
    "Torneira de metal": "84818019",
    "Fechadura de embutir": "83014000",
    "Mangueira de PVC": "39173290",
    "Luva de segurança": "40151900",
    "Papel sulfite A4": "48025610",
}
_VARIANTS = ("P", "M", "G", "Linha Ouro", "Linha Prata", "Reforçado", "Econômico", "Profissional")


@dataclass(frozen=True, slots=True)
class Product:
    """A product. ``price`` is in reais, ``weight`` in kilograms."""

    code: int
    name: str
    ncm: str
    barcode: str
    price: Decimal
    weight: Decimal

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
        }


def balance_rows(random: Random, products: list[Product]) -> Iterator[dict[str, Any]]:
    """Yield each product's balance in each place, with and without quantity."""
    for branch in codes(branches):
        for warehouse in WAREHOUSES:
            for product in products:
                yield _balance(random, branch, warehouse, product)


def _balance(random: Random, branch: int, warehouse: int, product: Product) -> dict[str, Any]:
    quantity = 0 if random.random() < _EMPTY else random.randrange(1, 400)
    cost = (product.price * _COST).quantize(_CENTS)
    batched = random.random() < _BATCHED
    for_project = random.random() < _FOR_PROJECT
    return {
        "branch": branch,
        "warehouse": warehouse,
        "product": product.code,
        "serial": f"L{branch}{warehouse}{product.code}" if batched else None,
        "project": random.choice(codes(projects)) if for_project else None,
        "quantity": Decimal(quantity),
        "value": quantity * cost,
    }


def _product(random: Random, code: int) -> Product:
    kind, ncm = random.choice(list(_KINDS.items()))
    stem = f"789{code:09}"
    return Product(
        code=code,
        name=f"{kind} {random.choice(_VARIANTS)} {random.randrange(10, 100)}",
        ncm=ncm,
        barcode=stem + calc_check_digit(stem),
        price=Decimal(random.randrange(190, 90000)).scaleb(-2),
        weight=Decimal(random.randrange(50, 20000)).scaleb(-3),
    )
