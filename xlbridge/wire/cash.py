"""The consolidated cash and bank statement. Source: the spec, Financial (caixabancos).

Its parameters and shape are not shown there; those here are this project's choice
(``docs/assumptions.md``).
"""

from typing import Literal

from pydantic import Field

from xlbridge.wire.financial import Allocation, TitleKey
from xlbridge.wire.model import Moment, Number, QueryMoment, WireModel


class StatementQuery(WireModel):
    """The current account and the period, both ends included."""

    codigoDaContaCorrente: int
    dataInferior: QueryMoment
    dataSuperior: QueryMoment


class StatementLine(TitleKey):
    """A settled title: what came in or went out, and the account's balance after it.

    ``rateio`` adds up to ``valor``; of a title that was not split it is one part.
    """

    data: Moment
    tipo: Literal["Entrada", "Saída"]
    codigoDoCliente: int | None = None
    codigoDoFornecedor: int | None = None
    historico: str
    numeroDoDocumento: str | None = None
    valor: Number
    saldo: Number
    rateio: list[Allocation] = Field(default_factory=list)


class Statement(WireModel):
    """The movements of one current account in a period, oldest first, and its balances."""

    codigoDaContaCorrente: int
    descricaoDaContaCorrente: str
    dataInferior: Moment
    dataSuperior: Moment
    saldoAnterior: Number
    totalDeEntradas: Number
    totalDeSaidas: Number
    saldoFinal: Number
    lancamentos: list[StatementLine] = Field(default_factory=list)
