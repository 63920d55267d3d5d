"""Commands that are killed and run to their end: uploads, processings, updates, undos."""

import json
import subprocess
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import in_process
from disk_driver import WRITES_BEGIN, Failure
from environment import clean_environment
from forked import Running, Zygote
from subjects import Subject, texts
from trials import SystemUnderTest, Trial, mark_exclusive, trial_of
from wire_proxy import Point, Request

_RESUMES = 4


class UnexpectedExit(AssertionError):
    """A command ended in an unexpected way."""


@dataclass
class TrialSetup:
    """System, processes and folder of kill trials, and the seed of random ones."""

    system: SystemUnderTest
    zygote: Zygote
    folder: Path
    seed: int = 0


@dataclass
class Scenario:
    """One upload, from its first run to its end."""

    setup: TrialSetup
    subject: Subject
    path: Path
    keys: list[str]
    options: tuple[str, ...] = ()
    finished: ClassVar[frozenset[str]] = frozenset({"done", "previewed"})
    """States in which nothing is left to do."""

    @property
    def command(self) -> tuple[str, ...]:
        """Command that is run and killed."""
        return ("upload", str(self.path), "--mode", self.subject.mode)

    def upload(self, **options_of_run: Any) -> "subprocess.CompletedProcess[str]":
        """Run the command."""
        return self.run(*self.command, *self.options, "--yes", **options_of_run)

    def upload_watched(self, number: int, point: Point) -> "subprocess.CompletedProcess[str]":
        """Run the command and kill it when a request reaches a point."""
        started = threading.Event()
        process: list[Running] = []

        def begun(running: Running) -> None:
            process.append(running)
            started.set()

        def watch(reached: Point, at: int, _request: Request | None) -> None:
            if (reached, at) == (point, number):
                started.wait()
                process[0].kill()

        self.setup.system.proxy.watch = watch
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
        """Run the command without failures; return its writes to the disk."""
        ended = self.upload_on_disk(-1, Failure.FULL)
        if ended.returncode not in (0, 1):
            raise UnexpectedExit(f"{self.subject.name}: {ended.returncode} {ended.stderr}")
        return ended.stdout.partition(f"{WRITES_BEGIN}\n")[2].splitlines()

    def run_to_end(self, name: str) -> Trial:
        """Resume until the upload is finished; resolve it by the database if nothing is proven."""
        self.wait_until_idle()
        job = self.job()
        if job is None:
            self.upload_again()
            return self.result(name, None)
        for _ in range(_RESUMES):
            self.wait_until_idle()
            job = self.report(self.run("resume", job["job"], "--yes", "--format", "json"))
            if job["state"] in self.finished:
                return self.result(name, None)
            if job["state"] not in ("in_doubt", "processing", "queued"):
                raise UnexpectedExit(f"{name}: {job}")
        applied = self.all_rows_found()
        resolution = "applied" if applied else "not-applied"
        decided = self.report(
            self.run(
                "resolve", job["job"], "--as", resolution, "--reason", "looked", "--format", "json"
            )
        )
        doubt = f"{name.split(' of ')[-1]}: a person saw that it was {resolution}"
        if decided["state"] == "partial":
            self.send("retry", job["job"])
        elif not applied:
            self.upload_again()
        return self.result(name, doubt)

    def all_rows_found(self) -> bool:
        """Return whether every row is in the system."""
        return all(self.setup.system.counts(self.subject, self.keys))

    def result(self, name: str, doubt: str | None) -> Trial:
        """Return the trial's figures."""
        found = self.setup.system.counts(self.subject, self.keys)
        if self.subject.mode == "preview":
            return Trial(name, len(found), duplicates=sum(found), lost=0, doubt=doubt)
        return trial_of(name, found, doubt)

    def upload_again(self) -> None:
        """Run the command again, because no job was stored or nothing was done."""
        self.send(*self.command, *self.options)

    def send(self, *arguments: str) -> None:
        """Run a command that must succeed."""
        ended = self.run(*arguments, "--yes")
        if ended.returncode != 0:
            raise UnexpectedExit(f"sent again: {ended.returncode} {ended.stderr}")

    def wait_until_idle(self) -> None:
        """Wait until all requests of the killed process are finished."""
        proxy = self.setup.system.proxy
        proxy.watch = lambda _point, _number, _request: None
        proxy.wait_for_all()
        self.setup.system.counts(self.subject, [])

    def job(self) -> dict[str, Any] | None:
        """Return the newest job of the journal, None if there is none."""
        return next((job for job in self.jobs() if job["part_of"] is None), None)

    def jobs(self, home: str = "home") -> list[dict[str, Any]]:
        """Return the jobs of a home's journal, newest first."""
        listed: list[dict[str, Any]] = self.report(self.run("jobs", "--format", "json", home=home))[
            "jobs"
        ]
        return listed

    def report(self, ended: "subprocess.CompletedProcess[str]") -> dict[str, Any]:
        """Return the JSON report of a command."""
        try:
            report: dict[str, Any] = json.loads(ended.stdout)
        except ValueError:
            raise UnexpectedExit(f"{ended.returncode}: {ended.stderr}") from None
        return report

    def run(
        self, *arguments: str, home: str = "home", **options_of_run: Any
    ) -> "subprocess.CompletedProcess[str]":
        """Run a command in a home of this scenario."""
        target = self.setup.system.target()
        environment = clean_environment(
            self.setup.folder / home,
            XLBRIDGE_SETTLE="0",
            XLBRIDGE_PROFILE=target.profile,
            XLBRIDGE_BASE_URL=target.base_url,
            XLBRIDGE_EMAIL=target.email,
            XLBRIDGE_PASSWORD=target.password,
        )
        folder, command = self.setup.folder, list(arguments)
        if not options_of_run:
            return in_process.run_command(folder, environment, command)
        return self.setup.zygote.run(folder, environment, command, **options_of_run)


