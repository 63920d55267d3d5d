"""Amounts of a sales order: calculation and rules of its products and instalments.

Source: the spec, Sales order (Pedido de Venda) object, produtos[] and parcelas[] items.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from sqlalchemy import Row

from xlbridge.sandbox.amounts import (
    amount_problems,
    equal_parts,
    percent_of,
    proportional_parts,
    rate_problems,
    round_half_even,
)
from xlbridge.sandbox.problems import Problem
from xlbridge.wire.sales import (
    SalesOrderInput,
    SalesOrderInstallment,
    SalesOrderInstallmentInput,
    SalesOrderItem,
    SalesOrderItemInput,
    SalesOrderItemTerms,
)

ZERO = Decimal("0.00")
"""Zero with two decimal places, like stored amounts."""

_AMOUNTS = ("valorFrete", "valorSeguro", "valorOutros", "valorAcrescimo", "valorDesconto")
_RATES = (
    "valorAcrescimoPercentual",
    "valorDescontoPercentual",
    *(name for name in SalesOrderItemTerms.model_fields if name.startswith("aliquota")),
)


def priced_item(
    item: SalesOrderItemInput, product: Row[Any], order: int, seq: int
) -> SalesOrderItem:
    """Return an unprocessed line of an order with all its amounts."""
    price = Decimal(product.valorUnitario) if item.valorUnitario is None else item.valorUnitario
    total = round_half_even(item.quantidade * price)
    amounts = line_amounts(item, total)
    weight = product.Peso * item.quantidade
    return SalesOrderItem.model_validate(
        item.model_dump(exclude_none=True)
        | amounts
        | {
            "numeroDoPedido": order,
            "seq": seq,
            "idMapeamentoPadrao": item.idMapeamentoPadrao or item.idProduto,
            "codigoInterno": product.codigoInterno,
            "codigoDeBarras": product.codigoDeBarras,
            "descricaoDoProduto": product.descricaoDoProduto,
            "ncm": product.ncm,
            "pesoBruto": weight if item.pesoBruto is None else item.pesoBruto,
            "pesoLiquido": weight if item.pesoLiquido is None else item.pesoLiquido,
            "valorUnitario": price,
            "valorTotal": total,
            "quantidadeProcessadaParcial": Decimal(0),
            "quantidadeDisponivelParaProcessamento": item.quantidade,
            "valorDisponivelParaProcessamento": amounts["totalLiquido"],
            "disponivelParaProcessamentoParcial": True,
        }
    )


def item_problems(item: SalesOrderItemInput, priced: SalesOrderItem, prefix: str) -> list[Problem]:
    """Return the problems of a line, with keys that have a prefix."""
    problems: list[Problem] = []
    for name in _AMOUNTS:
        problems.extend(amount_problems(prefix + name, getattr(item, name)))
    for name in _RATES:
        problems.extend(rate_problems(prefix + name, getattr(item, name)))
    if priced.baseIPI is not None and priced.baseIPI < 0:
        problems.append((f"{prefix}valorDesconto", "O desconto é maior que o valor do produto."))
    if not problems:
        problems.extend(amount_problems(f"{prefix}totalLiquido", priced.totalLiquido))
    return problems


def line_amounts(item: SalesOrderItemInput, total: Decimal) -> dict[str, Decimal]:
    """Calculate the amounts of a line from its total before surcharge and discount.

    Taxes are calculated on the total after them.
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
    """Return a surcharge or discount as amount and rate; the amount takes precedence."""
    if amount is None:
        return percent_of(total, rate or ZERO), rate or ZERO
    return amount, round_half_even(amount * 100 / total) if total else ZERO


_DEFAULT_DAYS_BETWEEN = 30
_WHOLE_PERCENT = Decimal(100)
_INSTALMENTS = "parcelas"


def instalment_problems(data: SalesOrderInput, ordered: datetime, total: Decimal) -> list[Problem]:
    """Return the problems of the instalments in an order."""
    instalments = data.parcelas
    problems: list[Problem] = []
    if instalments and data.quantidadeDeParcelas not in (None, len(instalments)):
        problems.append(("quantidadeDeParcelas", "Difere da quantidade de parcelas informadas."))
    for index, instalment in enumerate(instalments):
        prefix, percent = f"{_INSTALMENTS}.{index}.", instalment.percentual
        problems += amount_problems(f"{prefix}valor", instalment.valor)
        if instalment.valor == ZERO:
            problems.append((f"{prefix}valor", "Valor inválido: deve ser maior que 0."))
        if percent is not None and not 0 < percent <= _WHOLE_PERCENT:
            problems.append((f"{prefix}percentual", "Percentual fora do intervalo de 0 a 100."))
        if instalment.numeroDaParcela not in (None, index + 1):
            message = "As parcelas são numeradas a partir de 1."
            problems.append((f"{prefix}numeroDaParcela", message))
        due = instalment.dataDeVencimento
        if due is not None and due < _midnight(ordered):
            problems.append((f"{prefix}dataDeVencimento", "O vencimento é anterior ao pedido."))
    values = [instalment.valor for instalment in instalments]
    percents = [instalment.percentual for instalment in instalments]
    if any(value is not None for value in values):
        problems.extend(_sum_problems("valor", values, total))
    if any(percent is not None for percent in percents):
        problems.extend(_sum_problems("percentual", percents, _WHOLE_PERCENT))
    return problems


def empty_instalment_problems(
    data: SalesOrderInput, instalments: Sequence[SalesOrderInstallment]
) -> list[Problem]:
    """Return the problem of a total so small that an instalment would be 0.00."""
    empty = [index for index, instalment in enumerate(instalments) if not instalment.valor]
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
    """Return an order's instalments; missing fields are calculated.

    Their number and interval follow from the payment condition. A total of 0 has no instalments.
    """
    if not total and not data.parcelas:
        return []
    count = condition.instalments if condition is not None else 1
    days = condition.days_between if condition is not None else _DEFAULT_DAYS_BETWEEN
    blank = [SalesOrderInstallmentInput()] * (data.quantidadeDeParcelas or count)
    inputs = data.parcelas or blank
    values, percents = _shares(inputs, total)
    first_day = _midnight(ordered)
    return [
        SalesOrderInstallment(
            numeroDaParcela=number,
            dataDeVencimento=instalment.dataDeVencimento or first_day + timedelta(number * days),
            percentual=percent,
            valor=value,
            numeroDoPedido=order,
            totalDoPedido=total,
            existeLancamentoCR=False,
        )
        for number, (instalment, value, percent) in enumerate(
            zip(inputs, values, percents, strict=True), start=1
        )
    ]


def _shares(
    instalments: Sequence[SalesOrderInstallmentInput], total: Decimal
) -> tuple[list[Decimal], list[Decimal]]:
    """Return amounts and percentages: from the amounts, else the percentages, else equal parts."""
    values = [instalment.valor for instalment in instalments if instalment.valor is not None]
    if values and total:
        return values, proportional_parts(_WHOLE_PERCENT, values)
    percents = [part.percentual for part in instalments if part.percentual is not None]
    if percents:
        return proportional_parts(total, percents), percents
    count = len(instalments)
    return equal_parts(total, count), equal_parts(_WHOLE_PERCENT, count)


def _sum_problems(name: str, parts: Sequence[Decimal | None], total: Decimal) -> list[Problem]:
    if None in parts:
        return [(_INSTALMENTS, f"Informe {name} em todas as parcelas, ou em nenhuma.")]
    actual = sum(part for part in parts if part is not None)
    if actual == total:
        return []
    return [(_INSTALMENTS, f"A soma de {name} é {actual}, e não {total}.")]


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)
