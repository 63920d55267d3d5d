"""SIGKILL in the middle of an upload, at an exact step or at a random moment; then it is resumed.

At the end of every trial each row must be in the sandbox once: by the upload itself, by its
resumption, or, where only a person can tell, after a person has looked and said so.
"""

import json
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from environment import clean_environment
from forked import Running, Zygote
from subjects import Processing, Subject, texts
from trials import Site, Trial, judged
from wire_proxy import Point, Request

ROWS = 4
ROWS_OF = {"inventario": 3}
"""Rows where there can be no more: of a branch one inventory is open."""

_RESUMES = 4


@dataclass(frozen=True)
class Step:
    """Where an upload is killed: at a point of its n-th request, or at its n-th journal write."""

    number: int
    point: Point | None = None
    before: bool = False
    what: str = ""

    def __str__(self) -> str:
        if self.point is not None:
            return f"{self.point} of {self.what}"
        return f"{'before' if self.before else 'after'} journal write {self.number + 1}"


class Broken(AssertionError):
    """A command ended as none should."""


@dataclass
class Laboratory:
    """Everything that kill trials need."""

    site: Site
    zygote: Zygote
    folder: Path

    def steps(self, subject: Subject) -> Iterator[Step]:
        """Run an upload undisturbed, and yield every step that it took; of a poll the first."""
        course = self.course(subject)
        course.upload()
        first = {_named(request): request for request in reversed(self.site.proxy.seen)}
        for named, request in sorted(first.items(), key=lambda item: item[1].number):
            for point in Point:
                if point is not Point.BODY or request.body:
                    yield Step(request.number, point, what=named)
        course = self.course(subject)
        for number in range(int(course.drive(-1).stdout) if course.driven else 0):
            yield Step(number, before=True)
            yield Step(number)

    def kill_at(self, subject: Subject, step: Step) -> Trial:
        """Kill an upload at a step, and bring it to its end."""
        course = self.course(subject)
        name = f"{subject.name}: {step}"
        if step.point is None:
            ended = course.drive(step.number, before=step.before)
        else:
            ended = course.upload_watched(step.number, step.point)
        # Answers and announcements share a commit as they come: a run may have fewer of them.
        fewer = step.point is None and ended.returncode == 0
        if ended.returncode != -9 and not fewer:
            raise Broken(f"{name}: not killed but ended with {ended.returncode}: {ended.stderr}")
        return course.to_its_end(name)

    def kill_after(self, subject: Subject, seconds: float, options: tuple[str, ...] = ()) -> Trial:
        """Kill an upload after a while, unless it has ended, and bring it to its end."""
        course = self.course(subject, options)
        course.upload(longest=seconds)
        return course.to_its_end(f"{subject.name}: after {seconds:.3f} s")

    def duration(self, subject: Subject, options: tuple[str, ...] = ()) -> float:
        """Return how many seconds an undisturbed upload takes just now."""
        course = self.course(subject, options)
        start = time.monotonic()
        course.upload()
        return time.monotonic() - start

    def course(self, subject: Subject, options: tuple[str, ...] = ()) -> "Course":
        """Begin anew: an empty home, a new sheet, a proxy that remembers nothing."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.site.proxy.reset()
        path = self.folder / "sheet.xlsx"
        known = self.site.write(subject, path, ROWS_OF.get(subject.resource, ROWS))
        self.site.proxy.reset()
        if isinstance(subject, Processing):
            return ProcessCourse(self, subject, path, known, options)
        if subject.mode.startswith("batches"):
            return TwoBatches(self, subject, path, known, options)
        if subject.mode in _CHANGES:
            return ChangeCourse(self, subject, path, known, options)
        return Course(self, subject, path, known, options)


def _named(request: Request) -> str:
    """Return what a request asks for, whatever the number in it."""
    return f"{request.method} {re.sub(r'[0-9]+$', 'ID', request.path)}"


@dataclass
class Course:
    """One upload and all that is done about it."""

    laboratory: Laboratory
    subject: Subject
    path: Path
    known: list[str]
    options: tuple[str, ...] = ()
    driven: ClassVar[bool] = True
    """Whether it can be killed at writes of the journal, too."""

    def upload(self, **how: Any) -> "subprocess.CompletedProcess[str]":
        """Run ``xlbridge upload``."""
        return self.run(
            "upload", str(self.path), "--mode", self.subject.mode, "--yes", *self.options, **how
        )

    def upload_watched(self, number: int, point: Point) -> "subprocess.CompletedProcess[str]":
        """Run ``xlbridge upload`` and kill it when a request reaches a point."""
        alive = threading.Event()
        process: list[Running] = []

        def begun(running: Running) -> None:
            process.append(running)
            alive.set()

        def watch(reached: Point, at: int, _request: Request | None) -> None:
            if (reached, at) == (point, number):
                alive.wait()
                process[0].kill()

        self.laboratory.site.proxy.watch = watch
        return self.upload(begun=begun)

    def drive(self, write: int, *, before: bool = False) -> "subprocess.CompletedProcess[str]":
        """Run the library's upload with a journal that kills at one of its writes."""
        when = "before" if before else "after"
        arguments = [str(self.path), self.subject.mode, str(write), when]
        return self.run(*arguments, module="journal_driver")

    def to_its_end(self, name: str) -> Trial:
        """Resume until the upload is over; where nothing is proven, look and say what is there."""
        site = self.laboratory.site
        self.quiet()
        job = self.job()
        if job is None:
            self._upload_again()
            return self._judge(name, None)
        for _ in range(_RESUMES):
            self.quiet()
            job = self._report(self.run("resume", job["job"], "--yes", "--format", "json"))
            if job["state"] in ("done", "previewed"):
                return self._judge(name, None)
            if job["state"] not in ("in_doubt", "processing", "queued"):
                raise Broken(f"{name}: {job}")
        there = site.counts(self.subject, self.known)
        seen = "applied" if all(there) else "not-applied"
        decided = self._report(
            self.run("resolve", job["job"], "--as", seen, "--reason", "looked", "--format", "json")
        )
        doubt = f"{name.split(' of ')[-1]}: a person saw that it was {seen}"
        if decided["state"] == "partial":
            self._send("retry", job["job"])
        elif not all(there):
            self._upload_again()
        return self._judge(name, doubt)

    def _judge(self, name: str, doubt: str | None) -> Trial:
        found = self.laboratory.site.counts(self.subject, self.known)
        if self.subject.mode == "preview":
            return Trial(name, len(found), duplicates=sum(found), lost=0, doubt=doubt)
        return judged(name, found, doubt)

    def _upload_again(self) -> None:
        self._send("upload", str(self.path), "--mode", self.subject.mode, *self.options)

    def _send(self, *arguments: str) -> None:
        ended = self.run(*arguments, "--yes")
        if ended.returncode != 0:
            raise Broken(f"sent again: {ended.returncode} {ended.stderr}")

    def quiet(self) -> None:
        """Wait until nothing of the killed process is on its way any more."""
        proxy = self.laboratory.site.proxy
        proxy.watch = lambda _point, _number, _request: None
        proxy.wait_for_all()
        self.laboratory.site.counts(self.subject, [])

    def job(self) -> dict[str, Any] | None:
        """Return what the journal says of the upload, None where it was not recorded."""
        jobs = json.loads(self.run("jobs", "--format", "json").stdout)["jobs"]
        own = [job for job in jobs if job["part_of"] is None]
        return own[0] if own else None

    def _report(self, ended: "subprocess.CompletedProcess[str]") -> dict[str, Any]:
        try:
            report: dict[str, Any] = json.loads(ended.stdout)
        except ValueError:
            raise Broken(f"{ended.returncode}: {ended.stderr}") from None
        return report

    def run(
        self, *arguments: str, home: str = "home", **how: Any
    ) -> "subprocess.CompletedProcess[str]":
        """Run a command in a home of this course."""
        target = self.laboratory.site.target()
        environment = clean_environment(
            self.laboratory.folder / home,
            XLBRIDGE_SETTLE="0",
            XLBRIDGE_PROFILE=target.profile,
            XLBRIDGE_BASE_URL=target.base_url,
            XLBRIDGE_EMAIL=target.email,
            XLBRIDGE_PASSWORD=target.password,
        )
        folder, zygote = self.laboratory.folder, self.laboratory.zygote
        return zygote.run(folder, environment, list(arguments), **how)


