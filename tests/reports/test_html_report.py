"""The page for a browser, in a real one."""

import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from browser import Page
from environment import ROOT

from xlbridge.errors import UsageError
from xlbridge.findings import CATALOGUE, Finding
from xlbridge.i18n import Text, set_language
from xlbridge.resources.catalogue import Catalogue
from xlbridge.validation.changes import Change, Mending
from xlbridge.validation.reports.html_report import report_html
from xlbridge.validation.reports.judged import RefusedFile
from xlbridge.validation.validate import ValidatedSheet, validate_workbook

SAMPLE = ROOT / "samples" / "contasreceber-com-erros.xlsx"
WIDTHS = pytest.mark.parametrize("width", [1200, 360])
HOSTILE = (
    "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='o'\">"
)

VISIBLE_CELLS = "[...document.querySelectorAll('tbody tr')].map((row) => row.dataset.cell)"
SHOWN = "document.querySelector('.shown').textContent"


def written(
    tmp_path: Path, *judged: ValidatedSheet | RefusedFile, limit: int | None = None
) -> Path:
    path = tmp_path / "report.html"
    path.write_text(report_html(judged, limit), encoding="utf-8")
    return path


@pytest.fixture
def sample(catalogue: Catalogue) -> ValidatedSheet:
    return validate_workbook(SAMPLE, catalogue)


def sheet_of(findings: list[Finding], sheet: str = "Plan1") -> ValidatedSheet:
    return ValidatedSheet(Path("cr.xlsx"), None, sheet, 1, findings=findings)


def cells(sheet: ValidatedSheet, **wanted: str) -> list[str | None]:
    return [
        f.cell
        for f in sheet.findings
        if wanted.get("code") in (None, f.kind.code) and wanted.get("column") in (None, f.column)
    ]


@WIDTHS
def test_the_filters_leave_what_they_say(
    tmp_path: Path, page: Page, sample: ValidatedSheet, width: int
) -> None:
    page.open(written(tmp_path, sample), width=width)
    assert page.run(VISIBLE_CELLS) == cells(sample)
    page.choose("Rule", "value-range")
    assert page.run(VISIBLE_CELLS) == cells(sample, code="value-range")
    page.choose("Column", "codigoDaFilial")
    both = cells(sample, code="value-range", column="codigoDaFilial")
    assert page.run(VISIBLE_CELLS) == both == ["A5"]
    page.choose("Rule", "")
    assert page.run(VISIBLE_CELLS) == cells(sample, column="codigoDaFilial")
    page.choose("Column", "")
    page.choose("Cell or row", "a5")
    assert page.run(VISIBLE_CELLS) == ["A5"]
    page.choose("Cell or row", "5")
    assert set(page.run(VISIBLE_CELLS)) == {f.cell for f in sample.findings if f.row == 5}
    page.choose("Cell or row", "ZZ99")
    assert page.run(VISIBLE_CELLS) == []
    assert page.run(SHOWN).startswith("Showing 0 of 0")


@WIDTHS
def test_nothing_is_wider_than_the_screen(
    tmp_path: Path, page: Page, sample: ValidatedSheet, width: int
) -> None:
    long = Finding(CATALOGUE["type-number"], 9, "c" * 90, "XFD1048576", "x" * 400)
    page.open(written(tmp_path, sheet_of([*sample.findings, long])), width=width)
    assert page.run("innerWidth") == width
    assert page.run("document.documentElement.scrollWidth") <= width
    too_wide = (
        "[...document.querySelectorAll('main *')]"
        ".filter((it) => it.getBoundingClientRect().right > innerWidth + 1).length"
    )
    assert page.run(too_wide) == 0


def test_a_cell_s_address_leads_back_to_the_workbook(
    tmp_path: Path, page: Page, sample: ValidatedSheet
) -> None:
    sample.sheet = "Títulos d'outubro"
    page.open(written(tmp_path, sample), width=1200)
    page.run("document.querySelector('tr[data-cell=\"A5\"] button').click()")
    told = page.run(
        "new Promise(done => { const look = () => toast.textContent "
        "? done(toast.textContent) : setTimeout(look, 20); look(); })"
    )
    assert "'Títulos d''outubro'!A5" in told
    assert page.run("document.querySelector('tr[aria-current]').dataset.cell") == "A5"


def test_an_address_after_the_page_s_own_shows_that_cell(
    tmp_path: Path, page: Page, sample: ValidatedSheet
) -> None:
    page.open(written(tmp_path, sample), width=1200, fragment="#B6")
    assert page.run(VISIBLE_CELLS) == ["B6"]


