"""A .csv file with edited cells keeps its form, and every byte of its other rows."""

import codecs
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from xlbridge.settings import ParseOptions, WorkbookLimits
from xlbridge.workbook import CellPosition
from xlbridge.workbook.edit import edit_csv
from xlbridge.workbook.read import read_workbook

Values = Mapping[CellPosition, Decimal | date | str]


def edited(path: Path, content: bytes, values: Values, *order: int) -> bytes:
    path.write_bytes(content)
    read = read_workbook(path, WorkbookLimits(), trusted=content)
    assert read.csv is not None
    rows = order or range(1, read.sheets[0].height + 1)
    return edit_csv(content, read.csv, ParseOptions(), values, rows)


FORMS = [
    ("nome;valor\r\nAção;1,5\r\nB;2,5\r\n", "utf-8", b""),
    ("nome;valor\nAção;1,5\nB;2,5", "utf-8", codecs.BOM_UTF8),
    ("nome\tvalor\r\nAção\t1,5\r\nB\t2,5\r\n", "utf-16-le", codecs.BOM_UTF16_LE),
    ("nome\tvalor\r\nAção\t1,5\r\nB\t2,5\r\n", "utf-16-be", codecs.BOM_UTF16_BE),
    ("nome;valor\r\nAção;1,5\r\nB;2,5\r\n\x1a", "cp1252", b""),
    ("sep=;\r\nnome;valor\r\nAção;1,5\r\nB;2,5\r\n", "cp1252", b""),
    ('"nome";"valor"\r\n"Ação";"1,5"\r\n"B";"2,5"\r\n', "utf-8", b""),
    ("nome;valor\rAção;1,5\rB;2,5\r", "utf-8", b""),
]


@pytest.mark.parametrize(("text", "codec", "mark"), FORMS)
def test_only_the_edited_cell_changes(tmp_path: Path, text: str, codec: str, mark: bytes) -> None:
    content = mark + text.encode(codec)
    assert edited(tmp_path / "a.csv", content, {}) == content
    found = edited(tmp_path / "a.csv", content, {(2, 1): Decimal("3.75")})
    assert found == mark + text.replace("1,5", "3,75").encode(codec)


def test_values_are_written_as_others_in_their_column(tmp_path: Path) -> None:
    content = b"nome,valor,dia,outro\nA,1.5,2026-09-20,31/12/2026\nB,2.5,2026-09-21,\n"
    values: Values = {
        (2, 0): 'Silva, "Zé"',
        (2, 1): Decimal("1234.5"),
        (3, 2): date(2026, 10, 1),
        (3, 3): date(2026, 10, 2),
    }
    found = edited(tmp_path / "a.csv", content, values).decode("cp1252")
    assert found.splitlines()[1:] == [
        '"Silva, ""Zé""",1234.5,2026-09-20,31/12/2026',
        "B,2.5,2026-10-01,02/10/2026",
    ]


@pytest.mark.parametrize(
    ("known", "written"), [("1.234", "7,5"), ("1.234,50", "7,5"), ("1.50", "7.5"), ("1,234", "7,5")]
)
def test_thousands_are_no_decimals_for_a_new_number(
    tmp_path: Path, known: str, written: str
) -> None:
    content = f"conta;valor\r\nA;{known}\r\nB;2\r\n".encode()
    found = edited(tmp_path / "a.csv", content, {(3, 1): Decimal("7.5")})
    assert found == content.replace(b";2", f";{written}".encode())


def test_rows_are_added_moved_and_left_out(tmp_path: Path) -> None:
    content = b"nome;valor\r\nA;1,5\r\nB;2,5"
    values: Values = {(4, 0): "C", (5, 1): Decimal(7)}
    found = edited(tmp_path / "a.csv", content, values, 1, 4, 3, 5)
    assert found == b"nome;valor\r\nC;\r\nB;2,5\r\n;7\r\n"
