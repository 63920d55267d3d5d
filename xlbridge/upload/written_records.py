"""Comparison of the records that a job has written with what it sent, field by field.

A real system may ignore a field, cut it or spell its name otherwise, and still report success. See
the upload protocol, Fields sent and not taken.
"""

from collections.abc import Collection, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from xlbridge.errors import ApiError
from xlbridge.upload.job import Job
from xlbridge.upload.lookup.bulk_lookup import read_snapshot
from xlbridge.upload.lookup.row_table import TypedRows, values_of
from xlbridge.upload.lookup.snapshot import FoundRecord, RowSnapshot, Snapshot
from xlbridge.upload.lookup.snapshot_journal import Moment
from xlbridge.upload.results.verdict import LostField, RowOutcome

if TYPE_CHECKING:
    from xlbridge.upload.run_context import RunContext

_EXAMPLES = 3
"""Rows read back for each column: a field that is ignored or misspelt is lost in every row."""


def check_written_records(context: "RunContext", job: Job) -> Job:
    """Read the records back that a job has written, and record the fields that were not taken.

    All records are read if an undo can remove them, and stored for it: the system may have filled
    fields that the sheet left empty. Else a few rows are, so that each filled column is read three
    times. If the system does not answer, nothing is recorded: the upload itself has ended.
    """
    resource = context.resource(job)
    is_checked = context.options.look_up and bool(job.verdict.accepted) and not job.deletes
    if resource.read_back is None or not is_checked:
        return job
    rows, journal = context.rows(job), context.journal
    creates = not job.spec.mode.is_by_record or journal.changes.creates(job.id)
    removable = resource.change is not None and resource.change.delete_name is not None
    is_stored = creates and removable
    outcomes = enumerate(journal.changes.outcomes(job.id))
    accepted = {at for at, outcome in outcomes if outcome is RowOutcome.ACCEPTED}
    positions = range(len(rows)) if is_stored else _sample(rows, job.spec.columns, accepted)
    before = journal.snapshots.newest(job.id, Moment.BEFORE) or (None,) * len(rows)

    def shows_all(found: Snapshot) -> bool:
        """Return whether no record of a written row is as before sending."""
        return not any(
            at in accepted and now is not None and was is not None and was.contents == now.contents
            for at, now in zip(positions, found, strict=True)
            for was in (before[at],)
        )

    sample = [rows[at] for at in positions]
    try:
        written = context.patience.read_until(
            lambda: read_snapshot(context.client, resource, sample), shows_all
        )
    except ApiError:
        return job
    if is_stored:
        journal.snapshots.store(job.id, Moment.WRITTEN, written)
    codes = journal.assigned_codes(job)
    lost: dict[tuple[str, bool], LostField] = {}
    for at, now in zip(positions, written, strict=True):
        if now is None or at not in accepted:
            continue
        row = job.spec.rows[at]
        record = _record_of_row(now, before[at], codes.get(row))
        for column, (sent, stored) in ({} if record is None else record.differing).items():
            if isinstance(sent, str) and (stored is None or isinstance(stored, str)):
                field = lost.setdefault(
                    (column, stored is None), LostField(column, sent, stored, [])
                )
                field.rows.append(row)
    if not lost:
        return job
    return journal.record(job, job.state, lost_fields=[field.to_json() for field in lost.values()])


def _sample(rows: TypedRows, columns: Collection[str], accepted: Collection[int]) -> list[int]:
    """Return the positions of the first accepted rows that fill each column."""
    sample: set[int] = set()
    for column in columns:
        values = enumerate(values_of(rows, column))
        filled = (at for at, value in values if value is not None and at in accepted)
        sample.update(islice(filled, _EXAMPLES))
    return sorted(sample)


def _record_of_row(
    now: RowSnapshot, before: RowSnapshot | None, code: str | None
) -> FoundRecord | None:
    """Return the record that a row has written, None if several may be."""
    candidates: Sequence[FoundRecord] = now.found
    if code:
        candidates = [record for record in now.found if record.code == code]
    elif before is not None:
        candidates = now.new_since(before) or now.found
    equal = [record for record in candidates if record.same]
    found = equal[:1] or candidates
    return found[0] if len(found) == 1 else None
