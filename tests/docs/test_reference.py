"""The committed reference pages are up to date."""

import subprocess
import sys
from pathlib import Path

import pytest
from environment import ROOT

from xlbridge.cli.main import root
from xlbridge.export import LISTINGS
from xlbridge.i18n import LANGUAGES
from xlbridge.resources import Catalogue
from xlbridge.resources.checks import CATALOGUE
from xlbridge.wire import OPERATIONS

REFERENCE = ROOT / "docs" / "reference"


def pages(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}


def headings(page: str) -> set[str]:
    lines = (REFERENCE / page).read_text(encoding="utf-8").splitlines()
    return {line.lstrip("# ") for line in lines if line.startswith("##")}


def test_committed_pages_are_up_to_date(tmp_path: Path) -> None:
    generator = ROOT / "docs" / "generate_reference.py"
    for language in LANGUAGES:
        subprocess.run([sys.executable, generator, language, tmp_path], cwd=ROOT, check=True)
    assert pages(REFERENCE) == pages(tmp_path), "run `make reference` and commit docs/reference"


def test_every_declaration_has_a_heading(catalogue: Catalogue) -> None:
    assert headings("commands.md") >= set(root.list_commands(None))  # type: ignore[arg-type]
    assert headings("resources.md") >= set(catalogue)
    assert headings("findings.md") >= set(CATALOGUE)
    assert headings("operations.md") >= set(OPERATIONS)
    assert headings("listings.md") >= set(LISTINGS)


@pytest.mark.parametrize("page", sorted(path.name for path in REFERENCE.iterdir()))
def test_every_page_is_in_the_index(page: str) -> None:
    name = "README.pt-BR.md" if page.endswith(".pt-BR.md") else "README.md"
    index = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert f"(reference/{page})" in index
