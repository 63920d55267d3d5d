"""Paths as they are shown to a person."""

from pathlib import Path


def short_path(path: Path) -> Path:
    """Return a path as short as it can be typed from the current folder."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
