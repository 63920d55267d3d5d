"""Rules of receivable and payable entries and their allocations (rateio).

Source: the spec, Receivable entry (Contas a Receber), Payable entry (Contas a Pagar).
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, exists, select

from xlbridge.resources.checks import is_boleto
from xlbridge.sandbox.amounts import amount_problems
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
from xlbridge.sandbox.problems import Problem
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
        self, connection: Connection, now: datetime, lookup: CodeLookup | None = None
    ) -> None:
        super().__init__(connection, now, lookup)
        self._accepted_idws: set[str] = set()

    def problems(self, data: ReceivableInput) -> list[Problem]:
        """Return the problems of a new title."""
        return [
            *self._lookup.client_problems(data.codigoDoCliente),
            *entry_problems(self._lookup, data, revenue=True),
            *allocation_problems(self._lookup, data, revenue=True),
            *self._portfolio_problems(data),
            *self._idws_problems(data.idws),
        ]

    def accept(self, data: ReceivableInput) -> Receivable:
        """Accept a title, with the next key of its branch and exercise."""
        key = next_title_key(self._numbers, "receivable", data, self._now)
        parts = allocations_of(data)
        # Not validated again: the input was.
        values = data.model_dump(exclude={"rateio"}) | key
        title = Receivable.model_construct(**values, rateio=parts)
        if title.idws is not None:
            self._accepted_idws.add(title.idws)
        self._rows[receivables].append(title.model_dump(exclude={"rateio"}))
        self._rows[receivable_allocations].extend(allocation_rows(tuple(key.values()), parts))
        return title

    def _portfolio_problems(self, data: ReceivableInput) -> list[Problem]:
        code, account = data.codigoDaCarteira, data.codigoDaContaCorrente
        if code is None:
            return []
        portfolio = self._lookup.entry(portfolios, code)
        if portfolio is not None and portfolio.account == account:
            return []
        message = f"A carteira {code} não pertence à conta corrente {account}."
        return [("codigoDaCarteira", message)]

    def _idws_problems(self, idws: str | None) -> list[Problem]:
        if idws is None:
            return []
        if not idws.strip():
            return [("idws", "O identificador externo está em branco.")]
        stored = select(exists().where(receivables.c.idws == idws))
        if idws not in self._accepted_idws and not self._connection.scalar(stored):
            return []
        return [("idws", f"O identificador {idws} já é de outro título.")]


_AMOUNTS = tuple(name for name in PayableInput.model_fields if name.startswith("Valor"))
_RETAINED = tuple(name for name in _AMOUNTS if name.endswith("Retido"))
_NOT_STORED = {"rateio", "Arquivos", "DescricaoDoCustoABC"}


class PayableRegistration(RecordRegistration):
    """Registration of new payable titles."""

    def problems(self, data: PayableInput) -> list[Problem]:
        """Return the problems of a title, new or altered."""
        lookup = self._lookup
        return [
            *lookup.field_problems(data, "codigoDoFornecedor"),
            *entry_problems(lookup, data, revenue=False),
            *allocation_problems(lookup, data, revenue=False),
            *lookup.field_problems(data, "CodigoDoCustoABC"),
            *_barcode_problems(data.CodigoDeBarras),
            *_retention_problems(data),
        ]

    def accept(self, data: PayableInput) -> Payable:
        """Accept a title, with the next key of its branch and exercise."""
        key = next_title_key(self._numbers, "payable", data, self._now)
        parts = allocations_of(data)
        values = data.model_dump(exclude={"rateio"}) | key
        cost = self._lookup.name(abc_costs, data.CodigoDoCustoABC)
        title = Payable.model_construct(**values, rateio=parts, DescricaoDoCustoABC=cost)
        self._rows[payables].append(title.model_dump(exclude=_NOT_STORED))
        self._rows[payable_allocations].extend(allocation_rows(tuple(key.values()), parts))
        return title


def _barcode_problems(code: str | None) -> list[Problem]:
    if code is None or is_boleto(code):
        return []
    return [("CodigoDeBarras", "Código de barras inválido: os dígitos não conferem.")]


def _retention_problems(data: PayableInput) -> Iterator[Problem]:
    """Yield invalid amounts, and a gross amount less than net amount plus retained taxes."""
    for name in _AMOUNTS:
        yield from amount_problems(name, getattr(data, name))
    net = data.valorDoLancamento or Decimal(0)
    retained = sum((getattr(data, name) or Decimal(0) for name in _RETAINED), Decimal(0))
    if data.ValorBruto is not None and net + retained > data.ValorBruto:
        yield "ValorBruto", "O valor líquido mais os tributos retidos ultrapassa o valor bruto."


_FIRST_OF_TRANSACTION = 1
_ENTRY_CODES = (
    "codigoDaFilial", "codigoDoCentroDeCusto", "codigoDaContaCorrente", "codigoDaFormaDePagamento",
)  # fmt: skip
_ALLOCATION_CODES = (
    "codigoDaFilialDoRateio", "codigoDoCentroDeCusto", "codigoDoProjeto", "CodigoDoCustoABC",
)  # fmt: skip


def entry_problems(lookup: CodeLookup, data: EntryInput, *, revenue: bool) -> list[Problem]:
    """Return the problems of an entry; ``revenue`` selects the kind of category."""
    problems = [
        *category_problems(
            lookup, "codigoDoItemDeLancamento", data.codigoDoItemDeLancamento, revenue=revenue
        ),
        *lookup.field_problems(data, *_ENTRY_CODES),
        *amount_problems("valorDoLancamento", data.valorDoLancamento),
    ]
    if data.dataDeEmissao and data.dataDeVencimento and data.dataDeVencimento < data.dataDeEmissao:
        problems.append(("dataDeVencimento", "O vencimento é anterior à emissão."))
    return problems


def category_problems(lookup: CodeLookup, key: str, code: str, *, revenue: bool) -> list[Problem]:
    """Return the problem of a category that does not exist or is not of the right kind."""
    category = lookup.entry(categories, code)
    if category is not None and category.revenue == revenue:
        return []
    kind = "receita" if revenue else "despesa"
    return [(key, f"{code} não é uma categoria de {kind} cadastrada.")]


def title_scope(kind: str, exercise: int, branch: int) -> str:
    """Return the scope of the numbers of titles, ``receivable`` or ``payable`` ones."""
    return f"{kind}:{exercise}:{branch}"


def next_title_key(numbers: Numbers, kind: str, data: EntryInput, now: datetime) -> dict[str, int]:
    """Return the key of a new title, with the next number of its exercise and branch."""
    exercise = (data.dataDeEmissao or now).year
    return {
        "codigoDoExercicio": exercise,
        "codigoDaFilial": data.codigoDaFilial,
        "numeroDaTransacao": numbers.next(title_scope(kind, exercise, data.codigoDaFilial)),
        "sequenciaDaTransacao": _FIRST_OF_TRANSACTION,
    }


def allocation_problems(
    lookup: CodeLookup, data: EntryInput, *, revenue: bool
) -> Iterator[Problem]:
    """Yield the problems of the parts of an entry, if it is split."""
    if not data.rateio:
        return
    for index, part in enumerate(data.rateio):
        prefix = f"rateio.{index}."
        yield from lookup.field_problems(part, *_ALLOCATION_CODES, prefix=prefix)
        category = part.codigoDoItemDeLancamento
        if category is not None:
            key = f"{prefix}codigoDoItemDeLancamento"
            yield from category_problems(lookup, key, category, revenue=revenue)
        yield from amount_problems(f"{prefix}valor", part.valor)
        if part.valor == Decimal(0):
            yield f"{prefix}valor", "Valor inválido: deve ser maior que 0."
    total = sum(part.valor for part in data.rateio)
    if total != (data.valorDoLancamento or 0):
        yield "rateio", f"A soma do rateio ({total}) difere do valor do lançamento."


def allocations_of(data: EntryInput) -> list[Allocation]:
    """Return the parts of an entry, whose codes default to those of the entry."""
    if not data.rateio:
        return []
    defaults = _entry_codes(data)
    return [Allocation(**defaults | part.model_dump(exclude_none=True)) for part in data.rateio]


def whole_allocation(title: EntryTerms, value: Decimal) -> Allocation:
    """Return a title that is not split as a single part."""
    return Allocation(**_entry_codes(title), valor=value)


def allocation_rows(key: Sequence[object], parts: Sequence[Allocation]) -> Iterator[dict[str, Any]]:
    """Yield the parts of the title with this key as rows of their table."""
    owner = dict(zip(OWNER_KEY, key, strict=True))
    for index, part in enumerate(parts):
        yield {**owner, "place": index, **part.model_dump()}


def _entry_codes(data: EntryTerms) -> dict[str, Any]:
    codes = data.model_dump(include=set(Allocation.model_fields))
    return codes | {"codigoDaFilialDoRateio": data.codigoDaFilial}
