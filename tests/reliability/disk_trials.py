"""Uploads on a disk that fails from one of their writes on; then the disk is well, and they go on.

At the end of every trial each row must be in the sandbox once. The command that was struck must
end with exit code 6 where nothing had left, and with 5 where a request had left whose outcome it
could not write down.
"""

import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from disk_driver import JOURNAL, Failure
from kill_courses import Broken, Laboratory
from kill_trials import begin
from subjects import BY_RECORD, DIRECT, KEYLESS, OWN_QUEUE, PREVIEW, QUEUE, Subject
from trials import Trial

_PARTS = ("--chunk-rows", "2")
SUBJECTS: tuple[tuple[Subject, tuple[str, ...]], ...] = (
    (DIRECT, ()),
    (QUEUE, ()),
    (OWN_QUEUE, ()),
    (KEYLESS, ()),
    (PREVIEW, ()),
    (BY_RECORD, ()),
    (DIRECT, _PARTS),
)
FAILURES = tuple(failure for failure in Failure if failure is not Failure.KILLED)
"""Ways in which a disk fails, and the process goes on."""

_EXTRA_BYTES = (0, 1, 700, 4200)
"""Bytes of a torn write that still reach the disk: none, one, part of a page, a page and a bit."""

_OVER = ("done", "partial", "rejected", "previewed")
"""States of the journal that leave nothing in doubt."""


@dataclass(frozen=True)
class Strike:
    """What fails: from which write of an upload on, how, and after how many bytes more."""

    subject: Subject
    options: tuple[str, ...]
    number: int
    write: str
    failure: Failure
    extra: int = 0

    def __str__(self) -> str:
        parts = " in parts" if self.options else ""
        return f"{self.subject.name}{parts}: {self.failure} at write {self.number} ({self.write})"


def strikes(
    laboratory: Laboratory, subjects: Sequence[tuple[Subject, tuple[str, ...]]] = SUBJECTS
) -> Iterator[Strike]:
    """Yield every way of failing at every write of uploads of those kinds."""
    for subject, options in subjects:
        for number, write in enumerate(begin(laboratory, subject, options).writes()):
            for failure in FAILURES:
                torn = failure is Failure.TORN
                if torn and not write.startswith(JOURNAL):
                    continue
                for extra in _EXTRA_BYTES if torn else (0,):
                    yield Strike(subject, options, number, write, failure, extra)


def disk_trial(laboratory: Laboratory, strike: Strike) -> Trial:
    """Let the disk fail, hold the command to its exit code, and bring the upload to its end."""
    course = begin(laboratory, strike.subject, strike.options)
    ended = course.upload_on_disk(strike.number, strike.failure, strike.extra)
    left = any(request.may_write for request in laboratory.site.proxy.seen)
    course.quiet()
    job = course.job()
    _require_honest(strike, ended, left, None if job is None else job["state"])
    return course.to_its_end(str(strike))


def _require_honest(
    strike: Strike, ended: "subprocess.CompletedProcess[str]", left: bool, state: str | None
) -> None:
    """Hold what the command said against what it did, and against what the journal knows."""
    code, told = ended.returncode, ended.stderr
    if "defect" in told or "Traceback" in told:
        raise Broken(f"{strike}: {told}")
    if code == 0:
        return
    # Of a sheet in parts, or record by record, all that had left may be settled before the job is.
    settled = state in _OVER or strike.options or strike.subject is BY_RECORD
    known = {6} if not left else {5, 6} if settled else {5}
    if code not in known:
        raise Broken(f"{strike}: exit code {code}, not one of {known}; {state}: {told}")
    if not any(word in told for word in ("disk", "permission", "file")):
        raise Broken(f"{strike}: does not tell what failed: {told}")
