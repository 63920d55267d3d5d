"""A page of ``xlbridge ui`` that answers."""

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit


@dataclass(frozen=True)
class RunningPage:
    """A page that answers: its launch link, its address, its process and its home."""

    link: str
    pid: int
    home: Path
    ready_file: Path

    @property
    def address(self) -> str:
        parts = urlsplit(self.link)
        return f"{parts.scheme}://{parts.netloc}"
