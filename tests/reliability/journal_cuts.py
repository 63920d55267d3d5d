"""Journals that have lost their last commits: a killed upload whose log of changes is cut.

A power failure on a disk that does not keep its word, and a copy of the home made while it was in
use, leave such a journal. It is then resumed; no row may be in the sandbox twice, and only a person
may decide what nothing proves.
"""

import shutil
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import chain, islice, repeat
from pathlib import Path
from random import Random

from crashing_journal import CrashingJournal, Killed
from fake_clock import FakeClock
from fault_trials import create_job
from faults import PATIENCE
from journal_steps import check_steps
from subjects import (
    BY_RECORD,
    BY_RECORD_KEYLESS,
    DIRECT,
    DIRECT_KEYLESS,
    KEYLESS,
    OWN_QUEUE,
    PROCESSINGS,
    QUEUE,
    Subject,
)
from trials import SystemUnderTest, Trial, quick_client, trial_of

from xlbridge.errors import ApiError
from xlbridge.settings import Settings, read_settings
from xlbridge.upload import Journal, State, UploadContext, UploadOptions, Uploads
from xlbridge.upload.planning import ApproveAll

SUBJECTS = (
    *(DIRECT, DIRECT_KEYLESS, QUEUE, OWN_QUEUE, KEYLESS, BY_RECORD, BY_RECORD_KEYLESS),
    PROCESSINGS[0],
)
ROWS = 3
_SETTLE = 900.0
_RUNS, _JUMPY_RUNS = 9, 3
_CALM = repeat((0.0, False))
"""A clock that runs as it should."""

_JUMPS = (0.0, 0.0, 3600.0, -3600.0, 86400.0, -86400.0)
"""Seconds by which the clock is set."""

_MAX_WRITES = 12
"""Writes of the journal after the job exists, at one of which the upload is killed."""

_LOG_HEADER, _FRAME = 32, 24 + 4096
"""Bytes of the header of SQLite's log, and of each page in it."""


@dataclass(frozen=True)
class Cut:
    """Upload that is killed at a write of its journal, which then loses its last pages.

    ``lost`` is the share of the pages that are lost; ``parts`` the size of the parts it is sent in.
    Before the first runs of ``resume`` the clock ``jumps``, and the computer may be ``started``
    again.
    """

    subject: Subject
    write: int
    lost: float
    parts: int | None = None
    jumps: tuple[float, ...] = ()
    started: tuple[bool, ...] = ()

    def __str__(self) -> str:
        return (
            f"{self.subject.name}: killed at {self.write}, {self.lost:.0%} lost ({self.parts}), "
            f"clock set by {self.jumps}, started again: {self.started}"
        )


def random_cuts(number: int, seed: int) -> Iterator[Cut]:
    """Yield cuts at random moments of each kind of upload in turn."""
    rng = Random(seed)
    for index in range(number):
        subject = SUBJECTS[index % len(SUBJECTS)]
        parts = rng.choice([None, 2]) if subject.mode in {"direct", "queue"} else None
        jumps = tuple(rng.choice(_JUMPS) for _ in range(_JUMPY_RUNS))
        started = tuple(rng.random() < 0.2 for _ in range(_JUMPY_RUNS))
        yield Cut(subject, rng.randrange(_MAX_WRITES), rng.random(), parts, jumps, started)


def cut_trial(system: SystemUnderTest, folder: Path, cut: Cut) -> Trial:
    """Kill an upload, cut its journal, and resume it until it ends or a person must decide."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    system.proxy.reset()
    path = folder / "sheet.xlsx"
    keys = system.write(cut.subject, path, ROWS)
    system.proxy.reset()
    clock = FakeClock()
    options = UploadOptions(
        consent=ApproveAll(),
        mode="auto" if cut.subject.mode == "process" else cut.subject.mode,  # type: ignore[arg-type]
        sleep=lambda _s: None,
        settle_seconds=_SETTLE,
        chunk_rows=cut.parts,
        at_once=2,
    )
    used, copied = (_settings(folder / name) for name in ("home", "copy"))
    with closing(Journal(used.journal, now=clock)) as journal, quick_client(system, PATIENCE) as c:
        context = UploadContext(used, system.catalogue, journal)
        job = create_job(context, c, cut.subject, path, keys, options)
    journal = CrashingJournal(used.journal, cut.write, before=False, now=clock)
    with quick_client(system, PATIENCE) as client, suppress(Killed):
        context = UploadContext(used, system.catalogue, journal)
        Uploads(context, client).run(journal.job(job.id), options)
    shutil.copytree(used.home, copied.home)
    journal.close()
    system.counts(cut.subject, keys)
    _cut(copied.journal, cut.lost)
    with closing(Journal(copied.journal, now=clock)) as rest:
        context = UploadContext(copied, system.catalogue, rest)
        state = State.PREPARED
        for jump, started in islice(chain(zip(cut.jumps, cut.started, strict=True), _CALM), _RUNS):
            clock.set_by(jump)
            if started:
                clock.start_again()
            with quick_client(system, PATIENCE) as client, suppress(ApiError):
                Uploads(context, client).run(rest.job(job.id), options)
            system.counts(cut.subject, keys)
            state = rest.job(job.id).state
            if state is State.DONE or state is State.NEEDS_PERSON:
                break
            clock.advance(_SETTLE)
        check_steps(rest)
    found = system.counts(cut.subject, keys)
    if state is State.DONE:
        return trial_of(str(cut), found)
    if state is not State.NEEDS_PERSON:
        raise AssertionError(f"{cut}: {state}, {found}")
    # What the person decides on may be there or not.
    present = [max(1, count) for count in found]
    return trial_of(str(cut), present, f"cut journal: {cut.subject.name}")


def _settings(home: Path) -> Settings:
    return read_settings({"XLBRIDGE_HOME": str(home), "XLBRIDGE_SETTLE": str(_SETTLE)})


def _cut(journal: Path, lost: float) -> None:
    """Remove a share of the pages at the end of a journal's log."""
    log = journal.with_name(f"{journal.name}-wal")
    if not log.exists():
        return
    frames = (log.stat().st_size - _LOG_HEADER) // _FRAME
    with log.open("rb+") as file:
        file.truncate(max(0, _LOG_HEADER + round(frames * (1 - lost)) * _FRAME))
    journal.with_name(f"{journal.name}-shm").unlink(missing_ok=True)
