"""The proof's page in a real browser, without scripts.

Inside: batch.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from browser import Page
from proof_parts import HOSTILE, Proof

from xlbridge.batch.proof_content import proof_report
from xlbridge.i18n import set_language

pytestmark = pytest.mark.programs

MAX_LINES_OF_PAGE = 200
WIDTHS = pytest.mark.parametrize("width", [1200, 360])


@pytest.fixture
def portuguese() -> Iterator[None]:
    set_language("pt-BR")
    yield
    set_language("en")


def written(tmp_path: Path, proof: Proof) -> Path:
    path = tmp_path / "proof.html"
    proof_report(proof).write("html", path)
    return path


def lines(page: Page, section: str) -> list[list[str]]:
    """Return the displayed cells of a section's lines."""
    found: list[list[str]] = page.run(
        "[...document.querySelectorAll('section')]"
        f".filter((it) => it.querySelector('h2')?.textContent === {section!r})"
        ".flatMap((it) => [...it.querySelectorAll('tbody tr')])"
        ".map((tr) => [...tr.cells].map((td) => td.textContent))"
    )
    return found


def test_the_verdict_lists_open_items(tmp_path: Path, page: Page, month: Proof) -> None:
    page.open(written(tmp_path, month), width=1200)
    verdict = page.run("document.querySelector('.verdict').innerText")
    assert verdict.startswith("Open: 10")
    for part in (
        "rows in doubt or still under way: 2",
        "accepted rows that are not in the system: 1",
        "accepted rows that are in the system more than once: 1",
        "cells that the system has with another value: 2, in rows: 1",
        "rows rejected: 1",
        "rows not sent: 1",
        "clientes · ruim.xlsx: 1 error found",
        "the export of “Open receivables” may be incomplete; gaps: 1",
        "with instalments and products” was not done: waits for receber",
    ):
        assert part in verdict
    (total,) = [line for line in lines(page, "Steps") if line[0] == "The whole batch"]
    counts = ["12", "8", "0", "0", "1", "0", "0", "1", "2", "3", "1", "1", "1", "2"]
    assert total[2:-1] == counts


def test_differences_and_totals_are_exact_to_the_cent(
    tmp_path: Path, page: Page, month: Proof
) -> None:
    page.open(written(tmp_path, month), width=1200)
    amounts = [line for line in lines(page, "Differences") if "Amount" in line]
    assert [line[3:7] for line in amounts] == [["I3", "Amount", "1,234.10", "1,234.11"]]
    october = [line for line in lines(page, "Control totals") if line[0] == "10/2026"]
    assert [line[1:] for line in october] == [
        ["5", "0", "5", "0", "6,170.50", "0.00", "6,170.51", "0.01"]
    ]


@pytest.mark.usefixtures("portuguese")
def test_the_page_speaks_portuguese(tmp_path: Path, page: Page, month: Proof) -> None:
    page.open(written(tmp_path, month), width=360)
    assert page.run("document.documentElement.lang") == "pt-BR"
    assert page.run("document.title") == "Prova de fechamento · fechamento"
    assert "Em aberto: 10" in page.run("document.querySelector('.verdict').innerText")
    amounts = [line for line in lines(page, "Diferenças") if "Valor do lançamento" in line]
    assert amounts[0][5:7] == ["1.234,10", "1.234,11"]


def test_a_proof_without_open_items_is_verified(tmp_path: Path, page: Page, month: Proof) -> None:
    clean = replace(month, steps={}, exports=(), totals=(), cells=(), rows=(), refused=())
    page.open(written(tmp_path, clean), width=360)
    assert page.run("document.querySelector('.verdict.good').innerText").startswith(
        "Everything accounted for"
    )


@WIDTHS
def test_nothing_is_wider_than_the_screen(
    tmp_path: Path, page: Page, month: Proof, width: int
) -> None:
    page.open(written(tmp_path, month), width=width)
    assert page.run("document.documentElement.scrollWidth") <= width


def test_no_text_of_a_narrow_page_covers_another(tmp_path: Path, page: Page, month: Proof) -> None:
    page.open(written(tmp_path, month), width=360)
    wrapping = "[...document.querySelectorAll('td')].map((it) => getComputedStyle(it).whiteSpace)"
    assert "nowrap" not in page.run(wrapping)


def test_text_of_a_workbook_is_never_markup(tmp_path: Path, page: Page, month: Proof) -> None:
    page.open(written(tmp_path, month), width=1200)
    assert page.run("document.title") == "Closing proof · fechamento"
    assert page.run("document.querySelectorAll('img, script').length") == 0
    assert any(HOSTILE in line for line in lines(page, "Differences"))


def test_the_page_needs_no_script_and_loads_nothing(
    tmp_path: Path, page: Page, month: Proof
) -> None:
    path = written(tmp_path, month)
    content = path.read_text(encoding="utf-8")
    assert "<script" not in content
    assert re.findall(r"<[^>]*\b(?:src|href|on\w+|style)\s*=", content) == []
    assert "default-src 'none'" in content
    page.open(path, width=1200)
    assert page.run("performance.getEntriesByType('resource').length") == 0


def test_some_of_many_lines_are_shown_and_all_counted(
    tmp_path: Path, page: Page, month: Proof
) -> None:
    many = replace(month, cells=month.cells * 5000)
    path = written(tmp_path, many)
    assert path.stat().st_size < 1_000_000
    page.open(path, width=1200)
    assert len(lines(page, "Differences")) == MAX_LINES_OF_PAGE
    assert f"Showing {MAX_LINES_OF_PAGE} of 10,000" in page.run(
        "document.querySelector('.cut').innerText"
    )
    assert "another value: 10,000" in page.run("document.querySelector('.verdict').innerText")


def test_totals_that_do_not_agree_are_shown_before_others(
    tmp_path: Path, page: Page, month: Proof
) -> None:
    table = next(t for t in month.totals if t.amount is not None and t.axis.unit)
    (open_one,) = [t for t in table.totals if not t.agrees]
    fine = replace(open_one, found=open_one.amount, found_rows=open_one.rows)
    totals = (*[fine] * 500, open_one)
    many = replace(month, totals=(replace(table, totals=totals),))
    page.open(written(tmp_path, many), width=1200)
    shown = lines(page, "Control totals")
    assert len(shown) == MAX_LINES_OF_PAGE + 1
    assert (shown[-2][-1], shown[-1][0]) == ("0.01", "Total")


def test_paper_has_room_for_signatures(tmp_path: Path, page: Page, month: Proof) -> None:
    page.open(written(tmp_path, month), width=1200)
    page.emulate_media("print")
    try:
        rows = page.run(
            "[...document.querySelectorAll('.by-hand tbody tr')].map(r => r.offsetHeight)"
        )
    finally:
        page.emulate_media()
    assert len(rows) == 3
    assert min(rows) >= 28


def test_a_dark_screen_is_dark_and_paper_is_white(tmp_path: Path, page: Page, month: Proof) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    page.open(written(tmp_path, month), width=1200)
    try:
        page.emulate_media(scheme="dark")
        assert page.run(ground) == "rgb(18, 23, 30)"
        page.emulate_media("print")
        assert page.run(ground) == "rgb(255, 255, 255)"
    finally:
        page.emulate_media()
