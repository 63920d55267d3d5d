"""Exports of other systems are sent on the page in few actions, as documented."""

import re
from pathlib import Path

import pytest
from analyst_steps import send_on_page
from browser import Page
from environment import ROOT
from foreign_exports import EXPORTS, ForeignExport
from running_page import RunningPage

from xlbridge.sandbox import RunningSandbox

MOST_ACTIONS = 10


@pytest.fixture
def system(demo_sandbox: RunningSandbox) -> RunningSandbox:
    """The system to which the page sends, with the records that the exports name."""
    return demo_sandbox


@pytest.mark.parametrize(
    "export",
    [EXPORTS[0], *(pytest.param(one, marks=pytest.mark.programs) for one in EXPORTS[1:])],
    ids=lambda export: export.file,
)
def test_an_export_is_sent_in_few_actions(
    page: Page, ui: RunningPage, tmp_path: Path, export: ForeignExport
) -> None:
    page.tab.set_default_timeout(60_000)
    page.tab.goto(ui.link)
    actions = send_on_page(page.tab, tmp_path, export, "7")
    assert len(actions) <= MOST_ACTIONS, actions
    documented = rf"\| {re.escape(export.system)} \| \d+ \| \d+ \| {len(actions)} \|"
    assert re.search(documented, (ROOT / "docs" / "mapping.md").read_text("utf-8"))