@dataclass
class ProcessCourse(Course):
    """Processing of records, and all that is done about it."""

    def upload(self, **how: Any) -> "subprocess.CompletedProcess[str]":
        """Run ``xlbridge process``."""
        return self.run("process", self.subject.resource, str(self.path), "--yes", **how)

    def drive(self, write: int, *, before: bool = False) -> "subprocess.CompletedProcess[str]":
        """Process records with a journal that kills at one of its writes."""
        arguments = [str(self.path), self.subject.name, str(write), "before" if before else "after"]
        return self.run(*arguments, module="journal_driver")

    def _upload_again(self) -> None:
        self._send("process", self.subject.resource, str(self.path))


_CHANGES = {"update": ("upload", "--update"), "undo": ("undo",)}
_EDITED = ", alterado"


@dataclass
class ChangeCourse(Course):
    """Update or undo of rows that were uploaded before, and all that is done about it.

    ``first`` is the job of that upload.
    """

    first: str = field(default="", init=False)

    def __post_init__(self) -> None:
        self._send("upload", str(self.path))
        job = self.job()
        if job is None:
            raise Broken("the first upload left no job")
        self.first = job["job"]
        if self.subject.mode == "update":
            customer = self.laboratory.site.customer
            self.subject.write_keys(self.path, self.known, customer, _EDITED)
        self.laboratory.site.proxy.reset()

    def upload(self, **how: Any) -> "subprocess.CompletedProcess[str]":
        """Run the command that changes the records."""
        return self.run(*self._command, "--yes", *self.options, **how)

    @property
    def _command(self) -> tuple[str, ...]:
        command, *options = _CHANGES[self.subject.mode]
        what = str(self.path) if self.subject.mode == "update" else self.first
        return (command, what, *options)

    def to_its_end(self, name: str) -> Trial:
        """Resume until the change is over, or run it again where it was not recorded."""
        for _ in range(_RESUMES):
            self.quiet()
            job = self.job()
            if job is None or job["job"] == self.first:
                self._send(*self._command)
                break
            resumed = self.run("resume", job["job"], "--yes", "--format", "json")
            if self._report(resumed)["state"] == "done":
                break
        else:
            raise Broken(f"{name}: no end: {job}")
        found = texts(self.laboratory.site.database, self.subject, self.known)
        wanted = [
            [self.subject.saying(one, _EDITED)] if self.subject.mode == "update" else []
            for one in self.known
        ]
        return Trial(
            name,
            len(found),
            duplicates=sum(max(0, len(one) - 1) for one in found),
            lost=sum(there != meant for there, meant in zip(found, wanted, strict=True)),
        )


