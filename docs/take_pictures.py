"""Take the pictures of the guides in both languages: page, closing proofs, an annotated copy.

Usage: python docs/take_pictures.py [LANGUAGE]

Needs Chromium, LibreOffice and poppler on the path, and the extra ``dev``. Uses its own home and
the embedded sandbox.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path

from openpyxl import Workbook, load_workbook
from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
SHEET = ROOT / "samples" / "contasreceber-com-erros.xlsx"
GOOD_SHEET = ROOT / "samples" / "contasreceber-cliente-inativo.xlsx"
PLAN = """\
version: 1
name: fechamento
steps:
  receber:
    upload: receber.xlsx
    resource: contasreceber
"""
_PATIENCE = 180
_CROP = ("-x", "165", "-y", "178", "-W", "1632", "-H", "397")  # the cells on their page


@contextmanager
def running_page(language: str) -> Iterator[str]:
    """Run ``xlbridge ui`` in its own home; yield the launch link."""
    with tempfile.TemporaryDirectory() as folder:
        ready = Path(folder, "ready.json")
        environment = os.environ | {"XLBRIDGE_HOME": folder, "XLBRIDGE_LANG": language}
        command = [sys.executable, "-m", "xlbridge", "ui", "--no-browser", "--ready-file", ready]
        with subprocess.Popen(  # noqa: S603 - our own command, no shell
            command, env=environment, stderr=subprocess.DEVNULL
        ) as process:
            deadline = time.monotonic() + _PATIENCE
            while not ready.exists() and time.monotonic() < deadline:
                time.sleep(0.1)
            try:
                yield json.loads(ready.read_text("utf-8"))["url"]
            finally:
                process.terminate()


def take(tab: Page, language: str) -> None:
    """Take the pictures of one language."""
    tab.set_input_files('[data-testid="drop"]', write_foreign())
    tab.get_by_test_id("mapping").locator("td input").first.wait_for()  # for unknown names
    tab.screenshot(path=IMAGES / f"page-mapping.{language}.png")
    tab.set_input_files('[data-testid="drop"]', SHEET)
    tab.locator("#to-mend:enabled").wait_for()
    tab.screenshot(path=IMAGES / f"page-open.{language}.png")
    tab.locator("#to-mend").click()
    tab.locator("#grid .error").first.wait_for()
    tab.get_by_test_id("next-error").click()
    tab.locator("#remark:not(:empty)").wait_for()
    tab.screenshot(path=IMAGES / f"page-correct.{language}.png")


def write_foreign() -> Path:
    """Write a sheet of receivables with foreign headers."""
    path = Path(tempfile.mkdtemp(), "financeiro.xlsx")
    book = Workbook()
    sheet = book.create_sheet("Financeiro", 0)
    sheet.append(["Filial", "Cliente", "Vencto", "Valor (R$)", "Tipo", "Ref"])
    for n in range(1, 9):
        branch = "Matriz" if n % 2 else "Loja Sul"
        sheet.append([branch, 1000 + n, date(2026, 11, n), 150.5 * n, "NF", f"2026/{n}"])
    book.save(path)
    return path


def take_sending(tab: Page, language: str) -> None:
    """Take the pictures of a plan and of its outcome."""
    tab.set_input_files('[data-testid="drop"]', GOOD_SHEET)
    tab.locator("#file-name", has_text=GOOD_SHEET.name).wait_for()
    tab.locator("#to-mend").click()
    tab.locator("#to-send").click()
    tab.get_by_test_id("send").wait_for()
    tab.screenshot(path=IMAGES / f"page-plan.{language}.png")
    tab.get_by_test_id("send").click()
    tab.locator('[data-testid="outcome"]:not([hidden])').wait_for()
    tab.evaluate("scrollTo(0, 0)")
    tab.screenshot(path=IMAGES / f"page-sent.{language}.png")
    tab.locator("[data-view=exports]").click()
    tab.locator("#listing").select_option("clientes")
    tab.locator("#export").click()
    tab.locator("#preview td").first.wait_for()
    tab.screenshot(path=IMAGES / f"page-export.{language}.png")


def take_proof(tab: Page, language: str) -> None:
    """Take the picture of the closing proof of a small month."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copyfile(ROOT / "samples" / "contasreceber.xlsx", folder / "receber.xlsx")
        (folder / "plan.yaml").write_text(PLAN, "utf-8")
        run_xlbridge(folder, language, "batch", "run", "plan.yaml", "--yes")
        (proof,) = folder.glob("fechamento-*.html")
        tab.goto(proof.as_uri())
        tab.screenshot(path=IMAGES / f"proof.{language}.png")


def take_month(tab: Page) -> None:
    """Take the picture of the sample month's closing proof."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "month")
        maker = [sys.executable, ROOT / "samples" / "make_month.py", folder, "--rows", "50"]
        subprocess.run(maker, check=True)  # noqa: S603 - our own
        run_xlbridge(folder, "en", "batch", "run", "plan.yaml", "--month", "2026-10", "--yes")
        tab.goto((folder / "provas" / "2026-10.html").as_uri())
        tab.screenshot(path=IMAGES / "closing-proof.png")


def take_marked() -> None:
    """Take the picture of an annotated copy in a spreadsheet program."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        marked = folder / "marked.xlsx"
        run_xlbridge(folder, "en", "validate", SHEET, "--annotate", marked)
        book = load_workbook(marked)
        for other in book.sheetnames[1:]:
            del book[other]
        sheet = book.worksheets[0]
        sheet.print_area = "A1:J23"
        sheet.print_options.headings = sheet.print_options.gridLines = True
        sheet.sheet_properties.pageSetUpPr.fitToPage = True
        sheet.page_setup.fitToHeight = 0
        sheet.page_setup.orientation = "portrait"
        book.save(marked)
        for command in (
            ("soffice", "--headless", "--convert-to", "pdf", marked),
            ("pdftoppm", "-png", "-r", "240", *_CROP, "-singlefile", "marked.pdf", "marked"),
        ):
            subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)  # noqa: S603
        shutil.copyfile(folder / "marked.png", IMAGES / "annotated-sheet.png")


def run_xlbridge(folder: Path, language: str, *arguments: str | Path) -> None:
    """Run a command in a folder, with its home and the embedded sandbox inside."""
    environment = os.environ | {
        "XLBRIDGE_HOME": str(folder / "home"),
        "XLBRIDGE_LANG": language,
        "XLBRIDGE_PROFILE": "sandbox",
    }
    command = [sys.executable, "-m", "xlbridge", *arguments]
    subprocess.run(command, cwd=folder, env=environment, check=False)  # noqa: S603 - our own


def main() -> None:
    """Take all pictures, or those of one language."""
    languages = sys.argv[1:] or ["pt-BR", "en"]
    program = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for language in languages:
            for pictures in (take, take_sending):
                with running_page(language) as link:
                    tab = browser.new_page(viewport={"width": 1280, "height": 800})
                    tab.set_default_timeout(_PATIENCE * 1000)
                    tab.goto(link)
                    pictures(tab, language)
            take_proof(browser.new_page(viewport={"width": 1100, "height": 620}), language)
        if "en" in languages:
            take_marked()
            take_month(browser.new_page(viewport={"width": 1180, "height": 760}))
        browser.close()


if __name__ == "__main__":
    main()
