"""One fault on one request, after which the network works again; the final state is fixed."""

import shutil
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from answers import ANSWERS, MODES
from fake_clock import FakeClock
from faults import (
    KINDS,
    LATE_KINDS,
    LONG_KINDS,
    PATIENCE,
    REPEATED_KINDS,
    SILENCE,
    WRONG_LOG,
    Kind,
    Outcome,
)
from journal_steps import check_steps
from subjects import (
    BY_RECORD,
    DIRECT,
    OWN_QUEUE,
    PROCESSINGS,
    QUEUE,
    UNDO,
    UPDATE,
    Processing,
    Subject,
    texts,
)
from trials import SystemUnderTest, Trial, quick_client, trial_of
from wire_proxy import Fault, Point, Request, forward_unchanged

from xlbridge.client import Client
from xlbridge.errors import ApiError
from xlbridge.settings import read_settings
from xlbridge.upload import (
    Job,
    Journal,
    Resolution,
    State,
    UploadContext,
    UploadOptions,
    Uploads,
    resolve_job,
)
from xlbridge.upload.planning import ApproveAll
from xlbridge.upload.process_kinds import explicit_numbers, find_kind
from xlbridge.upload.process_plan import create_processing
from xlbridge.validation import validate_workbook

ROWS = 2
_NO_MODES = ("process", "update", "undo")
"""Subjects' modes that are not modes of an import."""

_SETTLE = 900.0
_RUNS = 4
_EDITED = ", alterado"
_REFUSED = 0.2
"""How long connections are refused, in seconds."""

_DONE = dict.fromkeys(Outcome, State.DONE)
_WRITES_DIRECTLY = _DONE | {Outcome.REJECTED: State.REJECTED, Outcome.LOST: State.NEEDS_PERSON}
_WRITES_NOTHING = _DONE | {Outcome.REJECTED: State.REJECTED}
_STAGES = _WRITES_NOTHING | {Outcome.UNREADABLE: State.NEEDS_PERSON}
_ONE_OF_TWO = _DONE | {Outcome.REJECTED: State.PARTIAL}
_STARTS = _DONE | {Outcome.REJECTED: State.IN_DOUBT}


@dataclass(frozen=True)
class Spot:
    """A request of an upload, and the final state for each outcome of a fault on it."""

    subject: Subject
    path: str
    final_states: Mapping[Outcome, State] = field(default_factory=lambda: _DONE)
    method: str = "POST"
    trusting: bool = False

    def matches(self, request: Request) -> bool:
        """Return whether a request is this one."""
        return request.method == self.method and self.path in request.path


UPDATED = "/v2/financeiro/contaspagar"
"""Prefix of the paths at which updates and undos change records."""

SPOTS: Mapping[str, Spot] = {
    "login": Spot(DIRECT, "/v2/autenticar"),
    "reading": Spot(DIRECT, "/v2/financeiro/contasreceber", method="GET"),
    "preview": Spot(DIRECT, "preview=true", _WRITES_NOTHING),
    "direct import": Spot(DIRECT, "preview=false", _WRITES_DIRECTLY),
    "staging": Spot(QUEUE, "/fila", _STAGES),
    "start": Spot(QUEUE, "processar-arquivo", _STARTS),
    "log": Spot(QUEUE, "log-importacao", method="GET"),
    "staging that runs by itself": Spot(OWN_QUEUE, "/fila", _WRITES_DIRECTLY),
    "record": Spot(BY_RECORD, "/v2/cliente", _ONE_OF_TWO),
    "update": Spot(UPDATE, UPDATED, _ONE_OF_TWO, method="PUT"),
    "undo": Spot(UNDO, UPDATED, _ONE_OF_TWO, method="DELETE"),
    **{one.name: Spot(one, "/processar", _ONE_OF_TWO) for one in PROCESSINGS},
}

_ALL_KINDS = {
    **KINDS,
    **LATE_KINDS,
    **LONG_KINDS,
    **REPEATED_KINDS,
    "log of another file": WRONG_LOG,
}
_ADDS_ANY = ("direct import",)
"""Requests of which the system takes a second delivery, too."""

PAIRS = [
    (spot, kind)
    for spot in SPOTS
    for kind in _ALL_KINDS
    if not (kind in REPEATED_KINDS and spot in _ADDS_ANY)
    if not (_ALL_KINDS[kind] is WRONG_LOG and spot != "log")
    # Answers with records may be long.
    if not (kind in LONG_KINDS and SPOTS[spot].method == "GET")
    # What has no body cannot be cut in it.
    if not (
        _ALL_KINDS[kind].cut is Point.BODY
        and (spot in ("reading", "start", "log", "undo") or spot.startswith("process "))
    )
]


