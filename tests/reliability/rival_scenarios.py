"""Kills of one of two uploads of the same keys with other texts: workbooks, batches, changes.

The first is killed, the other runs to its end, then the first is resumed.
"""

import json
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from kill_scenarios import ChangeScenario, Scenario, UnexpectedExit
from subjects import texts
from trials import Trial

_TEXTS = ("", ", revisto")
_MAX_RUNS = 6
_FINISHED = frozenset({"done", "failed", "partial", "rejected", "held"})


@dataclass
class _Rivals(Scenario):
    """One of two uploads that create the same records, each with its own texts.

    In the end each record exists once, with the text of one of them, and only one reports it.
    """

    def trial(self, name: str, accepted: int, doubt: str | None = None) -> Trial:
        """Return the trial's figures; ``accepted`` is the number of records reported as created."""
        found = texts(self.setup.system.database, self.subject, self.keys)
        if accepted != len(self.keys) and doubt is None:
            raise UnexpectedExit(f"{name}: the two report as created {accepted}: {found}")
        possible = [{self.subject.row_text(one, text) for text in _TEXTS} for one in self.keys]
        return Trial(
            name,
            len(found),
            duplicates=sum(max(0, len(one) - 1) for one in found),
            lost=sum(
                not set(actual) & texts_possible
                for actual, texts_possible in zip(found, possible, strict=True)
            ),
            doubt=doubt,
        )


@dataclass
class RivalWorkbooks(_Rivals):
    """Killed upload of a workbook; then another one is uploaded from the same home."""

    rival_home: ClassVar[str] = "home"
    finished: ClassVar[frozenset[str]] = _FINISHED
    rival: Path = field(init=False)

    def __post_init__(self) -> None:
        self.rival = self.path.with_name("rival.xlsx")
        self.subject.write_keys(self.rival, self.keys, self.setup.system.customer, _TEXTS[1])

    def run_to_end(self, name: str) -> Trial:
        """Upload the other workbook, finish the first, and upload the other again."""
        self._upload_rival()
        ended = super().run_to_end(name)
        self._upload_rival()
        homes = {"home", self.rival_home}
        accepted = sum(
            job["rows"]["accepted"]
            for home in homes
            for job in self.jobs(home)
            if job["part_of"] is None
        )
        return self.trial(name, accepted, ended.doubt)

    def all_rows_found(self) -> bool:
        """Return whether every row is in the system with the text of this workbook."""
        found = texts(self.setup.system.database, self.subject, self.keys)
        expected = (self.subject.row_text(one, _TEXTS[0]) for one in self.keys)
        return all(text in actual for text, actual in zip(expected, found, strict=True))

    def job(self) -> dict[str, Any] | None:
        """Return the newest job of the workbook, None if there is none."""
        jobs = (one for one in self.jobs() if one["file"] == str(self.path))
        return next((one for one in jobs if one["part_of"] is None), None)

    def send(self, *arguments: str) -> None:
        """Run a command that may hold rows whose records have other texts."""
        ended = self.run(*arguments, "--yes")
        if ended.returncode not in (0, 1):
            raise UnexpectedExit(f"sent again: {ended.returncode} {ended.stderr}")

    def _upload_rival(self) -> None:
        self.wait_until_idle()
        command = ("upload", str(self.rival), "--mode", self.subject.mode, "--yes")
        ended = self.run(*command, home=self.rival_home)
        if ended.returncode not in (0, 1, 2):
            raise UnexpectedExit(f"the other workbook: {ended.returncode} {ended.stderr}")


class RivalColleagues(RivalWorkbooks):
    """Killed upload of a workbook; then a colleague uploads another one."""

    rival_home = "rival-home"


_COLLEAGUES_TEXT = ", de outra pessoa"


