"""Exported import sheets: unedited rows are unchanged, and every edited cell is detected.

Inside: export, upload.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from exporting import export
from openpyxl import load_workbook
from sampling import every
from sheets import data_sheet, write_workbook

from xlbridge.client import Client, Record, Target
from xlbridge.errors import UsageError
from xlbridge.export import LISTINGS, Filter, Filters
from xlbridge.export.layout import require_records_of
from xlbridge.export.listing_model import Listing, children_of
from xlbridge.i18n import override_language
from xlbridge.resources import (
    Catalogue,
    Column,
    Kind,
    Resource,
    load_catalogue,
)
from xlbridge.resources.remote import operation_named
from xlbridge.sandbox import RunningSandbox
from xlbridge.upload.lookup import RowSnapshot, record_reader
from xlbridge.upload.lookup.bulk_lookup import compare_rows
from xlbridge.upload.lookup.comparison import RowMatcher, lookups_for
from xlbridge.upload.lookup.snapshot import RecordTable, RowTable, RowValues
from xlbridge.upload.payload import frame_with_lists
from xlbridge.validation import validate_workbook
from xlbridge.wire import Operation, record_model


class CountingClient(Client):
    """Client that counts its calls."""

    calls = 0

    def records(self, operation: Operation, **arguments: Any) -> Iterator[Record]:
        self.calls += 1
        return super().records(operation, **arguments)


@pytest.fixture
def client(demo: RunningSandbox) -> Iterator[CountingClient]:
    with CountingClient(Target("demo", demo.base_url, demo.email, demo.password)) as opened:
        yield opened


def sheets_to_edit() -> list[tuple[str, str]]:
    """Return the pairs of a listing and a resource whose sheet it can fill."""
    found = []
    for listing in LISTINGS.values():
        for resource in load_catalogue().values():
            try:
                require_records_of(listing, resource)
            except UsageError:
                continue
            found.append((listing.name, resource.name))
    return found


def edited_value(column: Column, value: Any) -> Any:
    """Return another value of the column's kind."""
    if value is None:
        return _VALUES.get(column.kind, "F" if column.name == "natureza" else "X-1")
    match value:
        case bool():
            return not value
        case datetime():
            return value + timedelta(days=1)
        case int() | float():
            return value + 1
        case _:
            return "F" if value == "J" else f"{value}9"


_VALUES: dict[Kind, Any] = {
    Kind.BOOLEAN: False,
    Kind.DATE: datetime(2026, 2, 3),
    Kind.INTEGER: 9,
    Kind.NUMBER: 9.5,
    Kind.MONEY: 9.5,
    Kind.CNPJ: "11.222.333/0001-81",
    Kind.CPF: "529.982.247-25",
}


def with_edits(resource: Resource, rows: Sequence[RowValues]) -> list[tuple[str, RowValues]]:
    """Return rows with one edited or emptied cell each, and the edits."""
    changed = []
    for column in resource.sent_columns:
        filled = [row for row in rows if row[column.name] is not None]
        empty = [row for row in rows if row[column.name] is None]
        for row in (*filled[:1], *filled[-1:], *empty[:1]):
            new = edited_value(column, row[column.name])
            changed.append((f"{column.name} = {new!r}", {**row, column.name: new}))
        for row in filled[:1] if _can_be_emptied(resource, column) else ():
            changed.append((f"{column.name} emptied", {**row, column.name: None}))
    for child in (one for one in resource.children if one.sheet in rows[0]):
        row = max(rows, key=lambda one: len(one[child.sheet] or ()))
        if not row[child.sheet]:  # Nothing is counted in the inventories of the demo company.
            continue
        first, *others = row[child.sheet]
        for column in child.sent_columns:
            item = {**first, column.name: edited_value(column, first.get(column.name))}
            changed.append((f"{child.sheet}.{column.name}", {**row, child.sheet: [item, *others]}))
        if others:
            changed.append((f"{child.sheet} shortened", {**row, child.sheet: [first]}))
    return changed


def _can_be_emptied(resource: Resource, column: Column) -> bool:
    declared = resource.read_back
    assert declared is not None
    # An empty code says nothing: the system gives it.
    ignored = {*declared.blank, *declared.blank_as, *declared.codes}
    return not column.required and column.name not in ignored


def is_unchanged(read: RowSnapshot | None) -> bool:
    """Return whether a row would leave a record unchanged."""
    return read is not None and any(record.unchanged for record in read.found)


def filters_of(listing: str, client: Client) -> Filters:
    """Return filters that limit listings with many records or a call for each record."""
    match listing:
        case "pedidos":
            return Filters({Filter.LIMIT: 30})
        case "nfe":
            orders = client.records(LISTINGS["pedidos"].operation)
            invoices = islice((order["idNF"] for order in orders if order["idNF"]), 30)
            return Filters({Filter.ID: tuple(invoices)})
        case "contatos":
            return Filters({Filter.CLIENT: tuple(range(1001, 1041))})
        case _:
            return Filters()


