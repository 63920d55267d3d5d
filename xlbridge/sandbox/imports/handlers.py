"""Imports of uploaded workbooks, at once or by a background thread that works through the queue.

Source: the spec, Import, and Authentication and utilities.
"""

import hashlib
import logging
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from sqlalchemy import Connection

from xlbridge.errors import UsageError, WorkbookRefused
from xlbridge.resources import Catalogue, Column, Kind, Resource
from xlbridge.sandbox.areas.financial.rules import PayableRegistration, ReceivableRegistration
from xlbridge.sandbox.areas.registry.rules import ClientRegistration
from xlbridge.sandbox.areas.sales.invoices import ServiceInvoiceRegistration
from xlbridge.sandbox.areas.stock.addresses import AddressingRegistration
from xlbridge.sandbox.handler_registry import Call, Sandbox, handles
from xlbridge.sandbox.imports import queue
from xlbridge.sandbox.imports.queue import OwnRecordRegistration, UploadedLine
from xlbridge.sandbox.problems import (
    Problem,
    Registration,
    RequestError,
    invalid,
    not_found,
    record_problems,
    validation_problems,
)
from xlbridge.sandbox.storage import TRANSIENT_ERRORS
from xlbridge.settings import WorkbookLimits
from xlbridge.wire import Operation, WireModel
from xlbridge.wire.financial import PayableInput, ReceivableInput
from xlbridge.wire.imports import (
    IMPORT,
    IMPORT_ADDRESSING,
    IMPORT_LOG,
    IMPORT_PROCESS,
    IMPORT_QUEUE,
    AddressingRecord,
    AddressingRecords,
    ImportLog,
    ImportQuery,
    ImportRecords,
)
from xlbridge.wire.model import UPLOAD_FIELD
from xlbridge.wire.registry import ClientInput
from xlbridge.wire.services import ServiceInvoiceInput
from xlbridge.wire.stock import AddressingInput
from xlbridge.workbook.read import require_xlsx

if TYPE_CHECKING:
    import pandas as pd

    from xlbridge.validation import ValidatedSheet

IMPORTED_RESOURCES: Mapping[
    type[WireModel], Callable[[Connection, datetime], Registration[Any, Any]]
] = {
    ClientInput: ClientRegistration,
    ReceivableInput: ReceivableRegistration,
    PayableInput: PayableRegistration,
    ServiceInvoiceInput: ServiceInvoiceRegistration,
    AddressingInput: AddressingRegistration,
}
"""The rules of the area that judge and write the rows of a resource, by the resource's model."""


_CENTS = Decimal("0.01")
_COMPARED_IN_COLUMN = frozenset({"code-shape", "code-decimals"})
"""Findings that depend on the other codes of the column, of which a file may have a part only."""


def read_upload(
    content: bytes, resource: Resource, catalogue: Catalogue, limits: WorkbookLimits
) -> list[UploadedLine]:
    """Read an uploaded workbook; its lines carry what the resource's schema finds wrong.

    Raises ``RequestError`` (400) when it is not a readable .xlsx, it is unclear which of its
    sheets is meant, or its layout is wrong.
    """
    # pandas and pandera cost most of a second: they are loaded when the first file comes.
    from xlbridge.validation import validate_workbook

    with tempfile.TemporaryDirectory(prefix="xlbridge-") as folder:
        path = Path(folder) / "upload.xlsx"
        path.write_bytes(content)
        try:
            validated = validate_workbook(path, catalogue, resource=resource.name, limits=limits)
            require_xlsx(path)
        except (WorkbookRefused, UsageError) as error:
            raise invalid((UPLOAD_FIELD, error.message.pt)) from error
    lines = [] if validated.header_row is None else list(_lines(validated, resource))
    by_row = {line.row: line for line in lines}
    layout: list[Problem] = []
    for finding in validated.error_findings():
        if finding.kind.code not in _COMPARED_IN_COLUMN:
            line = None if finding.row is None else by_row.get(finding.row)
            # A message may quote its cell, and no database but SQLite keeps a NUL.
            told = finding.message.pt.replace("\0", "\N{REPLACEMENT CHARACTER}")
            (layout if line is None else line.problems).append((finding.column or "", told))
    if layout:
        raise invalid(*layout)
    return lines


def _lines(validated: "ValidatedSheet", resource: Resource) -> Iterator[UploadedLine]:
    columns = [_plain_values(validated.frame[column.name], column) for column in resource.columns]
    names = [column.name for column in resource.columns]
    for row, values in zip(validated.rows, zip(*columns, strict=True), strict=True):
        pairs = zip(names, values, strict=True)
        yield UploadedLine(row, {name: value for name, value in pairs if value is not None})


