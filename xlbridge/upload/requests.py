"""Requests of jobs: rows that are sent together, and what is known of them by now: the verdict on
each row, messages with the analyst's addresses, and the stored readings of their records.

A job has one request; a long sheet has one for each part, and so have records that are changed one
by one, if others are imported. States: see the upload protocol (``docs/upload-protocol.md``).
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from xlbridge import titles
from xlbridge.i18n import Text, joined
from xlbridge.local_database import LocalDatabase
from xlbridge.processes import Instant
from xlbridge.report_forms import group_by_reason, list_first
from xlbridge.resources import Mode
from xlbridge.upload.journal_database import json_text, transaction, value_of_json
from xlbridge.upload.lookup.snapshot import Moment, RowSnapshot, Snapshot
from xlbridge.workbook import cell_address

if TYPE_CHECKING:
    from xlbridge.validation import ValidatedSheet
    from xlbridge.wire.imports import ImportLog

__all__ = ["RowOutcome"]


class RejectedRow(NamedTuple):
    """Rejected row, with its Excel number and cell in the analyst's sheet if they are known.

    ``itself`` is false for a row without an error of its own, which was rejected with others or
    whose record has changed.
    """

    row: int | None
    cell: str | None
    column: str | None
    message: Text
    itself: bool = True

    @property
    def label(self) -> str:
        """Rejected column; for a column of an item, its cell and name."""
        item = None if self.column is None else parse_item_column(self.column)
        return f"{self.cell} ({item[2]})" if item and self.cell else self.column or ""

    @property
    def labelled(self) -> Text:
        """The message, after the label of the column if there is one."""
        label = f"{self.label}: " if self.label else ""
        return Text(pt=label + self.message.pt, en=label + self.message.en)

    @property
    def has_reason(self) -> bool:
        """True if the row has a reason of its own: an error or a changed column."""
        return self.itself or self.column is not None


def has_two_spellings(name: str) -> bool:
    """Return whether the description shows a field in PascalCase, unlike the samples' camelCase."""
    return name[:1].isupper()


def has_open_name(path: str) -> bool:
    """Return whether the description leaves open how a field is named in requests: its spelling,
    or, of the parts of a split, all of it."""
    return path.startswith("rateio.") or has_two_spellings(path.rpartition(".")[2])


@dataclass(frozen=True, slots=True)
class LostField:
    """Column whose values the system has not taken: an example as sent and as stored, None if that
    is empty, and the rows in which this was seen; ``kept``: changes have left the value before.
    The column of a list's items follows the name of the list; ``cell`` is that of the example."""

    column: str
    sent: str
    stored: str | None
    rows: list[int]
    kept: bool = False
    cell: str | None = None

    @property
    def label(self) -> str:
        """The column; for a column of items, the cell of the example and the name."""
        return self.column if self.cell is None else f"{self.cell} ({self.column.split('.')[1]})"

    @property
    def is_lost(self) -> bool:
        """True if nothing of what was sent is stored; other values may be another notation."""
        return self.stored is None or self.kept

    @staticmethod
    def merge(fields: Iterable["LostField"]) -> list["LostField"]:
        """Return the fields of the parts of a sheet, each once."""
        merged: dict[tuple[str, bool, bool], LostField] = {}
        for one in fields:
            known = merged.setdefault(
                (one.column, one.stored is None, one.kept), replace(one, rows=[])
            )
            # Several items of a row may have lost it.
            known.rows.extend([row for row in one.rows if row not in known.rows[-1:]])
        return list(merged.values())


