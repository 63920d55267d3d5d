"""Checks and resources of installed packages, as on the page about custom resources."""

import re
import subprocess
import sys
from pathlib import Path

import openpyxl
import pytest
from environment import ROOT, clean_environment

pytestmark = pytest.mark.processes

PAGE = ROOT / "docs" / "how-to" / "own-resource.md"
SCHEMA = """\
columns:
  placa: {title: Placa, dtype: str, placa: {}}
  ano: {title: Ano, dtype: Int64, in_range: {min_value: 1950, max_value: 2100}}
"""


def shown(language: str, words: str) -> str:
    """Return the code block of the page that contains some words."""
    pieces = re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text("utf-8"), re.M | re.S)
    (piece,) = (piece for piece in pieces if words in piece)
    return str(piece)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Folder in which the package of the page is installed."""
    site = tmp_path / "site"
    package, information = site / "frota", site / "frota-1.0.dist-info"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "checks.py").write_text(shown("python", "text_check"), encoding="utf-8")
    (package / "veiculo.yaml").write_text(SCHEMA, encoding="utf-8")
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: frota\nVersion: 1.0\n")
    entries = re.sub(r'project\.entry-points\."(.*)"', r"\1", shown("toml", "entry-points"))
    (information / "entry_points.txt").write_text(entries.replace('"', ""))
    return site


def run(site: Path, *arguments: object) -> "subprocess.CompletedProcess[str]":
    home = site.parent / "home"
    paths = f"{site}:{ROOT}" if sys.platform != "win32" else f"{site};{ROOT}"
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        env=clean_environment(home, PYTHONPATH=paths),
        cwd=site.parent,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


def test_installed_resource_is_validated_by_an_installed_check(site: Path) -> None:
    template = site.parent / "veiculo.xlsx"
    assert run(site, "-m", "xlbridge", "template", "veiculo", "-o", template).returncode == 0
    book = openpyxl.load_workbook(template)
    for row, (plate, year) in enumerate([("ABC1D23", 2020), ("AB-1", 1900)], start=2):
        book["veiculo"].cell(row, 1, plate)
        book["veiculo"].cell(row, 2, year)
    book.save(template)
    done = run(site, "-m", "xlbridge", "validate", template)
    assert done.returncode == 1, done.stderr
    assert "[plate-invalid]" in done.stdout
    assert "The number plate is not valid." in done.stdout
    assert "The value must be from 1950 to 2100." in done.stdout
    assert "errors: 2" in done.stdout


def test_installed_check_is_available_to_pandera(site: Path) -> None:
    code = "from xlbridge.checks import schema; print(schema('veiculo').columns['placa'].checks)"
    done = run(site, "-c", code)
    assert done.stdout == "[<Check placa>]\n", done.stderr


def test_a_check_that_cannot_be_loaded_is_named(site: Path) -> None:
    (site / "frota" / "checks.py").write_text("import there_is_none\n")
    done = run(site, "-m", "xlbridge", "resources")
    assert done.returncode == 2
    assert "frota.checks, of the installed package frota, could not be loaded" in done.stderr
    assert "there_is_none" in done.stderr
    assert "Traceback" not in done.stderr


def test_existing_rule_name_is_reported(site: Path) -> None:
    path = site / "frota" / "checks.py"
    path.write_text(path.read_text().replace('"placa"', '"cep"'))
    done = run(site, "-m", "xlbridge", "resources")
    assert done.returncode == 2
    assert "There is a rule 'cep' already." in done.stderr


def test_resources_that_are_not_a_package_are_reported(site: Path) -> None:
    entries = site / "frota-1.0.dist-info" / "entry_points.txt"
    entries.write_text("[xlbridge.resources]\nfrota = frota.checks\n")
    done = run(site, "-m", "xlbridge", "resources")
    assert done.returncode == 2
    assert "frota.checks, of the installed package frota, could not be loaded" in done.stderr


def test_the_page_s_pandera_schema_becomes_a_resource(tmp_path: Path) -> None:
    code = shown("python", "to_yaml") + shown("python", "xlbridge.checks")
    (tmp_path / "site").mkdir()
    done = run(tmp_path / "site", "-c", code)
    assert done.stderr == ""
    assert done.stdout == shown("text", "Check greater_than")
    known = run(tmp_path / "site", "-m", "xlbridge", "resources", "--schemas", "schemas")
    assert "vendedor" in known.stdout, known.stderr
