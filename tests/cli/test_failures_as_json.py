"""Failures as JSON, and results in the file of ``-o``: the same in every command."""

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from environment import ROOT, Xlbridge, credentials

from xlbridge.cli.main import main, root
from xlbridge.sandbox import RunningSandbox

SAMPLE = ROOT / "samples" / "cliente.xlsx"


def commands() -> Iterator[tuple[str, click.Command]]:
    """Yield the command lines that report, with their commands."""
    context = root.make_context("xlbridge", [], resilient_parsing=True)
    for name in root.list_commands(context):
        command = root.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group) and not command.invoke_without_command:
            yield from ((f"{name} {sub}", each) for sub, each in command.commands.items())
        else:
            yield name, command


REPORTING = [
    name
    for name, command in commands()
    if any("--format" in parameter.opts for parameter in command.params)
]


def failure(stdout: str) -> dict[str, Any]:
    document = json.loads(stdout)
    assert document.keys() == {"version", "error"}
    assert document["version"] == 1
    error: dict[str, Any] = document["error"]
    assert error.keys() == {"type", "code", "message", "hint"}
    assert error["message"]
    return error


def test_every_command_that_reports_writes_to_a_file() -> None:
    with_output = {
        name
        for name, command in commands()
        if any("-o" in parameter.opts for parameter in command.params)
    }
    assert REPORTING
    assert with_output >= set(REPORTING)


@pytest.mark.parametrize("command", REPORTING)
def test_an_unknown_option_is_a_failure_as_json(
    capfd: pytest.CaptureFixture[str], command: str
) -> None:
    assert main([*command.split(), "--format", "json", "--unknown"]) == 2
    shown = capfd.readouterr()
    error = failure(shown.out)
    assert (error["type"], error["code"]) == ("UsageError", "usage-error")
    assert "--unknown" in error["message"]
    assert f"xlbridge {command} --help" in error["hint"]
    assert "--unknown" in shown.err


@pytest.mark.parametrize(
    ("arguments", "kind", "code", "exit_code"),
    [
        (["validate", "--format=json"], "UsageError", "usage-error", 2),
        (["--format", "json", "validate", str(SAMPLE)], "UsageError", "usage-error", 2),
        (["nonsense", "--format", "json"], "UsageError", "usage-error", 2),
        (["api", "GET", "--format", "json"], "UsageError", "usage-error", 2),
        (["upload", "encrypted.xlsx", "--format", "json"], "WorkbookRefused", "not-xlsx", 3),
        (["upload", "none.xlsx", "--format", "json"], "UsageError", "usage-error", 2),
        (["upload", "foreign.csv", "--format", "json"], "UsageError", "no-fitting-resource", 2),
        *(
            ([*command, "--format", "json"], "UsageError", "usage-error", 2)
            for command in (
                ["jobs", "20990101-1"],
                ["resume", "20990101-1"],
                ["retry", "20990101-1"],
                ["retry", "none.xlsx"],
                ["undo", "20990101-1"],
                ["resolve", "20990101-1", "--as", "applied", "--reason", "seen"],
                ["process", "none"],
                ["map", "none.xlsx"],
                ["template", "none"],
                ["api", "GET", "/none", "--data", "{"],
            )
        ),
        (["whoami", "--profile", "none", "--format", "json"], "ConfigError", "config-error", 2),
        (["export", "pedidos", "-o", "x", "--format", "json", "--from", "y"], None, None, 2),
        (["batch", "run", "none.yaml", "--format", "json"], None, None, 2),
        (["batch", "status", "none", "--format", "json"], None, None, 2),
    ],
)
def test_a_failure_is_one_json_document(
    tmp_path: Path,
    xlbridge: Xlbridge,
    arguments: list[str],
    kind: str | None,
    code: str | None,
    exit_code: int,
) -> None:
    (tmp_path / "encrypted.xlsx").write_bytes(b"no workbook")
    (tmp_path / "foreign.csv").write_text("x;y\n1;2\n", encoding="utf-8")
    done = xlbridge(*arguments)
    assert done.returncode == exit_code, done.stderr
    error = failure(done.stdout)
    assert error["type"] == (kind or error["type"])
    assert error["code"] == (code or error["code"])
    assert error["message"].split(":")[0] in done.stderr
    assert ("none.xlsx does not exist." in error["message"]) == ("none.xlsx" in arguments)


