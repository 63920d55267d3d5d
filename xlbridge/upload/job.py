"""Job of an upload: its rows, requests and history."""

import hashlib
import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from typing import Any

from xlbridge.errors import UsageError
from xlbridge.files import as_arguments, short_path
from xlbridge.i18n import Text, active_language, untranslated
from xlbridge.processes import Instant
from xlbridge.resources import Mode
from xlbridge.titles import number_in_row, sheet_row
from xlbridge.upload.claims import ClaimScope
from xlbridge.upload.planning.planned_row import plan_token
from xlbridge.upload.requests import ItemAddresses, Request, State, merge_reasons
from xlbridge.workbook import WorkbookOrigin, cell_address


class Resolution(StrEnum):
    """Outcome of a doubtful job, as seen by a person in the system."""

    APPLIED = "applied"
    NOT_APPLIED = "not-applied"


MAX_PLAN_SECONDS = 60.0
"""Age of a plan after which keys are read again before anything is written."""

EVENTS_LOST = Text(
    pt="o diário de envios perdeu as suas últimas anotações (falta de energia, ou cópia feita com "
    "ele em uso), e este envio pode ter continuado",
    en="the journal of uploads has lost its last entries (a power failure, or a copy made while it "
    "was in use), and this upload may have gone on",
)

NO_POSITION = -1
"""Position of a column that comes from a mapping's constants or a child sheet, not from a cell."""


@dataclass(frozen=True, slots=True)
class JobSpec:
    """Description of a job before it exists.

    ``digest`` covers the values of all rows of the sheet, in any order; ``payload`` is the content
    hash of the stored workbook with the rows that are sent, empty for a job in parts. ``rows`` are
    the numbers of these in the analyst's sheet, Excel's row numbers unless a row has several
    records; ``columns`` maps each column to its zero-based position there, or to ``NO_POSITION``.
    ``system`` identifies the remote system; ``planned`` is the content hash of a workbook with all
    planned rows, empty for a part. ``retry_of`` is the job whose rows it sends again, ``undo_of``
    the one that it reverses.
    """

    profile: str
    resource: str
    mode: Mode
    file: str
    sheet: str
    digest: str
    payload: str
    rows: tuple[int, ...] = field(repr=False)
    columns: Mapping[str, int]
    system: str
    planned: str = ""
    retry_of: str | None = None
    undo_of: str | None = None

    @property
    def scope(self) -> ClaimScope:
        """Scope in which the job's rows are claimed."""
        return ClaimScope(self.system, self.resource)

    def cell(self, row: int, column: str) -> str | None:
        """Return the address of a column's cell in the analyst's sheet, None if it has none."""
        own = f"{number_in_row(row) + 1}.{column}"
        position = self.columns.get(own, self.columns.get(column, NO_POSITION))
        return None if position == NO_POSITION else cell_address(sheet_row(row), position)


def file_hash(path: Path) -> str:
    """Return the hash by which an analyst's file is recognised later."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


@dataclass(frozen=True, slots=True)
class Event:
    """Event in a job's history."""

    number: int
    instant: Instant
    state: State
    detail: Mapping[str, Any]

    @property
    def at(self) -> datetime:
        """Time of the event by the wall clock."""
        return self.instant.at


@dataclass(frozen=True, slots=True)
class JobNotes:
    """What the events of a job have noted, the newest of each kind.

    ``planned`` are the time and process of its plan, ``plan_digest``, ``writes`` and ``plan`` its
    digest and the numbers of rows that it writes and of rows by action; ``not_records`` of the held
    ones are no records, ``unread`` is why rows were not looked up, ``hidden`` the number of records
    in hidden rows. ``planning`` are the options of the plan, ``at_once`` is the number of
    concurrent writes, ``import_mode`` the mode of rows that create records.

    ``titles`` are what the sheet calls its columns, by their paths; ``named`` are the columns whose
    cells name records of registries, those of lists as ``list.column``, with true for those that
    accept codes, too; ``words`` are the words that stand for values, with these, by column;
    ``links`` are the links that were asked for, by column.
    ``file_hash`` is the hash of the analyst's file when it was planned.
    ``target`` is the environment as it was last used; the embedded sandbox changes its address.
    ``settle_seconds`` is how long a doubtful request may still arrive, ``replaced_by`` the job that
    was planned instead, ``resolved`` what a person has decided. ``rejects_file`` and
    ``evidence_file`` are the paths of what was written for people.
    """

    planned: Mapping[str, Any] | None = None
    plan_digest: str | None = None
    writes: int | None = None
    plan: Mapping[str, int] | None = None
    not_records: int = 0
    unread: Mapping[str, Any] | None = None
    hidden: int = 0
    planning: Mapping[str, Any] = field(default_factory=dict)
    at_once: int | None = None
    import_mode: str | None = None
    titles: Mapping[str, str] = field(default_factory=dict)
    named: Mapping[str, bool] = field(default_factory=dict)
    words: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    file_hash: str | None = None
    target: Mapping[str, Any] | None = None
    settle_seconds: float = 0
    replaced_by: str | None = None
    resolved: Mapping[str, str] | None = None
    rejects_file: str | None = None
    evidence_file: str | None = None


