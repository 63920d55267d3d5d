"""System info. Source: the spec, System info."""

from sqlalchemy import select

from xlbridge.sandbox.call import Call, handles
from xlbridge.sandbox.tables.access import users
from xlbridge.sandbox.tables.registries import companies
from xlbridge.wire.operations.utilities import SYSTEM_INFO
from xlbridge.wire.system import SystemInfo


@handles(SYSTEM_INFO)
def system_info(call: Call) -> SystemInfo:
    user = call.connection.execute(select(users).where(users.c.id == call.user_id)).one()
    company = call.connection.execute(select(companies)).one()
    return SystemInfo(
        codigoDaEmpresa=company.code,
        nomeComercial=company.name,
        codigoDoUsuario=user.code,
        nomeDoUsuario=user.name,
        email=user.email,
        administrador=user.administrator,
        ativo=user.active,
    )
