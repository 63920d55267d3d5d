"""Job of an upload: its rows, its history and its state.

Source of the states: the upload protocol (``docs/upload-protocol.md``).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from xlbridge.i18n import Text
from xlbridge.resources import Mode


class State(StrEnum):
    """Where a job stands; each is durable before the request that it announces.

    ``SENDING_PARTS`` is that of a parent whose parts are being sent.
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
    IN_DOUBT = "in_doubt"
    NEEDS_PERSON = "needs_person"
    DONE = "done"
    PARTIAL = "partial"
    REJECTED = "rejected"
    ABANDONED = "abandoned"

    @property
    def is_final(self) -> bool:
        """Whether nothing more happens to the job by itself."""
        return self in _FINAL

    @property
    def frees_rows(self) -> bool:
        """Whether the same rows may be sent again: nothing of the job was applied."""
        return self in _RELEASING

    @property
    def public(self) -> str:
        """The state's name in the contract of ``upload --format json``."""
        return _PUBLIC.get(self, self.value)


UNSENT = frozenset({State.PREPARED, State.PREVIEWING})
"""The states in which nothing that could write has been sent."""

_RELEASING = frozenset({State.PREVIEWED, State.REJECTED, State.ABANDONED})
_FINAL = _RELEASING | {State.DONE, State.PARTIAL, State.NEEDS_PERSON}
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
    State.SENDING_PARTS: "processing",
}


@dataclass(frozen=True, slots=True)
class JobSpec:
    """What is known of a job before it exists.

    ``digest`` is that of the rows' values in whatever order, ``payload`` the content hash of the
    stored workbook. ``rows`` maps the payload's data rows to Excel's row numbers in the analyst's
    sheet, in order; ``columns`` gives the zero-based position of each column there.
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


@dataclass(frozen=True, slots=True)
class Event:
    """One line of a job's history."""

    number: int
    at: datetime
    state: State
    detail: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Job:
    """A job and its history, oldest event first.

    A part of a sheet that was split knows its ``parent`` and which part it is, from 1 on;
    ``parts`` is how many a parent has, 0 for a job of its own.
    """

    id: str
    created_at: datetime
    what: JobSpec
    events: tuple[Event, ...]
    parent: str | None = None
    part: int | None = None
    parts: int = 0

    @property
    def state(self) -> State:
        """Where the job stands."""
        return self.events[-1].state

    @property
    def reason(self) -> Text:
        """Why the job is where it is; empty where nothing was noted."""
        return Text(**(self.last("reason") or {"pt": "–", "en": "–"}))

    @property
    def attempts(self) -> int:
        """How many requests were announced so far."""
        return sum("attempt" in event.detail for event in self.events)

    @property
    def doubted_at(self) -> datetime | None:
        """Since when the outcome of the last request is in doubt; None where it is not."""
        since = None
        for event in self.events:
            if event.state is not State.IN_DOUBT:
                since = None
            elif since is None:
                since = event.at
        return since

    def settles_at(self, settle_seconds: float) -> datetime | None:
        """Return when a doubtful request can no longer be on its way; None without a doubt."""
        since = self.doubted_at
        return None if since is None else since + timedelta(seconds=settle_seconds)

    def last(self, key: str) -> Any:
        """Return the newest value that an event's detail gives for ``key``, None without any."""
        return next((e.detail[key] for e in reversed(self.events) if key in e.detail), None)
