"""Corpus of bad cells: each has exactly its finding, and other cells have none.

Each damage is applied to all columns it fits, in each resource; headers are in any position.
Mixtures of damages are generated, too.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from damages import DAMAGES, Damage
from good_rows import make_rows
from hypothesis import given, strategies as st
from sampling import examples
from sheets import write_rows

from xlbridge.resources import Catalogue, Column, Kind, Resource, load_catalogue
from xlbridge.validation import validate_workbook
from xlbridge.workbook import cell_address

RESOURCES = list(load_catalogue().values())
Expected = set[tuple[str, str, str]]


@cache
def good_rows(resource: str) -> Sequence[Mapping[str, Any]]:
    return make_rows(resource, 160, "corpus")


def affected_columns(damage: Damage, resource: Resource) -> list[Column]:
    return [column for column in resource.columns if damage.fits(column)]


def good_value(column: Column, row: Mapping[str, Any]) -> Any:
    """Return a valid value: of the row, a barcode that fits any title, or the schema's example."""
    value = row.get(column.name)
    if value is None and "boleto" in column.checks:
        return "00192000000000000000500940144816060680935031"
    return column.example if value is None else value


def fits_row(column: Column, row: Mapping[str, Any]) -> bool:
    """Return whether the column's rules apply to a row: documents depend on the nature."""
    wanted = {Kind.CNPJ: "J", Kind.CPF: "F"}.get(column.kind)
    return wanted is None or row.get("natureza") == wanted


def write_damaged_sheet(
    path: Path,
    resource: Resource,
    cells: Sequence[tuple[Damage, Column]],
    top: int,
    left: int,
    blank_every: int,
) -> Expected:
    """Write a sheet with one damage per bad row, and a good row before each of them."""
    rows = iter(good_rows(resource.name))
    names = [column.name for column in resource.columns]

    def in_order(row: Mapping[str, Any]) -> list[Any]:
        return [row.get(name) for name in names]

    lines: list[list[Any]] = []
    expected: Expected = set()
    for damage, column in cells:
        lines.append(in_order(next(rows)))
        if len(lines) % blank_every == 0:
            lines.append([None] * len(names))
        row = next(row for row in rows if fits_row(column, row))
        values = dict(row) | {column.name: damage.apply(column, good_value(column, row))}
        lines.append(in_order(values))
        cell = cell_address(top + 1 + len(lines), left + names.index(column.name))
        expected.add((cell, column.name, damage.code))
    lines.append(in_order(next(rows)))
    title = "Planilha de outubro" if top else None
    write_rows(path, names, lines, at=(top, left), title=title)
    return expected


def found(path: Path, resource: Resource) -> tuple[Expected, int]:
    validated = validate_workbook(path, load_catalogue(), resource=resource.name)
    # The main sheet has no child sheets here.
    findings = [
        (str(f.cell), str(f.column), f.kind.code)
        for f in validated.findings
        if f.kind.code != "parent-without-children"
    ]
    return set(findings), len(findings)


def cases() -> Iterator[Any]:
    """Yield each damage with one of the resources it applies to; with the others as slow tests."""
    for place, damage in enumerate(DAMAGES):
        fitting = [resource for resource in RESOURCES if affected_columns(damage, resource)]
        yield pytest.param(damage, [one := fitting[place % len(fitting)]], id=damage.name)
        others = [resource for resource in fitting if resource is not one]
        yield pytest.param(damage, others, id=f"{damage}-elsewhere", marks=pytest.mark.slow)


@pytest.mark.parametrize(("damage", "resources"), list(cases()))
def test_every_damaged_cell_is_found_and_nothing_else(
    tmp_path: Path, damage: Damage, resources: Sequence[Resource]
) -> None:
    for resource in resources:
        find_damaged_cells(tmp_path, damage, resource)


def find_damaged_cells(folder: Path, damage: Damage, resource: Resource) -> None:
    columns = affected_columns(damage, resource)
    place = DAMAGES.index(damage) + RESOURCES.index(resource)
    path = folder / "bad.xlsx"
    cells = [(damage, column) for column in columns]
    expected = write_damaged_sheet(path, resource, cells, place % 5, place % 3, 2 + place % 4)
    assert len(expected) == len(columns)
    assert found(path, resource) == (expected, len(expected))


def test_corpus_has_its_minimum_size(catalogue: Catalogue) -> None:
    assert len({damage.name for damage in DAMAGES}) == len(DAMAGES) >= 60
    for resource in catalogue.values():
        assert sum(bool(affected_columns(damage, resource)) for damage in DAMAGES) >= 35
    cells = [(d, r, c) for d in DAMAGES for r in catalogue.values() for c in affected_columns(d, r)]
    assert len(cells) > 1_500


@st.composite
def mixtures(draw: st.DrawFn) -> tuple[Resource, list[tuple[Damage, Column]]]:
    """Draw one damage for each of some columns, so that damages do not influence each other."""
    resource = draw(st.sampled_from(RESOURCES))
    cells = []
    places = st.sets(st.integers(0, len(resource.columns) - 1), min_size=1)
    for column in (resource.columns[place] for place in draw(places)):
        fitting = [damage for damage in DAMAGES if damage.fits(column)]
        cells.append((draw(st.sampled_from(fitting)), column))
    return resource, cells


@examples(12)
@given(
    mixture=mixtures(),
    top=st.integers(0, 40),
    left=st.integers(0, 30),
    blank_every=st.integers(2, 9),
)
def test_mixed_damages_are_found_and_nothing_else(
    mixture: tuple[Resource, list[tuple[Damage, Column]]], top: int, left: int, blank_every: int
) -> None:
    resource, cells = mixture
    with TemporaryDirectory() as folder:
        path = Path(folder) / "bad.xlsx"
        expected = write_damaged_sheet(path, resource, cells, top, left, blank_every)
        assert found(path, resource) == (expected, len(cells))


def test_rules_across_columns_and_rows_have_one_finding(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    payable = dict(good_rows("contaspagar")[0])
    gross = payable["ValorBruto"]
    rows = [
        payable | {"valorDoLancamento": gross + 1},
        payable | {"numeroDoDocumento": "F-2", "valorDoLancamento": gross, "ValorINSSRetido": 1},
        payable
        | {"numeroDoDocumento": "F-3", "valorDoLancamento": "dez", "ValorINSSRetido": gross},
        payable | {"numeroDoDocumento": "F-4"},
        payable | {"numeroDoDocumento": "F-4"},
        payable | {"numeroDoDocumento": "F-4", "dataDeVencimento": None},
        payable | {"numeroDoDocumento": "F-4", "valorDoLancamento": 1, "CodigoDeBarras": None},
    ]
    names = [column.name for column in catalogue["contaspagar"].columns]
    path = tmp_path / "rows.xlsx"
    write_rows(path, names, [[row.get(name) for name in names] for row in rows])
    amount, number = names.index("valorDoLancamento"), names.index("numeroDoDocumento")
    assert found(path, catalogue["contaspagar"])[0] == {
        (cell_address(2, amount), "valorDoLancamento", "net-exceeds-gross"),
        (cell_address(3, amount), "valorDoLancamento", "sum-exceeds-gross"),
        (cell_address(4, amount), "valorDoLancamento", "type-number"),
        (cell_address(6, number), "numeroDoDocumento", "duplicate-in-sheet"),
    }
