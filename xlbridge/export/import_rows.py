"""Records as rows of an import sheet: the field of each column, and the fields that have none.

Light on purpose: line processes import it.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import time
from itertools import chain
from typing import Any

from xlbridge.client import Record
from xlbridge.export.sheets import naive_moment
from xlbridge.resources import KEY, Kind, RecordToRow, Resource

_TIME_OF = "{field}.time"
"""Name of the time of day of a date, of which an import sheet has no more than the day."""

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class ImportRow:
    """Conversion of a record into a row of an import sheet. It can be sent to another process.

    ``numbers`` are the columns of the system's own number of the record, which nobody sends;
    ``days`` those of dates. ``lists`` are the columns of each list within a record: its items
    stand in a sheet of their own, joined by the number that ``codes`` make up.
    """

    convert: RecordToRow
    numbers: tuple[str, ...]
    days: tuple[str, ...]
    codes: tuple[str, ...] = ()
    lists: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def __call__(self, record: Record) -> Record:
        """Return the row, with its lists."""
        row = {name: record.get(name) for name in self.numbers} | self.convert(record)
        if not self.lists:
            return row
        number = [record.get(name) for name in self.codes]
        row[KEY] = None if None in number else "/".join(map(str, number))
        return row | {name: record.get(name) for name in self.lists}

    def left_out(self, record: Record) -> list[str]:
        """Return what of a record no column holds, as a line that ``add_up_left_out`` adds up.

        A list counts its items, any other filled field counts once.
        """
        renamed = self.convert.renamed_fields(record)
        carried = {*self.numbers, *self.convert.own, *renamed, *self.lists}
        counts = Counter(
            {
                name: count
                for name, value in record.items()
                if name not in carried and (count := _filled(value))
            }
        )
        for name, columns in self.lists.items():
            for item in record.get(name) or ():
                left = (f"{name}.{f}" for f, v in item.items() if f not in columns and _filled(v))
                counts.update(left)
        counts |= {_TIME_OF.format(field=n): 1 for n in self.days if _has_time(record.get(n))}
        return [_encode(counts) + "\n"] if counts else []


def import_row(resource: Resource) -> ImportRow | None:
    """Return the conversion for the sheet of a resource, None where records are not found again."""
    if resource.read_back is None:
        return None
    days = tuple(column.name for column in resource.columns if column.kind is Kind.DATE)
    lists = {one.sheet: frozenset(c.name for c in one.sent_columns) for one in resource.children}
    declared = resource.read_back
    return ImportRow(declared.as_row, declared.number_columns, days, declared.codes, lists)


def add_up_left_out(blocks: Iterable[bytes]) -> dict[str, int]:
    """Return how often each field was filled that has no column, the most frequent first."""
    counts: Counter[str] = Counter()
    for line in chain.from_iterable(block.splitlines() for block in blocks):
        counts.update(json.loads(line))
    return dict(counts.most_common())


def _filled(value: Any) -> int:
    if isinstance(value, list):
        return len(value)
    return 0 if value is None or value == "" or (isinstance(value, Mapping) and not value) else 1


def _has_time(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    try:
        return naive_moment(value).time() != time()
    except ValueError:
        return False
