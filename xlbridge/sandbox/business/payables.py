"""The rules of payable entries. Source: the spec, Payable entry (Contas a Pagar)."""

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, insert

from xlbridge.sandbox.answers import Problem
from xlbridge.sandbox.business.entries import amount_problems, entry_problems
from xlbridge.sandbox.business.known import Known
from xlbridge.sandbox.business.numbers import Numbers
from xlbridge.sandbox.business.receivables import FIRST_OF_TRANSACTION
from xlbridge.sandbox.tables.financial import payables
from xlbridge.sandbox.tables.registries import abc_costs, suppliers
from xlbridge.wire.financial import PayableInput

_AMOUNTS = tuple(name for name in PayableInput.model_fields if name.startswith("Valor"))


class PayableIntake:
    """Takes in new payable titles."""

    def __init__(self, connection: Connection, now: datetime) -> None:
        self._connection = connection
        self._now = now
        self._known = Known(connection)
        self._numbers = Numbers(connection)
        self._rows: list[dict[str, Any]] = []

    def problems(self, data: PayableInput) -> list[Problem]:
        """Return the rules that a new title breaks."""
        known = self._known
        problems = [
            *self._supplier_problems(data.codigoDoFornecedor),
            *entry_problems(known, data, revenue=False),
            *known.complaint("CodigoDoCustoABC", abc_costs, data.CodigoDoCustoABC, "Custo ABC"),
        ]
        for name in _AMOUNTS:
            problems.extend(amount_problems(name, getattr(data, name)))
        return problems

    def accept(self, data: PayableInput) -> PayableInput:
        """Take in a title without problems, under the next key of its branch and exercise."""
        exercise = (data.dataDeEmissao or self._now).year
        key = {
            "codigoDoExercicio": exercise,
            "numeroDaTransacao": self._numbers.next(f"payable:{exercise}:{data.codigoDaFilial}"),
            "sequenciaDaTransacao": FIRST_OF_TRANSACTION,
        }
        self._rows.append(key | data.model_dump())
        return data

    def write(self) -> None:
        """Write all accepted titles."""
        self._numbers.write()
        if self._rows:
            self._connection.execute(insert(payables), self._rows)
            self._rows.clear()

    def _supplier_problems(self, code: int) -> list[Problem]:
        supplier = self._known.entry(suppliers, code)
        if supplier is None:
            return [("codigoDoFornecedor", f"Fornecedor {code}: código não cadastrado.")]
        if not supplier.active:
            return [("codigoDoFornecedor", f"Fornecedor {code} está inativo.")]
        return []
