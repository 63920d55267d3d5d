"""An open batch: plan, ledger and environments, and the status of its units: workbooks, exports and
processings."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from itertools import takewhile
from pathlib import Path
from typing import Self

from xlbridge import titles
from xlbridge.batch.ledger import (
    BatchError,
    CheckRecord,
    ExportRecord,
    JobRecord,
    Ledger,
    StepKey,
)
from xlbridge.batch.plan_steps import (
    AnyStep,
    BatchPlan,
    CompareStep,
    ExportStep,
    WorkbookFile,
    WorkbookStep,
    files_of,
)
from xlbridge.client import Client
from xlbridge.connection import connect, read_branch_names
from xlbridge.i18n import Text, count_text
from xlbridge.profiles import Profile, choose_profile, read_profile_file, settings_for
from xlbridge.settings import Settings
from xlbridge.upload import Job, State, UploadContext, open_context
from xlbridge.upload.requests import RowOutcome
from xlbridge.upload.results import RowChange, RowLedger


class UnitStatus(StrEnum):
    """Status of a unit of a batch, the least severe first.

    ``HELD``: cannot be sent as it is. ``FAILED``: the system did not answer. ``INCOMPLETE``: an
    export that may lack records. ``EDITED``: an export whose file was changed afterwards.
    """

    DONE = "done"
    NEW = "new"
    CHANGED = "changed"
    UNDER_WAY = "under_way"
    INCOMPLETE = "incomplete"
    EDITED = "edited"
    PARTIAL = "partial"
    INVALID = "invalid"
    HELD = "held"
    REFUSED = "refused"
    FAILED = "failed"
    IN_DOUBT = "in_doubt"

    @property
    def text(self) -> Text:
        """The status in words for a person."""
        return _STATUS_TEXTS[self]


_STATUS_TEXTS: Mapping[UnitStatus, Text] = {
    UnitStatus.NEW: Text(pt="a fazer", en="to do"),
    UnitStatus.CHANGED: Text(pt="alterado desde a última vez", en="changed since last time"),
    UnitStatus.INVALID: Text(pt="com erros", en="has errors"),
    UnitStatus.REFUSED: Text(pt="recusado", en="refused"),
    UnitStatus.HELD: Text(pt="não enviado", en="not sent"),
    UnitStatus.FAILED: Text(pt="falhou", en="failed"),
    UnitStatus.UNDER_WAY: Text(pt="em andamento", en="under way"),
    UnitStatus.PARTIAL: Text(pt="em parte", en="in part"),
    UnitStatus.IN_DOUBT: titles.IN_DOUBT,
    UnitStatus.INCOMPLETE: Text(pt="incompleto", en="incomplete"),
    UnitStatus.EDITED: Text(pt="editado", en="edited"),
    UnitStatus.DONE: Text(pt="concluído", en="done"),
}


@dataclass(frozen=True, slots=True)
class RowCounts:
    """Row counts: read, and by outcome; rows that are not records are not counted.

    ``unchanged`` rows were in the system already. ``held`` rows wait for a person's decision.
    ``rejected`` rows were sent and not written; of these ``not_written`` have no error of their
    own. ``undone`` rows were accepted, and reversed since; ``unsent`` rows are only validated, or
    wait to be sent.
    """

    read: int = 0
    accepted: int = 0
    unchanged: int = 0
    held: int = 0
    rejected: int = 0
    not_written: int = 0
    undone: int = 0
    unsent: int = 0
    unknown: int = 0

    @property
    def settled(self) -> bool:
        """True if every row is in the system."""
        return self.accepted + self.unchanged == self.read

    @classmethod
    def of(cls, rows: Iterable[RowChange], **others: int) -> Self:
        """Return the counts of rows as they are now, and ``others`` that the rows do not show."""
        counts = Counter(row.outcome.value for row in rows if row.is_record)
        read = counts.total()
        counts["rejected"] += counts["not_written"]
        named = {field.name: counts[field.name] for field in fields(cls)}
        return cls(**named | {"read": read} | others)

    @property
    def by_outcome(self) -> dict[str, int]:
        """Counts by outcome; their sum is ``read``."""
        return {name: getattr(self, name) for name in _COUNT_TEXTS}

    def to_json(self) -> dict[str, int]:
        """Return the counts as JSON."""
        return {"read": self.read, **self.by_outcome}

    def texts(
        self, *, with_zeros: bool = False, show: Callable[[int], Text] = count_text
    ) -> list[Text]:
        """Return the counts in words; that of undone rows only if there are any."""
        return [
            _COUNT_TEXTS[name].format(n=count, shown=show(count))
            for name, count in self.by_outcome.items()
            if count or (with_zeros and name != "undone")
        ]

    def __add__(self, other: Self) -> Self:
        names = (field.name for field in fields(self))
        return type(self)(**{name: getattr(self, name) + getattr(other, name) for name in names})


_COUNT_TEXTS: Mapping[str, Text] = {
    "accepted": Text(pt="{shown} {n:aceita|aceitas}", en="{shown} {n:accepted|accepted}"),
    "unchanged": Text(pt="{shown} sem alteração", en="{shown} unchanged"),
    "held": Text(pt="{shown} aguardando você", en="{shown} waiting for you"),
    "rejected": Text(pt="{shown} {n:rejeitada|rejeitadas}", en="{shown} {n:rejected|rejected}"),
    "unknown": Text(pt="{shown} em dúvida", en="{shown} in doubt"),
    "unsent": Text(pt="{shown} {n:não enviada|não enviadas}", en="{shown} {n:not sent|not sent}"),
    "undone": Text(pt="{shown} {n:desfeita|desfeitas}", en="{shown} {n:undone|undone}"),
}


@dataclass(frozen=True, slots=True)
class UnitOverview:
    """Status of one workbook or export; ``problem`` is what is wrong, if anything is.

    ``jobs`` are all its jobs, oldest first. ``actions`` counts the planned actions of its rows,
    None if they were not planned; ``held`` are the reasons why rows will be held. ``refused`` are
    its rejected and held rows by the workbook in which they can be corrected.
    """

    name: str
    status: UnitStatus
    rows: RowCounts = RowCounts()
    jobs: tuple[Job, ...] = ()
    check: CheckRecord | None = None
    problem: Text | None = None
    sha256: str = ""
    actions: Mapping[str, int] | None = None
    held: tuple[Text | str, ...] = ()
    refused: Mapping[str, RowCounts] = field(default_factory=dict)

    @property
    def needs_person(self) -> bool:
        """True if a person has to correct something first."""
        changed_since_sent = self.status is UnitStatus.CHANGED and bool(self.jobs)
        return changed_since_sent or self.status in _FOR_A_PERSON

    @property
    def cannot_be_sent(self) -> bool:
        """True if nothing was sent and nothing can be."""
        return not self.jobs and self.status in _CANNOT_BE_SENT


_CANNOT_BE_SENT = frozenset({UnitStatus.INVALID, UnitStatus.REFUSED, UnitStatus.HELD})
_FOR_A_PERSON = _CANNOT_BE_SENT | {UnitStatus.PARTIAL, UnitStatus.EDITED}


def failed_check_status(check: CheckRecord) -> UnitStatus:
    """Return the status of a workbook whose checks failed."""
    return UnitStatus.REFUSED if check.refused else UnitStatus.INVALID


def sent_status(jobs: tuple[Job, ...], rows: RowCounts) -> UnitStatus:
    """Return the status of a sent unit from its jobs and the outcomes of its rows."""
    if any(not job.state.is_final for job in jobs):
        doubtful = any(job.state is State.IN_DOUBT for job in jobs)
        return UnitStatus.IN_DOUBT if doubtful else UnitStatus.UNDER_WAY
    if rows.unknown:
        return UnitStatus.IN_DOUBT
    return UnitStatus.DONE if rows.settled else UnitStatus.PARTIAL


@dataclass(slots=True)
class Environments:
    """The environments of a batch, opened on first use; profile None is the command's own."""

    settings: Settings
    stack: ExitStack
    announce: Callable[[Text], None]
    _contexts: dict[str | None, UploadContext] = field(default_factory=dict)
    _clients: dict[str | None, Client] = field(default_factory=dict)
    _profiles: dict[str | None, Profile] = field(default_factory=dict)
    _branch_names: dict[str | None, Mapping[str, str]] = field(default_factory=dict)

    def profile(self, name: str | None) -> Profile:
        """Return an environment's profile."""
        # Each status of a workbook asks for it.
        if name not in self._profiles:
            self._profiles[name] = choose_profile(self._settings(name))
        return self._profiles[name]

    def name(self, profile: str | None) -> str:
        """Return the environment's name in the journal."""
        return self.profile(profile).name

    def context(self, profile: str | None) -> UploadContext:
        """Return the environment's journal and catalogue, without a request to the system."""
        if profile not in self._contexts:
            settings = self._settings(profile)
            settings = settings_for(settings, self.profile(profile))
            self._contexts[profile] = self.stack.enter_context(open_context(settings))
        return self._contexts[profile]

    def client(self, profile: str | None) -> Client:
        """Return a client. Raises ``ConfigError`` if there are no credentials."""
        if profile not in self._clients:
            connection = connect(self._settings(profile), self.announce)
            self._clients[profile] = self.stack.enter_context(connection)
        return self._clients[profile]

    def branch_names(self, profile: str | None) -> Mapping[str, str]:
        """Return the names of the environment's branches by their codes, read once."""
        if profile not in self._branch_names:
            settings, client = self._settings(profile), self._clients.get(profile)
            self._branch_names[profile] = read_branch_names(settings, self.announce, client)
        return self._branch_names[profile]

    def _settings(self, profile: str | None) -> Settings:
        if profile is None:
            return self.settings
        if not read_profile_file(self.settings).profiles:
            # In a rehearsal all profile names mean the sandbox at the one configured address.
            return replace(self.settings, profile=profile)
        return self.settings.with_profile(profile)


