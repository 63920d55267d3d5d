"""Shape of a listing's records: names of their fields as the spec writes them, lists below them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import islice
from typing import Any

from xlbridge.client.listings.stream import Record, UnexpectedContent
from xlbridge.i18n import Text

_Convert = Callable[[list[Any]], list[Record]]
_Rename = Callable[[Record], Record]

_MAX_PLANS = 1_000
_MAX_SHOWN_LENGTH = 40


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
                pt="{place}: o campo {field} veio como {kind}, e a interface diz uma lista.",
                en="{place}: the field {field} came as {kind}, and the interface says a list.",
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
