"""Job of an upload: rows, history and state.

States: see the upload protocol (``docs/upload-protocol.md``).
"""

import hashlib
import os
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import takewhile
from pathlib import Path
from typing import Any

from xlbridge import titles
from xlbridge.clock import Instant
from xlbridge.errors import UsageError
from xlbridge.files import as_arguments
from xlbridge.i18n import Text, active_language
from xlbridge.record_rows import number_in_row, sheet_row
from xlbridge.resources import Mode
from xlbridge.upload.claims import ClaimScope
from xlbridge.upload.planning.planned_row import plan_token
from xlbridge.upload.results.verdict import ItemAddresses, LostField, has_open_name
from xlbridge.workbook import WorkbookOrigin, cell_address

REJECTS_INFIX = "rejeitadas"
"""Part of the names of rejects workbooks."""

_REJECTS_NAME = re.compile(rf".+-{REJECTS_INFIX}-\d{{8}}-\d{{6}}-[0-9a-f]{{4}}")


class State(StrEnum):
    """State of a job; each is durable before the request that it announces.

    ``SENDING_PARTS`` is the state of a parent while its parts are sent. ``COMPARING`` jobs have a
    verdict; the records that they have written are still to be compared with what was sent.
    """

    PREPARED = "prepared"
    PREVIEWING = "previewing"
    PREVIEWED = "previewed"
    SENDING = "sending"
    SENDING_PARTS = "sending_parts"
    STAGING = "staging"
    STAGED = "staged"
    STARTING = "starting"
    POLLING = "polling"
    COMPARING = "comparing"
    IN_DOUBT = "in_doubt"
    NEEDS_PERSON = "needs_person"
    DONE = "done"
    PARTIAL = "partial"
    REJECTED = "rejected"
    ABANDONED = "abandoned"

    @property
    def text(self) -> Text:
        """The state in words."""
        return _STATE_TEXTS[self]

    @property
    def is_final(self) -> bool:
        """True if the job does not proceed on its own."""
        return self in _FINAL

    @property
    def is_unsent(self) -> bool:
        """True if no request that could write has been sent."""
        return self in _UNSENT

    @property
    def is_settled(self) -> bool:
        """True if nothing has been sent or the outcome is known."""
        return self.is_unsent or (self.is_final and self is not State.NEEDS_PERSON)

    @property
    def frees_rows(self) -> bool:
        """True if nothing of the job was applied, so that its rows may be sent again."""
        return self in _FREEING

    @property
    def public(self) -> str:
        """Name of the state in the contract of ``upload --format json``."""
        return _PUBLIC.get(self, self.value)


_STATE_TEXTS = {
    State.PREPARED: Text(pt="preparado", en="prepared"),
    State.PREVIEWING: Text(pt="em prévia", en="previewing"),
    State.PREVIEWED: Text(pt="só prévia", en="previewed"),
    State.SENDING: Text(pt="enviando", en="sending"),
    State.SENDING_PARTS: Text(pt="enviando em partes", en="sending parts"),
    State.STAGING: Text(pt="indo para a fila", en="entering the queue"),
    State.STAGED: Text(pt="na fila", en="queued"),
    State.STARTING: Text(pt="iniciando", en="starting"),
    State.POLLING: Text(pt="em processamento", en="processing"),
    State.COMPARING: Text(pt="conferindo o que foi gravado", en="comparing what was stored"),
    State.IN_DOUBT: titles.IN_DOUBT,
    State.NEEDS_PERSON: Text(pt="aguarda decisão", en="awaits a decision"),
    State.DONE: Text(pt="concluído", en="done"),
    State.PARTIAL: Text(pt="parcial", en="partial"),
    State.REJECTED: Text(pt="rejeitado", en="rejected"),
    State.ABANDONED: Text(pt="não enviado", en="not sent"),
}
_REPLACED = Text(pt="substituído pelo envio {job}", en="replaced by the upload {job}")
_UNSENT = frozenset({State.PREPARED, State.PREVIEWING})
_FREEING = frozenset({State.PREVIEWED, State.REJECTED, State.ABANDONED})
_FINAL = _FREEING | {State.DONE, State.PARTIAL, State.NEEDS_PERSON}
_PUBLIC = {
    State.PREPARED: "failed",
    State.PREVIEWING: "failed",
    State.ABANDONED: "failed",
    State.SENDING: "in_doubt",
    State.STAGING: "in_doubt",
    State.NEEDS_PERSON: "in_doubt",
    State.STAGED: "queued",
    State.STARTING: "processing",
    State.POLLING: "processing",
    State.COMPARING: "processing",
    State.SENDING_PARTS: "processing",
}


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


