"""Manual pages: one for each command, in both languages, that troff reads without warnings."""

import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from environment import ROOT, unmeasured_environment

from xlbridge.cli.main import root

pytestmark = pytest.mark.processes


@pytest.mark.parametrize(
    ("language", "folder", "heading"), [("en", "man1", "NAME"), ("pt-BR", "pt_BR/man1", "NOME")]
)
def test_every_command_has_a_page(tmp_path: Path, language: str, folder: str, heading: str) -> None:
    generator = ROOT / "docs" / "generate_man_pages.py"
    environment = unmeasured_environment()
    subprocess.run([sys.executable, generator, language, tmp_path], env=environment, check=True)
    pages = {path.stem: path for path in (tmp_path / folder).iterdir()}
    context = root.make_context("xlbridge", [], resilient_parsing=True)
    commands = {name: root.get_command(context, name) for name in root.list_commands(context)}
    parts = [
        f"{name}-{part}"
        for name, command in commands.items()
        if isinstance(command, click.Group)
        for part in command.list_commands(context)
    ]
    assert set(pages) == {"xlbridge", *(f"xlbridge-{name}" for name in (*commands, *parts))}
    upload = pages["xlbridge-upload"].read_text("utf-8")
    assert f".SH {heading}\nxlbridge-upload \\- " in upload
    assert "\\-\\-update\\-only" in upload
    if shutil.which("groff"):
        checked = subprocess.run(
            ["groff", "-man", "-ww", "-z", "-K", "utf8", *sorted(pages.values())],
            capture_output=True,
            text=True,
            check=False,
        )
        assert (checked.returncode, checked.stderr) == (0, "")
