"""State of the work that runs in the page, as pages follow it.

Inside: ui.
"""

from pathlib import Path

from xlbridge.settings import Settings
from xlbridge.ui.environment import Cancelled, Remote


def test_a_work_begins_without_the_lines_of_the_last_and_says_that_nothing_was_written(
    home: Path,
) -> None:
    remote = Remote(Settings(home=home))
    for _ in range(2):
        remote.begin()
        told = remote.state.to_json()
        assert (told["running"], told["lines"], told["outcome"]) == (True, [], None)
        with remote.following("upload", lambda: None):
            raise Cancelled
        (line,) = remote.state.lines
        assert "gravado" in line or "written" in line
