"""State of the page's background work.

Inside: ui.
"""

from pathlib import Path

from xlbridge.settings import Settings
from xlbridge.ui.environment import Cancelled, PageConnection


def test_work_starts_without_earlier_lines_and_reports_that_nothing_was_written(
    home: Path,
) -> None:
    remote = PageConnection(Settings(home=home))
    for _ in range(2):
        remote.start()
        state = remote.state.to_json()
        assert (state["running"], state["lines"], state["outcome"]) == (True, [], None)
        with remote.track("upload", lambda: None):
            raise Cancelled
        (line,) = remote.state.lines
        assert "gravado" in line or "written" in line
