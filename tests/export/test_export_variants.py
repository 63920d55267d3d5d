"""Listings in every shape that the description allows or leaves open.

The records of each listing are served in another shape, spelling, types and status. Whatever the
variant, an export that says it is complete has all of them, and each value is in it or is told.
"""

import json
import random
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from email.message import Message
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from answer_shapes import SPELLINGS, STATUSES, TYPES, Shape
from environment import Xlbridge
from fake_system import FakeSystem, Query, Reply, replying_server
from reading import ExportColumn, Sheet
from sampling import sampled

from xlbridge.export import LISTINGS, Listing
from xlbridge.resources import Kind

pytestmark = pytest.mark.one_database

NEED_FILTERS = {"caixabancos", "requisicoes-estoque", "requisicoes-estoque-finalizadas"}
LISTED = [
    listing
    for name, listing in LISTINGS.items()
    if not listing.per_record and name not in NEED_FILTERS
]
RECORDS = 4
_CHUNK = 20


def day_first(value: Any) -> Any:
    """Return a document with its moments as dd/MM/yyyy HH:mm:ss."""
    if isinstance(value, dict):
        return {name: day_first(item) for name, item in value.items()}
    if isinstance(value, list):
        return [day_first(item) for item in value]
    if not (isinstance(value, str) and value[4:5] == "-" and "T" in value):
        return value
    day, time = value.split("T")
    return "/".join(reversed(day.split("-"))) + f" {time}"


def codes_as_numbers(value: Any) -> Any:
    """Return a document in which texts of digits are numbers."""
    if isinstance(value, dict):
        return {name: codes_as_numbers(item) for name, item in value.items()}
    if isinstance(value, list):
        return [codes_as_numbers(item) for item in value]
    return int(value) if isinstance(value, str) and value.isdecimal() else value


ALL_TYPES: Mapping[str, Shape] = {
    **TYPES,
    "dates with the day first": day_first,
    "codes as numbers": codes_as_numbers,
    "numbers with an exponent": lambda data: data,
}
SOUND: Mapping[str, Callable[[list[Any]], Any]] = {
    "list": lambda records: {"success": True, "data": records},
    "one object": lambda records: {"success": True, "data": records[0]},
    "null": lambda _records: {"success": True, "data": None},
    "no record": lambda _records: {"success": True, "data": []},
    "more in the envelope": lambda records: {"versao": "6", "success": True, "data": records},
    "another field": lambda records: {
        "success": True,
        "data": [with_other_field(one) for one in records],
    },
    "byte order mark": lambda records: {"success": True, "data": records},
    "success as text": lambda records: {"success": "true", "data": records},
    "no errors": lambda records: {"success": True, "data": records, "errors": [], "total": 9},
}
DEFECTIVE: Mapping[str, Callable[[list[Any]], Any]] = {
    "no data": lambda _records: {"success": True},
    "refused": lambda records: {"success": False, "data": records, "errors": []},
    "success with errors": lambda records: {
        "success": True,
        "data": records,
        "errors": [{"key": "", "value": "Tempo esgotado"}],
    },
    "a failure as data": lambda records: {
        "success": True,
        "data": {"success": False, "data": records, "errors": []},
    },
    "within an object": lambda records: {
        "success": True,
        "data": {"itens": records, "pagina": 1, "paginas": 7},
    },
    "a page of many": lambda records: {"data": records, "pagina": 1, "paginas": 7},
    "a text": lambda _records: {"success": True, "data": "Nenhum registro"},
    "a count": lambda records: {"success": True, "data": len(records)},
    "a list alone": lambda records: records,
    "cut short": lambda records: {"success": True, "data": records},
    "keys unknown": lambda records: {
        "success": True,
        "data": [{f"campo{n}": v for n, v in enumerate(one.values())} for one in records],
    },
}