def _plain_values(values: "pd.Series[Any]", column: Column) -> list[Any]:
    if values.isna().all():
        return [None] * len(values)
    plain = _PLAIN.get(column.kind, str)
    return [
        None if missing else plain(value)
        for value, missing in zip(values.array, values.isna(), strict=True)
    ]


_PLAIN: Mapping[Kind, Callable[[Any], Any]] = {
    Kind.INTEGER: int,
    Kind.MONEY: lambda value: Decimal(str(value)).quantize(_CENTS),
    Kind.NUMBER: lambda value: Decimal(str(value)),
    Kind.DATE: lambda value: value.to_pydatetime(),
    Kind.BOOLEAN: bool,
}
"""Converters from values of a frame to plain ones, by kind; any other kind becomes a text."""


_MOST_LINES_KEPT = 50_000
"""Most lines of a sheet that is kept: some 50 MB."""


def read_again(content: bytes, resource: Resource, sandbox: Sandbox) -> list[UploadedLine]:
    """Read an uploaded workbook, which mostly comes again: previewed, queued, processed.

    The one that came last is kept as it was read. Raises as ``read_upload``.
    """
    key = hashlib.sha256(b"\0".join((resource.name.encode(), content))).digest()
    last = sandbox.last_upload
    # Several calls read and write this at a time: each sees one pair or another.
    kept = last.kept
    if kept is not None and kept[0] == key:
        read: list[UploadedLine] = kept[1]
    else:
        read = read_upload(content, resource, sandbox.catalogue, sandbox.limits)
    last.kept = (key, read) if len(read) <= _MOST_LINES_KEPT else None
    # Problems are added to them that may be none the next time.
    return [replace(line, problems=[*line.problems]) for line in read]


def require_no_failed_lines(lines: Iterable[UploadedLine]) -> None:
    """Raise ``RequestError`` (400) naming every failed line, if there is one."""
    problems = [
        (key, f"Linha {line.row}: {message}") for line in lines for key, message in line.problems
    ]
    if problems:
        raise invalid(*problems)


def import_lines(
    lines: Iterable[UploadedLine], resource: Resource, connection: Connection, now: datetime
) -> None:
    """Write the lines that break no rule; the others are given their problems."""
    registration = new_registration(resource, connection, now)
    for line in lines:
        if line.problems:
            continue
        try:
            data = line_input(line, resource)
        except ValidationError as error:
            line.problems.extend(validation_problems(error))
            continue
        if isinstance(data, WireModel):
            line.problems.extend(record_problems(data))
        # A number beyond the limits cannot even be looked up in every database.
        if not line.problems:
            line.problems.extend(registration.problems(data))
        if not line.problems:
            registration.accept(data)
    registration.write()


def new_registration(
    resource: Resource, connection: Connection, now: datetime
) -> Registration[Any, Any]:
    """Return the registration of a resource, within one transaction."""
    model = resource.row_model
    if model is None:
        return OwnRecordRegistration(connection, resource.name)
    return IMPORTED_RESOURCES[model](connection, now)


def line_input(line: UploadedLine, resource: Resource) -> Any:
    """Return a line as the record that its resource's rules judge. Raises ``ValidationError``."""
    model = resource.row_model
    if model is None:
        return {name: _as_json_value(value) for name, value in line.record.items()}
    return model.model_validate(line.record)


def _as_json(data: Any) -> dict[str, Any]:
    if isinstance(data, WireModel):
        return data.model_dump(mode="json", exclude_none=True)
    return dict(data)


