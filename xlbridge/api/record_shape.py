"""What makes records of the rows of an answer, as plain data: also for processes without models."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import islice
from typing import Any

from xlbridge.api.unreadable import Unreadable
from xlbridge.i18n import Text

Record = dict[str, Any]

_Convert = Callable[[Any], Record]
_Rename = Callable[[Record], Record]

_MOST_PLANS = 1_000
_LONGEST_SHOWN = 40


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
        """Return what makes a record of a row. It raises ``Unreadable`` for what is no object."""
        nested = {name: shape.converter() for name, shape in self.nested.items()}
        # Rows of an answer have the same fields nearly always: what to do is worked out once.
        plans: dict[tuple[str, ...], _Rename] = {}

        def convert(row: Any) -> Record:
            _require_object(row)
            fields = tuple(row)
            rename = plans.get(fields)
            if rename is None:
                if len(plans) >= _MOST_PLANS:
                    plans.clear()
                rename = plans[fields] = self._renaming(fields)
            record = rename(row)
            for name, convert_item in nested.items():
                if record.get(name) is not None:
                    _require_list(record, name)
                    record[name] = list(map(convert_item, record[name]))
            return record

        return convert

    def _renaming(self, fields: Sequence[str]) -> _Rename:
        """Return what makes a record of a row with these fields, which often is one already."""
        new = [self.names.get(name, name if self.keep_unknown else None) for name in fields]
        if new == list(fields):
            return lambda row: row
        kept = {old: name for old, name in zip(fields, new, strict=True) if name is not None}
        return lambda row: {name: row[old] for old, name in kept.items()}


def _require_list(record: Record, name: str) -> None:
    if not isinstance(record[name], list):
        raise Unreadable(
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
    return ", ".join(f"{name} {str(value)[:_LONGEST_SHOWN]}" for name, value in islice(plain, 3))


def _require_object(row: Any) -> None:
    if not isinstance(row, dict):
        raise Unreadable(
            Text(
                pt="Um registro da listagem não é um objeto: veio {kind}.",
                en="A record of the listing is not an object: {kind} came.",
            ).format(kind=type(row).__name__)
        )
