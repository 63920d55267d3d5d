"""What is killed, and how it is brought to its end: uploads, processings, updates, undos."""

import json
import subprocess
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from disk_driver import WRITES_BEGIN, Failure
from environment import clean_environment
from forked import Running, Zygote
from subjects import Subject, texts
from trials import Site, Trial, judged, mark_exclusive
from wire_proxy import Point, Request

_RESUMES = 4


class Broken(AssertionError):
    """A command ended as none should."""


@dataclass
class Laboratory:
    """Everything that kill trials need."""

    site: Site
    zygote: Zygote
    folder: Path


@dataclass
class Course:
    """One upload and all that is done about it."""

    laboratory: Laboratory
    subject: Subject
    path: Path
    known: list[str]
    options: tuple[str, ...] = ()
    over: ClassVar[frozenset[str]] = frozenset({"done", "previewed"})
    """States in which nothing is left to do."""

    @property
    def command(self) -> tuple[str, ...]:
        """What is run, and killed."""
        return ("upload", str(self.path), "--mode", self.subject.mode)

    def upload(self, **how: Any) -> "subprocess.CompletedProcess[str]":
        """Run the command."""
        return self.run(*self.command, *self.options, "--yes", **how)

    def upload_watched(self, number: int, point: Point) -> "subprocess.CompletedProcess[str]":
        """Run the command and kill it when a request reaches a point."""
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

    def upload_on_disk(
        self, number: int, failure: Failure, extra: int = 0
    ) -> "subprocess.CompletedProcess[str]":
        """Run the command on a disk that fails from its ``number``-th write on."""
        return self.run(
            *(str(number), failure, str(extra), *self.command, *self.options, "--yes"),
            module="disk_driver",
        )

    def writes(self) -> list[str]:
        """Run the command undisturbed, and return what it writes to the disk."""
        ended = self.upload_on_disk(-1, Failure.FULL)
        if ended.returncode not in (0, 1):
            raise Broken(f"{self.subject.name}: {ended.returncode} {ended.stderr}")
        return ended.stdout.partition(f"{WRITES_BEGIN}\n")[2].splitlines()

    def to_its_end(self, name: str) -> Trial:
        """Resume until the upload is over; where nothing is proven, look and say what is there."""
        self.quiet()
        job = self.job()
        if job is None:
            self.upload_again()
            return self.judge(name, None)
        for _ in range(_RESUMES):
            self.quiet()
            job = self.report(self.run("resume", job["job"], "--yes", "--format", "json"))
            if job["state"] in self.over:
                return self.judge(name, None)
            if job["state"] not in ("in_doubt", "processing", "queued"):
                raise Broken(f"{name}: {job}")
        there = self.all_there()
        seen = "applied" if there else "not-applied"
        decided = self.report(
            self.run("resolve", job["job"], "--as", seen, "--reason", "looked", "--format", "json")
        )
        doubt = f"{name.split(' of ')[-1]}: a person saw that it was {seen}"
        if decided["state"] == "partial":
            self.send("retry", job["job"])
        elif not there:
            self.upload_again()
        return self.judge(name, doubt)

    def all_there(self) -> bool:
        """Whether a person finds every row in the system."""
        return all(self.laboratory.site.counts(self.subject, self.known))

    def judge(self, name: str, doubt: str | None) -> Trial:
        """Return the trial's figures."""
        found = self.laboratory.site.counts(self.subject, self.known)
        if self.subject.mode == "preview":
            return Trial(name, len(found), duplicates=sum(found), lost=0, doubt=doubt)
        return judged(name, found, doubt)

    def upload_again(self) -> None:
        """Run the command once more: nothing was recorded of it, or nothing done."""
        self.send(*self.command, *self.options)

    def send(self, *arguments: str) -> None:
        """Run a command that must succeed."""
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
        """Return what the journal says of the newest upload, None where it was not recorded."""
        return next((job for job in self.jobs() if job["part_of"] is None), None)

    def jobs(self, home: str = "home") -> list[dict[str, Any]]:
        """Return what the journal of a home says of its jobs, the newest first."""
        listed: list[dict[str, Any]] = self.report(self.run("jobs", "--format", "json", home=home))[
            "jobs"
        ]
        return listed

    def report(self, ended: "subprocess.CompletedProcess[str]") -> dict[str, Any]:
        """Return what a command says in JSON."""
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
        how.setdefault("alone", bool(how))
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

    @property
    def command(self) -> tuple[str, ...]:
        """What is run, and killed."""
        return ("process", self.subject.resource, str(self.path))


@dataclass
class CountedCourse(Course):
    """Upload of inventories with their counts, where nobody else writes meanwhile."""

    def __post_init__(self) -> None:
        target = self.laboratory.site.target()
        mark_exclusive(self.laboratory.folder / "home", target.base_url, target.email)

    @property
    def command(self) -> tuple[str, ...]:
        """What is run, and killed."""
        return (*super().command, "--create-unread")


CHANGES = {"update": ("upload", "--update"), "undo": ("undo",)}
_EDITED = ", alterado"


@dataclass
class ChangeCourse(Course):
    """Update or undo of rows that were uploaded before, and all that is done about it.

    ``first`` is the job of that upload.
    """

    first: str = field(default="", init=False)

    def __post_init__(self) -> None:
        first = ("upload", str(self.path), "--mode", "direct", "--no-preview")
        self.first = self.report(self.run(*first, "--yes", "--format", "json"))["job"]
        if self.subject.mode == "update":
            customer = self.laboratory.site.customer
            self.subject.write_keys(self.path, self.known, customer, _EDITED)
        self.laboratory.site.proxy.reset()

    @property
    def command(self) -> tuple[str, ...]:
        """What is run, and killed."""
        command, *options = CHANGES[self.subject.mode]
        what = str(self.path) if self.subject.mode == "update" else self.first
        return (command, what, *options)

    def to_its_end(self, name: str) -> Trial:
        """Resume until the change is over, or run it again where it was not recorded."""
        for _ in range(_RESUMES):
            self.quiet()
            job = self.job()
            if job is None or job["job"] == self.first:
                self.send(*self.command, *self.options)
                break
            resumed = self.run("resume", job["job"], "--yes", "--format", "json")
            if self.report(resumed)["state"] == "done":
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
