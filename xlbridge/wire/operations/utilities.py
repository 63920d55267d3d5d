"""Authentication, system info, imports. Source: the spec, Authentication and utilities."""

from xlbridge.wire.authentication import Authentication, Credentials
from xlbridge.wire.imports import AddressingRecords, ImportLog, ImportQuery, ImportRecords
from xlbridge.wire.operation import Operation
from xlbridge.wire.system import SystemInfo

_SECTION = "Authentication and utilities"

AUTHENTICATE = Operation(
    name="authenticate",
    method="POST",
    path="/v2/autenticar",
    section=_SECTION,
    body=Credentials,
    data=Authentication,
    enveloped=False,
    authenticated=False,
    repeatable=True,
)
SYSTEM_INFO = Operation(
    name="system.info",
    method="GET",
    path="/v2/sistema/info",
    section=_SECTION,
    data=SystemInfo,
    repeatable=True,
)
IMPORT = Operation(
    name="imports.direct",
    method="POST",
    path="/v2/importacao/{resource}",
    path_types={"resource": str},
    section=_SECTION,
    query=ImportQuery,
    upload=True,
    data=ImportRecords,
)
IMPORT_QUEUE = Operation(
    name="imports.queue",
    method="POST",
    path="/v2/importacao/{resource}/fila",
    path_types={"resource": str},
    section=_SECTION,
    upload=True,
    data=int,
)
IMPORT_PROCESS = Operation(
    name="imports.process",
    method="POST",
    path="/v2/importacao/processar-arquivo/{id}",
    section=_SECTION,
    data=ImportLog,
)
IMPORT_LOG = Operation(
    name="imports.log",
    method="GET",
    path="/v2/importacao/log-importacao/{id}",
    section=_SECTION,
    data=ImportLog,
    repeatable=True,
)
IMPORT_ADDRESSING = Operation(
    name="imports.addressing",
    method="POST",
    path="/v2/sistema/importacao/enderecamento-de-produto",
    section=_SECTION,
    query=ImportQuery,
    upload=True,
    data=AddressingRecords,
)

OPERATIONS = (
    AUTHENTICATE,
    SYSTEM_INFO,
    IMPORT,
    IMPORT_QUEUE,
    IMPORT_PROCESS,
    IMPORT_LOG,
    IMPORT_ADDRESSING,
)
