"""The page with a large sheet, in a real browser, beside ``xlbridge validate`` in the same run.

Usage: python benchmarks/page.py [ROWS] [--bad PERCENT]. Needs Chromium on the path and the extra
``dev``. Prints how long it takes from the drop to the first coloured rows, to the rows around a far
jump, and from a key to the rechecked cell; and the memory of the server. Nothing is asserted.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bad_sheet import write_sheet
from playwright.sync_api import Page, sync_playwright

_JUMPS = (0.9, 0.25, 0.6, 0.99, 0.1)
_EDITS = 5
_PATIENCE_MS = 120_000


@contextmanager
def running_page(home: Path) -> Iterator[tuple[str, int]]:
    """Run ``xlbridge ui`` in a home of its own; its launch link and process are given."""
    ready = home / "ready.json"
    environment = os.environ | {"XLBRIDGE_HOME": str(home), "XLBRIDGE_LANG": "en"}
    command = [sys.executable, "-m", "xlbridge", "ui", "--no-browser", "--ready-file", ready]
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as process:
        while not ready.exists() and process.poll() is None:
            time.sleep(0.1)
        yield json.loads(ready.read_text("utf-8"))["url"], process.pid
        process.terminate()


def seconds(work: Callable[[], object]) -> float:
    """Return how long some work takes."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def validate(path: Path) -> None:
    """Run the command on the same file."""
    command = [sys.executable, "-m", "xlbridge", "validate", str(path), "--format", "json"]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=False)


def first_rows(tab: Page, path: Path) -> None:
    """Drop the sheet, and wait for coloured rows."""
    tab.set_input_files('[data-testid="drop"]', path)
    tab.locator("#to-mend:enabled").wait_for()
    tab.locator("#to-mend").click()
    tab.locator("#grid .error").first.wait_for()


def jump(tab: Page, share: float, rows: int) -> None:
    """Scroll to a share of the sheet's height, and wait for the rows there."""
    at = int(share * rows)
    tab.evaluate("top => { document.getElementById('grid').scrollTop = top; }", at * 28)
    tab.locator(f'[data-cell="A{at + 5}"]').wait_for()


def edit(tab: Page, row: int) -> None:
    """Type a wrong value into a cell, and wait for its colour."""
    tab.keyboard.type("wrong")
    tab.keyboard.press("Enter")
    tab.locator(f'[data-cell="B{row}"].error').wait_for()


def memory_mb(pid: int) -> float:
    """Return the resident memory of a process in MB, where the system tells it."""
    status = Path(f"/proc/{pid}/status")
    lines = status.read_text("utf-8").splitlines() if status.exists() else []
    return sum(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def measure(tab: Page, path: Path, rows: int, pid: int) -> None:
    """Print the figures of one run."""
    ours, command = seconds(lambda: first_rows(tab, path)), seconds(lambda: validate(path))
    print(
        f"first coloured rows   {ours:6.2f} s   validate {command:.2f} s   {ours / command:.2f} x"
    )
    tab.locator("#view").select_option("all")
    tab.locator('[data-cell="A2"]').wait_for()
    jumps = [seconds(lambda share=share: jump(tab, share, rows)) for share in _JUMPS]
    print(f"scroll to a far row   {statistics.median(jumps):6.3f} s   longest {max(jumps):.3f} s")
    tab.evaluate("() => { document.getElementById('grid').scrollTop = 0; }")
    tab.locator('[data-cell="B2"]').click()
    edits = [seconds(lambda row=row: edit(tab, row)) for row in range(2, 2 + _EDITS)]
    print(f"recheck of a cell     {statistics.median(edits):6.3f} s   longest {max(edits):.3f} s")
    print(f"memory of the server  {memory_mb(pid):6.0f} MB at most")


def main() -> None:
    """Write the sheet, open the page, print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("rows", nargs="?", type=int, default=100_000)
    parser.add_argument("--bad", type=float, default=1, metavar="PERCENT")
    asked = parser.parse_args()
    program = shutil.which("chromium") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = write_sheet(Path(folder) / "large.xlsx", asked.rows, asked.bad / 100).path
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        with running_page(Path(folder)) as (link, pid):
            tab = browser.new_page(viewport={"width": 1280, "height": 800})
            tab.set_default_timeout(_PATIENCE_MS)
            tab.goto(link)
            measure(tab, path, asked.rows, pid)
        browser.close()


if __name__ == "__main__":
    main()
