"""Workbooks saved by a real LibreOffice."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

_MAX_FILES = 100  # LibreOffice silently skips files beyond some 250 in one call


def save_with_libreoffice(
    files: Sequence[Path], folder: Path, extension: str = "xlsx"
) -> list[Path]:
    """Convert workbooks with LibreOffice, under the same names in ``folder``.

    Skips the test without LibreOffice.
    """
    require_libreoffice()
    folder.mkdir(parents=True, exist_ok=True)
    profile = f"-env:UserInstallation={(folder / 'profile').as_uri()}"
    command = ["soffice", profile, "--headless", "--convert-to", extension, "--outdir", folder]
    for first in range(0, len(files), _MAX_FILES):
        batch = files[first : first + _MAX_FILES]
        subprocess.run([*command, *batch], check=True, capture_output=True)
    return [folder / f"{file.stem}.{extension}" for file in files]


def require_libreoffice() -> None:
    """Skip the test without LibreOffice; with ``CI=true`` fail it."""
    if shutil.which("soffice") is None:
        if os.environ.get("CI") == "true":
            pytest.fail("no LibreOffice on the path")
        pytest.skip("needs LibreOffice")
