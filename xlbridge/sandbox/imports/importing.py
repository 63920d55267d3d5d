"""Turning an uploaded workbook into records of the business system.

Source: the spec, Import, and Authentication and utilities.
"""

import importlib
from collections.abc import Callable
from datetime import datetime
from typing import Any, cast

from pydantic import ValidationError
from sqlalchemy import Connection

from xlbridge.errors import UsageError, WorkbookRefused
from xlbridge.limits import WorkbookLimits
from xlbridge.resources.catalogue import Catalogue, record_model
from xlbridge.resources.resource import Resource
from xlbridge.sandbox.answers import invalid
from xlbridge.sandbox.business.addressings import AddressingIntake
from xlbridge.sandbox.business.clients import ClientIntake
from xlbridge.sandbox.business.intake import Intake
from xlbridge.sandbox.business.own_records import OwnRecordIntake
from xlbridge.sandbox.business.payables import PayableIntake
from xlbridge.sandbox.business.receivables import ReceivableIntake
from xlbridge.sandbox.business.service_invoices import ServiceInvoiceIntake
from xlbridge.sandbox.imports.records import Line, Sheet
from xlbridge.sandbox.limits import record_problems
from xlbridge.sandbox.parsing import explain
from xlbridge.wire.financial import PayableInput, ReceivableInput
from xlbridge.wire.imports import UPLOAD_FIELD
from xlbridge.wire.model import WireModel
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
) -> Sheet:
    """Read an uploaded workbook; its lines carry what the resource's schema finds wrong.

    Raises ``RequestError`` (400) when it is not a readable .xlsx, it cannot be told which of its
    sheets is meant, or its layout is wrong.
    """
    # pandas and pandera cost most of a second: they are loaded when the first file comes.
    sheets = importlib.import_module("xlbridge.sandbox.imports.sheets")
    try:
        sheet = cast("Sheet", sheets.read_workbook(content, resource, catalogue, limits))
    except (WorkbookRefused, UsageError) as error:
        raise invalid((UPLOAD_FIELD, error.message.pt)) from error
    if sheet.layout:
        raise invalid(*sheet.layout)
    return sheet


def refuse_failed(sheet: Sheet) -> None:
    """Raise ``RequestError`` (400) naming every failed line, if there is one."""
    problems = [
        (key, f"Linha {line.row}: {message}")
        for line in sheet.failed
        for key, message in line.problems
    ]
    if problems:
        raise invalid(*problems)


def wire_records(sheet: Sheet, resource: Resource) -> list[dict[str, Any]]:
    """Return the records that were read, as they go over the wire."""
    return [_as_json(input_of(line, resource)) for line in sheet.lines]


def take_in(sheet: Sheet, resource: Resource, connection: Connection, now: datetime) -> None:
    """Write the lines that break no rule; the others are given their problems."""
    intake = intake_of(resource, connection, now)
    for line in sheet.lines:
        if line.problems:
            continue
        try:
            data = input_of(line, resource)
        except ValidationError as error:
            line.problems.extend(explain(error))
            continue
        if isinstance(data, WireModel):
            line.problems.extend(record_problems(data))
        # A number beyond the limits cannot even be looked up in every database.
        if not line.problems:
            line.problems.extend(intake.problems(data))
        if not line.problems:
            intake.accept(data)
    intake.write()


def intake_of(resource: Resource, connection: Connection, now: datetime) -> Intake[Any, Any]:
    """Return what takes in the records of a resource, within one transaction."""
    model = record_model(resource)
    if model is None:
        return OwnRecordIntake(connection, resource.name)
    return _INTAKES[model](connection, now)


def input_of(line: Line, resource: Resource) -> Any:
    """Return a line as the record that its resource's rules judge. Raises ``ValidationError``."""
    model = record_model(resource)
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
