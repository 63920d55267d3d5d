"""The rejects workbook: only the refused rows, with the reason beside each, ready to be mended."""

from collections import defaultdict
from pathlib import Path

from xlbridge.resources.catalogue import Catalogue
from xlbridge.upload.journal.job import Job
from xlbridge.upload.journal.states import State
from xlbridge.upload.payload import payload_frame
from xlbridge.upload.verdict import WHOLE_REFUSED, Verdict
from xlbridge.workbook.writing.records import write_rejects


def write_rejects_workbook(
    job: Job, verdict: Verdict, catalogue: Catalogue, payloads: Path, target: Path
) -> None:
    """Write the refused rows of a job to ``target``, in the layout of the template.

    Where the whole sheet was refused, rows that were not complained about are in it too: they
    were not applied either. Raises ``UsageError`` when the file cannot be written.
    """
    reasons: dict[int | None, list[str]] = defaultdict(list)
    for refused in verdict.rejected_rows:
        column = f"{refused.column}: " if refused.column else ""
        reasons[refused.row].append(f"{column}{refused.message}")
    if job.state is State.REJECTED:
        rows = list(job.what.rows)
    else:
        rows = [row for row in job.what.rows if row in reasons]
    wanted = set(rows)
    resource = catalogue.named(job.what.resource)
    sent = payload_frame(payloads, job.what.payload, resource)
    positions = [place for place, row in enumerate(job.what.rows) if row in wanted]
    write_rejects(
        target,
        resource,
        sent.iloc[positions].reset_index(drop=True),
        rows,
        ["; ".join(reasons.get(row, [str(WHOLE_REFUSED)])) for row in rows],
    )
