"""What each command imports when it starts: what it has no use for would make it slow."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from environment import clean_environment

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
    "rapidfuzz",
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
    "resources": "pydantic yaml",
    "template cliente -o modelo.xlsx": "xlsxwriter yaml",
    "validate --help": "python_calamine",
    "validate centrodecusto.xlsx": "asyncio numpy pandas pandera pydantic python_calamine",
    "upload --help": "yaml",
    "upload centrodecusto-com-erros.xlsx": "asyncio httpx numpy pandas pandera pydantic "
    "python_calamine rapidfuzz xlsxwriter",
    "jobs": "yaml",
    "resume": "yaml",
    "retry --help": "yaml",
    "resolve --help": "yaml",
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
"""Of the heavy ones, what each command line may import."""


def _imported(home: Path, line: str) -> set[str]:
    for name in ("centrodecusto.xlsx", "centrodecusto-com-erros.xlsx"):
        shutil.copy(SAMPLES / name, home)
    code = (
        f"import sys; from xlbridge.cli.main import main; main({line.split()!r}); "
        f"print(*[name for name in {HEAVY!r} if name in sys.modules])"
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
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize("line", MAY_IMPORT)
def test_a_command_imports_only_what_it_has_use_for(tmp_path: Path, line: str) -> None:
    assert _imported(tmp_path, line) <= set(MAY_IMPORT[line].split())


def test_the_table_names_what_is_imported_for_real(tmp_path: Path) -> None:
    assert _imported(tmp_path, "resources") == {"pydantic", "yaml"}
