"""The response envelope and the error envelope. Source: the spec, Response envelope and Errors."""

from typing import Any

from xlbridge.wire.model import Moment, WireModel


class ErrorItem(WireModel):
    """One error: ``key`` is the field concerned, ``value`` the message."""

    key: str = ""
    value: str = ""
    dateOccurred: Moment | None = None


class Envelope(WireModel):
    """What every answer looks like, except authentication's.

    ``data`` is there on success, ``errors`` only without it; detail of a failure may be found
    under ``notifications`` instead.
    """

    success: bool
    data: Any = None
    errors: list[ErrorItem] | None = None
    notifications: list[ErrorItem] | None = None

    @property
    def complaints(self) -> list[ErrorItem]:
        """The items of a failure, wherever they stand."""
        return [*(self.errors or []), *(self.notifications or [])]
