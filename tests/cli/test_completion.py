"""Shell completion of names, and the script of each shell."""

import subprocess
import sys
from pathlib import Path

import pytest
from environment import Xlbridge, clean_environment, credentials
from sheets import write_records

from xlbridge.sandbox import RunningSandbox

PROFILES = """
[profiles.homologacao]
base_url = "https://h.example"
email = "a@h.example"
"""


def completed(xlbridge: Xlbridge, line: str, **settings: str) -> list[str]:
    """Return the completions of a line's last word in bash."""
    words = line.split(" ")
    done = xlbridge(
        _XLBRIDGE_COMPLETE="bash_complete",
        COMP_WORDS=line,
        COMP_CWORD=str(len(words) - 1),
        **settings,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return [line.partition(",")[2] for line in done.stdout.split()]


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("xlbridge template clientec", ["clientecontato"]),
        ("xlbridge validate a.xlsx --resource contasr", ["contasreceber"]),
        ("xlbridge export contasreceber-", ["contasreceber-baixados"]),
        ("xlbridge export pedidos-c", ["pedidos-compra", "pedidos-compra-encerrados"]),
        (
            "xlbridge process inventario",
            ["inventario", "inventario-validar", "inventario-encerrar"],
        ),
        ("xlbridge whoami --profile hom", ["homologacao"]),
        ("xlbridge profiles --default hom", ["homologacao"]),
        ("xlbridge valid", ["validate"]),
        ("xlbridge jobs ", []),
        ("xlbridge batch proof ", []),
    ],
)
def test_names_are_completed(xlbridge: Xlbridge, home: Path, line: str, names: list[str]) -> None:
    home.mkdir(exist_ok=True)
    (home / "profiles.toml").write_text(PROFILES, "utf-8")
    assert completed(xlbridge, line) == names


def test_jobs_and_batches_are_completed(
    xlbridge: Xlbridge, empty_sandbox: RunningSandbox, tmp_path: Path
) -> None:
    settings = credentials(empty_sandbox)
    write_records(tmp_path / "r.xlsx", "cliente", [{"cnpj": "61.186.888/0001-93"}])
    plan = tmp_path / "plan.yaml"
    plan.write_text("version: 1\nname: outubro\nsteps:\n  r: {upload: r.xlsx, resource: cliente}\n")
    assert xlbridge("batch", "run", plan, "--yes", **settings).returncode == 0
    (job,) = completed(xlbridge, "xlbridge jobs 20", **settings)
    assert xlbridge("jobs", job, **settings).returncode == 0
    assert completed(xlbridge, "xlbridge retry 20") == [job]
    assert completed(xlbridge, "xlbridge batch resume out") == ["outubro"]


def test_jobs_of_the_profile_are_completed(
    xlbridge: Xlbridge, empty_sandbox: RunningSandbox, home: Path, tmp_path: Path
) -> None:
    home.mkdir(exist_ok=True)
    login = f'base_url = "{empty_sandbox.base_url}"\nemail = "{empty_sandbox.email}"\n'
    (home / "profiles.toml").write_text(f"[profiles.company]\n{login}", "utf-8")
    path = write_records(tmp_path / "r.xlsx", "cliente", [{"cnpj": "33.000.167/0001-01"}])
    password = {
        "XLBRIDGE_BASE_URL": empty_sandbox.base_url,
        "XLBRIDGE_PASSWORD": empty_sandbox.password,
    }
    assert xlbridge("upload", path, "--yes", "--profile", "company", **password).returncode == 0
    (job,) = completed(xlbridge, "xlbridge jobs 20", XLBRIDGE_PROFILE="company")
    assert xlbridge("jobs", job, "--profile", "company").returncode == 0
    assert completed(xlbridge, "xlbridge jobs 20") == []


def test_unreadable_names_complete_to_nothing(xlbridge: Xlbridge, home: Path) -> None:
    home.mkdir(exist_ok=True)
    (home / "profiles.toml").write_text("no profile", "utf-8")
    assert completed(xlbridge, "xlbridge whoami --profile h") == []


@pytest.mark.parametrize(
    ("shell", "variables", "expected"),
    [
        ("zsh", {"COMP_WORDS": "xlbridge template inv", "COMP_CWORD": "2"}, "plain\ninventario\n"),
        ("fish", {"COMP_WORDS": "xlbridge template inv", "COMP_CWORD": "inv"}, "plain,inventario"),
        (
            "powershell",
            {"COMP_LINE": "xlbridge template inv", "COMP_WORD": "inv"},
            "plain\tinventario\t",
        ),
        ("powershell", {"COMP_LINE": "xlbridge template", "COMP_WORD": ""}, "plain\tinventario\t"),
    ],
)
def test_each_shell_is_answered_and_has_its_script(
    xlbridge: Xlbridge, shell: str, variables: dict[str, str], expected: str
) -> None:
    answered = xlbridge(_XLBRIDGE_COMPLETE=f"{shell}_complete", **variables)
    assert (answered.returncode, expected in answered.stdout) == (0, True)
    script = xlbridge(_XLBRIDGE_COMPLETE=f"{shell}_source").stdout
    assert f"{shell}_complete" in script
    assert all(name in script for name in variables)


def test_powershell_completes_paths_itself(xlbridge: Xlbridge) -> None:
    variables = {"COMP_LINE": "xlbridge validate a", "COMP_WORD": "a"}
    done = xlbridge(_XLBRIDGE_COMPLETE="powershell_complete", **variables)
    assert (done.returncode, done.stdout.strip()) == (0, "")


@pytest.mark.processes
@pytest.mark.skipif(sys.platform != "linux", reason="a bash may be older than completion is")
def test_bash_completes_by_its_script(xlbridge: Xlbridge, home: Path, tmp_path: Path) -> None:
    script = xlbridge(_XLBRIDGE_COMPLETE="bash_source").stdout
    program = tmp_path / "xlbridge"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m xlbridge "$@"\n')
    program.chmod(0o755)
    asks = f"""{script}
complete -p xlbridge
COMP_WORDS=(xlbridge template clientec) COMP_CWORD=2
_xlbridge_completion "{program}"
echo "completed: ${{COMPREPLY[*]}}"
"""
    done = subprocess.run(
        ["bash", "-c", asks],
        env=clean_environment(home),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stdout.splitlines()[-1] == "completed: clientecontato", done.stderr
    assert "-F _xlbridge_completion xlbridge" in done.stdout
