"""A real browser without a window, driven over its own debugging pipe."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--remote-debugging-pipe",
)
_COMMANDS_FD, _ANSWERS_FD = 3, 4


class Page:
    """One page of the browser."""

    def __init__(self, commands: IO[bytes], answers: IO[bytes]) -> None:
        self._commands = commands
        self._answers = answers
        self._number = 0
        self._session: str | None = None
        target = self._send("Target.createTarget", url="about:blank")["targetId"]
        attached = self._send("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        self._send("Page.enable")

    def open(self, path: Path, *, width: int, fragment: str = "") -> None:
        """Show a file in a window of a width in CSS pixels, and wait until it is loaded."""
        metrics = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
        self._send("Emulation.setDeviceMetricsOverride", **metrics)
        self._send("Page.navigate", url="about:blank")
        self._send("Page.navigate", url=f"{path.as_uri()}{fragment}")
        self.run(
            "new Promise(done => document.readyState === 'complete' ? done(1) "
            ": addEventListener('load', () => done(1)))"
        )

    def run(self, script: str) -> Any:
        """Evaluate an expression in the page and return its value; promises are awaited."""
        answer = self._send(
            "Runtime.evaluate",
            expression=script,
            returnByValue=True,
            awaitPromise=True,
            userGesture=True,
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def choose(self, label: str, value: str) -> None:
        """Set the control under a label to a value, as a person does."""
        self.run(
            f"""(() => {{
            const label = [...document.querySelectorAll('label')]
                .find((it) => it.firstChild.textContent === {json.dumps(label)});
            const control = label.querySelector('select, input');
            control.value = {json.dumps(value)};
            const name = control.tagName === 'SELECT' ? 'change' : 'input';
            control.dispatchEvent(new Event(name, {{ bubbles: true }}));
            return control.value;
        }})()"""
        )

    def emulate_media(self, media: str = "", scheme: str = "light") -> None:
        """Show the page as another medium (``print``), or in a colour scheme."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self._send("Emulation.setEmulatedMedia", media=media, features=features)

    def _send(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        self._commands.write(json.dumps(message).encode() + b"\0")
        self._commands.flush()
        while True:
            answer = json.loads(self._read())
            if answer.get("id") == self._number:
                assert "error" not in answer, answer["error"]
                result: dict[str, Any] = answer["result"]
                return result

    def _read(self) -> bytes:
        content = bytearray()
        while (byte := self._answers.read(1)) != b"\0":
            assert byte, "the browser went away"
            content += byte
        return bytes(content)


@contextmanager
def browser_page(folder: Path) -> Iterator[Page]:
    """Open a page of a browser whose profile lives in ``folder``, and end the browser after.

    Skips where there is no Chromium; with ``CI=true`` that is a failure.
    """
    program = next(filter(None, map(shutil.which, _NAMES)), None)
    if program is None or os.name != "posix":
        if os.environ.get("CI") == "true":
            pytest.fail("no Chromium on the path")
        pytest.skip("needs Chromium on the path")
    to_browser, from_browser = os.pipe(), os.pipe()

    def take_pipes() -> None:
        # Moved out of the way first: one of them may be 3 or 4 itself.
        reading, writing = os.dup(to_browser[0]), os.dup(from_browser[1])
        os.dup2(reading, _COMMANDS_FD)
        os.dup2(writing, _ANSWERS_FD)

    process = subprocess.Popen(
        [program, *_OPTIONS, f"--user-data-dir={folder}", "about:blank"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=take_pipes,
        pass_fds=(_COMMANDS_FD, _ANSWERS_FD),
    )
    os.close(to_browser[0])
    os.close(from_browser[1])
    try:
        with (
            os.fdopen(to_browser[1], "wb") as commands,
            os.fdopen(from_browser[0], "rb") as answers,
        ):
            yield Page(commands, answers)
    finally:
        process.terminate()
        process.wait(10)