@dataclass(frozen=True, slots=True)
class Verdict:
    """Verdict on the rows of a job: the outcome of each, in order, and the messages about rejected
    ones. ``outcomes`` are None if they are recorded otherwise, or nothing was sent.
    """

    outcomes: "Sequence[RowOutcome] | None" = None
    rejections: Sequence[RejectedRow] = ()

    @classmethod
    def of_rejections(
        cls, rows: Sequence[int], rejections: Sequence[RejectedRow], others: "RowOutcome"
    ) -> Self:
        """Return the verdict on rows of which the named ones are rejected."""
        named = {rejected.row for rejected in rejections}
        return cls([RowOutcome.REJECTED if row in named else others for row in rows], rejections)

    @classmethod
    def of_proof(cls, rows: Sequence[int], proven: Sequence[bool | None]) -> Self:
        """Return the verdict on rows proven to be present or absent; None is unproven."""
        return cls(
            [RowOutcome.of_proof(present) for present in proven],
            [
                RejectedRow(row, None, None, NOT_IN_SYSTEM, itself=False)
                for row, present in zip(rows, proven, strict=True)
                if present is False
            ],
        )


NO_VERDICT = Verdict()
"""Verdict on rows that an event does not decide on, or that single records' answers decide on."""


def reasons_by_row(rejections: Iterable[RejectedRow]) -> dict[int, Text]:
    """Return the joined messages about each rejected row whose number is known."""
    reasons: dict[int, list[Text]] = defaultdict(list)
    for rejected in rejections:
        if rejected.row is not None:
            reasons[rejected.row].append(rejected.labelled)
    return {row: joined(texts) for row, texts in reasons.items()}


REJECTED_AS_A_WHOLE = Text(
    pt="Não aplicada: o envio inteiro foi rejeitado.",
    en="Not applied: the whole upload was rejected.",
)
"""Remark on a row without an error of its own."""

NOT_IN_SYSTEM = Text(
    pt="Não está no sistema: procurada duas vezes depois do envio, e não encontrada.",
    en="Not in the system: read back twice after the upload, and not found.",
)
"""Remark on a row that was read back and not found, while others of its upload were."""


class RowOutcome(StrEnum):
    """Outcome of a row.

    ``NOT_WRITTEN`` rows have no error of their own but were not applied: the whole sheet was
    rejected, every request was lost, or a person saw that they are missing. ``UNSENT``: no request
    that could write was sent. ``UNCHANGED`` and ``HELD`` rows were left out by the plan. ``UNDONE``
    rows were accepted, and reversed since. ``text`` says it of a row, ``count_title`` is the title
    of their number.
    """

    text: Text
    count_title: Text

    def __new__(
        cls, value: str, text: Text = titles.IN_DOUBT, count_title: Text = titles.IN_DOUBT
    ) -> Self:
        """Return the outcome with its words."""
        self = str.__new__(cls, value)
        self._value_, self.text, self.count_title = value, text, count_title
        return self

    ACCEPTED = "accepted", Text(pt="aceita", en="accepted"), Text(pt="Aceitas", en="Accepted")
    UNCHANGED = (
        "unchanged",
        Text(pt="sem alteração", en="unchanged"),
        Text(pt="Sem alteração", en="Unchanged"),
    )
    HELD = (
        "held",
        Text(pt="não enviada, aguardando você", en="not sent, waiting for you"),
        Text(pt="Não enviadas, aguardando você", en="Not sent, waiting for you"),
    )
    REJECTED = "rejected", Text(pt="rejeitada", en="rejected"), Text(pt="Rejeitadas", en="Rejected")
    NOT_WRITTEN = (
        "not_written",
        Text(pt="não gravada", en="not written"),
        Text(pt="Não gravadas", en="Not written"),
    )
    UNSENT = "unsent", Text(pt="não enviada", en="not sent"), Text(pt="Não enviadas", en="Not sent")
    UNDONE = "undone", Text(pt="desfeita", en="undone"), Text(pt="Desfeitas", en="Undone")
    UNKNOWN = "unknown", titles.IN_DOUBT, Text(pt="Em dúvida", en="In doubt")

    @classmethod
    def of_proof(cls, present: bool | None) -> Self:
        """Return the outcome of a row that is present, absent or, with None, neither for sure."""
        if present is None:
            return cls.UNKNOWN
        return cls.ACCEPTED if present else cls.REJECTED


