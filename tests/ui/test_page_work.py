"""State of the page's background work.

Inside: ui.
"""

from pathlib import Path

import pytest

from xlbridge.errors import UsageError
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
        with remote.track("upload"):
            raise Cancelled
        (line,) = remote.state.lines
        assert "gravado" in line or "written" in line


def count_after_stop(remote: PageConnection) -> None:
    with remote.awaited("plan"):
        remote.cancel()
        remote.count(3, 8)


def test_a_plan_is_stopped_at_its_next_look_up(home: Path) -> None:
    remote = PageConnection(Settings(home=home))
    with remote.awaited("plan"):
        remote.count(2, 8)
        state = remote.state.to_json()
        assert (state["work"], state["done"], state["total"]) == ("plan", 2, 8)
        assert remote.followed_work == ""
    with pytest.raises(UsageError):
        count_after_stop(remote)
    assert not remote.state.running


def test_a_template_is_stopped_without_a_word_about_an_upload(home: Path) -> None:
    remote = PageConnection(Settings(home=home))
    remote.start()
    with remote.track("template"):
        remote.cancel()
        remote.count(1, 4)
    (line,) = remote.state.lines
    assert line in ("Interrompido.", "Stopped.")
