"""Which evidence an upload should leave behind: the rejects workbook, and the page of a doubt."""

import re
from pathlib import Path

from xlbridge.upload.journal.job import Job
from xlbridge.upload.journal.journal import Journal
from xlbridge.upload.journal.states import State
from xlbridge.upload.report import verdict_of

REJECTS = "rejeitadas"
"""What rejects workbooks have in their names."""

_REJECTS_NAME = re.compile(rf".+-{REJECTS}-\d{{8}}-\d{{6}}-[0-9a-f]{{4}}")


def is_rejects_name(path: Path) -> bool:
    """Whether a file is called as the rejects workbooks are that uploads leave behind."""
    return _REJECTS_NAME.fullmatch(path.stem) is not None


def lacks_evidence(journal: Journal, job: Job) -> bool:
    """Whether a job or one of its parts should have evidence that is not there (any more)."""
    return any(lacks_page(one) or lacks_rejects(one) for one in (job, *journal.parts_of(job)))


def lacks_page(job: Job) -> bool:
    """Whether a person must decide and has no page to decide from."""
    doubtful = job.state is State.NEEDS_PERSON and not job.parts
    return doubtful and not _is_there(job, "evidence_file")


def lacks_rejects(job: Job) -> bool:
    """Whether rows were refused and are in no workbook to be mended."""
    return _has_rejects(job) and not _is_there(job, "rejects_file")


def _has_rejects(job: Job) -> bool:
    if job.parent is not None:
        return False
    refused = job.state in {State.PARTIAL, State.REJECTED}
    return refused or (job.state is State.NEEDS_PERSON and bool(verdict_of(job).rejected_rows))


def _is_there(job: Job, key: str) -> bool:
    written = job.last(key)
    return written is not None and Path(written).exists()
