"""Clock of a test: time passes when it says so, and the wall clock can be set."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from xlbridge.processes import Instant


@dataclass
class FakeClock:
    """Clock of one computer, which can be set and started again."""

    at: datetime = datetime(2026, 11, 2, 9, 0)
    boot: int = 1
    uptime: float = 5000.0

    @classmethod
    def later(cls, seconds: float) -> "FakeClock":
        """Return the clock of this computer in some seconds."""
        now = Instant.now()
        return cls(now.at + timedelta(seconds=seconds), uptime=now.uptime + seconds)

    def __call__(self) -> Instant:
        """Return the present instant."""
        return Instant(self.at, str(self.boot), self.uptime)

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.at += timedelta(seconds=seconds)
        self.uptime += seconds

    def set_by(self, seconds: float) -> None:
        """Set the wall clock forward, or back."""
        self.at += timedelta(seconds=seconds)

    def start_again(self) -> None:
        """Start the computer again."""
        self.boot += 1
        self.uptime = 10.0
