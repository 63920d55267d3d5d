"""Imports of uploaded workbooks, directly or by a background thread that processes the queue.

Source: the spec, Import, and Authentication and utilities.
"""

import logging
from datetime import datetime
from threading import Event, Thread
from typing import Any

from xlbridge.resources import Resource
from xlbridge.sandbox.handler_registry import Call, Sandbox, handles
from xlbridge.sandbox.imports import queue
from xlbridge.sandbox.imports.lines import (
    UploadedLine,
    import_lines,
    line_input,
    read_cached,
    require_no_failed_lines,
)
from xlbridge.sandbox.problems import RequestError, invalid, not_found
from xlbridge.sandbox.storage import TRANSIENT_ERRORS
from xlbridge.wire import WireModel
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
from xlbridge.wire.model import AddressingPlace


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
    call.on_commit.append(call.sandbox.file_released.set)
    return log_id


@handles(IMPORT_PROCESS)
def process(call: Call) -> ImportLog:
    released = queue.release(call.connection, call.path["id"])
    log = show_log(call)
    if not released:
        raise invalid(("id", f"O arquivo {log.id} já foi liberado (situação: {log.situacao})."))
    call.on_commit.append(call.sandbox.file_released.set)
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
        self._stopping = Event()
        self._thread = Thread(target=self._run, name="import-worker", daemon=True)

    def start(self) -> None:
        """Start with files left by an earlier run."""
        self._thread.start()

    def stop(self) -> None:
        """Stop; a file in progress is left for the next run."""
        self._stopping.set()
        self._sandbox.file_released.set()
        self._thread.join(timeout=_IDLE_SECONDS)

    def _run(self) -> None:
        while True:
            # Before anything is looked up, so that no later signal is lost.
            self._sandbox.file_released.clear()
            if self._stopping.is_set():
                return
            try:
                has_worked = self._process_next()
            except Exception:
                _logger.exception("the import worker failed")
                has_worked = False
            if not has_worked:
                self._sandbox.file_released.wait(_IDLE_SECONDS)

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
