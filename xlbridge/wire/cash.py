"""The consolidated cash and bank statement. Source: the spec, Financial (caixabancos).

Its parameters and shape are not shown there; those here are this project's choice
(``docs/assumptions.md``).
"""

from pydantic import Field

from xlbridge.wire.financial import Allocation, TitleNumber
from xlbridge.wire.model import Many, Moment, Number, QueryMoment, WireModel


class StatementQuery(WireModel):
    """The current account and the period, both ends included."""

    codigoDaContaCorrente: int
    dataInferior: QueryMoment
    dataSuperior: QueryMoment


class StatementLine(TitleNumber):
    """A settled title: what came in or went out, and the account's balance after it.

    ``tipo`` is ``Entrada`` or ``Saída``. ``rateio`` adds up to ``valor``; of a title that was not
    split it is one part.
    """

    data: Moment | None = None
    tipo: str | None = None
    codigoDoCliente: int | None = None
    codigoDoFornecedor: int | None = None
    historico: str | None = None
    numeroDoDocumento: str | None = None
    valor: Number | None = None
    saldo: Number | None = None
    rateio: Many[Allocation] = Field(default_factory=list)


class Statement(WireModel):
    """The movements of one current account in a period, oldest first, and its balances."""

    codigoDaContaCorrente: int
    descricaoDaContaCorrente: str | None = None
    dataInferior: Moment | None = None
    dataSuperior: Moment | None = None
    saldoAnterior: Number | None = None
    totalDeEntradas: Number | None = None
    totalDeSaidas: Number | None = None
    saldoFinal: Number | None = None
    lancamentos: Many[StatementLine] = Field(default_factory=list)
