"""A bare import is cheap; public names exist and are typed."""

import subprocess
import sys
from pathlib import Path

import pytest
from environment import clean_environment

import xlbridge as xb

pytestmark = pytest.mark.processes


def test_a_bare_import_imports_no_other_module_of_ours_and_nothing_heavy(tmp_path: Path) -> None:
    code = (
        "import sys; before = set(sys.modules); import xlbridge; xlbridge.__version__; "
        "print(*sorted({name.partition('.')[0] for name in set(sys.modules) - before"
        " if name.partition('.')[0] not in sys.stdlib_module_names}), "
        "*[name for name in sys.modules if name.startswith('xlbridge.')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=clean_environment(tmp_path),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["lazy_loader", "xlbridge"]


@pytest.mark.parametrize("name", [name for name in dir(xb) if name != "errors"])
def test_every_public_name_exists_with_a_docstring(name: str) -> None:
    assert getattr(xb, name).__doc__


def test_no_other_public_names_exist() -> None:
    assert dir(xb) == [
        "BatchResult",
        "Connection",
        "ExportedFrames",
        "MappingDraft",
        "Processing",
        "Report",
        "UploadOutcome",
        "UploadPlan",
        "available_listings",
        "available_resources",
        "connect",
        "errors",
        "fix",
        "map",
        "override_language",
        "schema",
        "set_language",
        "template",
        "validate",
    ]