def _as_json_value(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return value if isinstance(value, (str, int, bool)) else float(value)


@handles(IMPORT)
def import_directly(call: Call) -> ImportRecords:
    records = _import(call, _resource(call, IMPORT))
    return ImportRecords(totalDeRegistros=len(records), registros=records)


@handles(IMPORT_ADDRESSING)
def import_addressing(call: Call) -> AddressingRecords:
    records = _import(call, _resource(call, IMPORT_ADDRESSING))
    return AddressingRecords(
        totalDeRegistros=len(records),
        produtoMapeamentoEstoque=[AddressingRecord.model_validate(record) for record in records],
    )


@handles(IMPORT_QUEUE)
def import_later(call: Call) -> int:
    resource = _resource(call, IMPORT_QUEUE)
    file = call.workbook()
    read_again(file.content, resource, call.sandbox)
    released = not resource.paths.needs_processar
    log_id = queue.enqueue(
        call.connection,
        resource=resource.name,
        filename=file.filename,
        content=file.content,
        user_id=call.owner,
        released=released,
        now=call.now,
    )
    call.after_commit(call.sandbox.wake_worker)
    return log_id


@handles(IMPORT_PROCESS)
def process(call: Call) -> ImportLog:
    released = queue.release(call.connection, call.path["id"])
    log = _log(call)
    if not released:
        raise invalid(("id", f"O arquivo {log.id} já foi liberado (situação: {log.situacao})."))
    call.after_commit(call.sandbox.wake_worker)
    return log


@handles(IMPORT_LOG)
def show_log(call: Call) -> ImportLog:
    return _log(call)


def _log(call: Call) -> ImportLog:
    log = queue.read_log(call.connection, call.path["id"])
    if log is None:
        raise not_found("id", "Log de importação não encontrado.")
    return log


def _resource(call: Call, operation: Operation) -> Resource:
    """The resource whose sheets the operation takes, by the path or as its only one.

    Raises ``RequestError`` (404) where there is none.
    """
    for resource in call.sandbox.catalogue.values():
        takes = operation.name in (resource.paths.direct_name, resource.paths.queue_name)
        if takes and call.path.get("resource", resource.name) == resource.name:
            return resource
    raise not_found("resource", "Não há importação deste recurso.")


def _import(call: Call, resource: Resource) -> list[dict[str, Any]]:
    lines = read_again(call.workbook().content, resource, call.sandbox)
    require_no_failed_lines(lines)
    if not call.query_as(ImportQuery).preview:
        import_lines(lines, resource, call.connection, call.now)
        require_no_failed_lines(lines)
    return [_as_json(line_input(line, resource)) for line in lines]


_logger = logging.getLogger(__name__)

LINES_AT_ONCE = 20_000
"""Number of lines that one transaction imports: a few seconds' work."""

_IDLE_SECONDS = 5.0


class ImportWorker:
    """A thread that processes released files until it is stopped."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._waiting = Event()
        self._stopping = Event()
        self._thread = Thread(target=self._run, name="import-worker", daemon=True)

    def start(self) -> None:
        """Begin with what an earlier run left."""
        self._thread.start()

    def wake(self) -> None:
        """Tell that a file was released."""
        self._waiting.set()

    def stop(self) -> None:
        """Stop; a file that is being processed is left for the next run."""
        self._stopping.set()
        self._waiting.set()
        self._thread.join(timeout=_IDLE_SECONDS)

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._waiting.clear()
            try:
                busy = self._process_next()
            except Exception:
                _logger.exception("the import worker failed")
                busy = False
            if not busy:
                self._waiting.wait(_IDLE_SECONDS)

    def _process_next(self) -> bool:
        with self._sandbox.storage.transaction(writing=True) as connection:
            file = queue.start_next_file(connection, self._now())
        if file is None:
            return False
        if self._stopping.wait(self._sandbox.behaviour.slow_queue):
            return False
        try:
            sandbox = self._sandbox
            resource = sandbox.catalogue[file.resource]
            lines = read_again(file.content, resource, sandbox)
            sandbox.last_upload.kept = None
            while not self._stopping.is_set() and self._import_next(file.id, lines, resource):
                pass
        except TRANSIENT_ERRORS:
            # It may pass; the file is still running, and taken up again.
            raise
        except Exception as error:
            message = "O arquivo não pôde ser processado."
            if isinstance(error, RequestError):
                message = "; ".join(value for _, value in error.problems)
            else:
                _logger.exception("file %s could not be processed", file.id)
            with self._sandbox.storage.transaction(writing=True) as connection:
                queue.end_file(connection, file.id, self._now(), message)
        return True

    def _import_next(self, log_id: int, lines: list[UploadedLine], resource: Resource) -> bool:
        """Import the next lines, and say whether there are more; others may write in between."""
        with self._sandbox.storage.transaction(writing=True) as connection:
            done = queue.lines_done(connection, log_id)
            if done is None:
                return False
            piece = lines[done : done + LINES_AT_ONCE]
            import_lines(piece, resource, connection, self._now())
            queue.record_lines(connection, log_id, piece, len(lines))
            more = done + len(piece) < len(lines)
            if not more:
                queue.end_file(connection, log_id, self._now())
        return more

    def _now(self) -> datetime:
        return self._sandbox.clock().replace(microsecond=0)
