"""Receivable and payable titles, their allocations (rateio), the cash and bank statement.

Source: the spec, Receivable entry (Contas a Receber), Payable entry (Contas a Pagar), Financial
(caixabancos).
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from operator import attrgetter
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    ForeignKeyConstraint,
    Index,
    Integer,
    Table,
    and_,
    delete,
    func,
    insert,
    select,
    update,
)

from xlbridge.resources.checks import is_boleto
from xlbridge.sandbox.amounts import amount_problems
from xlbridge.sandbox.areas.registries import (
    CodeLookup,
    Numbers,
    RecordRegistration,
    abc_costs,
    accounts,
    categories,
    clients,
    portfolios,
)
from xlbridge.sandbox.columns import derived_columns, metadata
from xlbridge.sandbox.handler_registry import (
    Call,
    handle_creation,
    handles,
    read_documents,
    window_conditions,
)
from xlbridge.sandbox.problems import Problem, first_or_404, invalid, require_no_problems
from xlbridge.wire import Attachment
from xlbridge.wire.financial import (
    CASH_STATEMENT,
    PAYABLE_CREATE,
    PAYABLE_DELETE,
    PAYABLE_GET,
    PAYABLE_LIST_OPEN,
    PAYABLE_LIST_SETTLED,
    PAYABLE_UPDATE,
    RECEIVABLE_CREATE,
    RECEIVABLE_FIND,
    RECEIVABLE_LIST_OPEN,
    RECEIVABLE_LIST_SETTLED,
    Allocation,
    EntryInput,
    EntryTerms,
    Payable,
    PayableChange,
    PayableInput,
    Receivable,
    ReceivableInput,
    ReceivableLookup,
    ReceivableQuery,
    Statement,
    StatementLine,
    StatementQuery,
    TitleKey,
)

TITLE_KEY = tuple(TitleKey.model_fields)
OWNER_KEY = ("exercise", "branch", "number", "sequence")
"""Key of the title that a part or file belongs to, in the order of ``TITLE_KEY``."""


def _owner_columns(titles: Table) -> tuple[Column[int] | ForeignKeyConstraint, ...]:
    return (
        *(Column(name, Integer, primary_key=True, autoincrement=False) for name in OWNER_KEY),
        ForeignKeyConstraint(OWNER_KEY, [titles.c[name] for name in TITLE_KEY], ondelete="CASCADE"),
    )


def _allocations_table(name: str, titles: Table) -> Table:
    place = Column("place", Integer, primary_key=True, autoincrement=False)
    return Table(name, metadata, *_owner_columns(titles), place, *derived_columns(Allocation))


receivables = Table(
    "receivables",
    metadata,
    *derived_columns(Receivable, keys=TITLE_KEY, exclude=("rateio",)),
    Index("receivables_by_client", "codigoDoCliente"),
    Index("receivables_by_idws", "idws", unique=True),
    Index("receivables_by_settlement", "codigoDaContaCorrente", "dataDeBaixa"),
)
receivable_allocations = _allocations_table("receivable_allocations", receivables)
payables = Table(
    "payables",
    metadata,
    *derived_columns(
        Payable, keys=TITLE_KEY, exclude=("rateio", "Arquivos", "DescricaoDoCustoABC")
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


class ReceivableRegistration(RecordRegistration[Receivable]):
    """Registration of new receivable titles."""

    def problems(self, data: ReceivableInput) -> list[Problem]:
        """Return the problems of a new title."""
        problems = [
            *self._lookup.field_problems(data, "codigoDoCliente"),
            *entry_problems(self._lookup, data, revenue=True),
            *allocation_problems(self._lookup, data, revenue=True),
        ]
        code, account, idws = data.codigoDaCarteira, data.codigoDaContaCorrente, data.idws
        portfolio = self._lookup.entry(portfolios, code)
        if code is not None and (portfolio is None or portfolio.account != account):
            message = f"A carteira {code} não pertence à conta corrente {account}."
            problems.append(("codigoDaCarteira", message))
        if idws is not None and not idws.strip():
            problems.append(("idws", "O identificador externo está em branco."))
        elif idws is not None and self._is_taken(receivables.c.idws, idws):
            problems.append(("idws", f"O identificador {idws} já é de outro título."))
        return problems

    def accept(self, data: ReceivableInput) -> Receivable:
        """Accept a title, with the next key of its branch and exercise."""
        key = next_title_key(self._numbers, "receivable", data, self._now)
        parts = allocations_of(data)
        # Not validated again: the input was.
        values = data.model_dump(exclude={"rateio"}) | key
        title = Receivable.model_construct(**values, rateio=parts)
        if title.idws is not None:
            self._accepted.add(("idws", title.idws))
        self._rows[receivables].append(title.model_dump(exclude={"rateio"}))
        self._rows[receivable_allocations].extend(allocation_rows(tuple(key.values()), parts))
        return title


_AMOUNTS = tuple(name for name in PayableInput.model_fields if name.startswith("Valor"))
_RETAINED = tuple(name for name in _AMOUNTS if name.endswith("Retido"))
_NOT_STORED = {"rateio", "Arquivos", "DescricaoDoCustoABC"}


class PayableRegistration(RecordRegistration[Payable]):
    """Registration of new payable titles."""

    def problems(self, data: PayableInput) -> list[Problem]:
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


def allocation_rows(key: Sequence[object], parts: Sequence[Allocation]) -> Iterator[dict[str, Any]]:
    """Yield the parts of the title with this key as rows of their table."""
    owner = dict(zip(OWNER_KEY, key, strict=True))
    for index, part in enumerate(parts):
        yield {**owner, "place": index, **part.model_dump()}


def _entry_codes(data: EntryTerms) -> dict[str, Any]:
    codes = data.model_dump(include=set(Allocation.model_fields))
    return codes | {"codigoDaFilialDoRateio": data.codigoDaFilial}


handle_creation(RECEIVABLE_CREATE, ReceivableRegistration)
handle_creation(PAYABLE_CREATE, PayableRegistration)


@handles(RECEIVABLE_LIST_OPEN)
@handles(RECEIVABLE_LIST_SETTLED)
def list_receivables(call: Call) -> list[Receivable]:
    is_settled = receivables.c.dataDeBaixa.is_not(None)
    in_state = is_settled if call.operation is RECEIVABLE_LIST_SETTLED else ~is_settled
    client = call.query_as(ReceivableQuery).codigoDoCliente
    if client is None:
        return read_receivables(call.connection, in_state)
    by_code = clients.c.codigoDoCliente == client
    call.require_row(by_code, "codigoDoCliente", "Cliente não encontrado.")
    return read_receivables(call.connection, in_state, receivables.c.codigoDoCliente == client)


@handles(RECEIVABLE_FIND)
def find_receivable(call: Call) -> Receivable | None:
    by_idws = receivables.c.idws == call.query_as(ReceivableLookup).idws
    return next(iter(read_receivables(call.connection, by_idws)), None)


@handles(PAYABLE_UPDATE)
def alter_payable(call: Call) -> Payable:
    change = call.body_as(PayableChange)
    key = tuple(getattr(change, name) for name in TITLE_KEY)
    _require_open(call, key)
    require_no_problems(PayableRegistration(call.connection, call.now).problems(change))
    values = change.model_dump(exclude={"rateio", *TITLE_KEY})
    by_key = _key_condition(payables, TITLE_KEY, key)
    call.connection.execute(update(payables).where(by_key).values(values))
    of_title = _key_condition(payable_allocations, OWNER_KEY, key)
    call.connection.execute(delete(payable_allocations).where(of_title))
    parts = list(allocation_rows(key, allocations_of(change)))
    if parts:
        call.connection.execute(insert(payable_allocations), parts)
    return _payable(call, key)


@handles(PAYABLE_LIST_OPEN)
@handles(PAYABLE_LIST_SETTLED)
def list_payables(call: Call) -> list[Payable]:
    is_settled = payables.c.dataDeBaixa.is_not(None)
    in_state = is_settled if call.operation is PAYABLE_LIST_SETTLED else ~is_settled
    return read_payables(call.connection, in_state)


@handles(PAYABLE_GET)
def show_payable(call: Call) -> Payable:
    return _payable(call, _path_key(call))


@handles(PAYABLE_DELETE)
def delete_payable(call: Call) -> Payable:
    key = _path_key(call)
    _require_open(call, key)
    title = _payable(call, key)
    call.connection.execute(delete(payables).where(_key_condition(payables, TITLE_KEY, key)))
    return title


def _path_key(call: Call) -> tuple[int, ...]:
    return tuple(call.path[name] for name in ("ex", "fil", "nrtrs", "seqtrs"))


def _payable(call: Call, key: Sequence[int]) -> Payable:
    titles = read_payables(call.connection, _key_condition(payables, TITLE_KEY, key))
    title = first_or_404(titles, "numeroDaTransacao", "Título não encontrado.")
    columns = tuple(payable_files.c[name] for name in Attachment.model_fields)
    of_title = _key_condition(payable_files, OWNER_KEY, key)
    files = select(*columns).where(of_title).order_by(payable_files.c.Id)
    return title.model_copy(update={"Arquivos": call.read_attachments(files)})


def _require_open(call: Call, key: Sequence[int]) -> None:
    """Raise ``RequestError``: 404 if there is no such title, 400 if it is settled."""
    by_key = _key_condition(payables, TITLE_KEY, key)
    found = call.connection.execute(select(payables.c.dataDeBaixa).where(by_key)).all()
    title = first_or_404(found, "numeroDaTransacao", "Título não encontrado.")
    if title.dataDeBaixa is not None:
        raise invalid(("numeroDaTransacao", "O título já foi baixado e não pode ser alterado."))


_ZERO = Decimal(0)
_INCOME = "Entrada"
_EXPENSE = "Saída"
_COPIED = set(StatementLine.model_fields) - {"rateio"}


@handles(CASH_STATEMENT)
def show_statement(call: Call) -> Statement:
    query = call.query_as(StatementQuery)
    by_code = accounts.c.code == query.codigoDaContaCorrente
    found = call.connection.scalars(select(accounts.c.name).where(by_code)).all()
    account = first_or_404(found, "codigoDaContaCorrente", "Conta corrente não encontrada.")
    initial_balance = _settled_before(call, receivables) - _settled_before(call, payables)
    titles: list[Receivable | Payable] = [
        *read_receivables(call.connection, *_settled_in_period(call, receivables)),
        *read_payables(call.connection, *_settled_in_period(call, payables)),
    ]
    titles.sort(key=attrgetter("dataDeBaixa"))
    lines, balance = [], initial_balance
    for title in titles:
        value = title.valorBaixado or _ZERO
        is_income = isinstance(title, Receivable)
        balance += value if is_income else -value
        line = StatementLine(
            **title.model_dump(include=_COPIED),
            data=title.dataDeBaixa,
            tipo=_INCOME if is_income else _EXPENSE,
            valor=value,
            saldo=balance,
            rateio=title.rateio or [Allocation(**_entry_codes(title), valor=value)],
        )
        lines.append(line)
    income, expense = _total(lines, _INCOME), _total(lines, _EXPENSE)
    return Statement(
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


def _total(lines: list[StatementLine], kind: str) -> Decimal:
    return sum((line.valor or _ZERO for line in lines if line.tipo == kind), _ZERO)


def _settled_before(call: Call, titles: Table) -> Decimal:
    query = call.query_as(StatementQuery)
    total = select(func.sum(titles.c.valorBaixado)).where(
        titles.c.codigoDaContaCorrente == query.codigoDaContaCorrente,
        titles.c.dataDeBaixa < query.dataInferior,
    )
    return call.connection.scalar(total) or _ZERO


def _settled_in_period(call: Call, titles: Table) -> Iterator[ColumnElement[bool]]:
    query = call.query_as(StatementQuery)
    yield titles.c.codigoDaContaCorrente == query.codigoDaContaCorrente
    yield from window_conditions(call, titles.c.dataDeBaixa)


Condition = ColumnElement[bool]


def read_receivables(connection: Connection, *conditions: Condition) -> list[Receivable]:
    """Return the receivable titles that meet all conditions, ordered by key."""
    key = receivables.primary_key
    titles = select(receivables).where(*conditions).order_by(*key)
    lists = {"rateio": (Allocation, [receivable_allocations.c[name] for name in OWNER_KEY])}
    return read_documents(connection, Receivable, key, lists, titles)


def read_payables(connection: Connection, *conditions: Condition) -> list[Payable]:
    """Return the payable titles that meet all conditions, ordered by key, without their files."""
    key = payables.primary_key
    titles = (
        select(payables, abc_costs.c.name.label("DescricaoDoCustoABC"))
        .outerjoin(abc_costs, abc_costs.c.code == payables.c.CodigoDoCustoABC)
        .where(*conditions)
        .order_by(*key)
    )
    lists = {"rateio": (Allocation, [payable_allocations.c[name] for name in OWNER_KEY])}
    return read_documents(connection, Payable, key, lists, titles)


def _key_condition(table: Table, names: Sequence[str], key: Sequence[int]) -> Condition:
    return and_(*(table.c[name] == value for name, value in zip(names, key, strict=True)))
