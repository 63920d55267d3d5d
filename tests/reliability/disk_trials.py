"""Uploads on a disk that fails from one of their writes on; then the disk works, and they resume.

At the end of every trial each row must be in the sandbox once. The failing command must exit with 6
if nothing was sent, and with 5 if the outcome of a sent request could not be stored.
"""

import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from disk_driver import JOURNAL, Failure
from kill_scenarios import TrialSetup, UnexpectedExit
from kill_trials import new_scenario
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
"""Failures of a disk that do not end the process."""

_EXTRA_BYTES = (0, 1, 700, 4200)
"""Bytes of a torn write that reach the disk: none, one, part of a page, a page and more."""

_FINISHED = ("done", "partial", "rejected", "previewed")
"""States of the journal that leave nothing in doubt."""


@dataclass(frozen=True)
class DiskFault:
    """Failure of a disk from a write of an upload on, after some extra bytes."""

    subject: Subject
    options: tuple[str, ...]
    number: int
    write: str
    failure: Failure
    extra: int = 0

    def __str__(self) -> str:
        parts = " in parts" if self.options else ""
        return f"{self.subject.name}{parts}: {self.failure} at write {self.number} ({self.write})"


def all_disk_faults(
    setup: TrialSetup, subjects: Sequence[tuple[Subject, tuple[str, ...]]] = SUBJECTS
) -> Iterator[DiskFault]:
    """Yield every failure at every write of uploads of these subjects."""
    for subject, options in subjects:
        for number, write in enumerate(new_scenario(setup, subject, options).writes()):
            for failure in FAILURES:
                torn = failure is Failure.TORN
                if torn and not write.startswith(JOURNAL):
                    continue
                for extra in _EXTRA_BYTES if torn else (0,):
                    yield DiskFault(subject, options, number, write, failure, extra)


def disk_trial(setup: TrialSetup, fault: DiskFault) -> Trial:
    """Let the disk fail, check the exit code, and run the upload to its end."""
    scenario = new_scenario(setup, fault.subject, fault.options)
    ended = scenario.upload_on_disk(fault.number, fault.failure, fault.extra)
    was_sent = any(request.may_write for request in setup.system.proxy.seen)
    scenario.wait_until_idle()
    job = scenario.job()
    _check_report(fault, ended, was_sent, None if job is None else job["state"])
    return scenario.run_to_end(str(fault))


def _check_report(
    fault: DiskFault, ended: "subprocess.CompletedProcess[str]", was_sent: bool, state: str | None
) -> None:
    """Compare the report of the command with its requests and with the journal."""
    code, stderr = ended.returncode, ended.stderr
    if "defect" in stderr or "Traceback" in stderr:
        raise UnexpectedExit(f"{fault}: {stderr}")
    if code == 0:
        return
    # Of a sheet in parts, or record by record, all that had left may be settled before the job is.
    settled = state in _FINISHED or fault.options or fault.subject is BY_RECORD
    expected = {6} if not was_sent else {5, 6} if settled else {5}
    if code not in expected:
        raise UnexpectedExit(f"{fault}: exit code {code}, not one of {expected}; {state}: {stderr}")
    if not any(word in stderr for word in ("disk", "permission", "file")):
        raise UnexpectedExit(f"{fault}: does not report what failed: {stderr}")
