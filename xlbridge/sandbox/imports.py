"""Imports of uploaded workbooks, directly or through the queue, which a thread processes: reading
their lines, importing them as records, logs.

Records of resources without a wire model are stored as JSON. Source: the spec, Import, States
(import log), and Authentication and utilities.
"""

import hashlib
import logging
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from io import BytesIO
from pathlib import Path
from threading import Event, Thread
from typing import Any
from zipfile import BadZipFile, ZipFile

from pydantic import ValidationError
from sqlalchemy import (
    JSON,
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
    select,
    update,
)

from xlbridge.errors import UsageError, WorkbookRefused
from xlbridge.resources import Catalogue, Kind, Resource
from xlbridge.sandbox.area_declarations import Call, Sandbox, handles, metadata
from xlbridge.sandbox.areas.invoices import ServiceInvoiceRegistration
from xlbridge.sandbox.areas.records import ClientRegistration
from xlbridge.sandbox.areas.registries import RecordRegistration, users
from xlbridge.sandbox.areas.stock import AddressingRegistration
from xlbridge.sandbox.areas.titles import PayableRegistration, ReceivableRegistration
from xlbridge.sandbox.problems import (
    Problem,
    RequestError,
    first_or_404,
    invalid,
    limit_problem,
    not_found,
    validation_problems,
)
from xlbridge.sandbox.storage import TRANSIENT_ERRORS
from xlbridge.settings import WorkbookLimits
from xlbridge.wire import WireModel, imports
from xlbridge.wire.financial import PayableInput, ReceivableInput
from xlbridge.wire.imports import FIRST_LINE, Quirks
from xlbridge.wire.model import UPLOAD_FIELD, AddressingPlace
from xlbridge.wire.registry import ClientInput
from xlbridge.wire.sales import ServiceInvoiceInput
from xlbridge.wire.stock import AddressingInput
from xlbridge.workbook.read import require_xlsx


@dataclass(slots=True)
class UploadedLine:
    """One line: Excel row number, filled cells by column, problems."""

    row: int
    record: dict[str, Any]
    problems: list[Problem] = field(default_factory=list)


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
    by_row: dict[int, UploadedLine] = {}
    if validated.header_row is not None:
        converted = [
            [
                None if missing else (column.name, _CONVERTERS.get(column.kind, str)(value))
                for value, missing in zip(values.array, values.isna(), strict=True)
            ]
            for column in resource.columns
            for values in [validated.frame[column.name]]
        ]
        by_row = {
            row: UploadedLine(row, dict(filter(None, cells)))
            for row, *cells in zip(validated.rows, *converted, strict=True)
        }
    layout: list[Problem] = []
    for finding in validated.error_findings():
        if finding.kind.code not in _WHOLE_COLUMN_FINDINGS:
            line = None if finding.row is None else by_row.get(finding.row)
            # A message may quote its cell, and only SQLite stores NUL.
            message = finding.message.pt.replace("\0", "\N{REPLACEMENT CHARACTER}")
            (layout if line is None else line.problems).append((finding.column or "", message))
    if layout:
        raise invalid(*layout)
    return [*by_row.values()]


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
    # Read once: another thread may replace it.
    entry = sandbox.last_upload
    if entry is not None and entry[0] == key:
        lines: list[UploadedLine] = entry[1]
    else:
        spelled = sandbox.behaviour.quirks.spellings
        taken = _with_taken_headers(content, spelled, sandbox.limits) if spelled else content
        lines = read_upload(taken, resource, sandbox.catalogue, sandbox.limits)
    sandbox.last_upload = (key, lines) if len(lines) <= _MAX_CACHED_LINES else None
    # Copies: callers add problems that may not apply the next time.
    return [replace(line, problems=[*line.problems]) for line in lines]


def _with_taken_headers(
    content: bytes, spelled: Mapping[str, str], limits: WorkbookLimits
) -> bytes:
    """Return a workbook in which headers with a spelling in ``spelled`` have a known name in that
    one only; one that reading refuses is returned unchanged."""
    from xlbridge.workbook.edit import with_headers  # Few sandboxes need it.

    names = {spelling: name for name, spelling in spelled.items()}
    folded = {name.casefold() for name in spelled}

    def taken(header: str) -> str:
        is_ignored = header not in names and header.casefold() in folded
        return f"{header} (ignored)" if is_ignored else names.get(header, header)

    try:
        with ZipFile(BytesIO(content)) as book:
            size = sum(entry.file_size for entry in book.infolist())
        return content if size > limits.total_size else with_headers(content, taken)
    except (BadZipFile, UnicodeDecodeError):
        return content


