"""Records of a listing: the shape of their fields, and the choice of those that are wanted.

Where few records of many are wanted, decoding the others takes most of the time: only the fields
that decide are decoded of each, and the others' text is dropped.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import compress, islice
from typing import Any

from xlbridge.client.listings.stream import FieldTest, Record, UnexpectedContent
from xlbridge.i18n import Text

_Convert = Callable[[list[Any]], list[Record]]
_Rename = Callable[[Record], Record]

_MAX_PLANS = 1_000
_MAX_SHOWN_LENGTH = 40
_UNSET = object()
"""Value of a tested field that a record lacks."""


@dataclass(frozen=True, slots=True)
class RecordShape:
    """The fields of a record: every accepted spelling of their names, with the spec's own.

    ``nested`` are the fields that hold lists of further objects. ``keep_unknown`` keeps other
    fields as they came; else they are left out.
    """

    names: Mapping[str, str]
    nested: Mapping[str, "RecordShape"] = field(default_factory=dict)
    keep_unknown: bool = False

    def converter(self) -> _Convert:
        """Return what makes records of rows; it raises ``UnexpectedContent`` for no object."""
        nested = {name: shape.converter() for name, shape in self.nested.items()}
        # Rows of an answer have the same fields nearly always: what to do is worked out once.
        plans: dict[tuple[str, ...], _Rename | None] = {}

        def renamed(rows: list[Any]) -> list[Record]:
            for row in rows:
                _require_object(row)
            fields = list(map(tuple, rows))
            if len(plans) >= _MAX_PLANS:
                plans.clear()
            if (
                fields[0] in plans
                and plans[fields[0]] is None
                and all(map(fields[0].__eq__, fields))
            ):
                return rows
            for one in set(fields) - plans.keys():
                plans[one] = self._renaming(one)
            with_plans = zip(rows, map(plans.__getitem__, fields), strict=True)
            return [row if rename is None else rename(row) for row, rename in with_plans]

        def convert(rows: list[Any]) -> list[Record]:
            records = renamed(rows) if rows else []
            for name, convert_items in nested.items():
                for record in records:
                    items = record.get(name)
                    if items is not None and items != []:
                        _require_list(record, name)
                        record[name] = convert_items(items)
            return records

        return convert

    def _renaming(self, fields: Sequence[str]) -> _Rename | None:
        """Return what makes a record of a row with these fields, None where it is one already."""
        new = [self.names.get(name, name if self.keep_unknown else None) for name in fields]
        if new == list(fields):
            return None
        kept = {old: name for old, name in zip(fields, new, strict=True) if name is not None}
        return lambda row: {name: row[old] for old, name in kept.items()}


def _require_list(record: Record, name: str) -> None:
    if not isinstance(record[name], list):
        raise UnexpectedContent(
            Text(
                pt="{place}: o campo {field} veio como {kind}, e a interface documenta uma lista.",
                en="{place}: the field {field} came as {kind}, and the interface documents a list.",
            ).format(
                place=_first_fields(record, name), field=name, kind=type(record[name]).__name__
            )
        )


def _first_fields(record: Record, but: str) -> str:
    """Name a record whose key is not known: an interface's objects begin with it."""
    plain = ((n, v) for n, v in record.items() if isinstance(v, str | int | Decimal) and n != but)
    return ", ".join(f"{name} {str(value)[:_MAX_SHOWN_LENGTH]}" for name, value in islice(plain, 3))


def _require_object(row: Any) -> None:
    if not isinstance(row, dict):
        raise UnexpectedContent(
            Text(
                pt="Um registro da listagem não é um objeto: veio {kind}.",
                en="A record of the listing is not an object: {kind} came.",
            ).format(kind=type(row).__name__)
        )


class RecordPicker:
    """Choice of the records that pass one of some tests, or lack a field that is tested.

    No record is dropped that may have a field which none before it had, so that the others tell
    all fields that there are. ``names`` has every accepted spelling of a record's fields.
    """

    def __init__(self, tests: Sequence[FieldTest], names: Mapping[str, str]) -> None:
        import msgspec  # Here, not above: most commands read no long listing.

        self.dropped = 0
        self._names = names
        self._unseen = {f'"{spelling}"': name for spelling, name in names.items()}
        fields = {f"field_{at}": name for at, name in enumerate({name for name, _ in tests})}
        self._tests = [
            (field, test) for field, name in fields.items() for of, test in tests if of == name
        ]
        of_tests = msgspec.defstruct(
            "TestedFields",
            [(field, Any, _UNSET) for field in fields],
            rename=fields,
            gc=False,
        )
        self._tested = msgspec.json.Decoder(list[of_tests], float_hook=Decimal)  # type: ignore[valid-type]
        self._texts = msgspec.json.Decoder(list[msgspec.Raw])

    def picked(self, text: str) -> str:
        """Return a JSON list of objects with those that are wanted only; or as it is."""
        if any(map(text.__contains__, self._unseen)):
            return text
        try:
            wanted = self._are_wanted(self._tested.decode(text))
            kept = compress(self._texts.decode(text), wanted) if any(wanted) else ()
        except (ValueError, RecursionError):
            return text
        self.dropped += len(wanted) - sum(wanted)
        return f"[{','.join(bytes(one).decode() for one in kept)}]"

    def note(self, records: Iterable[Any]) -> None:
        """Note the fields of records that were decoded."""
        if self._unseen:
            objects = (one for one in records if isinstance(one, dict))
            seen = {self._names.get(name) for one in objects for name in one}
            self._unseen = {text: n for text, n in self._unseen.items() if n not in seen}

    def _are_wanted(self, rows: Sequence[Any]) -> list[bool]:
        found = [False] * len(rows)
        for name, test in self._tests:
            values = [getattr(row, name) for row in rows]
            passed = test([None if value is _UNSET else value for value in values])
            found = [
                was or now or value is _UNSET
                for was, now, value in zip(found, passed, values, strict=True)
            ]
        return found
