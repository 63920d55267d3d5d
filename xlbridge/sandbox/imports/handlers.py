"""Imports of uploaded workbooks, directly or by a background thread that processes the queue.

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
from xlbridge.wire import WireModel
from xlbridge.wire.financial import PayableInput, ReceivableInput
from xlbridge.wire.imports import (
    IMPORT,
    IMPORT_ADDRESSING,
    IMPORT_LOG,
    IMPORT_PROCESS,
    IMPORT_QUEUE,
    AddressingRecords,
    ImportLog,
    ImportQuery,
    ImportRecords,
)
from xlbridge.wire.model import UPLOAD_FIELD, AddressingPlace
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
"""Registration that validates and writes the rows of a resource, by the resource's model."""


_CENTS = Decimal("0.01")
_WHOLE_COLUMN_FINDINGS = frozenset({"code-shape", "code-decimals"})
"""Findings that depend on the other codes of the column; a file may have only part of them."""


def read_upload(
    content: bytes, resource: Resource, catalogue: Catalogue, limits: WorkbookLimits
) -> list[UploadedLine]:
    """Read an uploaded workbook; its lines have the problems found by the resource's schema.

    Raises ``RequestError`` (400) if it is not a readable .xlsx, its sheet is ambiguous, or its
    layout is wrong.
    """
    # Loads pandas and pandera, which takes most of a second, only when needed.
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
        if finding.kind.code not in _WHOLE_COLUMN_FINDINGS:
            line = None if finding.row is None else by_row.get(finding.row)
            # A message may quote its cell, and only SQLite stores NUL.
            message = finding.message.pt.replace("\0", "\N{REPLACEMENT CHARACTER}")
            (layout if line is None else line.problems).append((finding.column or "", message))
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
    convert = _CONVERTERS.get(column.kind, str)
    return [
        None if missing else convert(value)
        for value, missing in zip(values.array, values.isna(), strict=True)
    ]


_CONVERTERS: Mapping[Kind, Callable[[Any], Any]] = {
    Kind.INTEGER: int,
    Kind.MONEY: lambda value: Decimal(str(value)).quantize(_CENTS),
    Kind.NUMBER: lambda value: Decimal(str(value)),
    Kind.DATE: lambda value: value.to_pydatetime(),
    Kind.BOOLEAN: bool,
}
"""Converters from values of a frame to plain ones, by kind; other kinds become text."""


_MAX_CACHED_LINES = 50_000
"""Maximum lines of a sheet in the cache: some 50 MB."""


def read_cached(content: bytes, resource: Resource, sandbox: Sandbox) -> list[UploadedLine]:
    """Read an uploaded workbook through the cache: most are previewed, queued and processed.

    Raises like ``read_upload``.
    """
    key = hashlib.sha256(b"\0".join((resource.name.encode(), content))).digest()
    cache = sandbox.upload_cache
    # Read once: another thread may replace the entry.
    entry = cache.entry
    if entry is not None and entry[0] == key:
        lines: list[UploadedLine] = entry[1]
    else:
        lines = read_upload(content, resource, sandbox.catalogue, sandbox.limits)
    cache.entry = (key, lines) if len(lines) <= _MAX_CACHED_LINES else None
    # Copies: callers add problems that may not apply the next time.
    return [replace(line, problems=[*line.problems]) for line in lines]


def require_no_failed_lines(lines: Iterable[UploadedLine]) -> None:
    """Raise ``RequestError`` (400) with the problems of all lines, if there are any."""
    problems = [
        (key, f"Linha {line.row}: {message}") for line in lines for key, message in line.problems
    ]
    if problems:
        raise invalid(*problems)


def import_lines(
    lines: Iterable[UploadedLine], resource: Resource, connection: Connection, now: datetime
) -> None:
    """Write the valid lines; add their problems to the others."""
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
        # Not every database can look up a number beyond the limits.
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
    """Return a line as input of its resource's registration. Raises ``ValidationError``."""
    model = resource.row_model
    if model is None:
        return {name: _as_json_value(value) for name, value in line.record.items()}
    return model.model_validate(line.record)


