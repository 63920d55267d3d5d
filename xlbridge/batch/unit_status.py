"""Status of a workbook or an export of a batch, from the ledger and the upload journal."""

from dataclasses import dataclass
from enum import StrEnum

from xlbridge.batch.batch import Environments
from xlbridge.batch.ledger import CheckRecord, Ledger
from xlbridge.batch.plan import WorkbookFile, WorkbookStep
from xlbridge.i18n import Text
from xlbridge.upload import Job, Journal, State


class UnitStatus(StrEnum):
    """Where a unit of a batch stands.

    ``HELD`` is one that cannot be sent as it is, ``FAILED`` one that the system failed to answer
    for; ``INCOMPLETE`` is an export that may lack something, ``EDITED`` one that is not as it was
    written any more.
    """

    NEW = "new"
    CHANGED = "changed"
    INVALID = "invalid"
    REFUSED = "refused"
    HELD = "held"
    FAILED = "failed"
    UNDER_WAY = "under_way"
    PARTIAL = "partial"
    IN_DOUBT = "in_doubt"
    INCOMPLETE = "incomplete"
    EDITED = "edited"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class RowCounts:
    """What became of rows: ``read`` is always the sum of the others.

    Rows that are only judged, or wait to be sent, are ``unsent``.
    """

    read: int = 0
    accepted: int = 0
    unknown: int = 0
    unsent: int = 0

    @property
    def rejected(self) -> int:
        """How many were refused, and not accepted later."""
        return self.read - self.accepted - self.unknown - self.unsent

    def __add__(self, other: "RowCounts") -> "RowCounts":
        return RowCounts(
            self.read + other.read,
            self.accepted + other.accepted,
            self.unknown + other.unknown,
            self.unsent + other.unsent,
        )


@dataclass(frozen=True, slots=True)
class UnitOverview:
    """How one workbook or export stands; ``problem`` says what is wrong, where something is.

    ``jobs`` are all of its jobs, the first one first. ``check`` is what judging came to.
    """

    name: str
    standing: UnitStatus
    rows: RowCounts = RowCounts()
    jobs: tuple[Job, ...] = ()
    check: CheckRecord | None = None
    problem: Text | None = None
    sha256: str = ""


def workbook_overview(
    ledger: Ledger, sites: Environments, batch: str, step: WorkbookStep, workbook: WorkbookFile
) -> UnitOverview:
    """Return how a workbook stands."""
    check = ledger.check_of(batch, step.name, workbook.name)
    fresh = check if check is not None and check.sha256 == workbook.sha256 else None
    sent = None
    if step.sending is not None:
        sent = ledger.last_sent(batch, step.name, workbook.name, sites.name(step.profile))
    if sent is None:
        return _unsent_overview(step, workbook, check, fresh)
    journal = sites.desk(step.profile).journal
    job = journal.job(sent.job)
    if job.state is State.ABANDONED:
        return _unsent_overview(step, workbook, check, fresh)
    jobs = tuple(with_retries(journal, job))
    rows = row_counts(jobs)
    standing, problem = _sent_status(jobs, rows), None
    if not workbook.sha256:
        problem = None if standing is UnitStatus.DONE else _GONE
    elif standing is UnitStatus.DONE and sent.sha256 != workbook.sha256:
        standing, problem = UnitStatus.CHANGED, _CHANGED
    if fresh is not None and not fresh.ok and sent.sha256 != workbook.sha256:
        standing, problem = _failed_check_status(fresh), fresh.problem
    return UnitOverview(
        workbook.name, standing, rows, jobs, check, problem or _reason(jobs), workbook.sha256
    )


def with_retries(journal: Journal, job: Job) -> list[Job]:
    """Return a job with the jobs that sent its rejected rows again, and theirs."""
    found = [job]
    for retry in journal.retries_of(job.id):
        if retry.state is not State.ABANDONED:
            found += with_retries(journal, retry)
    return found


def row_counts(jobs: tuple[Job, ...]) -> RowCounts:
    """Return what became of the rows of the first job, by it and by those that sent them again."""
    if jobs[0].state.is_unsent:
        return RowCounts(len(jobs[0].what.rows), unsent=len(jobs[0].what.rows))
    verdicts = [job.verdict for job in jobs]
    return RowCounts(
        verdicts[0].read,
        sum(verdict.accepted for verdict in verdicts),
        sum(verdict.unknown for verdict in verdicts),
    )


_GONE = Text(
    pt="o arquivo não está mais lá, ou não pode ser lido; ponha-o de volta, ou corrija o das "
    "linhas rejeitadas.",
    en="the workbook is no longer there, or cannot be read; put it back, or mend the rejects "
    "workbook.",
)
_CHANGED = Text(
    pt="o arquivo mudou depois de enviado; o que mudou não foi enviado. Ponha linhas novas em "
    "outro arquivo, ou desfaça a mudança.",
    en="the workbook was changed after it was sent; what was changed was not sent. Put new rows "
    "into another workbook, or undo the change.",
)


def _unsent_overview(
    step: WorkbookStep, workbook: WorkbookFile, check: CheckRecord | None, fresh: CheckRecord | None
) -> UnitOverview:
    rows = RowCounts(fresh.rows, unsent=fresh.rows) if fresh else RowCounts()
    if fresh is None:
        standing = UnitStatus.NEW if check is None else UnitStatus.CHANGED
    elif not fresh.ok:
        standing = _failed_check_status(fresh)
    else:
        standing = UnitStatus.NEW if step.sending else UnitStatus.DONE
    problem = fresh.problem if fresh else None
    return UnitOverview(
        workbook.name, standing, rows, check=fresh, problem=problem, sha256=workbook.sha256
    )


def _failed_check_status(check: CheckRecord) -> UnitStatus:
    return UnitStatus.REFUSED if check.refused else UnitStatus.INVALID


def _sent_status(jobs: tuple[Job, ...], rows: RowCounts) -> UnitStatus:
    if any(not job.state.is_final for job in jobs):
        doubtful = any(job.state is State.IN_DOUBT for job in jobs)
        return UnitStatus.IN_DOUBT if doubtful else UnitStatus.UNDER_WAY
    if rows.unknown:
        return UnitStatus.IN_DOUBT
    return UnitStatus.DONE if rows.accepted == rows.read else UnitStatus.PARTIAL


def _reason(jobs: tuple[Job, ...]) -> Text | None:
    waiting = [job for job in jobs if job.state.is_unsent]
    return waiting[0].reason if waiting and waiting[0].last("reason") else None
