"""The cash and bank statement. Source: the spec, Financial (caixabancos)."""

from collections.abc import Iterator
from decimal import Decimal
from operator import attrgetter

from sqlalchemy import ColumnElement, Table, func, select

from xlbridge.sandbox.answers import not_found
from xlbridge.sandbox.business.allocations import undivided
from xlbridge.sandbox.business.titles import read_payables, read_receivables
from xlbridge.sandbox.call import Call, handles
from xlbridge.sandbox.tables.financial import payables, receivables
from xlbridge.sandbox.tables.registries import accounts
from xlbridge.sandbox.windows import window
from xlbridge.wire.cash import Statement, StatementLine, StatementQuery
from xlbridge.wire.financial import Payable, Receivable
from xlbridge.wire.operations.financial import CASH_STATEMENT

_NOTHING = Decimal(0)
_INCOME = "Entrada"
_EXPENSE = "Saída"
_COPIED = set(StatementLine.model_fields) - {"rateio"}


@handles(CASH_STATEMENT)
def show_statement(call: Call) -> Statement:
    query = call.queried(StatementQuery)
    name = _account_name(call, query.codigoDaContaCorrente)
    before = _settled_before(call, receivables) - _settled_before(call, payables)
    lines = list(_lines(_settled_titles(call), before))
    income = _total(lines, _INCOME)
    expense = _total(lines, _EXPENSE)
    return Statement(
        codigoDaContaCorrente=query.codigoDaContaCorrente,
        descricaoDaContaCorrente=name,
        dataInferior=query.dataInferior,
        dataSuperior=query.dataSuperior,
        saldoAnterior=before,
        totalDeEntradas=income,
        totalDeSaidas=expense,
        saldoFinal=before + income - expense,
        lancamentos=lines,
    )


def _total(lines: list[StatementLine], kind: str) -> Decimal:
    return sum((line.valor or _NOTHING for line in lines if line.tipo == kind), _NOTHING)


def _account_name(call: Call, code: int) -> str:
    name = call.connection.scalar(select(accounts.c.name).where(accounts.c.code == code))
    if name is None:
        raise not_found("codigoDaContaCorrente", "Conta corrente não encontrada.")
    return str(name)


def _settled_before(call: Call, titles: Table) -> Decimal:
    query = call.queried(StatementQuery)
    total = select(func.sum(titles.c.valorBaixado)).where(
        titles.c.codigoDaContaCorrente == query.codigoDaContaCorrente,
        titles.c.dataDeBaixa < query.dataInferior,
    )
    return call.connection.scalar(total) or _NOTHING


def _settled_titles(call: Call) -> list[Receivable | Payable]:
    titles: list[Receivable | Payable] = [
        *read_receivables(call.connection, *_of_period(call, receivables)),
        *read_payables(call.connection, *_of_period(call, payables)),
    ]
    return sorted(titles, key=attrgetter("dataDeBaixa"))


def _of_period(call: Call, titles: Table) -> Iterator[ColumnElement[bool]]:
    query = call.queried(StatementQuery)
    yield titles.c.codigoDaContaCorrente == query.codigoDaContaCorrente
    yield from window(call, titles.c.dataDeBaixa, query.dataInferior, query.dataSuperior)


def _lines(titles: list[Receivable | Payable], balance: Decimal) -> Iterator[StatementLine]:
    for title in titles:
        value = title.valorBaixado or _NOTHING
        is_income = isinstance(title, Receivable)
        balance += value if is_income else -value
        yield StatementLine(
            **title.model_dump(include=_COPIED),
            data=title.dataDeBaixa,
            tipo=_INCOME if is_income else _EXPENSE,
            valor=value,
            saldo=balance,
            rateio=title.rateio or [undivided(title, value)],
        )
