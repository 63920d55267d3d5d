"""What a running sandbox tells of itself: the ready file."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from xlbridge.workbook.atomic import write_private


@dataclass(frozen=True, slots=True)
class RunningSandbox:
    """Where a sandbox listens, and who may log in."""

    base_url: str
    email: str
    password: str = field(repr=False)
    pid: int


def write_ready_file(path: Path, running: RunningSandbox) -> None:
    """Write the ready file, whole, for its owner only."""
    write_private(path, json.dumps(asdict(running)))


def read_ready_file(path: Path) -> RunningSandbox | None:
    """Read a ready file, None where there is no readable one."""
    try:
        return RunningSandbox(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
