"""Try every documented way to install xlbridge; print a table, and return 1 if one fails.

Run from the project's folder, with the Pythons to try::

    .venv/bin/python packaging/try_installs.py python3.11 python3.13

Each way gets a folder of its own, whose name has a space and an accent, and must then answer some
commands. pipx and uv are installed there from the package index.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXTRAS = "[sandbox,ui,keyring]"
CONSTRAINTS = str(ROOT / "constraints.txt")
_SCRIPTS = "Scripts" if os.name == "nt" else "bin"


class Failed(Exception):
    """A command of a way failed."""


def run(*command: str | Path, environment: Mapping[str, str] = os.environ, code: int = 0) -> str:
    """Run a command, and return what it printed; raise ``Failed`` for another exit code."""
    done = subprocess.run(
        [*map(str, command)], capture_output=True, encoding="utf-8", env=environment, check=False
    )
    if done.returncode != code:
        lines = (done.stderr or done.stdout).strip().splitlines() or [f"code {done.returncode}"]
        raise Failed(lines[-1])
    return done.stdout


def environment_in(folder: Path, python: str) -> Path:
    """Create a virtual environment, and return its interpreter."""
    run(python, "-m", "venv", folder)
    return folder / _SCRIPTS / "python"


def wheel(folder: Path, python: str) -> Path:
    """Install the built wheel with pip."""
    own = environment_in(folder / "venv", python)
    run(own, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder / "built", ROOT)
    (built,) = (folder / "built").glob("*.whl")
    run(own, "-m", "pip", "install", "-q", "-c", CONSTRAINTS, f"{built}{EXTRAS}")
    return own.with_name("xlbridge")


def source(folder: Path, python: str) -> Path:
    """Install the checkout, as contributors do."""
    own = environment_in(folder / "venv", python)
    run(own, "-m", "pip", "install", "-q", "-c", CONSTRAINTS, "-e", f"{ROOT}{EXTRAS}")
    return own.with_name("xlbridge")


def hashes(folder: Path, python: str) -> Path:
    """Install with hashes, as the Dockerfile does."""
    own = environment_in(folder / "venv", python)
    requirements = ROOT / "packaging" / "requirements.txt"
    run(own, "-m", "pip", "install", "-q", "--require-hashes", "-r", requirements)
    run(own, "-m", "pip", "install", "-q", "--no-deps", ROOT)
    return own.with_name("xlbridge")


def offline(folder: Path, python: str) -> Path:
    """Collect the packages, and install them without an index."""
    own = environment_in(folder / "venv", python)
    wheels = folder / "xlbridge-wheels"
    run(own, "-m", "pip", "wheel", "-q", "-c", CONSTRAINTS, "-w", wheels, f"{ROOT}{EXTRAS}")
    wanted = f"xlbridge{EXTRAS}"
    run(own, "-m", "pip", "install", "-q", "--no-index", "--find-links", wheels, wanted)
    return own.with_name("xlbridge")


def pipx(folder: Path, python: str) -> Path:
    """Install with pipx."""
    tool = environment_in(folder / "tool", python)
    run(tool, "-m", "pip", "install", "-q", "pipx")
    own = {**os.environ, "PIPX_HOME": str(folder / "home"), "PIPX_BIN_DIR": str(folder / "bin")}
    # Relative, as pip splits the option at spaces.
    arguments = f"-c {os.path.relpath(CONSTRAINTS)}"
    wanted = f"{ROOT}{EXTRAS}"
    run(tool, "-m", "pipx", "install", "--pip-args", arguments, wanted, environment=own)
    return folder / "bin" / "xlbridge"


def uv_tool(folder: Path, python: str) -> Path:
    """Install with uv."""
    tool = environment_in(folder / "tool", python)
    run(tool, "-m", "pip", "install", "-q", "uv")
    places = {"UV_TOOL_DIR": str(folder / "tools"), "UV_TOOL_BIN_DIR": str(folder / "bin")}
    own = {**os.environ, **places, "UV_CONSTRAINT": ""}
    uv = tool.with_name("uv")
    wanted = f"{ROOT}{EXTRAS}"
    constraints = ("--constraints", CONSTRAINTS, "--python", tool)
    run(uv, "tool", "install", "-q", *constraints, wanted, environment=own)
    return folder / "bin" / "xlbridge"


WAYS: tuple[Callable[[Path, str], Path], ...] = (wheel, source, hashes, offline, pipx, uv_tool)
"""Functions that install into a folder with a Python, and return the program."""


def try_program(program: Path, folder: Path) -> str:
    """Run some commands of an installed program, and return its version."""
    own = {**os.environ, "XLBRIDGE_HOME": str(folder / "xlbridge-home"), "XLBRIDGE_LANG": "en"}
    version = run(program, "--version", environment=own).strip()
    run(program, "template", "cliente", "-o", folder / "c.xlsx", environment=own)
    wrong = ROOT / "samples" / "contasreceber-com-erros.xlsx"
    run(program, "validate", wrong, environment=own, code=1)
    run(program, "jobs", "--format", "json", environment=own)
    run(program, "sandbox", "--help", environment=own)
    return version


def main(pythons: list[str]) -> int:
    """Try all ways with each Python."""
    os.chdir(ROOT)
    failures = 0
    print("| Way | Python | Result | Seconds |\n|---|---|---|---|", flush=True)
    for python in pythons or [sys.executable]:
        try:
            number = run(python, "-c", "import platform; print(platform.python_version())").strip()
        except (Failed, OSError) as error:
            print(f"| all | {python} | not there: {error} | |", flush=True)
            failures += 1
            continue
        for way in WAYS:
            started = time.monotonic()
            with tempfile.TemporaryDirectory(prefix="instalação de teste ") as name:
                try:
                    result = try_program(way(Path(name), python), Path(name))
                except (Failed, OSError) as error:
                    failures += 1
                    result = f"failed: {error}"
            seconds = round(time.monotonic() - started)
            print(f"| {way.__name__} | {number} | {result} | {seconds} |", flush=True)
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
