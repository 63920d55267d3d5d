"""Receivable and payable titles, their allocations (rateio), the cash and bank statement.

Source: the spec, Receivable entry (Contas a Receber), Payable entry (Contas a Pagar), Financial
(caixabancos).
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from operator import attrgetter
from typing import Any, ClassVar

from sqlalchemy import (
    Column,
    ColumnElement,
    ForeignKeyConstraint,
    Index,
    Integer,
    Select,
    Table,
    delete,
    func,
    insert,
    select,
)

from xlbridge.resources.checks import is_boleto
from xlbridge.sandbox.area_declarations import (
    Call,
    Lists,
    derived_columns,
    handle_records,
    handles,
    metadata,
    window_conditions,
)
from xlbridge.sandbox.areas import registries
from xlbridge.sandbox.problems import Problem, amount_problems, first_or_404, invalid
from xlbridge.wire import Attachment, financial

TITLE_KEY = tuple(financial.TitleKey.model_fields)
OWNER_KEY = ("exercise", "branch", "number", "sequence")
"""Key of the title that a part or file belongs to, in the order of ``TITLE_KEY``."""


def _owner_columns(titles: Table) -> tuple[Column[int] | ForeignKeyConstraint, ...]:
    return (
        *(Column(name, Integer, primary_key=True, autoincrement=False) for name in OWNER_KEY),
        ForeignKeyConstraint(OWNER_KEY, [titles.c[name] for name in TITLE_KEY], ondelete="CASCADE"),
    )


def _allocations_table(name: str, titles: Table) -> Table:
    place = Column("place", Integer, primary_key=True, autoincrement=False)
    return Table(
        name, metadata, *_owner_columns(titles), place, *derived_columns(financial.Allocation)
    )


receivables = Table(
    "receivables",
    metadata,
    *derived_columns(financial.Receivable, keys=TITLE_KEY, exclude=("rateio",)),
    Index("receivables_by_client", "codigoDoCliente"),
    Index("receivables_by_idws", "idws", unique=True),
    Index("receivables_by_settlement", "codigoDaContaCorrente", "dataDeBaixa"),
)
receivable_allocations = _allocations_table("receivable_allocations", receivables)
payables = Table(
    "payables",
    metadata,
    *derived_columns(
        financial.Payable, keys=TITLE_KEY, exclude=("rateio", "Arquivos", "DescricaoDoCustoABC")
    ),
    Index("payables_by_settlement", "codigoDaContaCorrente", "dataDeBaixa"),
)
payable_allocations = _allocations_table("payable_allocations", payables)
payable_files = Table(
    "payable_files",
    metadata,
    *_owner_columns(payables),
    *derived_columns(Attachment, keys=("Id",)),
)


def owner_of(rows: Table) -> Sequence[Column[Any]]:
    """Return the columns with the key of the title that a part or file belongs to."""
    return [rows.c[name] for name in OWNER_KEY]


class ReceivableRegistration(registries.RecordRegistration[financial.Receivable]):
    """Registration of new receivable titles."""

    table, model, scope = receivables, financial.Receivable, "receivable"
    lists: ClassVar[Lists] = {"rateio": (financial.Allocation, owner_of(receivable_allocations))}

    def problems(self, data: financial.ReceivableInput) -> list[Problem]:
        """Return the problems of a new title."""
        problems = [
            *self._lookup.field_problems(data, "codigoDoCliente"),
            *entry_problems(self._lookup, data, revenue=True),
            *allocation_problems(self._lookup, data, revenue=True),
        ]
        code, account, idws = data.codigoDaCarteira, data.codigoDaContaCorrente, data.idws
        portfolio = self._lookup.entry(registries.portfolios, code)
        if code is not None and (portfolio is None or portfolio.account != account):
            message = f"A carteira {code} não pertence à conta corrente {account}."
            problems.append(("codigoDaCarteira", message))
        if idws is not None and not idws.strip():
            problems.append(("idws", "O identificador externo está em branco."))
        elif idws is not None and self._is_taken(receivables.c.idws, idws):
            problems.append(("idws", f"O identificador {idws} já é de outro título."))
        return problems

    def accept(self, data: financial.ReceivableInput) -> financial.Receivable:
        """Accept a title, with the next key of its branch and exercise."""
        # Not validated again: the input was.
        values = data.model_dump() | next_title_key(self._numbers, self.scope, data, self._now)
        title = financial.Receivable.model_construct(**values | {"rateio": allocations_of(data)})
        if title.idws is not None:
            self._accepted.add(("idws", title.idws))
        self._keep(title)
        return title


_AMOUNTS = tuple(name for name in financial.PayableInput.model_fields if name.startswith("Valor"))
_RETAINED = tuple(name for name in _AMOUNTS if name.endswith("Retido"))


class PayableRegistration(registries.RecordRegistration[financial.Payable]):
    """Registration of new payable titles."""

    table, model, scope = payables, financial.Payable, "payable"
    lists: ClassVar[Lists] = {"rateio": (financial.Allocation, owner_of(payable_allocations))}
    missing = ("numeroDaTransacao", "Título não encontrado.")

    @classmethod
    def statement(cls) -> Select[Any]:
        """Return the statement that selects titles with the names of their ABC costs."""
        cost = registries.abc_costs.c.name.label("DescricaoDoCustoABC")
        of_cost = registries.abc_costs.c.code == payables.c.CodigoDoCustoABC
        return select(payables, cost).outerjoin(registries.abc_costs, of_cost)

    def problems(self, data: financial.PayableInput) -> list[Problem]:
        """Return the problems of a title, new or altered."""
        lookup = self._lookup
        problems = [
            *lookup.field_problems(data, "codigoDoFornecedor"),
            *entry_problems(lookup, data, revenue=False),
            *allocation_problems(lookup, data, revenue=False),
            *lookup.field_problems(data, "CodigoDoCustoABC"),
        ]
        if data.CodigoDeBarras is not None and not is_boleto(data.CodigoDeBarras):
            message = "Código de barras inválido: os dígitos não conferem."
            problems.append(("CodigoDeBarras", message))
        for name in _AMOUNTS:
            problems += amount_problems(name, getattr(data, name))
        net = data.valorDoLancamento or Decimal(0)
        retained = sum((getattr(data, name) or Decimal(0) for name in _RETAINED), Decimal(0))
        if data.ValorBruto is not None and net + retained > data.ValorBruto:
            message = "O valor líquido mais os tributos retidos ultrapassa o valor bruto."
            problems.append(("ValorBruto", message))
        return problems

    def accept(self, data: financial.PayableInput) -> financial.Payable:
        """Accept a title, with the next key of its branch and exercise."""
        values = data.model_dump() | next_title_key(self._numbers, self.scope, data, self._now)
        cost = self._lookup.name(registries.abc_costs, data.CodigoDoCustoABC)
        values |= {"rateio": allocations_of(data), "DescricaoDoCustoABC": cost}
        title = financial.Payable.model_construct(**values)
        self._keep(title)
        return title

    def _content(self, data: financial.PayableChange) -> dict[str, Any]:
        return data.model_dump(exclude={"rateio"})

    @staticmethod
    def require_changeable(record: financial.Payable) -> None:
        """Raise ``RequestError`` (400) if a title is settled."""
        if record.dataDeBaixa is not None:
            raise invalid(("numeroDaTransacao", "O título já foi baixado e não pode ser alterado."))


_FIRST_OF_TRANSACTION = 1
_ENTRY_CODES = (
    "codigoDaFilial", "codigoDoCentroDeCusto", "codigoDaContaCorrente", "codigoDaFormaDePagamento",
)  # fmt: skip
_ALLOCATION_CODES = (
    "codigoDaFilialDoRateio", "codigoDoCentroDeCusto", "codigoDoProjeto", "CodigoDoCustoABC",
)  # fmt: skip


def entry_problems(
    lookup: registries.CodeLookup, data: financial.EntryInput, *, revenue: bool
) -> list[Problem]:
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


def category_problems(
    lookup: registries.CodeLookup, key: str, code: str, *, revenue: bool
) -> list[Problem]:
    """Return the problem of a category that does not exist or is not of the right kind."""
    category = lookup.entry(registries.categories, code)
    if category is not None and category.revenue == revenue:
        return []
    kind = "receita" if revenue else "despesa"
    return [(key, f"{code} não é uma categoria de {kind} cadastrada.")]


def title_scope(kind: str, exercise: int, branch: int) -> str:
    """Return the scope of the numbers of titles, ``receivable`` or ``payable`` ones."""
    return f"{kind}:{exercise}:{branch}"


def next_title_key(
    numbers: registries.Numbers, kind: str, data: financial.EntryInput, now: datetime
) -> dict[str, int]:
    """Return the key of a new title, with the next number of its exercise and branch."""
    exercise = (data.dataDeEmissao or now).year
    return {
        "codigoDoExercicio": exercise,
        "codigoDaFilial": data.codigoDaFilial,
        "numeroDaTransacao": numbers.next(title_scope(kind, exercise, data.codigoDaFilial)),
        "sequenciaDaTransacao": _FIRST_OF_TRANSACTION,
    }


def allocation_problems(
    lookup: registries.CodeLookup, data: financial.EntryInput, *, revenue: bool
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


def allocations_of(data: financial.EntryInput) -> list[financial.Allocation]:
    """Return the parts of an entry, whose codes default to those of the entry."""
    if not data.rateio:
        return []
    defaults = _entry_codes(data)
    return [
        financial.Allocation(**defaults | part.model_dump(exclude_none=True))
        for part in data.rateio
    ]


def _entry_codes(data: financial.EntryTerms) -> dict[str, Any]:
    codes = data.model_dump(include=set(financial.Allocation.model_fields))
    return codes | {"codigoDaFilialDoRateio": data.codigoDaFilial}


handle_records(ReceivableRegistration, financial.RECEIVABLE_CREATE)
handle_records(PayableRegistration, financial.PAYABLE_CREATE)


@handles(financial.RECEIVABLE_LIST_OPEN)
@handles(financial.RECEIVABLE_LIST_SETTLED)
def list_receivables(call: Call) -> list[financial.Receivable]:
    is_settled = receivables.c.dataDeBaixa.is_not(None)
    conditions: list[ColumnElement[bool]] = [
        is_settled if call.operation is financial.RECEIVABLE_LIST_SETTLED else ~is_settled
    ]
    client = call.query_as(financial.ReceivableQuery).codigoDoCliente
    if client is not None:
        by_code = registries.clients.c.codigoDoCliente == client
        call.require_row(by_code, "codigoDoCliente", "Cliente não encontrado.")
        conditions.append(receivables.c.codigoDoCliente == client)
    return ReceivableRegistration.find(call.connection, *conditions)


@handles(financial.RECEIVABLE_FIND)
def find_receivable(call: Call) -> financial.Receivable | None:
    by_idws = receivables.c.idws == call.query_as(financial.ReceivableLookup).idws
    return next(iter(ReceivableRegistration.find(call.connection, by_idws)), None)


@handles(financial.PAYABLE_UPDATE)
def alter_payable(call: Call) -> financial.Payable:
    change = call.body_as(financial.PayableChange)
    key = tuple(getattr(change, name) for name in TITLE_KEY)
    PayableRegistration(call.connection, call.now).change(change, *key)
    owner = owner_of(payable_allocations)
    of_title = (column == value for column, value in zip(owner, key, strict=True))
    call.connection.execute(delete(payable_allocations).where(*of_title))
    parts = list(registries.list_rows(owner, key, allocations_of(change)))
    if parts:
        call.connection.execute(insert(payable_allocations), parts)
    return _payable(call, key)


@handles(financial.PAYABLE_LIST_OPEN)
@handles(financial.PAYABLE_LIST_SETTLED)
def list_payables(call: Call) -> list[financial.Payable]:
    is_settled = payables.c.dataDeBaixa.is_not(None)
    in_state = is_settled if call.operation is financial.PAYABLE_LIST_SETTLED else ~is_settled
    return PayableRegistration.find(call.connection, in_state)


@handles(financial.PAYABLE_GET)
def show_payable(call: Call) -> financial.Payable:
    return _payable(call, tuple(call.path.values()))


@handles(financial.PAYABLE_DELETE)
def delete_payable(call: Call) -> financial.Payable:
    title = _payable(call, tuple(call.path.values()))
    PayableRegistration.require_changeable(title)
    by_key = PayableRegistration.by_key(tuple(call.path.values()))
    call.connection.execute(delete(payables).where(*by_key))
    return title


def _payable(call: Call, key: Sequence[int]) -> financial.Payable:
    title = PayableRegistration.get(call.connection, *key)
    columns = tuple(payable_files.c[name] for name in Attachment.model_fields)
    of_title = (column == value for column, value in zip(owner_of(payable_files), key, strict=True))
    files = select(*columns).where(*of_title).order_by(payable_files.c.Id)
    return title.model_copy(update={"Arquivos": call.read_attachments(files)})


_ZERO = Decimal(0)
_INCOME = "Entrada"
_EXPENSE = "Saída"
_COPIED = set(financial.StatementLine.model_fields) - {"rateio"}


@handles(financial.CASH_STATEMENT)
def show_statement(call: Call) -> financial.Statement:
    query = call.query_as(financial.StatementQuery)
    by_code = registries.accounts.c.code == query.codigoDaContaCorrente
    found = call.connection.scalars(select(registries.accounts.c.name).where(by_code)).all()
    account = first_or_404(found, "codigoDaContaCorrente", "Conta corrente não encontrada.")
    initial_balance = _settled_before(call, receivables) - _settled_before(call, payables)
    titles: list[financial.Receivable | financial.Payable] = [
        *ReceivableRegistration.find(call.connection, *_settled_in_period(call, receivables)),
        *PayableRegistration.find(call.connection, *_settled_in_period(call, payables)),
    ]
    titles.sort(key=attrgetter("dataDeBaixa"))
    lines, balance = [], initial_balance
    for title in titles:
        value = title.valorBaixado or _ZERO
        is_income = isinstance(title, financial.Receivable)
        balance += value if is_income else -value
        line = financial.StatementLine(
            **title.model_dump(include=_COPIED),
            data=title.dataDeBaixa,
            tipo=_INCOME if is_income else _EXPENSE,
            valor=value,
            saldo=balance,
            rateio=title.rateio or [financial.Allocation(**_entry_codes(title), valor=value)],
        )
        lines.append(line)
    income, expense = _total(lines, _INCOME), _total(lines, _EXPENSE)
    return financial.Statement(
        codigoDaContaCorrente=query.codigoDaContaCorrente,
        descricaoDaContaCorrente=account,
        dataInferior=query.dataInferior,
        dataSuperior=query.dataSuperior,
        saldoAnterior=initial_balance,
        totalDeEntradas=income,
        totalDeSaidas=expense,
        saldoFinal=balance,
        lancamentos=lines,
    )


def _total(lines: list[financial.StatementLine], kind: str) -> Decimal:
    return sum((line.valor or _ZERO for line in lines if line.tipo == kind), _ZERO)


def _settled_before(call: Call, titles: Table) -> Decimal:
    query = call.query_as(financial.StatementQuery)
    total = select(func.sum(titles.c.valorBaixado)).where(
        titles.c.codigoDaContaCorrente == query.codigoDaContaCorrente,
        titles.c.dataDeBaixa < query.dataInferior,
    )
    return call.connection.scalar(total) or _ZERO


def _settled_in_period(call: Call, titles: Table) -> Iterator[ColumnElement[bool]]:
    query = call.query_as(financial.StatementQuery)
    yield titles.c.codigoDaContaCorrente == query.codigoDaContaCorrente
    yield from window_conditions(call, titles.c.dataDeBaixa)
