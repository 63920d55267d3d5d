"""A missing extra is named with the command that adds it to the running installation."""

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from environment import clean_environment

RUN = "import sys; sys.modules['uvicorn'] = None; from xlbridge.__main__ import main; main()"
FOLDER = {"url": "file:///srv/data%20team/xlbridge", "dir_info": {"editable": True}}
COPY = {"url": "file:///srv/xlbridge", "dir_info": {}}
WHEEL = {"url": "file:///srv/xlbridge-0.1.0-py3-none-any.whl", "archive_info": {}}
CLONE = {"url": "https://git.example/xlbridge", "vcs_info": {"vcs": "git", "commit_id": "4f2a"}}


@pytest.mark.parametrize(
    ("command", "extra"), [("sandbox",) * 2, ("ui",) * 2, ("doctor", "sandbox")]
)
@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        (FOLDER, "-e '/srv/data team/xlbridge[{}]'"),
        (COPY, "'/srv/xlbridge[{}]'"),
        (WHEEL, "'xlbridge[{}] @ file:///srv/xlbridge-0.1.0-py3-none-any.whl'"),
        (CLONE, "'xlbridge[{}] @ git+https://git.example/xlbridge@4f2a'"),
        (None, "'xlbridge[{}]==9.9'"),
    ],
    ids=["clone, editable", "clone", "wheel", "repository", "index"],
)
def test_the_hint_names_the_source_of_the_installation(
    command: str, extra: str, source: dict[str, Any] | None, wanted: str, tmp_path: Path
) -> None:
    described = tmp_path / "xlbridge-9.9.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: xlbridge\nVersion: 9.9\n")
    if source:
        (described / "direct_url.json").write_text(json.dumps(source))
    done = subprocess.run(
        [sys.executable, "-c", RUN, command],
        env=clean_environment(tmp_path / "home", PYTHONPATH=str(tmp_path)),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 2, done.stderr
    shown = done.stdout if command == "doctor" else done.stderr
    assert f"{shlex.quote(sys.executable)} -m pip install {wanted.format(extra)}" in shown
    assert ("--find-links" in shown) == (source is None)