_FAILED = Text(
    pt="o sistema desistiu do arquivo (situação “{word}”: {message})",
    en="the system gave the file up (status “{word}”: {message})",
)


def failure_of_log(log: "ImportLog") -> Text:
    """Return the reason that the log of a failed file gives."""
    return _FAILED.format(word=log.situacao or "–", message=log.mensagem or "–")


def item_column(sheet: str, number: int, column: str) -> str:
    """Return the interface's name for a column of an item in its record."""
    return f"{sheet}.{number}.{column}"


def parse_item_column(name: str) -> tuple[str, int, str] | None:
    """Return the list, number and column in a name by ``item_column``, None for other names."""
    sheet, _, rest = name.partition(".")
    number, _, column = rest.partition(".")
    return (sheet, int(number), column) if column and number.isdecimal() else None


def items_of_records(main: "ValidatedSheet", child: "ValidatedSheet") -> list[list[int]]:
    """Return the positions in a child sheet of the items of each record, in order."""
    items: list[list[int]] = [[] for _ in range(len(main.frame))]
    for at, record in enumerate(main.parent_positions(child).tolist()):
        if record >= 0:
            items[record].append(at)
    return items


@dataclass(frozen=True, slots=True)
class ItemAddresses:
    """Addresses of a list's items: their sheet, the zero-based position of each column, and the
    Excel row numbers of the items by the row number of their record.

    If several items are side by side in a row, ``blocks`` has the positions of the columns of each
    of them, and ``numbers`` which of them each item is, like ``rows``.
    """

    sheet: str
    columns: Mapping[str, int]
    rows: Mapping[int, Sequence[int]] = field(repr=False)
    blocks: Sequence[Mapping[str, int]] = ()
    numbers: Mapping[int, Sequence[int]] = field(default_factory=dict, repr=False)

    @classmethod
    def of_sheet(cls, main: "ValidatedSheet") -> "dict[str, ItemAddresses]":
        """Return the addresses of the items of a sheet's records, by the names of the lists."""
        addresses = {}
        for name, child in main.children.items():
            of_record = zip(main.rows, items_of_records(main, child), strict=True)
            items = {row: positions for row, positions in of_record if positions}
            rows = {row: [child.rows[at] for at in positions] for row, positions in items.items()}
            columns = [block.columns for block in child.blocks]
            numbers = {
                row: [child.block_numbers[at] for at in positions if child.blocks]
                for row, positions in items.items()
            }
            addresses[name] = cls(child.sheet, child.columns, rows, columns, numbers)
        return addresses

    @classmethod
    def of_json(cls, stored: Mapping[str, Any]) -> "ItemAddresses":
        """Return the addresses stored by ``to_json``."""
        rows = {int(row): items for row, items in stored["rows"].items()}
        numbers = {int(row): items for row, items in stored.get("numbers", {}).items()}
        blocks = stored.get("blocks", ())
        return cls(stored["sheet"], stored["columns"], rows, blocks, numbers)

    def to_json(self, rows: Iterable[int]) -> dict[str, Any]:
        """Return the addresses of the items of the records in the given rows."""
        kept = {row: list(self.rows[row]) for row in rows if row in self.rows}
        stored = {"sheet": self.sheet, "columns": dict(self.columns), "rows": kept}
        if self.blocks:
            numbers = {row: list(self.numbers[row]) for row in kept}
            stored |= {"blocks": [dict(block) for block in self.blocks], "numbers": numbers}
        return stored

    def cell(self, row: int, number: int, column: str, *, or_first: bool = False) -> str | None:
        """Return the sheet and address of a cell of a record's item, None if it has none; with
        ``or_first`` that of its first column, if it lacks the given one."""
        items = self.rows.get(row, ())
        if number >= len(items):
            return None
        columns = self.blocks[self.numbers[row][number]] if self.blocks else self.columns
        if column not in columns and not or_first:
            return None
        position = columns.get(column, min(columns.values(), default=0))
        return f"{self.sheet}!{cell_address(items[number], position)}"

    @staticmethod
    def find(
        items: "Mapping[str, ItemAddresses]", row: int, path: str, *, or_first: bool = False
    ) -> str | None:
        """Return the sheet and address of a column of an item, named as by ``item_column``, None if
        it names none of the ``items``, by their lists; ``or_first`` as in ``cell``."""
        item = parse_item_column(path)
        if item is None or item[0] not in items:
            return None
        return items[item[0]].cell(row, item[1], item[2], or_first=or_first)


