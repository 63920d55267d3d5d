"""Files that only their owner may read."""

from pathlib import Path

from xlbridge.workbook.atomic import replacing, reporting_failures

_OWNER_ONLY = 0o600


def write_private(path: Path, content: str) -> None:
    """Write a text file, whole, for its owner only.

    Raises ``UsageError`` when it cannot be written there.
    """
    with reporting_failures(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        temporary.chmod(_OWNER_ONLY)
        temporary.write_text(content, encoding="utf-8")
