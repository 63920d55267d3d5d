"""The workbooks of a step: what its patterns match, each with the digest of its content."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from xlbridge.batch.plan import Plan, WorkbookStep
from xlbridge.upload.evidence import is_rejects_name
from xlbridge.workbook.overwriting import PROVEN

_LEFT_BY_OFFICE = ("~$", ".~lock.")
_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class Workbook:
    """A workbook of a step: the unit in which a batch is done.

    ``name`` is its path as the plan's folder sees it; ``sha256`` is of its bytes, empty where the
    file cannot be read.
    """

    path: Path
    name: str
    sha256: str


def workbooks_of(plan: Plan, step: WorkbookStep) -> list[Workbook]:
    """Return the workbooks of a step, pattern by pattern, each once, by their names.

    What Excel and LibreOffice leave beside an open file is none, nor is what batches write: what
    the plan exports, closing proofs, and rejects workbooks, whose rows belong to the workbook that
    they were made for.
    """
    written = {path for _, path in plan.written()}
    found: dict[Path, None] = {}
    for pattern in step.patterns:
        matched = sorted(_matches(plan.folder, pattern))
        found |= dict.fromkeys(
            path
            for path in matched
            if plan.file(str(path)) not in written and not PROVEN.is_on(path)
        )
    return [Workbook(path, name_in(plan.folder, path), digest_of(path)) for path in found]


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file's bytes in hexadecimal; empty where it cannot be read."""
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while piece := file.read(_PIECE):
                digest.update(piece)
    except OSError:
        # The reader says why when the file is judged.
        return ""
    return digest.hexdigest()


def name_in(folder: Path, path: Path) -> str:
    """Return a file's path as the plan's folder sees it, the same on every system."""
    return (path.relative_to(folder) if path.is_relative_to(folder) else path).as_posix()


def is_pattern(text: str) -> bool:
    """Whether a text can be a pattern of workbooks on every version of Python."""
    parts = Path(text).parts
    named = bool(parts) and parts[-1] not in {"..", Path(text).anchor}
    return named and "\0" not in text and all("**" not in part or part == "**" for part in parts)


def _matches(folder: Path, pattern: str) -> Iterator[Path]:
    start = folder
    parts = Path(pattern)
    if parts.is_absolute():
        start = Path(parts.anchor)
        parts = parts.relative_to(start)
    # A file may have brackets in its name: a path that is there is taken as it is written.
    literal = start / parts
    for path in [literal] if _is_file(literal) else _globbed(start, parts):
        left = path.name.startswith(_LEFT_BY_OFFICE) or is_rejects_name(path)
        if not left and _is_file(path):
            yield path


def _globbed(start: Path, parts: Path) -> Iterator[Path]:
    try:
        yield from start.glob(str(parts))
    except OSError:
        # No file can have such a name; the step says that nothing matches.
        return


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False
