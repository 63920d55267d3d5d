"""Login and system info, which belong to no business area, and all operations by name.

Source: the spec, Authentication, System info.
"""

from datetime import datetime

from pydantic import Field

from xlbridge.wire import financial, imports, purchasing, registry, sales, stock
from xlbridge.wire.model import Operation, WireModel

TIMESTAMP_FORMAT = "%Y-%m-%d %H:%M:%S"


def parse_timestamp(text: str | None) -> datetime | None:
    """Return a time in the answer to a login, None if it is missing or has another shape."""
    try:
        return datetime.strptime(text or "", TIMESTAMP_FORMAT)
    except ValueError:
        return None


class Credentials(WireModel):
    """Request body of the login: an integration user's e-mail and password."""

    email: str = Field(min_length=1)
    password: str = Field(min_length=1, repr=False)


class Authentication(WireModel):
    """Response to a login, always with HTTP 200: ``authenticated`` decides.

    ``created`` and ``expiration`` have the shape ``YYYY-MM-DD HH:mm:ss``.
    """

    authenticated: bool
    created: str | None = None
    expiration: str | None = None
    accessToken: str | None = Field(default=None, repr=False)
    message: str | None = None

    @property
    def expiration_text(self) -> str:
        """Expiration for people, as it was received if it has another shape; ? if there is none."""
        end = parse_timestamp(self.expiration)
        return (self.expiration or "?") if end is None else f"{end:%d/%m/%Y %H:%M:%S}"


AUTHENTICATE = Operation(
    name="authenticate",
    method="POST",
    path="/v2/autenticar",
    body=Credentials,
    data=Authentication,
    enveloped=False,
    authenticated=False,
    repeatable=True,
)


class SystemInfo(WireModel):
    """Company and user of a token."""

    codigoDaEmpresa: int | None = None
    nomeComercial: str | None = None
    codigoDoUsuario: str | None = None
    nomeDoUsuario: str | None = None
    email: str | None = None
    administrador: bool | None = None
    ativo: bool | None = None


SYSTEM_INFO = Operation.reading("system.info", "/v2/sistema/info", SystemInfo)


_AREAS = (imports, registry, financial, sales, purchasing, stock)

OPERATIONS: dict[str, Operation] = {
    operation.name: operation
    for operation in (
        AUTHENTICATE,
        SYSTEM_INFO,
        *(declared for area in _AREAS for declared in vars(area).values()),
    )
    if isinstance(operation, Operation)
}
"""All operations, by name."""
