"""Writing the evidence that an upload leaves behind."""

from collections.abc import Callable
from pathlib import Path

from xlbridge.errors import UsageError
from xlbridge.resources.catalogue import Catalogue
from xlbridge.settings import Settings
from xlbridge.upload.doubt_page import doubt_page
from xlbridge.upload.evidence import REJECTS, lacks_page, lacks_rejects
from xlbridge.upload.journal.job import Job
from xlbridge.upload.journal.journal import Journal
from xlbridge.upload.payload import payload_frame
from xlbridge.upload.reading import rows_of
from xlbridge.upload.rejects import write_rejects_workbook
from xlbridge.upload.report import verdict_of
from xlbridge.workbook.atomic import replacing


def with_evidence(settings: Settings, catalogue: Catalogue, journal: Journal, job: Job) -> Job:
    """Write the evidence that a job should have and has not, and return the job as it is then.

    Where rows were refused that is their workbook; where a person must decide, a page to decide
    from. Both go beside the analyst's file, or into the home folder where that is not possible.
    """
    for part in journal.parts_of(job):
        with_evidence(settings, catalogue, journal, part)
    if lacks_page(job):
        resource = catalogue.named(job.what.resource)
        rows = rows_of(payload_frame(settings.payloads, job.what.payload, resource))
        page = doubt_page(job, rows, journal.readings(job.id))
        written = _place(settings, job, "em-duvida", ".html", lambda path: _write(path, page))
        job = journal.record(job, job.state, evidence_file=str(written))
    if lacks_rejects(job):

        def write(path: Path) -> None:
            write_rejects_workbook(job, verdict_of(job), catalogue, settings.payloads, path)

        written = _place(settings, job, REJECTS, ".xlsx", write)
        job = journal.record(job, job.state, rejects_file=str(written))
    return job


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