def sent_line(row: int, quirks: Quirks) -> int:
    """Return the number that the system gives to a row of Excel."""
    return row - FIRST_LINE + quirks.first_line


def require_no_failed_lines(lines: Iterable[UploadedLine], quirks: Quirks) -> None:
    """Raise ``RequestError`` (400) with the problems of all lines, if there are any."""
    problems = [
        (key, f"Linha {sent_line(line.row, quirks)}: {message}")
        for line in lines
        for key, message in line.problems
    ]
    if problems:
        raise invalid(*problems)


def import_lines(
    lines: Iterable[UploadedLine], resource: Resource, connection: Connection, now: datetime
) -> None:
    """Write the valid lines; add their problems to the others."""
    model = resource.row_model
    registration: RecordRegistration[Any] = (
        OwnRecordRegistration(connection, now, resource.name)
        if model is None
        else IMPORTED_RESOURCES[model](connection, now)
    )
    for line in lines:
        if line.problems:
            continue
        try:
            data = line_input(line, resource)
        except ValidationError as error:
            line.problems.extend(validation_problems(error))
            continue
        if isinstance(data, WireModel):
            line.problems += (
                (name, problem)
                for name, value in data
                if value is not None and (problem := limit_problem(name, value)) is not None
            )
        # Not every database can look up a number beyond the limits.
        if not line.problems:
            line.problems.extend(registration.problems(data))
        if not line.problems:
            registration.accept(data)
    registration.write()


def line_input(line: UploadedLine, resource: Resource) -> Any:
    """Return a line as input of its resource's registration. Raises ``ValidationError``."""
    model = resource.row_model
    if model is None:
        return {
            name: value.isoformat()
            if isinstance(value, datetime)
            else value
            if isinstance(value, (str, int, bool))
            else float(value)
            for name, value in line.record.items()
        }
    return model.model_validate(line.record)


own_records = Table(
    "own_records",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("resource", Text, nullable=False),
    Column("record", JSON, nullable=False),
)


class OwnRecordRegistration(RecordRegistration[dict[str, Any]]):
    """Registration of records that only their resource's schema validates."""

    def __init__(self, connection: Connection, now: datetime, resource: str) -> None:
        super().__init__(connection, now)
        self._resource = resource

    def problems(self, data: dict[str, Any]) -> list[Problem]:
        """Return no problems: there are no rules beyond the schema."""
        return []

    def accept(self, data: dict[str, Any]) -> dict[str, Any]:
        """Accept a record."""
        self._rows[own_records].append({"resource": self._resource, "record": data})
        return data


IMPORTED_RESOURCES: Mapping[type[WireModel], type[RecordRegistration[Any]]] = {
    ClientInput: ClientRegistration,
    ReceivableInput: ReceivableRegistration,
    PayableInput: PayableRegistration,
    ServiceInvoiceInput: ServiceInvoiceRegistration,
    AddressingInput: AddressingRegistration,
}
"""Registration that validates and writes the rows of a resource, by the resource's model."""

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
_UNFINISHED = import_logs.c.released & (import_logs.c.state != imports.ImportState.FINISHED)


def read_log(connection: Connection, log_id: int, quirks: Quirks) -> imports.ImportLog:
    """Return a file's log in the system's words. Raises ``RequestError`` (404) if it is missing."""
    found = connection.execute(select(*_LOG_COLUMNS).where(import_logs.c.id == log_id)).all()
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
    oldest = select(import_logs).where(_UNFINISHED).order_by(import_logs.c.id).limit(1)
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
    return bool(connection.scalar(select(exists().where(_UNFINISHED))))


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
    log_id = call.path["id"]
    waiting = update(import_logs).where(import_logs.c.id == log_id, ~import_logs.c.released)
    released = call.connection.execute(waiting.values(released=True)).rowcount
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
            resource = self._sandbox.catalogue[file.resource]
            lines = read_cached(file.content, resource, self._sandbox)
            self._sandbox.last_upload = None
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
