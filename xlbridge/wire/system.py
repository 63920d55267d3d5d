"""System info. Source: the spec, System info."""

from xlbridge.wire.model import WireModel


class SystemInfo(WireModel):
    """The company and the user that a token belongs to."""

    codigoDaEmpresa: int
    nomeComercial: str
    codigoDoUsuario: str
    nomeDoUsuario: str
    email: str
    administrador: bool
    ativo: bool
