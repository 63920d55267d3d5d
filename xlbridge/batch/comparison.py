"""Comparison of two environments: listing by listing, record by record, field by field.

Records are compared by their content: what the systems number themselves is left aside, and a
code that names another record is compared by what tells that record apart. Records that are equal
in all compared fields are taken off in pairs; of those that are left, the most alike are shown
beside each other. What is not compared is named, with the reason.
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
    registry_called,
)

if TYPE_CHECKING:
    import pandas as pd

_MOST_PAIRED = 300
"""Records of a side that are left over and still compared with each one of the other."""

_MOST_SHOWN = 20

GIVEN = Text(
    pt="o sistema atribui esse número ou código", en="the system assigns this number or code"
)
NOT_TAKEN = Text(
    pt="nenhuma planilha o aceita: o sistema o calcula, ou a interface não o aceita na inclusão",
    en="no sheet accepts it: the system calculates it, or the interface does not accept it on "
    "creation",
)


@dataclass(frozen=True, slots=True)
class Difference:
    """Field in which the most alike of two records differ; ``record`` is what tells it apart."""

    record: str
    field: str
    here: str
    there: str


@dataclass(frozen=True, slots=True)
class NotCompared:
    """Field that is not compared, why, and how many records have it filled on each side."""

    field: str
    reason: Text
    here: int
    there: int


@dataclass(frozen=True, slots=True)
class ListingComparison:
    """Comparison of a listing: records of each side, and what is not equal.

    ``fields`` counts the differences by field; ``only_here`` and ``only_there`` are the records
    that have none to be compared with. Without ``complete`` a side may hold more than was read.
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
        """True where both sides are proven to hold the same."""
        return self.complete and self.equal == self.here == self.there

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as the ledger and the report have it."""
        return {**asdict(self), "is_equal": self.is_equal}


@dataclass(slots=True)
class _Side:
    """Environment that is compared, with the names of the records of its registries by codes."""

    client: Client
    names: dict[str, dict[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class _Records:
    """Records of a listing on one side: their compared fields, and counts of all that are filled.

    ``labels`` are what tells each apart.
    """

    fields: Sequence[Mapping[str, str]]
    labels: Sequence[str]
    filled: Mapping[str, int]
    complete: bool

    @cached_property
    def contents(self) -> list[tuple[tuple[str, str], ...]]:
        """The compared fields of each record as one value."""
        return [tuple(sorted(one.items())) for one in self.fields]


class EnvironmentComparison:
    """Comparison of the listings of one environment (``here``) with those of another (``there``).

    Listings of registries are compared first: others name their records.
    """

    def __init__(self, here: Client, there: Client, catalogue: Catalogue) -> None:
        self._here, self._there = _Side(here), _Side(there)
        self._catalogue = catalogue
        every = (s for one in catalogue.values() for s in (one, *one.children))
        self._references = {
            column.name: column.references
            for resource in every
            for column in resource.columns
            if column.references is not None
        }

    def compare(self, wanted: Sequence[ComparedListing]) -> Iterator[ListingComparison]:
        """Yield the comparison of each listing. Raises what ``export_frames`` raises."""
        registries = [one for one in wanted if registry_called(one.resource or "") is not None]
        for one in [*registries, *(other for other in wanted if other not in registries)]:
            here, there = (self._read(side, one) for side in (self._here, self._there))
            yield _compared(one, here, there, self._reasons(one, here, there))

    def _read(self, side: _Side, wanted: ComparedListing) -> _Records:
        resource = self._resource(wanted)
        fields: list[Mapping[str, str]] = []
        labels: list[str] = []
        registry = None if resource is None else registry_called(resource.name)
        names: dict[str, str] = {}
        filled: Counter[str] = Counter()
        complete = True
        for name in (wanted.listing, *wanted.joined):
            listing = find_listing(name)
            request = ExportRequest(listing=name, filters=wanted.filters, known_ids=())
            result, frames = export_frames(side.client, request, lambda: self._catalogue)
            complete &= result.complete
            apart = self._lists_apart(side, resource)
            for record in _records(listing, frames, apart, _dates(resource)):
                filled.update(_filled(record))
                compared = self._compared_fields(side, wanted, record)
                fields.append(compared)
                labels.append(_label(resource, compared))
                if registry is not None:
                    names[str(record.get(REFERENCES[registry].key, ""))] = labels[-1]
        if registry is not None:
            side.names[registry] = names
        return _Records(fields, labels, filled, complete)

    def _lists_apart(
        self, side: _Side, resource: Resource | None
    ) -> Iterator[tuple[str, Iterator[dict[str, str]]]]:
        """Yield each list of the records that has a listing of its own, with the rows of all."""
        declared = None if resource is None else resource.read_back
        listings = {one.operation.name: one.name for one in LISTINGS.values()}
        for name, apart in {} if declared is None else declared.lists.items():
            request = ExportRequest(listing=listings[apart.operation_name], known_ids=())
            _, frames = export_frames(side.client, request, lambda: self._catalogue)
            items = _rows(frames[request.listing], frozenset())
            filled = ({column: text for column, text in item.items() if text} for item in items)
            yield name, ({c: str(v) for c, v in row.items()} for row in apart.rows(filled))

    def _resource(self, wanted: ComparedListing) -> Resource | None:
        return None if wanted.resource is None else self._catalogue[wanted.resource]

    def _compared_fields(
        self, side: _Side, wanted: ComparedListing, record: Mapping[str, Any]
    ) -> dict[str, str]:
        """Return the fields of a record that are compared, each list as one text."""
        resource = self._resource(wanted)
        children = {} if resource is None else {one.sheet: one for one in resource.children}
        compared: dict[str, str] = {}
        for name, value in record.items():
            if isinstance(value, list):
                child = children.get(name)
                if resource is None or child is not None:
                    items = (self._items(side, wanted, name, child, one) for one in value)
                    compared[name] = "; ".join(sorted(items))
            elif self._is_compared(wanted, name, resource):
                compared[name] = self._named(side, name, value)
        return compared

    def _items(
        self,
        side: _Side,
        wanted: ComparedListing,
        name: str,
        child: Resource | None,
        item: Mapping[str, str],
    ) -> str:
        return ", ".join(
            f"{column}={self._named(side, column, value)}"
            for column, value in sorted(item.items())
            if value
            and f"{name}.{column}" not in wanted.apart
            and (child is None or column in child.by_name)
        )

    def _is_compared(self, wanted: ComparedListing, name: str, resource: Resource | None) -> bool:
        if name in wanted.apart:
            return False
        return resource is None or name in carried_fields(resource)

    def _named(self, side: _Side, column: str, value: str) -> str:
        """Return a value, or of a code what tells its record apart."""
        registry = self._references.get(column)
        names = side.names.get(registry or "", {})
        return names.get(value, value)

    def _reasons(
        self, wanted: ComparedListing, here: _Records, there: _Records
    ) -> list[NotCompared]:
        resource = self._resource(wanted)
        declared = None if resource is None else resource.read_back
        given = set(() if declared is None else declared.codes)
        given |= set(find_listing(wanted.listing).key)
        children = {one.sheet: one for one in resource.children} if resource else {}
        found = []
        for name in sorted(here.filled.keys() | there.filled.keys()):
            sheet, _, column = name.rpartition(".")
            if sheet:
                child = children.get(sheet)
                compared = resource is None or (child is not None and column in child.by_name)
                compared &= name not in wanted.apart
            else:
                compared = self._is_compared(wanted, name, resource) or name in children
            if not compared:
                reason = wanted.apart.get(name) or (GIVEN if column in given else NOT_TAKEN)
                found.append(NotCompared(name, reason, here.filled[name], there.filled[name]))
        return found


def carried_fields(resource: Resource) -> frozenset[str]:
    """Return the fields of a record that a resource's sheet carries, but for its own number."""
    declared = resource.read_back
    own = {column.name for column in resource.columns}
    if declared is None:
        return frozenset(own)
    return frozenset((own | declared.as_row.renamed_fields({})) - (set(declared.codes) - own))


