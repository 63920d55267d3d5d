"""Imports of uploaded workbooks, directly or through the queue, which a thread processes.

Source: the spec, Import, States (import log), and Authentication and utilities.
"""

import logging
from collections.abc import Sequence
from datetime import datetime
from threading import Event, Thread
from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    ColumnElement,
    Connection,
    DateTime,
    ForeignKey,
    Integer,
    LargeBinary,
    Row,
    Table,
    Text,
    UniqueConstraint,
    exists,
    func,
    insert,
    or_,
    select,
    update,
)

from xlbridge.resources import Resource
from xlbridge.sandbox.areas.registries import users
from xlbridge.sandbox.columns import metadata
from xlbridge.sandbox.handler_registry import Call, Sandbox, handles
from xlbridge.sandbox.import_lines import (
    UploadedLine,
    import_lines,
    line_input,
    read_cached,
    require_no_failed_lines,
    sent_line,
)
from xlbridge.sandbox.problems import RequestError, first_or_404, invalid, not_found
from xlbridge.sandbox.storage import TRANSIENT_ERRORS
from xlbridge.wire import WireModel, imports
from xlbridge.wire.imports import Quirks
from xlbridge.wire.model import AddressingPlace

import_logs = Table(
    "import_logs",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("resource", Text, nullable=False),
    Column("filename", Text),
    Column("content", LargeBinary, nullable=False),
    Column("user_id", ForeignKey("users.id"), nullable=False),
    Column("state", Text, nullable=False),
    Column("released", Boolean, nullable=False),
    Column("included", DateTime, nullable=False),
    Column("started", DateTime),
    Column("finished", DateTime),
    Column("total", Integer, nullable=False, default=0),
    Column("imported", Integer, nullable=False, default=0),
    Column("message", Text),
)
rejected_lines = Table(
    "rejected_lines",
    metadata,
    Column("log_id", ForeignKey("import_logs.id"), primary_key=True),
    Column("line", Integer, primary_key=True, autoincrement=False),
    Column("column", Text),
    Column("message", Text, nullable=False),
)
outbox = Table(
    "outbox",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("log_id", ForeignKey("import_logs.id"), nullable=False),
    Column("recipient", Text, nullable=False),
    Column("subject", Text, nullable=False),
    UniqueConstraint("log_id"),
)

_LOG_COLUMNS = [column for column in import_logs.c if column.name != "content"]


def release(connection: Connection, log_id: int) -> bool:
    """Release a waiting file to the worker. Return False if it already was."""
    statement = update(import_logs).where(import_logs.c.id == log_id, ~import_logs.c.released)
    return connection.execute(statement.values(released=True)).rowcount == 1


def read_log(connection: Connection, log_id: int, quirks: Quirks) -> imports.ImportLog:
    """Return a file's log in the system's words. Raises ``RequestError`` (404) if it is missing."""
    by_id = import_logs.c.id == log_id
    found = connection.execute(select(*_LOG_COLUMNS).where(by_id)).all()
    log = first_or_404(found, "id", "Log de importação não encontrado.")
    words = quirks.log_words.items()
    state = imports.ImportState(log.state)
    word = next(
        (word for word, name in words if imports.ImportState[name.upper()] is state), state.value
    )
    rejected = select(rejected_lines).where(rejected_lines.c.log_id == log_id)
    lines = connection.execute(rejected.order_by(rejected_lines.c.line)).all()
    return imports.ImportLog(
        id=log.id,
        recurso=log.resource,
        nomeDoArquivo=(
            log.filename or None if quirks.file_names == "sent" else f"importacao-{log.id}.xlsx"
        ),
        situacao=word,
        dataDeInclusao=log.included,
        dataDeInicio=log.started,
        dataDeConclusao=log.finished,
        totalDeRegistros=log.total,
        registrosImportados=log.imported,
        registrosRejeitados=len(lines),
        linhasRejeitadas=[
            imports.RejectedLine(
                linha=sent_line(line.line, quirks), coluna=line.column, mensagem=line.message
            )
            for line in lines
        ],
        mensagem=log.message,
    )


def start_next_file(connection: Connection, now: datetime) -> Row[Any] | None:
    """Mark the oldest unfinished file as running, and return it; None if there is none.

    A file already running was left by a process that died. It can be resumed, since lines and
    their outcome are committed together.
    """
    unfinished = or_(
        import_logs.c.state == imports.ImportState.RUNNING,
        (import_logs.c.state == imports.ImportState.PENDING) & import_logs.c.released,
    )
    oldest = select(import_logs).where(unfinished).order_by(import_logs.c.id).limit(1)
    file = connection.execute(oldest).one_or_none()
    if file is not None:
        connection.execute(
            update(import_logs)
            .where(import_logs.c.id == file.id)
            .values(state=imports.ImportState.RUNNING, started=now)
        )
    return file


def has_unfinished_files(connection: Connection) -> bool:
    """Return whether a released file is not finished."""
    unfinished = import_logs.c.released & (import_logs.c.state != imports.ImportState.FINISHED)
    return bool(connection.scalar(select(exists().where(unfinished))))


