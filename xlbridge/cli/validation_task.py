"""What ``xlbridge validate`` was asked to do."""

from dataclasses import dataclass
from pathlib import Path

from xlbridge.validation.reading import DateOrder, NumberStyle


@dataclass(frozen=True, slots=True)
class ValidationTask:
    """The options of the command, by the names that it gives them."""

    files: tuple[Path, ...]
    resource: str | None
    sheet: str | None
    all_sheets: bool
    form: str
    output: Path | None
    annotated: Path | None
    fixed: Path | None
    limit: int | None
    force: bool
    online: bool
    dates: DateOrder | None
    numbers: NumberStyle | None
    workers: int | None
    scheduler: str | None
