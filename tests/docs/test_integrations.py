"""Pages on other programs: their scripts print what is shown, also after a kill; all are typed."""

import json
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from environment import ROOT, clean_environment, credentials, without_coverage
from in_process import run_command
from sampling import every
from sandboxes import create_database, sandbox_process

from xlbridge.client import Client, Target

pytestmark = pytest.mark.processes

FOLDER = ROOT / "docs" / "how-to" / "integrations"
PAGES = sorted(path.stem for path in FOLDER.glob("*.md") if ".pt-BR" not in path.name)
"""The Portuguese ones have the same code: test_pages."""
BLOCKS = re.compile(r"^```(python|text|toml)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


TYPED = ("README", "docs/how-to/integrator", "docs/how-to/library", "docs/how-to/own-resource")
"""Other pages with Python, which tests of their own run."""


def blocks(page: str, language: str, folder: Path = FOLDER) -> list[str]:
    content = (folder / f"{page}.md").read_text("utf-8")
    return [block for kind, block in BLOCKS.findall(content) if kind == language]


def scripts(page: str) -> dict[str, str]:
    """Return the Python of a page by file; a package of its own comes first."""
    first, *others = blocks(page, "python")
    if page == "pandera":
        return {"frota/checks.py": first, "frota/__init__.py": "", "page.py": "\n".join(others)}
    return {"page.py": "\n".join([first, *others])}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Folder with a space and an accent, for the script, beside a home with the sandbox."""
    place = tmp_path / "pasta de integração"
    place.mkdir()
    shutil.copy(ROOT / "samples" / "cliente-com-erros.xlsx", place / "cliente.xlsx")
    create_database(tmp_path / "home", [])
    return place


def write_scripts(page: str, place: Path) -> None:
    for name, content in scripts(page).items():
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text(content, encoding="utf-8")
    if page == "pandera":
        information = place / "frota-1.0.dist-info"
        information.mkdir()
        (information / "METADATA").write_text("Metadata-Version: 2.1\nName: frota\nVersion: 1.0\n")
        (entries,) = blocks(page, "toml")
        declared = re.sub(r'project\.entry-points\."(.*)"', r"\1", entries).replace('"', "")
        (information / "entry_points.txt").write_text(declared)


@pytest.mark.parametrize("page", every(2, [page for page in PAGES if page != "orchestrators"]))
def test_the_script_of_a_page_prints_what_is_shown(page: str, place: Path) -> None:
    write_scripts(page, place)
    done = subprocess.run(
        [sys.executable, "page.py"],
        cwd=place,
        env=without_coverage(clean_environment(place.parent / "home", PYTHONPATH=".")),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "".join(blocks(page, "text"))


def test_a_killed_load_is_finished_by_its_next_run(place: Path) -> None:
    write_scripts("orchestrators", place)
    codes = [f"K-{number}" for number in range(30)]
    names = [f"Cliente {number}" for number in range(30)]
    rows = pd.DataFrame({"nomeComercial": names, "seuCodigo": codes})
    rows.to_csv(place / "clientes.csv", index=False)
    home = place.parent / "load"
    faults = ["--seed", "empty", "--faults", "slow-queue=3"]
    with sandbox_process(place.parent / "system", faults, ignore_run_options=True) as running:
        environment = without_coverage(clean_environment(home, **credentials(running)))
        command = [sys.executable, "page.py", "clientes.csv"]
        with subprocess.Popen(command, cwd=place, env=environment) as killed:
            while "processing" not in job_states(place, environment):
                assert killed.poll() is None
                time.sleep(0.2)
            killed.send_signal(signal.SIGKILL)
        again = subprocess.check_output(command, cwd=place, env=environment, text=True)
        assert "'accepted': 30" in again
        target = Target("t", running.base_url, running.email, running.password)
        with Client(target) as client:
            listed = client.registry.clients.list()
    stored = [client.seuCodigo for client in listed if client.seuCodigo in codes]
    assert sorted(stored) == sorted(codes)


def job_states(folder: Path, environment: dict[str, str]) -> list[str]:
    """Return the states that ``xlbridge jobs`` tells, in this process, which is quick."""
    listed = run_command(folder, environment, ["jobs", "--format", "json"])
    return [job["state"] for job in json.loads(listed.stdout)["jobs"]]


MYPY = [
    sys.executable,
    "-m",
    "mypy",
    "--strict",
    "--config-file=",
    f"--cache-dir={ROOT / '.mypy_cache'}",
]
PYRIGHT = ["pyright", "--pythonpath", sys.executable]


@pytest.mark.programs
@pytest.mark.parametrize("command", [MYPY, PYRIGHT], ids=["mypy", "pyright"])
def test_the_scripts_are_typed(command: list[str], tmp_path: Path) -> None:
    if command is PYRIGHT and shutil.which("pyright") is None:
        pytest.skip("pyright is not installed")
    parts = {
        f"{page} {Path(name).stem}": content
        for page in PAGES
        for name, content in scripts(page).items()
        if content
    }
    for page in TYPED:
        *others, last = blocks(page, "python", ROOT)
        # The checks of a package are a file of their own.
        together = "text_check" not in last
        parts[page] = "\n".join([*others, last] if together else others)
        parts[f"{page} checks"] = "" if together else last
    files = [tmp_path / f"{re.sub('[^a-zA-Z]', '_', part)}.py" for part in parts]
    for file, content in zip(files, parts.values(), strict=True):
        file.write_text(content, encoding="utf-8")
    checked = subprocess.run(
        [*command, *files],
        cwd=tmp_path,
        env=without_coverage(clean_environment(tmp_path)),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert (checked.returncode, checked.stderr) == (0, ""), checked.stdout
