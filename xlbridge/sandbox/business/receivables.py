"""The rules of receivable entries. Source: the spec, Receivable entry (Contas a Receber)."""

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, insert

from xlbridge.sandbox.answers import Problem
from xlbridge.sandbox.business.entries import entry_problems
from xlbridge.sandbox.business.known import Known
from xlbridge.sandbox.business.numbers import Numbers
from xlbridge.sandbox.tables.financial import receivables
from xlbridge.sandbox.tables.registries import portfolios
from xlbridge.wire.financial import Receivable, ReceivableInput

FIRST_OF_TRANSACTION = 1


class ReceivableIntake:
    """Takes in new receivable titles."""

    def __init__(self, connection: Connection, now: datetime) -> None:
        self._connection = connection
        self._now = now
        self._known = Known(connection)
        self._numbers = Numbers(connection)
        self._rows: list[dict[str, Any]] = []

    def problems(self, data: ReceivableInput) -> list[Problem]:
        """Return the rules that a new title breaks."""
        return [
            *self._known.client_complaint(data.codigoDoCliente),
            *entry_problems(self._known, data, revenue=True),
            *self._portfolio_problems(data),
        ]

    def accept(self, data: ReceivableInput) -> Receivable:
        """Take in a title without problems, under the next key of its branch and exercise."""
        exercise = (data.dataDeEmissao or self._now).year
        number = self._numbers.next(f"receivable:{exercise}:{data.codigoDaFilial}")
        title = Receivable(
            codigoDoExercicio=exercise,
            numeroDaTransacao=number,
            sequenciaDaTransacao=FIRST_OF_TRANSACTION,
            **data.model_dump(),
        )
        self._rows.append(title.model_dump())
        return title

    def write(self) -> None:
        """Write all accepted titles."""
        self._numbers.write()
        if self._rows:
            self._connection.execute(insert(receivables), self._rows)
            self._rows.clear()

    def _portfolio_problems(self, data: ReceivableInput) -> list[Problem]:
        code, account = data.codigoDaCarteira, data.codigoDaContaCorrente
        if code is None:
            return []
        portfolio = self._known.entry(portfolios, code)
        if portfolio is not None and portfolio.account == account:
            return []
        message = f"A carteira {code} não pertence à conta corrente {account}."
        return [("codigoDaCarteira", message)]
