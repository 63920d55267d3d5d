"""Commands that the command line suggests, run as printed by a real shell."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from environment import Xlbridge, credentials
from sampling import every
from sheets import write_records

from xlbridge.files import as_arguments
from xlbridge.sandbox import RunningSandbox

NAMES = [
    "x$(touch pwned).xlsx",
    "x`touch pwned`.xlsx",
    "x;touch pwned;.xlsx",
    "R$2026.xlsx",
    "-x.xlsx",
    'say "hi".xlsx',
    "it's.xlsx",
    "two words.xlsx",
    "back\\slash.xlsx",
    "~tilde#!.xlsx",
    "cobrança.xlsx",
]
RECORDER = """#!/bin/sh
for word in "$@"; do printf '%s\\0' "$word"; done
"""


def words_in_shell(folder: Path, command: str) -> list[str]:
    """Return the arguments that ``xlbridge`` gets from a command line in a shell."""
    programs = folder / "programs"
    programs.mkdir(exist_ok=True)
    (programs / "xlbridge").write_text(RECORDER)
    (programs / "xlbridge").chmod(0o700)
    environment = {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["/bin/sh", "-c", command], cwd=folder, env=environment, capture_output=True, check=True
    )
    assert done.stderr == b""
    return done.stdout.decode().split("\0")[:-1]


def suggested(text: str) -> str:
    """Return the last command that a text suggests."""
    return re.findall(r"xlbridge (?:validate|upload|map|retry|jobs|batch|process) .*", text)[-1]


@pytest.mark.skipif(os.name != "posix", reason="runs sh")
@pytest.mark.parametrize("name", every(6, NAMES))
def test_next_steps_with_any_file_name_work_as_printed(
    xlbridge: Xlbridge, tmp_path: Path, empty_sandbox: RunningSandbox, name: str
) -> None:
    """The next step of each command leads to the one after it."""
    write_records(tmp_path / name, "cliente", [{"nomeComercial": "Ana", "cnpj": "1"}])
    checked = xlbridge("validate", "--", name)
    mark = suggested(checked.stdout).removesuffix(" shows each cell in the workbook")
    arguments = words_in_shell(tmp_path, mark)
    assert Path(arguments[1]) == Path(name)
    marked = xlbridge(*arguments)
    assert marked.returncode == 1, marked.stderr
    assert Path(arguments[-1]).name == f"{Path(name).stem}-marked.xlsx"
    assert (tmp_path / arguments[-1]).is_file()
    write_records(tmp_path / name, "cliente", [{"nomeComercial": "Ana"}])
    good = xlbridge("validate", "--", name)
    assert words_in_shell(tmp_path, suggested(good.stdout))[0] == "upload"
    upload = words_in_shell(tmp_path, suggested(good.stdout))
    sent = xlbridge(*upload, "--mode", "preview", "--yes", **credentials(empty_sandbox))
    assert sent.returncode == 0, sent.stderr
    assert not (tmp_path / "pwned").exists()


@pytest.mark.skipif(os.name != "posix", reason="runs sh")
@pytest.mark.parametrize("name", NAMES)
def test_hints_of_templates_and_mappings_are_quoted(
    xlbridge: Xlbridge, tmp_path: Path, name: str
) -> None:
    written = xlbridge("template", "cliente", f"--output={name}")
    command = suggested(written.stderr)
    assert list(map(Path, words_in_shell(tmp_path, command))) == [Path("validate"), Path(name)]
    missing = xlbridge("validate", f"--map={name}.yaml", "--", name)
    command = suggested(missing.stderr)
    assert Path(words_in_shell(tmp_path, command)[-1]) == Path(f"{name}.yaml")
    assert not (tmp_path / "pwned").exists()


def test_arguments_are_quoted_for_powershell_and_cmd() -> None:
    """PowerShell expands ``$`` in double quotes, cmd knows no single ones. Inside: files."""
    words = ("R$2026.xlsx", "it's ’so’.xlsx", "plain.xlsx")
    assert (
        as_arguments(*words, shell="powershell") == "'R$2026.xlsx' 'it''s ’’so’’.xlsx' plain.xlsx"
    )
    assert as_arguments(*words, shell="cmd") == '"R$2026.xlsx" "it\'s ’so’.xlsx" plain.xlsx'