class WrongVerdict(AssertionError):
    """A job ended in another state than the protocol says."""


def fault_trial(system: SystemUnderTest, folder: Path, spot_name: str, kind_name: str) -> Trial:
    """Inject a fault into the first request of a spot, and run the upload to its end.

    Raises ``WrongVerdict`` if its final state is not the one of the protocol.
    """
    patience = SILENCE / 2 if "silence" in kind_name else PATIENCE
    name = f"{spot_name}, {kind_name}"
    return _trial(system, folder, SPOTS[spot_name], _ALL_KINDS[kind_name], name, patience)


def answer_trial(
    system: SystemUnderTest, folder: Path, mode_name: str, answer: tuple[str, str, str]
) -> Trial:
    """Send an answer to the first write of a mode. Raises what ``fault_trial`` raises."""
    mode = MODES[mode_name]
    spot = Spot(mode.subject, mode.path, mode.final_states, trusting=mode.trusting)
    name = f"{mode_name}, {' '.join(answer)}"
    return _trial(system, folder, spot, ANSWERS[answer], name, PATIENCE)


def _trial(
    system: SystemUnderTest, folder: Path, spot: Spot, kind: Kind, name: str, patience: float
) -> Trial:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    path = folder / "sheet.xlsx"
    system.proxy.reset()
    number = _first_number(system, folder / "undisturbed", spot) if kind.refused else None
    keys = system.write(spot.subject, path, ROWS)
    with closing(_scenario(system, folder, path, spot, patience, keys)) as scenario:
        if number is not None:
            _refuse_at(system, number)
        else:
            _inject(system, spot, kind)
        job = scenario.run_to_end()
        expected = spot.final_states[kind.verdict]
        if job.state is not expected:
            states = [f"{event.state} {event.detail.get('reason', '')}" for event in job.events]
            raise WrongVerdict(f"{name}: {job.state}, not {expected}: {states}")
        found = scenario.done()
        doubt = None
        if expected in (State.NEEDS_PERSON, State.IN_DOUBT):
            doubt = f"{name.partition(', ')[0]}: {kind.verdict}"
            scenario.decide(job, applied=all(found))
            found = scenario.done()
        elif expected in (State.REJECTED, State.PARTIAL):
            _require_count(found, expected=ROWS - 1 if expected is State.PARTIAL else 0)
            scenario.send_again()
            found = scenario.done()
        elif kind.verdict is Outcome.REJECTED and job.held:
            # A reading that the system refuses proves nothing of the rows: they wait for the next.
            _require_count(found, expected=ROWS - job.held)
            scenario.send_again()
            found = scenario.done()
    return trial_of(name, found, doubt)


def _require_count(found: list[int], expected: int) -> None:
    if sum(found) != expected:
        raise WrongVerdict(f"rejected, and {found} in the sandbox")


def _first_number(system: SystemUnderTest, folder: Path, spot: Spot) -> int:
    """Return the number of the first request of the spot in an uninterrupted upload."""
    folder.mkdir()
    path = folder / "sheet.xlsx"
    keys = system.write(spot.subject, path, ROWS)
    with closing(_scenario(system, folder, path, spot, PATIENCE, keys)) as scenario:
        scenario.run_to_end()
    number = next(request.number for request in system.proxy.seen if spot.matches(request))
    system.proxy.reset()
    return number


def _refuse_at(system: SystemUnderTest, number: int) -> None:
    """Refuse connections for a while once the answer before a request is about to be sent."""
    if number == 0:
        system.proxy.refuse(_REFUSED)

    def watch(point: Point, answered: int, _request: Request | None) -> None:
        if point is Point.ANSWERED and answered == number - 1:
            system.proxy.refuse(_REFUSED)

    system.proxy.watch = watch


def _inject(system: SystemUnderTest, spot: Spot, kind: Kind) -> None:
    """Inject the fault into the first request of the spot, and forward all others."""
    affected: list[int] = []

    def is_affected(request: Request) -> bool:
        if spot.matches(request):
            affected.append(request.number)
            return affected[0] == request.number
        return False

    renewed = False

    def fault(request: Request) -> Fault:
        nonlocal renewed
        renewed = renewed or (bool(affected) and "/v2/autenticar" in request.path)
        elsewhere = kind.everywhere and affected and not renewed and "sistema/info" in request.path
        return kind.play if elsewhere or is_affected(request) else forward_unchanged

    def cut_at(request: Request) -> Point | None:
        return kind.cut if kind.cut is not None and is_affected(request) else None

    system.proxy.cut_at = cut_at
    system.proxy.fault = fault


