"""The examples of the library how-to print the shown output; those of the readmes run."""

import contextlib
import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from environment import ROOT, clean_environment

import xlbridge as xb

pytestmark = pytest.mark.processes

PAGE = ROOT / "docs" / "how-to" / "library.md"
BLOCKS = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.usefixtures("demo_home")
def test_page_examples_print_the_displayed_output(monkeypatch: pytest.MonkeyPatch) -> None:
    # The embedded sandbox is written to if it is chosen by its name.
    monkeypatch.setenv("XLBRIDGE_PROFILE", "sandbox")
    monkeypatch.chdir(ROOT)
    names: dict[str, Any] = {}
    wanted, printed = io.StringIO(), io.StringIO()
    for language, block in BLOCKS.findall(PAGE.read_text(encoding="utf-8")):
        if language == "text":
            wanted.write(block)
            continue
        with contextlib.redirect_stdout(printed):
            exec(compile(block, str(PAGE), "exec"), names)
        assert names
    assert printed.getvalue() == wanted.getvalue() != ""


@pytest.mark.usefixtures("demo_home")
def test_the_notebook_prints_what_it_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = json.loads((ROOT / "docs" / "how-to" / "tutorial.ipynb").read_text("utf-8"))
    monkeypatch.chdir(ROOT)
    names: dict[str, Any] = {}
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(cells) > 4
    for cell in cells:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec("".join(cell["source"]), names)
        assert printed.getvalue() == "".join(cell["outputs"][0]["text"]), cell["id"]


@pytest.mark.slow
def test_page_examples_print_the_same_without_pyarrow(demo_home: Path) -> None:
    """Without pyarrow, which users need not have, pandas keeps text as Python objects."""
    blocks = BLOCKS.findall(PAGE.read_text(encoding="utf-8"))
    script = ["import sys\nsys.modules['pyarrow'] = None\n"]
    script += [block for language, block in blocks if language == "python"]
    done = subprocess.run(
        [sys.executable, "-c", "".join(script)],
        cwd=ROOT,
        env=clean_environment(demo_home),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout == "".join(block for language, block in blocks if language == "text")


@pytest.mark.usefixtures("demo_environment")
@pytest.mark.parametrize("page", ["README.md", "README.pt-BR.md"])
def test_the_example_of_a_readme_runs(
    page: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    blocks = BLOCKS.findall((ROOT / page).read_text(encoding="utf-8"))
    (example,) = [block for language, block in blocks if language == "python"]
    try:
        exec(compile(example, page, "exec"), {})
    finally:
        xb.set_language("en")
    printed = capsys.readouterr().out
    assert "False 6 18" in printed
    assert "numeroDaParcela" in printed
    missing = "The value is missing" if page == "README.md" else "Falta o valor"
    assert missing in printed
