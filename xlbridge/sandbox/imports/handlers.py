"""Handlers of spreadsheet imports. Source: the spec, Import, Authentication and utilities."""

from typing import Any

from xlbridge.resources import Resource
from xlbridge.sandbox.call import Call, handles
from xlbridge.sandbox.imports import queue
from xlbridge.sandbox.imports.intake import (
    import_lines,
    read_again,
    require_no_failed_lines,
    wire_records,
)
from xlbridge.sandbox.problems import invalid, not_found
from xlbridge.wire import Operation
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
    content = call.workbook().content
    sheet = read_again(content, resource, call.sandbox)
    require_no_failed_lines(sheet)
    if not call.query_as(ImportQuery).preview:
        import_lines(sheet, resource, call.connection, call.now)
        require_no_failed_lines(sheet)
    return wire_records(sheet, resource)