@pytest.mark.parametrize(("listing", "name"), every(6, sheets_to_edit()))
def test_unedited_rows_are_unchanged_and_each_edit_is_detected(
    tmp_path: Path, client: CountingClient, catalogue: Catalogue, listing: str, name: str
) -> None:
    resource = catalogue.named(name)
    assert resource.read_back is not None
    path = tmp_path / "sheet.xlsx"
    filters = filters_of(listing, client)
    settled = LISTINGS[listing].is_settled
    with override_language("pt-BR"):
        layout = {"as_template": resource.name, "settled": settled}
        export(client, listing, path, filters, headers="titles", **layout)
    titles = [c.value for c in data_sheet(load_workbook(path))[1]]
    named = {one.name for one in resource.columns if one.name != one.title.pt}
    assert not named.intersection(titles)
    sheet = validate_workbook(path, catalogue)
    assert sheet.resource == resource
    listed = {child.sheet for child in resource.children} & children_of(
        LISTINGS[listing].model
    ).keys()
    assert listed == set(sheet.children)
    errors = [f for one in sheet.with_children for f in one.findings if f.kind.severity == "error"]
    assert errors == []
    frames = [frame_with_lists(sheet)]
    if not resource.read_back.lookups:  # The system's own number alone finds them.
        frames.append(sheet.numbers)
    rows: list[RowValues] = [dict(row) for row in RowTable.of(*frames)]
    changes = with_edits(resource, rows)
    assert len(changes) >= len(resource.sent_columns)
    client.calls = 0
    read = record_reader(client, resource, [*rows, *(row for _, row in changes)])().snapshot
    by_path = any(operation_named(n).path_parameters for n in resource.read_back.operation_names)
    edited_numbers = len(resource.read_back.codes)
    most = len(rows) + edited_numbers if by_path else max(4, len(rows) // 50)
    if any(lookup.counted for lookup in resource.read_back.lookups):
        # And five numbers without a contact after the last one of each client, edited codes too.
        most += 5 * len({row["codigoDoCliente"] for row in [*rows, *(row for _, row in changes)]})
    assert client.calls <= most
    assert all(map(is_unchanged, read[: len(rows)]))
    assert rows
    lookups = zip(changes, read[len(rows) :], strict=True)
    undetected = [edit for (edit, _), found in lookups if is_unchanged(found)]
    assert undetected == []


def test_every_sheet_can_be_filled_from_a_listing() -> None:
    filled = {resource for _, resource in sheets_to_edit()}
    # Of outputs and entries the interface shows balances and movements, not the records.
    assert set(load_catalogue()) - filled == {"saida", "entrada"}


def test_a_sheet_of_records_without_a_key_is_refused(
    catalogue: Catalogue,
) -> None:
    with pytest.raises(UsageError, match="no key") as refused:
        require_records_of(LISTINGS["movimentacoes"], catalogue.named("saida"))
    assert "another record" in str(refused.value.hint)
    with pytest.raises(UsageError, match="does not hold the records") as raised:
        require_records_of(LISTINGS["nfse"], catalogue.named("contaspagar"))
    assert "contaspagar: contaspagar, contaspagar-baixados." in str(raised.value.hint)


def test_a_record_listed_twice_counts_once(catalogue: Catalogue) -> None:
    """A record that changes while its listing is fetched is in two windows."""
    resource = catalogue.named("cliente")
    assert resource.read_back is not None
    row = {"nomeComercial": "Ana", "seuCodigo": "A-1"}
    (lookup,) = lookups_for(resource, row)
    first = {"codigoDoCliente": 7, "nomeComercial": "Eva", "seuCodigo": "A-1"}
    records = RecordTable(first)
    records.add([first, {**first, "nomeComercial": "Ana"}], "registry.clients.list")
    matcher = RowMatcher(resource, resource.read_back)
    key = {name: ["A-1"] for name in lookup.key}
    (reading,) = compare_rows(matcher, [row], [key], [(0, 1)], records, first.keys())
    assert reading is not None
    assert [(found.code, found.same) for found in reading.found] == [("7", True)]


@pytest.mark.parametrize("listing", every(4, LISTINGS.values()), ids=lambda listing: listing.name)
def test_an_exported_sheet_is_not_mistaken_for_another_resource(
    listing: Listing, tmp_path: Path
) -> None:
    """Not even if a sheet was copied into another workbook. A complete export is recognised instead
    of being asked for the columns of import sheets."""
    catalogue = load_catalogue()
    sheets = {sheet.name: [column.name for column in sheet.columns] for sheet in listing.sheets}
    for names in (list(sheets), *([name] for name in sheets)):
        rows = {name: [dict.fromkeys(sheets[name], 1)] * 2 for name in names}
        try:
            found = validate_workbook(write_workbook(tmp_path / "x.xlsx", **rows), catalogue)
        except UsageError:
            continue
        assert found.resource is not None
        if names == list(sheets):
            hints = {f.kind.code: str(f.hint) for s in found.with_children for f in s.findings}
            assert "column-missing" not in hints
        if any(finding.kind.code == "column-missing" for finding in found.findings):
            continue
        declared = found.resource.read_back
        operations = () if declared is None else declared.operation_names
        models = {record_model(operation_named(name).data) for name in operations}
        assert record_model(listing.operation.data) in models, (names, found.resource.name)
        assert found.sheet == next(iter(sheets)), (names, found.resource.name)