_PLAN = (
    "name: lote-{home}\nsteps:\n  pagar:\n    upload: lote.xlsx\n    resource: contaspagar\n"
    "    mode: {mode}\n"
)
_SAYS = ("", ", revisto")
_MOST_RUNS = 6


@dataclass
class TwoBatches(Course):
    """Two batches of the same keys: the first is killed, the second runs, then the first goes on.

    Each has a home and a workbook of its own, and says other things of the same titles. In the end
    each title is in the system once, as one of the two says, and only one says that it created it.
    """

    driven = False

    def __post_init__(self) -> None:
        customer = self.laboratory.site.customer
        _, _, mode = self.subject.mode.partition(" ")
        for home, said in enumerate(_SAYS):
            folder = self.laboratory.folder / f"lote-{home}"
            folder.mkdir()
            folder.joinpath("plan.yaml").write_text(_PLAN.format(home=home, mode=mode), "utf-8")
            self.subject.write_keys(folder / "lote.xlsx", self.known, customer, said)

    def upload(self, **how: Any) -> "subprocess.CompletedProcess[str]":
        """Run the first batch."""
        return self._run_batch(0, **how)

    def to_its_end(self, name: str) -> Trial:
        """Run the other batch, then both until they are done; look who created what."""
        accepted = [0, 0]
        for home in (1, 0, 1):
            accepted[home] = self._end_batch(name, home)
        self.quiet()
        found = texts(self.laboratory.site.database, self.subject, self.known)
        if sum(accepted) != len(self.known):
            raise Broken(f"{name}: the batches say that they created {accepted}: {found}")
        meant = [{self.subject.saying(one, said) for said in _SAYS} for one in self.known]
        return Trial(
            name,
            len(found),
            duplicates=sum(max(0, len(one) - 1) for one in found),
            lost=sum(not set(one) & said for one, said in zip(found, meant, strict=True)),
        )

    def _end_batch(self, name: str, home: int) -> int:
        """Run a batch until it is done; return how many rows it says are accepted."""
        for _ in range(_MOST_RUNS):
            self.quiet()
            ended = self._run_batch(home)
            report = self._report(ended)
            (step,) = report["steps"]
            if ended.returncode in (0, 1) and step["state"] in _OVER:
                return int(step["rows"]["accepted"])
        raise Broken(f"{name}: batch {home} does not end: {json.dumps(report)[:2000]}")

    def _run_batch(self, home: int, **how: Any) -> "subprocess.CompletedProcess[str]":
        plan = self.laboratory.folder / f"lote-{home}" / "plan.yaml"
        command = ("batch", "run", str(plan), "--yes", "--format", "json", "--workers", "1")
        return self.run(*command, home=f"home-{home}", **how)


_OVER = ("done", "failed", "partial", "rejected", "held")
