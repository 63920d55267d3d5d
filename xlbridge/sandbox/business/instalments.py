"""The instalments of a sales order: when each is due, and how the total is shared out.

Source: the spec, Sales order (Pedido de Venda) object, parcelas[] items.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from sqlalchemy import Row

from xlbridge.sandbox.answers import Problem
from xlbridge.sandbox.business.entries import amount_problems
from xlbridge.sandbox.business.money import equal_parts, proportional_parts
from xlbridge.wire.sales import (
    SalesOrderInput,
    SalesOrderInstallment,
    SalesOrderInstallmentInput,
)

_MONTH = 30
_HUNDRED = Decimal(100)
_LIST = "parcelas"


def instalment_problems(data: SalesOrderInput, ordered: datetime, total: Decimal) -> list[Problem]:
    """Return the rules that the given instalments of an order break."""
    given = data.parcelas
    problems: list[Problem] = []
    if given and data.quantidadeDeParcelas not in (None, len(given)):
        problems.append(("quantidadeDeParcelas", "Não é a quantidade de parcelas informadas."))
    for index, instalment in enumerate(given):
        problems.extend(_own_problems(instalment, index, ordered))
    values = [instalment.valor for instalment in given]
    percents = [instalment.percentual for instalment in given]
    if any(value is not None for value in values):
        problems.extend(_sum_problems("valor", values, total))
    elif any(percent is not None for percent in percents):
        problems.extend(_sum_problems("percentual", percents, _HUNDRED))
    return problems


def make_instalments(
    data: SalesOrderInput,
    condition: Row[Any] | None,
    order: int,
    ordered: datetime,
    total: Decimal,
) -> list[SalesOrderInstallment]:
    """Return an order's instalments, with what was not given worked out.

    How many, and how many days apart, follows from the payment condition.
    """
    count = condition.instalments if condition is not None else 1
    days = condition.days_between if condition is not None else _MONTH
    blank = [SalesOrderInstallmentInput()] * (data.quantidadeDeParcelas or count)
    given = data.parcelas or blank
    values, percents = _shares(given, total)
    first_day = _day(ordered)
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
    """Each instalment's amount and percentage: amounts go before percentages, else equal."""
    values = [instalment.valor for instalment in given if instalment.valor is not None]
    if values and total:
        return values, proportional_parts(_HUNDRED, values)
    percents = [each.percentual for each in given if each.percentual is not None]
    if percents:
        return proportional_parts(total, percents), percents
    return equal_parts(total, len(given)), equal_parts(_HUNDRED, len(given))


def _own_problems(
    instalment: SalesOrderInstallmentInput, index: int, ordered: datetime
) -> list[Problem]:
    place = f"{_LIST}.{index}."
    problems = amount_problems(f"{place}valor", instalment.valor)
    if instalment.percentual is not None and not 0 < instalment.percentual <= _HUNDRED:
        problems.append((f"{place}percentual", "Percentual fora do intervalo de 0 a 100."))
    if instalment.numeroDaParcela not in (None, index + 1):
        problems.append((f"{place}numeroDaParcela", "As parcelas são numeradas a partir de 1."))
    due = instalment.dataDeVencimento
    if due is not None and due < _day(ordered):
        problems.append((f"{place}dataDeVencimento", "O vencimento é anterior ao pedido."))
    return problems


def _sum_problems(name: str, given: Sequence[Decimal | None], whole: Decimal) -> list[Problem]:
    if None in given:
        return [(_LIST, f"Informe {name} em todas as parcelas, ou em nenhuma.")]
    found = sum(part for part in given if part is not None)
    return [] if found == whole else [(_LIST, f"A soma de {name} é {found}, e não {whole}.")]


def _day(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)
