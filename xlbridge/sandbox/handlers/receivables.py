"""Receivable titles. Source: the spec, Receivable entry, Financial."""

from sqlalchemy import ColumnElement, exists, select

from xlbridge.sandbox.answers import not_found
from xlbridge.sandbox.business.intake import admit
from xlbridge.sandbox.business.receivables import ReceivableIntake
from xlbridge.sandbox.call import Call, handles
from xlbridge.sandbox.tables.clients import clients
from xlbridge.sandbox.tables.financial import receivables
from xlbridge.wire.financial import Receivable, ReceivableInput, ReceivableQuery
from xlbridge.wire.operations.financial import (
    RECEIVABLE_CREATE,
    RECEIVABLE_LIST_OPEN,
    RECEIVABLE_LIST_SETTLED,
)


@handles(RECEIVABLE_CREATE)
def create(call: Call) -> Receivable:
    return admit(ReceivableIntake(call.connection, call.now), call.sent(ReceivableInput))


@handles(RECEIVABLE_LIST_OPEN)
def list_open(call: Call) -> list[Receivable]:
    return _titles(call, receivables.c.dataDeBaixa.is_(None))


@handles(RECEIVABLE_LIST_SETTLED)
def list_settled(call: Call) -> list[Receivable]:
    return _titles(call, receivables.c.dataDeBaixa.is_not(None))


def _titles(call: Call, condition: ColumnElement[bool]) -> list[Receivable]:
    client = call.queried(ReceivableQuery).codigoDoCliente
    found = select(receivables).where(condition).order_by(*receivables.primary_key)
    if client is not None:
        _must_exist(call, client)
        found = found.where(receivables.c.codigoDoCliente == client)
    return call.read(Receivable, found)


def _must_exist(call: Call, client: int) -> None:
    if not call.connection.scalar(select(exists().where(clients.c.codigoDoCliente == client))):
        raise not_found("codigoDoCliente", "Cliente não encontrado.")
