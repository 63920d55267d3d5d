"""Which files an export may replace: what it wrote itself, and what nobody wrote yet."""

from collections.abc import Sequence
from pathlib import Path

from xlbridge.export.listings import LISTINGS
from xlbridge.workbook.atomic import require_new
from xlbridge.workbook.overwriting import EXPORTED, require_own, require_unedited

_WORKBOOK = "xlsx"


def require_replaceable(paths: Sequence[Path], form: str) -> None:
    """Raise ``UsageError`` when an export would replace what no export wrote so.

    Of a workbook marks tell; of other formats nothing does, and no file that exists is replaced.
    """
    for path in paths:
        if form == _WORKBOOK:
            require_own(path, EXPORTED)
            require_unedited(path)
        else:
            require_new(path)


def left_beside(output: Path, written: Sequence[Path]) -> list[Path]:
    """Return the files beside an export that have the names of its further sheets, and are not."""
    sheets = {sheet.name for one in LISTINGS.values() for sheet in one.in_detail().sheets[1:]}
    named = {output.with_name(f"{output.stem}.{name}{output.suffix}") for name in sheets}
    return sorted(path for path in named.difference(written) if path.exists())
