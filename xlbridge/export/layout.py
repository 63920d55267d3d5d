"""Layout of an export: its sheets, and the conversion of records into their lines.

In the layout of an import sheet a listing can be edited and uploaded again. The resource's schema
file declares the field of a record for each column; the default is the field of the same name.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import time
from itertools import chain
from typing import Any

from xlbridge.client import Record
from xlbridge.client.listing_answer import record_shape
from xlbridge.errors import UsageError
from xlbridge.export.all_listings import LISTINGS
from xlbridge.export.filters import Filters
from xlbridge.export.flatten import Rearrange
from xlbridge.export.formats.base import LineFormat
from xlbridge.export.listing_model import Listing, children_of, columns_of
from xlbridge.export.part_reader import LineSpec, RecordFilter
from xlbridge.export.sheets import (
    NO_NAMES,
    ExportColumn,
    RecordNames,
    Sheet,
    as_json,
    encode_json,
    join_child_sheet,
    naive_moment,
    with_names,
)
from xlbridge.i18n import Text
from xlbridge.resources import KEY, Kind, Resource
from xlbridge.resources.remote import ReadBack, RecordToRow, SeparateList
from xlbridge.wire import WireModel

UNKNOWN_FIELDS = "outrosCampos"
"""Column of undocumented fields, as JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Layout of a listing's records in sheets: ``for_people``, their leading columns first, with
    names beside codes if ``named``.

    The other fields are those of ``ExportRequest``.

    Raises ``UsageError`` if it does not suit the listing.
    """

    listing: Listing
    flat: str | None = None
    in_detail: bool = False
    keep_unknown: bool = False
    template: Resource | None = None
    settled: bool = False
    for_people: bool = False
    named: bool = False

    def __post_init__(self) -> None:
        listing = self.listing
        if self.template is not None:
            require_records_of(listing, self.template)
            if listing.is_settled and not self.settled:
                raise UsageError(_SETTLED.format(listing=listing.name), _HOW_TO_SETTLED)
        elif self.settled:
            raise UsageError(
                Text(
                    pt="--settled só vale com --as-template.",
                    en="--settled requires --as-template.",
                )
            )
        children = [sheet.name for sheet in listing.sheets[1:]]
        if self.flat is not None and self.flat not in children:
            raise UsageError(
                Text(
                    pt="A listagem {listing} não tem a planilha {name!r}.",
                    en="The listing {listing} has no sheet {name!r}.",
                ).format(listing=listing.name, name=self.flat),
                (_CHILDREN if children else _NO_CHILDREN).format(names=", ".join(children)),
            )
        if self.in_detail and listing.details is None:
            raise UsageError(
                Text(
                    pt="A listagem {listing} não tem anexos.",
                    en="The listing {listing} has no attachments.",
                ).format(listing=listing.name)
            )

    @property
    def fetched(self) -> Listing:
        """Listing that is fetched: with ``in_detail``, each record by its key."""
        return self.listing.in_detail() if self.in_detail else self.listing

    @property
    def sheets(self) -> tuple[Sheet, ...]:
        """Sheets that are written."""
        if self.template is not None:
            return template_sheets(self.fetched, self.template)
        sheets = self.fetched.sheets
        if self.keep_unknown:
            unknown = ExportColumn(UNKNOWN_FIELDS, Kind.TEXT)
            sheets = tuple(replace(s, columns=(*s.columns, unknown)) for s in sheets)
        if self.flat is not None:
            sheets = join_child_sheet(sheets, self.flat)
        if self.named:
            sheets = tuple(map(with_names, sheets))
        if self.for_people:
            leading = self.listing.leading
            sheets = tuple(sheet.led_by(leading.get(sheet.name, "").split()) for sheet in sheets)
        return sheets

    def registries(self) -> list[str]:
        """Return the registries whose names the sheets have."""
        columns = chain.from_iterable(sheet.columns for sheet in self.sheets)
        return list(dict.fromkeys(column.registry for column in columns if column.registry))

    def line_spec(
        self, filters: Filters, line_formats: Sequence[LineFormat], names: RecordNames = NO_NAMES
    ) -> LineSpec:
        """Return the conversion of answers, and ``names`` of records, into lines of the sheets."""
        listing = self.fetched
        rearrange: Rearrange | None = None
        row: ImportRow | None = None
        lists: Mapping[str, SeparateList] = {}
        if self.template is not None and self.template.read_back is not None:
            rearrange = row = ImportRow(self.template, self.template.read_back)
            lists = self.template.read_back.lists
        elif self.keep_unknown:
            rearrange = UnknownFieldCollector(listing.model)
        # An import sheet counts the fields that it leaves out, unknown ones included.
        shape = record_shape(listing.model, keep_unknown=rearrange is not None)
        # Records requested by key or value need not repeat it.
        names_itself = listing.per_record is None and listing.per_value is None
        return LineSpec(
            shape=replace(shape, naming=listing.key) if names_itself else shape,
            key=listing.key,
            record_filter=RecordFilter(listing, filters),
            collects_update_times=listing.cap is not None,
            sheets=self.sheets,
            line_formats=line_formats,
            rearrange=rearrange,
            totals=listing.totals.lines if listing.totals else None,
            left_out=row.left_out if row else None,
            lists=lists,
            names=names,
        )


_CHILDREN = Text(pt="Ela tem: {names}.", en="It has: {names}.")
_NO_CHILDREN = Text(
    pt="Ela tem uma única planilha: exporte-a sem --flat.",
    en="It has a single sheet: export it without --flat.",
)
_SETTLED = Text(
    pt="Os registros de {listing} estão baixados: enviados de uma planilha de importação, seriam "
    "títulos novos, em aberto.",
    en="The records of {listing} are settled: uploaded from an import sheet, they would be new, "
    "open titles.",
)
_HOW_TO_SETTLED = Text(
    pt="Exporte sem --as-template, ou confirme com --settled (num plano, settled: true) que a "
    "planilha deve ter títulos baixados.",
    en="Export without --as-template, or confirm with --settled (in a plan, settled: true) that "
    "the sheet is meant to hold settled titles.",
)


def require_records_of(listing: Listing, resource: Resource) -> None:
    """Raise ``UsageError`` if the records of a listing are not those of a resource."""
    declared = resource.read_back
    if declared is None:
        raise UsageError(
            Text(
                pt="{resource} não tem chave pela qual um envio encontre os registros.",
                en="{resource} has no key by which an upload could find the records.",
            ).format(resource=resource.name),
            Text(
                pt="Cada linha enviada de novo criaria mais um registro. Exporte sem "
                "--as-template.",
                en="Each row uploaded again would create another record. Export without "
                "--as-template.",
            ),
        )
    if listing.operation.name not in declared.operation_names:
        raise UsageError(
            Text(
                pt="A listagem {listing} não tem os registros de {resource}.",
                en="The listing {listing} does not hold the records of {resource}.",
            ).format(listing=listing.name, resource=resource.name),
            _HOW_TO_EXPORT_RECORDS.format(
                resource=resource.name,
                names=", ".join(
                    one.name
                    for one in LISTINGS.values()
                    if one.operation.name in declared.operation_names
                ),
            ),
        )


_HOW_TO_EXPORT_RECORDS = Text(
    pt="Listagens com os registros de {resource}: {names}. Para a planilha de importação da "
    "própria listagem, use --as-template sem recurso.",
    en="Listings with the records of {resource}: {names}. For the listing's own import sheet, use "
    "--as-template without a resource.",
)


def resources_with(listing: Listing, resources: Iterable[Resource]) -> list[Resource]:
    """Return the resources that the records of a listing belong to."""
    return [
        resource
        for resource in resources
        if resource.read_back and listing.operation.name in resource.read_back.operation_names
    ]


def resource_of(listing: Listing, resources: Iterable[Resource]) -> Resource:
    """Return the resource whose import sheet fits the records of a listing.

    Raises ``UsageError`` if there is none, or more than one.
    """
    found = resources_with(listing, resources)
    if len(found) == 1:
        return found[0]
    names = ", ".join(resource.name for resource in found)
    raise UsageError(
        Text(
            pt="Não há um único recurso cuja planilha de importação sirva para os registros de "
            "{listing}{names}.",
            en="There is no single resource whose import sheet fits the records of "
            "{listing}{names}.",
        ).format(listing=listing.name, names=names and f": {names}")
    )


def template_sheets(listing: Listing, resource: Resource) -> tuple[Sheet, ...]:
    """Return the sheets of a resource for the records of a listing: the main one, then its lists.

    The columns of the system's number of the record come last.
    """
    declared = resource.read_back
    numbers = set(declared.number_columns if declared else ())
    columns = [*_columns(resource), *(c for c in columns_of(listing.model) if c.name in numbers)]
    available = {*children_of(listing.model), *(declared.lists if declared else ())}
    lists = (child for child in resource.children if child.sheet in available)
    return (
        Sheet(resource.name, tuple(columns), (), listing.key),
        *(Sheet(c.sheet, tuple(_columns(c)), (c.sheet,), (KEY,)) for c in lists),
    )


def _columns(resource: Resource) -> list[ExportColumn]:
    return [ExportColumn(column.name, column.kind) for column in resource.sheet_columns]


class ImportRow:
    """Conversion of a record into a row of a resource's import sheet.

    Lists within the record have sheets of their own, joined by the number made up of its codes.
    """

    def __init__(self, resource: Resource, declared: ReadBack) -> None:
        self._convert: RecordToRow = declared.as_row
        self._number_columns = declared.number_columns
        self._joined_codes = declared.joined_codes
        self._dates = [column.name for column in resource.columns if column.kind is Kind.DATE]
        self._lists = {
            child.sheet: frozenset(column.name for column in child.sent_columns)
            for child in resource.children
        }

    def __call__(self, record: Record) -> Record:
        """Return the row, with its lists."""
        row = {name: record.get(name) for name in self._number_columns} | self._convert(record)
        if not self._lists:
            return row
        row[KEY] = self._joined_codes(record)
        return row | {name: record.get(name) for name in self._lists}

    def left_out(self, records: Sequence[Record]) -> tuple[list[str], list[int]]:
        """Return the lines of records for ``sum_left_out``, and the number of each record's.

        Each has the fields without a column. A list counts its items, any other filled field
        counts once. The time of a date is left out too.
        """
        found = list(map(self._left_out, records))
        return [f"{encode_json(counts)}\n" for counts in found if counts], [*map(bool, found)]

    def _left_out(self, record: Record) -> Mapping[str, int]:
        renamed = self._convert.renamed_fields(record)
        carried = {*self._number_columns, *self._convert.same_name, *renamed, *self._lists}
        counts = Counter(
            {
                name: count
                for name, value in record.items()
                if name not in carried and (count := _value_count(value))
            }
        )
        for name, columns in self._lists.items():
            for item in record.get(name) or ():
                counts.update(
                    f"{name}.{inner}"
                    for inner, value in item.items()
                    if inner not in columns and _value_count(value)
                )
        for name in self._dates:
            value = record.get(name)
            # A value that is no moment has an error of its own.
            with suppress(ValueError):
                if isinstance(value, str) and naive_moment(value).time() != time():
                    counts[f"{name}.time"] = 1
        return counts


def sum_left_out(lines: Iterable[bytes]) -> dict[str, int]:
    """Return the count of each field without a column, the most frequent first."""
    counts: Counter[str] = Counter()
    for line in lines:
        counts.update(json.loads(line))
    return dict(counts.most_common())


def _value_count(value: Any) -> int:
    if isinstance(value, list):
        return len(value)
    return 0 if value is None or value == "" or (isinstance(value, Mapping) and not value) else 1


class UnknownFieldCollector:
    """Moves the fields that a model does not have into one field, as JSON, also within lists."""

    def __init__(self, model: type[WireModel]) -> None:
        self._known = frozenset(column.name for column in columns_of(model))
        self._children = {
            name: UnknownFieldCollector(inner) for name, inner in children_of(model).items()
        }

    def __call__(self, record: Record) -> Record:
        """Return the rearranged record."""
        result = {name: record[name] for name in self._known if name in record}
        for name, collect in self._children.items():
            result[name] = [collect(inner) for inner in record.get(name) or ()]
        unknown = {
            name: value
            for name, value in record.items()
            if name not in self._known and name not in self._children
        }
        if unknown:
            result[UNKNOWN_FIELDS] = as_json(unknown)
        return result
