"""Intake of an uploaded workbook: read, judged line by line, and written.

Source: the spec, Import, and Authentication and utilities.
"""

import hashlib
import importlib
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any, cast

from pydantic import ValidationError
from sqlalchemy import Connection

from xlbridge.errors import UsageError, WorkbookRefused
from xlbridge.resources import Catalogue, Resource, row_model
from xlbridge.sandbox.areas.financial.rules import PayableIntake, ReceivableIntake
from xlbridge.sandbox.areas.registry.rules import ClientIntake
from xlbridge.sandbox.areas.sales.services import ServiceInvoiceIntake
from xlbridge.sandbox.areas.stock.addressings import AddressingIntake
from xlbridge.sandbox.call import Sandbox
from xlbridge.sandbox.imports.records import OwnRecordIntake, UploadedLine, UploadedSheet
from xlbridge.sandbox.problems import Intake, invalid, record_problems, validation_problems
from xlbridge.settings import WorkbookLimits
from xlbridge.wire import WireModel
from xlbridge.wire.financial import PayableInput, ReceivableInput
from xlbridge.wire.protocol import UPLOAD_FIELD
from xlbridge.wire.registry import ClientInput
from xlbridge.wire.services import ServiceInvoiceInput
from xlbridge.wire.stock import AddressingInput

_INTAKES: dict[type[WireModel], Callable[[Connection, datetime], Intake[Any, Any]]] = {
    ClientInput: ClientIntake,
    ReceivableInput: ReceivableIntake,
    PayableInput: PayableIntake,
    ServiceInvoiceInput: ServiceInvoiceIntake,
    AddressingInput: AddressingIntake,
}


def read_upload(
    content: bytes, resource: Resource, catalogue: Catalogue, limits: WorkbookLimits
) -> UploadedSheet:
    """Read an uploaded workbook; its lines carry what the resource's schema finds wrong.

    Raises ``RequestError`` (400) when it is not a readable .xlsx, it is unclear which of its
    sheets is meant, or its layout is wrong.
    """
    # pandas and pandera cost most of a second: they are loaded when the first file comes.
    sheets = importlib.import_module("xlbridge.sandbox.imports.sheets")
    try:
        sheet = cast("UploadedSheet", sheets.read_workbook(content, resource, catalogue, limits))
    except (WorkbookRefused, UsageError) as error:
        raise invalid((UPLOAD_FIELD, error.message.pt)) from error
    if sheet.layout:
        raise invalid(*sheet.layout)
    return sheet


_MOST_LINES_KEPT = 50_000
"""Most lines of a sheet that is kept: some 50 MB."""


def read_again(content: bytes, resource: Resource, sandbox: Sandbox) -> UploadedSheet:
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
        read = read_upload(content, resource, sandbox.catalogue, sandbox.limits).lines
    last.kept = (key, read) if len(read) <= _MOST_LINES_KEPT else None
    # Problems are added to them that may be none the next time.
    return UploadedSheet([replace(line, problems=[*line.problems]) for line in read], [])


def require_no_failed_lines(sheet: UploadedSheet) -> None:
    """Raise ``RequestError`` (400) naming every failed line, if there is one."""
    problems = [
        (key, f"Linha {line.row}: {message}")
        for line in sheet.failed
        for key, message in line.problems
    ]
    if problems:
        raise invalid(*problems)


def wire_records(sheet: UploadedSheet, resource: Resource) -> list[dict[str, Any]]:
    """Return the records that were read, as they go over the wire."""
    model = row_model(resource)
    return [_as_json(_input(line, model)) for line in sheet.lines]


def import_lines(
    sheet: UploadedSheet, resource: Resource, connection: Connection, now: datetime
) -> None:
    """Write the lines that break no rule; the others are given their problems."""
    intake = make_intake(resource, connection, now)
    model = row_model(resource)
    for line in sheet.lines:
        if line.problems:
            continue
        try:
            data = _input(line, model)
        except ValidationError as error:
            line.problems.extend(validation_problems(error))
            continue
        if isinstance(data, WireModel):
            line.problems.extend(record_problems(data))
        # A number beyond the limits cannot even be looked up in every database.
        if not line.problems:
            line.problems.extend(intake.problems(data))
        if not line.problems:
            intake.accept(data)
    intake.write()


def make_intake(resource: Resource, connection: Connection, now: datetime) -> Intake[Any, Any]:
    """Return the intake of a resource, within one transaction."""
    model = row_model(resource)
    if model is None:
        return OwnRecordIntake(connection, resource.name)
    return _INTAKES[model](connection, now)


def line_input(line: UploadedLine, resource: Resource) -> Any:
    """Return a line as the record that its resource's rules judge. Raises ``ValidationError``."""
    return _input(line, row_model(resource))


def _input(line: UploadedLine, model: type[WireModel] | None) -> Any:
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
