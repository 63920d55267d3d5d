"""Exports that are uploaded again: without an edit they change nothing, with one they change that.

Inside: export.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow.parquet as pq
import pytest
from environment import Xlbridge, credentials
from openpyxl.cell import Cell
from openpyxl.worksheet.worksheet import Worksheet
from reading import write_all
from sampling import every, sampled
from sheets import header_of

from xlbridge.errors import UsageError
from xlbridge.export import FORMATS, LISTINGS
from xlbridge.export.layout import require_records_of, resources_with
from xlbridge.resources import Catalogue, Kind, Resource, load_catalogue
from xlbridge.sandbox import RunningSandbox

Fetch = Callable[..., list[dict[str, Any]]]
LANGUAGES = ("pt-BR", "en")
FILTERS = {
    "clientes": ["--from", "20/10/2026"],
    "contatos": ["--client", "1001-1020"],
    "pedidos": ["--limit", "30"],
}
"""Filters of listings with many records, or a call for each."""


FORMS = {
    "xlsx-pt": ("pt-BR", "x.xlsx", []),
    "xlsx-en": ("en", "x.xlsx", []),
    "codes": ("pt-BR", "x.xlsx", ["--codes-only"]),
    "names": ("en", "x.xlsx", ["--headers", "names"]),
    "ods": ("pt-BR", "x.ods", []),
    "csv": ("en", "x.csv", []),
}
"""Language, file and options of exports."""

_NOTES = {"columns-read-only", "date-has-time"}
"""Warnings of exports: columns that are not sent, and times of orders."""


def filters_of(listing: str, fetch: Fetch) -> list[str]:
    """Return filters that leave few records of a listing."""
    if listing.startswith("contasreceber"):
        (title, *_) = fetch(LISTINGS[listing].operation.path)
        return ["--client", str(title["codigoDoCliente"])]
    if listing == "nfe":
        numbers = [one["idNF"] for one in fetch(LISTINGS["pedidos"].operation.path) if one["idNF"]]
        return [word for number in numbers[:10] for word in ("--id", str(number))]
    return FILTERS.get(listing, [])


def listings_with_a_sheet() -> list[tuple[str, str]]:
    """Return each listing whose records belong to a resource, with its name."""
    resources = load_catalogue().values()
    found = {name: resources_with(one, resources) for name, one in LISTINGS.items()}
    return [(listing, one.name) for listing, fitting in found.items() for one in fitting]


def sheets_to_fill() -> list[tuple[str, str]]:
    """Return the pairs of a listing of open records and a resource whose sheet it fills."""
    found = []
    for listing in LISTINGS.values():
        for resource in load_catalogue().values():
            with suppress(UsageError):
                require_records_of(listing, resource)
                if not listing.is_settled:
                    found.append((listing.name, resource.name))
    return found


@pytest.mark.parametrize(
    ("listing", "resource", "language"),
    sampled(
        ((*pair, language) for pair in sheets_to_fill() for language in LANGUAGES),
        # Every fourth pair in one language, in turn.
        lambda index, _: index % 16 in {0, 9},
    ),
)
def test_an_unedited_export_is_unchanged_when_uploaded(
    tmp_path: Path,
    demo: RunningSandbox,
    xlbridge: Xlbridge,
    forks: None,
    listing: str,
    resource: str,
    language: str,
    fetch: Fetch,
) -> None:
    sheet = tmp_path / "sheet.xlsx"
    environment = credentials(demo) | {"XLBRIDGE_LANG": language}
    filters = filters_of(listing, fetch)
    layout = ["--as-template", resource, *filters]
    done = xlbridge("export", listing, "-o", sheet, *layout, **environment)
    assert done.returncode == 0, done.stderr
    checked = xlbridge("validate", sheet, "--format", "json", **environment)
    report, *lists = json.loads(checked.stdout)["files"]
    assert report["resource"] == resource
    assert [one["findings"] for one in (report, *lists)] == [[]] * (1 + len(lists))
    assert report["rows"] > 0
    # Without changes there is nothing to confirm.
    planned = xlbridge("upload", sheet, "--format", "json", **environment)
    assert planned.stdout, planned.stderr
    plan = json.loads(planned.stdout)["plan"]
    assert (plan["create"], plan["update"]) == (0, 0)
    # A client without a document has nothing that it is found by.
    without_key = plan["unread"] if resource == "cliente" else 0
    assert plan["unchanged"] == report["rows"] - without_key
    assert without_key <= report["rows"] // 10


@pytest.mark.parametrize(
    ("listing", "resource", "form"),
    sampled(
        ((*pair, form) for pair in listings_with_a_sheet() for form in FORMS),
        # Every second listing in one form, in turn.
        lambda index, _: index % 13 == 0,
    ),
)
def test_an_unedited_plain_export_is_unchanged_when_uploaded(
    tmp_path: Path,
    demo: RunningSandbox,
    xlbridge: Xlbridge,
    forks: None,
    listing: str,
    resource: str,
    form: str,
    fetch: Fetch,
) -> None:
    language, name, options = FORMS[form]
    sheet, manifest = tmp_path / name, tmp_path / "manifest.json"
    environment = credentials(demo) | {"XLBRIDGE_LANG": language}
    options = [*options, "--manifest", str(manifest), *filters_of(listing, fetch)]
    done = xlbridge("export", listing, "-o", sheet, *options, **environment)
    assert done.returncode == 0, done.stderr
    records = json.loads(manifest.read_text("utf-8"))["sheets"]
    checked = xlbridge("validate", sheet, "--format", "json", **environment)
    assert checked.returncode == 0, checked.stdout
    report, *lists = json.loads(checked.stdout)["files"]
    # Totals rows are no records.
    assert (report["resource"], report["rows"]) == (resource, records[listing])
    assert {one["sheet"]: one["rows"] for one in lists}.items() <= records.items()
    found = [finding["code"] for one in (report, *lists) for finding in one["findings"]]
    assert set(found) <= _NOTES
    for update in ([], ["--update"]):
        planned = xlbridge("upload", sheet, "--format", "json", *update, **environment)
        assert planned.returncode == 0, planned.stderr
        plan = json.loads(planned.stdout)["plan"]
        assert plan == dict.fromkeys(plan, 0) | {"unchanged": report["rows"]}


@pytest.mark.parametrize(("listing", "resource"), every(4, listings_with_a_sheet()))
def test_an_edited_cell_of_a_plain_export_is_one_change(
    tmp_path: Path,
    demo: RunningSandbox,
    xlbridge: Xlbridge,
    forks: None,
    catalogue: Catalogue,
    listing: str,
    resource: str,
    fetch: Fetch,
) -> None:
    path, environment = tmp_path / "x.xlsx", credentials(demo)
    done = xlbridge("export", listing, "-o", path, *filters_of(listing, fetch), **environment)
    assert done.returncode == 0, done.stderr
    book = openpyxl.load_workbook(path)
    sheet, declared = book[listing], catalogue[resource]
    edited = cell_to_edit(sheet, declared)
    if isinstance(edited.value, str | None):
        edited.value = f"{edited.value or 'Outr'}o"
    else:
        edited.value += 1
    book.save(path)
    for update in ([], ["--update"]):
        planned = xlbridge("upload", path, "--format", "json", *update, **environment)
        assert planned.stdout, planned.stderr
        outcome = json.loads(planned.stdout)
        plan = outcome["plan"]
        changes = plan["held"] + (plan["update"] if update else 0)
        assert (changes, plan["unchanged"]) == (1, outcome["rows"]["read"] - 1)
        (row,) = [one for one in outcome["not_created"] if one["action"] != "unchanged"]
        assert row["row"] == edited.row
        assert [one["column"] for one in row["differences"]] == [name_of(edited)]
    # A wrong cell is named by its address in the export, in the sheets of lists as well.
    read = sheets_read(book, listing, declared)
    wrong = {cell for name, one in read for cell in wrong_cells(book[name], one)}
    book.save(path)
    checked = xlbridge("validate", path, "--format", "json", **environment)
    files = json.loads(checked.stdout)["files"]
    cells = {
        (file["sheet"], finding["cell"])
        for file in files
        for finding in file["findings"]
        if finding["code"].startswith("type-")
    }
    assert cells == wrong


def findings_of(xlbridge: Xlbridge, path: Path) -> list[tuple[str, str | None, int | None]]:
    """Return code, cell and row of each error of a workbook's main sheet."""
    done = xlbridge("validate", path, "--format", "json")
    (file, *_) = json.loads(done.stdout)["files"]
    errors = [one for one in file["findings"] if one["severity"] == "error"]
    return [(one["code"], one["cell"], one["row"]) for one in errors]