class State(StrEnum):
    """State of a request; each is durable before what it announces is sent.

    ``SENDING_PARTS`` is the state of a job with several requests, from the consent to their end.
    ``COMPARING`` requests have a verdict; the records that they have written are still to be
    compared with what was sent.

    ``text`` is the state in words, ``public`` its name in the contract of ``upload --format json``.
    ``is_unsent``: no request that could write has been sent; ``has_sent``: something was sent, and
    not given up. ``is_final``: the job does not proceed on its own; ``frees_rows``: nor was
    anything of it applied, so that its rows may be sent again. ``is_settled``: nothing has been
    sent, or the outcome is known.
    """

    text: Text
    public: str
    is_unsent: bool
    has_sent: bool
    is_final: bool
    frees_rows: bool
    is_settled: bool

    def __new__(
        cls, value: str, text: Text = titles.IN_DOUBT, kind: str = "", public: str = ""
    ) -> Self:
        """Return the state of a ``kind``: unsent, final, one that frees rows, or none of them."""
        self = str.__new__(cls, value)
        self._value_, self.text, self.public = value, text, public or value
        self.is_unsent = kind == "unsent"
        self.frees_rows = kind == "frees"
        self.is_final = kind in {"final", "frees"}
        self.has_sent = not self.is_unsent and value not in {"previewed", "abandoned"}
        self.is_settled = self.is_unsent or (self.is_final and value != "needs_person")
        return self

    PREPARED = "prepared", Text(pt="preparado", en="prepared"), "unsent", "failed"
    PREVIEWING = "previewing", Text(pt="em prévia", en="previewing"), "unsent", "failed"
    PREVIEWED = "previewed", Text(pt="só prévia", en="previewed"), "frees"
    SENDING = "sending", Text(pt="enviando", en="sending"), "", "in_doubt"
    SENDING_PARTS = (
        "sending_parts",
        Text(pt="enviando em partes", en="sending parts"),
        "",
        "processing",
    )
    STAGING = "staging", Text(pt="indo para a fila", en="entering the queue"), "", "in_doubt"
    STAGED = "staged", Text(pt="na fila", en="queued"), "", "queued"
    STARTING = "starting", Text(pt="iniciando", en="starting"), "", "processing"
    POLLING = "polling", Text(pt="em processamento", en="processing"), "", "processing"
    COMPARING = (
        "comparing",
        Text(pt="conferindo o que foi gravado", en="comparing what was stored"),
        "",
        "processing",
    )
    IN_DOUBT = "in_doubt", titles.IN_DOUBT
    NEEDS_PERSON = (
        "needs_person",
        Text(pt="aguarda decisão", en="awaits a decision"),
        "final",
        "in_doubt",
    )
    DONE = "done", Text(pt="concluído", en="done"), "final"
    PARTIAL = "partial", Text(pt="parcial", en="partial"), "final"
    REJECTED = "rejected", Text(pt="rejeitado", en="rejected"), "frees"
    ABANDONED = "abandoned", Text(pt="não enviado", en="not sent"), "frees", "failed"


