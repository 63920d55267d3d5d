"""Trials, the system they run on, and the sums of their figures."""

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from subjects import Prepared, Subject, count_running_files, counts
from wire_proxy import WireProxy

from xlbridge.client import Client, RetryPolicy, Target
from xlbridge.resources import Catalogue
from xlbridge.sandbox import RunningSandbox

_LONGEST_PROCESSING = 20.0
_DECLINED_WAIT = 30.0
"""Seconds that a client waits for a declined request that may still be on its way."""


@dataclass(frozen=True)
class SystemUnderTest:
    """System of trials: a sandbox, its database as the oracle, and a proxy in front."""

    sandbox: RunningSandbox
    database: Path
    proxy: WireProxy
    catalogue: Catalogue
    customer: int

    def target(self, *, trusting: bool = False) -> Target:
        """Return the target of the sandbox through the proxy; ``trusting`` trusts a 429."""
        return Target(
            "rehearsal",
            self.proxy.base_url,
            self.sandbox.email,
            self.sandbox.password,
            trust_429=trusting,
        )

    def sleep(self, seconds: float) -> None:
        """Sleep without waiting; after the wait for a declined request, none is on its way."""
        if seconds >= _DECLINED_WAIT:
            self.proxy.wait_for_late_commits()

    def write(self, subject: Subject, path: Path, rows: int) -> list[str]:
        """Write a sheet of new rows or records; return their keys."""
        if not isinstance(subject, Prepared):
            return subject.write(path, rows, self.customer)
        with Client(replace(self.target(), base_url=self.sandbox.base_url)) as client:
            return subject.create(client, path, rows, self.customer)

    def counts(self, subject: Subject, keys: list[str]) -> list[int]:
        """Return how often each row is in the sandbox, once all requests are finished.

        For a row that names new records, return how often it was executed.
        """
        self.proxy.wait_for_late_commits()
        deadline = time.monotonic() + _LONGEST_PROCESSING
        while count_running_files(self.database):
            if time.monotonic() > deadline:
                raise TimeoutError("a queued file does not end")
            time.sleep(0.02)
        if isinstance(subject, Prepared):
            return subject.execution_counts(self.database, keys, self.proxy.request_counts)
        return counts(self.database, subject, keys)


@dataclass(frozen=True)
class Trial:
    """Result of a trial.

    It is ``missed`` if the command ended before the kill.
    """

    name: str
    rows: int
    duplicates: int
    lost: int
    doubt: str | None = None
    missed: bool = False


@dataclass
class Figures:
    """Sums of many trials."""

    trials: int = 0
    duplicates: int = 0
    lost: int = 0
    missed: int = 0
    doubts: Counter[str] = field(default_factory=Counter)
    failed: list[str] = field(default_factory=list)

    def add(self, trials: Iterable[Trial]) -> "Figures":
        """Add trials, and return the figures."""
        for trial in trials:
            self.trials += 1
            self.duplicates += trial.duplicates
            self.lost += trial.lost
            self.missed += trial.missed
            if trial.doubt is not None:
                self.doubts[trial.doubt] += 1
            if trial.duplicates or trial.lost:
                self.failed.append(trial.name)
        return self

    def merge(self, other: "Figures") -> None:
        """Add other figures."""
        self.trials += other.trials
        self.duplicates += other.duplicates
        self.lost += other.lost
        self.missed += other.missed
        self.doubts += other.doubts
        self.failed += other.failed


def mark_exclusive(home: Path, base_url: str, email: str) -> None:
    """Write a profile that is exclusive, so that records in doubt are counted."""
    home.mkdir(parents=True)
    (home / "profiles.toml").write_text(
        f'[profiles.rehearsal]\nbase_url = "{base_url}"\nemail = "{email}"\nexclusive = true\n',
        encoding="utf-8",
    )


def trial_of(name: str, found: list[int], doubt: str | None = None) -> Trial:
    """Return the trial of rows that should each be in the sandbox once."""
    return Trial(
        name=name,
        rows=len(found),
        duplicates=sum(count - 1 for count in found if count > 1),
        lost=sum(count == 0 for count in found),
        doubt=doubt,
    )


def quick_client(system: SystemUnderTest, timeout: float, *, trusting: bool = False) -> Client:
    """Return a client without pauses between retries."""
    return Client(
        system.target(trusting=trusting),
        timeout=timeout,
        retry_policy=RetryPolicy(sleep=lambda _seconds: None),
    )
