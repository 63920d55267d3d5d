"""The response envelope and the error envelope. Source: the spec, Response envelope and Errors."""

from typing import Annotated, Any

from pydantic import ValidationError

from xlbridge.wire.model import Moment, WireModel, null_as


class ErrorItem(WireModel):
    """One error: ``key`` is the field concerned, ``value`` the message."""

    key: Annotated[str, null_as("")] = ""
    value: Annotated[str, null_as("")] = ""
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
    def refused(self) -> bool:
        """Whether it is a failure: by ``success``, or by notifications within ``data``.

        Source: the spec, Purchasing (POST /v2/compras/pedido).
        """
        return not self.success or bool(self._notifications_in_data)

    @property
    def complaints(self) -> list[ErrorItem]:
        """The items of a failure, wherever they stand."""
        return [
            *(self.errors or []),
            *(self.notifications or []),
            *self._notifications_in_data,
        ]

    @property
    def _notifications_in_data(self) -> list[ErrorItem]:
        try:
            return _Notified.model_validate(self.data).notifications
        except ValidationError:
            return []


class _Notified(WireModel):
    notifications: list[ErrorItem]
