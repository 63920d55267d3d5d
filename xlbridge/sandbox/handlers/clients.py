"""Clients. Source: the spec, Client, Registry and Limits."""

from sqlalchemy import exists, select, update

from xlbridge.sandbox.answers import invalid, not_found
from xlbridge.sandbox.business.clients import ClientIntake
from xlbridge.sandbox.business.documents import bare_document
from xlbridge.sandbox.business.intake import admit
from xlbridge.sandbox.call import Call, handles
from xlbridge.sandbox.tables.clients import clients
from xlbridge.sandbox.windows import window
from xlbridge.wire.operations.registry import CLIENT_CREATE, CLIENT_LIST, CLIENT_SET_IDWS
from xlbridge.wire.registry import CLIENT_CAP, Client, ClientIdws, ClientInput, ClientQuery


@handles(CLIENT_CREATE)
def create(call: Call) -> Client:
    return admit(ClientIntake(call.connection, call.now), call.sent(ClientInput))


@handles(CLIENT_SET_IDWS)
def set_idws(call: Call) -> Client:
    wanted = call.sent(ClientIdws)
    of_client = clients.c.codigoDoCliente == wanted.codigoDoCliente
    others = ~of_client & (clients.c.idws == wanted.idws)
    if call.connection.scalar(select(exists().where(others))):
        raise invalid(("idws", f"O identificador {wanted.idws} já é de outro cliente."))
    changed = call.connection.execute(
        update(clients)
        .where(of_client)
        .values(idws=wanted.idws, ultimaAtualizacao=call.now)
        .returning(clients)
    ).one_or_none()
    if changed is None:
        raise not_found("codigoDoCliente", "Cliente não encontrado.")
    return Client.model_construct(**changed._mapping)


@handles(CLIENT_LIST)
def list_clients(call: Call) -> Client | list[Client] | None:
    query = call.queried(ClientQuery)
    found = select(clients).order_by(clients.c.ultimaAtualizacao, clients.c.codigoDoCliente)
    found = found.where(
        *window(call, clients.c.ultimaAtualizacao, query.dataInferior, query.dataSuperior)
    )
    if query.idws is not None:
        found = found.where(clients.c.idws == query.idws)
    if query.cnpjcpf is not None:
        found = found.where(clients.c.cnpjcpf == bare_document(query.cnpjcpf))
    if query.idws is None and query.cnpjcpf is None:
        return call.read(Client, found.limit(CLIENT_CAP))
    return next(iter(call.read(Client, found.limit(1))), None)
