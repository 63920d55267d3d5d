"""What a listing is: one declaration; sheets, columns and filters follow from its operation."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from xlbridge.export.columns import ExportColumn, key_column
from xlbridge.export.filters import FILTERS, Filter, ValueKind, field_of
from xlbridge.export.model_columns import children_of, columns_of
from xlbridge.export.sheet import Sheet
from xlbridge.export.totals import Totals
from xlbridge.i18n import Text
from xlbridge.wire.model import WireModel, record_model
from xlbridge.wire.operation import Operation


@dataclass(frozen=True, slots=True, kw_only=True)
class Each:
    """One call for each record of another listing, as the interface reads these by key only.

    ``path`` gives the field of a source record for each parameter of the path. ``given`` is the
    filter that names the records in place of the source. ``counted`` is a further parameter that
    counts from 1 until nothing is found.
    """

    source: "Listing"
    path: Mapping[str, str]
    given: Filter | None = None
    counted: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """One listing.

    ``key`` identifies a record, ``inner_keys`` an item of a list within it that has lists of its
    own. ``of`` are the operations that take a filter's value in their path. ``cap`` is the most
    records that one answer can hold: an answer with that many may not be all. ``details`` are the
    operation that reads a record by its key, with what the listing itself leaves out, and the
    field for each parameter of its path.
    """

    name: str
    title: Text
    operation: Operation
    key: tuple[str, ...]
    of: Mapping[Filter, Operation] = field(default_factory=dict)
    cap: int | None = None
    each: Each | None = None
    details: tuple[Operation, Mapping[str, str]] | None = None
    inner_keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    totals: Totals | None = None

    @property
    def filters(self) -> tuple[Filter, ...]:
        """The filters that the remote system offers for this listing."""
        queries = [self.operation.query]
        given = set(self.of)
        if self.each:
            queries += [self.each.source.operation.query]
            given |= {self.each.given} if self.each.given else set()
        return tuple(
            name
            for name in FILTERS
            if name in given or any(field_of(name, query) for query in queries)
            if name is not Filter.LIMIT or field_of(name, self.operation.query)
        )

    @property
    def required(self) -> tuple[Filter, ...]:
        """The filters without which it cannot be asked for."""
        fields = self.operation.query.model_fields if self.operation.query else {}
        return tuple(
            name
            for name in self.filters
            if (place := field_of(name, self.operation.query)) and fields[place].is_required()
        )

    @property
    def is_windowed(self) -> bool:
        """Whether it can be asked for by the time of the last update, and need not."""
        return Filter.FROM in self.filters and Filter.FROM not in self.required and not self.each

    @property
    def sheets(self) -> tuple[Sheet, ...]:
        """The records' own sheet, then one for each list of objects within a record."""
        names = set(self.model.model_fields)
        lacking = tuple(key_column(name) for name in self.key if name not in names)
        own = Sheet(self.name, (*lacking, *columns_of(self.model)), (), self.key)
        return (own, *self._children(self.model, (), own.columns, self.key))

    @property
    def model(self) -> type[WireModel]:
        """What a record is made of."""
        model = record_model(self.operation.data)
        if model is None:
            raise TypeError(f"{self.operation.name} is not a listing")
        return model

    def in_detail(self) -> "Listing":
        """Return the same listing with each record read by its key."""
        if self.details is None:
            return self
        operation, path = self.details
        each = Each(source=self, path=path)
        return replace(self, operation=operation, each=each, details=None, cap=None)

    def _children(
        self,
        model: type[WireModel],
        within: tuple[str, ...],
        above: tuple[ExportColumn, ...],
        key: tuple[str, ...],
    ) -> Iterator[Sheet]:
        """Yield the sheets below a model; rows lack no column of the key: it stands in front."""
        for name, inner in children_of(model).items():
            own = columns_of(inner)
            names = {column.name for column in own}
            keys = tuple(c for c in above if c.name in key and c.name not in names)
            sheet = Sheet(name, (*keys, *own), (*within, name), key)
            yield sheet
            deeper = dict.fromkeys((*key, *self.inner_keys.get(name, ())))
            columns = (*(c for c in above if c.name in key), *own)
            for below in self._children(inner, sheet.within, columns, tuple(deeper)):
                yield replace(below, name=f"{name}.{below.name}")


def is_repeated(name: Filter) -> bool:
    """Say whether a filter may be given several times."""
    return FILTERS[name].kind in (ValueKind.CODES, ValueKind.TEXTS)
