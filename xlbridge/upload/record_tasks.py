"""Tasks of a job that changes records: what is expected of each, and what it is to become."""

from datetime import datetime
from typing import Any

from xlbridge.upload.context import UploadContext
from xlbridge.upload.job import Job
from xlbridge.upload.payload import sent_rows
from xlbridge.upload.record_writes import RecordTask
from xlbridge.upload.row_plan import PlannedRow


def tasks_of_plan(context: UploadContext, job: Job) -> list[RecordTask]:
    """Return the change of each row of a job that updates records, as it was planned."""
    planned = context.journal.plan_of(context.journal.job(job.parent or job.id))
    row_of = {row.row: row for row in planned}
    numbered = zip(job.what.rows, sent_rows(context, job), strict=True)
    return [_task(row_of[number], values) for number, values in numbered]


def _task(planned: PlannedRow, values: Any) -> RecordTask:
    """Return the change of a row's record; what an empty cell means counts as its value."""
    differences = planned.differences
    return RecordTask(
        planned.record or "",
        expected={name: one.theirs for name, one in differences.items()},
        wanted={name: one.yours for name, one in differences.items()},
        values={
            name: one.yours if values.get(name) is None else _json_value(values[name])
            for name, one in differences.items()
        },
    )


def _json_value(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value
