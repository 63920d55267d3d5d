"""SIGKILL in the middle of a command, at an exact step or at a random moment; then it goes on.

At the end of every trial each row must be in the sandbox once: by the command itself, by its
resumption, or, where only a person can tell, after a person has looked and said so.

The steps are all that others can see of a process: each request that writes, at each point of its
way, each that reads, before and after it, each commit of a journal or a ledger, each file that is
opened to be written. What happens between two of them happens to nobody but the process.
"""

import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from disk_driver import Failure
from kill_courses import (
    CHANGES,
    Broken,
    ChangeCourse,
    CountedCourse,
    Course,
    Laboratory,
    ProcessCourse,
)
from rival_courses import RivalBatches, RivalChanges, RivalColleagues, RivalWorkbooks
from subjects import Processing, Subject
from trials import Trial
from wire_proxy import Point

ROWS = 4
ROWS_OF = {"inventario": 3, "importacao": 2}
"""Rows where there can be no more, as of a branch one inventory is open, or each is a workbook."""

_AROUND = (Point.CONNECTED, Point.RELAYED)
"""Points of a request that changes nothing: before it, and after it."""

_COURSES: Mapping[str, type[Course]] = {
    "change": ChangeCourse,
    "counted": CountedCourse,
    "batches": RivalBatches,
    "workbooks": RivalWorkbooks,
    "colleagues": RivalColleagues,
    "changes": RivalChanges,
}
"""What is made of subjects by their way; an upload of its own where it is not told."""

_KILLED = -9


@dataclass(frozen=True)
class Step:
    """Where a command is killed: at a point of its n-th request, or before its n-th write."""

    number: int
    what: str
    point: Point | None = None

    def __str__(self) -> str:
        return f"before {self.what}" if self.point is None else f"{self.point} of {self.what}"


def steps(laboratory: Laboratory, subject: Subject) -> Iterator[Step]:
    """Run a command undisturbed, and yield every step that it took."""
    course = begin(laboratory, subject, _at_once(subject, 4))
    course.upload()
    for request in sorted(laboratory.site.proxy.seen, key=lambda one: one.number):
        what = f"request {request.number + 1}, {request.method} {request.path}"
        for point in Point if request.may_write else _AROUND:
            if point is not Point.BODY or request.body:
                yield Step(request.number, what, point)
    for number, write in enumerate(begin(laboratory, subject, _at_once(subject, 1)).writes()):
        yield Step(number, f"write {number + 1}, {write}")


def kill_at(laboratory: Laboratory, subject: Subject, step: Step) -> Trial:
    """Kill a command at a step, and bring what it did to its end.

    A run may take fewer steps than the one before it, as answers and announcements share a commit
    as they come, and a poll may be the last: one that has ended before the step is told apart.
    """
    course = begin(laboratory, subject, _at_once(subject, 1 if step.point is None else 4))
    name = f"{subject.name}: {step}"
    if step.point is None:
        ended = course.upload_on_disk(step.number, Failure.KILLED)
    else:
        ended = course.upload_watched(step.number, step.point)
    killed = ended.returncode == _KILLED
    if not killed and ended.returncode not in (0, 1):
        raise Broken(f"{name}: not killed but ended with {ended.returncode}: {ended.stderr}")
    return replace(course.to_its_end(name), missed=not killed)


def kill_after(
    laboratory: Laboratory, subject: Subject, seconds: float, options: tuple[str, ...] = ()
) -> Trial:
    """Kill a command after a while, unless it has ended, and bring what it did to its end."""
    course = begin(laboratory, subject, options)
    ended = course.upload(longest=seconds)
    trial = course.to_its_end(f"{subject.name}: after {seconds:.3f} s")
    return replace(trial, missed=ended.returncode != _KILLED)


def duration(laboratory: Laboratory, subject: Subject, options: tuple[str, ...] = ()) -> float:
    """Return how many seconds an undisturbed command takes just now."""
    course = begin(laboratory, subject, options)
    start = time.monotonic()
    course.upload()
    return time.monotonic() - start


def begin(laboratory: Laboratory, subject: Subject, options: tuple[str, ...] = ()) -> Course:
    """Begin anew: empty homes, a new sheet, a proxy that remembers nothing."""
    site = laboratory.site
    shutil.rmtree(laboratory.folder, ignore_errors=True)
    laboratory.folder.mkdir(parents=True)
    site.proxy.reset()
    path = laboratory.folder / "sheet.xlsx"
    known = site.write(subject, path, ROWS_OF.get(subject.resource, ROWS))
    site.proxy.reset()
    kind = ProcessCourse if isinstance(subject, Processing) else _COURSES.get(subject.way, Course)
    return kind(laboratory, subject, path, known, options)


def _at_once(subject: Subject, number: int) -> tuple[str, ...]:
    """Return the option that so many records are written at once, where they are one by one."""
    one_by_one = subject.mode in (*CHANGES, "records", "process")
    return ("--at-once", str(number)) if one_by_one and subject.way != "batches" else ()
