"""Kills of one of two that send the same keys in other words: workbooks, batches, changes.

The first is killed, the other goes its way, then the first is brought to its end.
"""

import json
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from kill_courses import Broken, ChangeCourse, Course
from subjects import texts
from trials import Trial

_SAYS = ("", ", revisto")
_MOST_RUNS = 6
_OVER = frozenset({"done", "failed", "partial", "rejected", "held"})


@dataclass
class _Rivals(Course):
    """One of two that create the same records, each in words of its own.

    In the end each is in the system once, as one of the two says, and only one says so.
    """

    def trial(self, name: str, accepted: int, doubt: str | None = None) -> Trial:
        """Return the trial's figures; ``accepted`` is how many records the two say they created."""
        found = texts(self.laboratory.site.database, self.subject, self.known)
        if accepted != len(self.known) and doubt is None:
            raise Broken(f"{name}: the two say that they created {accepted}: {found}")
        meant = [{self.subject.saying(one, said) for said in _SAYS} for one in self.known]
        return Trial(
            name,
            len(found),
            duplicates=sum(max(0, len(one) - 1) for one in found),
            lost=sum(not set(one) & said for one, said in zip(found, meant, strict=True)),
            doubt=doubt,
        )


@dataclass
class RivalWorkbooks(_Rivals):
    """Upload of a workbook that is killed; of the same home, another one is uploaded then."""

    rival_home: ClassVar[str] = "home"
    over: ClassVar[frozenset[str]] = _OVER
    rival: Path = field(init=False)

    def __post_init__(self) -> None:
        self.rival = self.path.with_name("rival.xlsx")
        self.subject.write_keys(self.rival, self.known, self.laboratory.site.customer, _SAYS[1])

    def to_its_end(self, name: str) -> Trial:
        """Upload the other workbook, end the first, upload the other again; look who created."""
        self._upload_rival()
        ended = super().to_its_end(name)
        self._upload_rival()
        homes = {"home", self.rival_home}
        accepted = sum(
            job["rows"]["accepted"]
            for home in homes
            for job in self.jobs(home)
            if job["part_of"] is None
        )
        return self.trial(name, accepted, ended.doubt)

    def all_there(self) -> bool:
        """Whether a person finds every row in the system, as this workbook says it."""
        found = texts(self.laboratory.site.database, self.subject, self.known)
        said = (self.subject.saying(one, _SAYS[0]) for one in self.known)
        return all(one in there for one, there in zip(said, found, strict=True))

    def job(self) -> dict[str, Any] | None:
        """Return what the journal says of the workbook's upload, None where it was not recorded."""
        own = (one for one in self.jobs() if one["file"] == str(self.path))
        return next((one for one in own if one["part_of"] is None), None)

    def send(self, *arguments: str) -> None:
        """Run a command that may hold what is there in other words."""
        ended = self.run(*arguments, "--yes")
        if ended.returncode not in (0, 1):
            raise Broken(f"sent again: {ended.returncode} {ended.stderr}")

    def _upload_rival(self) -> None:
        self.quiet()
        command = ("upload", str(self.rival), "--mode", self.subject.mode, "--yes")
        ended = self.run(*command, home=self.rival_home)
        if ended.returncode not in (0, 1, 2):
            raise Broken(f"the other workbook: {ended.returncode} {ended.stderr}")


class RivalColleagues(RivalWorkbooks):
    """Upload of a workbook that is killed; a colleague uploads another one then."""

    rival_home = "rival-home"


_TO_RIVAL = ", de outra pessoa"


