"""What each product of a sales order is worth.

Source: the spec, Sales order (Pedido de Venda) object, produtos[] items.
"""

from decimal import Decimal
from typing import Any

from sqlalchemy import Row

from xlbridge.sandbox.answers import Problem
from xlbridge.sandbox.business.entries import amount_problems
from xlbridge.sandbox.business.money import cents, percent_of, rate_problems
from xlbridge.wire.sales import SalesOrderItem, SalesOrderItemInput, SalesOrderItemTerms

_ZERO = Decimal("0.00")
_HUNDRED = Decimal(100)
_AMOUNTS = ("valorFrete", "valorSeguro", "valorOutros", "valorAcrescimo", "valorDesconto")
_RATES = (
    "valorAcrescimoPercentual",
    "valorDescontoPercentual",
    *(name for name in SalesOrderItemTerms.model_fields if name.startswith("aliquota")),
)


def priced_item(
    item: SalesOrderItemInput, product: Row[Any], order: int, seq: int
) -> SalesOrderItem:
    """Return a line of an order with all its figures, none of it processed yet."""
    total = cents(item.quantidade * _price(item, product))
    figures = _figures(item, total)
    weight = product.weight * item.quantidade
    return SalesOrderItem.model_validate(
        item.model_dump(exclude_none=True)
        | figures
        | {
            "numeroDoPedido": order,
            "seq": seq,
            "idMapeamentoPadrao": item.idMapeamentoPadrao or item.idProduto,
            "codigoInterno": product.internal_code,
            "codigoDeBarras": product.barcode,
            "descricaoDoProduto": product.name,
            "ncm": product.ncm,
            "pesoBruto": weight if item.pesoBruto is None else item.pesoBruto,
            "pesoLiquido": weight if item.pesoLiquido is None else item.pesoLiquido,
            "valorUnitario": _price(item, product),
            "valorTotal": total,
            "quantidadeProcessadaParcial": Decimal(0),
            "quantidadeDisponivelParaProcessamento": item.quantidade,
            "valorDisponivelParaProcessamento": figures["totalLiquido"],
            "disponivelParaProcessamentoParcial": True,
        }
    )


def item_problems(item: SalesOrderItemInput, priced: SalesOrderItem, place: str) -> list[Problem]:
    """Return the rules that a line breaks; ``place`` is what its fields' keys begin with."""
    problems: list[Problem] = []
    for name in _AMOUNTS:
        problems.extend(amount_problems(place + name, getattr(item, name)))
    for name in _RATES:
        problems.extend(rate_problems(place + name, getattr(item, name)))
    if priced.baseIPI is not None and priced.baseIPI < 0:
        problems.append((f"{place}valorDesconto", "O desconto é maior que o valor do produto."))
    if not problems:
        problems.extend(amount_problems(f"{place}totalLiquido", priced.totalLiquido))
    return problems


def _price(item: SalesOrderItemInput, product: Row[Any]) -> Decimal:
    return Decimal(product.price) if item.valorUnitario is None else item.valorUnitario


def _figures(item: SalesOrderItemInput, total: Decimal) -> dict[str, Decimal]:
    """The amounts that follow from one another; taxes go by the total after the discount."""
    surcharge, surcharge_rate = _adjustment(
        total, item.valorAcrescimo, item.valorAcrescimoPercentual
    )
    discount, discount_rate = _adjustment(total, item.valorDesconto, item.valorDescontoPercentual)
    base = total + surcharge - discount
    ipi, st, icms = (
        percent_of(base, rate or _ZERO)
        for rate in (item.aliquotaIPI, item.aliquotaICMSST, item.aliquotaICMS)
    )
    extras = {name: getattr(item, name) or _ZERO for name in _AMOUNTS[:3]}
    return extras | {
        "valorAcrescimo": surcharge,
        "valorAcrescimoPercentual": surcharge_rate,
        "valorDesconto": discount,
        "valorDescontoPercentual": discount_rate,
        "baseIPI": base,
        "aliquotaIPI": item.aliquotaIPI or _ZERO,
        "valorIPI": ipi,
        "aliquotaICMSST": item.aliquotaICMSST or _ZERO,
        "valorICMSST": st,
        "baseICMS": base,
        "aliquotaICMS": item.aliquotaICMS or _ZERO,
        "valorICMS": icms,
        "totalLiquido": base + ipi + st + sum(extras.values(), _ZERO),
    }


def _adjustment(
    total: Decimal, amount: Decimal | None, rate: Decimal | None
) -> tuple[Decimal, Decimal]:
    """A surcharge or discount, as amount and as rate; a given amount goes before the rate."""
    if amount is None:
        return percent_of(total, rate or _ZERO), rate or _ZERO
    return amount, cents(amount * _HUNDRED / total) if total else _ZERO
