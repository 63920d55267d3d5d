"""Imports of each command: unneeded ones would slow it down."""

import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from environment import clean_environment

pytestmark = pytest.mark.processes

HEAVY = (
    "asyncio",
    "httpx",
    "jinja2",
    "keyring",
    "lxml",
    "numpy",
    "openpyxl",
    "pandas",
    "pandera",
    "pydantic",
    "python_calamine",
    "rich",
    "sqlalchemy",
    "starlette",
    "xlsxwriter",
    "yaml",
)

SAMPLES = Path(__file__).parents[1] / "samples"

MAY_IMPORT = {
    "--help": "",
    "--version": "",
    "resources": "",
    "template cliente -o modelo.xlsx": "xlsxwriter",
    "validate --help": "python_calamine",
    "validate centrodecusto.xlsx": "asyncio numpy pandas pandera pydantic python_calamine",
    "upload --help": "",
    "upload centrodecusto-com-erros.xlsx": "asyncio httpx numpy pandas pandera pydantic "
    "python_calamine xlsxwriter",
    "jobs": "",
    "resume": "",
    "retry --help": "",
    "resolve --help": "",
    "batch --help": "httpx pydantic yaml",
    "batch status": "httpx pydantic yaml",
    "listings": "httpx pydantic",
    "export --help": "httpx pydantic xlsxwriter yaml",
    "login --help": "httpx pydantic",
    "profiles": "",
    "whoami --help": "httpx pydantic",
    "api --help": "httpx pydantic",
    "doctor --help": "httpx pydantic",
    "sandbox --help": "asyncio pydantic sqlalchemy starlette yaml",
}
"""Heavy packages that each command line may import."""


def chains() -> Iterator[list[str]]:
    """Group command lines into chains, one process each, in which imports may only grow."""
    left = sorted(MAY_IMPORT, key=lambda line: len(MAY_IMPORT[line].split()))
    while left:
        chain: list[str] = []
        for line in left:
            if not chain or {*MAY_IMPORT[line].split()} >= {*MAY_IMPORT[chain[-1]].split()}:
                chain.append(line)
        left = [line for line in left if line not in chain]
        yield chain


def imported(home: Path, lines: Sequence[str]) -> list[set[str]]:
    """Return the heavy packages imported in one process after each of its command lines."""
    for name in ("centrodecusto.xlsx", "centrodecusto-com-erros.xlsx"):
        shutil.copy(SAMPLES / name, home)
    code = (
        "import sys; from xlbridge.cli.main import main\n"
        f"for line in {[line.split() for line in lines]!r}:\n"
        f"  main(line); print('imported', *[name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=home,
        env=clean_environment(home),
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )
    content = (line.split() for line in done.stdout.splitlines())
    return [{*names} for first, *names in filter(None, content) if first == "imported"]


@pytest.mark.parametrize("lines", list(chains()), ids=" and ".join)
def test_commands_import_only_allowed_packages(tmp_path: Path, lines: list[str]) -> None:
    found = zip(lines, imported(tmp_path, lines), strict=True)
    too_many = {line: names - {*MAY_IMPORT[line].split()} for line, names in found}
    assert {line: names for line, names in too_many.items() if names} == {}


def test_imported_packages_are_detected(tmp_path: Path) -> None:
    assert imported(tmp_path, ["profiles", "listings"]) == [set(), {"pydantic"}]
