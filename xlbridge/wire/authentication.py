"""Authentication. Source: the spec, Authentication."""

from pydantic import Field

from xlbridge.wire.model import WireModel

TIMESTAMP_FORMAT = "%Y-%m-%d %H:%M:%S"


class Credentials(WireModel):
    """Request body of the login: an integration user's e-mail and password."""

    email: str = Field(min_length=1)
    password: str = Field(min_length=1, repr=False)


class Authentication(WireModel):
    """Answer of the login, always with HTTP 200: ``authenticated`` decides.

    ``created`` and ``expiration`` have the shape ``YYYY-MM-DD HH:mm:ss``.
    """

    authenticated: bool
    created: str | None = None
    expiration: str | None = None
    accessToken: str | None = Field(default=None, repr=False)
    message: str | None = None