def test_what_a_workbook_says_is_never_markup(tmp_path: Path, page: Page) -> None:
    details = {"header": HOSTILE, "resource": HOSTILE, "suggestion": HOSTILE}
    finding = Finding(CATALOGUE["column-unknown"], 1, HOSTILE, "A1", HOSTILE, details)
    refused = RefusedFile(Path(HOSTILE), UsageError(Text(pt=HOSTILE, en=HOSTILE)))
    path = written(tmp_path, sheet_of([finding], sheet=HOSTILE), refused)
    page.open(path, width=1200)
    assert page.run("document.title") == "What xlbridge found"
    assert page.run("document.querySelectorAll('img').length") == 0
    assert page.run("document.querySelectorAll('script').length") == 2
    assert page.run("document.querySelector('.value').textContent") == HOSTILE
    assert HOSTILE in page.run("document.querySelectorAll('h2')[1].textContent")


def test_the_page_loads_nothing(tmp_path: Path, page: Page, sample: ValidatedSheet) -> None:
    path = written(tmp_path, sample)
    page.open(path, width=1200)
    assert page.run("performance.getEntriesByType('resource').length") == 0
    content = path.read_text(encoding="utf-8")
    assert re.findall(r"\b(?:src|href)\s*=", content) == []
    assert "default-src 'none'" in content
    blocked = "fetch('data:text/plain,x').then(() => 'loaded', () => 'blocked')"
    assert page.run(blocked) == "blocked"


@pytest.fixture
def portuguese() -> Iterator[None]:
    set_language("pt-BR")
    yield
    set_language("en")


@pytest.mark.usefixtures("portuguese")
def test_the_page_speaks_portuguese(tmp_path: Path, page: Page, sample: ValidatedSheet) -> None:
    page.open(written(tmp_path, sample), width=360)
    assert page.run("document.documentElement.lang") == "pt-BR"
    page.choose("Regra", "value-range")
    assert page.run(VISIBLE_CELLS) == cells(sample, code="value-range")
    assert "O valor deve ser maior que 0." in page.run("document.querySelector('tbody').innerText")


def test_of_many_findings_a_part_is_shown_and_all_are_counted(tmp_path: Path, page: Page) -> None:
    many = [
        Finding(CATALOGUE["type-integer"], row, "codigo", f"B{row}", "x")
        for row in range(2, 100_002)
    ]
    path = written(tmp_path, sheet_of(many))
    assert path.stat().st_size < 1_000_000
    page.open(path, width=360)
    assert page.run("document.querySelectorAll('tbody tr').length") == 200
    assert page.run(SHOWN) == "Showing 200 of 10,000 findings (in the whole sheet: 100,000)"
    assert "first 10000 of 100000" in page.run("document.querySelector('.cut').textContent")
    assert "(100,000)" in page.run("document.querySelector('option[value=codigo]').textContent")
    page.run("document.querySelector('.more').click()")
    assert page.run("document.querySelectorAll('tbody tr').length") == 400
    page.choose("Cell or row", "B9999")
    assert page.run(VISIBLE_CELLS) == ["B9999"]


def test_the_cap_is_an_option(tmp_path: Path, page: Page, sample: ValidatedSheet) -> None:
    page.open(written(tmp_path, sample, limit=3), width=1200)
    assert page.run(VISIBLE_CELLS) == cells(sample)[:3]
    assert f"errors: {sample.errors}" in page.run("document.querySelector('.counts').textContent")


def test_what_was_mended_is_listed(tmp_path: Path, page: Page, sample: ValidatedSheet) -> None:
    text_date = next(f for f in sample.findings if f.kind.code == "date-as-text")
    sample.mending = Mending(tmp_path / "mended.xlsx", [Change(text_date, date(2026, 9, 25))])
    page.open(written(tmp_path, sample), width=360)
    page.run("document.querySelector('summary').click()")
    told = page.run("document.querySelector('details').innerText")
    assert "mended.xlsx: 1" in told
    assert f"{text_date.cell} {text_date.column}" in told
    assert "25/09/2026" in told


def test_a_dark_screen_is_dark_and_paper_is_white(
    tmp_path: Path, page: Page, sample: ValidatedSheet
) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    page.open(written(tmp_path, sample), width=1200)
    try:
        page.emulate_media(scheme="dark")
        assert page.run(ground) == "rgb(18, 23, 30)"
        page.emulate_media("print")
        assert page.run(ground) == "rgb(255, 255, 255)"
        hidden = "getComputedStyle(document.querySelector('.filters')).display"
        assert page.run(hidden) == "none"
    finally:
        page.emulate_media()


def test_printing_prints_all_that_the_filters_leave(tmp_path: Path, page: Page) -> None:
    many = [
        Finding(CATALOGUE["type-integer"], row, "codigo", f"B{row}", "x") for row in range(2, 902)
    ]
    page.open(written(tmp_path, sheet_of(many)), width=1200)
    page.run("dispatchEvent(new Event('beforeprint'))")
    assert page.run("document.querySelectorAll('tbody tr').length") == 900
