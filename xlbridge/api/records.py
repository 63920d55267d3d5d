"""A listing's records as plain dicts: no object is built per record, so large listings stay fast.

Names end up in the spec's own spelling, unknown fields are left out, values stay as JSON has them
(decimal numbers exact).
"""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, get_args

from xlbridge.api.answer import Unreadable
from xlbridge.i18n import Text
from xlbridge.wire.model import WireModel, spellings

Record = dict[str, Any]
_Convert = Callable[[Any], Any]


def record_model(annotation: Any) -> type[WireModel] | None:
    """Return the record type within an annotation such as ``list[Client] | Client | None``."""
    if isinstance(annotation, type) and issubclass(annotation, WireModel):
        return annotation
    return next(filter(None, map(record_model, get_args(annotation))), None)


def read_records(model: type[WireModel]) -> Callable[[Any], Iterator[Record]]:
    """Return what reads the ``data`` of a listing whose records have the fields of ``model``.

    One object is one record, null is none. Raises ``Unreadable`` at once for data that is no
    listing.
    """

    def read(data: Any) -> Iterator[Record]:
        rows = [] if data is None else data if isinstance(data, list) else [data]
        for row in rows:
            _require_object(row)
        return _consume(rows, _converter(model))

    return read


def _consume(rows: list[Any], convert: _Convert) -> Iterator[Record]:
    """Yield the rows in order and let go of each, so that memory shrinks on the way."""
    rows.reverse()
    while rows:
        yield convert(rows.pop())


@cache
def _converter(model: type[WireModel]) -> _Convert:
    names = spellings(model)
    nested = {
        name: _converter(inner)
        for name, field in model.model_fields.items()
        if (inner := record_model(field.annotation))
    }

    def convert(row: Any) -> Record:
        _require_object(row)
        record = {names[key]: value for key, value in row.items() if key in names}
        for name, convert_item in nested.items():
            if record.get(name) is not None:
                record[name] = _nested(record[name], convert_item)
        return record

    return convert


def _nested(value: Any, convert: _Convert) -> Any:
    return [convert(item) for item in value] if isinstance(value, list) else convert(value)


def _require_object(row: Any) -> None:
    if not isinstance(row, dict):
        raise Unreadable(
            Text(
                pt="Um registro da listagem não é um objeto: veio {kind}.",
                en="A record of the listing is not an object: {kind} came.",
            ).format(kind=type(row).__name__)
        )