@dataclass(frozen=True, slots=True)
class Batch:
    """A plan with its ledger and environments.

    ``custom_schemas`` is the folder of own resources that the plan was read with, if any.
    """

    plan: BatchPlan
    ledger: Ledger
    environments: Environments
    custom_schemas: Path | None = None

    @property
    def id(self) -> str:
        """The batch's name."""
        return self.plan.batch

    def key(self, step: AnyStep) -> StepKey:
        """Return the key of a step in the ledger."""
        return StepKey(self.id, step.name, self.environments.name(step.profile))

    def last_job(self, step: AnyStep, file: str) -> JobRecord | None:
        """Return the last job of a workbook of a step, None if it was never sent."""
        return self.ledger.last_job(self.key(step), file)

    def batch_errors(self, book: WorkbookFile) -> Sequence[BatchError]:
        """Return the errors that the last check found beyond those of the workbook alone."""
        check = self.ledger.last(self.key(book.step), book.name, CheckRecord)
        is_current = check is not None and check.sha256 == book.sha256
        return check.batch_errors if check is not None and is_current else ()

    def workbook(self, step: WorkbookStep, unit: UnitOverview) -> WorkbookFile:
        """Return the workbook of a unit of a step."""
        return WorkbookFile(step, self.plan.folder / unit.name, unit.name, unit.sha256)

    def last_export(self, step: ExportStep | CompareStep) -> ExportRecord | None:
        """Return the last finished export or comparison of a step, None if there is none."""
        return self.ledger.last(self.key(step), step.output, ExportRecord)

    def files_of_earlier_steps(self, step: WorkbookStep) -> Mapping[Path, str]:
        """Return the files that an earlier step sends in the same way, with that step's name."""
        name = self.environments.name
        return {
            path: earlier.name
            for earlier in takewhile(lambda other: other != step, self.plan.ordered)
            if isinstance(earlier, WorkbookStep)
            and earlier.sends_same_rows(step)
            and name(earlier.profile) == name(step.profile)
            for path in files_of(self.plan, earlier)
        }


