"""Comparison of two environments: listing by listing, record by record, field by field.

Records are compared by content. Numbers that the systems assign are ignored, and a code that
refers to another record is replaced by that record's natural key. Equal records are matched
first; the rest are paired by similarity to show their differences. Fields that are not compared
are listed with the reason.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from decimal import Decimal
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

from xlbridge.batch.plan.steps import ComparedListing
from xlbridge.client import Client
from xlbridge.export import LISTINGS, ExportRequest, Listing, export_frames, find_listing
from xlbridge.i18n import Text
from xlbridge.resources import (
    Catalogue,
    Kind,
    Resource,
)
from xlbridge.resources.references import (
    REFERENCES,
    key_fields,
    registry_named,
)

if TYPE_CHECKING:
    import pandas as pd

_MAX_PAIRED = 300
"""Unmatched records per side up to which each is compared with all of the other side."""

_MAX_SHOWN = 20

_SYSTEM_ASSIGNED = Text(
    pt="o sistema atribui esse número ou código", en="the system assigns this number or code"
)
_NOT_IN_SHEETS = Text(
    pt="nenhuma planilha o aceita: o sistema o calcula, ou a interface não o aceita na inclusão",
    en="no sheet accepts it: the system calculates it, or the interface does not accept it on "
    "creation",
)


@dataclass(frozen=True, slots=True)
class Difference:
    """Field in which two paired records differ; ``record`` is the label of the first."""

    record: str
    field: str
    here: str
    there: str


@dataclass(frozen=True, slots=True)
class NotCompared:
    """Field that is not compared, the reason, and how many records of each side have a value."""

    field: str
    reason: Text
    here: int
    there: int


@dataclass(frozen=True, slots=True)
class ListingComparison:
    """Comparison of a listing: record counts of each side, and the differences.

    ``fields`` counts the differences by field; ``only_here`` and ``only_there`` count the records
    without a counterpart. Unless ``complete``, a side may have more records than were read.
    """

    listing: str
    here: int
    there: int
    equal: int
    only_here: int
    only_there: int
    complete: bool
    fields: Mapping[str, int] = field(default_factory=dict)
    differences: Sequence[Difference] = ()
    not_compared: Sequence[NotCompared] = ()

    @property
    def is_equal(self) -> bool:
        """True if both sides are proven to have the same records."""
        return self.complete and self.equal == self.here == self.there

    def to_json(self) -> dict[str, Any]:
        """Return the comparison for the ledger and the report."""
        return {**asdict(self), "is_equal": self.is_equal}


@dataclass(slots=True)
class _Side:
    """Environment that is compared; ``labels`` of its registries' records, by registry and code."""

    client: Client
    labels: dict[str, dict[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class _Records:
    """Records of a listing on one side: their compared fields and their labels.

    ``filled`` counts the records that have a value in each field, compared or not.
    """

    fields: Sequence[Mapping[str, str]]
    labels: Sequence[str]
    filled: Mapping[str, int]
    complete: bool

    @cached_property
    def contents(self) -> list[tuple[tuple[str, str], ...]]:
        """The compared fields of each record as one value."""
        return [tuple(sorted(fields.items())) for fields in self.fields]


@dataclass(frozen=True)
class _Scope:
    """Fields of a listing that are compared: those of a resource's sheets, or all fields."""

    wanted: ComparedListing
    resource: Resource | None

    @cached_property
    def lists(self) -> frozenset[str]:
        """Names of the lists that have a sheet."""
        children = () if self.resource is None else self.resource.children
        return frozenset(child.sheet for child in children)

    @cached_property
    def _fields(self) -> frozenset[str]:
        """The fields of the resource's sheets, without system-assigned codes."""
        if self.resource is None:
            return frozenset()
        fields = {column.name for column in self.resource.columns}
        read_back = self.resource.read_back
        if read_back is not None:
            codes = set(read_back.codes) - fields
            fields = (fields | read_back.as_row.renamed_fields({})) - codes
        for child in self.resource.children:
            fields |= {f"{child.sheet}.{column}" for column in child.by_name}
        return frozenset(fields)

    def includes(self, name: str) -> bool:
        """Return whether a field is compared; that of a list has the name ``list.field``."""
        if name in self.wanted.excluded:
            return False
        return self.resource is None or name in self._fields

    def includes_list(self, name: str) -> bool:
        """Return whether any field of a list may be compared."""
        return self.resource is None or name in self.lists


class EnvironmentComparison:
    """Comparison of the listings of one environment (``here``) with those of another (``there``).

    Listings of registries are compared first: others refer to their records.
    """

    def __init__(self, here: Client, there: Client, catalogue: Catalogue) -> None:
        self._here, self._there = _Side(here), _Side(there)
        self._catalogue = catalogue
        sheets = (sheet for main in catalogue.values() for sheet in (main, *main.children))
        self._references = {
            column.name: column.references
            for sheet in sheets
            for column in sheet.columns
            if column.references is not None
        }

    def compare(self, listings: Sequence[ComparedListing]) -> Iterator[ListingComparison]:
        """Yield the comparison of each listing. Raises what ``export_frames`` raises."""
        for wanted in sorted(listings, key=lambda item: not registry_named(item.resource or "")):
            resource = None if wanted.resource is None else self._catalogue[wanted.resource]
            scope = _Scope(wanted, resource)
            here, there = (self._read(side, scope) for side in (self._here, self._there))
            yield _compare(wanted, here, there, _not_compared(scope, here, there))

    def _read(self, side: _Side, scope: _Scope) -> _Records:
        resource, wanted = scope.resource, scope.wanted
        fields: list[Mapping[str, str]] = []
        labels: list[str] = []
        registry = None if resource is None else registry_named(resource.name)
        labels_by_code: dict[str, str] = {}
        filled: Counter[str] = Counter()
        complete = True
        for name in (wanted.listing, *wanted.joined):
            listing = find_listing(name)
            request = ExportRequest(listing=name, filters=wanted.filters, known_ids=())
            result, frames = export_frames(side.client, request, lambda: self._catalogue)
            complete &= result.complete
            separate_lists = self._separate_lists(side, resource)
            for record in _records(listing, frames, separate_lists, _date_columns(resource)):
                filled.update(_filled_fields(record))
                compared = self._compared_fields(side, scope, record)
                fields.append(compared)
                labels.append(_label(resource, compared))
                if registry is not None:
                    labels_by_code[str(record.get(REFERENCES[registry].key, ""))] = labels[-1]
        if registry is not None:
            side.labels[registry] = labels_by_code
        return _Records(fields, labels, filled, complete)

    def _separate_lists(
        self, side: _Side, resource: Resource | None
    ) -> Iterator[tuple[str, Iterator[dict[str, str]]]]:
        """Yield the lists that have a listing of their own, with the rows of all records."""
        read_back = None if resource is None else resource.read_back
        listings = {listing.operation.name: listing.name for listing in LISTINGS.values()}
        for name, declared in {} if read_back is None else read_back.lists.items():
            request = ExportRequest(listing=listings[declared.operation_name], known_ids=())
            _, frames = export_frames(side.client, request, lambda: self._catalogue)
            items = _rows(frames[request.listing], frozenset())
            filled = ({column: text for column, text in item.items() if text} for item in items)
            yield name, ({c: str(v) for c, v in row.items()} for row in declared.rows(filled))

    def _compared_fields(
        self, side: _Side, scope: _Scope, record: Mapping[str, Any]
    ) -> dict[str, str]:
        """Return the fields of a record that are compared, each list as one text."""
        compared: dict[str, str] = {}
        for name, value in record.items():
            if not isinstance(value, list):
                if scope.includes(name):
                    compared[name] = self._label_of(side, name, value)
            elif scope.includes_list(name):
                items = (self._item_text(side, scope, name, item) for item in value)
                compared[name] = "; ".join(sorted(items))
        return compared

    def _item_text(self, side: _Side, scope: _Scope, name: str, item: Mapping[str, str]) -> str:
        return ", ".join(
            f"{column}={self._label_of(side, column, value)}"
            for column, value in sorted(item.items())
            if value and scope.includes(f"{name}.{column}")
        )

    def _label_of(self, side: _Side, column: str, value: str) -> str:
        """Return the label of the record that a code refers to, any other value unchanged."""
        return side.labels.get(self._references.get(column) or "", {}).get(value, value)


def _not_compared(scope: _Scope, here: _Records, there: _Records) -> list[NotCompared]:
    """Return the filled fields that are not compared, with the reasons."""
    read_back = None if scope.resource is None else scope.resource.read_back
    assigned = {*find_listing(scope.wanted.listing).key, *(read_back.codes if read_back else ())}
    found = []
    for name in sorted(here.filled.keys() | there.filled.keys()):
        if not scope.includes(name) and name not in scope.lists:
            default = _SYSTEM_ASSIGNED if name.split(".")[-1] in assigned else _NOT_IN_SHEETS
            reason = scope.wanted.excluded.get(name) or default
            found.append(NotCompared(name, reason, here.filled[name], there.filled[name]))
    return found


def _records(
    listing: Listing,
    frames: "Mapping[str, pd.DataFrame]",
    separate_lists: Iterable[tuple[str, Iterable[dict[str, str]]]],
    dates: frozenset[str],
) -> Iterator[dict[str, Any]]:
    """Yield the records of an export as texts, each with its lists."""
    lists: dict[str, defaultdict[tuple[str, ...], list[dict[str, str]]]] = {}
    item_dates = frozenset(name.split(".")[1] for name in dates if "." in name)
    nested = (
        (name, _rows(frame, item_dates)) for name, frame in frames.items() if name != listing.name
    )
    for name, rows in chain(nested, separate_lists):
        by_key: defaultdict[tuple[str, ...], list[dict[str, str]]] = defaultdict(list)
        for row in rows:
            by_key[tuple(row.get(part, "") for part in listing.key)].append(
                {column: text for column, text in row.items() if column not in listing.key}
            )
        lists[name] = by_key
    for row in _rows(frames[listing.name], dates):
        key = tuple(row.get(part, "") for part in listing.key)
        yield {**row, **{name: by_key.get(key, []) for name, by_key in lists.items()}}


def _rows(frame: "pd.DataFrame", dates: frozenset[str]) -> Iterator[dict[str, str]]:
    names = list(map(str, frame))
    columns = [
        [
            _text(value, name in dates) if filled else ""
            for value, filled in zip(
                frame[name].tolist(), frame[name].notna().tolist(), strict=True
            )
        ]
        for name in names
    ]
    for row in zip(*columns, strict=True):
        yield dict(zip(names, row, strict=True))


def _text(value: Any, is_day: bool) -> str:
    """Return a value as text, the same for equal values; a day without its time."""
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, float | Decimal):
        return f"{Decimal(str(value)).normalize():f}"
    if isinstance(value, datetime):
        return value.isoformat()[:10] if is_day else value.isoformat()
    return str(value)


def _date_columns(resource: Resource | None) -> frozenset[str]:
    """Return the date columns of a resource, and those of its lists as ``list.column``."""
    if resource is None:
        return frozenset()
    sheets = [("", resource), *((f"{child.sheet}.", child) for child in resource.children)]
    return frozenset(
        f"{prefix}{column.name}"
        for prefix, sheet in sheets
        for column in sheet.columns
        if column.kind is Kind.DATE
    )


def _filled_fields(record: Mapping[str, Any]) -> Iterator[str]:
    for name, value in record.items():
        if isinstance(value, list):
            for item in value:
                yield from (f"{name}.{column}" for column, text in item.items() if text)
        elif value:
            yield name


def _label(resource: Resource | None, compared: Mapping[str, str]) -> str:
    """Return the label of a record: its first filled natural key, else all its values."""
    keys = {} if resource is None else key_fields(resource)
    names = ("cnpjcpf", *(name for name in keys.values() if name != "idws")) if keys else ()
    key = next((compared[name] for name in names if compared.get(name)), None)
    return key or " · ".join(value for value in compared.values() if value)[:200]


def _compare(
    wanted: ComparedListing, here: _Records, there: _Records, not_compared: Sequence[NotCompared]
) -> ListingComparison:
    counts_here, counts_there = Counter(here.contents), Counter(there.contents)
    equal = sum((counts_here & counts_there).values())
    left = list((counts_here - counts_there).elements())
    right = list((counts_there - counts_here).elements())
    labels = dict(zip(here.contents, here.labels, strict=True))
    fields: Counter[str] = Counter()
    differences: list[Difference] = []
    pairs = list(_pairs(left, right)) if max(len(left), len(right)) <= _MAX_PAIRED else []
    for content, counterpart in pairs:
        values_here, values_there = dict(content), dict(counterpart)
        for name in sorted(values_here.keys() | values_there.keys()):
            values = values_here.get(name, ""), values_there.get(name, "")
            if values[0] != values[1]:
                fields[name] += 1
                differences.append(Difference(labels[content], name, *values))
    return ListingComparison(
        wanted.title,
        len(here.fields),
        len(there.fields),
        equal,
        len(left) - len(pairs),
        len(right) - len(pairs),
        here.complete and there.complete,
        dict(fields.most_common()),
        differences[:_MAX_SHOWN],
        not_compared,
    )


_Content = tuple[tuple[str, str], ...]


def _pairs(
    left: Sequence[_Content], right: Sequence[_Content]
) -> Iterator[tuple[_Content, _Content]]:
    """Yield the most similar records of both sides in pairs, each record once."""
    unpaired = list(right)
    for content in left:
        if not unpaired:
            return
        fields = set(content)
        best = max(unpaired, key=lambda other: len(fields & set(other)))
        if 2 * len(fields & set(best)) >= len(fields):
            unpaired.remove(best)
            yield content, best
