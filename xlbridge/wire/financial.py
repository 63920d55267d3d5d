"""Receivable and payable titles, cash and bank statement: models and operations.

Source: the spec, Receivable entry, Payable entry, Financial. It does not show the fields of the
split (``rateio``), nor the fields and parameters of the statement (``caixabancos``); they are this
project's choice (``docs/assumptions.md``).
"""

from pydantic import Field

from xlbridge.wire.model import (
    Attachment,
    Many,
    Moment,
    Number,
    Operation,
    QueryMoment,
    WireModel,
    empty_list,
)


class TitleNumber(WireModel):
    """Key of a title in responses."""

    codigoDoExercicio: int | None = None
    codigoDaFilial: int | None = None
    numeroDaTransacao: int | None = None
    sequenciaDaTransacao: int | None = None


class TitleKey(TitleNumber):
    """Key of a title in requests; all but the branch is generated."""

    codigoDoExercicio: int
    codigoDaFilial: int
    numeroDaTransacao: int
    sequenciaDaTransacao: int


class Allocation(WireModel):
    """One part of a split title. Codes default to those of the title.

    The branch has a different name here because ``codigoDaFilial`` is part of the title's key.
    """

    codigoDaFilialDoRateio: int | None = None
    codigoDoItemDeLancamento: str | None = None
    codigoDoCentroDeCusto: str | None = None
    codigoDoProjeto: int | None = None
    CodigoDoCustoABC: str | None = None
    valor: Number | None = None


class AllocationInput(Allocation):
    """One part of a title to split."""

    valor: Number


class EntryTerms(WireModel):
    """Fields common to receivable and payable entries."""

    codigoDaFilial: int | None = None
    codigoDoItemDeLancamento: str | None = None
    codigoDoCentroDeCusto: str | None = None
    codigoDaContaCorrente: int | None = None
    historico: str | None = None
    numeroDoDocumento: str | None = None
    dataDeEmissao: Moment | None = None
    dataDeVencimento: Moment | None = None
    valorDoLancamento: Number | None = None
    codigoDaFormaDePagamento: int | None = None


class EntryInput(EntryTerms):
    """Required fields of an entry to create, and its split."""

    codigoDaFilial: int
    codigoDoItemDeLancamento: str
    codigoDoCentroDeCusto: str
    codigoDaContaCorrente: int
    historico: str
    rateio: list[AllocationInput] = Field(default_factory=empty_list)


class ReceivableTerms(EntryTerms):
    """Content of a receivable entry; ``idws`` is the caller's identifier."""

    codigoDoCliente: int | None = None
    codigoDaCarteira: int | None = None
    idws: str | None = None


class ReceivableInput(EntryInput, ReceivableTerms):
    """A receivable entry to create; its title key is generated."""

    codigoDoCliente: int


class Settlement(WireModel):
    """Settlement of a title; its fields are null while the title is open.

    Both fields are this project's choice (``docs/assumptions.md``).
    """

    dataDeBaixa: Moment | None = None
    valorBaixado: Number | None = None


class Receivable(Settlement, ReceivableTerms, TitleNumber):
    """A receivable title in responses."""

    PeriodoDeCompetencia: Moment | None = None
    rateio: Many[Allocation] = Field(default_factory=empty_list)


class ReceivableQuery(WireModel):
    """Filter of the receivable listings (release 6.0.288)."""

    codigoDoCliente: int | None = None


class ReceivableLookup(WireModel):
    """The caller's identifier of one receivable title."""

    idws: str = Field(min_length=1)


class PayableTerms(EntryTerms):
    """Content of a payable entry; ``valorDoLancamento`` is the net value of the title."""

    codigoDoFornecedor: int | None = None
    PeriodoDeCompetencia: Moment | None = None
    CodigoDeBarras: str | None = None
    CodigoDoCustoABC: str | None = None
    ValorBruto: Number | None = None
    ValorPISRetido: Number | None = None
    ValorCOFINSRetido: Number | None = None
    ValorCSLLRetido: Number | None = None
    ValorIRRetido: Number | None = None
    ValorISSRetido: Number | None = None
    ValorINSSRetido: Number | None = None


