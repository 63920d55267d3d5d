"""The site of the documentation (`make docs`): both languages, each with a search of its own."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from environment import ROOT, unmeasured_environment

from xlbridge import __version__

pytestmark = [pytest.mark.slow, pytest.mark.processes]

PROFILES = {"en": "Profiles: one for each environment", "pt-BR": "Perfis: um para cada ambiente"}


def findings(folder: Path) -> str:
    return (folder / "reference" / "findings.html").read_text("utf-8")


def test_each_language_has_its_pages_and_its_search(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="the extra docs is not installed")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", tmp_path],
        cwd=ROOT,
        env={**unmeasured_environment(), "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (built.returncode, built.stdout, built.stderr) == (0, "", "")
    for language, folder in (("en", tmp_path), ("pt-BR", tmp_path / "pt-BR")):
        entries = json.loads((folder / "search" / "search_index.json").read_text("utf-8"))["docs"]
        found = {entry["title"] for entry in entries}
        assert [PROFILES[other] in found for other in PROFILES] == [
            other == language for other in PROFILES
        ]
        locations = {entry["location"].partition("#")[0] for entry in entries}
        assert all((folder / location).is_file() for location in locations)
        assert (language == "en") != ("Falta a coluna obrigatória" in findings(folder))
        page = folder / "how-to" / "profiles.html"
        content = page.read_text("utf-8")
        assert content.count(f" {__version__}</title>") == 1
        assert content.count(f"{__version__} {__version__}") == 0
        switches = dict(re.findall(r'<a href="([^"]+)" hreflang="([^"]+)"', content))
        assert sorted(switches.values()) == ["en", "pt-BR"]
        assert all((page.parent / target).is_file() for target in switches)
        assert not re.search(r'(?:src|rel="stylesheet" href)="https?:', content)
        # Pages that exist in English only lead to headings by their English anchors.
        assert 'id="tls-and-proxies"' in content
