"""Records that are taken to their next state one by one: orders, invoices, inventories, files.

Each kind is declared once: the operation that processes a record, how its state is read, and what
in it proves that it is done. Source: the spec, States and transitions; the product brief, process.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from xlbridge.errors import UsageError, resolve_name, suggestion
from xlbridge.i18n import Text
from xlbridge.wire import Operation
from xlbridge.wire.imports import IMPORT_LOG, IMPORT_PROCESS, ImportLog, ImportState
from xlbridge.wire.inventory import INVENTORY_PROCESS, INVENTORY_SHOW
from xlbridge.wire.product_invoices import PRODUCT_INVOICE_GET, PRODUCT_INVOICE_PROCESS
from xlbridge.wire.sales import SALES_ORDER_LIST, SALES_ORDER_PROCESS
from xlbridge.wire.services import SERVICE_INVOICE_GET, SERVICE_INVOICE_PROCESS

Record = Mapping[str, Any]
StateOfLog = Callable[[ImportLog], ImportState | None]
"""Meaning of the word by which a log tells its state; None where nobody knows it."""


class Standing(StrEnum):
    """Standing of a record: whether it may be processed, and whether it was.

    ``RUNNING`` is being processed by the system; ``CLOSED`` can never be processed; of ``UNTOLD``
    the system does not say whether it was.
    """

    OPEN = "open"
    RUNNING = "running"
    DONE = "done"
    CLOSED = "closed"
    MISSING = "missing"
    UNTOLD = "untold"


@dataclass(frozen=True, slots=True)
class RecordState:
    """State of one record: its standing, what the system gave it, and a remark for a person."""

    standing: Standing
    given: Mapping[str, Any] = field(default_factory=dict)
    remark: Text | None = None


_CANCELLED = Text(pt="está cancelado", en="is cancelled")
_NOT_PENDING = Text(pt="não está pendente", en="is not pending")
_NOT_ALLOWED = Text(
    pt="não pode ser processado agora (situação: {situation})",
    en="cannot be processed now (state: {situation})",
)
_CLOSED_UNPROCESSED = Text(
    pt="está encerrado, e o sistema não mostra processamento: confira se os saldos foram ajustados",
    en="is closed, and the system shows no processing: check whether balances were adjusted",
)
_UNKNOWN_WORD = Text(
    pt="o log diz “{word}”, e não se sabe o que isso significa: informe em XLBRIDGE_LOG_WORDS",
    en="the log says “{word}”, and its meaning is not known: set it in XLBRIDGE_LOG_WORDS",
)


def _order_state(order: Record, _state_of_log: StateOfLog) -> tuple[Standing, Text | None]:
    if order.get("processado") is True:
        return Standing.DONE, None
    if order.get("cancelado") is True:
        return Standing.CLOSED, _CANCELLED
    if order.get("processado") is None and (order.get("dataDeProcessamento") or order.get("idNF")):
        return Standing.DONE, None
    if order.get("pendente") is True:
        return Standing.OPEN, None
    if order.get("pendente") is False:
        return Standing.CLOSED, _NOT_PENDING
    return (Standing.UNTOLD if order.get("processado") is None else Standing.OPEN), None


_INVOICE_NUMBERS = ("numeroDaNotaFiscalEletronica", "chaveDaNotaFiscalEletronica")


def _invoice_state(invoice: Record, _state_of_log: StateOfLog) -> tuple[Standing, Text | None]:
    if any(invoice.get(name) for name in _INVOICE_NUMBERS):
        return Standing.DONE, None
    shown = any(name in invoice for name in _INVOICE_NUMBERS)
    return (Standing.OPEN if shown else Standing.UNTOLD), None


def _inventory_state(inventory: Record, _state_of_log: StateOfLog) -> tuple[Standing, Text | None]:
    if inventory.get("encerrado") is True:
        unprocessed = not inventory.get("idProcessamento")
        return Standing.DONE, _CLOSED_UNPROCESSED if unprocessed else None
    if inventory.get("emProcessamento") is True:
        return Standing.RUNNING, None
    if inventory.get("idProcessamento"):
        return Standing.DONE, None
    if inventory.get("podeProcessar") is None:
        return Standing.UNTOLD, None
    if inventory["podeProcessar"] is True:
        return Standing.OPEN, None
    situation = inventory.get("situacaoDoInventario") or "–"
    return Standing.CLOSED, _NOT_ALLOWED.format(situation=situation)


_REJECTED = "registrosRejeitados"
_BY_IMPORT_STATE = {
    ImportState.PENDING: Standing.OPEN,
    ImportState.RUNNING: Standing.RUNNING,
    ImportState.FINISHED: Standing.DONE,
}


def _log_state(log: Record, state_of_log: StateOfLog) -> tuple[Standing, Text | None]:
    told = ImportLog.model_validate(log)
    state = state_of_log(told)
    if state is None:
        return Standing.UNTOLD, _UNKNOWN_WORD.format(word=told.situacao or "–")
    return _BY_IMPORT_STATE[state], None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessKind:
    """Kind of records that are processed one by one.

    ``listing`` is its name, as ``export`` has it. ``process`` takes a record's number in its path;
    ``read`` does too, or is the listing of all, where the interface reads none by its number.
    ``number`` is the field of that number, ``headers`` are the columns of sheets that have it.
    ``judge`` tells the standing by what was read; ``given`` are the fields that the system fills.
    ``is_queued`` says that a request only starts what the system does in the background.
    ``final`` says what cannot be undone.
    """

    listing: str
    process: Operation
    read: Operation
    number: str
    headers: tuple[str, ...]
    judge: Callable[[Record, StateOfLog], tuple[Standing, Text | None]]
    given: tuple[str, ...]
    noun: Text
    final: Text
    is_queued: bool = False

    @property
    def is_listed(self) -> bool:
        """True where a record is read from the listing of all."""
        return not self.read.path_parameters

    def state_of(self, record: Record, state_of_log: StateOfLog) -> RecordState:
        """Return the state of a record that was read, or that an answer shows."""
        standing, remark = self.judge(record, state_of_log)
        given = {name: record[name] for name in self.given if record.get(name) not in (None, "")}
        if self.is_queued and (rejected := ImportLog.model_validate(record).rejected) is not None:
            given[_REJECTED] = rejected
        return RecordState(standing, given, remark)


KINDS: Mapping[str, ProcessKind] = {
    kind.listing: kind
    for kind in (
        ProcessKind(
            listing="pedidos",
            process=SALES_ORDER_PROCESS,
            read=SALES_ORDER_LIST,
            number="numeroDoPedido",
            headers=("numeroDoPedido", "numeroPedido"),
            judge=_order_state,
            given=("idNF", "dataDeProcessamento"),
            noun=Text(pt="pedido", en="order"),
            final=Text(
                pt="É definitivo: processar um pedido abre os títulos e gera a nota fiscal; a "
                "interface não desfaz.",
                en="This is final: processing an order opens its titles and generates its invoice; "
                "the interface cannot reverse it.",
            ),
        ),
        ProcessKind(
            listing="nfe",
            process=PRODUCT_INVOICE_PROCESS,
            read=PRODUCT_INVOICE_GET,
            number="idNF",
            headers=("idNF",),
            judge=_invoice_state,
            given=_INVOICE_NUMBERS,
            noun=Text(pt="nota", en="invoice"),
            final=Text(
                pt="É definitivo: a NF-e é emitida perante a SEFAZ; cancelar segue regras fiscais "
                "próprias, fora desta interface.",
                en="This is final: the invoice is emitted before the tax authority; cancelling it "
                "follows fiscal rules of its own, outside of this interface.",
            ),
        ),
        ProcessKind(
            listing="nfse",
            process=SERVICE_INVOICE_PROCESS,
            read=SERVICE_INVOICE_GET,
            number="idNF",
            headers=("idNF",),
            judge=_invoice_state,
            given=_INVOICE_NUMBERS,
            noun=Text(pt="nota", en="invoice"),
            final=Text(
                pt="É definitivo: a NFS-e é emitida perante a prefeitura; cancelar segue regras "
                "fiscais próprias, fora desta interface.",
                en="This is final: the service invoice is emitted before the tax authority; "
                "cancelling it follows fiscal rules of its own, outside of this interface.",
            ),
        ),
        ProcessKind(
            listing="inventario",
            process=INVENTORY_PROCESS,
            read=INVENTORY_SHOW,
            number="idInventario",
            headers=("idInventario",),
            judge=_inventory_state,
            given=("idProcessamento", "logProcessamento", "situacaoDoInventario"),
            noun=Text(pt="inventário", en="inventory"),
            final=Text(
                pt="É definitivo: processar um inventário ajusta os saldos às quantidades "
                "contadas; a interface não desfaz.",
                en="This is final: processing an inventory adjusts balances to the counted "
                "quantities; the interface cannot reverse it.",
            ),
        ),
        ProcessKind(
            listing="importacao",
            process=IMPORT_PROCESS,
            read=IMPORT_LOG,
            number="id",
            headers=("id",),
            judge=_log_state,
            given=("totalDeRegistros", "registrosImportados", _REJECTED),
            noun=Text(pt="arquivo", en="file"),
            final=Text(
                pt="É definitivo: as linhas dos arquivos são gravadas no sistema.",
                en="This is final: the rows of the files are written to the system.",
            ),
            is_queued=True,
        ),
    )
}
"""Every kind, by the name of its listing."""


def find_kind(listing: str) -> ProcessKind:
    """Return the kind of that name, its case, accents and plural aside.

    Raises ``UsageError`` when there is none.
    """
    known = resolve_name(listing, KINDS)
    if known is None:
        raise UsageError(
            Text(
                pt="Os registros de {name!r} não são processados.",
                en="Records of {name!r} are not processed.",
            ).format(name=listing),
            Text(pt="{meant}Existem: {names}.", en="{meant}There are: {names}.").format(
                meant=suggestion(listing, KINDS), names=", ".join(KINDS)
            ),
        )
    return KINDS[known]


@dataclass(frozen=True, slots=True)
class RecordNumbers:
    """Numbers of records, each once, in the order in which they were given.

    ``rows`` are the Excel rows that they stand in, or their places from 1 on where there is no
    ``file``. ``columns`` gives the zero-based position of their column. ``hidden`` counts numbers
    that stand in hidden rows, ``empty`` filled rows without a number, ``repeated`` further rows
    with a number that was there already.
    """

    numbers: Sequence[int]
    rows: Sequence[int]
    file: str = ""
    sheet: str = ""
    columns: Mapping[str, int] = field(default_factory=dict)
    hidden: int = 0
    empty: int = 0
    repeated: int = 0


def given_numbers(given: Sequence[int]) -> RecordNumbers:
    """Return numbers that were given by themselves. Raises ``UsageError`` where one cannot be."""
    wrong = [number for number in given if number < 1]
    if wrong or not given:
        raise UsageError(
            Text(
                pt="Não é número de registro: {numbers}.",
                en="Not the number of a record: {numbers}.",
            ).format(numbers=", ".join(map(str, wrong)) or "–")
        )
    numbers = list(dict.fromkeys(given))
    return RecordNumbers(numbers, range(1, len(numbers) + 1), repeated=len(given) - len(numbers))
