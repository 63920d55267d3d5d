"""The rules of payable entries. Source: the spec, Payable entry (Contas a Pagar)."""

from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, insert

from xlbridge.resources.boleto import is_boleto
from xlbridge.sandbox.answers import Problem
from xlbridge.sandbox.business.allocations import allocated, allocation_problems, allocation_rows
from xlbridge.sandbox.business.entries import amount_problems, entry_problems, next_key
from xlbridge.sandbox.business.known import Known
from xlbridge.sandbox.business.numbers import Numbers
from xlbridge.sandbox.tables.financial import payable_allocations, payables
from xlbridge.sandbox.tables.registries import abc_costs, suppliers
from xlbridge.wire.financial import Payable, PayableInput

_AMOUNTS = tuple(name for name in PayableInput.model_fields if name.startswith("Valor"))
_RETAINED = tuple(name for name in _AMOUNTS if name.endswith("Retido"))
_NOT_STORED = {"rateio", "Arquivos", "DescricaoDoCustoABC"}


class PayableIntake:
    """Takes in new payable titles."""

    def __init__(self, connection: Connection, now: datetime) -> None:
        self._connection = connection
        self._now = now
        self._known = Known(connection)
        self._numbers = Numbers(connection)
        self._rows: list[dict[str, Any]] = []
        self._parts: list[dict[str, Any]] = []

    def problems(self, data: PayableInput) -> list[Problem]:
        """Return the rules that a title breaks, new or altered."""
        known = self._known
        return [
            *known.inactive_complaint(
                "codigoDoFornecedor", suppliers, data.codigoDoFornecedor, "Fornecedor"
            ),
            *entry_problems(known, data, revenue=False),
            *allocation_problems(known, data, revenue=False),
            *known.complaint("CodigoDoCustoABC", abc_costs, data.CodigoDoCustoABC, "Custo ABC"),
            *_barcode_problems(data.CodigoDeBarras),
            *_retention_problems(data),
        ]

    def accept(self, data: PayableInput) -> Payable:
        """Take in a title without problems, under the next key of its branch and exercise."""
        key = next_key(self._numbers, "payable", data, self._now)
        parts = allocated(data)
        cost = self._known.entry(abc_costs, data.CodigoDoCustoABC)
        title = Payable(
            **data.model_dump(exclude={"rateio"}) | key,
            rateio=parts,
            DescricaoDoCustoABC=cost.name if cost else None,
        )
        self._rows.append(title.model_dump(exclude=_NOT_STORED))
        self._parts.extend(allocation_rows(tuple(key.values()), parts))
        return title

    def write(self) -> None:
        """Write all accepted titles."""
        self._numbers.write()
        for table, rows in ((payables, self._rows), (payable_allocations, self._parts)):
            if rows:
                self._connection.execute(insert(table), rows)
                rows.clear()


def _barcode_problems(code: str | None) -> list[Problem]:
    if code is None or is_boleto(code):
        return []
    return [("CodigoDeBarras", "Código de barras inválido: os dígitos não conferem.")]


def _retention_problems(data: PayableInput) -> Iterator[Problem]:
    """The net amount and the retained taxes come out of the gross amount."""
    for name in _AMOUNTS:
        yield from amount_problems(name, getattr(data, name))
    net = data.valorDoLancamento or Decimal(0)
    retained = sum((getattr(data, name) or Decimal(0) for name in _RETAINED), Decimal(0))
    if data.ValorBruto is not None and net + retained > data.ValorBruto:
        yield "ValorBruto", "O valor líquido com os tributos retidos passa do valor bruto."
