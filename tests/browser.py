"""A page of a real browser: the distribution's Chromium, driven by Playwright.

Playwright is imported by the runs that use it.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page as PlaywrightPage

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_PATIENCE_MS = 60_000
_OPTIONS = ("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage")
_CHOOSE = """([label, value]) => {
    const found = [...document.querySelectorAll('label')]
        .find((it) => it.firstChild.textContent === label);
    const control = found.querySelector('select, input');
    control.value = value;
    const name = control.tagName === 'SELECT' ? 'change' : 'input';
    control.dispatchEvent(new Event(name, { bubbles: true }));
}"""


class Page:
    """One page of the browser, showing files."""

    def __init__(self, page: "PlaywrightPage") -> None:
        self._page = page

    @property
    def tab(self) -> "PlaywrightPage":
        """Playwright's page."""
        return self._page

    def open(self, path: Path, *, width: int, fragment: str = "") -> None:
        """Load a file in a window ``width`` CSS pixels wide."""
        self._page.set_viewport_size({"width": width, "height": 800})
        self._page.goto("about:blank")
        self._page.goto(f"{path.as_uri()}{fragment}")

    def run(self, script: str) -> Any:
        """Evaluate an expression in the page, awaiting promises, and return its value."""
        return self._page.evaluate(script)

    def choose(self, label: str, value: str) -> None:
        """Set the control with a label to a value."""
        self._page.evaluate(_CHOOSE, [label, value])

    def emulate_media(
        self,
        media: Literal["null", "print", "screen"] = "null",
        scheme: Literal["dark", "light"] = "light",
    ) -> None:
        """Emulate a medium (``print``) or a colour scheme."""
        self._page.emulate_media(media=media, color_scheme=scheme)


@contextmanager
def browser_page() -> Iterator[Page]:
    """Run a browser with one page for the block.

    Skips the test without Chromium; with ``CI=true`` fails it.
    """
    program = next(filter(None, map(shutil.which, _NAMES)), None)
    if program is None:
        if os.environ.get("CI") == "true":
            pytest.fail("no Chromium on the path")
        pytest.skip("needs Chromium on the path")
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=_PATIENCE_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=_OPTIONS)
        tab, errors = browser.new_page(), list[str]()
        tab.on("pageerror", lambda error: errors.append(error.message))
        yield Page(tab)
        browser.close()
        assert not errors
