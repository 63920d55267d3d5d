"""Measure the page: the warm server's answers to edits, and a large sheet in a real browser.

Usage: python benchmarks/page.py [ROWS] [--bad PERCENT] [--server]

First the server, with a sheet of 20 rows and one of ROWS (default 100,000): opening the file,
editing cells of all columns and of each, finding a text in all rows, pasting a small block and one
of a fifth of the rows, and rereading the sheet by another convention; each also as a share of the
drop, and its processor time as one of a loop of a million additions on this machine, so that runs
on different and on busy machines compare. Then, without ``--server``, ROWS in Chromium,
which must be on the path, in turn with ``xlbridge validate``: from the drop to the first coloured
rows, to the rows of a distant scroll, and from Enter to the frame with the validated cell; and the
server's memory. Needs the extra ``dev``. Asserts nothing.
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
from typing import Any
from urllib.parse import urlsplit

import httpx
from bad_sheet import COLUMNS, write_sheet
from playwright.sync_api import Page, sync_playwright
from processes import processor_seconds

_SMALL = 20
_BLOCK = 50, 5
_JUMPS = (0.9, 0.25, 0.6, 0.99, 0.1)
_EDITS = 5
_PAIRS = 3
_LOOPS = 5
_SOUGHT = "1", "12", "zz"
_TIMEOUT_MS = 120_000


@contextmanager
def running_page(home: Path) -> Iterator[tuple[str, int]]:
    """Run ``xlbridge ui`` in its own home; yield its launch link and process."""
    ready = home / "ready.json"
    environment = os.environ | {"XLBRIDGE_HOME": str(home), "XLBRIDGE_LANG": "en"}
    command = [sys.executable, "-m", "xlbridge", "ui", "--no-browser", "--ready-file", ready]
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as process:
        while not ready.exists() and process.poll() is None:
            time.sleep(0.1)
        try:
            yield json.loads(ready.read_text("utf-8"))["url"], process.pid
        finally:
            process.terminate()


def seconds(work: Callable[[], object]) -> float:
    """Return the duration of a call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def add_a_million(first: int) -> float:
    """Return the processor time of a million additions, in ms."""
    start, total = time.process_time(), first
    for number in range(1_000_000):
        total += number
    return 1_000 * (time.process_time() - start)


