"""A listing's records as plain dicts, one by one as the answer comes in.

No object is built per record, so large listings stay fast, and none is kept, so they need no more
memory than small ones. Names end up in the spec's own spelling, values stay as JSON has them
(decimal numbers exact).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, get_args

import httpx

from xlbridge.api.answer import Unreadable
from xlbridge.api.json_text import BadJson, JsonText, ReadNumber
from xlbridge.i18n import Text
from xlbridge.wire.envelope import Envelope
from xlbridge.wire.model import WireModel, spellings

Record = dict[str, Any]
Seen = Callable[[bytes], object]
"""Is given an answer piece by piece, as it came."""

_Convert = Callable[[Any], Any]
_Rename = Callable[[Record], Record]

_LOOKED_AT = 10_000
_MOST_PLANS = 1_000

_CUT = Text(
    pt="A resposta parou no meio, depois de {n} registros: nada diz que foram todos.",
    en="The answer stopped midway, after {n} records: nothing says that they were all.",
)
_NOT_JSON = Text(
    pt="A resposta deixou de ser JSON depois de {n} registros.",
    en="The answer stopped being JSON after {n} records.",
)


def record_model(annotation: Any) -> type[WireModel] | None:
    """Return the record type within an annotation such as ``list[Client] | Client | None``."""
    if isinstance(annotation, type) and issubclass(annotation, WireModel):
        return annotation
    return next(filter(None, map(record_model, get_args(annotation))), None)


class ListingAnswer:
    """The answer to a listing while it comes in: an envelope whose ``data`` is not kept.

    ``envelope`` is whole once ``records`` has come to its end; ``data`` is in it only where it is
    no list. ``seen`` is given every piece of the answer.
    """

    def __init__(
        self, reply: httpx.Response, numbers: ReadNumber | None = None, seen: Seen | None = None
    ) -> None:
        self.reply = reply
        self.envelope: dict[str, Any] = {}
        self.opening = ""
        pieces = reply.iter_bytes() if seen is None else _shown(reply.iter_bytes(), seen)
        self._text = JsonText(pieces, numbers)

    @property
    def is_object(self) -> bool:
        """Whether it begins as an envelope does; ``opening`` is the text that has come then."""
        try:
            first = self._text.peek()
        except (BadJson, httpx.RequestError):
            return False
        self.opening = self._text.opening(_LOOKED_AT)
        return first == "{"

    def records(self) -> Iterator[Any]:
        """Yield the items of ``data`` as they come in, unless the envelope has failed before.

        Raises ``Unreadable`` when the answer breaks off or is no JSON: what was yielded may not
        be all.
        """
        count = 0
        try:
            for record in self._read():
                yield record
                count += 1
        except BadJson as error:
            raise Unreadable((_CUT if error.ended else _NOT_JSON).format(n=count)) from None
        except httpx.RequestError:
            raise Unreadable(_CUT.format(n=count)) from None

    def _read(self) -> Iterator[Any]:
        text, names = self._text, spellings(Envelope)
        text.expect("{")
        while True:
            name = text.value()
            text.expect(":")
            member = names.get(name) if isinstance(name, str) else None
            if member == "data" and text.peek() == "[" and self.envelope.get("success", True):
                yield from text.items()
            else:
                self.envelope[member or str(name)] = text.value()
            if not text.accept(","):
                break
        text.expect("}")
        text.expect("")


def _shown(pieces: Iterator[bytes], seen: Seen) -> Iterator[bytes]:
    for piece in pieces:
        seen(piece)
        yield piece


def as_rows(data: Any) -> list[Any]:
    """Return the rows of a listing's whole data: one object is one row, null is none."""
    if data is None:
        return []
    return data if isinstance(data, list) else [data]


@cache
def converter(model: type[WireModel], *, keep_unknown: bool = False) -> _Convert:
    """Return what makes a record of a row: the fields of ``model`` in the spec's spelling.

    Other fields are left out, or kept as they came. It raises ``Unreadable`` for a row that is no
    object.
    """
    names = spellings(model)
    nested = {
        name: converter(inner, keep_unknown=keep_unknown)
        for name, field in model.model_fields.items()
        if (inner := record_model(field.annotation))
    }
    # Rows of an answer have the same fields nearly always: what to do with them is worked out once.
    plans: dict[tuple[str, ...], _Rename] = {}

    def convert(row: Any) -> Record:
        _require_object(row)
        fields = tuple(row)
        rename = plans.get(fields)
        if rename is None:
            if len(plans) >= _MOST_PLANS:
                plans.clear()
            rename = plans[fields] = _renaming(fields, names, keep_unknown=keep_unknown)
        record = rename(row)
        for name, convert_item in nested.items():
            if record.get(name) is not None:
                record[name] = _nested(record[name], convert_item)
        return record

    return convert


def _renaming(fields: Sequence[str], names: Mapping[str, str], *, keep_unknown: bool) -> _Rename:
    """Return what makes a record of a row with these fields, which often is one already."""
    new = [names.get(field, field if keep_unknown else None) for field in fields]
    if new == list(fields):
        return lambda row: row
    kept = {old: name for old, name in zip(fields, new, strict=True) if name is not None}
    return lambda row: {name: row[old] for old, name in kept.items()}


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
