"""Records of a listing: the shape of their fields, and selection of the wanted ones.

If few records of many are wanted, decoding the others would take most of the time: only the tested
fields of each record are decoded first.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import chain, compress, islice
from typing import Any

from xlbridge.i18n import Text

Record = dict[str, Any]

FieldTest = tuple[str, Callable[[Sequence[Any]], Sequence[bool]]]
"""Name of a field, and a test of its values that selects records."""

_Convert = Callable[[list[Any]], list[Record]]
_Rename = Callable[[Record], Record]

_MAX_PLANS = 1_000
_MAX_SHOWN_LENGTH = 40
_UNSET = object()
"""Value of a tested field that a record does not have."""


class UnexpectedContent(ValueError):
    """A body is not what the interface documents; ``truncated`` if it was cut short."""

    def __init__(self, reason: Text, *, truncated: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.truncated = truncated


@dataclass(frozen=True, slots=True)
class RecordShape:
    """Fields of a record: accepted spellings of their names, mapped to the spec's.

    ``nested`` are the fields that contain lists of objects. ``keep_unknown`` keeps other fields
    unchanged; otherwise they are dropped.
    """

    names: Mapping[str, str]
    nested: Mapping[str, "RecordShape"] = field(default_factory=dict)
    keep_unknown: bool = False

    def record_type(self) -> type[Any]:
        """Return a type of records with all fields of the spec, null by default, and no others.

        Decoding and reading them is faster than with dicts.
        """
        import msgspec  # Imported late: most commands read no long listing.

        types: dict[str, Any] = {
            name: list[shape.record_type()] | None  # type: ignore[misc]
            for name, shape in self.nested.items()
        }
        return msgspec.defstruct(
            "TypedRecord",
            [(name, types.get(name, Any), None) for name in dict.fromkeys(self.names.values())],
            namespace={"get": _get_field},
            forbid_unknown_fields=True,
            gc=False,
        )

    def converter(self) -> _Convert:
        """Return a function from rows to records; it raises ``UnexpectedContent``."""
        nested = {name: shape.converter() for name, shape in self.nested.items()}
        # The rows of an answer nearly always have the same fields: renaming is planned once.
        plans: dict[tuple[str, ...], _Rename | None] = {}

        def rename_fields(rows: list[Any]) -> list[Record]:
            _require_objects(rows)
            fields = list(map(tuple, rows))
            if len(plans) >= _MAX_PLANS:
                plans.clear()
            if (
                fields[0] in plans
                and plans[fields[0]] is None
                and all(map(fields[0].__eq__, fields))
            ):
                return rows
            for names in set(fields) - plans.keys():
                plans[names] = self._plan_renaming(names)
            with_plans = zip(rows, map(plans.__getitem__, fields), strict=True)
            return [row if rename is None else rename(row) for row, rename in with_plans]

        def convert(rows: list[Any]) -> list[Record]:
            records = rename_fields(rows) if rows else []
            for name, convert_items in nested.items():
                _require_lists(records, name)
                # Lists are short: the items of all records are converted together.
                parents = [record for record in records if record.get(name)]
                items = list(chain.from_iterable(record[name] for record in parents))
                converted = convert_items(items)
                if converted is not items:
                    rest = iter(converted)
                    for record in parents:
                        record[name] = list(islice(rest, len(record[name])))
            return records

        return convert

    def _plan_renaming(self, fields: Sequence[str]) -> _Rename | None:
        """Return a function from a row with these fields to a record; None if nothing changes."""
        new = [self.names.get(name, name if self.keep_unknown else None) for name in fields]
        if new == list(fields):
            return None
        kept = {old: name for old, name in zip(fields, new, strict=True) if name is not None}
        return lambda row: {name: row[old] for old, name in kept.items()}


def _get_field(record: Any, name: str, default: Any = None) -> Any:
    return getattr(record, name, default)


def _require_lists(records: Iterable[Record], name: str) -> None:
    for record in records:
        items = record.get(name)
        if items is not None and not isinstance(items, list):
            raise UnexpectedContent(
                Text(
                    pt="{record}: o campo {field} veio como {type}; a interface documenta uma "
                    "lista.",
                    en="{record}: the field {field} is a {type}; the interface documents a list.",
                ).format(record=_first_fields(record, name), field=name, type=type(items).__name__)
            )


def _first_fields(record: Record, but: str) -> str:
    """Describe a record whose key is unknown by its first fields, which usually contain it."""
    plain = ((n, v) for n, v in record.items() if isinstance(v, str | int | Decimal) and n != but)
    return ", ".join(f"{name} {str(value)[:_MAX_SHOWN_LENGTH]}" for name, value in islice(plain, 3))


def _require_objects(rows: Iterable[Any]) -> None:
    for row in rows:
        if not isinstance(row, dict):
            raise UnexpectedContent(
                Text(
                    pt="Um registro da listagem não é um objeto: veio {kind}.",
                    en="A record of the listing is not an object but a {kind}.",
                ).format(kind=type(row).__name__)
            )


class RecordSelector:
    """Selection of the records that pass any of some tests, or lack a tested field.

    A record that may be the first to have a field is never dropped, so that the selected ones show
    all fields in use. ``names`` maps the accepted spellings of a record's fields.
    """

    def __init__(self, tests: Sequence[FieldTest], names: Mapping[str, str]) -> None:
        import msgspec  # Imported late: most commands read no long listing.

        self.dropped = 0
        self._names = names
        self._unseen = {f'"{spelling}"': name for spelling, name in names.items()}
        fields = {name: f"field_{n}" for n, name in enumerate({name for name, _ in tests})}
        self._tests = [(fields[name], test) for name, test in tests]
        tested_fields = msgspec.defstruct(
            "TestedFields",
            [(field, Any, _UNSET) for field in fields.values()],
            rename={field: name for name, field in fields.items()},
            gc=False,
        )
        self._tested = msgspec.json.Decoder(list[tested_fields], float_hook=Decimal)  # type: ignore[valid-type]
        self._texts = msgspec.json.Decoder(list[msgspec.Raw])

    def select(self, text: str) -> str:
        """Return a JSON list of objects reduced to the wanted ones, or unchanged."""
        if any(map(text.__contains__, self._unseen)):
            return text
        try:
            wanted = self._are_wanted(self._tested.decode(text))
            selected = compress(self._texts.decode(text), wanted) if any(wanted) else ()
        except (ValueError, RecursionError):
            return text
        self.dropped += len(wanted) - sum(wanted)
        return f"[{','.join(bytes(item).decode() for item in selected)}]"

    def note_fields(self, records: Iterable[Any]) -> None:
        """Note the fields of decoded records as seen."""
        if self._unseen:
            objects = (record for record in records if isinstance(record, dict))
            seen = {self._names.get(key) for record in objects for key in record}
            self._unseen = {text: n for text, n in self._unseen.items() if n not in seen}

    def _are_wanted(self, rows: Sequence[Any]) -> list[bool]:
        wanted = [False] * len(rows)
        for name, test in self._tests:
            values = [getattr(row, name) for row in rows]
            passed = test([None if value is _UNSET else value for value in values])
            wanted = [
                before or now or value is _UNSET
                for before, now, value in zip(wanted, passed, values, strict=True)
            ]
        return wanted
