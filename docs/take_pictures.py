"""Take the pictures of the page that the guides show, in both languages.

Usage: python docs/take_pictures.py. Needs Chromium on the path and the extra ``dev``; works in a
home of its own, against the embedded sandbox.
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
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
SHEET = ROOT / "samples" / "contasreceber-com-erros.xlsx"
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
    tab.set_input_files('[data-testid="drop"]', SHEET)
    tab.locator("#known").wait_for()
    tab.screenshot(path=IMAGES / f"page-open.{language}.png")
    tab.locator("#to-mend").click()
    tab.locator("#grid .error").first.wait_for()
    tab.get_by_test_id("next-error").click()
    tab.locator("#remark:not(:empty)").wait_for()
    tab.screenshot(path=IMAGES / f"page-correct.{language}.png")


def main() -> None:
    """Take all pictures."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for language in ("pt-BR", "en"):
            with running_page(language) as link:
                tab = browser.new_page(viewport={"width": 1280, "height": 800})
                tab.goto(link)
                take(tab, language)
        browser.close()


if __name__ == "__main__":
    main()
