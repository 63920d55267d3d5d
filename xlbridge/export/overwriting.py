"""Which files an export may replace: what it wrote itself, and what nobody wrote yet."""

from pathlib import Path

from xlbridge.workbook.overwriting import EXPORTED, require_own, require_unedited

_WORKBOOK = "xlsx"


def require_replaceable(output: Path, form: str) -> None:
    """Raise ``UsageError`` when an export as a workbook would replace what no export wrote so.

    Of other formats nothing tells who wrote a file; those are replaced.
    """
    if form == _WORKBOOK:
        require_own(output, EXPORTED)
        require_unedited(output)