_NOTED = frozenset(note.name for note in fields(JobNotes))
_REPLACED = Text(pt="substituído pelo envio {job}", en="replaced by the upload {job}")


@dataclass(frozen=True)
class Job:
    """Job with its requests and its history, oldest event first; or one of several requests, as
    a part of its ``parent``.

    ``order`` is its place among the journal's jobs, as the clock may be set in between.
    ``first_job`` is the first one of the sheet, which retries and undos share. The history of a job
    with several requests has its plan and its consent; each request has its own.
    ``profile_arguments`` are the option by which a command chooses the job's profile, if the
    running one was given it.
    """

    id: str
    created_at: datetime
    order: int
    spec: JobSpec
    events: tuple[Event, ...]
    first_job: str
    requests: tuple[Request, ...]
    parent: str | None = None
    profile_arguments: Sequence[str] = field(default=(), compare=False)

    def arguments(self, *words: str | Path) -> str:
        """Return arguments for a command about the job, by default its id, with its profile."""
        return as_arguments(*(words or (self.id,)), *self.profile_arguments)

    @property
    def whole(self) -> str:
        """Id of the whole job."""
        return self.parent or self.id

    @property
    def parts(self) -> int:
        """Number of parts in which the job is sent, 0 if it is not split."""
        return len(self.requests) if len(self.requests) > 1 else 0

    @property
    def items(self) -> dict[str, ItemAddresses]:
        """Cells of the records' items, by the names of the lists."""
        stored = self.events[0].detail.get("items", {})
        return {name: ItemAddresses.of_json(addresses) for name, addresses in stored.items()}

    @cached_property
    def notes(self) -> JobNotes:
        """What its events have noted."""
        noted = {
            name: value
            for event in self.events
            for name, value in event.detail.items()
            if name in _NOTED and value is not None
        }
        return JobNotes(**noted)

    @property
    def state(self) -> State:
        """State of its only request; of several, the one that all of them amount to."""
        states = {request.state for request in self.requests}
        if self.parts and not all(state.is_final for state in states):
            confirmed = any(event.state is State.SENDING_PARTS for event in self.events)
            return State.SENDING_PARTS if confirmed else State.PREPARED
        if len(states) == 1:
            return states.pop()
        if State.NEEDS_PERSON in states:
            return State.NEEDS_PERSON
        if all(state.frees_rows for state in states):
            return State.REJECTED if State.REJECTED in states else State.ABANDONED
        return State.PARTIAL

    @property
    def public_state(self) -> str:
        """Name of the job's state in the contract of ``upload --format json``.

        A job that awaits consent counts as previewed, unless a request has failed since.
        """
        if self.state is State.PREPARED and "reason" not in self.events[-1].detail:
            return State.PREVIEWED.public
        if self.state is State.DONE and self.known.has_lost_fields:
            return State.PARTIAL.public
        return self.state.public

    @property
    def known_reason(self) -> Text | None:
        """Reason of the job's state, without its full stop, None if none was recorded."""
        if successor := self.notes.replaced_by:
            return _REPLACED.format(job=successor)
        state = self.state
        is_open = state is State.SENDING_PARTS
        return merge_reasons(
            (request.reason, request.number)
            for request in self.requests
            if not self.parts or request.state is state or (is_open and not request.state.is_final)
        )

    @property
    def reason(self) -> Text:
        """Reason of the job's state; a dash if none was recorded."""
        return self.known_reason or untranslated("–")

    @cached_property
    def known(self) -> Request:
        """What is known of its only request; of several, what is known of them together."""
        return self.requests[0] if len(self.requests) == 1 else Request.merge(self.requests)

    @property
    def was_started(self) -> bool:
        """True if the processing of a staged file was requested."""
        return any(event.state is State.STARTING for event in self.events)

    def settle_left(self, now: Instant, settle_seconds: float) -> timedelta | None:
        """Return the time in which a doubtful request may still arrive, None if none is in doubt.

        It is measured from the first event of the doubt; from a later one if that shows that more
        time has passed.
        """
        doubts: list[Event] = []
        for event in takewhile(lambda event: event.state is State.IN_DOUBT, self.events[::-1]):
            doubts.append(event)
            if "events_lost" in event.detail:
                # A request may have been sent long after the doubt before.
                break
        if not doubts:
            return None
        passed = max(now.since(event.instant) for event in doubts)
        return max(timedelta(), timedelta(seconds=settle_seconds) - passed)

    def origin_of_file(self, *, copy: bool = False) -> WorkbookOrigin:
        """Return what a workbook about the job's rows carries inside."""
        return WorkbookOrigin(
            resource=self.spec.resource,
            language=active_language(),
            system=self.spec.system,
            job=self.id,
            copy=copy,
        )

    def require_system(self, system: str, profile: str) -> None:
        """Raise ``UsageError`` if the job belongs to another system."""
        if self.spec.system != system:
            theirs, ours = self.spec.profile, profile
            if theirs == ours:  # The name has come to mean another address or company.
                theirs, ours = f"{theirs} ({self.spec.system})", f"{ours} ({system})"
            raise UsageError(
                Text(
                    pt="O envio {job} é do ambiente {theirs}; agora está configurado {ours}.",
                    en="The upload {job} belongs to {theirs}; now {ours} is configured.",
                ).format(job=self.id, theirs=theirs, ours=ours),
                Text(
                    pt="Escolha o ambiente do envio, por exemplo com --profile.",
                    en="Choose the environment of the upload, for example with --profile.",
                    page=Text(
                        pt="Escolha o ambiente do envio em Ambientes.",
                        en="Choose the environment of the upload under Environments.",
                    ),
                ),
            )

    def require_upload(self) -> None:
        """Raise ``UsageError`` if the job processes records instead of sending rows."""
        if self.spec.mode.channel.of_listing:
            raise UsageError(
                Text(
                    pt="{job} é um processamento, não um envio de linhas.",
                    en="{job} is a processing, not an upload of rows.",
                ).format(job=self.id),
                Text(
                    pt="Para processar o que falta: xlbridge process {listing}",
                    en="To process what is left: xlbridge process {listing}",
                    page=Text(
                        pt="Para processar o que falta, use Processar.",
                        en="To process what is left, use Process.",
                    ),
                ).format(listing=self.arguments(self.spec.resource)),
            )

    def require_planned_file(self) -> None:
        """Raise ``UsageError`` if the file was changed since its rows were planned."""
        file = Path(self.spec.file)
        planned = self.notes.file_hash
        if planned is None or not file.is_file() or file_hash(file) == planned:
            return
        command = (
            "xlbridge upload {file}"
            if self.spec.retry_of is None
            else "xlbridge retry {job} --file {file}"
        )
        raise UsageError(
            Text(
                pt="{file} mudou depois do plano do envio {job}; nada foi enviado.",
                en="{file} has changed since the upload {job} was planned; nothing was sent.",
            ).format(file=short_path(file), job=self.id),
            Text(
                pt="Para ver o plano do arquivo como está agora, e confirmar: {command}",
                en="To see the plan of the file as it is now, and confirm: {command}",
            ).format(
                command=command.format(
                    file=as_arguments(file), job=self.arguments(self.spec.retry_of or self.id)
                )
            ),
        )

    def require_unchanged(self) -> None:
        """Raise ``UsageError`` if the file is missing or was changed since it was sent."""
        source = Path(self.spec.file)
        if source.is_file() and file_hash(source) == self.notes.file_hash:
            return
        raise UsageError(
            Text(
                pt="{file} não é mais o arquivo que foi enviado; as linhas podem ser outras.",
                en="{file} is no longer the file that was sent; its rows may differ.",
            ).format(file=source),
            Text(
                pt="Para ver a situação de cada linha: xlbridge jobs {job}",
                en="To see the status of each row: xlbridge jobs {job}",
                page=Text(
                    pt="Para ver a situação de cada linha, abra {job} em Envios.",
                    en="To see the status of each row, open {job} under Uploads.",
                ),
            ).format(job=self.arguments()),
        )

    def require_rejected(self) -> None:
        """Raise ``UsageError`` unless the job is a whole upload with rejected or held rows."""
        self.require_upload()
        if self.parent is not None:
            raise UsageError(
                Text(
                    pt="O envio {job} é parte de {parent}; reenvie as linhas rejeitadas a partir "
                    "dele.",
                    en="The upload {job} is a part of {parent}; retry its rejected rows from "
                    "there.",
                ).format(job=self.id, parent=self.parent),
                Text(
                    pt="xlbridge retry {p}",
                    en="xlbridge retry {p}",
                    page=Text(
                        pt="Abra {p} em Envios.",
                        en="Open {p} under Uploads.",
                    ),
                ).format(p=self.arguments(self.parent)),
            )
        held = self.state is State.DONE and self.held
        if self.state not in {State.PARTIAL, State.REJECTED} and not held:
            raise UsageError(
                Text(
                    pt="O envio {job} não tem linhas rejeitadas nem aguardando você (situação: "
                    "{state}).",
                    en="The upload {job} has no rejected rows, and none that wait for you (state "
                    "{state}).",
                ).format(job=self.id, state=self.state.text),
                Text(
                    pt="Para enviar linhas novas ou alteradas: xlbridge upload {file}",
                    en="To send new or changed rows: xlbridge upload {file}",
                    page=Text(
                        pt="Para enviar linhas novas ou alteradas, abra a planilha em Abrir.",
                        en="To send new or changed rows, open the workbook under Open.",
                    ),
                ).format(file=self.arguments(Path(self.spec.file))),
            )

    def plan_is_old(self, now: Instant) -> bool:
        """Return whether the keys of the job's rows must be read again.

        A plan of another process counts as old, since anyone may have written after that ended.
        """
        planned = self.notes.planned
        if planned is None or planned["by"] != _process_id():
            return True
        return now.uptime - float(planned["uptime"]) > MAX_PLAN_SECONDS

    @property
    def token(self) -> str:
        """Token that confirms exactly the planned actions: ``ROWS:DIGEST8``."""
        digest = self.notes.plan_digest or self.spec.digest
        writes = self.notes.writes
        return plan_token(len(self.spec.rows) if writes is None else writes, digest)

    @property
    def held(self) -> int:
        """Number of held rows, excluding rows that are not records."""
        return (self.notes.plan or {}).get("held", 0) - self.notes.not_records

    @property
    def has_sent(self) -> bool:
        """True if anything of the job was sent, or a person has decided about it."""
        abandoned = self.state is State.ABANDONED and self.notes.resolved is None
        return not self.state.is_unsent and not abandoned

    @property
    def deletes(self) -> bool:
        """True for an upload that deletes the records of its rows."""
        return bool(self.notes.planning.get("delete"))

    @property
    def is_task(self) -> bool:
        """True for an undo or a processing, which changes records instead of sending rows."""
        return self.spec.mode.channel.is_task

    @property
    def import_mode(self) -> Mode:
        """Mode for rows that create records, even if the job has none."""
        return Mode(self.notes.import_mode or self.spec.mode)

    @property
    def settles_at(self) -> datetime | None:
        """Time, by the present clock, from which a doubt can be settled; None without a doubt."""
        now = Instant.now()
        left = self.settle_left(now, self.notes.settle_seconds)
        return None if left is None else now.at + left


_PROCESS_TOKEN = secrets.token_hex(8)


def _process_id() -> str:
    """Return an id that is unique to this process, also among forks."""
    return f"{_PROCESS_TOKEN}-{os.getpid()}"


def planned_note(now: Instant) -> dict[str, Any]:
    """Return the details of an event that record the time and the process of a plan."""
    return {"planned": {"uptime": now.uptime, "by": _process_id()}}


def items_note(spec: JobSpec, items: Mapping[str, ItemAddresses]) -> dict[str, Any]:
    """Return the details of a job's first event that record the cells of its records' items."""
    # If the items are in the main sheet, its copy also shows those of rows that are not sent.
    stored = {
        name: cells.to_json(cells.rows if cells.sheet == spec.sheet else spec.rows)
        for name, cells in items.items()
    }
    return {"items": stored} if stored else {}