def _as_json_value(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return value if isinstance(value, (str, int, bool)) else float(value)


@handles(IMPORT)
def import_directly(call: Call) -> ImportRecords:
    records = _import(call)
    return ImportRecords(totalDeRegistros=len(records), registros=records)


@handles(IMPORT_ADDRESSING)
def import_addressing(call: Call) -> AddressingRecords:
    records = _import(call)
    return AddressingRecords(
        totalDeRegistros=len(records),
        produtoMapeamentoEstoque=[AddressingPlace.model_validate(record) for record in records],
    )


@handles(IMPORT_QUEUE)
def queue_import(call: Call) -> int:
    resource = _resource(call)
    file = call.workbook()
    read_cached(file.content, resource, call.sandbox)
    log_id = queue.enqueue(
        call.connection,
        resource=resource.name,
        filename=file.filename,
        content=file.content,
        user_id=call.authenticated_user_id,
        released=not resource.paths.needs_processar,
        now=call.now,
    )
    call.on_commit.append(call.sandbox.wake_worker)
    return log_id


@handles(IMPORT_PROCESS)
def process(call: Call) -> ImportLog:
    released = queue.release(call.connection, call.path["id"])
    log = show_log(call)
    if not released:
        raise invalid(("id", f"O arquivo {log.id} já foi liberado (situação: {log.situacao})."))
    call.on_commit.append(call.sandbox.wake_worker)
    return log


@handles(IMPORT_LOG)
def show_log(call: Call) -> ImportLog:
    log = queue.read_log(call.connection, call.path["id"])
    if log is None:
        raise not_found("id", "Log de importação não encontrado.")
    return log


def _resource(call: Call) -> Resource:
    """Return the resource of an import, from the path or as the only one of its operation.

    Raises ``RequestError`` (404) if there is none.
    """
    operation = call.operation.name
    for resource in call.sandbox.catalogue.values():
        accepted = operation in (resource.paths.direct_name, resource.paths.queue_name)
        if accepted and call.path.get("resource", resource.name) == resource.name:
            return resource
    raise not_found("resource", "Não há importação deste recurso.")


def _import(call: Call) -> list[dict[str, Any]]:
    resource = _resource(call)
    lines = read_cached(call.workbook().content, resource, call.sandbox)
    require_no_failed_lines(lines)
    if not call.query_as(ImportQuery).preview:
        import_lines(lines, resource, call.connection, call.now)
        require_no_failed_lines(lines)
    records = (line_input(line, resource) for line in lines)
    return [
        record.model_dump(mode="json", exclude_none=True)
        if isinstance(record, WireModel)
        else record
        for record in records
    ]


_logger = logging.getLogger(__name__)

LINES_PER_TRANSACTION = 20_000
"""Lines that one transaction imports: a few seconds' work."""

_IDLE_SECONDS = 5.0


class ImportWorker:
    """Thread that processes released files until it is stopped."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._wake = Event()
        self._stopping = Event()
        self._thread = Thread(target=self._run, name="import-worker", daemon=True)

    def start(self) -> None:
        """Start with files left by an earlier run."""
        self._thread.start()

    def wake(self) -> None:
        """Signal that a file was released."""
        self._wake.set()

    def stop(self) -> None:
        """Stop; a file in progress is left for the next run."""
        self._stopping.set()
        self._wake.set()
        self._thread.join(timeout=_IDLE_SECONDS)

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._wake.clear()
            try:
                has_worked = self._process_next()
            except Exception:
                _logger.exception("the import worker failed")
                has_worked = False
            if not has_worked:
                self._wake.wait(_IDLE_SECONDS)

    def _process_next(self) -> bool:
        with self._sandbox.storage.transaction(writing=True) as connection:
            file = queue.start_next_file(connection, self._now())
        if file is None:
            return False
        if self._stopping.wait(self._sandbox.behaviour.faults.slow_queue):
            return False
        try:
            sandbox = self._sandbox
            resource = sandbox.catalogue[file.resource]
            lines = read_cached(file.content, resource, sandbox)
            sandbox.upload_cache.entry = None
            while not self._stopping.is_set() and self._import_next(file.id, lines, resource):
                pass
        except TRANSIENT_ERRORS:
            # The file is still marked as running, and will be resumed.
            raise
        except Exception as error:
            message = "O arquivo não pôde ser processado."
            if isinstance(error, RequestError):
                message = "; ".join(value for _, value in error.problems)
            else:
                _logger.exception("file %s could not be processed", file.id)
            with self._sandbox.storage.transaction(writing=True) as connection:
                queue.finish_file(connection, file.id, self._now(), message)
        return True

    def _import_next(self, log_id: int, lines: list[UploadedLine], resource: Resource) -> bool:
        """Import the next lines in one transaction, and return whether more are left."""
        with self._sandbox.storage.transaction(writing=True) as connection:
            done = queue.count_done_lines(connection, log_id)
            if done is None:
                return False
            batch = lines[done : done + LINES_PER_TRANSACTION]
            import_lines(batch, resource, connection, self._now())
            queue.record_lines(connection, log_id, batch, len(lines))
            has_more = done + len(batch) < len(lines)
            if not has_more:
                queue.finish_file(connection, log_id, self._now())
        return has_more

    def _now(self) -> datetime:
        return self._sandbox.clock().replace(microsecond=0)
