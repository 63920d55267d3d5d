"""An operation of the interface as data, and the envelope around every answer.

Source: the spec, Endpoints, Response envelope and Errors.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, get_origin

from pydantic import ValidationError

from xlbridge.wire.model import Moment, WireModel, default_for_invalid, null_as

PURCHASING_SECTION = "Purchasing"

SALES_SECTION = "Sales and billing"

FINANCIAL_SECTION = "Financial"

REGISTRY_SECTION = "Registry"

UTILITIES_SECTION = "Authentication and utilities"

STOCK_SECTION = "Stock"

UPLOAD_FIELD = "ArquivoExcel"
"""The field of a multipart form that carries a workbook."""

XLSX_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
"""The content type of a workbook."""

Method = Literal["GET", "POST", "PUT", "DELETE"]

_PATH_PARAMETER = re.compile(r"{(\w+)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One method and path of the interface, with everything that a client or a server needs.

    ``path_types`` gives the type of each parameter in the path (``int`` where none is named).
    ``data`` is the type of the envelope's ``data``, or of the whole answer where ``enveloped`` is
    false. ``upload`` says that the request is a multipart form with one workbook.
    ``retryable`` says that sending the request again, after its answer was lost, changes nothing
    more and gets the same answer. A deletion is not: the second one is answered with a 404, as if
    it had failed. ``single_record_filters`` are the fields of the
    query that name a single record. ``refuses_in_data`` says that a success whose ``data`` has
    notifications is a refusal.
    """

    name: str
    method: Method
    path: str
    section: str
    data: Any
    path_types: Mapping[str, type] = field(default_factory=dict)
    query: type[WireModel] | None = None
    body: type[WireModel] | None = None
    upload: bool = False
    enveloped: bool = True
    authenticated: bool = True
    retryable: bool = False
    single_record_filters: tuple[str, ...] = ()
    refuses_in_data: bool = False

    @property
    def path_parameters(self) -> dict[str, type]:
        """The parameters in the path, in order, with their types."""
        names = _PATH_PARAMETER.findall(self.path)
        return {name: self.path_types.get(name, int) for name in names}

    def names_one_record(self, query: WireModel | None) -> bool:
        """Tell whether a call names a single record: only then ``data`` may be null.

        Source: the spec, Response envelope.
        """
        by_key = bool(self.path_parameters) and get_origin(self.data) is not list
        named = (getattr(query, name, None) for name in self.single_record_filters)
        return by_key or any(value is not None for value in named)


class ErrorItem(WireModel):
    """One error: ``key`` is the field concerned, ``value`` the message."""

    key: Annotated[str, null_as("")] = ""
    value: Annotated[str, null_as("")] = ""
    dateOccurred: Annotated[Moment | None, default_for_invalid(None)] = None


class Envelope(WireModel):
    """Envelope of every answer except authentication's.

    ``data`` is set on success, ``errors`` only on failure; the details of a failure may be under
    ``notifications`` instead.
    """

    success: bool
    data: Any = None
    errors: list[ErrorItem] | None = None
    notifications: list[ErrorItem] | None = None

    @property
    def tells_errors(self) -> bool:
        """True where the answer has a list of errors, in either of the places for it."""
        return self.errors is not None or self.notifications is not None

    @property
    def error_items(self) -> list[ErrorItem]:
        """The items of a failure, from both places where the answer may have them."""
        return [*(self.errors or []), *(self.notifications or [])]


class _WithNotifications(WireModel):
    notifications: list[ErrorItem]


def notifications_in(data: object) -> list[ErrorItem]:
    """Return the notifications within an answer's ``data``.

    Source: the spec, Purchasing (POST /v2/compras/pedido).
    """
    try:
        return _WithNotifications.model_validate(data).notifications
    except ValidationError:
        return []
