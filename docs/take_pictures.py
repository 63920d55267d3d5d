"""Take the pictures that the guides show, in both languages: the page, and a closing proof.

Usage: python docs/take_pictures.py [LANGUAGE]. Needs Chromium on the path and the extra ``dev``;
works in a home of its own, against the embedded sandbox.
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

from openpyxl import Workbook
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
_PATIENCE = 60


@contextmanager
def running_page(language: str) -> Iterator[str]:
    """Run ``xlbridge ui`` in a home of its own; the launch link is given."""
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
            yield json.loads(ready.read_text("utf-8"))["url"]
            process.terminate()


def take(tab: Page, language: str) -> None:
    """Take the pictures of one language."""
    tab.set_input_files('[data-testid="drop"]', write_foreign())
    tab.get_by_test_id("mapping").locator("select").first.wait_for()
    tab.screenshot(path=IMAGES / f"page-open.{language}.png")
    tab.set_input_files('[data-testid="drop"]', SHEET)
    tab.locator("#to-mend:enabled").wait_for()
    tab.locator("#to-mend").click()
    tab.locator("#grid .error").first.wait_for()
    tab.get_by_test_id("next-error").click()
    tab.locator("#remark:not(:empty)").wait_for()
    tab.screenshot(path=IMAGES / f"page-correct.{language}.png")


def write_foreign() -> Path:
    """Write a sheet of receivables with headers of its own."""
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
    """Take the pictures of a plan, and of what became of its rows."""
    tab.set_input_files('[data-testid="drop"]', GOOD_SHEET)
    tab.locator("#file-name", has_text=GOOD_SHEET.name).wait_for()
    tab.locator("#to-mend").click()
    tab.locator("#to-send").click()
    tab.get_by_test_id("send").wait_for()
    tab.screenshot(path=IMAGES / f"page-plan.{language}.png")
    tab.get_by_test_id("send").click()
    tab.locator('[data-testid="outcome"]:not([hidden])').wait_for(timeout=_PATIENCE * 1000)
    tab.screenshot(path=IMAGES / f"page-sent.{language}.png")


def take_proof(tab: Page, language: str) -> None:
    """Take the picture of the closing proof of a small month."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copyfile(ROOT / "samples" / "contasreceber.xlsx", folder / "receber.xlsx")
        (folder / "plan.yaml").write_text(PLAN, "utf-8")
        environment = os.environ | {
            "XLBRIDGE_HOME": str(folder / "home"),
            "XLBRIDGE_LANG": language,
        }
        command = [sys.executable, "-m", "xlbridge", "batch", "run", "plan.yaml", "--yes"]
        subprocess.run(command, cwd=folder, env=environment, check=True)  # noqa: S603 - our own
        (proof,) = folder.glob("fechamento-*.html")
        tab.goto(proof.as_uri())
        tab.screenshot(path=IMAGES / f"proof.{language}.png")


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
                    tab.goto(link)
                    pictures(tab, language)
            take_proof(browser.new_page(viewport={"width": 1100, "height": 620}), language)
        browser.close()


if __name__ == "__main__":
    main()
