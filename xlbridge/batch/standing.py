"""How things stand with a workbook or an export, as ledger and journal tell it."""

from dataclasses import dataclass
from enum import StrEnum

from xlbridge.batch.ledger import Check, Ledger
from xlbridge.batch.plan import WorkbookStep
from xlbridge.batch.sites import Sites
from xlbridge.batch.workbooks import Workbook
from xlbridge.i18n import Text
from xlbridge.upload.journal.job import Job
from xlbridge.upload.journal.journal import Journal
from xlbridge.upload.journal.states import UNSENT, State
from xlbridge.upload.report import verdict_of


class Standing(StrEnum):
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
class Rows:
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

    def __add__(self, other: "Rows") -> "Rows":
        return Rows(
            self.read + other.read,
            self.accepted + other.accepted,
            self.unknown + other.unknown,
            self.unsent + other.unsent,
        )


@dataclass(frozen=True, slots=True)
class UnitState:
    """How one workbook or export stands; ``problem`` says what is wrong, where something is.

    ``jobs`` are all of its jobs, the first one first. ``check`` is what judging came to.
    """

    name: str
    standing: Standing
    rows: Rows = Rows()
    jobs: tuple[Job, ...] = ()
    check: Check | None = None
    problem: Text | None = None
    sha256: str = ""


def state_of(
    ledger: Ledger, sites: Sites, batch: str, step: WorkbookStep, workbook: Workbook
) -> UnitState:
    """Return how a workbook stands."""
    check = ledger.check_of(batch, step.name, workbook.name)
    fresh = check if check is not None and check.sha256 == workbook.sha256 else None
    sent = None
    if step.sending is not None:
        sent = ledger.last_sent(batch, step.name, workbook.name, sites.name(step.profile))
    if sent is None:
        return _unsent(step, workbook, check, fresh)
    journal = sites.desk(step.profile).journal
    job = journal.job(sent.job)
    if job.state is State.ABANDONED:
        return _unsent(step, workbook, check, fresh)
    jobs = tuple(family(journal, job))
    rows = rows_of(jobs)
    standing, problem = _standing(jobs, rows), None
    if not workbook.sha256:
        problem = None if standing is Standing.DONE else _GONE
    elif standing is Standing.DONE and sent.sha256 != workbook.sha256:
        standing, problem = Standing.CHANGED, _CHANGED
    if fresh is not None and not fresh.ok and sent.sha256 != workbook.sha256:
        standing, problem = _judged_bad(fresh), fresh.problem
    return UnitState(
        workbook.name, standing, rows, jobs, check, problem or _reason(jobs), workbook.sha256
    )


def family(journal: Journal, job: Job) -> list[Job]:
    """Return a job with the jobs that sent its rejected rows again, and theirs."""
    found = [job]
    for retry in journal.retries_of(job.id):
        if retry.state is not State.ABANDONED:
            found += family(journal, retry)
    return found


def rows_of(jobs: tuple[Job, ...]) -> Rows:
    """Return what became of the rows of the first job, by it and by those that sent them again."""
    if jobs[0].state in UNSENT:
        return Rows(len(jobs[0].what.rows), unsent=len(jobs[0].what.rows))
    verdicts = [verdict_of(job) for job in jobs]
    return Rows(
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


def _unsent(
    step: WorkbookStep, workbook: Workbook, check: Check | None, fresh: Check | None
) -> UnitState:
    rows = Rows(fresh.rows, unsent=fresh.rows) if fresh else Rows()
    if fresh is None:
        standing = Standing.NEW if check is None else Standing.CHANGED
    elif not fresh.ok:
        standing = _judged_bad(fresh)
    else:
        standing = Standing.NEW if step.sending else Standing.DONE
    problem = fresh.problem if fresh else None
    return UnitState(
        workbook.name, standing, rows, check=fresh, problem=problem, sha256=workbook.sha256
    )


def _judged_bad(check: Check) -> Standing:
    return Standing.REFUSED if check.refused else Standing.INVALID


def _standing(jobs: tuple[Job, ...], rows: Rows) -> Standing:
    if any(not job.state.is_final for job in jobs):
        doubtful = any(job.state is State.IN_DOUBT for job in jobs)
        return Standing.IN_DOUBT if doubtful else Standing.UNDER_WAY
    if rows.unknown:
        return Standing.IN_DOUBT
    return Standing.DONE if rows.accepted == rows.read else Standing.PARTIAL


def _reason(jobs: tuple[Job, ...]) -> Text | None:
    waiting = [job for job in jobs if job.state in UNSENT]
    return waiting[0].reason if waiting and waiting[0].last("reason") else None
