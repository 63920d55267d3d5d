"""Refresh of an analyst's workbook: ``export LISTING --into FILE``."""

import json
import os
import re
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from fake_system import fake_system
from libreoffice import save_with_libreoffice
from openpyxl.comments import Comment
from refreshed_books import HEADERS, SHAPES, titles_of, values

from xlbridge.cli.main import main

pytestmark = pytest.mark.filterwarnings("ignore:.*extension is not supported")
"""openpyxl does not know data bars and sparklines."""

RECEIVABLES, PAYABLES = "/v2/financeiro/contasreceber", "/v2/financeiro/contaspagar"


class Exporter:
    """``export --into`` from a system whose records a test sets."""

    def __init__(self) -> None:
        self.records: list[dict[str, Any]] = []

    def __call__(self, path: Path, *arguments: str, listings: tuple[str, ...] = ()) -> int:
        return main(["export", *(listings or ("contasreceber",)), "--into", str(path), *arguments])


@pytest.fixture
def refresh(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Exporter]:
    exporter = Exporter()
    answers = {path: lambda _query: exporter.records for path in (RECEIVABLES, PAYABLES)}
    with fake_system(answers) as system:
        environment = system.environment(
            XLBRIDGE_LANG="en", XLBRIDGE_HOME=str(tmp_path_factory.mktemp("own"))
        )
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        yield exporter