def _records(
    listing: Listing,
    frames: "Mapping[str, pd.DataFrame]",
    lists_apart: Iterable[tuple[str, Iterable[dict[str, str]]]],
    dates: frozenset[str],
) -> Iterator[dict[str, Any]]:
    """Yield the records of an export as texts, each with its lists."""
    lists: dict[str, defaultdict[tuple[str, ...], list[dict[str, str]]]] = {}
    days = frozenset(f.split(".")[1] for f in dates if "." in f)
    within = ((name, _rows(frame, days)) for name, frame in frames.items() if name != listing.name)
    for name, rows in chain(within, lists_apart):
        of_key: defaultdict[tuple[str, ...], list[dict[str, str]]] = defaultdict(list)
        for row in rows:
            of_key[tuple(row.get(part, "") for part in listing.key)].append(
                {column: text for column, text in row.items() if column not in listing.key}
            )
        lists[name] = of_key
    for row in _rows(frames[listing.name], dates):
        key = tuple(row.get(part, "") for part in listing.key)
        yield {**row, **{name: of_key.get(key, []) for name, of_key in lists.items()}}


def _rows(frame: "pd.DataFrame", dates: frozenset[str]) -> Iterator[dict[str, str]]:
    names = list(map(str, frame))
    columns = [
        [
            _text(value, name in dates) if is_there else ""
            for value, is_there in zip(
                frame[name].tolist(), frame[name].notna().tolist(), strict=True
            )
        ]
        for name in names
    ]
    for row in zip(*columns, strict=True):
        yield dict(zip(names, row, strict=True))


