"""What the rows of a job were sent as: by the job itself, and mended by those that retried it."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from xlbridge.upload.desk import Desk
from xlbridge.upload.journal.job import Job
from xlbridge.upload.payload import payload_frame, row_digests


def sent_digests(desk: Desk, job: Job) -> Mapping[int, frozenset[str]]:
    """Return, for each row number of a job's sheet, the digests of the values that it went with."""
    found: defaultdict[int, set[str]] = defaultdict(set)
    _add(desk, job, job.what.rows, found)
    return {row: frozenset(digests) for row, digests in found.items()}


def _add(desk: Desk, job: Job, rows: Sequence[int], found: defaultdict[int, set[str]]) -> None:
    """Add what a job sent; ``rows`` are the numbers that its rows have in the first job's sheet."""
    resource = desk.catalogue.named(job.what.resource)
    sent = payload_frame(desk.settings.payloads, job.what.payload, resource)
    for row, digest in zip(rows, row_digests(resource, sent), strict=True):
        found[row].add(digest)
    row_of = dict(zip(job.what.rows, rows, strict=True))
    for retry in desk.journal.retries_of(job.id):
        origins = retry.events[0].detail["origins"]
        _add(desk, retry, [row_of[origin] for origin in origins], found)
