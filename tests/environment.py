"""Environments in which tests run the command line."""

import os
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from xlbridge.sandbox import RunningSandbox

Xlbridge = Callable[..., "subprocess.CompletedProcess[str]"]

ROOT = Path(__file__).parents[1]

_MEMORY = Path("/dev/shm")
_ROOM = 2 << 30


def work_in_memory() -> None:
    """Keep temporary files in memory if it has room, unless ``TMPDIR`` names a folder.

    Tests only kill processes, so files in memory survive as on a disk, without waiting for every
    commit of a journal or sandbox.
    """
    if "TMPDIR" not in os.environ and _MEMORY.is_dir():
        status = os.statvfs(_MEMORY)
        if status.f_bavail * status.f_frsize > _ROOM and not status.f_flag & os.ST_NOEXEC:
            os.environ["TMPDIR"] = str(_MEMORY)
            tempfile.tempdir = None


def clean_environment(home: Path, **more: str) -> dict[str, str]:
    """Return the environment of a user who has only configured a home."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("XLBRIDGE_")}
    return inherited | {"XLBRIDGE_HOME": str(home), "XLBRIDGE_LANG": "en", **more}


def unmeasured_environment() -> dict[str, str]:
    """Return the environment for programs that are not measured by coverage."""
    return without_coverage(os.environ)


def without_coverage(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without measurement by coverage.

    A process that is interrupted while it holds coverage's locks would wait for them forever.
    """
    return {k: v for k, v in environment.items() if not k.startswith("COVERAGE_")}


def credentials(running: RunningSandbox, **more: str) -> dict[str, str]:
    """Return the environment variables that select a running sandbox."""
    return {
        "XLBRIDGE_BASE_URL": running.base_url,
        "XLBRIDGE_EMAIL": running.email,
        "XLBRIDGE_PASSWORD": running.password,
        "XLBRIDGE_PROFILE": "rehearsal",
        **more,
    }
