"""Large sheets parsed in chunks are read like the same sheets parsed as a whole.

Inside: workbook.
"""

import random
import sys
import zipfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
import xlsxwriter
from environment import ROOT
from packing import MAIN, SHEET, STRINGS, good_parts, packed, unpacked
from random_workbooks import write_random_sheets

from xlbridge.errors import UsageError, WorkbookRefused
from xlbridge.resources import Catalogue
from xlbridge.settings import WorkbookLimits
from xlbridge.validation import validate_workbook
from xlbridge.workbook import column_letters
from xlbridge.workbook.read import SheetCells, WorkbookCells, parsing, read_workbook
from xlbridge.workbook.read.messages import RowsRead, SheetStarted, assemble_workbook

LIMITS = WorkbookLimits()
SAMPLES = sorted((ROOT / "samples").glob("*.xlsx"))
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
NOTATIONS = [
    '<t xml:space="preserve">{}</t>',
    "<t>{}</t>",
    "<t>{}</t>",
    "<r><rPr><b/></rPr><t>{}</t></r><r><t> e mais</t></r>",
    "<t/>",
]
"""Notations of a shared text."""

UNUSUAL_MARKUP = "<sheetPr filterMode='0'/>"
"""Markup that prevents parsing in chunks; programs do not write it in large sheets."""

MERGED = '<mergeCells count="1"><mergeCell ref="A2:B3"/></mergeCells>'


def cell(rng: random.Random, address: str) -> str:
    text = escape(rng.choice(["0012", "Loja 3 & filhos", "z" * 600, "#N/A", "\ue001", ""]))
    return rng.choice(
        [
            f'<c r="{address}"><v>{rng.randrange(-5, 90000)}</v></c>',
            f'<c r="{address}" s="1"><v>{rng.random()}</v></c>',
            f'<c r="{address}" t="s"><v>{rng.randrange(len(SHARED))}</v></c>',
            f'<c r="{address}" s="1" t="s"><v>{rng.randrange(len(SHARED))}</v></c>',
            f'<c r="{address}" t="inlineStr"><is><t>{text}</t></is></c>',
            f'<c r="{address}" s="1" t="inlineStr"><is><t>{text}</t></is></c>',
            f'<c r="{address}" t="b"><v>1</v></c>',
            f'<c r="{address}" t="str"><v>{text}</v></c>',
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
    heights = rng.choice([[""], ["", ' ht="15.75" customHeight="1"', ' hidden="0" ht="20"']])
    for _ in range(count):
        number += rng.choice([1, 1, 1, 1, 2, 40])
        attributes = rng.choice(heights)
        if rng.random() < 0.01:
            attributes = rng.choice([' hidden="1"', ' ht="0" customHeight="1"', ' ht="2.5"'])
        # Some columns begin far down, in a chunk of their own.
        right = width + (number > count) * 3
        inside = "".join(
            cell(rng, f"{column_letters(position)}{number}")
            for position in range(first, right)
            if rng.random() < 0.8
        )
        yield f'<row r="{number}"{attributes}>{inside}</row>'


def write_pair(folder: Path, seed: int, count: int) -> tuple[Path, Path]:
    rng = random.Random(seed)
    data = "".join(rows(rng, count, rng.randrange(1, 9)))
    texts = "".join(f"<si>{rng.choice(NOTATIONS).format(escape(text))}</si>" for text in SHARED)
    parts = good_parts(folder) | {STRINGS: f'<sst xmlns="{MAIN}">{texts}</sst>'.encode()}
    paths = []
    for name, before in (("chunks", ""), ("whole", UNUSUAL_MARKUP)):
        content = f"{before}<sheetData>{data}</sheetData>{MERGED}"
        sheet = f'<worksheet xmlns="{MAIN}">{content}</worksheet>'
        paths.append(folder / f"{name}.xlsx")
        paths[-1].write_bytes(packed({**parts, SHEET: sheet.encode()}))
    return paths[0], paths[1]


def contents(sheet: SheetCells) -> list[list[object]]:
    return [sheet.row(position) for position in range(sheet.height)]


def parsed(path: Path) -> WorkbookCells:
    """Read a workbook in this process, like the parser process."""
    return read_workbook(path, LIMITS, trusted=path.read_bytes())


def use_small_chunks(monkeypatch: pytest.MonkeyPatch, least: int) -> None:
    """Parse sheets of at least ``least`` bytes in chunks of few rows."""
    monkeypatch.setattr(parsing, "_MAX_EXACT_SIZE", least)
    monkeypatch.setattr(parsing, "_CHUNK_SIZE", 4_000)


def assert_equal_contents(folder: Path, seed: int, count: int) -> None:
    (chunked,), (whole,) = (
        read_workbook(p, LIMITS).sheets for p in write_pair(folder, seed, count)
    )
    assert (chunked.first_column, contents(chunked)) == (whole.first_column, contents(whole)), seed
    assert chunked.raw == whole.raw, seed
    assert chunked.raw.layout.merged, seed


@pytest.mark.parametrize(("seed", "count"), [(1, 100), (2, 900), (3, 6_000)])
def test_chunks_are_parsed_like_the_whole_sheet(tmp_path: Path, seed: int, count: int) -> None:
    assert_equal_contents(tmp_path, seed, count)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 300))