def test_a_failure_follows_no_result(tmp_path: Path, xlbridge: Xlbridge) -> None:
    done = xlbridge("validate", SAMPLE, "none.xlsx", "--format", "json")
    assert (done.returncode, len(json.loads(done.stdout)["files"])) == (2, 2)
    assert "none.xlsx" in done.stderr


def test_the_last_format_counts_and_nothing_after_the_options(xlbridge: Xlbridge) -> None:
    text = xlbridge("jobs", "none", "--format", "json", "--format", "text")
    assert (text.returncode, text.stdout) == (2, "")
    name = xlbridge("validate", "--", "--format", "json")
    assert (name.returncode, "version" in name.stdout) == (2, False)


def test_a_system_without_an_answer_is_a_failure_as_json(
    xlbridge: Xlbridge, empty_sandbox: RunningSandbox
) -> None:
    nowhere = credentials(empty_sandbox, XLBRIDGE_BASE_URL="http://127.0.0.1:9")
    done = xlbridge("whoami", "--format", "json", **nowhere)
    assert done.returncode == 4
    error = failure(done.stdout)
    assert (error["type"], error["code"]) == ("TransportError", "transport-error")


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize(
    "command", ["resources", "listings", "profiles", "whoami", "login", "doctor", "jobs"]
)
def test_a_result_in_a_file_is_the_one_that_would_be_printed(
    tmp_path: Path,
    xlbridge: Xlbridge,
    empty_sandbox: RunningSandbox,
    command: str,
    form: str,
) -> None:
    system = credentials(empty_sandbox)
    file = tmp_path / "result"
    written = xlbridge(command, "--format", form, "-o", file, **system)
    printed = xlbridge(command, "--format", form, **system)
    assert (written.returncode, written.stdout) == (printed.returncode, "")
    content = file.read_text(encoding="utf-8") if printed.stdout else ""
    if command == "login":
        content, printed.stdout = content[:60], printed.stdout[:60]
    # `doctor` measures the clocks anew in each run.
    measured = re.compile(r"\d+ s of difference")
    assert measured.sub("… s", content) == measured.sub("… s", printed.stdout)
    assert (f"Report in {file}" in written.stderr) == bool(printed.stdout)
    if os.name == "posix" and content:
        assert file.stat().st_mode & 0o777 == 0o600


def test_the_report_of_an_upload_never_replaces_a_workbook(
    tmp_path: Path, xlbridge: Xlbridge, empty_sandbox: RunningSandbox
) -> None:
    system = credentials(empty_sandbox)
    mine = Path(shutil.copy(SAMPLE, tmp_path / "mine.xlsx"))
    other = Path(shutil.copy(SAMPLE, tmp_path / "other.xlsx"))
    for taken in (mine, other):
        done = xlbridge("upload", mine, "--mode", "preview", "-o", taken, **system)
        assert (done.returncode, taken.name in done.stderr) == (2, True)
        assert taken.read_bytes() == SAMPLE.read_bytes()


def test_the_result_of_an_upload_is_printed_if_its_file_cannot_be_written(
    tmp_path: Path, xlbridge: Xlbridge, empty_sandbox: RunningSandbox
) -> None:
    system = credentials(empty_sandbox)
    preview = ["upload", SAMPLE, "--mode", "preview", "--format", "json", "-o"]
    done = xlbridge(*preview, tmp_path / "none" / "r.json", **system)
    assert (done.returncode, json.loads(done.stdout)["state"]) == (2, "previewed")
    assert "Cannot write" in done.stderr
    assert xlbridge(*preview, tmp_path / "r.json", **system).returncode == 0
    assert json.loads((tmp_path / "r.json").read_text("utf-8"))["state"] == "previewed"
