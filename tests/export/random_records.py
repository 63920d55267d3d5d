"""Random nested records of a listing, and their expected rows."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from hypothesis import strategies as st
from reading import ExportColumn, Sheet

from xlbridge.export import Listing
from xlbridge.resources import Kind

PLAIN_TEXT = st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=20)
SPECIAL_TEXTS = ["=1+1", "+55 11", "-x", "@a", "007", "<r>a</r>", "_x0000_", "_x0041_x0042_"]
VALUES: dict[Kind, st.SearchStrategy[Any]] = {
    Kind.TEXT: PLAIN_TEXT | st.sampled_from(SPECIAL_TEXTS),
    Kind.INTEGER: st.integers(-(10**15) + 1, 10**15 - 1),
    Kind.NUMBER: st.decimals(-(10**9), 10**9, places=4, allow_nan=False, allow_infinity=False),
    Kind.MONEY: st.decimals(-(10**12), 10**12, places=2, allow_nan=False, allow_infinity=False),
    Kind.DATE: st.datetimes(datetime(1900, 3, 1), datetime(9999, 12, 31)).map(
        lambda moment: moment.replace(microsecond=0).isoformat()
    ),
    Kind.BOOLEAN: st.booleans(),
}
ADDRESS = "https://files.example.com/a/b.pdf"


def value_of(column: ExportColumn) -> st.SearchStrategy[Any]:
    if column.is_secret:
        return st.sampled_from([ADDRESS, f"{ADDRESS}?token=SECRET#x"])
    return st.lists(PLAIN_TEXT, max_size=3) if column.is_list else VALUES[column.kind]


def fields_of(sheet: Sheet, *, required: tuple[str, ...] = ()) -> st.SearchStrategy[Any]:
    always = {c.name: value_of(c) for c in sheet.columns if c.name in required}
    optional = {c.name: value_of(c) | st.none() for c in sheet.columns if c.name not in required}
    return st.fixed_dictionaries(always, optional=optional)


@st.composite
def records_of(draw: st.DrawFn, listing: Listing) -> dict[str, Any]:
    main_sheet, *children = listing.sheets
    record: dict[str, Any] = draw(fields_of(main_sheet, required=listing.key))
    for sheet in children:
        holders = [record]
        for name in sheet.within[:-1]:
            holders = [inner for holder in holders for inner in holder.get(name) or ()]
        for holder in holders:
            holder[sheet.within[-1]] = draw(st.lists(fields_of(sheet), max_size=2) | st.none())
    return record


def expected_rows(sheet: Sheet, record: dict[str, Any]) -> Iterator[list[Any]]:
    """Yield a record's expected rows; values are unchanged, but addresses lose their query."""
    for chain in chains(record, sheet.within):
        *_, inner = chain
        row = []
        for column in sheet.columns:
            sources = reversed(chain) if column.name in sheet.key else [inner]
            found = (o[column.name] for o in sources if o.get(column.name) is not None)
            value = next(found, None)
            row.append(ADDRESS if column.is_secret and value is not None else value)
        yield row


def chains(record: dict[str, Any], within: tuple[str, ...]) -> Iterator[list[dict[str, Any]]]:
    """Yield each object at a path, after the objects around it."""
    if not within:
        yield [record]
        return
    for inner in record.get(within[0]) or ():
        for chain in chains(inner, within[1:]):
            yield [record, *chain]