def test_many_chunks_are_parsed_like_the_whole_sheet(tmp_path: Path, seed: int) -> None:
    assert_equal_contents(tmp_path, seed, random.Random(seed).randrange(50, 9_000))


@pytest.mark.parametrize(
    ("damage", "description"),
    [
        ('<c r="A{n}" t="s"><v>999</v></c>', "a shared text that is not there"),
        ('<c r="A{n}" t="s"><v> 1 </v></c>', "an index that is no plain number"),
        ('<c r="A{n}"><v>1</v><v>2</v></c>', "two values"),
        ('<c r="A{n}"><v>1.2.3</v></c>', "a value that is no number"),
        ('<c r="A1"><v>1</v></c>', "an address that goes back"),
    ],
)
def test_damage_in_the_last_chunk_is_refused_as_in_a_whole_sheet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str, description: str
) -> None:
    use_small_chunks(monkeypatch, 0)
    messages = []
    for before in ("", UNUSUAL_MARKUP):
        lines = "".join(
            f'<row r="{n}"><c r="A{n}" t="inlineStr"><is><t>{"x" * 400}</t></is></c></row>'
            for n in range(1, 200)
        )
        last = f'<row r="200">{damage.format(n=200)}</row>'
        sheet = (
            f'<worksheet xmlns="{MAIN}">{before}<sheetData>{lines}{last}</sheetData></worksheet>'
        )
        texts = f'<sst xmlns="{MAIN}"><si><t>a</t></si></sst>'
        path = tmp_path / "a.xlsx"
        path.write_bytes(
            packed(good_parts(tmp_path) | {SHEET: sheet.encode(), STRINGS: texts.encode()})
        )
        with pytest.raises(WorkbookRefused) as refused:
            parsed(path)
        messages.append((refused.value.code, str(refused.value)))
    assert messages[0] == messages[1], description


@pytest.mark.parametrize("mark", ["\ue000", "&#xE000;", "&#xe000;", "&#57344;", "&#x00E000;"])
def test_text_like_a_shared_index_is_unchanged_in_every_sheet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mark: str
) -> None:
    monkeypatch.setattr(parsing, "_MAX_EXACT_SIZE", 0)
    path = tmp_path / "two.xlsx"
    with xlsxwriter.Workbook(path) as book:
        for name in ("first", "second"):
            page = book.add_worksheet(name)
            page.write_column(0, 0, ["0", name, "shared by both"])
            page.write_column(0, 1, ["Z1", 5])
    parts = unpacked(path)
    second = SHEET.replace("sheet1", "sheet2")
    number = parts[STRINGS].decode().split("</si>").index("<si><t>Z1</t>")
    shared, own = f't="s"><v>{number}</v>', f't="inlineStr"><is><t>{mark}0</t></is>'
    assert shared in parts[second].decode()
    parts[second] = parts[second].decode().replace(shared, own).encode()
    content = packed(parts)
    read = assemble_workbook(parsing.parse_file(path, content, None, LIMITS)).sheets
    assert [contents(sheet)[0] for sheet in read] == [["0", "Z1"], ["0", "\ue0000"]]
    assert [contents(sheet)[1:] for sheet in read] == [
        [[name, 5], ["shared by both", ""]] for name in ("first", "second")
    ]