@dataclass
class RivalChanges(ChangeCourse):
    """Update or undo that is killed; then a colleague changes, or creates, all of the records.

    What the colleague wrote stays, whatever the first does afterwards.
    """

    def to_its_end(self, name: str) -> Trial:
        """Let the colleague change the records, and end what was killed."""
        self.quiet()
        rival = self.path.with_name("rival.xlsx")
        self.subject.write_keys(rival, self.known, self.laboratory.site.customer, _TO_RIVAL)
        ended = self.run("upload", str(rival), "--update", "--yes", home="rival-home")
        if ended.returncode != 0:
            raise Broken(f"{name}: the colleague: {ended.returncode} {ended.stderr}")
        doubt = self._end_own(name)
        found = texts(self.laboratory.site.database, self.subject, self.known)
        said = [self.subject.saying(one, _TO_RIVAL) for one in self.known]
        return Trial(
            name,
            len(found),
            duplicates=sum(max(0, len(one) - 1) for one in found),
            lost=sum(one not in there for one, there in zip(said, found, strict=True)),
            doubt=doubt,
        )

    def _end_own(self, name: str) -> str | None:
        """End what was killed, unless nothing of it was sent; return the doubt that it left.

        A record that is as neither of the two left it tells nothing: a person decides.
        """
        doubt = None
        for run in range(_MOST_RUNS):
            self.quiet()
            job = self.job()
            if job is None or job["job"] == self.first or job["state"] == "previewed":
                return doubt
            resumed = self.report(self.run("resume", job["job"], "--yes", "--format", "json"))
            if resumed["state"] in _OVER:
                return doubt
            if run == 1:
                doubt = f"{self.subject.name}: a person decided"
                seen = ("--as", "not-applied", "--reason", "looked")
                resolved = self.run("resolve", job["job"], *seen, "--format", "json")
                if self.report(resolved)["state"] in _OVER:
                    return doubt
        raise Broken(f"{name}: no end: {job}")


_PLAN = (
    "name: lote-{home}\nsteps:\n  pagar:\n    upload: lote.xlsx\n    resource: contaspagar\n"
    "    mode: {mode}\n"
)


@dataclass
class RivalBatches(_Rivals):
    """Two batches: the first is killed, the second runs, then the first goes on."""

    def __post_init__(self) -> None:
        customer = self.laboratory.site.customer
        for home, said in enumerate(_SAYS):
            folder = self.laboratory.folder / f"lote-{home}"
            folder.mkdir()
            plan = _PLAN.format(home=home, mode=self.subject.mode)
            folder.joinpath("plan.yaml").write_text(plan, "utf-8")
            self.subject.write_keys(folder / "lote.xlsx", self.known, customer, said)

    @property
    def command(self) -> tuple[str, ...]:
        """The first batch."""
        return self._batch(0)

    def to_its_end(self, name: str) -> Trial:
        """Run the other batch, then both until they are done; look who created what."""
        accepted = [0, 0]
        doubts: list[str] = []
        for home in (1, 0, 1):
            accepted[home] = self._end_batch(name, home, doubts)
        self.quiet()
        return self.trial(name, sum(accepted), next(iter(doubts), None))

    def _end_batch(self, name: str, home: int, doubts: list[str]) -> int:
        """Run a batch until it is done; return how many rows it says are accepted."""
        for run in range(_MOST_RUNS):
            self.quiet()
            ended = self._run(home)
            report = self.report(ended)
            (step,) = report["steps"]
            if ended.returncode in (0, 1) and step["state"] in _OVER:
                return int(step["rows"]["accepted"])
            if run and step["state"] == "in_doubt":
                doubts.append(f"{name.split(' of ')[-1]}: {self._decide(step, home)}")
        raise Broken(f"{name}: batch {home} does not end: {json.dumps(report)[:2000]}")

    def _decide(self, step: dict[str, Any], home: int) -> str:
        """Look whether the batch's rows are there as it says them, and tell it what was seen."""
        found = texts(self.laboratory.site.database, self.subject, self.known)
        said = (self.subject.saying(one, _SAYS[home]) for one in self.known)
        there = all(one in texts_there for one, texts_there in zip(said, found, strict=True))
        seen = "applied" if there else "not-applied"
        job = step["units"][0]["jobs"][-1]
        self.run("resolve", job, "--as", seen, "--reason", "looked", home=self._home(home))
        return f"a person saw that it was {seen}"

    def _run(self, number: int) -> "subprocess.CompletedProcess[str]":
        return self.run(*self._batch(number), "--yes", home=self._home(number))

    def _home(self, number: int) -> str:
        return f"home-{number}" if number else "home"

    def _batch(self, number: int) -> tuple[str, ...]:
        plan = self.laboratory.folder / f"lote-{number}" / "plan.yaml"
        return ("batch", "run", str(plan), "--format", "json", "--workers", "1")
