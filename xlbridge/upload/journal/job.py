"""An upload as the journal has it: what is sent, and what happened to it so far."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from xlbridge.i18n import Text
from xlbridge.resources.resource import Mode
from xlbridge.upload.journal.states import State


@dataclass(frozen=True, slots=True)
class NewJob:
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
    what: NewJob
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
