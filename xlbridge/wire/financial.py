"""Receivable and payable titles. Source: the spec, Receivable entry, Payable entry, Financial.

The fields of the split (``rateio``) are not shown there; those here are this project's choice
(``docs/assumptions.md``).
"""

from pydantic import Field

from xlbridge.wire.attachments import Attachment
from xlbridge.wire.model import Many, Moment, Number, WireModel


class TitleNumber(WireModel):
    """What identifies a title as it is read."""

    codigoDoExercicio: int
    codigoDaFilial: int | None = None
    numeroDaTransacao: int
    sequenciaDaTransacao: int


class TitleKey(TitleNumber):
    """What a caller names a title by; all but the branch is generated."""

    codigoDaFilial: int


class Allocation(WireModel):
    """One part of a split title. A code that is left out is the title's own.

    The branch has a name of its own here: ``codigoDaFilial`` is part of the title's key.
    """

    codigoDaFilialDoRateio: int | None = None
    codigoDoItemDeLancamento: str | None = None
    codigoDoCentroDeCusto: str | None = None
    codigoDoProjeto: int | None = None
    CodigoDoCustoABC: str | None = None
    valor: Number | None = None


class AllocationInput(Allocation):
    """One part of a title that is to be split."""

    valor: Number


class EntryTerms(WireModel):
    """What a receivable and a payable entry have in common."""

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
    """What every entry needs when it is created."""

    codigoDaFilial: int
    codigoDoItemDeLancamento: str
    codigoDoCentroDeCusto: str
    codigoDaContaCorrente: int
    historico: str
    rateio: list[AllocationInput] = Field(default_factory=list)


class ReceivableTerms(EntryTerms):
    """What a receivable entry says.

    ``idws`` is the caller's own identifier, by which the title is found again.
    """

    codigoDoCliente: int | None = None
    codigoDaCarteira: int | None = None
    idws: str | None = None


class ReceivableInput(EntryInput, ReceivableTerms):
    """A receivable entry to create; its title key is generated."""

    codigoDoCliente: int


class Settlement(WireModel):
    """When and with how much a title was settled; nothing while it is open.

    Both fields are this project's choice (``docs/assumptions.md``).
    """

    dataDeBaixa: Moment | None = None
    valorBaixado: Number | None = None


class Receivable(Settlement, ReceivableTerms, TitleNumber):
    """A receivable title as it is read."""

    PeriodoDeCompetencia: Moment | None = None
    rateio: Many[Allocation] = Field(default_factory=list)


class ReceivableQuery(WireModel):
    """Filter of the receivable listings (release 6.0.288)."""

    codigoDoCliente: int | None = None


class ReceivableLookup(WireModel):
    """The caller's own identifier of one receivable title."""

    idws: str = Field(min_length=1)


class PayableTerms(EntryTerms):
    """What a payable entry says; ``valorDoLancamento`` is the net value of the title."""

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
    """A payable title as it is to be from now on; what is left out is emptied."""


class Payable(Settlement, PayableTerms, TitleNumber):
    """A payable title as it is read. ``Arquivos`` stays empty in listings."""

    DescricaoDoCustoABC: str | None = None
    Arquivos: Many[Attachment] = Field(default_factory=list)
    rateio: Many[Allocation] = Field(default_factory=list)