DAMAGES = [
    (b' t="s"', b" t='s'"),
    (b"<v>", b"<v> "),
    (b"</v>", b"</v><v>1</v>"),
    (b"<v>1", b"<v>+1"),
    (b"<v>1", b"<v>.1"),
    (b"<v>1", b"<v>-1e"),
    (b"<v>#N/A", b"<v>#SPILL!"),
    (b"<c ", b"<!-- <c/> --><c "),
    (b"</is>", b"</is ><!-- -->"),
    (b"<row ", b'<row hidden="true" '),
    (b"</sheetData>", b'<row r="9" hidden="1"/></sheetData>'),
    (b"<c r=", b"<c x:r="),
]
"""Replacements that damage a sheet or make its notation unusual."""


def damage(path: Path, rng: random.Random) -> None:
    with zipfile.ZipFile(path) as book:
        parts = {name: book.read(name) for name in book.namelist()}
    before, after = rng.choice(DAMAGES)
    sheet = parts[SHEET]
    begin = rng.randrange(max(len(sheet), 1))
    parts[SHEET] = sheet[:begin] + sheet[begin:].replace(before, after, 1)
    path.write_bytes(packed(parts))


def outcome_of(path: Path, catalogue: Catalogue) -> tuple[object, ...]:
    """Return the findings of a workbook parsed in this process, or the reason of a refusal."""

    try:
        found = validate_workbook(path, catalogue, workbook=partial(parsed, path)).findings
    except WorkbookRefused as refusal:
        return refusal.code, str(refusal)
    except UsageError as error:
        return (str(error),)
    return tuple((f.kind.code, f.column, f.cell, f.row, f.value, str(f.message)) for f in found)


def outcomes(
    paths: Sequence[Path], catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch, least: int
) -> list[tuple[object, ...]]:
    """Return the outcomes of workbooks whose sheets are parsed in chunks of few rows."""
    use_small_chunks(monkeypatch, least)
    return [outcome_of(path, catalogue) for path in paths]


def differing(
    paths: Sequence[Path], catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    """Return the workbooks whose outcomes differ between chunks and the exact scan."""
    chunked = outcomes(paths, catalogue, monkeypatch, 0)
    exact = outcomes(paths, catalogue, monkeypatch, sys.maxsize)
    return [p.name for p, one, other in zip(paths, chunked, exact, strict=True) if one != other]


@pytest.mark.parametrize(
    ("seed", "count"), [(1, 4), *(pytest.param(n, 500, marks=pytest.mark.slow) for n in range(20))]
)
def test_chunks_have_the_findings_of_the_exact_scan(
    tmp_path: Path, catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch, seed: int, count: int
) -> None:
    by_notation = []
    for inline in (False, True):
        folder = tmp_path / str(inline)
        folder.mkdir()
        paths = write_random_sheets(folder, count, seed, inline=inline)
        assert differing(paths, catalogue, monkeypatch) == []
        by_notation.append(outcomes(paths, catalogue, monkeypatch, 0))
        rng = random.Random(seed)
        for path in paths:
            damage(path, rng)
        assert differing(paths, catalogue, monkeypatch) == []
    assert by_notation[0] == by_notation[1]


@pytest.mark.slow
def test_chunks_have_the_findings_of_the_exact_scan_in_samples(
    catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert differing(SAMPLES, catalogue, monkeypatch) == []


def test_sheets_written_by_programs_are_parsed_in_chunks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_small_chunks(monkeypatch, 0)
    for inline in (False, True):
        for path in write_random_sheets(tmp_path, 20, 3, inline=inline):
            messages = list(parsing.parse_file(path, path.read_bytes(), None, LIMITS))
            # One that is written in an unusual way is begun twice.
            assert [type(message) for message in messages].count(SheetStarted) == 1
            assert sum(isinstance(message, RowsRead) for message in messages) > 0
