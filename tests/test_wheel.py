"""The built wheel contains its data and works outside the checkout."""

import json
import re
import subprocess
import sys
import zipfile
from email import message_from_string
from pathlib import Path

import pytest
from environment import ROOT, clean_environment, unmeasured_environment

from xlbridge.resources import load_catalogue

pytestmark = pytest.mark.processes

REPOSITORY = "https://repository.example/xlbridge"


@pytest.fixture
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with the installed wheel, without its dependencies.

    Building it takes seconds and workers share no fixtures, so a single test uses it.
    """
    built = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", built, ROOT]
    environment = unmeasured_environment() | {"XLBRIDGE_REPOSITORY": REPOSITORY}
    subprocess.run(build, check=True, capture_output=True, env=environment)
    (wheel,) = built.glob("*.whl")
    target = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)
    return target


def run(installed: Path, folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "xlbridge", *arguments],
        cwd=folder,
        env=clean_environment(folder / "home", PYTHONPATH=str(installed)),
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return done.stdout


def test_wheel_contains_its_files_and_works(installed: Path, tmp_path: Path) -> None:
    runs_from_the_wheel(installed, tmp_path)
    contains_schemas_and_templates(installed, tmp_path)
    contains_page_files(installed)
    describes_the_project_outside_the_repository(installed)
    writes_and_validates_a_template(installed, tmp_path)


def runs_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    where = subprocess.run(
        [sys.executable, "-c", "import xlbridge; print(xlbridge.__file__)"],
        cwd=tmp_path,
        env=clean_environment(tmp_path, PYTHONPATH=str(installed)),
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(where.stdout.strip()).is_relative_to(installed)


def contains_schemas_and_templates(installed: Path, tmp_path: Path) -> None:
    shipped = installed / "xlbridge" / "_data"
    assert {p.stem for p in (shipped / "schemas").glob("*.yaml")} == set(load_catalogue())
    assert {p.stem for p in (shipped / "templates").glob("*.xlsx")} == set(load_catalogue())
    listed = json.loads(run(installed, tmp_path, "resources", "--format", "json"))
    assert [entry["resource"] for entry in listed["resources"]] == list(load_catalogue())


def contains_page_files(installed: Path) -> None:
    def page_files(package: Path) -> set[Path]:
        found = (p for end in ("html", "css", "js") for p in package.rglob(f"*.{end}"))
        return {path.relative_to(package) for path in found}

    assert page_files(installed / "xlbridge") == page_files(ROOT / "xlbridge") != set()


def describes_the_project_outside_the_repository(installed: Path) -> None:
    (file,) = installed.glob("*.dist-info/METADATA")
    metadata = message_from_string(file.read_text(encoding="utf-8"))
    addresses = dict(entry.split(", ", 1) for entry in metadata.get_all("Project-URL"))
    assert addresses["Repository"] == REPOSITORY
    assert addresses["Changelog"].endswith("/CHANGELOG.md")
    readme = str(metadata.get_payload())
    targets = re.findall(r"\]\(([^)]+)\)", readme)
    assert targets
    assert [target for target in targets if not target.startswith("https://")] == []
    version = metadata["Version"]
    picture = f"{REPOSITORY}/raw/v{version}/docs/images/annotated-sheet.png"
    assert f"]({picture})" in readme


def writes_and_validates_a_template(installed: Path, tmp_path: Path) -> None:
    run(installed, tmp_path, "template", "cliente", "-o", "c.xlsx")
    done = subprocess.run(
        [sys.executable, "-m", "xlbridge", "validate", "c.xlsx", "--format", "html"],
        cwd=tmp_path,
        env=clean_environment(tmp_path / "home", PYTHONPATH=str(installed)),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 1
    assert done.stdout.startswith("<!doctype html>")
    assert "sheet-empty" in done.stdout