@dataclass(frozen=True, slots=True)
class Request:
    """Request of a job, as far as the journal knows by now: rows that are sent together.

    ``id`` is the id of the job if that has no other request. ``attempt`` is the number of times
    that it was announced, ``ends_as`` the state in which it ends once records are compared.
    ``lost_fields`` are columns whose values the system has not taken, ``unseen_fields`` those of
    which nothing shows it, ``uncompared`` is the reason why nothing was compared.
    """

    id: str
    number: int
    mode: Mode
    payload: str
    state: State
    changed_at: datetime
    attempt: int = 0
    log_id: int | None = None
    previewed: int | None = None
    preview_done: bool = False
    ends_as: State | None = None
    reason: Text | None = None
    uncompared: Text | None = None
    lost_fields: Sequence[LostField] = ()
    unseen_fields: Sequence[str] = ()
    taken_fields: Sequence[str] = ()

    @property
    def has_lost_fields(self) -> bool:
        """True if fields are not stored that were sent, or nothing shows it of an open name or of
        all fields."""
        lost = (field.is_lost for field in self.lost_fields)
        return any(lost) or any(map(has_open_name, self.unseen_fields)) or bool(self.uncompared)

    @staticmethod
    def merge(requests: "Sequence[Request]") -> "Request":
        """Return what is known of the several requests of a job together: rows that were previewed,
        and fields that were not taken. They have no log in common."""
        previewed = [one.previewed for one in requests if one.previewed is not None]
        return replace(
            requests[0],
            log_id=None,
            previewed=sum(previewed) if previewed else None,
            uncompared=merge_reasons((one.uncompared, one.number) for one in requests),
            lost_fields=LostField.merge(field for one in requests for field in one.lost_fields),
            unseen_fields=sorted({name for one in requests for name in one.unseen_fields}),
        )


_OF_PARTS = Text(pt="{n:parte|partes} {parts}: {reason}", en="{n:part|parts} {parts}: {reason}")
_MOST_PARTS = 10


def merge_reasons(reasons: Iterable[tuple[Text | None, int]]) -> Text | None:
    """Return the reasons of requests as one, with the numbers of each if there are more."""
    groups = group_by_reason((text, number) for text, number in reasons if text is not None)
    if len(groups) < 2:
        return next(iter(groups), None)
    return joined(
        _OF_PARTS.format(n=len(numbers), parts=list_first(numbers, _MOST_PARTS), reason=reason)
        for reason, numbers in groups.items()
    )


_JOB_ID = len("20260101-120000-ffff")


def request_key(request_id: str) -> tuple[str, int]:
    """Return the job of a request and its number; the first request may bear the job's id."""
    return request_id[:_JOB_ID], int(request_id[_JOB_ID + 1 :] or 1)


@dataclass(frozen=True, slots=True)
class StoredRequests:
    """Requests in the journal's file; callers open the transaction."""

    _db: LocalDatabase

    def add(self, job_id: str, request: Request) -> None:
        """Store a new request of a job."""
        self._db.execute(
            "INSERT INTO requests (job, id, number, mode, payload, state, changed_at) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            (job_id, *astuple(request)[:5], request.changed_at.isoformat()),
        )

    def of_job(self, whole: str, job_id: str) -> tuple[Request, ...]:
        """Return the requests of a whole job in order, or one of them."""
        query = "SELECT * FROM requests WHERE job = ? AND ? IN (id, job) ORDER BY number"
        return tuple(
            Request(
                *(one, number, Mode(mode), payload, State(state), datetime.fromisoformat(at)),
                **{
                    name: read(value)
                    for (name, read), value in zip(_KNOWN.items(), known, strict=True)
                    if value is not None
                },
            )
            for _, one, number, mode, payload, state, at, *known in self._db.execute(
                query, (whole, job_id)
            ).fetchall()
        )

    def taken_fields(self, system: str, *, by_record: bool) -> set[str]:
        """Return the fields that requests to a system have shown to be taken: in an import sheet,
        or as a record."""
        found = self._db.execute(
            "SELECT requests.mode, taken_fields FROM requests JOIN jobs ON jobs.id = job "
            "WHERE system = ? AND taken_fields IS NOT NULL",
            (system,),
        )
        return {
            name
            for mode, taken in found.fetchall()
            if Mode(mode).channel.by_record is by_record
            for name in json.loads(taken)
        }

    def record(
        self, request_id: str, state: State, at: datetime, detail: Mapping[str, Any]
    ) -> None:
        """Store the state of a request, and what an event shows of it."""
        known = (detail.get(name) for name in _KNOWN)
        values = (
            one if one is None or isinstance(one, str | int) else json.dumps(one) for one in known
        )
        self._db.execute(_RECORD, (state, at.isoformat(), *values, request_id))