_MODES: Mapping[Mode, Text] = {
    Mode.DIRECT: Text(pt="direto", en="direct"),
    Mode.PREVIEW: Text(pt="prévia", en="preview"),
    Mode.QUEUE: Text(pt="fila", en="queue"),
    Mode.RECORDS: Text(pt="registros", en="records"),
    Mode.UNDO: Text(pt="desfazer", en="undo"),
    Mode.PROCESS: Text(pt="processar", en="process"),
}


@dataclass(frozen=True, slots=True)
class JobSpec:
    """Description of a job before it exists.

    ``digest`` covers the values of all rows of the sheet, in any order; ``payload`` is the content
    hash of the stored workbook with the rows that are sent. ``rows`` are the numbers of the
    payload's records in the analyst's sheet, Excel's row numbers unless a row has several of them;
    ``columns`` maps each column to its zero-based position there, or to ``NO_POSITION``. ``system``
    identifies the remote system; ``planned`` is the content hash of a workbook with all planned
    rows, empty for a part. ``retry_of`` is the job whose rows it sends again, ``undo_of`` the one
    that it reverses.
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

    @property
    def mode_name(self) -> Text:
        """Displayed name of the mode."""
        return _MODES[self.mode]

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
class Job:
    """Job and its history, oldest event first.

    ``order`` is its place among the journal's jobs, as the clock may be set in between.
    ``first_job`` is the first one of the sheet, which parts, retries and undos share.
    ``parent`` is the job of the whole sheet and ``part`` the number from 1, if the job is a part;
    ``parts`` is the number of parts of a parent, 0 for other jobs. ``profile_arguments`` are the
    option by which a command chooses the job's profile, if the running one was given it.
    """

    id: str
    created_at: datetime
    order: int
    spec: JobSpec
    events: tuple[Event, ...]
    first_job: str
    parent: str | None = None
    part: int | None = None
    parts: int = 0
    profile_arguments: Sequence[str] = field(default=(), compare=False)

    def arguments(self, *words: str | Path) -> str:
        """Return arguments for a command about the job, by default its id, with its profile."""
        return as_arguments(*(words or (self.id,)), *self.profile_arguments)

    @property
    def items(self) -> dict[str, ItemAddresses]:
        """Cells of the records' items, by the names of the lists."""
        stored = self.events[0].detail.get("items", {})
        return {name: ItemAddresses.of_json(addresses) for name, addresses in stored.items()}

    @property
    def state(self) -> State:
        """State after the newest event."""
        return self.events[-1].state

    @property
    def public_state(self) -> str:
        """Name of the job's state in the contract of ``upload --format json``.

        A job that awaits consent counts as previewed, unless a request has failed since.
        """
        if self.state is State.PREPARED and "reason" not in self.events[-1].detail:
            return State.PREVIEWED.public
        if self.state is State.DONE and self.has_lost_fields:
            return State.PARTIAL.public
        return self.state.public

    @property
    def reason(self) -> Text:
        """Reason of the job's state, without its full stop; a dash if none was recorded."""
        if successor := self.last("replaced_by"):
            return _REPLACED.format(job=successor)
        stored = self.last("reason") or {"pt": "–", "en": "–"}
        return Text(**{language: text.rstrip(".") for language, text in stored.items()})

    @property
    def lost_fields(self) -> list[LostField]:
        """Columns whose values the system has not taken, as far as the records were read back."""
        return [LostField(**field) for field in self.last("lost_fields") or ()]

    @property
    def unseen_fields(self) -> list[str]:
        """Columns with an open spelling, and those of lists, of which nothing shows whether the
        system has taken them."""
        return list(self.last("unseen_fields") or ())

    @property
    def uncompared(self) -> Text | None:
        """Reason why what is stored was not compared with what was sent, None if it was."""
        stored = self.last("uncompared")
        return None if stored is None else Text(**stored)

    @property
    def has_lost_fields(self) -> bool:
        """True if fields are not stored that were sent, or nothing shows it of an open name or of
        all fields."""
        lost = (field.is_lost for field in self.lost_fields)
        unseen = map(has_open_name, self.unseen_fields)
        return any(lost) or any(unseen) or self.uncompared is not None

    @property
    def attempts(self) -> int:
        """Number of requests announced so far."""
        return sum("attempt" in event.detail for event in self.events)

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

    @staticmethod
    def is_rejects_name(path: Path) -> bool:
        """Return whether a file has the name of a rejects workbook."""
        return _REJECTS_NAME.fullmatch(path.stem) is not None

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
            raise UsageError(
                Text(
                    pt="O envio {job} é do ambiente {theirs}; agora está configurado {ours}.",
                    en="The upload {job} belongs to {theirs}; now {ours} is configured.",
                ).format(job=self.id, theirs=self.spec.profile, ours=profile),
                Text(
                    pt="Escolha o ambiente do envio, por exemplo com --profile.",
                    en="Choose the environment of the upload, for example with --profile.",
                ),
            )

    def require_upload(self) -> None:
        """Raise ``UsageError`` if the job processes records instead of sending rows."""
        if self.spec.mode is Mode.PROCESS:
            raise UsageError(
                Text(
                    pt="{job} é um processamento, não um envio de linhas.",
                    en="{job} is a processing, not an upload of rows.",
                ).format(job=self.id),
                Text(
                    pt="Para processar o que falta: xlbridge process {listing}",
                    en="To process what is left: xlbridge process {listing}",
                ).format(listing=self.arguments(self.spec.resource)),
            )

    def require_unchanged(self) -> None:
        """Raise ``UsageError`` if the file is missing or was changed since it was sent."""
        source = Path(self.spec.file)
        if source.is_file() and file_hash(source) == self.file_hash:
            return
        raise UsageError(
            Text(
                pt="{file} não é mais o arquivo que foi enviado; as linhas podem ser outras.",
                en="{file} is no longer the file that was sent; its rows may differ.",
            ).format(file=source),
            Text(
                pt="Para ver a situação de cada linha: xlbridge jobs {job}",
                en="To see the status of each row: xlbridge jobs {job}",
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
                Text(pt="xlbridge retry {p}", en="xlbridge retry {p}").format(
                    p=self.arguments(self.parent)
                ),
            )
        held = self.state is State.DONE and self.held
        if self.state not in {State.PARTIAL, State.REJECTED} and not held:
            raise UsageError(
                Text(
                    pt="O envio {job} não tem linhas rejeitadas nem aguardando você (situação: "
                    "{state}).",
                    en="The upload {job} has no rejected or held rows (state {state}).",
                ).format(job=self.id, state=self.state.text),
                Text(
                    pt="Para enviar linhas novas ou alteradas: xlbridge upload {file}",
                    en="To send new or changed rows: xlbridge upload {file}",
                ).format(file=self.arguments(Path(self.spec.file))),
            )

    @property
    def target(self) -> Mapping[str, Any] | None:
        """The environment as it was last used for the job; the embedded sandbox changes address."""
        target: Mapping[str, Any] | None = self.last("target")
        return target

    def plan_is_old(self, now: Instant) -> bool:
        """Return whether the keys of the job's rows must be read again.

        A plan of another process counts as old, since anyone may have written after that ended.
        """
        planned = self.last("planned")
        if planned is None or planned["by"] != _process_id():
            return True
        return now.uptime - float(planned["uptime"]) > MAX_PLAN_SECONDS

    @property
    def token(self) -> str:
        """Token that confirms exactly the planned actions: ``ROWS:DIGEST8``."""
        digest = self.last("plan_digest") or self.spec.digest
        writes = self.last("writes")
        return plan_token(len(self.spec.rows) if writes is None else writes, digest)

    @property
    def held(self) -> int:
        """Number of held rows, excluding rows that are not records."""
        held: int = (self.last("plan") or {}).get("held", 0)
        return held - int(self.last("not_records") or 0)

    @property
    def has_sent(self) -> bool:
        """True if anything of the job was sent, or a person has decided about it."""
        abandoned = self.state is State.ABANDONED and self.last("resolved") is None
        return not self.state.is_unsent and not abandoned

    @property
    def deletes(self) -> bool:
        """True for an upload that deletes the records of its rows."""
        return bool((self.last("planning") or {}).get("delete"))

    @property
    def is_task(self) -> bool:
        """True for an undo or a processing, which changes records instead of sending rows."""
        return self.spec.mode in {Mode.UNDO, Mode.PROCESS}

    @property
    def undo_of(self) -> str | None:
        """Id of the job that this one reverses, None for an upload."""
        return self.spec.undo_of

    @property
    def retry_of(self) -> str | None:
        """Id of the job whose rows this one sends again, None for a first upload."""
        return self.spec.retry_of

    @property
    def file_hash(self) -> str | None:
        """Hash of the analyst's file when it was planned, None if unknown."""
        stored: str | None = self.last("file_hash")
        return stored

    @property
    def import_mode(self) -> Mode:
        """Mode for rows that create records, even if the job has none."""
        return Mode(self.last("import_mode") or self.spec.mode)

    @property
    def settles_at(self) -> datetime | None:
        """Time, by the present clock, from which a doubt can be settled; None without a doubt."""
        now = Instant.now()
        left = self.settle_left(now, self.last("settle_seconds") or 0)
        return None if left is None else now.at + left

    def last(self, key: str) -> Any:
        """Return the newest value of ``key`` in the events' details, None if there is none."""
        return next((e.detail[key] for e in reversed(self.events) if key in e.detail), None)


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
