"""The command line as a user runs it: in a process and an environment of its own."""

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
    """Keep temporary files in memory where it has room, unless ``TMPDIR`` names a folder.

    What tests kill are processes, which memory outlives as a disk does; but on a disk each commit
    of each journal and each sandbox waits.
    """
    if "TMPDIR" not in os.environ and _MEMORY.is_dir():
        found = os.statvfs(_MEMORY)
        if found.f_bavail * found.f_frsize > _ROOM and not found.f_flag & os.ST_NOEXEC:
            os.environ["TMPDIR"] = str(_MEMORY)
            tempfile.tempdir = None


def clean_environment(home: Path, **more: str) -> dict[str, str]:
    """The environment of a user who has configured nothing but a home of their own."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("XLBRIDGE_")}
    return kept | {"XLBRIDGE_HOME": str(home), "XLBRIDGE_LANG": "en", **more}


def unmeasured_environment() -> dict[str, str]:
    """The environment of programs that coverage would only slow down, or that cannot write it."""
    return without_coverage(os.environ)


def without_coverage(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment in which processes are not measured.

    A process that is interrupted within coverage's own locks would wait for them for good.
    """
    return {k: v for k, v in environment.items() if not k.startswith("COVERAGE_")}


def credentials(running: RunningSandbox, **more: str) -> dict[str, str]:
    """The environment that points the command line at a running sandbox."""
    return {
        "XLBRIDGE_BASE_URL": running.base_url,
        "XLBRIDGE_EMAIL": running.email,
        "XLBRIDGE_PASSWORD": running.password,
        "XLBRIDGE_PROFILE": "rehearsal",
        **more,
    }
