"""Comparison of two environments: listing by listing, record by record, field by field.

Records are compared by content. Numbers that the systems assign are ignored, and a code that
refers to another record is replaced by that record's natural key. Equal records are matched
first; the rest are merged by their keys to show their differences, those without a key by their
fields outside of lists. Fields that are not compared are listed with the reason.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from decimal import Decimal
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

from xlbridge import titles
from xlbridge.batch.batch import Batch
from xlbridge.batch.ledger import ExportRecord
from xlbridge.batch.plan_steps import ComparedListing, CompareStep, file_digest, relative_name
from xlbridge.client import Client
from xlbridge.export import (
    LISTINGS,
    ExportRequest,
    export_frames,
    find_listing,
)
from xlbridge.files import report_write_errors
from xlbridge.i18n import Text, untranslated
from xlbridge.report_forms import Grade, Heading, Line, Report, Table, Tone
from xlbridge.resources import Catalogue, Kind, Resource
from xlbridge.resources.links import key_fields
from xlbridge.resources.references import REFERENCES, registry_named
from xlbridge.workbook import WorkbookMark
from xlbridge.workbook.write import write_report

if TYPE_CHECKING:
    import pandas as pd

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

    @property
    def result(self) -> Text:
        """The result in words."""
        if not self.complete:
            return Text(pt="não há prova de que está completa", en="not proven to be complete")
        if self.is_equal:
            return Text(pt="igual", en="equal")
        return Text(pt="diferente", en="different")

    def to_json(self) -> dict[str, Any]:
        """Return the comparison for the ledger and the report."""
        return {**asdict(self), "is_equal": self.is_equal}


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

    @cached_property
    def keys(self) -> Sequence[frozenset[str]]:
        """The fields by which records are found, most telling key first."""
        read_back = None if self.resource is None else self.resource.read_back
        lookups = () if read_back is None else read_back.lookups
        return [frozenset(lookup.key.values()) for lookup in lookups]

    def days(self, part: str) -> frozenset[str]:
        """Return the columns that are days, of the records or of one of their lists."""
        if self.resource is None:
            return frozenset()
        children = self.resource.children
        sheet = next((child for child in children if child.sheet == part), self.resource)
        return frozenset(column.name for column in sheet.columns if column.kind is Kind.DATE)

    def includes(self, name: str) -> bool:
        """Return whether a field is compared; that of a list has the name ``list.field``."""
        if name in self.wanted.excluded:
            return False
        return self.resource is None or name in self._fields


_Columns = dict[str, list[str]]
"""Values by name of their column, as texts: the same for equal values, empty for none."""


@dataclass(slots=True)
class _Records:
    """Records of a listing on one side: their compared fields, and the label of each.

    ``lists`` are the fields that are lists. ``filled`` counts the records that have a value in each
    field, compared or not.
    """

    count: int = 0
    complete: bool = True
    columns: _Columns = field(default_factory=dict)
    labels: list[str] = field(default_factory=list)
    lists: set[str] = field(default_factory=set)
    filled: Counter[str] = field(default_factory=Counter)

    def add(self, columns: _Columns, count: int) -> None:
        """Add the compared fields of more records."""
        for name in dict.fromkeys(chain(self.columns, columns)):
            column = self.columns.setdefault(name, [""] * self.count)
            column += columns.get(name, [""] * count)
        self.count += count

    def values(self, at: int, names: Iterable[str]) -> tuple[str, ...]:
        """Return fields of a record."""
        return tuple(self.columns[name][at] if name in self.columns else "" for name in names)


def run_comparison(
    batch: Batch, step: CompareStep, fingerprint: str, show: Callable[[Text], None]
) -> None:
    """Compare the environments of a step, write the report, and record the result.

    Raises ``UsageError`` if the report cannot be written, and what ``export_frames`` raises.
    """
    path = batch.plan.file(step.output)
    with report_write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    WorkbookMark.EXPORTED.require_mark(path)
    here, there = (batch.environments.client(name) for name in (step.profile, step.other))
    catalogue = batch.environments.context(step.profile).catalogue
    side_here, side_there = _Side(here, catalogue), _Side(there, catalogue)
    comparisons: list[ListingComparison] = []
    # Listings of registries come first: others refer to their records.
    for wanted in sorted(step.listings, key=lambda item: not registry_named(item.resource or "")):
        resource = None if wanted.resource is None else catalogue[wanted.resource]
        scope = _Scope(wanted, resource)
        comparison = _compare(scope, side_here.read(scope), side_there.read(scope))
        show(_COMPARED.format(listing=comparison.listing))
        comparisons.append(comparison)
    names = batch.environments.name(step.profile), batch.environments.name(step.other)
    report = _comparison_report(comparisons, names, step.left_out)
    signature = WorkbookMark.EXPORTED.text, step.name
    write_report(report, path, cover=_COVER, signature=signature)
    manifest: dict[str, Any] = {"version": 1, "here": names[0], "there": names[1]}
    manifest["equal"] = all(comparison.is_equal for comparison in comparisons)
    manifest["listings"] = [comparison.to_json() for comparison in comparisons]
    files = {relative_name(batch.plan.folder, path): file_digest(path)}
    exported = ExportRecord(fingerprint, manifest, files)
    batch.ledger.store(batch.key(step), step.output, exported)


def _comparison_report(
    comparisons: Sequence[ListingComparison], names: tuple[str, str], left_out: Mapping[str, Text]
) -> Report:
    """Return the report of a comparison; ``left_out`` are listings that are not compared."""
    here, there = (untranslated("{name}").format(name=name) for name in names)
    different = sum(not comparison.is_equal for comparison in comparisons)
    verdict = _DIFFERENT if different else _ALL_EQUAL
    listings = Table(
        sheet=titles.LISTINGS,
        headings=(
            _LISTING,
            Heading(here),
            Heading(there),
            Heading(Text(pt="Iguais", en="Equal")),
            Heading(_ONLY.format(name=here), alarming=True),
            Heading(_ONLY.format(name=there), alarming=True),
            Heading(Text(pt="Resultado", en="Result"), 44),
        ),
        lines=[
            Line(
                (c.listing, c.here, c.there, c.equal, c.only_here, c.only_there, c.result),
                Tone.PLAIN if c.is_equal else Tone.OPEN,
            )
            for c in comparisons
        ],
    )
    differences = Table(
        sheet=titles.DIFFERENCES,
        headings=(
            _LISTING,
            Heading(titles.RECORD, 36),
            _FIELD,
            Heading(here, 36, words=True),
            Heading(there, 36, words=True),
        ),
        lines=[
            Line((comparison.listing, item.record, item.field, item.here, item.there))
            for comparison in comparisons
            for item in comparison.differences
        ],
        none=Text(pt="Nenhum campo difere.", en="No field differs."),
        about=_FIRST_DIFFERENCES.format(n=_MAX_SHOWN),
    )
    fields = (
        Line((comparison.listing, item.field, item.reason, item.here, item.there))
        for comparison in comparisons
        for item in comparison.not_compared
    )
    listings_left_out = (
        Line((name, _ALL_FIELDS, reason, None, None)) for name, reason in left_out.items()
    )
    not_compared = Table(
        sheet=Text(pt="Não comparado", en="Not compared"),
        headings=(
            _LISTING,
            _FIELD,
            Heading(titles.REASON, 60),
            Heading(_FILLED.format(name=here), 16),
            Heading(_FILLED.format(name=there), 16),
        ),
        lines=[*listings_left_out, *fields],
    )
    return Report(
        title=_TITLE.format(here=here, there=there),
        verdict=verdict.format(n=len(comparisons), different=different),
        grade=Grade.ERROR if different else Grade.GOOD,
        tables=[listings, differences, not_compared],
    )


_COVER = Text(pt="Comparação", en="Comparison")
_LISTING = Heading(titles.LISTING, 24)
_FIELD = Heading(Text(pt="Campo", en="Field"), 24)
_ALL_FIELDS = Text(pt="(todos os campos)", en="(all fields)")
_ONLY = Text(pt="Só em {name}", en="Only in {name}")
_FILLED = Text(pt="Preenchidos em {name}", en="Filled in {name}")
_TITLE = Text(pt="Comparação de {here} com {there}", en="Comparison of {here} with {there}")
_ALL_EQUAL = Text(
    pt="{n} {n:listagem comparada|listagens comparadas}, sem diferença.",
    en="{n} {n:listing|listings} compared, without a difference.",
)
_DIFFERENT = Text(
    pt="{n} {n:listagem comparada|listagens comparadas}; com diferença, ou sem prova de que está "
    "completa: {different}.",
    en="{n} {n:listing|listings} compared; different, or not proven to be complete: {different}.",
)
_FIRST_DIFFERENCES = Text(
    pt="As primeiras {n} diferenças de cada listagem.",
    en="The first {n} differences of each listing.",
)
_COMPARED = Text(pt="comparada: {listing}", en="compared: {listing}")


class _Side:
    """Reader of an environment; knows the labels of its registries' records by their codes."""

    def __init__(self, client: Client, catalogue: Catalogue) -> None:
        self._client, self._catalogue = client, catalogue
        sheets = (sheet for main in catalogue.values() for sheet in (main, *main.children))
        columns = (column for sheet in sheets for column in sheet.columns)
        self._references = {c.name: c.references for c in columns if c.references is not None}
        self._labels: dict[str, Mapping[str, str]] = {}

    def read(self, scope: _Scope) -> _Records:
        """Read the records of a listing, and of those that are joined with it."""
        found, codes = _Records(), list[str]()
        registry = None if scope.resource is None else registry_named(scope.resource.name)
        for name in (scope.wanted.listing, *scope.wanted.joined):
            listing = find_listing(name)
            request = ExportRequest(listing=name, filters=scope.wanted.filters, known_ids=())
            result, frames = export_frames(self._client, request, lambda: self._catalogue)
            found.complete &= result.complete
            lists = {part: _as_texts(frame, scope.days(part)) for part, frame in frames.items()}
            records = lists.pop(name)
            lists |= self._separate_lists(scope.resource)
            found.lists |= lists.keys()
            compared = {
                column: self._with_labels(column, texts)
                for column, texts in records.items()
                if scope.includes(column)
            }
            for part, items in lists.items():
                owners = list(zip(*(items.pop(column) for column in listing.key), strict=True))
                if scope.resource is None or part in scope.lists:
                    columns = {
                        name: self._with_labels(name, items[name])
                        for name in sorted(items)
                        if scope.includes(f"{part}.{name}")
                    }
                    by_owner: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
                    for at, owner in enumerate(owners):
                        filled = (f"{n}={texts[at]}" for n, texts in columns.items() if texts[at])
                        by_owner[owner].append(", ".join(filled))
                    keys = zip(*(records[column] for column in listing.key), strict=True)
                    compared[part] = ["; ".join(sorted(by_owner[key])) for key in keys]
                records |= {f"{part}.{column}": texts for column, texts in items.items()}
            found.filled += Counter({c: sum(map(bool, texts)) for c, texts in records.items()})
            found.add(compared, len(frames[name]))
            if registry is not None:
                codes += records[REFERENCES[registry].key]
        named = () if scope.resource is None else key_fields(scope.resource).values()
        natural = ("cnpjcpf", *(name for name in named if name != "idws")) if named else ()
        for at in range(found.count):
            # The first filled natural key, else all values.
            whole = " · ".join(filter(None, found.values(at, found.columns)))
            found.labels.append(next(filter(None, found.values(at, natural)), whole[:200]))
        if registry is not None:
            self._labels[registry] = dict(zip(codes, found.labels, strict=True))
        return found

    def _separate_lists(self, resource: Resource | None) -> Mapping[str, _Columns]:
        """Return the lists that have a listing of their own, with the rows of all records."""
        read_back = None if resource is None else resource.read_back
        listings = {listing.operation.name: listing for listing in LISTINGS.values()}
        found = {}
        for name, declared in {} if read_back is None else read_back.lists.items():
            listing = listings[declared.operation_name]
            request = ExportRequest(listing=listing.name, known_ids=())
            _, frames = export_frames(self._client, request, lambda: self._catalogue)
            items = _as_texts(frames[listing.name], frozenset())
            rows = declared.rows(
                {column: text for column, text in zip(items, row, strict=True) if text}
                for row in zip(*items.values(), strict=True)
            )
            names = dict.fromkeys(chain(listing.key, *rows))
            found[name] = {column: [str(row.get(column, "")) for row in rows] for column in names}
        return found

    def _with_labels(self, column: str, values: Sequence[str]) -> list[str]:
        """Return codes of other records as the labels of these, other values unchanged."""
        labels = self._labels.get(self._references.get(column, ""), {})
        return [labels.get(value, value) for value in values]


