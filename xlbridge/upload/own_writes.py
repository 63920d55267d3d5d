"""Own writes of the last minutes, by which a reading that lags behind them is recognised.

What answers may be a copy of the system's database, or a cache. A reading that shows a record as it
was before a write of this journal proves nothing. See the upload protocol, What an answer means.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

_FIRST_PAUSE, _LAG_SECONDS = 0.5, 10.0
"""First pause, and seconds in all, for which a reading is awaited that shows what was written."""

_Read = TypeVar("_Read")


@dataclass(frozen=True, slots=True)
class Patience:
    """Time in ``seconds`` for which readings may lag behind writes, and the function that waits.

    A copy of the system's database may answer.
    """

    seconds: float
    sleep: Callable[[float], None] = time.sleep

    def read_until(self, read: Callable[[], _Read], shows: Callable[[_Read], bool]) -> _Read:
        """Return a reading that shows what was just written, or after a while the last one."""
        found, pause, waited = read(), _FIRST_PAUSE, 0.0
        while not shows(found) and waited < min(self.seconds, _LAG_SECONDS):
            self.sleep(pause)
            waited, pause = waited + pause, 2 * pause
            found = read()
        return found


class OwnWrites:
    """Records that jobs of a journal have changed or removed in the last minutes, and those jobs.

    ``jobs`` are all jobs that have written records, those that created some included.
    """

    def __init__(self) -> None:
        self.jobs: set[str] = set()
        self._removed: dict[str, str] = {}
        self._newest: defaultdict[str, dict[str, tuple[str | None, str]]] = defaultdict(dict)
        self._replaced: defaultdict[tuple[str, str], set[str | None]] = defaultdict(set)

    def add(
        self,
        job_id: str,
        code: str,
        replaced: Mapping[str, str | None],
        wanted: Mapping[str, str | None] | None,
    ) -> None:
        """Add a change of a record, later than those before; without ``wanted`` a removal."""
        if wanted is None:
            self._removed[code] = job_id
            return
        for name, value in wanted.items():
            self._newest[code][name] = value, job_id
            self._replaced[code, name].add(replaced.get(name))

    def merge(self, other: "OwnWrites") -> None:
        """Add the writes of another journal."""
        self.jobs |= other.jobs
        self._removed |= other._removed
        for code, newest in other._newest.items():
            self._newest[code] |= newest
        for key, values in other._replaced.items():
            self._replaced[key] |= values

    def job_not_shown(
        self, code: str, values: Mapping[str, str | None], blank: Mapping[str, str | None]
    ) -> str | None:
        """Return a job whose write a record, as it was read, does not show yet.

        That is if it has values that the job has replaced, or was removed. ``blank`` has the values
        that an empty field means.
        """

        def filled(name: str, value: str | None) -> str | None:
            return blank.get(name) if value is None else value

        if code in self._removed:
            return self._removed[code]
        for name, (newest, job_id) in self._newest.get(code, {}).items():
            if name not in values:
                continue
            shown = filled(name, values[name])
            replaced = {filled(name, value) for value in self._replaced[code, name]}
            if shown != filled(name, newest) and shown in replaced:
                return job_id
        return None
