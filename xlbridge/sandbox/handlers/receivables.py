"""Receivable titles. Source: the spec, Receivable entry, Financial."""

from sqlalchemy import ColumnElement, exists, select

from xlbridge.sandbox.answers import not_found
from xlbridge.sandbox.business.intake import admit
from xlbridge.sandbox.business.receivables import ReceivableIntake
from xlbridge.sandbox.business.titles import read_receivables
from xlbridge.sandbox.call import Call, handles
from xlbridge.sandbox.tables.clients import clients
from xlbridge.sandbox.tables.financial import receivables
from xlbridge.wire.financial import Receivable, ReceivableInput, ReceivableLookup, ReceivableQuery
from xlbridge.wire.operations.financial import (
    RECEIVABLE_CREATE,
    RECEIVABLE_FIND,
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


@handles(RECEIVABLE_FIND)
def find(call: Call) -> Receivable | None:
    wanted = receivables.c.idws == call.queried(ReceivableLookup).idws
    return next(iter(read_receivables(call.connection, wanted)), None)


def _titles(call: Call, *conditions: ColumnElement[bool]) -> list[Receivable]:
    client = call.queried(ReceivableQuery).codigoDoCliente
    if client is None:
        return read_receivables(call.connection, *conditions)
    _must_exist(call, client)
    of_client = receivables.c.codigoDoCliente == client
    return read_receivables(call.connection, *conditions, of_client)


def _must_exist(call: Call, client: int) -> None:
    if not call.connection.scalar(select(exists().where(clients.c.codigoDoCliente == client))):
        raise not_found("codigoDoCliente", "Cliente não encontrado.")