def workbook_overview(batch: Batch, workbook: WorkbookFile) -> UnitOverview:
    """Return the status of a workbook."""
    step = workbook.step
    check = batch.ledger.last(batch.key(step), workbook.name, CheckRecord)
    fresh = check if check is not None and check.sha256 == workbook.sha256 else None
    sent = None if step.sending is None else batch.last_job(step, workbook.name)
    if sent is None:
        return _unsent_overview(workbook, check, fresh)
    journal = batch.environments.context(step.profile).journal
    job = journal.job(sent.job)
    if job.state is State.ABANDONED:
        return _unsent_overview(workbook, check, fresh)
    ledger = RowLedger.of(journal, job)
    jobs = tuple(one for one in ledger.attempts if one.state is not State.ABANDONED)
    rows = RowCounts.of(ledger.now.values())
    unsent = next((one for one in jobs if one.state.is_unsent), None)
    waiting = None if unsent is None else unsent.known_reason
    status, problem = sent_status(jobs, rows), None
    if not workbook.sha256:
        problem = None if status is UnitStatus.DONE else _GONE
    elif status is UnitStatus.DONE and sent.sha256 != workbook.sha256:
        status, problem = UnitStatus.CHANGED, _CHANGED
    if fresh is not None and not fresh.ok and sent.sha256 != workbook.sha256:
        status, problem = failed_check_status(fresh), fresh.problem
    by_id = {one.id: one for one in ledger.attempts}
    refused: dict[str, RowCounts] = {}
    for change in ledger.now.values():
        file = by_id[change.job.whole].notes.rejects_file if change.is_refused else None
        if file is not None:
            held = int(change.outcome is RowOutcome.HELD)
            refused[file] = refused.get(file, RowCounts()) + RowCounts(held=held, rejected=1 - held)
    return UnitOverview(
        workbook.name,
        status,
        rows,
        jobs,
        check,
        problem or waiting,
        workbook.sha256,
        refused=refused,
    )


