"""Times by which waits are measured, also between processes: a wall clock may be set or wrong.

Each event of the journal has its time by the wall clock, which people read, and by a clock that
only runs forward, which counts from the start of the computer.
"""

import time
from contextlib import suppress
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class Instant(NamedTuple):
    """Instant by the wall clock (``at``, local time) and by the clock of one start of a computer.

    ``boot`` identifies that start, and is empty where the operating system has no such id;
    ``uptime`` are the seconds since then.
    """

    at: datetime
    boot: str
    uptime: float

    @classmethod
    def now(cls) -> "Instant":
        """Return the present instant."""
        # The seconds since the start of the computer, the time that it slept included.
        boot_clock = getattr(time, "CLOCK_BOOTTIME", None)
        uptime = time.monotonic() if boot_clock is None else time.clock_gettime(boot_clock)
        return cls(datetime.now(), _boot_id(), uptime)

    def since(self, earlier: "Instant") -> timedelta:
        """Return the time that has certainly passed since an earlier instant.

        Within one start of the computer the wall clock does not count. Between two, or on another
        computer, the shorter time of both clocks does; none if the earlier instant seems later.
        """
        counted = self.uptime - earlier.uptime
        if self.boot and self.boot == earlier.boot:
            return timedelta(seconds=max(0.0, counted))
        # A computer that was started since then has run for its uptime at most.
        counted = self.uptime if counted < 0 else counted
        return max(timedelta(), min(self.at - earlier.at, timedelta(seconds=counted)))

    def seems_before(self, earlier: "Instant") -> bool:
        """Return whether an earlier instant was recorded by a clock that was ahead of this one."""
        return (not self.boot or self.boot != earlier.boot) and self.at < earlier.at


@lru_cache(maxsize=1)
def _boot_id() -> str:
    with suppress(OSError):
        return _BOOT_ID.read_text("ascii").strip()
    return ""
