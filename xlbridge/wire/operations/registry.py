"""Clients and the other registries. Source: the spec, Endpoints, Registry."""

from xlbridge.wire.operation import Operation
from xlbridge.wire.registry import Client, ClientIdws, ClientInput, ClientQuery

_SECTION = "Registry"

CLIENT_CREATE = Operation(
    name="registry.clients.create",
    method="POST",
    path="/v2/cliente",
    section=_SECTION,
    body=ClientInput,
    data=Client,
)
CLIENT_SET_IDWS = Operation(
    name="registry.clients.set_idws",
    method="PUT",
    path="/v2/cliente/idws",
    section=_SECTION,
    body=ClientIdws,
    data=Client,
    repeatable=True,
)
CLIENT_LIST = Operation(
    name="registry.clients.list",
    method="GET",
    path="/v2/cliente",
    section=_SECTION,
    query=ClientQuery,
    data=list[Client] | Client | None,
    repeatable=True,
)

OPERATIONS = (
    CLIENT_CREATE,
    CLIENT_SET_IDWS,
    CLIENT_LIST,
)
