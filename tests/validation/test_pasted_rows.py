"""Rows that are not records: repeated headers of pasted pages, notes below a table."""

from pathlib import Path

import pytest
from sheets import GOOD, write_rows

from xlbridge.resources import Catalogue
from xlbridge.validation import ValidatedSheet, validate_workbook

CLIENT = ["nomeComercial", "seuCodigo", "email"]


def found(validated: ValidatedSheet) -> list[tuple[str | None, str]]:
    return [(finding.cell, finding.kind.code) for finding in validated.findings]


def test_repeated_header_row_is_reported_and_is_not_a_record(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    names = ["anotação", *CLIENT]
    lines = [
        ["", "Padaria", "C-1", None],
        [],
        ["página 2", *CLIENT],
        ["", "Açougue", "C-2", None],
        ["anotação", *CLIENT],
    ]
    path = write_rows(tmp_path / "a.xlsx", names, lines, at=(2, 1))
    validated = validate_workbook(path, catalogue, resource="cliente")
    assert found(validated) == [
        ("B3", "column-unknown"),
        ("C6", "row-header-again"),
        ("C8", "row-header-again"),
    ]
    assert validated.frame["nomeComercial"].dropna().tolist() == ["Padaria", "Açougue"]


def test_repeated_header_row_has_no_other_findings(tmp_path: Path, catalogue: Catalogue) -> None:
    record = GOOD["contasreceber"]
    lines = [list(record.values()), list(record), list(record.values())]
    path = write_rows(tmp_path / "a.xlsx", list(record), lines)
    validated = validate_workbook(path, catalogue)
    assert found(validated) == [("A3", "row-header-again")]
    assert validated.findings[0].value == "codigoDaFilial"


def test_some_cells_may_equal_their_headers(tmp_path: Path, catalogue: Catalogue) -> None:
    lines = [["nomeComercial", None, None], ["nomeComercial", "seuCodigo", None]]
    path = write_rows(tmp_path / "a.xlsx", CLIENT, lines)
    assert found(validate_workbook(path, catalogue, resource="cliente")) == []
    alone = write_rows(tmp_path / "b.xlsx", CLIENT[:1], [["Padaria"], ["nomeComercial"]])
    validated = validate_workbook(alone, catalogue, resource="cliente")
    assert found(validated) == [("A3", "row-header-again")]


RECORDS = [["Padaria", "C-1", None], ["Açougue", "C-2", None]]
GAP: list[str | None] = []


@pytest.mark.parametrize(
    ("below", "expected"),
    [
        ([GAP, ["Fonte: sistema antigo"]], [("A5", "row-note")]),
        ([GAP, GAP, ["Página 1 de 1"], ["Por Maria"]], [("A6", "row-note"), ("A7", "row-note")]),
        ([GAP, ["Total: 2"], GAP, ["Por Maria"]], [("A5", "row-total"), ("A7", "row-note")]),
        ([["Mercearia"]], []),
        ([GAP, ["Mercearia", "C-3"]], []),
        ([["Mercearia"], GAP, ["Fonte: sistema antigo"]], [("A6", "row-note")]),
        ([GAP, *([["Mercearia"]] * 11)], []),
    ],
)
def test_note_below_the_table_is_reported(
    tmp_path: Path,
    catalogue: Catalogue,
    below: list[list[str | None]],
    expected: list[tuple[str, str]],
) -> None:
    path = write_rows(tmp_path / "a.xlsx", CLIENT, [*RECORDS, *below])
    assert found(validate_workbook(path, catalogue, resource="cliente")) == expected


def test_a_list_of_names_has_no_notes(tmp_path: Path, catalogue: Catalogue) -> None:
    path = write_rows(tmp_path / "a.xlsx", CLIENT[:1], [["Padaria"], GAP, ["Açougue"]])
    assert found(validate_workbook(path, catalogue, resource="cliente")) == []