def with_other_field(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record whose last plain field has a name that nobody knows."""
    plain = [name for name, value in record.items() if not isinstance(value, list)]
    return {("outro" + n if n == plain[-1] else n): value for n, value in record.items()}


def records_of(listing: Listing) -> list[dict[str, Any]]:
    """Return records with a value in every field of the listing's own sheet, and items."""
    main, *children = listing.sheets
    found = []
    for number in range(1, RECORDS + 1):
        record: dict[str, Any] = {c.field: value_of(c, number) for c in main.columns if c.field}
        for sheet in children:
            if len(sheet.within) == 1:
                own = sheet.columns[sheet.record_columns :]
                record[sheet.within[0]] = [{c.field: value_of(c, number) for c in own}]
        found.append(record)
    return found


def value_of(column: ExportColumn, number: int) -> Any:
    if column.is_list:
        return ["um", "dois"]
    return {
        Kind.INTEGER: number,
        Kind.NUMBER: number + 0.25,
        Kind.MONEY: 1000.5 + number,
        Kind.DATE: f"2026-10-{number:02}T10:30:00",
        Kind.BOOLEAN: number % 2 == 0,
    }.get(column.kind, f"0{number}" if column.field.startswith("codigo") else f"texto {number}")


Case = tuple[Listing, tuple[str, ...]]


def cases() -> Iterator[Case]:
    """Yield every variant of every listing."""
    for listing in LISTED:
        axes = (SOUND, SPELLINGS, ALL_TYPES, map(str, STATUSES))
        yield from ((listing, chosen) for chosen in product(*axes))
        spelled = product(DEFECTIVE, SPELLINGS, ("as the spec",), ("200",))
        yield from ((listing, chosen) for chosen in spelled)


def chunks() -> Iterator[list[Case]]:
    """Yield all cases in chunks, mixed."""
    found = list(cases())
    random.Random(38).shuffle(found)
    for start in range(0, len(found), _CHUNK):
        yield found[start : start + _CHUNK]


def served(listing: Listing, variant: tuple[str, ...]) -> tuple[list[dict[str, Any]], Reply]:
    """Return the records that a variant really has, by the description's names, and the answer."""
    shape, spelling, types, status = variant
    records = ALL_TYPES[types](records_of(listing))
    document = {**SOUND, **DEFECTIVE}[shape](records)
    body = json.dumps(SPELLINGS[spelling](document)).encode()
    if types == "numbers with an exponent":
        body = body.replace(b".25", b"25e-2")
    if shape == "byte order mark":
        body = BOM_UTF8 + body
    cut = 40 if shape == "cut short" else 0
    kept = {"one object": records[:1], "null": [], "no record": []}.get(shape, records)
    return kept, Reply(body[: len(body) - cut], int(status), cut)


def new_folder(folder: Path) -> Path:
    """Return a new folder within one."""
    made = folder / f"{len(list(folder.iterdir()))}"
    made.mkdir()
    return made


def problem(xlbridge: Xlbridge, folder: Path, listing: Listing, variant: tuple[str, ...]) -> str:
    """Return what an export made wrong of a variant, empty if nothing."""
    records, reply = served(listing, variant)
    path = listing.operation.path

    def answer(asked: str, _query: Query, _headers: Message) -> Reply:
        return reply if asked == path else Reply(b'{"success": true, "data": []}')

    output, manifest = folder / "x.jsonl", folder / "m.json"
    with replying_server(answer) as address:
        environment = FakeSystem(address, []).environment()
        options = ["-o", output, "--manifest", manifest]
        done = xlbridge("export", listing.name, *options, **environment)
    told = done.stderr + (manifest.read_text("utf-8") if manifest.exists() else "")
    if variant[0] in DEFECTIVE:
        return "complete" if done.returncode == 0 else ""
    if done.returncode != 0:
        return f"refused: {done.stderr[-300:]}"
    if json.loads(manifest.read_text("utf-8"))["complete"] is not True:
        return "not complete"
    if variant[0] == "another field":
        records = list(map(with_other_field, records))
    main, *children = listing.sheets
    found = [lost_values(main, records, lines_of(output), told)]
    for sheet in children:
        if len(sheet.within) == 1:
            items = [item for record in records for item in record[sheet.within[0]]]
            lines = lines_of(folder / f"x.{sheet.name}.jsonl")
            found.append(lost_values(sheet, items, lines, told))
    return "; ".join(filter(None, found))


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def lost_values(
    sheet: Sheet, objects: list[dict[str, Any]], lines: list[dict[str, Any]], told: str
) -> str:
    """Return what is neither in the sheet of an export nor told, empty if there is nothing."""
    if len(lines) != len(objects):
        return f"{len(lines)} of {len(objects)} rows of {sheet.name}"
    columns = {column.field: column.name for column in sheet.columns}
    for sent in objects:
        for field, value in sent.items():
            if field in columns:
                name = columns[field]
                stored = [plain(line.get(name)) for line in lines]
                if plain(value) not in stored and f"{sheet.name}.{name}" not in told:
                    return f"{sheet.name}.{name}: {value!r} became {stored}"
            elif not isinstance(value, list) and field.casefold() not in told.casefold():
                return f"{field} is left out in silence"
    return ""


def plain(value: Any) -> Any:
    """Return a value as a text that is the same for each of its notations."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float):
        return str(Decimal(str(value)).normalize())
    if isinstance(value, str):
        try:
            number = Decimal(value)
        except ArithmeticError:
            return value.removesuffix("T00:00:00")
        return str(number.normalize()) if value[:1] != "0" or value == "0" else value
    return value


@pytest.mark.parametrize("found", sampled(chunks(), lambda index, _: index == 0))
def test_no_variant_of_a_listing_is_exported_wrongly(
    xlbridge: Xlbridge, tmp_path: Path, found: list[Case]
) -> None:
    wrong = {
        (listing.name, *variant): told
        for listing, variant in found
        if (told := problem(xlbridge, new_folder(tmp_path), listing, variant))
    }
    assert not wrong
