"""The products of the demo's sales orders: what each line is worth."""

from decimal import Decimal
from enum import Enum, auto
from random import Random
from typing import Any

from xlbridge.sandbox.business.money import percent_of
from xlbridge.sandbox.seed.products import Product

_GRAMS = Decimal("0.001")
_GROSS = Decimal("1.1")
_ZERO = Decimal("0.00")
_DISCOUNTS = (0, 0, 0, 5, 10)
_IPI = (0, 0, 5)
_ICMS = (7, 12, 18)
_MOST_LINES, _MOST_UNITS = 8, 20


class Status(Enum):
    """Where an order stands."""

    PENDING = auto()
    PROCESSED = auto()
    CANCELLED = auto()


def make_items(
    random: Random, order: int, products: list[Product], freight: Decimal, status: Status
) -> list[dict[str, Any]]:
    """Return an order's lines; ``freight`` is what each line bears of it.

    In each, the total is quantity times unit value, and the net total follows from the rest.
    """
    chosen = random.sample(products, random.randint(1, min(_MOST_LINES, len(products))))
    items = []
    for seq, product in enumerate(chosen, start=1):
        quantity = Decimal(random.randint(1, _MOST_UNITS))
        item: dict[str, Any] = {"numeroDoPedido": order, "seq": seq}
        item |= _identity(product)
        item |= _measures(product, quantity)
        item |= _values(random, product, quantity, freight)
        item |= _progress(quantity, item["totalLiquido"], status)
        items.append(item)
    return items


def _identity(product: Product) -> dict[str, Any]:
    return {
        "idProduto": product.code,
        "idMapeamentoPadrao": product.code,
        "codigoInterno": product.internal_code,
        "codigoDeBarras": product.barcode,
        "descricaoDoProduto": product.name,
        "ncm": product.ncm,
        "url": f"https://loja.example/{product.internal_code}",
    }


def _measures(product: Product, quantity: Decimal) -> dict[str, Any]:
    weight = product.weight * quantity
    return {
        "largura": "10",
        "altura": "20",
        "comprimento": "30",
        "pesoLiquido": weight,
        "pesoBruto": (weight * _GROSS).quantize(_GRAMS),
        "quantidade": quantity,
    }


def _values(
    random: Random, product: Product, quantity: Decimal, freight: Decimal
) -> dict[str, Any]:
    total = quantity * product.price
    rates = (_DISCOUNTS, _IPI, _ICMS)
    discount_rate, ipi_rate, icms_rate = (Decimal(random.choice(values)) for values in rates)
    discount = percent_of(total, discount_rate)
    base = total - discount
    ipi = percent_of(base, ipi_rate)
    return {
        "valorUnitario": product.price,
        "valorTotal": total,
        "valorFrete": freight,
        "valorSeguro": _ZERO,
        "valorOutros": _ZERO,
        "valorAcrescimo": _ZERO,
        "valorDesconto": discount,
        "valorAcrescimoPercentual": _ZERO,
        "valorDescontoPercentual": discount_rate,
        "baseIPI": base,
        "aliquotaIPI": ipi_rate,
        "valorIPI": ipi,
        "aliquotaICMSST": _ZERO,
        "valorICMSST": _ZERO,
        "baseICMS": base,
        "aliquotaICMS": icms_rate,
        "valorICMS": percent_of(base, icms_rate),
        "totalLiquido": base + ipi + freight,
    }


def _progress(quantity: Decimal, net: Decimal, status: Status) -> dict[str, Any]:
    pending = status is Status.PENDING
    return {
        "quantidadeProcessadaParcial": quantity if status is Status.PROCESSED else Decimal(0),
        "quantidadeDisponivelParaProcessamento": quantity if pending else Decimal(0),
        "valorDisponivelParaProcessamento": net if pending else _ZERO,
        "disponivelParaProcessamentoParcial": pending,
    }
