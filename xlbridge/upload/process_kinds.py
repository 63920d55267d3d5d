"""Kinds of records that are processed one by one (orders, invoices, inventories, outputs, files),
and the reader of their states.

Each kind is declared once, with the operations that process and read a record and the status that
its fields prove. See the spec, States and transitions, and the product brief, process.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from enum import StrEnum
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from xlbridge.errors import RemoteRejected, UsageError, find_named
from xlbridge.i18n import Text
from xlbridge.upload.requests import failure_of_log
from xlbridge.wire import Operation
from xlbridge.wire.imports import IMPORT_LOG, IMPORT_PROCESS, ImportLog, ImportState
from xlbridge.wire.sales import (
    PRODUCT_INVOICE_GET,
    PRODUCT_INVOICE_PROCESS,
    SALES_ORDER_LIST,
    SALES_ORDER_PROCESS,
    SERVICE_INVOICE_GET,
    SERVICE_INVOICE_PROCESS,
)
from xlbridge.wire.stock import (
    INVENTORY_CLOSE,
    INVENTORY_PROCESS,
    INVENTORY_SHOW,
    INVENTORY_VALIDATE,
    STOCK_MOVEMENTS_OF_PRODUCT,
    STOCK_OUTPUT_CHANGE,
    StockOutputChange,
)

if TYPE_CHECKING:
    from xlbridge.client import Client
    from xlbridge.wire import WireModel

__all__ = [
    "KINDS",
    "ProcessKind",
    "RecordNumbers",
    "explicit_numbers",
    "find_kind",
]

Record = Mapping[str, Any]
StateOfLog = Callable[[ImportLog], ImportState | None]
"""Returns the state of an import log, None if its status word is unknown."""


class RecordStatus(StrEnum):
    """Status of a record: whether it can be processed, or was.

    ``RUNNING``: the system is processing it; ``CLOSED``: it can never be processed; ``UNKNOWN``:
    the system does not show whether it was processed.
    """

    OPEN = "open"
    RUNNING = "running"
    DONE = "done"
    CLOSED = "closed"
    MISSING = "missing"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class RecordState:
    """State of one record: its status, the values that the system has assigned, a remark, and the
    record as it was read."""

    status: RecordStatus
    assigned: Mapping[str, Any] = field(default_factory=dict)
    remark: Text | None = None
    record: Record = field(default_factory=dict, repr=False)


_CANCELLED = Text(pt="está cancelado", en="is cancelled")
_NOT_PENDING = Text(pt="não está pendente", en="is not pending")
_NOT_ALLOWED = Text(
    pt="não permite isto agora (situação: {situation})",
    en="does not allow this now (state: {situation})",
)
_CLOSED_UNPROCESSED = Text(
    pt="está encerrado, mas o sistema não mostra processamento: confira se os saldos foram "
    "ajustados",
    en="is closed, but the system shows no processing: check whether balances were adjusted",
)
_UNKNOWN_WORD = Text(
    pt="a situação do log é “{word}”, de significado desconhecido: informe em XLBRIDGE_LOG_WORDS",
    en="the log's status is “{word}”, whose meaning is unknown: set it in XLBRIDGE_LOG_WORDS",
    page=Text(
        pt="a situação do log é “{word}”, de significado desconhecido: avise quem cuida do "
        "ambiente",
        en="the log's status is “{word}”, whose meaning is unknown: tell the person who looks "
        "after the environment",
    ),
)


def _order_status(order: Record) -> tuple[RecordStatus, Text | None]:
    if order.get("processado") is True:
        return RecordStatus.DONE, None
    if order.get("cancelado") is True:
        return RecordStatus.CLOSED, _CANCELLED
    if order.get("processado") is None and (order.get("dataDeProcessamento") or order.get("idNF")):
        return RecordStatus.DONE, None
    if order.get("pendente") is True:
        return RecordStatus.OPEN, None
    if order.get("pendente") is False:
        return RecordStatus.CLOSED, _NOT_PENDING
    return (RecordStatus.UNKNOWN if order.get("processado") is None else RecordStatus.OPEN), None


_INVOICE_NUMBERS = ("numeroDaNotaFiscalEletronica", "chaveDaNotaFiscalEletronica")


def _invoice_status(invoice: Record) -> tuple[RecordStatus, Text | None]:
    if any(invoice.get(name) for name in _INVOICE_NUMBERS):
        return RecordStatus.DONE, None
    shown = any(name in invoice for name in _INVOICE_NUMBERS)
    return (RecordStatus.OPEN if shown else RecordStatus.UNKNOWN), None


def _inventory_status(inventory: Record) -> tuple[RecordStatus, Text | None]:
    if inventory.get("encerrado") is True:
        unprocessed = not inventory.get("idProcessamento")
        return RecordStatus.DONE, _CLOSED_UNPROCESSED if unprocessed else None
    if inventory.get("emProcessamento") is True:
        return RecordStatus.RUNNING, None
    if inventory.get("idProcessamento"):
        return RecordStatus.DONE, None
    if inventory.get("podeProcessar") is None:
        return RecordStatus.UNKNOWN, None
    if inventory["podeProcessar"] is True:
        return RecordStatus.OPEN, None
    return _not_allowed(inventory)


def _validation_status(inventory: Record) -> tuple[RecordStatus, Text | None]:
    """Return whether an inventory is validated: only then it can be processed, or was."""
    if any(inventory.get(name) for name in ("idProcessamento", "emProcessamento", "podeProcessar")):
        return RecordStatus.DONE, None
    if inventory.get("encerrado") is True:
        return _not_allowed(inventory)
    if inventory.get("podeProcessar") is None:
        return RecordStatus.UNKNOWN, None
    counted = any(inventory.get(f"inventarioContagem{count}") for count in (1, 2, 3))
    return (RecordStatus.OPEN, None) if counted else _not_allowed(inventory)


def _closing_status(inventory: Record) -> tuple[RecordStatus, Text | None]:
    if inventory.get("encerrado") is True:
        return RecordStatus.DONE, None if inventory.get("idProcessamento") else _CLOSED_UNPROCESSED
    if inventory.get("encerrado") is None and inventory.get("podeEncerrar") is None:
        return RecordStatus.UNKNOWN, None
    if inventory.get("podeEncerrar") is False or inventory.get("emProcessamento") is True:
        return _not_allowed(inventory)
    return RecordStatus.OPEN, None


def _not_allowed(inventory: Record) -> tuple[RecordStatus, Text]:
    situation = inventory.get("situacaoDoInventario") or "–"
    return RecordStatus.CLOSED, _NOT_ALLOWED.format(situation=situation)


_ADJUSTMENT = Text(
    pt="é um ajuste de inventário, que não se estorna",
    en="is an adjustment of an inventory, which cannot be reversed",
)

_INCOMPLETE = Text(
    pt="o histórico não mostra a filial e a quantidade, sem as quais não se estorna",
    en="has no branch or quantity in the history, without which it cannot be reversed",
)


def _reversal_status(output: Record) -> tuple[RecordStatus, Text | None]:
    if output.get("estorno") is True:
        return RecordStatus.DONE, None
    if output.get("ajuste") is True:
        return RecordStatus.CLOSED, _ADJUSTMENT
    if output.get("codigoDaFilial") is None or not output.get("quantidade"):
        return RecordStatus.CLOSED, _INCOMPLETE
    return (RecordStatus.UNKNOWN if output.get("estorno") is None else RecordStatus.OPEN), None


def _reversal(output: Record) -> StockOutputChange:
    """Return the body of the request that reverses an output, from its line in the history."""
    return StockOutputChange(
        numeroDaSaida=output["numeroDaMovimentacao"],
        codigoDaFilial=output["codigoDaFilial"],
        quantidade=output["quantidade"],
        estorno=True,
    )


_REJECTED = "registrosRejeitados"
_BY_IMPORT_STATE = {
    ImportState.PENDING: RecordStatus.OPEN,
    ImportState.RUNNING: RecordStatus.RUNNING,
    ImportState.FINISHED: RecordStatus.DONE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessKind:
    """Kind of records that are processed one by one.

    ``name`` is also the name of the listing that has the records, unless ``of_listing`` is.
    ``process`` has the record's number in its path; ``read`` too, or it lists all records.
    ``number`` is the field of that number, and the header of its column in sheets, which may also
    have one of ``other_headers``. ``status_of`` returns the status of a record and a remark; it is
    None for files, whose logs tell both. ``assigned`` are the fields that the system fills.
    ``title`` says what is done to which records, ``noun`` names one. ``is_queued``: a request only
    starts processing in the background.
    ``final`` warns of what cannot be undone.

    Without ``number`` in its path, ``process`` has the ``body`` made from a record that was read.
    ``within`` is the column with the parameter of ``read`` instead of the number; of the records
    and rows that it has, those count whose ``only`` fields have these values.
    """

    name: str
    process: Operation
    read: Operation
    number: str
    status_of: Callable[[Record], tuple[RecordStatus, Text | None]] | None
    assigned: tuple[str, ...]
    title: Text
    noun: Text
    final: Text
    is_queued: bool = False
    other_headers: tuple[str, ...] = ()
    of_listing: str = ""
    body: Callable[[Record], "WireModel"] | None = None
    within: str = ""
    only: Mapping[str, str] = field(default_factory=dict)

    @property
    def listing(self) -> str:
        """Name of the listing that has the records."""
        return self.of_listing or self.name

    @property
    def headers(self) -> tuple[str, ...]:
        """Headers of the column of numbers in sheets."""
        return self.number, *self.other_headers

    @property
    def sheet_hint(self) -> Text:
        """What to do if a sheet has no such column."""
        return Text(
            pt="Use uma planilha como a de: xlbridge export {listing}",
            en="Use a sheet like that of: xlbridge export {listing}",
        ).format(listing=self.listing)

    @property
    def is_listed(self) -> bool:
        """True if records can only be read from the whole listing."""
        return not self.read.path_parameters

    def state_of(self, record: Record, state_of_log: StateOfLog) -> RecordState:
        """Return the state of a record that was read or that is in an answer."""
        assigned = {n: record[n] for n in self.assigned if record.get(n) not in (None, "")}
        if self.status_of is None:
            log = ImportLog.model_validate(record)
            state, remark = state_of_log(log), None
            if state is None:
                status = RecordStatus.UNKNOWN
                remark = _UNKNOWN_WORD.format(word=log.situacao or "–")
            elif state is ImportState.FAILED:
                status, remark = RecordStatus.CLOSED, failure_of_log(log)
            else:
                status = _BY_IMPORT_STATE[state]
            if log.rejected is not None:
                assigned[_REJECTED] = log.rejected
        else:
            status, remark = self.status_of(record)
        return RecordState(status, assigned, remark, record)


KINDS: Mapping[str, ProcessKind] = {
    kind.name: kind
    for kind in (
        ProcessKind(
            name="pedidos",
            process=SALES_ORDER_PROCESS,
            read=SALES_ORDER_LIST,
            number="numeroDoPedido",
            other_headers=("numeroPedido",),
            status_of=_order_status,
            assigned=("idNF", "dataDeProcessamento"),
            title=Text(pt="Pedidos de venda", en="Sales orders"),
            noun=Text(pt="pedido", en="order"),
            final=Text(
                pt="É definitivo: processar um pedido abre os títulos e gera a nota fiscal; a "
                "interface não desfaz.",
                en="This is final: processing an order opens its titles and generates its "
                "invoice; the interface cannot undo it.",
            ),
        ),
        ProcessKind(
            name="nfe",
            process=PRODUCT_INVOICE_PROCESS,
            read=PRODUCT_INVOICE_GET,
            number="idNF",
            status_of=_invoice_status,
            assigned=_INVOICE_NUMBERS,
            title=Text(pt="Notas fiscais de produto", en="Product invoices"),
            noun=Text(pt="nota", en="invoice"),
            final=Text(
                pt="É definitivo: a NF-e é emitida na SEFAZ; o cancelamento segue regras fiscais "
                "próprias, fora desta interface.",
                en="This is final: the invoice is issued with the tax authority; cancelling "
                "it follows fiscal rules of its own, outside this interface.",
            ),
        ),
        ProcessKind(
            name="nfse",
            process=SERVICE_INVOICE_PROCESS,
            read=SERVICE_INVOICE_GET,
            number="idNF",
            status_of=_invoice_status,
            assigned=_INVOICE_NUMBERS,
            title=Text(pt="Notas fiscais de serviço", en="Service invoices"),
            noun=Text(pt="nota", en="invoice"),
            final=Text(
                pt="É definitivo: a NFS-e é emitida na prefeitura; o cancelamento segue regras "
                "fiscais próprias, fora desta interface.",
                en="This is final: the service invoice is issued with the tax authority; "
                "cancelling it follows fiscal rules of its own, outside this interface.",
            ),
        ),
        ProcessKind(
            name="inventario",
            process=INVENTORY_PROCESS,
            read=INVENTORY_SHOW,
            number="idInventario",
            status_of=_inventory_status,
            assigned=("idProcessamento", "logProcessamento", "situacaoDoInventario"),
            title=Text(pt="Inventários", en="Inventory counts"),
            noun=Text(pt="inventário", en="inventory"),
            final=Text(
                pt="É definitivo: processar um inventário ajusta os saldos às quantidades "
                "contadas; a interface não desfaz.",
                en="This is final: processing an inventory adjusts balances to the counted "
                "quantities; the interface cannot undo it.",
            ),
        ),
        ProcessKind(
            name="inventario-validar",
            of_listing="inventario",
            process=INVENTORY_VALIDATE,
            read=INVENTORY_SHOW,
            number="idInventario",
            status_of=_validation_status,
            assigned=("situacaoDoInventario",),
            title=Text(
                pt="Inventários a validar (encerra a contagem)",
                en="Inventory counts to validate (ends the counting)",
            ),
            noun=Text(pt="inventário", en="inventory"),
            final=Text(
                pt="É definitivo: validar um inventário encerra a sua contagem; o sistema não a "
                "reabre.",
                en="This is final: validating an inventory ends its counting; the interface cannot "
                "reopen it.",
            ),
        ),
        ProcessKind(
            name="inventario-encerrar",
            of_listing="inventario",
            process=INVENTORY_CLOSE,
            read=INVENTORY_SHOW,
            number="idInventario",
            status_of=_closing_status,
            assigned=("situacaoDoInventario", "dataDeEncerramento"),
            title=Text(pt="Inventários a encerrar", en="Inventory counts to close"),
            noun=Text(pt="inventário", en="inventory"),
            final=Text(
                pt="É definitivo: um inventário encerrado não é mais contado nem processado; o que "
                "não foi processado não ajusta saldos.",
                en="This is final: a closed inventory is no longer counted or processed; one that "
                "was not processed adjusts no balances.",
            ),
        ),
        ProcessKind(
            name="saida-estornar",
            of_listing="movimentacoes",
            process=STOCK_OUTPUT_CHANGE,
            read=STOCK_MOVEMENTS_OF_PRODUCT,
            number="numeroDaMovimentacao",
            other_headers=("numeroDaSaida",),
            status_of=_reversal_status,
            assigned=("quantidadeEstornada",),
            title=Text(pt="Saídas de estoque a estornar", en="Stock outputs to reverse"),
            noun=Text(pt="saída", en="output"),
            final=Text(
                pt="É definitivo: o estorno devolve ao estoque a quantidade inteira de cada saída; "
                "a interface não o desfaz.",
                en="This is final: a reversal returns the whole quantity of each output to the "
                "stock; the interface cannot undo it.",
            ),
            body=_reversal,
            within="idProd",
            only={"tipoDeMovimentacao": "Saída"},
        ),
        ProcessKind(
            name="importacao",
            process=IMPORT_PROCESS,
            read=IMPORT_LOG,
            number="id",
            status_of=None,
            assigned=("totalDeRegistros", "registrosImportados", _REJECTED),
            title=Text(pt="Arquivos na fila de importação", en="Files in the import queue"),
            noun=Text(pt="arquivo", en="file"),
            final=Text(
                pt="É definitivo: as linhas dos arquivos são gravadas no sistema.",
                en="This is final: the rows of the files are written to the system.",
            ),
            is_queued=True,
        ),
    )
}
"""Every kind, by its name."""


def find_kind(name: str) -> ProcessKind:
    """Return the kind with the given name, regardless of case, accents and plural.

    Raises ``UsageError`` if there is none.
    """
    message = Text(
        pt="Os registros de {name!r} não são processados.",
        en="Records of {name!r} are not processed.",
    )
    return find_named(name, KINDS, message)


@dataclass(frozen=True, slots=True)
class RecordNumbers:
    """Distinct numbers of records, in order.

    ``rows`` are their Excel rows, or ordinal numbers from 1 without a ``file``. ``columns`` has the
    zero-based position of their column. ``hidden`` counts numbers in hidden rows, ``empty`` filled
    rows without a number, ``repeated`` rows with a number that occurred before. ``places`` are the
    values of the kind's column ``within``.
    """

    numbers: Sequence[int]
    rows: Sequence[int]
    places: Mapping[int, int] = field(default_factory=dict)
    file: str = ""
    sheet: str = ""
    columns: Mapping[str, int] = field(default_factory=dict)
    hidden: int = 0
    empty: int = 0
    repeated: int = 0


def explicit_numbers(kind: ProcessKind, values: Sequence[int]) -> RecordNumbers:
    """Return numbers that do not come from a sheet.

    Raises ``UsageError`` if one is invalid, or records of this kind have to come from a sheet.
    """
    if kind.within:
        raise UsageError(
            Text(
                pt="{name} precisa de uma planilha com as colunas {number} e {within}.",
                en="{name} needs a sheet with the columns {number} and {within}.",
            ).format(name=kind.name, number=kind.number, within=kind.within),
            kind.sheet_hint,
        )
    wrong = [number for number in values if number < 1]
    if wrong or not values:
        raise UsageError(
            Text(
                pt="Não é número de registro: {numbers}.",
                en="Not the number of a record: {numbers}.",
            ).format(numbers=", ".join(map(str, wrong)) or "–")
        )
    numbers = list(dict.fromkeys(values))
    return RecordNumbers(numbers, range(1, len(numbers) + 1), repeated=len(values) - len(numbers))


_NOT_FOUND = (HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND)
"""Statuses for a record that does not exist. See the spec, Errors."""


class StateReader:
    """Reader of the states of records, with ``at_once`` concurrent requests.

    ``places`` are the values of the kind's column ``within``, by number.
    """

    def __init__(
        self,
        client: "Client",
        kind: ProcessKind,
        places: Mapping[int, int],
        at_once: int = 1,
    ) -> None:
        self._client = client
        self._kind = kind
        self._places = places
        self._at_once = at_once

    def read(self, numbers: Sequence[int]) -> dict[int, RecordState]:
        """Return the current state of each record.

        Raises ``RemoteRejected``, ``TransportError`` or ``AuthenticationFailed`` if the system
        cannot be read.
        """
        if self._kind.is_listed:
            states = dict.fromkeys(numbers, RecordState(RecordStatus.MISSING))
            for record in self._client.records(self._kind.read):
                number = record.get(self._kind.number)
                if number in states:
                    quirks = self._client.target.quirks
                    states[number] = self._kind.state_of(record, quirks.state_of)
            return states
        together: dict[int, list[int]] = {}
        for number in numbers:
            together.setdefault(self._places.get(number, number), []).append(number)
        if self._at_once == 1 or len(together) == 1:
            found = list(map(self._read_place, together, together.values()))
        else:
            with ThreadPoolExecutor(self._at_once) as pool:
                found = list(pool.map(self._read_place, together, together.values()))
        return {number: state for states in found for number, state in states.items()}

    def of_answer(self, data: "WireModel | None") -> RecordState | None:
        """Return the state in the answer to a request, None if there is none."""
        if data is None:
            return None
        record = data.model_dump(mode="json", exclude_unset=True)
        return self._kind.state_of(record, self._client.target.quirks.state_of)

    def _read_place(self, place: int, numbers: Sequence[int]) -> dict[int, RecordState]:
        """Return the states of the records in one answer: a single record, or those ``within``."""
        kind = self._kind
        path = dict.fromkeys(kind.read.path_parameters, place)
        missing = RecordState(RecordStatus.MISSING)
        try:
            records = list(self._client.records(kind.read, path=path))
        except RemoteRejected as error:
            if error.status not in _NOT_FOUND:
                raise
            missing, records = RecordState(RecordStatus.MISSING, remark=error.message), []
        if kind.within:
            counted = (one for one in records if kind.only.items() <= one.items())
            by_number = {record.get(kind.number): record for record in counted}
        else:
            by_number = dict(zip(numbers, records, strict=False))
        return {
            number: kind.state_of(by_number[number], self._client.target.quirks.state_of)
            if number in by_number
            else missing
            for number in numbers
        }