def parts_of(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as package:
        return {entry.filename: package.read(entry) for entry in package.infolist()}


def shown_rows(path: Path, sheet: str, count: int, first: int = 2) -> list[list[Any]]:
    page = openpyxl.load_workbook(path)[sheet]
    rows = page.iter_rows(min_row=first, max_row=first + count - 1, max_col=len(HEADERS))
    return [[cell.value for cell in row] for row in rows]


def expected_rows(records: list[dict[str, Any]], first: int = 2) -> list[list[Any]]:
    return [values(record, row)[:7] for row, record in enumerate(records, start=first)]


def filled_in(text: str, last: int) -> str:
    """Fill the number of the last row, or one after it, into a text."""
    return re.sub(r"\{last(?:\+(\d))?\}", lambda found: str(last + int(found[1] or 0)), text)


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
    assert refresh(path) == 0
    after = parts_of(path)
    changed = {part for part in before | after if before.get(part) != after.get(part)}
    assert changed <= shape.changed
    rows = shown_rows(path, "Dados", count)
    assert [row[:7] for row in rows] == expected_rows(refresh.records)
    formulas = {re.sub(r"(?<=[A-Z])\d+", "0", str(row[7])) for row in rows}
    assert len(formulas) == 1
    if count > 1:
        for part, text in shape.follows:
            assert filled_in(text, count + 1) in after[part].decode()
    content, time = path.read_bytes(), path.stat().st_mtime_ns
    assert refresh(path) == 0
    assert (path.read_bytes(), path.stat().st_mtime_ns) == (content, time)


@pytest.mark.programs
@pytest.mark.parametrize("count", [9, 3])
def test_libreoffice_calculates_refreshed_workbooks(
    tmp_path: Path, refresh: Exporter, count: int
) -> None:
    refresh.records = titles_of(count, first=2)
    paths = []
    for name, shape in SHAPES.items():
        paths.append(tmp_path / f"{name}{shape.extension}")
        shape.write(paths[-1], 6)
        assert refresh(paths[-1]) == 0
    save_with_libreoffice(paths, tmp_path / "saved")
    found, expected = {}, {}
    for name, shape in SHAPES.items():
        book = openpyxl.load_workbook(tmp_path / "saved" / f"{name}.xlsx", data_only=True)
        for cell, value in shape.results.items():
            found[name, cell] = book["Resumo"][cell].value
            expected[name, cell] = value(refresh.records)
        found[name, "keys"] = [book["Dados"].cell(row, 1).value for row in range(2, count + 2)]
        expected[name, "keys"] = [one["numeroDaTransacao"] for one in refresh.records]
        found[name, "own"] = [book["Dados"].cell(row, 3).value for row in range(2, count + 2)]
        expected[name, "own"] = [f"F{one['codigoDaFilial']}" for one in refresh.records]
    assert found == expected


@pytest.mark.programs
def test_a_workbook_that_libreoffice_saved_is_refreshed(tmp_path: Path, refresh: Exporter) -> None:
    names = ["plain_sheet", "table_with_totals", "charts", "conditional_formats"]
    for name in names:
        SHAPES[name].write(tmp_path / f"{name}.xlsx", 6)
    saved = save_with_libreoffice([tmp_path / f"{name}.xlsx" for name in names], tmp_path / "saved")
    refresh.records = titles_of(9, first=2)
    for path in saved:
        assert refresh(path) == 0
        content = path.read_bytes()
        assert refresh(path) == 0
        assert path.read_bytes() == content
    again = save_with_libreoffice(saved, tmp_path / "again")
    for name, path in zip(names, again, strict=True):
        book = openpyxl.load_workbook(path, data_only=True)
        shown = {cell: book["Resumo"][cell].value for cell in SHAPES[name].results}
        assert shown == {c: value(refresh.records) for c, value in SHAPES[name].results.items()}


def written(path: Path, count: int = 6, headers: tuple[str, ...] = HEADERS) -> Any:
    """Return a workbook of openpyxl with titles, and its sheet; ``save`` it to ``path``."""
    SHAPES["plain_sheet"].write(path, count)
    book = openpyxl.load_workbook(path)
    for column, header in enumerate(headers, start=1):
        book["Dados"].cell(1, column, header)
    return book, book["Dados"]


def test_what_she_typed_stays_with_its_record(
    tmp_path: Path, refresh: Exporter, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "book.xlsx"
    book, page = written(path)
    page["I1"] = "Observação"
    for row in range(2, 8):
        page.cell(row, 9, f"sobre {page.cell(row, 1).value}")
    book.save(path)
    refresh.records = titles_of(6, first=3)[::-1]
    assert refresh(path) == 2
    assert "typed in I2, I3 is lost" in capsys.readouterr().err
    assert refresh(path, "--yes") == 0
    page = openpyxl.load_workbook(path)["Dados"]
    notes = {page.cell(row, 1).value: page.cell(row, 9).value for row in range(2, 8)}
    assert notes == {n: f"sobre {n}" if n < 107 else None for n in range(103, 109)}


def test_without_the_key_what_she_typed_is_named_before_it_is_lost(
    tmp_path: Path, refresh: Exporter, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "book.xlsx"
    book, page = written(path)
    page["E1"], page["I1"] = "Minha coluna", "Observação"
    page["I4"] = "ligar"
    book.save(path)
    content = path.read_bytes()
    refresh.records = titles_of(7)
    assert refresh(path) == 2
    error = capsys.readouterr().err
    assert "typed in Minha coluna, Observação is lost" in error
    assert "--yes" in error
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda page: page.__setitem__("G4", "=1+1"), "formulas in columns of the listing"),
        (lambda page: page.__setitem__("H4", 7), "column Com juros: the formula of the first row"),
        (
            lambda page: setattr(page["B5"], "comment", Comment("ver", "Ana")),
            "notes and links stay at their cells and do not follow the record: B5",
        ),
    ],
)
def test_what_cannot_be_kept_is_named_and_needs_consent(
    tmp_path: Path,
    refresh: Exporter,
    capsys: pytest.CaptureFixture[str],
    change: Any,
    message: str,
) -> None:
    path = tmp_path / "book.xlsx"
    SHAPES["table"].write(path, 6)
    book = openpyxl.load_workbook(path)
    change(book["Dados"])
    book.save(path)
    content = path.read_bytes()
    refresh.records = titles_of(7)
    assert refresh(path) == 2
    assert message in capsys.readouterr().err
    assert path.read_bytes() == content
    assert refresh(path, "--yes") == 0
    assert [row[:7] for row in shown_rows(path, "Dados", 7)] == expected_rows(refresh.records)


@pytest.mark.parametrize(
    ("change", "count", "message"),
    [
        (lambda page: page.merge_cells("A3:B3"), 6, "merged cells A3:B3"),
        (lambda page: page.merge_cells("J5:J20"), 9, "J5:J20 begins beside the table"),
        (lambda page: page.__setitem__("K7", "ao lado"), 3, "K7, beside it, would have no place"),
        (lambda page: page.__setitem__("G4", "=1+1"), 6, "G4 has a formula"),
    ],
)
def test_what_is_in_the_way_is_refused(
    tmp_path: Path,
    refresh: Exporter,
    capsys: pytest.CaptureFixture[str],
    change: Any,
    count: int,
    message: str,
) -> None:
    path = tmp_path / "book.xlsx"
    book, page = written(path)
    page["A9"] = "nota de rodapé"
    change(page)
    book.save(path)
    content = path.read_bytes()
    refresh.records = titles_of(count, first=2)
    assert refresh(path, "--yes") == 2
    assert message in capsys.readouterr().err
    assert path.read_bytes() == content
    assert [one.name for one in tmp_path.iterdir()] == ["book.xlsx"]


