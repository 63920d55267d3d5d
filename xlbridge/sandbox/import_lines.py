"""Lines of an uploaded workbook: reading them, and importing them as records.

Records of resources without a wire model are stored as JSON. Source: the spec, Import.
"""

import hashlib
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

from pydantic import ValidationError
from sqlalchemy import JSON, Column as TableColumn, Connection, Integer, Table, Text

from xlbridge.errors import UsageError, WorkbookRefused
from xlbridge.resources import Catalogue, Kind, Resource
from xlbridge.sandbox.areas.invoices import ServiceInvoiceRegistration
from xlbridge.sandbox.areas.records import ClientRegistration
from xlbridge.sandbox.areas.registries import RecordRegistration
from xlbridge.sandbox.areas.stock import AddressingRegistration
from xlbridge.sandbox.areas.titles import PayableRegistration, ReceivableRegistration
from xlbridge.sandbox.columns import metadata
from xlbridge.sandbox.handler_registry import Sandbox
from xlbridge.sandbox.problems import Problem, invalid, limit_problem, validation_problems
from xlbridge.settings import WorkbookLimits
from xlbridge.wire import WireModel
from xlbridge.wire.financial import PayableInput, ReceivableInput
from xlbridge.wire.imports import FIRST_LINE, Quirks
from xlbridge.wire.model import UPLOAD_FIELD
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
    lines = []
    if validated.header_row is not None:
        frame, columns = validated.frame, resource.columns
        names = [column.name for column in columns]
        converted = [
            [
                None if missing else _CONVERTERS.get(column.kind, str)(value)
                for value, missing in zip(values.array, values.isna(), strict=True)
            ]
            for column, values in ((column, frame[column.name]) for column in columns)
        ]
        for row, values in zip(validated.rows, zip(*converted, strict=True), strict=True):
            pairs = zip(names, values, strict=True)
            filled = {name: value for name, value in pairs if value is not None}
            lines.append(UploadedLine(row, filled))
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
    TableColumn("id", Integer, primary_key=True),
    TableColumn("resource", Text, nullable=False),
    TableColumn("record", JSON, nullable=False),
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