class PayableInput(EntryInput, PayableTerms):
    """A payable entry to create."""

    codigoDoFornecedor: int


class PayableChange(PayableInput, TitleKey):
    """New content of a payable title; omitted fields are cleared."""


class Payable(Settlement, PayableTerms, TitleNumber):
    """A payable title in responses. ``Arquivos`` stays empty in listings."""

    DescricaoDoCustoABC: str | None = None
    Arquivos: Many[Attachment] = Field(default_factory=empty_list)
    rateio: Many[Allocation] = Field(default_factory=empty_list)


class StatementQuery(WireModel):
    """Current account and period, both ends included."""

    codigoDaContaCorrente: int
    dataInferior: QueryMoment
    dataSuperior: QueryMoment


class StatementLine(TitleNumber):
    """A settled title: the amount received or paid, and the account's balance after it.

    ``tipo`` is ``Entrada`` or ``Saída``. ``rateio`` adds up to ``valor``; it has one part if the
    title was not split.
    """

    data: Moment | None = None
    tipo: str | None = None
    codigoDoCliente: int | None = None
    codigoDoFornecedor: int | None = None
    historico: str | None = None
    numeroDoDocumento: str | None = None
    valor: Number | None = None
    saldo: Number | None = None
    rateio: Many[Allocation] = Field(default_factory=empty_list)


class Statement(WireModel):
    """Movements of one current account in a period, oldest first, and its balances."""

    codigoDaContaCorrente: int | None = None
    descricaoDaContaCorrente: str | None = None
    dataInferior: Moment | None = None
    dataSuperior: Moment | None = None
    saldoAnterior: Number | None = None
    totalDeEntradas: Number | None = None
    totalDeSaidas: Number | None = None
    saldoFinal: Number | None = None
    lancamentos: Many[StatementLine] = Field(default_factory=empty_list)


RECEIVABLE_CREATE = Operation.creation(
    "financial.receivables.create", "/v2/financeiro/contasreceber", ReceivableInput, Receivable
)
RECEIVABLE_LIST_OPEN = Operation.listing(
    "financial.receivables.list_open", "/v2/financeiro/contasreceber", Receivable, ReceivableQuery
)
RECEIVABLE_LIST_SETTLED = Operation.listing(
    "financial.receivables.list_settled",
    "/v2/financeiro/contasreceber/baixados",
    Receivable,
    ReceivableQuery,
)
RECEIVABLE_FIND = Operation(
    name="financial.receivables.find",
    method="GET",
    path="/v2/financeiro/contasreceber/localizar",
    query=ReceivableLookup,
    single_record_filters=("idws",),
    data=Receivable | None,
)
PAYABLE_CREATE = Operation.creation(
    "financial.payables.create", "/v2/financeiro/contaspagar", PayableInput, Payable
)
PAYABLE_UPDATE = Operation.change(
    "financial.payables.update", "/v2/financeiro/contaspagar", PayableChange, Payable
)
PAYABLE_LIST_OPEN = Operation.listing(
    "financial.payables.list_open", "/v2/financeiro/contaspagar", Payable
)
PAYABLE_LIST_SETTLED = Operation.listing(
    "financial.payables.list_settled", "/v2/financeiro/contaspagar/baixados", Payable
)
PAYABLE_GET = Operation.reading(
    "financial.payables.get", "/v2/financeiro/contaspagar/{ex}/{fil}/{nrtrs}/{seqtrs}", Payable
)
PAYABLE_DELETE = Operation(
    name="financial.payables.delete",
    method="DELETE",
    path="/v2/financeiro/contaspagar/{ex}/{fil}/{nrtrs}/{seqtrs}",
    data=Payable,
)
CASH_STATEMENT = Operation.reading(
    "financial.cash.statement", "/v2/financeiro/caixabancos", Statement, StatementQuery
)