def test_references_to_rows_that_go_are_named(
    tmp_path: Path, refresh: Exporter, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "book.xlsx"
    book, page = written(path)
    page["A9"] = "nota"
    book["Resumo"]["B1"] = "=Dados!G7"
    book.save(path)
    refresh.records = titles_of(3)
    assert refresh(path) == 2
    assert "refer to rows that no longer exist: Dados!G7" in capsys.readouterr().err
    assert refresh(path, "--yes") == 0
    book = openpyxl.load_workbook(path)
    assert (book["Resumo"]["B1"].value, book["Dados"]["A6"].value) == ("=Dados!#REF!", "nota")


def test_the_place_is_found_by_header_or_name(
    tmp_path: Path, refresh: Exporter, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "book.xlsx"
    book, page = written(path)
    copy = book.copy_worksheet(page)
    copy.title = "Outra"
    book.save(path)
    refresh.records = titles_of(7)
    assert refresh(path) == 2
    assert "fits more than one place: Dados; Outra" in capsys.readouterr().err
    assert refresh(path, "--sheet", "Nenhuma") == 2
    assert "There are: Dados, Outra." in capsys.readouterr().err
    assert refresh(path, "--sheet", "outra") == 0
    assert [row[:7] for row in shown_rows(path, "Outra", 7)] == expected_rows(refresh.records)
    assert len(openpyxl.load_workbook(path)["Dados"]["A"]) == 7
    page.title = "contasreceber"
    book.save(path)
    assert refresh(path) == 0
    assert len(openpyxl.load_workbook(path)["contasreceber"]["A"]) == 8


def test_a_workbook_without_the_titles_is_refused(
    tmp_path: Path, refresh: Exporter, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "book.xlsx"
    book = openpyxl.Workbook()
    book.active.append(["Data", "Cliente", "Valor"])
    book.save(path)
    assert refresh(path) == 2
    error = capsys.readouterr().err
    assert "no table or sheet has the titles of the listing contasreceber" in error
    assert "Titles found: Sheet: Data, Cliente, Valor" in error


def test_several_listings_go_into_one_workbook_at_once(tmp_path: Path, refresh: Exporter) -> None:
    path = tmp_path / "book.xlsx"
    book, page = written(path)
    page.title = "contasreceber"
    book.copy_worksheet(page).title = "contaspagar"
    book["Resumo"]["A1"] = "=SUM(contasreceber!G2:G7)-SUM(contaspagar!G2:G7)"
    book.save(path)
    refresh.records = titles_of(8)
    listings = ("contasreceber", "contaspagar")
    assert refresh(path, listings=listings) == 0
    for listing in listings:
        assert [row[:7] for row in shown_rows(path, listing, 8)] == expected_rows(refresh.records)
    formula = openpyxl.load_workbook(path)["Resumo"]["A1"].value
    assert formula == "=SUM(contasreceber!G2:G9)-SUM(contaspagar!G2:G9)"


def test_listings_below_one_another_move(tmp_path: Path, refresh: Exporter) -> None:
    path = tmp_path / "book.xlsx"
    book, page = written(path)
    for row in page.iter_rows(min_row=1, max_row=7):
        for cell in row:
            page.cell(cell.row + 10, cell.column, cell.value)
    for row in range(12, 18):
        page.cell(row, 3, f'="F"&D{row}')
        page.cell(row, 8, f"=ROUND(G{row}*1.1,2)")
    for place, name in (("A1:H7", "contasreceber"), ("A11:H17", "contaspagar")):
        table = openpyxl.worksheet.table.Table(displayName=name, ref=place)
        page.add_table(table)
    book.save(path)
    refresh.records = titles_of(9)
    assert refresh(path, listings=("contasreceber", "contaspagar")) == 0
    tables = openpyxl.load_workbook(path)["Dados"].tables
    assert dict(tables.items()) == {"contasreceber": "A1:H10", "contaspagar": "A14:H23"}
    rows = shown_rows(path, "Dados", 9, first=15)
    assert [row[:7] for row in rows] == expected_rows(refresh.records, 15)


def test_an_empty_listing_needs_consent(
    tmp_path: Path, refresh: Exporter, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "book.xlsx"
    SHAPES["table"].write(path, 6)
    assert refresh(path) == 2
    assert "the listing has no records; its 6 rows are deleted" in capsys.readouterr().err
    assert refresh(path, "--yes") == 0
    assert shown_rows(path, "Dados", 1)[0][:7] == [None] * 7
    refresh.records = titles_of(4)
    assert refresh(path) == 0
    rows = shown_rows(path, "Dados", 4)
    assert [row[:2] + row[3:7] for row in rows] == [
        row[:2] + row[3:] for row in expected_rows(refresh.records)
    ]


@pytest.mark.parametrize("name", ["~$book.xlsx", ".~lock.book.xlsx#"])
def test_an_open_workbook_is_left_alone(
    tmp_path: Path, refresh: Exporter, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    path = tmp_path / "book.xlsx"
    SHAPES["table"].write(path, 6)
    (tmp_path / name).write_bytes(b"Ana")
    content = path.read_bytes()
    assert refresh(path) == 2
    assert "is open in another program" in capsys.readouterr().err
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("content", "code"), [(None, 2), (b"a;b\n1;2\n", 3), (b"PK\x03\x04 broken", 3)]
)
def test_what_is_no_workbook_is_refused(
    tmp_path: Path, refresh: Exporter, content: bytes | None, code: int
) -> None:
    path = tmp_path / "book.xlsx"
    if content is not None:
        path.write_bytes(content)
    assert refresh(path) == code


@pytest.mark.parametrize(
    "arguments",
    [
        ["contasreceber", "--into", "b.xlsx", "-o", "a.xlsx"],
        ["contasreceber", "--into", "b.xlsx", "--since-last"],
        ["contasreceber", "--into", "b.xlsx", "--headers", "names"],
        ["contasreceber", "contaspagar", "--into", "b.xlsx", "--sheet", "Dados"],
        ["contasreceber", "contaspagar", "-o", "a.xlsx"],
        ["contasreceber", "-o", "a.xlsx", "--sheet", "Dados"],
        ["contasreceber"],
    ],
)
def test_options_that_do_not_fit_are_refused(
    tmp_path: Path, refresh: Exporter, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    SHAPES["table"].write(tmp_path / "b.xlsx", 6)
    content = (tmp_path / "b.xlsx").read_bytes()
    assert main(["export", *arguments]) == 2
    assert (tmp_path / "b.xlsx").read_bytes() == content
    assert [one.name for one in tmp_path.iterdir()] == ["b.xlsx"]


def test_a_failure_leaves_the_workbook_and_its_permissions(
    tmp_path: Path, refresh: Exporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "book.xlsx"
    SHAPES["table"].write(path, 6)
    path.chmod(0o640)
    content = path.read_bytes()
    refresh.records = [*titles_of(7), {"numeroDaTransacao": {"odd": 1}}]
    replace = os.replace

    def fail(self: Path, target: Path) -> Path:
        if target == path:
            raise OSError(28, "No space left on device")
        return Path(replace(self, target) or target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", fail)
        assert refresh(path, "--yes") == 6
    assert path.read_bytes() == content
    refresh.records = titles_of(7)
    assert refresh(path) == 0
    assert path.read_bytes() != content
    assert path.stat().st_mode & 0o777 == 0o640
    assert [one.name for one in tmp_path.iterdir()] == ["book.xlsx"]


def test_rows_that_a_filter_hides_are_shown(
    tmp_path: Path, refresh: Exporter, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "book.xlsx"
    book, page = written(path)
    page.auto_filter.ref = "A1:H7"
    page.auto_filter.add_filter_column(3, ["1"])
    for row in (3, 4):
        page.row_dimensions[row].hidden = True
    page.row_dimensions[9].hidden = True
    book.save(path)
    refresh.records = titles_of(6, first=2)
    assert refresh(path) == 0
    assert "all rows are shown until it is applied again" in capsys.readouterr().err
    page = openpyxl.load_workbook(path)["Dados"]
    assert [row for row in range(1, 11) if page.row_dimensions[row].hidden] == [9]
    assert page.auto_filter.filterColumn[0].colId == 3


def test_a_table_is_found_by_its_name(tmp_path: Path, refresh: Exporter) -> None:
    path = tmp_path / "book.xlsx"
    SHAPES["tables_one_below_the_other"].write(path, 6)
    refresh.records = titles_of(2)
    assert refresh(path, "--sheet", "titulos") == 0
    assert [row[:7] for row in shown_rows(path, "Dados", 2)] == expected_rows(refresh.records)
    assert refresh(path, "--sheet", "Metas") == 2


def test_plain_text_and_styles_of_the_first_row(tmp_path: Path, refresh: Exporter) -> None:
    path = tmp_path / "book.xlsx"
    headers = (*HEADERS[:2], "Histórico", *HEADERS[3:])
    book, page = written(path, headers=headers)
    for row in range(2, 8):
        page.cell(row, 3).value = "velho"
    page["G2"].number_format = "0.000"
    page["F2"].number_format = "General"
    book.save(path)
    refresh.records = titles_of(8)
    assert refresh(path) == 0
    page = openpyxl.load_workbook(path)["Dados"]
    assert [page.cell(row, 7).number_format for row in range(2, 10)] == ["0.000"] * 8
    assert page["F9"].is_date
    assert (page["C9"].value, page["C9"].data_type) == ("=Título 8 & cia", "s")


def test_an_export_is_refreshed_with_its_lists(tmp_path: Path, refresh: Exporter) -> None:
    path = tmp_path / "titles.xlsx"
    shares = [{"codigoDaFilialDoRateio": 1, "valor": 1.5}, {"codigoDaFilialDoRateio": 2}]
    refresh.records = [{**record, "rateio": shares} for record in titles_of(5)]
    del refresh.records[0]["valorDoLancamento"]
    assert main(["export", "contasreceber", "-o", str(path)]) == 0
    exported = path.read_bytes()
    assert (refresh(path), path.read_bytes() == exported) == (0, True)
    refresh.records = [*refresh.records[1:3], *titles_of(4, first=6)]
    assert refresh(path) == 0
    book = openpyxl.load_workbook(path)
    places = {page.title: next(iter(page.tables.values())).ref for page in book.worksheets[1:]}
    assert places == {"contasreceber": "A1:V8", "rateio": "A1:L6"}  # with totals and names
    header, *rows, totals = book["contasreceber"].iter_rows()
    columns = {cell.value: list(column) for cell, *column in zip(header, *rows, strict=True)}
    numbers = [cell.value for cell in columns["Transaction number"]]
    assert numbers == [102, 103, 106, 107, 108, 109]
    amounts = columns["Amount"]
    assert {cell.number_format for cell in amounts} == {"#,##0.00"}
    assert [cell.value for cell in totals if "SUBTOTAL" in str(cell.value)] != []


def _plan(folder: Path, **steps: Mapping[str, Any]) -> Path:
    plan = folder / "plan.yaml"
    plan.write_text(json.dumps({"name": "refresh", "steps": steps}), encoding="utf-8")
    return plan


def test_a_plan_refreshes_workbooks(
    tmp_path: Path, refresh: Exporter, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "book.xlsx"
    book, page = written(path)
    book.copy_worksheet(page).title = "Pagar"
    book.save(path)
    plan = _plan(
        tmp_path,
        receber={"export": "contasreceber", "into": "book.xlsx", "sheet": "Dados"},
        pagar={"export": "contaspagar", "into": "book.xlsx", "sheet": "Pagar"},
    )
    refresh.records = titles_of(8)
    assert main(["batch", "run", str(plan), "--yes"]) == 0
    for sheet in ("Dados", "Pagar"):
        assert [row[:7] for row in shown_rows(path, sheet, 8)] == expected_rows(refresh.records)
    content = path.read_bytes()
    book = openpyxl.load_workbook(path)
    book["Resumo"]["C1"] = "minha conta"
    book.save(path)
    edited = path.read_bytes()
    assert main(["batch", "run", str(plan), "--yes"]) == 0
    assert path.read_bytes() == edited != content


def test_a_plan_accepts_losses_only_if_it_says_so(
    tmp_path: Path, refresh: Exporter, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "book.xlsx"
    SHAPES["table"].write(path, 6)
    content = path.read_bytes()
    step = {"export": "contasreceber", "into": "book.xlsx"}
    plan = _plan(tmp_path, receber=step)
    assert main(["batch", "run", str(plan), "--yes"]) != 0
    captured = capsys.readouterr()
    assert "the listing has no records" in captured.out + captured.err
    assert path.read_bytes() == content
    plan = _plan(tmp_path, receber={**step, "accept_losses": True})
    assert main(["batch", "run", str(plan), "--yes"]) == 0
    assert path.read_bytes() != content


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ({}, "either output or into"),
        ({"into": "a.xlsx", "output": "b.xlsx"}, "either output or into"),
        ({"into": "a.xlsx", "headers": "names"}, "steps.um.headers: is for output only"),
        ({"output": "a.xlsx", "sheet": "Dados"}, "steps.um.sheet: is for into only"),
    ],
)
def test_a_plan_says_what_does_not_fit(
    tmp_path: Path,
    refresh: Exporter,
    capsys: pytest.CaptureFixture[str],
    step: Mapping[str, Any],
    message: str,
) -> None:
    plan = _plan(tmp_path, um={"export": "contasreceber", **step})
    assert main(["batch", "plan", str(plan)]) == 2
    assert message in capsys.readouterr().err
