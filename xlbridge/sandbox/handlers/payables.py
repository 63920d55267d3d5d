"""Payable titles. Source: the spec, Payable entry, Financial."""

from collections.abc import Sequence

from sqlalchemy import delete, insert, select, update

from xlbridge.sandbox.answers import RequestError, invalid, not_found
from xlbridge.sandbox.business.allocations import allocated, allocation_rows
from xlbridge.sandbox.business.intake import admit
from xlbridge.sandbox.business.payables import PayableIntake
from xlbridge.sandbox.business.titles import of_owner, of_title, read_files, read_payables
from xlbridge.sandbox.call import Call, handles
from xlbridge.sandbox.tables.financial import TITLE_KEY, payable_allocations, payables
from xlbridge.wire.financial import Payable, PayableChange, PayableInput
from xlbridge.wire.operations.financial import (
    PAYABLE_CREATE,
    PAYABLE_DELETE,
    PAYABLE_GET,
    PAYABLE_LIST_OPEN,
    PAYABLE_LIST_SETTLED,
    PAYABLE_UPDATE,
)


@handles(PAYABLE_CREATE)
def create(call: Call) -> Payable:
    return admit(PayableIntake(call.connection, call.now), call.sent(PayableInput))


@handles(PAYABLE_UPDATE)
def alter(call: Call) -> Payable:
    change = call.sent(PayableChange)
    key = tuple(getattr(change, name) for name in TITLE_KEY)
    _must_be_open(call, key)
    problems = PayableIntake(call.connection, call.now).problems(change)
    if problems:
        raise RequestError(400, problems)
    values = change.model_dump(exclude={"rateio", *TITLE_KEY})
    call.connection.execute(update(payables).where(of_title(payables, key)).values(values))
    call.connection.execute(delete(payable_allocations).where(of_owner(payable_allocations, key)))
    parts = list(allocation_rows(key, allocated(change)))
    if parts:
        call.connection.execute(insert(payable_allocations), parts)
    return _title(call, key)


@handles(PAYABLE_LIST_OPEN)
def list_open(call: Call) -> list[Payable]:
    return read_payables(call.connection, payables.c.dataDeBaixa.is_(None))


@handles(PAYABLE_LIST_SETTLED)
def list_settled(call: Call) -> list[Payable]:
    return read_payables(call.connection, payables.c.dataDeBaixa.is_not(None))


@handles(PAYABLE_GET)
def show(call: Call) -> Payable:
    return _title(call, _key_in_path(call))


@handles(PAYABLE_DELETE)
def remove(call: Call) -> Payable:
    key = _key_in_path(call)
    _must_be_open(call, key)
    title = _title(call, key)
    call.connection.execute(delete(payables).where(of_title(payables, key)))
    return title


def _key_in_path(call: Call) -> tuple[int, ...]:
    return tuple(call.path[name] for name in ("ex", "fil", "nrtrs", "seqtrs"))


def _title(call: Call, key: Sequence[int]) -> Payable:
    for title in read_payables(call.connection, of_title(payables, key)):
        return title.model_copy(update={"Arquivos": read_files(call.connection, key)})
    raise not_found("numeroDaTransacao", "Título não encontrado.")


def _must_be_open(call: Call, key: Sequence[int]) -> None:
    """Raise ``RequestError``: 404 without such a title, 400 for one that is settled."""
    wanted = select(payables.c.dataDeBaixa).where(of_title(payables, key))
    found = call.connection.execute(wanted).one_or_none()
    if found is None:
        raise not_found("numeroDaTransacao", "Título não encontrado.")
    if found.dataDeBaixa is not None:
        raise invalid(("numeroDaTransacao", "O título já foi baixado e não pode ser alterado."))
