"""Processing steps of a batch: records that a step has sent, or that a sheet names, are taken to
their next state once they are there."""

from collections.abc import Iterator

from xlbridge.batch.batch import Batch, RowCounts, UnitOverview, UnitStatus
from xlbridge.batch.ledger import JobRecord
from xlbridge.batch.plan import ProcessStep, WorkbookStep
from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.upload import (
    Job,
    RecordNumbers,
    UploadOptions,
    Uploads,
    create_processing,
    find_kind,
    given_numbers,
    numbers_in_sheet,
    process_counts,
    processed_records,
    row_statuses,
    with_retries,
)


def processing_overview(batch: Batch, step: ProcessStep) -> UnitOverview:
    """Return the status of a processing."""
    unit = step.source
    job = _last_job(batch, step)
    if job is None:
        return UnitOverview(unit, UnitStatus.NEW)
    journal = batch.environments.context(step.profile).journal
    counts = process_counts(processed_records(journal, job))
    unknown = counts["unknown"] if job.state.is_final else 0
    waiting = counts["unknown"] - unknown
    rows = RowCounts(
        counts["read"], counts["processed"], counts["already"], 0, unknown, unsent=waiting
    )
    if not job.state.is_final:
        doubtful = job.state.value == "in_doubt"
        status = UnitStatus.IN_DOUBT if doubtful else UnitStatus.UNDER_WAY
    elif unknown:
        status = UnitStatus.IN_DOUBT
    else:
        status = UnitStatus.DONE if rows.settled else UnitStatus.PARTIAL
    return UnitOverview(unit, status, rows, (job,))


def run_processing(batch: Batch, step: ProcessStep, options: UploadOptions) -> None:
    """Process the records of a step: go on with the job that was begun, else plan a new one.

    ``options.consent`` is asked before anything is sent, with the records by count and what is
    final. Raises ``UsageError`` where a number is none, and what ``Uploads.run`` raises.
    """
    environments = batch.environments
    context, client = environments.context(step.profile), environments.client(step.profile)
    job = _last_job(batch, step)
    if job is None or job.state.is_final:
        kind = find_kind(step.listing)
        job = create_processing(context, client, kind, _numbers(batch, step), options)
        profile = environments.name(step.profile)
        batch.ledger.sent(batch.id, step.name, step.source, profile, JobRecord("", job.id))
    Uploads(context, client).run(job, options)


def _last_job(batch: Batch, step: ProcessStep) -> Job | None:
    profile = batch.environments.name(step.profile)
    sent = batch.ledger.last_sent(batch.id, step.name, step.source, profile)
    if sent is None:
        return None
    return batch.environments.context(step.profile).journal.job(sent.job)


def _numbers(batch: Batch, step: ProcessStep) -> RecordNumbers:
    if step.file is not None:
        limits = batch.environments.context(step.profile).settings.limits
        path = batch.plan.file(step.file)
        return numbers_in_sheet(path, find_kind(step.listing), limits)
    codes = list(_codes_of_step(batch, step))
    if not all(code.isdecimal() for code in codes) or not codes:
        raise UsageError(_NO_NUMBERS.format(step=step.records_of))
    return given_numbers([int(code) for code in codes])


def _codes_of_step(batch: Batch, step: ProcessStep) -> Iterator[str]:
    """Yield the codes of the records that the workbooks of a step have written or found."""
    uploads = (one for one in batch.plan.steps if isinstance(one, WorkbookStep))
    sending = next(one for one in uploads if one.name == step.records_of)
    context = batch.environments.context(sending.profile)
    profile = batch.environments.name(sending.profile)
    for file in batch.ledger.files_sent(batch.id, sending.name, profile):
        sent = batch.ledger.last_sent(batch.id, sending.name, file, profile)
        if sent is None:
            continue
        for job, _ in with_retries(context.journal, context.journal.job(sent.job)):
            yield from (one.code for one in row_statuses(context, job).values() if one.code)


_NO_NUMBERS = Text(
    pt="O passo {step} não tem números de registros no sistema para processar.",
    en="The step {step} has no numbers of records in the system to process.",
)