def test_a_plain_export_with_a_few_columns_left_changes_only_these(
    tmp_path: Path, demo: RunningSandbox, xlbridge: Xlbridge
) -> None:
    path, environment = tmp_path / "x.xlsx", credentials(demo)
    assert xlbridge("export", "produtos", "-o", path, **environment).returncode == 0
    book = openpyxl.load_workbook(path)
    sheet = book["produtos"]
    sheet.tables.clear()
    for place, name in reversed([*enumerate(header_of(sheet), start=1)]):
        if name not in {"idProduto", "marca"}:
            sheet.delete_cols(place)
    sheet["B3"] = "Outra marca"
    book.save(path)
    assert findings_of(xlbridge, path) == []
    planned = xlbridge("upload", path, "--update", "--format", "json", **environment)
    outcome = json.loads(planned.stdout)
    count = outcome["rows"]["read"]
    assert outcome["plan"] == dict.fromkeys(outcome["plan"], 0) | {
        "update": 1,
        "unchanged": count - 1,
    }
    sheet.append([None, "Marca nova"])
    book.save(path)
    assert findings_of(xlbridge, path) == [("new-record-lacks", None, sheet.max_row)]


def test_records_without_a_number_and_repeated_ones_are_named(
    tmp_path: Path, demo: RunningSandbox, xlbridge: Xlbridge
) -> None:
    path, environment = tmp_path / "x.xlsx", credentials(demo)
    only = ["-o", path, "--limit", "3"]
    assert xlbridge("export", "pedidos", *only, **environment).returncode == 0
    book = openpyxl.load_workbook(path)
    book["pedidos"]["A3"] = None
    book.save(path)
    assert findings_of(xlbridge, path) == [("record-number-missing", "A3", 3)]
    flat = ["--flat", "parcelas", "--force"]
    assert xlbridge("export", "pedidos", *only, *flat, **environment).returncode == 0
    assert {code for code, _, _ in findings_of(xlbridge, path)} == {"record-again"}