def _text(value: Any, is_day: bool) -> str:
    """Return a value as a text in which equal ones are equal; of a day without its time."""
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, float | Decimal):
        return f"{Decimal(str(value)).normalize():f}"
    if isinstance(value, datetime):
        return value.isoformat()[:10] if is_day else value.isoformat()
    return str(value)


def _dates(resource: Resource | None) -> frozenset[str]:
    """Return the columns of a resource that hold days, those of its lists with the list's name."""
    if resource is None:
        return frozenset()
    own = {column.name for column in resource.columns if column.kind is Kind.DATE}
    of_lists = {
        f"{child.sheet}.{column.name}"
        for child in resource.children
        for column in child.columns
        if column.kind is Kind.DATE
    }
    return frozenset(own | of_lists)


def _filled(record: Mapping[str, Any]) -> Iterator[str]:
    for name, value in record.items():
        if isinstance(value, list):
            for item in value:
                yield from (f"{name}.{column}" for column, text in item.items() if text)
        elif value:
            yield name


def _label(resource: Resource | None, compared: Mapping[str, str]) -> str:
    """Return what tells a record apart: the first of its keys that is filled, else all of it."""
    keys = {} if resource is None else key_fields(resource)
    names = dict.fromkeys(("cnpjcpf", *(f for f in keys.values() if f != "idws")) if keys else ())
    found = next((compared[name] for name in names if compared.get(name)), None)
    return found or " · ".join(value for value in compared.values() if value)[:200]


def _compared(
    wanted: ComparedListing, here: _Records, there: _Records, reasons: Sequence[NotCompared]
) -> ListingComparison:
    ours, theirs = Counter(here.contents), Counter(there.contents)
    equal = sum((ours & theirs).values())
    left, right = list((ours - theirs).elements()), list((theirs - ours).elements())
    labels = dict(zip(here.contents, here.labels, strict=True))
    fields: Counter[str] = Counter()
    differences: list[Difference] = []
    pairs = list(_pairs(left, right)) if max(len(left), len(right)) <= _MOST_PAIRED else []
    for one, other in pairs:
        yours, others = dict(one), dict(other)
        for name in sorted(yours.keys() | others.keys()):
            if yours.get(name, "") != others.get(name, ""):
                fields[name] += 1
                own = yours.get(name, ""), others.get(name, "")
                differences.append(Difference(labels[one], name, *own))
    return ListingComparison(
        wanted.title,
        len(here.fields),
        len(there.fields),
        equal,
        len(left) - len(pairs),
        len(right) - len(pairs),
        here.complete and there.complete,
        dict(fields.most_common()),
        differences[:_MOST_SHOWN],
        reasons,
    )


_Content = tuple[tuple[str, str], ...]


def _pairs(
    left: Sequence[_Content], right: Sequence[_Content]
) -> Iterator[tuple[_Content, _Content]]:
    """Yield the most alike of two lots of records, each once."""
    waiting = list(right)
    for one in left:
        if not waiting:
            return
        own = set(one)
        best = max(waiting, key=lambda other: len(own & set(other)))
        if 2 * len(own & set(best)) < len(own):
            continue
        waiting.remove(best)
        yield one, best