def _read_text(stored: str) -> Text:
    """Return a stored reason, without its full stop."""
    return Text.of_json(json.loads(stored)).changed(lambda text: text.rstrip("."))


_KNOWN: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("attempt", "log_id", "previewed"), int),
    "preview_done": bool,
    "ends_as": State,
    **dict.fromkeys(("reason", "uncompared"), _read_text),
    "lost_fields": lambda stored: [LostField(**one) for one in json.loads(stored)],
    **dict.fromkeys(("unseen_fields", "taken_fields"), json.loads),
}
"""Details of events that requests have as columns, and how these are read."""
_RECORD = (
    "UPDATE requests SET state = ?, changed_at = ?, attempt = COALESCE(?, attempt), "
    "log_id = COALESCE(?, log_id), previewed = COALESCE(?, previewed), "
    "preview_done = COALESCE(?, preview_done), ends_as = COALESCE(?, ends_as), "
    "reason = COALESCE(?, reason), uncompared = COALESCE(?, uncompared), "
    "lost_fields = COALESCE(?, lost_fields), unseen_fields = COALESCE(?, unseen_fields), "
    "taken_fields = COALESCE(?, taken_fields) WHERE id = ?"
)


class StoredSnapshot(NamedTuple):
    """Snapshot in the journal, with its time and moment."""

    at: datetime
    moment: Moment
    rows: Snapshot


@dataclass(eq=False)
class StoredSnapshots:
    """Snapshots of the remote records of jobs' rows in the journal's file."""

    _db: LocalDatabase
    _now: Callable[[], Instant]

    def store(self, job_id: str, moment: Moment, snapshot: Snapshot) -> None:
        """Store a snapshot durably, without the compared values of rows."""
        rows = json_text([row and {"key": dict(row.key), "found": row.found} for row in snapshot])
        with transaction(self._db):
            self._db.execute(
                "INSERT INTO readings SELECT ?, COALESCE(MAX(number), 0) + 1, ?, ?, ? "
                "FROM readings WHERE request = ?",
                (job_id, self._now().at.isoformat(), moment, rows.encode(), job_id),
            )

    def all_of(self, job_id: str) -> list[StoredSnapshot]:
        """Return the snapshots of a job, oldest first."""
        found = self._db.execute(
            "SELECT at, moment, rows FROM readings WHERE request = ? ORDER BY number", (job_id,)
        )
        return [
            StoredSnapshot(datetime.fromisoformat(at), Moment(moment), snapshot_from_json(rows))
            for at, moment, rows in found.fetchall()
        ]

    def first_before(self, job_id: str) -> Snapshot:
        """Return the first snapshot of a job, taken before anything was sent; empty without one."""
        stored = self.all_of(job_id)
        return next((one.rows for one in stored if one.moment is Moment.BEFORE), ())

    def newest_of(self, count: int, job_id: str, *moments: Moment) -> Snapshot:
        """Return the newest snapshot of the ``count`` rows of a job, all None without one."""
        return self.newest(job_id, *moments) or (None,) * count

    def newest(self, job_id: str, *moments: Moment) -> Snapshot | None:
        """Return the newest snapshot of a job at one of the moments, None if there is none."""
        found = self._db.execute(
            "SELECT rows FROM readings WHERE request = ? "
            "AND moment IN (SELECT value FROM json_each(?)) ORDER BY number DESC LIMIT 1",
            (job_id, json.dumps(moments)),
        ).fetchone()
        return None if found is None else snapshot_from_json(found[0])


def snapshot_from_json(text: bytes) -> Snapshot:
    """Return a stored snapshot."""
    found: Snapshot = value_of_json(text, tuple[RowSnapshot | None, ...])
    return found
