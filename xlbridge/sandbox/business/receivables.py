"""The rules of receivable entries. Source: the spec, Receivable entry (Contas a Receber)."""

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, exists, insert, select

from xlbridge.sandbox.answers import Problem
from xlbridge.sandbox.business.allocations import allocated, allocation_problems, allocation_rows
from xlbridge.sandbox.business.entries import entry_problems, next_key
from xlbridge.sandbox.business.known import Known
from xlbridge.sandbox.business.numbers import Numbers
from xlbridge.sandbox.tables.financial import receivable_allocations, receivables
from xlbridge.sandbox.tables.registries import portfolios
from xlbridge.wire.financial import Receivable, ReceivableInput


class ReceivableIntake:
    """Takes in new receivable titles."""

    def __init__(self, connection: Connection, now: datetime) -> None:
        self._connection = connection
        self._now = now
        self._known = Known(connection)
        self._numbers = Numbers(connection)
        self._identifiers: set[str] = set()
        self._rows: list[dict[str, Any]] = []
        self._parts: list[dict[str, Any]] = []

    def problems(self, data: ReceivableInput) -> list[Problem]:
        """Return the rules that a new title breaks."""
        return [
            *self._known.client_complaint(data.codigoDoCliente),
            *entry_problems(self._known, data, revenue=True),
            *allocation_problems(self._known, data, revenue=True),
            *self._portfolio_problems(data),
            *self._identifier_problems(data.idws),
        ]

    def accept(self, data: ReceivableInput) -> Receivable:
        """Take in a title without problems, under the next key of its branch and exercise."""
        key = next_key(self._numbers, "receivable", data, self._now)
        parts = allocated(data)
        title = Receivable(**data.model_dump(exclude={"rateio"}) | key, rateio=parts)
        if title.idws is not None:
            self._identifiers.add(title.idws)
        self._rows.append(title.model_dump(exclude={"rateio"}))
        self._parts.extend(allocation_rows(tuple(key.values()), parts))
        return title

    def write(self) -> None:
        """Write all accepted titles."""
        self._numbers.write()
        for table, rows in ((receivables, self._rows), (receivable_allocations, self._parts)):
            if rows:
                self._connection.execute(insert(table), rows)
                rows.clear()

    def _portfolio_problems(self, data: ReceivableInput) -> list[Problem]:
        code, account = data.codigoDaCarteira, data.codigoDaContaCorrente
        if code is None:
            return []
        portfolio = self._known.entry(portfolios, code)
        if portfolio is not None and portfolio.account == account:
            return []
        message = f"A carteira {code} não pertence à conta corrente {account}."
        return [("codigoDaCarteira", message)]

    def _identifier_problems(self, idws: str | None) -> list[Problem]:
        if idws is None:
            return []
        if not idws.strip():
            return [("idws", "O identificador externo está em branco.")]
        stored = select(exists().where(receivables.c.idws == idws))
        if idws not in self._identifiers and not self._connection.scalar(stored):
            return []
        return [("idws", f"O identificador {idws} já é de outro título.")]