@dataclass
class RivalChanges(ChangeScenario):
    """Killed update or undo; then a colleague changes or creates all the records.

    What the colleague wrote must stay, whatever the first does afterwards.
    """

    def run_to_end(self, name: str) -> Trial:
        """Let the colleague change the records, and finish the killed command."""
        self.wait_until_idle()
        rival = self.path.with_name("rival.xlsx")
        self.subject.write_keys(rival, self.keys, self.setup.system.customer, _COLLEAGUES_TEXT)
        ended = self.run("upload", str(rival), "--update", "--yes", home="rival-home")
        if ended.returncode != 0:
            raise UnexpectedExit(f"{name}: the colleague: {ended.returncode} {ended.stderr}")
        doubt = self._finish_killed(name)
        found = texts(self.setup.system.database, self.subject, self.keys)
        expected = [self.subject.row_text(one, _COLLEAGUES_TEXT) for one in self.keys]
        return Trial(
            name,
            len(found),
            duplicates=sum(max(0, len(one) - 1) for one in found),
            lost=sum(text not in actual for text, actual in zip(expected, found, strict=True)),
            doubt=doubt,
        )

    def _finish_killed(self, name: str) -> str | None:
        """Finish the killed command, unless nothing was sent; return its doubt, if any.

        A record that has neither text proves nothing, so a person decides.
        """
        doubt = None
        for run in range(_MAX_RUNS):
            self.wait_until_idle()
            job = self.job()
            if job is None or job["job"] == self.first or job["state"] == "previewed":
                return doubt
            resumed = self.report(self.run("resume", job["job"], "--yes", "--format", "json"))
            if resumed["state"] in _FINISHED:
                return doubt
            if run == 1:
                doubt = f"{self.subject.name}: a person decided"
                options = ("--as", "not-applied", "--reason", "looked")
                resolved = self.run("resolve", job["job"], *options, "--format", "json")
                if self.report(resolved)["state"] in _FINISHED:
                    return doubt
        raise UnexpectedExit(f"{name}: no end: {job}")


_PLAN = (
    "name: lote-{home}\nsteps:\n  pagar:\n    upload: lote.xlsx\n    resource: contaspagar\n"
    "    mode: {mode}\n"
)


@dataclass
class RivalBatches(_Rivals):
    """Two batches: the first is killed, the second runs, then the first is resumed."""

    def __post_init__(self) -> None:
        customer = self.setup.system.customer
        for home, text in enumerate(_TEXTS):
            folder = self.setup.folder / f"lote-{home}"
            folder.mkdir()
            plan = _PLAN.format(home=home, mode=self.subject.mode)
            folder.joinpath("plan.yaml").write_text(plan, "utf-8")
            self.subject.write_keys(folder / "lote.xlsx", self.keys, customer, text)

    @property
    def command(self) -> tuple[str, ...]:
        """The first batch."""
        return self._batch(0)

    def run_to_end(self, name: str) -> Trial:
        """Run the other batch, then both until they are done; count what they created."""
        accepted = [0, 0]
        doubts: list[str] = []
        for home in (1, 0, 1):
            accepted[home] = self._finish_batch(name, home, doubts)
        self.wait_until_idle()
        return self.trial(name, sum(accepted), next(iter(doubts), None))

    def _finish_batch(self, name: str, home: int, doubts: list[str]) -> int:
        """Run a batch until it is done; return the number of accepted rows."""
        for run in range(_MAX_RUNS):
            self.wait_until_idle()
            ended = self._run(home)
            report = self.report(ended)
            (step,) = report["steps"]
            if ended.returncode in (0, 1) and step["state"] in _FINISHED:
                return int(step["rows"]["accepted"])
            if run and step["state"] == "in_doubt":
                doubts.append(f"{name.split(' of ')[-1]}: {self._decide(step, home)}")
        raise UnexpectedExit(f"{name}: batch {home} does not end: {json.dumps(report)[:2000]}")

    def _decide(self, step: dict[str, Any], home: int) -> str:
        """Resolve the batch's job by the records in the database."""
        found = texts(self.setup.system.database, self.subject, self.keys)
        expected = (self.subject.row_text(one, _TEXTS[home]) for one in self.keys)
        applied = all(text in actual for text, actual in zip(expected, found, strict=True))
        resolution = "applied" if applied else "not-applied"
        job = step["units"][0]["jobs"][-1]
        self.run("resolve", job, "--as", resolution, "--reason", "looked", home=self._home(home))
        return f"a person saw that it was {resolution}"

    def _run(self, number: int) -> "subprocess.CompletedProcess[str]":
        return self.run(*self._batch(number), "--yes", home=self._home(number))

    def _home(self, number: int) -> str:
        return f"home-{number}" if number else "home"

    def _batch(self, number: int) -> tuple[str, ...]:
        plan = self.setup.folder / f"lote-{number}" / "plan.yaml"
        return ("batch", "run", str(plan), "--format", "json", "--workers", "1")
