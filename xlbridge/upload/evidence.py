"""The evidence that an upload leaves behind: the rejects workbook, and the page of a doubt."""

import re
from collections.abc import Callable
from pathlib import Path

from xlbridge.errors import UsageError
from xlbridge.resources.catalogue import Catalogue
from xlbridge.settings import Settings
from xlbridge.upload.doubt_page import doubt_page
from xlbridge.upload.job import Job
from xlbridge.upload.journal import Journal
from xlbridge.upload.payload import payload_frame
from xlbridge.upload.reading import rows_of
from xlbridge.upload.rejects import write_rejects_workbook
from xlbridge.upload.report import verdict_of
from xlbridge.upload.states import State
from xlbridge.workbook.atomic import replacing

_REJECTS = "rejeitadas"
_REJECTS_NAME = re.compile(rf".+-{_REJECTS}-\d{{8}}-\d{{6}}-[0-9a-f]{{4}}")


def is_rejects_name(path: Path) -> bool:
    """Whether a file is called as the rejects workbooks are that uploads leave behind."""
    return _REJECTS_NAME.fullmatch(path.stem) is not None


def with_evidence(settings: Settings, catalogue: Catalogue, journal: Journal, job: Job) -> Job:
    """Write the evidence that a job should have and has not, and return the job as it is then.

    Where rows were refused that is their workbook; where a person must decide, a page to decide
    from. Both go beside the analyst's file, or into the home folder where that is not possible.
    """
    for part in journal.parts_of(job):
        with_evidence(settings, catalogue, journal, part)
    if job.state is State.NEEDS_PERSON and not job.parts and not _is_there(job, "evidence_file"):
        resource = catalogue.named(job.what.resource)
        rows = rows_of(payload_frame(settings.payloads, job.what.payload, resource))
        page = doubt_page(job, rows, journal.readings(job.id))
        written = _place(settings, job, "em-duvida", ".html", lambda path: _write(path, page))
        job = journal.record(job, job.state, evidence_file=str(written))
    if _has_rejects(job) and not _is_there(job, "rejects_file"):

        def write(path: Path) -> None:
            write_rejects_workbook(job, verdict_of(job), catalogue, settings.payloads, path)

        written = _place(settings, job, _REJECTS, ".xlsx", write)
        job = journal.record(job, job.state, rejects_file=str(written))
    return job


def _has_rejects(job: Job) -> bool:
    if job.parent is not None:
        return False
    refused = job.state in {State.PARTIAL, State.REJECTED}
    return refused or (job.state is State.NEEDS_PERSON and bool(verdict_of(job).rejected_rows))


def _is_there(job: Job, key: str) -> bool:
    written = job.last(key)
    return written is not None and Path(written).exists()


def _place(
    settings: Settings, job: Job, what: str, suffix: str, write: Callable[[Path], None]
) -> Path:
    file = Path(job.what.file)
    target = file.with_name(f"{file.stem}-{what}-{job.id}{suffix}")
    try:
        write(target)
    except UsageError:
        target = settings.home / "evidence" / target.name
        target.parent.mkdir(parents=True, exist_ok=True)
        write(target)
    return target


def _write(path: Path, page: str) -> None:
    with replacing(path) as temporary:
        temporary.write_text(page, encoding="utf-8")
