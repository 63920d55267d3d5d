"""How a job is to be sent."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Sending:
    """How the user wants a job to be sent, and its report to look."""

    yes: bool
    confirm: str | None
    wait: bool
    preview: bool
    read_back: bool
    annotate: Path | None
    form: str
