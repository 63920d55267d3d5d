"""System info. Source: the spec, System info."""

from xlbridge.wire.model import WireModel


class SystemInfo(WireModel):
    """The company and the user that a token belongs to."""

    codigoDaEmpresa: int
    nomeComercial: str | None = None
    codigoDoUsuario: str | None = None
    nomeDoUsuario: str | None = None
    email: str | None = None
    administrador: bool | None = None
    ativo: bool | None = None