def measure_server(link: str, pid: int, path: Path, rows: int) -> None:
    """Print the times of the warm server for each action on a sheet."""
    parts = urlsplit(link)
    origin = f"{parts.scheme}://{parts.netloc}"
    with httpx.Client(
        base_url=origin, headers={"Origin": origin}, follow_redirects=True, timeout=None
    ) as server:
        location = server.get(link).history[0].headers["location"]
        server.headers["X-Page-Key"] = urlsplit(location).fragment.removeprefix("key=")
        page = PageServer(server, pid)
        content, name = path.read_bytes(), {"X-File-Name": path.name}
        page.post("open", content=content, headers=name)
        print(f"\n{rows:,} rows: the server's answers")
        page.print_times("drop", [lambda: page.post("open", content=content, headers=name)])
        page.find("first, which reads the texts")
        page.edit(2, 0, [["1"]])
        columns = range(len(COLUMNS))
        cells = [(row, column) for row in (3, rows // 2 + 2, rows + 1) for column in columns]
        page.print_times("one cell", [lambda it=it: page.edit(*it, [["x"]]) for it in cells])
        for column in columns if rows > _SMALL else ():
            typed = [(row, column, [[text]]) for text in ("x", "1") for row in range(4, 4 + _EDITS)]
            label = f"  {COLUMNS[column]}"
            page.print_times(label, [lambda it=it: page.edit(*it) for it in typed])
        page.print_times("find in all rows", [lambda it=it: page.find(it) for it in _SOUGHT])
        block = [[str(number + 1) for number in range(_BLOCK[1])]] * min(_BLOCK[0], rows)
        for height in sorted({len(block), max(rows // 5, 1)}):
            pasted = [block[number % len(block)] for number in range(height)]
            label = f"block of {height:,} x {_BLOCK[1]}"
            page.print_times(label, [lambda it=pasted: page.edit(2, 0, it)] * _EDITS)
        conventions = ({"numbers": "en"}, {"numbers": "pt"})
        page.print_times(
            "whole sheet", [lambda it=it: page.post("reading", json=it) for it in 2 * conventions]
        )


class PageServer:
    """Server and its process, called like by the page."""

    def __init__(self, server: httpx.Client, pid: int) -> None:
        self._server = server
        self._pid = pid
        self._first: float | None = None
        self._loop = min(map(add_a_million, range(_LOOPS)))

    def post(self, request: str, **content: Any) -> None:
        """Send a request that must succeed."""
        self._server.post(f"/api/{request}", **content).raise_for_status()

    def find(self, text: str) -> None:
        """Count the cells with a text, and find the next one."""
        query = {"text": text, "whole": "0", "row": "0", "at": "0", "view": "all"}
        self._server.get("/api/find", params=query).raise_for_status()

    def edit(self, row: int, column: int, texts: list[list[str]]) -> None:
        """Paste texts into a block of cells, starting at the given one."""
        cells = [
            {"row": row + row_offset, "column": column + column_offset, "value": text}
            for row_offset, line in enumerate(texts)
            for column_offset, text in enumerate(line)
        ]
        self.post("edit", json=cells)

    def print_times(self, label: str, requests: list[Callable[[], None]]) -> None:
        """Print the duration of each request and the server's processor time for one."""
        before = processor_seconds(self._pid)
        durations = [1_000 * seconds(request) for request in requests]
        processor = 1_000 * (processor_seconds(self._pid) - before) / len(requests)
        median = statistics.median(durations)
        if self._first is None:
            self._first = median
        print(
            f"  {label:26} {median:7.0f} ms   longest {max(durations):.0f} ms"
            f"   {processor:.0f} ms of processors, {processor / self._loop:.2f} of the loop"
            f"   {median / self._first:.3f} of the first"
        )


def validate(path: Path) -> None:
    """Run the command on the same file."""
    command = [sys.executable, "-m", "xlbridge", "validate", str(path), "--format", "json"]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=False)


def first_rows(tab: Page, path: Path) -> None:
    """Drop the sheet and wait for coloured rows."""
    tab.locator("[data-view=begin]").click()
    # Until the answer, the button is the previous sheet's: a click would be tried each half second.
    with tab.expect_response(lambda answer: "/api/open" in answer.url):
        tab.set_input_files('[data-testid="drop"]', path)
    tab.locator("#to-mend").click()
    tab.locator("#grid .error").first.wait_for()


def jump(tab: Page, share: float, rows: int) -> None:
    """Scroll to a fraction of the sheet's height and wait for the rows there."""
    row = int(share * rows)
    tab.evaluate("top => { document.getElementById('grid').scrollTop = top; }", row * 28)
    tab.locator(f'[data-cell="A{row + 5}"]').wait_for()


_WATCH = """() => {
    document.addEventListener("keydown", (event) => { window.pressed = event.timeStamp; }, true);
    new MutationObserver(() => {
        if (!document.querySelector(window.awaited)) return;
        requestAnimationFrame((now) => { window.seen ||= now; });
    }).observe(document.querySelector("#grid .lines"), { childList: true });
}"""
"""Notes in the page when a key was pressed, and the frame that shows what is awaited then."""


def edit(tab: Page, row: int) -> float:
    """Type a wrong value; return the seconds from Enter to the frame with its colour."""
    tab.keyboard.type("wrong")
    tab.evaluate(
        "cell => { window.awaited = cell; window.seen = 0; }", f'[data-cell="B{row}"].error'
    )
    tab.keyboard.press("Enter")
    tab.wait_for_function("() => window.seen")
    return float(tab.evaluate("window.seen - window.pressed")) / 1_000


def memory_mb(pid: int) -> float:
    """Return the resident memory of a process in MB, if the system reports it."""
    status = Path(f"/proc/{pid}/status")
    lines = status.read_text("utf-8").splitlines() if status.exists() else []
    return sum(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def measure(tab: Page, path: Path, rows: int, pid: int) -> None:
    """Print the figures of one run."""
    pairs = [
        (seconds(lambda: first_rows(tab, path)), seconds(lambda: validate(path)))
        for _ in range(_PAIRS)
    ]
    ours, command = (statistics.median(times) for times in zip(*pairs, strict=True))
    ratio = statistics.median(one / other for one, other in pairs)
    print(f"first coloured rows   {ours:6.2f} s   validate {command:.2f} s   {ratio:.2f} x")
    tab.locator("#view").select_option("all")
    tab.locator('[data-cell="A2"]').wait_for()
    jumps = [seconds(lambda share=share: jump(tab, share, rows)) for share in _JUMPS]
    print(f"scroll to a far row   {statistics.median(jumps):6.3f} s   longest {max(jumps):.3f} s")
    tab.evaluate("() => { document.getElementById('grid').scrollTop = 0; }")
    tab.locator('[data-cell="B2"]').click()
    tab.evaluate(_WATCH)
    edits = [edit(tab, row) for row in range(2, 2 + _EDITS)]
    print(f"recheck of a cell     {statistics.median(edits):6.3f} s   longest {max(edits):.3f} s")
    print(f"memory of the server  {memory_mb(pid):6.0f} MB at most")


def measure_browser(path: Path, rows: int) -> None:
    """Print the figures of a sheet in a browser."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    print(f"\n{rows:,} rows: in the browser")
    with sync_playwright() as playwright, running_page(path.parent) as (link, pid):
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 1280, "height": 800})
        tab.set_default_timeout(_TIMEOUT_MS)
        tab.goto(link)
        measure(tab, path, rows, pid)
        browser.close()


def main() -> None:
    """Write the sheets, open the page, print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("rows", nargs="?", type=int, default=100_000)
    parser.add_argument("--bad", type=float, default=1, metavar="PERCENT")
    parser.add_argument("--server", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for rows in (_SMALL, arguments.rows):
            path = write_sheet(Path(folder) / f"{rows}.xlsx", rows, arguments.bad / 100).path
            with running_page(Path(folder)) as (link, pid):
                measure_server(link, pid, path, rows)
        if not arguments.server:
            measure_browser(path, arguments.rows)


if __name__ == "__main__":
    main()