def test_a_list_without_a_sheet_is_not_compared(
    tmp_path: Path, demo: RunningSandbox, xlbridge: Xlbridge
) -> None:
    path, environment = tmp_path / "x.xlsx", credentials(demo)
    assert xlbridge("export", "requisicoes", "-o", path, **environment).returncode == 0
    book = openpyxl.load_workbook(path)
    del book["itens"]
    number, book["requisicoes"]["A3"].value = book["requisicoes"]["A3"].value, None
    book.save(path)
    assert findings_of(xlbridge, path) == [("record-number-missing", "A3", 3)]
    book["requisicoes"]["A3"].value = number
    book.save(path)
    planned = xlbridge("upload", path, "--format", "json", **environment)
    outcome = json.loads(planned.stdout)
    assert outcome["plan"]["unchanged"] == outcome["rows"]["read"]


def sheets_read(
    book: openpyxl.Workbook, listing: str, resource: Resource
) -> list[tuple[str, Resource]]:
    """Return the sheets of an export that are read, those of lists if they have rows, each with its
    columns."""
    sheets = {listing: resource}
    for child in resource.children:
        if child.sheet in book and any(cell.value is not None for cell in book[child.sheet][2]):
            sheets[child.sheet] = child
    return list(sheets.items())


def name_of(cell: Cell) -> str:
    return header_of(cell.parent)[cell.column - 1]


def cell_to_edit(sheet: Worksheet, resource: Resource) -> Cell:
    """Return a cell of the second record whose change leaves it a valid row, if possible one that
    identifies nothing."""
    declared = resource.read_back
    assert declared is not None
    keys = {name for lookup in declared.all_lookups for name in lookup.key}
    names = header_of(sheet)
    order = [Kind.TEXT, Kind.MONEY, Kind.NUMBER, Kind.INTEGER]
    columns = [
        column
        for column in resource.sent_columns
        if column.name in names
        and column.kind in order
        and not (column.allowed or column.references or column.name in declared.codes)
    ]
    columns.sort(key=lambda column: (column.name in keys, order.index(column.kind)))
    return sheet.cell(3, names.index(columns[0].name) + 1)


def wrong_cells(sheet: Worksheet, resource: Resource) -> Iterator[tuple[str, str]]:
    """Write a text into a number or date of the last record, if it has any, and yield its place."""
    names = header_of(sheet)
    typed = [Kind.INTEGER, Kind.NUMBER, Kind.MONEY, Kind.DATE, Kind.BOOLEAN]
    last = sheet.max_row - any(table.totalsRowCount for table in sheet.tables.values())
    for column in resource.sent_columns:
        if column.kind in typed and column.name in names:
            cell = sheet.cell(last, names.index(column.name) + 1, "???")
            yield sheet.title, cell.coordinate
            return


def test_parquet_keeps_types_and_cents(
    tmp_path: Path, demo: RunningSandbox, xlbridge: Xlbridge
) -> None:
    output = tmp_path / "cr.parquet"
    done = xlbridge("export", "contasreceber", "-o", output, **credentials(demo))
    assert done.returncode == 0, done.stderr
    table = pq.read_table(output)
    assert str(table.schema.field("valorDoLancamento").type).startswith("decimal128")
    assert str(table.schema.field("dataDeVencimento").type).startswith("timestamp")
    assert str(table.schema.field("codigoDoItemDeLancamento").type) == "string"
    assert table.num_rows > 20
    assert (tmp_path / "cr.rateio.parquet").exists()


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (0.30000000000000004, "0.300000000000"),
        ("12345678901234567890.1234567890125", "12345678901234567890.123456789012"),
        (1e-13, "0.000000000000"),
    ],
)
def test_parquet_rounds_to_the_precision_of_its_columns(
    tmp_path: Path, value: object, kept: str
) -> None:
    listing, output = LISTINGS["contasreceber"], tmp_path / "cr.parquet"
    key = dict.fromkeys(listing.key, 1)
    records = [key | {"valorDoLancamento": Decimal(str(amount))} for amount in (value, "1.50")]
    write_all(output, records, listing.sheets, FORMATS["parquet"])
    values = pq.read_table(output)["valorDoLancamento"].to_pylist()
    assert values == [Decimal(kept), Decimal("1.50")]