@dataclass
class ProcessScenario(Scenario):
    """Processing of records, from its first run to its end."""

    @property
    def command(self) -> tuple[str, ...]:
        """Command that is run and killed."""
        return ("process", self.subject.resource, str(self.path))


@dataclass
class CountedScenario(Scenario):
    """Upload of inventories with their counts, with a profile that is exclusive."""

    def __post_init__(self) -> None:
        target = self.setup.system.target()
        mark_exclusive(self.setup.folder / "home", target.base_url, target.email)

    @property
    def command(self) -> tuple[str, ...]:
        """Command that is run and killed."""
        return (*super().command, "--create-unread")


CHANGES = {"update": ("upload", "--update"), "undo": ("undo",)}
_EDITED = ", alterado"


@dataclass
class ChangeScenario(Scenario):
    """Update or undo of uploaded rows, from its first run to its end.

    ``first`` is the job of that upload.
    """

    first: str = field(default="", init=False)

    def __post_init__(self) -> None:
        first = ("upload", str(self.path), "--mode", "direct", "--no-preview")
        self.first = self.report(self.run(*first, "--yes", "--format", "json"))["job"]
        if self.subject.mode == "update":
            customer = self.setup.system.customer
            self.subject.write_keys(self.path, self.keys, customer, _EDITED)
        self.setup.system.proxy.reset()

    @property
    def command(self) -> tuple[str, ...]:
        """Command that is run and killed."""
        command, *options = CHANGES[self.subject.mode]
        argument = str(self.path) if self.subject.mode == "update" else self.first
        return (command, argument, *options)

    def run_to_end(self, name: str) -> Trial:
        """Resume until the change is finished, or run it again if no job was stored."""
        for _ in range(_RESUMES):
            self.wait_until_idle()
            job = self.job()
            if job is None or job["job"] == self.first:
                self.send(*self.command, *self.options)
                break
            resumed = self.run("resume", job["job"], "--yes", "--format", "json")
            if self.report(resumed)["state"] == "done":
                break
        else:
            raise UnexpectedExit(f"{name}: no end: {job}")
        found = texts(self.setup.system.database, self.subject, self.keys)
        expected_texts = [
            [self.subject.row_text(one, _EDITED)] if self.subject.mode == "update" else []
            for one in self.keys
        ]
        return Trial(
            name,
            len(found),
            duplicates=sum(max(0, len(one) - 1) for one in found),
            lost=sum(
                actual != expected for actual, expected in zip(found, expected_texts, strict=True)
            ),
        )
