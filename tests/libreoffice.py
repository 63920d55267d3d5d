"""Workbooks saved anew by a real LibreOffice."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

_MOST_AT_ONCE = 100  # LibreOffice silently leaves out files beyond some 250 of one call


def save_with_libreoffice(
    files: Sequence[Path], folder: Path, extension: str = "xlsx"
) -> list[Path]:
    """Open workbooks in LibreOffice and save each as another kind under its name in ``folder``.

    Skips where there is no LibreOffice.
    """
    require_libreoffice()
    folder.mkdir(parents=True, exist_ok=True)
    profile = f"-env:UserInstallation={(folder / 'profile').as_uri()}"
    command = ["soffice", profile, "--headless", "--convert-to", extension, "--outdir", folder]
    for first in range(0, len(files), _MOST_AT_ONCE):
        some = files[first : first + _MOST_AT_ONCE]
        subprocess.run([*command, *some], check=True, capture_output=True)
    return [folder / f"{file.stem}.{extension}" for file in files]


def require_libreoffice() -> None:
    """Skip where there is no LibreOffice; with ``CI=true`` that is a failure."""
    if shutil.which("soffice") is None:
        if os.environ.get("CI") == "true":
            pytest.fail("no LibreOffice on the path")
        pytest.skip("needs LibreOffice")
