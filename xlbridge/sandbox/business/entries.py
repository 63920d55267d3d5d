"""The rules that receivable and payable entries share. Source: the spec, Receivable entry."""

from datetime import datetime
from decimal import Decimal

from xlbridge.sandbox.answers import Problem
from xlbridge.sandbox.business.known import Known
from xlbridge.sandbox.business.numbers import Numbers
from xlbridge.sandbox.tables.registries import (
    accounts,
    branches,
    categories,
    cost_centres,
    payment_methods,
)
from xlbridge.wire.financial import EntryInput, TitleKey

_TOO_MUCH = Decimal(10) ** 12
_FIRST_OF_TRANSACTION = 1


def entry_problems(known: Known, data: EntryInput, *, revenue: bool) -> list[Problem]:
    """Return the rules that an entry breaks; ``revenue`` says which categories suit it."""
    problems = [
        *category_problems(
            known, "codigoDoItemDeLancamento", data.codigoDoItemDeLancamento, revenue=revenue
        ),
        *known.complaint("codigoDaFilial", branches, data.codigoDaFilial, "Filial"),
        *known.complaint(
            "codigoDoCentroDeCusto", cost_centres, data.codigoDoCentroDeCusto, "Centro de custo"
        ),
        *known.complaint(
            "codigoDaContaCorrente", accounts, data.codigoDaContaCorrente, "Conta corrente"
        ),
        *known.complaint(
            "codigoDaFormaDePagamento",
            payment_methods,
            data.codigoDaFormaDePagamento,
            "Forma de pagamento",
        ),
        *amount_problems("valorDoLancamento", data.valorDoLancamento),
    ]
    if data.dataDeEmissao and data.dataDeVencimento and data.dataDeVencimento < data.dataDeEmissao:
        problems.append(("dataDeVencimento", "O vencimento é anterior à emissão."))
    return problems


def amount_problems(key: str, amount: Decimal | None, places: int = 2) -> list[Problem]:
    """Return the problem of an amount that is negative, too great or too fine.

    ``places`` are its decimal places at most: two for reais and cents.
    """
    if amount is None:
        return []
    if not 0 <= amount < _TOO_MUCH:
        return [(key, "Valor fora do intervalo permitido.")]
    if amount != round(amount, places):
        return [(key, f"Valor com mais de {places} casas decimais.")]
    return []


def category_problems(known: Known, key: str, code: str, *, revenue: bool) -> list[Problem]:
    """Return the problem of a category that does not exist or is of the other kind."""
    category = known.entry(categories, code)
    if category is not None and category.revenue == revenue:
        return []
    name = "receita" if revenue else "despesa"
    return [(key, f"{code} não é uma categoria de {name} cadastrada.")]


def next_key(numbers: Numbers, kind: str, data: EntryInput, now: datetime) -> dict[str, int]:
    """Return the key of a new title: the next of its exercise and branch."""
    exercise = (data.dataDeEmissao or now).year
    key = TitleKey(
        codigoDoExercicio=exercise,
        codigoDaFilial=data.codigoDaFilial,
        numeroDaTransacao=numbers.next(f"{kind}:{exercise}:{data.codigoDaFilial}"),
        sequenciaDaTransacao=_FIRST_OF_TRANSACTION,
    )
    return key.model_dump()
