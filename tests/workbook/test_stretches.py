"""A large sheet that is parsed in stretches reads like its twin that is parsed as a whole."""

import random
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
from packing import MAIN, SHEET, STRINGS, good_parts, packed

from xlbridge.errors import WorkbookRefused
from xlbridge.settings import WorkbookLimits
from xlbridge.workbook import column_letters
from xlbridge.workbook.read import SheetCells, read_workbook

LIMITS = WorkbookLimits()
SHARED = [
    "",
    "Padaria <Estrela>",
    " à esquerda",
    "x" * 700,
    "15",
    "não\ndois",
    "_x000D_",
    "y" * 400,
]
WHOLE = "<sheetPr filterMode='0'/>"
"""What a program that writes large sheets does not write."""


def cell(rng: random.Random, address: str) -> str:
    text = escape(rng.choice(["0012", "Loja 3 & filhos", "z" * 600, "#N/A", "\ue001", ""]))
    return rng.choice(
        [
            f'<c r="{address}"><v>{rng.randrange(-5, 90000)}</v></c>',
            f'<c r="{address}" s="1"><v>{rng.random()}</v></c>',
            f'<c r="{address}" t="s"><v>{rng.randrange(len(SHARED))}</v></c>',
            f'<c r="{address}" s="1" t="s"><v>{rng.randrange(len(SHARED))}</v></c>',
            f'<c r="{address}" t="inlineStr"><is><t>{text}</t></is></c>',
            f'<c r="{address}" t="b"><v>1</v></c>',
            f'<c r="{address}" t="d"><v>2026-11-22T00:00:00</v></c>',
            f'<c r="{address}" t="str"><f>A1&amp;"x"</f><v>{text}</v></c>',
            f'<c r="{address}"><f>1+1</f></c>',
            f'<c r="{address}" t="e"><v>{rng.choice(["#N/A", "#SPILL!", "#DIV/0!"])}</v></c>',
            f'<c r="{address}" s="1"/>',
            "",
        ]
    )


def rows(rng: random.Random, count: int, width: int) -> Iterator[str]:
    number, first = 0, rng.randrange(3)
    for _ in range(count):
        number += rng.choice([1, 1, 1, 1, 2, 40])
        hidden = ' hidden="1"' if rng.random() < 0.01 else ""
        # Some columns begin far down, in a stretch of their own.
        right = width + (number > count) * 3
        inside = "".join(
            cell(rng, f"{column_letters(place)}{number}")
            for place in range(first, right)
            if rng.random() < 0.8
        )
        yield f'<row r="{number}"{hidden}>{inside}</row>'


def write_twins(folder: Path, seed: int, count: int) -> tuple[Path, Path]:
    rng = random.Random(seed)
    data = "".join(rows(rng, count, rng.randrange(1, 9)))
    texts = "".join(f'<si><t xml:space="preserve">{escape(text)}</t></si>' for text in SHARED)
    parts = good_parts(folder) | {STRINGS: f'<sst xmlns="{MAIN}">{texts}</sst>'.encode()}
    paths = []
    for name, before in (("stretches", ""), ("whole", WHOLE)):
        sheet = f'<worksheet xmlns="{MAIN}">{before}<sheetData>{data}</sheetData></worksheet>'
        paths.append(folder / f"{name}.xlsx")
        paths[-1].write_bytes(packed({**parts, SHEET: sheet.encode()}))
    return paths[0], paths[1]


def contents(sheet: SheetCells) -> list[list[object]]:
    return [sheet.row(position) for position in range(sheet.height)]


def assert_alike(folder: Path, seed: int, count: int) -> None:
    (mine,), (whole,) = (read_workbook(p, LIMITS).sheets for p in write_twins(folder, seed, count))
    assert (mine.first_column, contents(mine)) == (whole.first_column, contents(whole)), seed
    assert mine.raw == whole.raw, seed


@pytest.mark.parametrize(("seed", "count"), [(1, 100), (2, 900), (3, 6_000), (4, 12_000)])
def test_stretches_read_like_the_whole(tmp_path: Path, seed: int, count: int) -> None:
    assert_alike(tmp_path, seed, count)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 300))
def test_many_stretches_read_like_the_whole(tmp_path: Path, seed: int) -> None:
    assert_alike(tmp_path, seed, random.Random(seed).randrange(50, 9_000))


@pytest.mark.parametrize(
    ("damage", "by"),
    [
        ('<c r="A{n}" t="s"><v>999</v></c>', "a shared text that is not there"),
        ('<c r="A{n}" t="s"><v> 1 </v></c>', "an index that is no plain number"),
        ('<c r="A{n}"><v>1</v><v>2</v></c>', "two values"),
        ('<c r="A1"><v>1</v></c>', "an address that goes back"),
    ],
)
def test_what_is_refused_in_a_whole_is_refused_in_the_last_stretch(
    tmp_path: Path, damage: str, by: str
) -> None:
    said = []
    for before in ("", WHOLE):
        lines = "".join(
            f'<row r="{n}"><c r="A{n}" t="inlineStr"><is><t>{"x" * 400}</t></is></c></row>'
            for n in range(1, 20_000)
        )
        last = f'<row r="20000">{damage.format(n=20_000)}</row>'
        sheet = (
            f'<worksheet xmlns="{MAIN}">{before}<sheetData>{lines}{last}</sheetData></worksheet>'
        )
        texts = f'<sst xmlns="{MAIN}"><si><t>a</t></si></sst>'
        path = tmp_path / "a.xlsx"
        path.write_bytes(
            packed(good_parts(tmp_path) | {SHEET: sheet.encode(), STRINGS: texts.encode()})
        )
        with pytest.raises(WorkbookRefused) as refused:
            read_workbook(path, LIMITS)
        said.append((refused.value.code, str(refused.value)))
    assert said[0] == said[1], by
