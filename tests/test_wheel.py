"""The built wheel carries its data and works away from the checkout."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from environment import ROOT, clean_environment, unmeasured_environment

from xlbridge.resources import load_catalogue


@pytest.fixture
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel installed in it, without its dependencies.

    It takes seconds, and workers share no fixture: one test tells all of it.
    """
    built = tmp_path_factory.mktemp("wheel")
    environment = unmeasured_environment()
    environment.pop("PIP_CONSTRAINT", None)
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", built, ROOT]
    subprocess.run(build, check=True, capture_output=True, env=environment)
    (wheel,) = built.glob("*.whl")
    target = tmp_path_factory.mktemp("site")
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", target]
    subprocess.run([*install, wheel], check=True, capture_output=True, env=environment)
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


def test_the_wheel_carries_its_files_and_works_from_them(installed: Path, tmp_path: Path) -> None:
    runs_from_the_wheel(installed, tmp_path)
    carries_schemas_and_templates(installed, tmp_path)
    carries_the_files_of_its_pages(installed)
    writes_and_judges_a_template(installed, tmp_path)


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


def carries_schemas_and_templates(installed: Path, tmp_path: Path) -> None:
    shipped = installed / "xlbridge" / "_data"
    assert {p.stem for p in (shipped / "schemas").glob("*.yaml")} == set(load_catalogue())
    assert {p.stem for p in (shipped / "templates").glob("*.xlsx")} == set(load_catalogue())
    listed = json.loads(run(installed, tmp_path, "resources", "--format", "json"))
    assert [entry["resource"] for entry in listed["resources"]] == list(load_catalogue())


def carries_the_files_of_its_pages(installed: Path) -> None:
    def page_files(package: Path) -> set[Path]:
        found = (p for end in ("html", "css", "js") for p in package.rglob(f"*.{end}"))
        return {path.relative_to(package) for path in found}

    assert page_files(installed / "xlbridge") == page_files(ROOT / "xlbridge") != set()


def writes_and_judges_a_template(installed: Path, tmp_path: Path) -> None:
    run(installed, tmp_path, "template", "cliente", "-o", "c.xlsx")
    done = judge(installed, tmp_path, "json")
    (report,) = json.loads(done.stdout)["files"]
    assert done.returncode == 1
    assert (report["resource"], report["findings"][0]["code"]) == ("cliente", "sheet-empty")
    page = judge(installed, tmp_path, "html").stdout
    assert page.startswith("<!doctype html>")
    assert "sheet-empty" in page


def judge(installed: Path, folder: Path, form: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "xlbridge", "validate", "c.xlsx", "--format", form],
        cwd=folder,
        env=clean_environment(folder / "home", PYTHONPATH=str(installed)),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
