"""Status of a unit of a batch: a workbook, an export or a processing, and its row counts."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Self

from xlbridge.batch.ledger import CheckRecord
from xlbridge.i18n import Text, count_text
from xlbridge.upload import Job, State
from xlbridge.upload.results import RowChange


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
    UnitStatus.IN_DOUBT: Text(pt="em dúvida", en="in doubt"),
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