def create_job(
    context: UploadContext,
    client: Client,
    subject: Subject,
    path: Path,
    keys: Sequence[str],
    options: UploadOptions,
) -> Job:
    """Plan a sheet, or the processing of records, and store its job."""
    if isinstance(subject, Processing):
        kind = find_kind(subject.resource)
        numbers = explicit_numbers(kind, list(map(int, keys)))
        return create_processing(context, client, kind, numbers, options.progress)
    sheet = validate_workbook(path, context.catalogue, resource=subject.resource)
    return Uploads(context, client).create(sheet, options)


class _Scenario:
    """An upload through all its runs, with its own clock."""

    def __init__(
        self,
        system: SystemUnderTest,
        folder: Path,
        path: Path,
        spot: Spot,
        patience: float,
        keys: Sequence[str],
    ) -> None:
        self._site, self._path, self._subject, self._keys = system, path, spot.subject, keys
        self._patience, self._trusting = patience, spot.trusting
        self._clock = FakeClock()
        settings = read_settings({"XLBRIDGE_HOME": str(folder / "home")})
        self._journal = Journal(settings.journal, now=self._clock)
        self._context = UploadContext(settings, system.catalogue, self._journal)
        self._options = UploadOptions(
            consent=ApproveAll(),
            mode="auto" if spot.subject.mode in _NO_MODES else spot.subject.mode,  # type: ignore[arg-type]
            sleep=system.sleep,
            settle_seconds=_SETTLE,
        )

    def close(self) -> None:
        try:
            check_steps(self._journal)
        finally:
            self._journal.close()

    def done(self) -> list[int]:
        """Return how often each row was imported."""
        return self._site.counts(self._subject, list(self._keys))

    def run_to_end(self) -> Job:
        """Run the job until it ends or nothing changes any more."""
        job = self._create_job()
        for _ in range(_RUNS):
            with quick_client(self._site, self._patience, trusting=self._trusting) as client:
                job = self._run(client, job)
            if job.state.is_final:
                break
            self._site.counts(self._subject, [])
            self._clock.advance(_SETTLE)
        return job

    def decide(self, job: Job, *, applied: bool) -> None:
        """Resolve the job by the database, and send missing rows again."""
        self._clock.advance(_SETTLE)
        seen = Resolution.APPLIED if applied else Resolution.NOT_APPLIED
        resolve_job(self._context, job, seen, "looked in the database")
        if not applied:
            self.send_again()

    def send_again(self) -> None:
        """Upload the sheet again without faults."""
        self._site.proxy.reset()
        job = self.run_to_end()
        if job.state is not State.DONE:
            raise WrongVerdict(f"sent again: {job.state}")

    def _run(self, client: Client, job: Job) -> Job:
        try:
            return Uploads(self._context, client).run(job, self._options)
        except ApiError:
            return self._journal.job(job.id)

    def _create_job(self) -> Job:
        """Plan the sheet and store its job; retry while the system is unreachable."""
        for _ in range(_RUNS):
            with quick_client(self._site, self._patience) as client:
                try:
                    return self.plan(client)
                except ApiError:
                    # Nothing was written, and no job is there yet.
                    time.sleep(_REFUSED)
        raise WrongVerdict("the records of the rows could not be read from the system")

    def plan(self, client: Client) -> Job:
        """Plan the upload, and store its job."""
        return create_job(
            self._context, client, self._subject, self._path, self._keys, self._options
        )


class _ChangeScenario(_Scenario):
    """An update or undo of uploaded records, through all its runs."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._undoes = self._subject.mode == "undo"
        mode, self._options = self._options, replace(self._options, mode="direct")
        self._first: Job | None = None
        self._first = self.run_to_end()
        self._options = replace(mode, mode="auto", update=not self._undoes)
        if not self._undoes:
            self._subject.write_keys(self._path, self._keys, self._site.customer, _EDITED)
        self._site.proxy.reset()

    def plan(self, client: Client) -> Job:
        if self._undoes and self._first is not None:
            uploads = Uploads(self._context, client)
            return uploads.create_undo(uploads.plan_undo(self._first))
        return super().plan(client)

    def done(self) -> list[int]:
        """Return how often each record has the expected text."""
        found = texts(self._site.database, self._subject, self._keys)
        if self._undoes:
            return [int(not texts_found) for texts_found in found]
        expected = [self._subject.row_text(one, _EDITED) for one in self._keys]
        return [actual.count(text) for text, actual in zip(expected, found, strict=True)]


def _scenario(
    system: SystemUnderTest,
    folder: Path,
    path: Path,
    spot: Spot,
    patience: float,
    keys: Sequence[str],
) -> _Scenario:
    kind = _ChangeScenario if spot.subject.scenario == "change" else _Scenario
    return kind(system, folder, path, spot, patience, keys)
