"""Refresh of an analyst's workbook: ``export LISTING --into FILE``."""

import zipfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from fake_system import fake_system
from refreshed_books import SHAPES, Shape, titles_of

from xlbridge.cli.main import main

_PATH = "/v2/financeiro/contasreceber"


class Exporter:
    """``export --into`` from a system whose records a test sets."""

    def __init__(self) -> None:
        self.records: list[dict[str, Any]] = []

    def __call__(self, path: Path, *arguments: str) -> int:
        return main(["export", "contasreceber", "--into", str(path), *arguments])


@pytest.fixture
def refresh(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Exporter]:
    exporter = Exporter()
    with fake_system({_PATH: lambda _query: exporter.records}) as system:
        environment = system.environment(
            XLBRIDGE_LANG="en", XLBRIDGE_HOME=str(tmp_path_factory.mktemp("own"))
        )
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        yield exporter


def parts_of(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as package:
        return {entry.filename: package.read(entry) for entry in package.infolist()}


def shown_rows(path: Path, shape: Shape, count: int) -> list[list[Any]]:
    book = openpyxl.load_workbook(path, keep_vba=False)
    page = book[shape.sheet]
    return [
        [cell.value for cell in row]
        for row in page.iter_rows(min_row=shape.first, max_row=shape.first + count - 1, max_col=8)
    ]


def expected_rows(shape: Shape, records: list[dict[str, Any]]) -> list[list[Any]]:
    return [
        [
            record["numeroDaTransacao"],
            record["codigoDoExercicio"],
            f'="F"&D{row}',
            record["codigoDaFilial"],
            record["sequenciaDaTransacao"],
            datetime.fromisoformat(record["dataDeVencimento"]),
            record["valorDoLancamento"],
        ]
        for row, record in enumerate(records, start=shape.first)
    ]


@pytest.mark.filterwarnings("ignore:.*extension is not supported")
@pytest.mark.parametrize("count", [9, 3, 1, 6])
@pytest.mark.parametrize("name", SHAPES)
def test_only_the_rows_and_what_refers_to_them_change(
    tmp_path: Path, refresh: Exporter, name: str, count: int
) -> None:
    shape = SHAPES[name]
    path = tmp_path / f"book{shape.extension}"
    shape.write(path, 6)
    before = parts_of(path)
    refresh.records = titles_of(count, first=2)
    assert refresh(path, *shape.arguments) == 0
    after = parts_of(path)
    changed = {part for part in before | after if before.get(part) != after.get(part)}
    assert changed <= shape.changed
    rows = shown_rows(path, shape, count)
    assert [row[:7] for row in rows] == expected_rows(shape, refresh.records)
    assert all(str(row[7]).startswith("=") for row in rows)
    content = path.read_bytes()
    assert refresh(path, *shape.arguments) == 0
    assert path.read_bytes() == content
