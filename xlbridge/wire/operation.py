"""What an operation of the interface is, as data."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_origin

from xlbridge.wire.model import WireModel

Method = Literal["GET", "POST", "PUT", "DELETE"]

_PATH_PARAMETER = re.compile(r"{(\w+)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One method and path of the interface, with everything that a caller or a server must know.

    ``path_types`` gives the type of each parameter in the path (``int`` where none is named).
    ``data`` is the type of the envelope's ``data``, or of the whole answer where ``enveloped`` is
    false. ``upload`` says that the request is a multipart form with one workbook.
    ``repeatable`` says that sending the request again, after its answer was lost, changes nothing
    that the first had not, and is answered as the first was: a deletion repeated is a 404, which
    would tell of a failure where there was none. ``single_record_filters`` are the fields of the
    query that name a single record.
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
    repeatable: bool = False
    single_record_filters: tuple[str, ...] = ()

    @property
    def path_parameters(self) -> dict[str, type]:
        """The parameters in the path, in order, with their types."""
        names = _PATH_PARAMETER.findall(self.path)
        return {name: self.path_types.get(name, int) for name in names}

    def asks_for_one(self, query: WireModel | None) -> bool:
        """Whether a call names a single record: only then ``data`` may be null.

        Source: the spec, Response envelope.
        """
        by_key = bool(self.path_parameters) and get_origin(self.data) is not list
        named = (getattr(query, name, None) for name in self.single_record_filters)
        return by_key or any(value is not None for value in named)