def count_done_lines(connection: Connection, log_id: int) -> int | None:
    """Return how many lines of a running file are done; None if another process finished it."""
    imported = connection.scalar(select(import_logs.c.imported).where(_is_running(log_id)))
    if imported is None:
        return None
    rejected = select(func.count()).where(rejected_lines.c.log_id == log_id)
    return int(imported) + int(connection.scalar(rejected) or 0)


def record_lines(
    connection: Connection,
    log_id: int,
    lines: Sequence[UploadedLine],
    total: int,
    separator: str,
) -> None:
    """Record the outcome of the next lines of a file with ``total`` lines; ``separator`` is what
    separates the messages of a line."""
    failed = [line for line in lines if line.problems]
    imported = import_logs.c.imported + len(lines) - len(failed)
    statement = update(import_logs).where(_is_running(log_id))
    connection.execute(statement.values(total=total, imported=imported))
    rejections = []
    for line in failed:
        (column, first), *others = line.problems
        message = separator.join([first, *(f"{key}: {value}" for key, value in others)])
        rejections.append(
            {"log_id": log_id, "line": line.row, "column": column or None, "message": message}
        )
    if rejections:
        connection.execute(insert(rejected_lines), rejections)


def _is_running(log_id: int) -> ColumnElement[bool]:
    return (import_logs.c.id == log_id) & (import_logs.c.state == imports.ImportState.RUNNING)


def finish_file(
    connection: Connection, log_id: int, now: datetime, message: str | None = None
) -> None:
    """Mark a file as finished and notify its user; ``message`` is why processing failed."""
    values = {"state": imports.ImportState.FINISHED, "finished": now, "message": message}
    finished = connection.execute(update(import_logs).where(_is_running(log_id)).values(values))
    if finished.rowcount != 1:
        return
    email = select(users.c.email).join(import_logs).where(import_logs.c.id == log_id)
    notification = {
        "log_id": log_id,
        "recipient": connection.scalar(email),
        "subject": f"Importação {log_id} concluída",
    }
    connection.execute(insert(outbox).values(notification))


@handles(imports.IMPORT)
def import_directly(call: Call) -> imports.ImportRecords:
    records = _import(call)
    return imports.ImportRecords(totalDeRegistros=len(records), registros=records)


@handles(imports.IMPORT_ADDRESSING)
def import_addressing(call: Call) -> imports.AddressingRecords:
    records = _import(call)
    return imports.AddressingRecords(
        totalDeRegistros=len(records),
        produtoMapeamentoEstoque=[AddressingPlace.model_validate(record) for record in records],
    )


@handles(imports.IMPORT_QUEUE)
def queue_import(call: Call) -> int:
    resource = _resource(call)
    file = call.workbook()
    read_cached(file.content, resource, call.sandbox)
    statement = insert(import_logs).values(
        resource=resource.name,
        filename=file.filename,
        content=file.content,
        user_id=call.authenticated_user_id,
        state=imports.ImportState.PENDING,
        # The worker processes it once it is released.
        released=not call.sandbox.behaviour.quirks.needs_start(
            resource.name, resource.paths.needs_processar
        ),
        included=call.now,
    )
    call.on_commit.append(call.sandbox.file_released.set)
    return int(call.connection.execute(statement.returning(import_logs.c.id)).scalar_one())


@handles(imports.IMPORT_PROCESS)
def process(call: Call) -> imports.ImportLog:
    released = release(call.connection, call.path["id"])
    log = show_log(call)
    if not released:
        raise invalid(("id", f"O arquivo {log.id} já foi liberado (situação: {log.situacao})."))
    call.on_commit.append(call.sandbox.file_released.set)
    return log


@handles(imports.IMPORT_LOG)
def show_log(call: Call) -> imports.ImportLog:
    return read_log(call.connection, call.path["id"], call.sandbox.behaviour.quirks)


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
    quirks = call.sandbox.behaviour.quirks
    require_no_failed_lines(lines, quirks)
    if not call.query_as(imports.ImportQuery).preview:
        import_lines(lines, resource, call.connection, call.now)
        require_no_failed_lines(lines, quirks)
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
            file = start_next_file(connection, self._now())
        if file is None:
            return False
        if self._stopping.wait(self._sandbox.behaviour.faults.slow_queue):
            return False
        try:
            sandbox = self._sandbox
            resource = sandbox.catalogue[file.resource]
            lines = read_cached(file.content, resource, sandbox)
            sandbox.last_upload = None
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
                finish_file(connection, file.id, self._now(), message)
        return True

    def _import_next(self, log_id: int, lines: list[UploadedLine], resource: Resource) -> bool:
        """Import the next lines in one transaction, and return whether more are left."""
        with self._sandbox.storage.transaction(writing=True) as connection:
            done = count_done_lines(connection, log_id)
            if done is None:
                return False
            batch = lines[done : done + LINES_PER_TRANSACTION]
            import_lines(batch, resource, connection, self._now())
            separator = self._sandbox.behaviour.quirks.line_breaks or "; "
            record_lines(connection, log_id, batch, len(lines), separator)
            has_more = done + len(batch) < len(lines)
            if not has_more:
                finish_file(connection, log_id, self._now())
        return has_more

    def _now(self) -> datetime:
        return self._sandbox.clock().replace(microsecond=0)
