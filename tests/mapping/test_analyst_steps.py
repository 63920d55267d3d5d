"""Steps of an analyst with a foreign sheet, as documented."""

from pathlib import Path

import pytest
from analyst_steps import WAYS, Story, play, send_by_commands
from environment import ROOT, Xlbridge
from foreign_exports import EXPORTS, ForeignExport
from sampling import every

import xlbridge as xb
from xlbridge.sandbox import RunningSandbox

PAGE = ROOT / "docs" / "mapping.md"
MOST_STEPS = {"a proposed mapping": 12, "the saved mapping": 8}
MOST_COMMANDS = 6


@pytest.mark.parametrize("first", [1, pytest.param(0, marks=pytest.mark.slow)])
def test_foreign_sheet_is_uploaded_in_few_steps(
    at_demo: Xlbridge, tmp_path: Path, first: int
) -> None:
    stories = play(at_demo, tmp_path, WAYS[first:])
    for name, most in MOST_STEPS.items():
        assert stories[name].steps <= most, stories[name]
    page = PAGE.read_text("utf-8")
    for name, story in stories.items():
        commands, edits = len(story.commands), len(story.edits)
        assert f"| {name} | {commands} | {edits} | {story.steps} |" in page


@pytest.mark.parametrize("export", every(2, EXPORTS), ids=lambda export: export.file)
def test_an_export_is_uploaded_by_few_commands(
    at_demo: Xlbridge, tmp_path: Path, export: ForeignExport
) -> None:
    story = Story(at_demo, tmp_path)
    send_by_commands(story, export, "7")
    assert len(story.commands) <= MOST_COMMANDS
    line = f"| {export.system} | {len(story.commands)} | {len(story.edits)} |"
    assert line in PAGE.read_text("utf-8")


def test_the_orders_of_an_export_arrive_with_their_items(
    at_demo: Xlbridge, demo_sandbox: RunningSandbox, tmp_path: Path
) -> None:
    (orders,) = (export for export in EXPORTS if export.resource == "pedido")
    send_by_commands(Story(at_demo, tmp_path), orders, "8")
    with xb.connect(
        base_url=demo_sandbox.base_url, email=demo_sandbox.email, password=demo_sandbox.password
    ) as erp:
        frames = erp.export("pedidos").frames
    sent = frames["pedidos"].set_index("numeroDaOrdem")["numeroDoPedido"][[4581, 4582, 4583]]
    items = frames["produtos"]
    own = [items[items["numeroDoPedido"] == number] for number in sent]
    assert [list(one["quantidade"]) for one in own] == [[2, 1], [1], [12]]
    assert [list(one["valorUnitario"]) for one in own] == [[10.5, 10], [10.5], [8]]