_GONE = Text(
    pt="o arquivo não está mais lá, ou não pode ser lido; ponha-o de volta, ou corrija o das "
    "linhas rejeitadas.",
    en="the workbook is gone or cannot be read; put it back, or fix the rejects workbook.",
)
_CHANGED = Text(
    pt="o arquivo mudou depois de enviado; o que mudou não foi enviado. Ponha linhas novas em "
    "outro arquivo, ou desfaça a mudança. É de outro mês? Cada mês é um lote: ponha "
    "parameters: {{month: previous}} no plano (--month escolhe outro), ou mude o name.",
    en="the workbook was changed after it was sent; the changes were not sent. Put new rows "
    "into another workbook, or undo the change. Is it another month's? Each month is a batch: put "
    "parameters: {{month: previous}} into the plan (--month chooses another), or change its name.",
    page=Text(
        pt="o arquivo mudou depois de enviado; o que mudou não foi enviado. Ponha linhas novas em "
        "outro arquivo, ou desfaça a mudança. É de outro mês? Cada mês é um lote: em Lotes, "
        "comece o mês de novo e escolha o mês certo.",
        en="the workbook was changed after it was sent; the changes were not sent. Put new "
        "rows into another workbook, or undo the change. Is it another month's? Each month is "
        "a batch: under Batches, begin the month again and choose the right one.",
    ),
)


def _unsent_overview(
    workbook: WorkbookFile, check: CheckRecord | None, fresh: CheckRecord | None
) -> UnitOverview:
    rows = RowCounts(fresh.rows, unsent=fresh.rows) if fresh else RowCounts()
    if fresh is None:
        status = UnitStatus.NEW if check is None else UnitStatus.CHANGED
    elif not fresh.ok:
        status = failed_check_status(fresh)
    else:
        status = UnitStatus.NEW if workbook.step.sending else UnitStatus.DONE
    problem = fresh.problem if fresh else None
    return UnitOverview(
        workbook.name, status, rows, check=fresh, problem=problem, sha256=workbook.sha256
    )
