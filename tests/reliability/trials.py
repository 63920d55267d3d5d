"""What a trial is, what it proves, and how the figures of many are added up."""

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from subjects import Prepared, Subject, counts, files_at_work
from wire_proxy import WireProxy

from xlbridge.client import Client, RetryPolicy, Target
from xlbridge.resources import Catalogue
from xlbridge.sandbox import RunningSandbox

_LONGEST_PROCESSING = 20.0


@dataclass(frozen=True)
class Site:
    """Where trials take place: a sandbox, its database as the oracle, and a proxy before it."""

    sandbox: RunningSandbox
    database: Path
    proxy: WireProxy
    catalogue: Catalogue
    customer: int

    def target(self, *, trusting: bool = False) -> Target:
        """Return the way to the sandbox through the proxy; ``trusting`` believes a 429."""
        return Target(
            "rehearsal",
            self.proxy.base_url,
            self.sandbox.email,
            self.sandbox.password,
            trust_429=trusting,
        )

    def write(self, subject: Subject, path: Path, rows: int) -> list[str]:
        """Write a sheet of new rows, or of new records; return what each is known by."""
        if not isinstance(subject, Prepared):
            return subject.write(path, rows, self.customer)
        with Client(replace(self.target(), base_url=self.sandbox.base_url)) as client:
            return subject.create(client, path, rows, self.customer)

    def counts(self, subject: Subject, known: list[str]) -> list[int]:
        """Return how often each row is in the sandbox, once nothing is on its way any more.

        Of a row that names new records: how often what it says was done.
        """
        self.proxy.wait_for_late_commits()
        deadline = time.monotonic() + _LONGEST_PROCESSING
        while files_at_work(self.database):
            if time.monotonic() > deadline:
                raise TimeoutError("a queued file does not end")
            time.sleep(0.02)
        if isinstance(subject, Prepared):
            return subject.times(self.database, known, self.proxy.asked)
        return counts(self.database, subject, known)


@dataclass(frozen=True)
class Trial:
    """One trial's end: its rows in the sandbox, and how it got there.

    One was ``missed`` that had ended before what was to happen to it.
    """

    name: str
    rows: int
    duplicates: int
    lost: int
    doubt: str | None = None
    missed: bool = False


@dataclass
class Figures:
    """The figures of many trials."""

    trials: int = 0
    duplicates: int = 0
    lost: int = 0
    missed: int = 0
    doubts: Counter[str] = field(default_factory=Counter)
    failed: list[str] = field(default_factory=list)

    def add(self, trials: Iterable[Trial]) -> "Figures":
        """Count trials in, and return the figures."""
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
        """Count other figures in."""
        self.trials += other.trials
        self.duplicates += other.duplicates
        self.lost += other.lost
        self.missed += other.missed
        self.doubts += other.doubts
        self.failed += other.failed


def mark_exclusive(home: Path, base_url: str, email: str) -> None:
    """Say of a sandbox that nobody else writes there: records in doubt are counted then."""
    home.mkdir(parents=True)
    (home / "profiles.toml").write_text(
        f'[profiles.rehearsal]\nbase_url = "{base_url}"\nemail = "{email}"\nexclusive = true\n',
        encoding="utf-8",
    )


def judged(name: str, found: list[int], doubt: str | None = None) -> Trial:
    """Return a trial at whose end every row should be in the sandbox once."""
    return Trial(
        name=name,
        rows=len(found),
        duplicates=sum(count - 1 for count in found if count > 1),
        lost=sum(count == 0 for count in found),
        doubt=doubt,
    )


def quick_client(site: Site, timeout: float, *, trusting: bool = False) -> Client:
    """Return a client that waits for nothing but answers."""
    return Client(
        site.target(trusting=trusting),
        timeout=timeout,
        retry_policy=RetryPolicy(sleep=lambda _seconds: None),
    )