def _as_texts(frame: "pd.DataFrame", dates: frozenset[str]) -> _Columns:
    """Return the columns of a frame; ``dates`` are days."""
    return {
        str(name): [
            _text(value, name in dates) if filled else ""
            for value, filled in zip(column.tolist(), column.notna().tolist(), strict=True)
        ]
        for name, column in frame.items()
    }


def _text(value: Any, is_day: bool) -> str:
    """Return a value as text, a day without its time."""
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, float | Decimal):
        return f"{Decimal(str(value)).normalize():f}"
    if isinstance(value, datetime):
        return value.isoformat()[:10] if is_day else value.isoformat()
    return str(value)


def _compare(scope: _Scope, here: _Records, there: _Records) -> ListingComparison:
    """Compare the records of both sides; filled fields that are not compared have a reason."""
    names = sorted(here.columns.keys() | there.columns.keys())
    plain = [name for name in names if name not in here.lists | there.lists]
    rest = dict.fromkeys(range(here.count)), dict.fromkeys(range(there.count))
    equal = list(_merge(here, there, rest, names))
    pairs = [pair for key in scope.keys for pair in _merge(here, there, rest, key, filled=True)]
    pairs += _merge(here, there, rest, plain)
    fields: Counter[str] = Counter()
    differences: list[Difference] = []
    for at_here, at_there in pairs:
        values = zip(names, here.values(at_here, names), there.values(at_there, names), strict=True)
        for name, value, other in values:
            if value != other:
                fields[name] += 1
                differences.append(Difference(here.labels[at_here], name, value, other))
    read_back = None if scope.resource is None else scope.resource.read_back
    assigned = {*find_listing(scope.wanted.listing).key, *(read_back.codes if read_back else ())}
    not_compared = []
    for name in sorted(here.filled.keys() | there.filled.keys()):
        if not scope.includes(name) and name not in scope.lists:
            default = _SYSTEM_ASSIGNED if name.split(".")[-1] in assigned else _NOT_IN_SHEETS
            reason = scope.wanted.excluded.get(name) or default
            not_compared.append(NotCompared(name, reason, here.filled[name], there.filled[name]))
    return ListingComparison(
        scope.wanted.title,
        here.count,
        there.count,
        len(equal),
        len(rest[0]),
        len(rest[1]),
        here.complete and there.complete,
        dict(fields.most_common()),
        differences[:_MAX_SHOWN],
        not_compared,
    )


def _merge(
    here: _Records,
    there: _Records,
    rest: tuple[dict[int, None], dict[int, None]],
    names: Collection[str],
    *,
    filled: bool = False,
) -> Iterator[tuple[int, int]]:
    """Yield the records of both sides with the same fields, and remove them from the ``rest``.

    With ``filled``, records that lack one of the fields are left out.
    """
    left, right = rest
    by_key: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    for at in reversed(right):
        by_key[there.values(at, names)].append(at)
    for at in list(left):
        values = here.values(at, names)
        if by_key[values] and (all(values) or not filled):
            other = by_key[values].pop()
            del left[at], right[other]
            yield at, other
