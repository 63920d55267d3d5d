"""Rules of receivable and payable entries, their allocations (rateio), and sums of money.

Source: the spec, Receivable entry (Contas a Receber), Payable entry (Contas a Pagar).
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from typing import Any

from sqlalchemy import Connection, exists, select

from xlbridge.resources.checks import is_boleto
from xlbridge.sandbox.areas.financial.tables import (
    OWNER_KEY,
    payable_allocations,
    payables,
    receivable_allocations,
    receivables,
)
from xlbridge.sandbox.areas.registry.codes import CodeLookup, Numbers, RecordRegistration
from xlbridge.sandbox.areas.registry.tables import (
    abc_costs,
    categories,
    portfolios,
)
from xlbridge.sandbox.problems import Problem, amount_problems
from xlbridge.wire.financial import (
    Allocation,
    EntryInput,
    EntryTerms,
    Payable,
    PayableInput,
    Receivable,
    ReceivableInput,
)


class ReceivableRegistration(RecordRegistration):
    """Registration of new receivable titles."""

    def __init__(
        self, connection: Connection, now: datetime, known: CodeLookup | None = None
    ) -> None:
        super().__init__(connection, now, known)
        self._identifiers: set[str] = set()

    def problems(self, data: ReceivableInput) -> list[Problem]:
        """Return the rules that a new title breaks."""
        return [
            *self._known.client_problems(data.codigoDoCliente),
            *entry_problems(self._known, data, revenue=True),
            *allocation_problems(self._known, data, revenue=True),
            *self._portfolio_problems(data),
            *self._identifier_problems(data.idws),
        ]

    def accept(self, data: ReceivableInput) -> Receivable:
        """Accept a title without problems, under the next key of its branch and exercise."""
        key = next_title_key(self._numbers, "receivable", data, self._now)
        parts = allocations_of(data)
        # What was validated as input is not validated again.
        own = data.model_dump(exclude={"rateio"}) | key
        title = Receivable.model_construct(**own, rateio=parts)
        if title.idws is not None:
            self._identifiers.add(title.idws)
        self._rows[receivables].append(title.model_dump(exclude={"rateio"}))
        self._rows[receivable_allocations].extend(allocation_rows(tuple(key.values()), parts))
        return title

    def _portfolio_problems(self, data: ReceivableInput) -> list[Problem]:
        code, account = data.codigoDaCarteira, data.codigoDaContaCorrente
        if code is None:
            return []
        portfolio = self._known.entry(portfolios, code)
        if portfolio is not None and portfolio.account == account:
            return []
        message = f"A carteira {code} não pertence à conta corrente {account}."
        return [("codigoDaCarteira", message)]

    def _identifier_problems(self, idws: str | None) -> list[Problem]:
        if idws is None:
            return []
        if not idws.strip():
            return [("idws", "O identificador externo está em branco.")]
        stored = select(exists().where(receivables.c.idws == idws))
        if idws not in self._identifiers and not self._connection.scalar(stored):
            return []
        return [("idws", f"O identificador {idws} já é de outro título.")]


_AMOUNTS = tuple(name for name in PayableInput.model_fields if name.startswith("Valor"))
_RETAINED = tuple(name for name in _AMOUNTS if name.endswith("Retido"))
_NOT_STORED = {"rateio", "Arquivos", "DescricaoDoCustoABC"}


class PayableRegistration(RecordRegistration):
    """Registration of new payable titles."""

    def problems(self, data: PayableInput) -> list[Problem]:
        """Return the rules that a title breaks, new or altered."""
        known = self._known
        return [
            *known.field_problems(data, "codigoDoFornecedor"),
            *entry_problems(known, data, revenue=False),
            *allocation_problems(known, data, revenue=False),
            *known.field_problems(data, "CodigoDoCustoABC"),
            *_barcode_problems(data.CodigoDeBarras),
            *_retention_problems(data),
        ]

    def accept(self, data: PayableInput) -> Payable:
        """Accept a title without problems, under the next key of its branch and exercise."""
        key = next_title_key(self._numbers, "payable", data, self._now)
        parts = allocations_of(data)
        own = data.model_dump(exclude={"rateio"}) | key
        cost = self._known.name(abc_costs, data.CodigoDoCustoABC)
        title = Payable.model_construct(**own, rateio=parts, DescricaoDoCustoABC=cost)
        self._rows[payables].append(title.model_dump(exclude=_NOT_STORED))
        self._rows[payable_allocations].extend(allocation_rows(tuple(key.values()), parts))
        return title


def _barcode_problems(code: str | None) -> list[Problem]:
    if code is None or is_boleto(code):
        return []
    return [("CodigoDeBarras", "Código de barras inválido: os dígitos não conferem.")]


def _retention_problems(data: PayableInput) -> Iterator[Problem]:
    """The net amount and the retained taxes come out of the gross amount."""
    for name in _AMOUNTS:
        yield from amount_problems(name, getattr(data, name))
    net = data.valorDoLancamento or Decimal(0)
    retained = sum((getattr(data, name) or Decimal(0) for name in _RETAINED), Decimal(0))
    if data.ValorBruto is not None and net + retained > data.ValorBruto:
        yield "ValorBruto", "O valor líquido com os tributos retidos passa do valor bruto."


_FIRST_OF_TRANSACTION = 1
_ENTRY_CODES = (
    "codigoDaFilial", "codigoDoCentroDeCusto", "codigoDaContaCorrente", "codigoDaFormaDePagamento",
)  # fmt: skip
_ALLOCATION_CODES = (
    "codigoDaFilialDoRateio", "codigoDoCentroDeCusto", "codigoDoProjeto", "CodigoDoCustoABC",
)  # fmt: skip


def entry_problems(known: CodeLookup, data: EntryInput, *, revenue: bool) -> list[Problem]:
    """Return the rules that an entry breaks; ``revenue`` says which categories suit it."""
    problems = [
        *category_problems(
            known, "codigoDoItemDeLancamento", data.codigoDoItemDeLancamento, revenue=revenue
        ),
        *known.field_problems(data, *_ENTRY_CODES),
        *amount_problems("valorDoLancamento", data.valorDoLancamento),
    ]
    if data.dataDeEmissao and data.dataDeVencimento and data.dataDeVencimento < data.dataDeEmissao:
        problems.append(("dataDeVencimento", "O vencimento é anterior à emissão."))
    return problems


def category_problems(known: CodeLookup, key: str, code: str, *, revenue: bool) -> list[Problem]:
    """Return the problem of a category that does not exist or is of the other kind."""
    category = known.entry(categories, code)
    if category is not None and category.revenue == revenue:
        return []
    name = "receita" if revenue else "despesa"
    return [(key, f"{code} não é uma categoria de {name} cadastrada.")]


def next_title_key(numbers: Numbers, kind: str, data: EntryInput, now: datetime) -> dict[str, int]:
    """Return the key of a new title: the next of its exercise and branch."""
    exercise = (data.dataDeEmissao or now).year
    return {
        "codigoDoExercicio": exercise,
        "codigoDaFilial": data.codigoDaFilial,
        "numeroDaTransacao": numbers.next(f"{kind}:{exercise}:{data.codigoDaFilial}"),
        "sequenciaDaTransacao": _FIRST_OF_TRANSACTION,
    }


def allocation_problems(known: CodeLookup, data: EntryInput, *, revenue: bool) -> Iterator[Problem]:
    """Yield the rules that the parts of an entry break; without parts there are none."""
    if not data.rateio:
        return
    for index, part in enumerate(data.rateio):
        prefix = f"rateio.{index}."
        yield from known.field_problems(part, *_ALLOCATION_CODES, prefix=prefix)
        category = part.codigoDoItemDeLancamento
        if category is not None:
            key = f"{prefix}codigoDoItemDeLancamento"
            yield from category_problems(known, key, category, revenue=revenue)
        yield from amount_problems(f"{prefix}valor", part.valor)
        if part.valor == Decimal(0):
            yield f"{prefix}valor", "Valor inválido: deve ser maior que 0."
    total = sum(part.valor for part in data.rateio)
    if total != (data.valorDoLancamento or 0):
        yield "rateio", f"A soma do rateio ({total}) difere do valor do lançamento."


def allocations_of(data: EntryInput) -> list[Allocation]:
    """Return the parts of an entry; what a part leaves out is the entry's own."""
    if not data.rateio:
        return []
    own = _entry_codes(data)
    return [Allocation(**own | part.model_dump(exclude_none=True)) for part in data.rateio]


