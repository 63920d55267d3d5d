"""Figures of a sales order: the amounts of its products and of its instalments.

Source: the spec, Sales order (Pedido de Venda) object, produtos[] and parcelas[] items.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from sqlalchemy import Row

from xlbridge.sandbox.areas.financial.rules import (
    equal_parts,
    percent_of,
    proportional_parts,
    rate_problems,
    round_half_even,
)
from xlbridge.sandbox.problems import Problem, amount_problems
from xlbridge.wire.sales import (
    SalesOrderInput,
    SalesOrderInstallment,
    SalesOrderInstallmentInput,
    SalesOrderItem,
    SalesOrderItemInput,
    SalesOrderItemTerms,
)

ZERO = Decimal("0.00")
"""No money, with the two places that stored amounts have."""

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
    total = round_half_even(item.quantidade * _price(item, product))
    figures = line_figures(item, total)
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


def line_figures(item: SalesOrderItemInput, total: Decimal) -> dict[str, Decimal]:
    """Return the amounts of a line that follow from its total before surcharge and discount.

    Taxes go by the total after them.
    """
    surcharge, surcharge_rate = _adjustment(
        total, item.valorAcrescimo, item.valorAcrescimoPercentual
    )
    discount, discount_rate = _adjustment(total, item.valorDesconto, item.valorDescontoPercentual)
    base = total + surcharge - discount
    ipi, st, icms = (
        percent_of(base, rate or ZERO)
        for rate in (item.aliquotaIPI, item.aliquotaICMSST, item.aliquotaICMS)
    )
    extras = {name: getattr(item, name) or ZERO for name in _AMOUNTS[:3]}
    return extras | {
        "valorAcrescimo": surcharge,
        "valorAcrescimoPercentual": surcharge_rate,
        "valorDesconto": discount,
        "valorDescontoPercentual": discount_rate,
        "baseIPI": base,
        "aliquotaIPI": item.aliquotaIPI or ZERO,
        "valorIPI": ipi,
        "aliquotaICMSST": item.aliquotaICMSST or ZERO,
        "valorICMSST": st,
        "baseICMS": base,
        "aliquotaICMS": item.aliquotaICMS or ZERO,
        "valorICMS": icms,
        "totalLiquido": base + ipi + st + sum(extras.values(), ZERO),
    }


def _adjustment(
    total: Decimal, amount: Decimal | None, rate: Decimal | None
) -> tuple[Decimal, Decimal]:
    """A surcharge or discount, as amount and as rate; a given amount goes before the rate."""
    if amount is None:
        return percent_of(total, rate or ZERO), rate or ZERO
    return amount, round_half_even(amount * 100 / total) if total else ZERO


_USUAL_DAYS_BETWEEN = 30
_WHOLE_PERCENT = Decimal(100)
_INSTALMENTS = "parcelas"


def instalment_problems(data: SalesOrderInput, ordered: datetime, total: Decimal) -> list[Problem]:
    """Return the rules that the given instalments of an order break."""
    given = data.parcelas
    problems: list[Problem] = []
    if given and data.quantidadeDeParcelas not in (None, len(given)):
        problems.append(("quantidadeDeParcelas", "Não é a quantidade de parcelas informadas."))
    for index, instalment in enumerate(given):
        problems.extend(_instalment_problems(instalment, index, ordered))
    values = [instalment.valor for instalment in given]
    percents = [instalment.percentual for instalment in given]
    if any(value is not None for value in values):
        problems.extend(_sum_problems("valor", values, total))
    if any(percent is not None for percent in percents):
        problems.extend(_sum_problems("percentual", percents, _WHOLE_PERCENT))
    return problems


def empty_instalment_problems(
    data: SalesOrderInput, made: Sequence[SalesOrderInstallment]
) -> list[Problem]:
    """Return the problem of an amount so small that an instalment's share of it is 0.00."""
    empty = [index for index, instalment in enumerate(made) if not instalment.valor]
    if not empty:
        return []
    key = f"{_INSTALMENTS}.{empty[0]}.percentual" if data.parcelas else "quantidadeDeParcelas"
    return [(key, "A parcela ficaria com valor 0,00.")]


def make_instalments(
    data: SalesOrderInput,
    condition: Row[Any] | None,
    order: int,
    ordered: datetime,
    total: Decimal,
) -> list[SalesOrderInstallment]:
    """Return an order's instalments, with what was not given worked out.

    How many, and how many days apart, follows from the payment condition. What costs nothing is
    paid in none.
    """
    if not total and not data.parcelas:
        return []
    count = condition.instalments if condition is not None else 1
    days = condition.days_between if condition is not None else _USUAL_DAYS_BETWEEN
    blank = [SalesOrderInstallmentInput()] * (data.quantidadeDeParcelas or count)
    given = data.parcelas or blank
    values, percents = _shares(given, total)
    first_day = _midnight(ordered)
    return [
        SalesOrderInstallment(
            numeroDaParcela=place,
            dataDeVencimento=instalment.dataDeVencimento or first_day + timedelta(place * days),
            percentual=percent,
            valor=value,
            numeroDoPedido=order,
            totalDoPedido=total,
            existeLancamentoCR=False,
        )
        for place, (instalment, value, percent) in enumerate(
            zip(given, values, percents, strict=True), start=1
        )
    ]


def _shares(
    given: Sequence[SalesOrderInstallmentInput], total: Decimal
) -> tuple[list[Decimal], list[Decimal]]:
    """Return each instalment's amount and percentage: amounts go before percentages, else equal."""
    values = [instalment.valor for instalment in given if instalment.valor is not None]
    if values and total:
        return values, proportional_parts(_WHOLE_PERCENT, values)
    percents = [each.percentual for each in given if each.percentual is not None]
    if percents:
        return proportional_parts(total, percents), percents
    return equal_parts(total, len(given)), equal_parts(_WHOLE_PERCENT, len(given))


def _instalment_problems(
    instalment: SalesOrderInstallmentInput, index: int, ordered: datetime
) -> list[Problem]:
    place = f"{_INSTALMENTS}.{index}."
    problems = amount_problems(f"{place}valor", instalment.valor)
    if instalment.valor == ZERO:
        problems.append((f"{place}valor", "Valor inválido: deve ser maior que 0."))
    if instalment.percentual is not None and not 0 < instalment.percentual <= _WHOLE_PERCENT:
        problems.append((f"{place}percentual", "Percentual fora do intervalo de 0 a 100."))
    if instalment.numeroDaParcela not in (None, index + 1):
        problems.append((f"{place}numeroDaParcela", "As parcelas são numeradas a partir de 1."))
    due = instalment.dataDeVencimento
    if due is not None and due < _midnight(ordered):
        problems.append((f"{place}dataDeVencimento", "O vencimento é anterior ao pedido."))
    return problems


def _sum_problems(name: str, given: Sequence[Decimal | None], whole: Decimal) -> list[Problem]:
    if None in given:
        return [(_INSTALMENTS, f"Informe {name} em todas as parcelas, ou em nenhuma.")]
    found = sum(part for part in given if part is not None)
    return [] if found == whole else [(_INSTALMENTS, f"A soma de {name} é {found}, e não {whole}.")]


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)
