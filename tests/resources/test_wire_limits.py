"""Values that the server refuses for their size are refused by every shipped schema.

Inside: sandbox.
"""

from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from sampling import every
from sheets import GOOD, write_records

from xlbridge.resources import Column, Kind, Resource, load_catalogue
from xlbridge.sandbox.problems import limit_problem
from xlbridge.validation import validate_workbook
from xlbridge.wire import MAX_LENGTHS

RESOURCES = load_catalogue()


def beyond(column: Column) -> Iterator[Any]:
    """Yield values of a column just beyond the limits of the wire."""
    match column.kind:
        case Kind.INTEGER:
            yield from (2**31, -(2**31) - 1)
        case Kind.MONEY:
            yield from (10**12, 0.001)
        case Kind.NUMBER:
            yield from (10**12, 0.1234567)
        case Kind.DATE:
            yield from (date(3000, 1, 1), "01/01/3000")
        case Kind.TEXT | Kind.CODE if column.name in MAX_LENGTHS and not column.allowed:
            yield "x" * (MAX_LENGTHS[column.name] + 1)


def refused_by_the_server(column: Column, value: Any) -> bool:
    if isinstance(value, date | str) and column.kind is Kind.DATE:
        value = datetime(3000, 1, 1)
    if isinstance(value, float) or (column.kind in {Kind.MONEY, Kind.NUMBER}):
        value = Decimal(str(value))
    is_fine_amount = column.kind is Kind.MONEY and value == Decimal("0.001")
    return is_fine_amount or limit_problem(column.name, value) is not None


TESTED = [
    resource
    for resource in RESOURCES.values()
    if resource.name in GOOD and any(True for column in resource.columns for _ in beyond(column))
]


@pytest.mark.parametrize("resource", every(2, TESTED), ids=lambda resource: resource.name)
def test_values_beyond_a_limit_of_the_wire_are_errors(tmp_path: Path, resource: Resource) -> None:
    cases = [(column, value) for column in resource.columns for value in beyond(column)]
    assert all(refused_by_the_server(column, value) for column, value in cases)
    rows = [{column.name: value} for column, value in cases]
    path = write_records(tmp_path / "a.xlsx", resource.name, rows)
    validated = validate_workbook(path, RESOURCES, resource=resource.name)
    found = {(f.row, f.column) for f in validated.error_findings()}
    expected = {(row, column.name) for row, (column, _) in enumerate(cases, start=2)}
    assert expected - found == set()