def whole_allocation(title: EntryTerms, value: Decimal) -> Allocation:
    """Return the one part that a title is while it is not split."""
    return Allocation(**_entry_codes(title), valor=value)


def allocation_rows(key: Sequence[object], parts: Sequence[Allocation]) -> Iterator[dict[str, Any]]:
    """Yield a title's parts as rows of their table; ``key`` is the title's."""
    owner = dict(zip(OWNER_KEY, key, strict=True))
    for index, part in enumerate(parts):
        yield {**owner, "place": index, **part.model_dump()}


def _entry_codes(data: EntryTerms) -> dict[str, Any]:
    codes = data.model_dump(include=set(Allocation.model_fields))
    return codes | {"codigoDaFilialDoRateio": data.codigoDaFilial}


_CENTS = Decimal("0.01")


def round_half_even(amount: Decimal) -> Decimal:
    """Return an amount rounded to cents, half a cent to the even one: sums of documents."""
    return amount.quantize(_CENTS, ROUND_HALF_EVEN)


def round_half_up(amount: Decimal) -> Decimal:
    """Return an amount rounded to cents, half a cent upwards: values of stock."""
    return amount.quantize(_CENTS, ROUND_HALF_UP)


def percent_of(amount: Decimal, percent: Decimal) -> Decimal:
    """Return so many per cent of an amount, in cents."""
    return round_half_even(amount * percent / 100)


def equal_parts(amount: Decimal, count: int) -> list[Decimal]:
    """Return equal parts, in cents; the last one takes what division leaves over."""
    return proportional_parts(amount, [Decimal(1)] * count)


def proportional_parts(amount: Decimal, weights: Sequence[Decimal]) -> list[Decimal]:
    """Return parts in proportion to weights, in cents; the last one takes what is left over.

    The others are rounded down, so that nothing is ever left under.
    """
    whole = sum(weights)
    parts = [
        (amount * weight / whole).quantize(_CENTS, rounding=ROUND_DOWN) for weight in weights[:-1]
    ]
    return [*parts, amount - sum(parts)]


def rate_problems(key: str, rate: Decimal | None) -> list[Problem]:
    """Return the problem of a rate that is not from 0 to 100 per cent."""
    if rate is None or 0 <= rate <= 100:
        return []
    return [(key, "Percentual fora do intervalo de 0 a 100.")]
