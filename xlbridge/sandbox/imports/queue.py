"""Queue of uploaded files, with their logs and rejected lines.

Source: the spec, Import and States (import log).
"""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

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

from xlbridge.sandbox.areas.registry.tables import users
from xlbridge.sandbox.columns import metadata
from xlbridge.wire.imports import ImportLog, ImportState, RejectedLine

if TYPE_CHECKING:
    from xlbridge.sandbox.imports.lines import UploadedLine

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


def enqueue(
    connection: Connection, *, resource: str, filename: str, content: bytes, user_id: int,
    released: bool, now: datetime,
) -> int:  # fmt: skip
    """Store a file and return the id of its log; the worker processes it once ``released``."""
    statement = insert(import_logs).values(
        resource=resource,
        filename=filename,
        content=content,
        user_id=user_id,
        state=ImportState.PENDING,
        released=released,
        included=now,
    )
    return int(connection.execute(statement.returning(import_logs.c.id)).scalar_one())


def release(connection: Connection, log_id: int) -> bool:
    """Release a waiting file to the worker. Return False if it already was."""
    statement = update(import_logs).where(import_logs.c.id == log_id, ~import_logs.c.released)
    return connection.execute(statement.values(released=True)).rowcount == 1


def read_log(connection: Connection, log_id: int) -> ImportLog | None:
    """Return a file's log, None if there is none."""
    log = connection.execute(select(*_LOG_COLUMNS).where(import_logs.c.id == log_id)).one_or_none()
    if log is None:
        return None
    lines = connection.execute(
        select(rejected_lines)
        .where(rejected_lines.c.log_id == log_id)
        .order_by(rejected_lines.c.line)
    ).all()
    return ImportLog(
        id=log.id,
        recurso=log.resource,
        nomeDoArquivo=log.filename or None,
        situacao=ImportState(log.state),
        dataDeInclusao=log.included,
        dataDeInicio=log.started,
        dataDeConclusao=log.finished,
        totalDeRegistros=log.total,
        registrosImportados=log.imported,
        registrosRejeitados=len(lines),
        linhasRejeitadas=[
            RejectedLine(linha=line.line, coluna=line.column, mensagem=line.message)
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
        import_logs.c.state == ImportState.RUNNING,
        (import_logs.c.state == ImportState.PENDING) & import_logs.c.released,
    )
    oldest = select(import_logs).where(unfinished).order_by(import_logs.c.id).limit(1)
    file = connection.execute(oldest).one_or_none()
    if file is not None:
        connection.execute(
            update(import_logs)
            .where(import_logs.c.id == file.id)
            .values(state=ImportState.RUNNING, started=now)
        )
    return file


def has_unfinished_files(connection: Connection) -> bool:
    """Return whether a released file is not finished."""
    unfinished = import_logs.c.released & (import_logs.c.state != ImportState.FINISHED)
    return bool(connection.scalar(select(exists().where(unfinished))))


def count_done_lines(connection: Connection, log_id: int) -> int | None:
    """Return how many lines of a running file are done; None if another process finished it."""
    imported = connection.scalar(select(import_logs.c.imported).where(_is_running(log_id)))
    if imported is None:
        return None
    rejected = select(func.count()).where(rejected_lines.c.log_id == log_id)
    return int(imported) + int(connection.scalar(rejected) or 0)


def record_lines(
    connection: Connection, log_id: int, lines: Sequence["UploadedLine"], total: int
) -> None:
    """Record the outcome of the next lines of a file with ``total`` lines."""
    failed = [line for line in lines if line.problems]
    imported = import_logs.c.imported + len(lines) - len(failed)
    statement = update(import_logs).where(_is_running(log_id))
    connection.execute(statement.values(total=total, imported=imported))
    if failed:
        connection.execute(insert(rejected_lines), [_rejection(log_id, line) for line in failed])


def _is_running(log_id: int) -> ColumnElement[bool]:
    return (import_logs.c.id == log_id) & (import_logs.c.state == ImportState.RUNNING)


def finish_file(
    connection: Connection, log_id: int, now: datetime, message: str | None = None
) -> None:
    """Mark a file as finished and notify its user; ``message`` is why processing failed."""
    values = {"state": ImportState.FINISHED, "finished": now, "message": message}
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


def _rejection(log_id: int, line: "UploadedLine") -> dict[str, object]:
    (column, first), *others = line.problems
    message = "; ".join([first, *(f"{key}: {value}" for key, value in others)])
    return {"log_id": log_id, "line": line.row, "column": column or None, "message": message}
