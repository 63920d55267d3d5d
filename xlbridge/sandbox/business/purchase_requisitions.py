"""The rules of purchase requisitions. Source: the spec, Purchasing."""

from datetime import datetime

from sqlalchemy import Connection

from xlbridge.sandbox.answers import Problem
from xlbridge.sandbox.business.known import Known
from xlbridge.sandbox.business.numbers import Numbers
from xlbridge.sandbox.business.purchase_documents import write_documents
from xlbridge.sandbox.business.purchase_items import (
    request_header,
    request_problems,
    requested_items,
)
from xlbridge.sandbox.tables.purchasing import purchase_requisition_items, purchase_requisitions
from xlbridge.wire.purchasing import PurchaseRequisition, PurchaseRequisitionInput


class PurchaseRequisitionIntake:
    """Takes in new purchase requisitions."""

    def __init__(self, connection: Connection, now: datetime) -> None:
        self._connection = connection
        self._now = now
        self._known = Known(connection)
        self._numbers = Numbers(connection)
        self._accepted: list[PurchaseRequisition] = []

    def problems(self, data: PurchaseRequisitionInput) -> list[Problem]:
        """Return the rules that a new requisition breaks."""
        return request_problems(self._known, data)

    def accept(self, data: PurchaseRequisitionInput) -> PurchaseRequisition:
        """Take in a requisition without problems, open, under the next number."""
        requisition = PurchaseRequisition(
            **request_header(self._known, data),
            numeroDaRequisicao=self._numbers.next("purchase_requisition"),
            dataDaRequisicao=self._now,
            encerrada=False,
            itens=requested_items(self._known, data),
        )
        self._accepted.append(requisition)
        return requisition

    def write(self) -> None:
        """Write all accepted requisitions."""
        self._numbers.write()
        write_documents(
            self._connection, purchase_requisitions, purchase_requisition_items, self._accepted
        )
        self._accepted.clear()
