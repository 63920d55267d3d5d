"""Receivable and payable entries, as created. Source: the spec, Receivable entry, Payable entry."""

from pydantic import Field

from xlbridge.wire.model import Moment, Number, WireModel


class EntryInput(WireModel):
    """What a receivable and a payable entry have in common when they are created."""

    codigoDaFilial: int
    codigoDoItemDeLancamento: str = Field(min_length=1)
    codigoDoCentroDeCusto: str = Field(min_length=1)
    codigoDaContaCorrente: int
    historico: str = Field(min_length=1)
    numeroDoDocumento: str | None = None
    dataDeEmissao: Moment | None = None
    dataDeVencimento: Moment | None = None
    valorDoLancamento: Number | None = None
    codigoDaFormaDePagamento: int | None = None


class ReceivableInput(EntryInput):
    """A receivable entry to create; its title key is generated."""

    codigoDoCliente: int
    codigoDaCarteira: int | None = None


class Receivable(WireModel):
    """A receivable title as it is read.

    ``dataDeBaixa`` and ``valorBaixado``, filled on settled titles, are this project's choice
    (``docs/assumptions.md``).
    """

    codigoDoExercicio: int
    codigoDaFilial: int
    numeroDaTransacao: int
    sequenciaDaTransacao: int
    codigoDoCliente: int
    codigoDoItemDeLancamento: str
    codigoDoCentroDeCusto: str
    codigoDaContaCorrente: int
    historico: str
    numeroDoDocumento: str | None = None
    dataDeEmissao: Moment | None = None
    dataDeVencimento: Moment | None = None
    valorDoLancamento: Number | None = None
    codigoDaFormaDePagamento: int | None = None
    codigoDaCarteira: int | None = None
    PeriodoDeCompetencia: Moment | None = None
    dataDeBaixa: Moment | None = None
    valorBaixado: Number | None = None


class ReceivableQuery(WireModel):
    """Filter of the receivable listings (release 6.0.288)."""

    codigoDoCliente: int | None = None


class PayableInput(EntryInput):
    """A payable entry to create; ``valorDoLancamento`` is the net value of the title."""

    codigoDoFornecedor: int
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
