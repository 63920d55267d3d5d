"""No command overwrites a user's file without being asked to."""

import json
import os
import shutil
from pathlib import Path

import pytest
from environment import ROOT, Xlbridge, credentials
from openpyxl import Workbook

from xlbridge.cli.main import main
from xlbridge.sandbox import RunningSandbox

SAMPLE = ROOT / "samples" / "cliente-com-erros.xlsx"


@pytest.mark.parametrize(
    "outputs",
    [
        ["-o", "mine.xlsx"],
        ["--annotate", "mine.xlsx"],
        ["--annotate", "folder/../mine.xlsx"],
        ["-o", "link.xlsx"],
        ["-o", "new.xlsx", "--annotate", "folder/../new.xlsx"],
    ],
)
def test_a_check_never_overwrites_its_inputs_or_outputs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, outputs: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    mine = Path(shutil.copy(SAMPLE, tmp_path / "mine.xlsx"))
    (tmp_path / "link.xlsx").hardlink_to(mine)
    assert main(["validate", "mine.xlsx", *outputs]) == 2
    assert mine.read_bytes() == SAMPLE.read_bytes()
    assert not (tmp_path / "new.xlsx").exists()


@pytest.mark.parametrize("option", ["-o", "--annotate", "--fix"])
def test_a_check_replaces_no_other_workbook(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    mine = Path(shutil.copy(SAMPLE, tmp_path / "mine.xlsx"))
    check = ["validate", str(SAMPLE), option, str(mine)]
    assert main(check) == 2
    assert "--force" in capsys.readouterr().err
    assert mine.read_bytes() == SAMPLE.read_bytes()
    assert main([*check, "--force"]) == 1
    assert mine.read_bytes() != SAMPLE.read_bytes()


@pytest.mark.skipif(os.name != "posix", reason="links need a right of their own elsewhere")
@pytest.mark.parametrize(
    "command",
    [
        "validate {sample} --force -o",
        "validate {sample} --force --annotate",
        "validate {sample} --force --fix",
        "template cliente --force -o",
        "resources new --from {sample} --force -o",
    ],
)
def test_force_follows_no_link(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    taken, link = tmp_path / "taken.xlsx", tmp_path / "link.xlsx"
    taken.write_bytes(b"the user's own")
    link.symlink_to(taken)
    words = [word.format(sample=SAMPLE) for word in command.split()]
    assert main([*words, str(link)]) == 2
    assert "it is a link" in capsys.readouterr().err
    assert (link.is_symlink(), taken.read_bytes()) == (True, b"the user's own")


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such permissions")
@pytest.mark.parametrize("option", ["-o", "--annotate", "--fix"])
def test_reports_and_copies_are_private_to_the_owner(tmp_path: Path, option: str) -> None:
    written = tmp_path / "written.xlsx"
    main(["validate", str(SAMPLE), option, str(written)])
    assert written.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such permissions")
def test_a_template_is_for_everybody(tmp_path: Path) -> None:
    blank = tmp_path / "cliente.xlsx"
    assert main(["template", "cliente", "-o", str(blank)]) == 0
    (tmp_path / "plain").touch()
    assert blank.stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_check_replaces_its_own_reports_and_marked_copies(tmp_path: Path) -> None:
    for option, name in (("--annotate", "marked.xlsx"), ("-o", "report.json")):
        check = ["validate", str(SAMPLE), option, str(tmp_path / name)]
        assert [main(check), main(check)] == [1, 1]


def test_an_export_replaces_only_exports(
    xlbridge: Xlbridge, empty_sandbox: RunningSandbox, tmp_path: Path
) -> None:
    output = tmp_path / "estoque.xlsx"
    book = Workbook()
    book["Sheet"]["A1"] = "mine"
    book.save(output)
    before = output.read_bytes()

    def export(*options: object) -> int:
        arguments = ["export", "estoque", "-o", output, *options]
        return int(xlbridge(*arguments, **credentials(empty_sandbox)).returncode)

    assert export("--manifest", output) == 2
    assert export() == 2
    assert output.read_bytes() == before
    assert export("--force") == 0
    assert output.read_bytes() != before
    assert export() == 0


@pytest.mark.parametrize(
    "command",
    [
        ["validate", str(SAMPLE), "--fix"],
        ["validate", str(SAMPLE), "--annotate"],
        ["upload", str(SAMPLE), "--annotate"],
        ["template", "cliente", "-o"],
    ],
)
@pytest.mark.parametrize("name", ["out.csv", "out.xlsm", "out"])
def test_a_workbook_is_only_written_with_its_own_extension(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: list[str], name: str
) -> None:
    assert main([*command, str(tmp_path / name)]) == 2
    assert f"{name}: the name must end in .xlsx" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_dash_is_stdout_for_texts_and_no_file_for_exports(
    tmp_path: Path, xlbridge: Xlbridge
) -> None:
    sheet = ROOT / "samples/cliente.xlsx"
    page = xlbridge("validate", sheet, "--format", "json", "-o", "-")
    assert json.loads(page.stdout)["ok"], page.stderr
    assert "columns:" in xlbridge("map", sheet, "-o", "-").stdout
    refused = xlbridge("export", "pedidos", "--format", "jsonl", "-o", "-")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "an export needs a file" in refused.stderr
    assert not (tmp_path / "-").exists()
