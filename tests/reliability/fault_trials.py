"""One fault, once, on one request; then the network is well again. The end of it is fixed."""

import shutil
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from answers import ANSWERS, MODES
from faults import KINDS, PATIENCE, SILENCE, Class, Kind
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
from trials import Site, Trial, judged, quick_client
from wire_proxy import Fault, Point, Request, passed_on

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
from xlbridge.upload.processing import create_processing, explicit_numbers, find_kind
from xlbridge.validation import validate_workbook

ROWS = 2
_NO_MODES = ("process", "update", "undo")
"""What is no mode of an import, but another thing to do."""

_SETTLE = 900.0
_RUNS = 4
_EDITED = ", alterado"
_REFUSED = 0.2
"""How long nobody can connect, in seconds."""

_DONE = dict.fromkeys(Class, State.DONE)
_WRITES_AT_ONCE = _DONE | {Class.REJECTED: State.REJECTED, Class.LOST: State.NEEDS_PERSON}
_WRITES_NOTHING = _DONE | {Class.REJECTED: State.REJECTED}
_ONE_OF_TWO = _DONE | {Class.REJECTED: State.PARTIAL}
_STARTS = _DONE | {Class.REJECTED: State.IN_DOUBT}


@dataclass(frozen=True)
class Spot:
    """A request of an upload: how it is told, and the state that each class of answer leads to."""

    subject: Subject
    path: str
    ends: Mapping[Class, State] = field(default_factory=lambda: _DONE)
    method: str = "POST"
    trusting: bool = False

    def meets(self, request: Request) -> bool:
        """Whether a request is the one."""
        return request.method == self.method and self.path in request.path


UPDATED = "/v2/financeiro/contaspagar"
"""Beginning of the paths at which the records of updates and undos are changed."""

SPOTS: Mapping[str, Spot] = {
    "login": Spot(DIRECT, "/v2/autenticar"),
    "reading": Spot(DIRECT, "/v2/financeiro/contasreceber", method="GET"),
    "preview": Spot(DIRECT, "preview=true", _WRITES_NOTHING),
    "direct import": Spot(DIRECT, "preview=false", _WRITES_AT_ONCE),
    "staging": Spot(QUEUE, "/fila", _WRITES_NOTHING),
    "start": Spot(QUEUE, "processar-arquivo", _STARTS),
    "log": Spot(QUEUE, "log-importacao", method="GET"),
    "staging that runs by itself": Spot(OWN_QUEUE, "/fila", _WRITES_AT_ONCE),
    "record": Spot(BY_RECORD, "/v2/cliente", _ONE_OF_TWO),
    "update": Spot(UPDATE, UPDATED, _ONE_OF_TWO, method="PUT"),
    "undo": Spot(UNDO, UPDATED, _ONE_OF_TWO, method="DELETE"),
    **{one.name: Spot(one, "/processar", _ONE_OF_TWO) for one in PROCESSINGS},
}

PAIRS = [
    (spot, kind)
    for spot in SPOTS
    for kind in KINDS
    # What has no body cannot be cut in it.
    if not (
        KINDS[kind].cut is Point.BODY
        and (spot in ("reading", "start", "log", "undo") or spot.startswith("process "))
    )
]


class WrongVerdict(AssertionError):
    """A job ended in another state than the protocol says."""


def fault_trial(site: Site, folder: Path, spot_name: str, kind_name: str) -> Trial:
    """Strike the first request of a spot with a fault, and bring the upload to its end.

    Raises ``WrongVerdict`` when the state that it comes to is not what the protocol says.
    """
    patience = SILENCE / 2 if "silence" in kind_name else PATIENCE
    name = f"{spot_name}, {kind_name}"
    return _trial(site, folder, SPOTS[spot_name], KINDS[kind_name], name, patience)


def answer_trial(site: Site, folder: Path, mode_name: str, answer: tuple[str, str, str]) -> Trial:
    """Answer the first write of a mode in one way. Raises what ``fault_trial`` raises."""
    mode = MODES[mode_name]
    spot = Spot(mode.subject, mode.path, mode.ends, trusting=mode.trusting)
    name = f"{mode_name}, {' '.join(answer)}"
    return _trial(site, folder, spot, ANSWERS[answer], name, PATIENCE)


def _trial(site: Site, folder: Path, spot: Spot, kind: Kind, name: str, patience: float) -> Trial:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    path = folder / "sheet.xlsx"
    site.proxy.reset()
    number = _first_number(site, folder / "undisturbed", spot) if kind.refused else None
    known = site.write(spot.subject, path, ROWS)
    with closing(_course(site, folder, path, spot, patience, known)) as course:
        if number is not None:
            _refuse_at(site, number)
        else:
            _arm(site, spot, kind)
        job = course.to_its_end()
        expected = spot.ends[kind.verdict]
        if job.state is not expected:
            told = [f"{event.state} {event.detail.get('reason', '')}" for event in job.events]
            raise WrongVerdict(f"{name}: {job.state}, not {expected}: {told}")
        found = course.done()
        doubt = None
        if expected in (State.NEEDS_PERSON, State.IN_DOUBT):
            doubt = f"{name.partition(', ')[0]}: {kind.verdict}"
            course.decide(job, there=all(found))
            found = course.done()
        elif expected in (State.REJECTED, State.PARTIAL):
            _must_be_absent(found, but=ROWS - 1 if expected is State.PARTIAL else 0)
            course.send_again()
            found = course.done()
        elif kind.verdict is Class.REJECTED and job.held:
            # A reading that the system refuses proves nothing of the rows: they wait for the next.
            _must_be_absent(found, but=ROWS - job.held)
            course.send_again()
            found = course.done()
    return judged(name, found, doubt)


def _must_be_absent(found: list[int], but: int) -> None:
    if sum(found) != but:
        raise WrongVerdict(f"rejected, and {found} in the sandbox")


def _first_number(site: Site, folder: Path, spot: Spot) -> int:
    """Return which request of an undisturbed upload is the first of the spot."""
    folder.mkdir()
    path = folder / "sheet.xlsx"
    known = site.write(spot.subject, path, ROWS)
    with closing(_course(site, folder, path, spot, PATIENCE, known)) as course:
        course.to_its_end()
    number = next(request.number for request in site.proxy.seen if spot.meets(request))
    site.proxy.reset()
    return number


def _refuse_at(site: Site, number: int) -> None:
    """Let nobody connect for a while once the answer before a request is about to leave."""
    if number == 0:
        site.proxy.refuse(_REFUSED)

    def watch(point: Point, answered: int, _request: Request | None) -> None:
        if point is Point.ANSWERED and answered == number - 1:
            site.proxy.refuse(_REFUSED)

    site.proxy.watch = watch


def _arm(site: Site, spot: Spot, kind: Kind) -> None:
    """Let the first request of the spot have the fault, and all others pass."""
    struck: list[int] = []

    def strikes(request: Request) -> bool:
        if spot.meets(request):
            struck.append(request.number)
            return struck[0] == request.number
        return False

    renewed = False

    def fault(request: Request) -> Fault:
        nonlocal renewed
        renewed = renewed or (bool(struck) and "/v2/autenticar" in request.path)
        elsewhere = kind.everywhere and struck and not renewed and "sistema/info" in request.path
        return kind.play if elsewhere or strikes(request) else passed_on

    def cut_at(request: Request) -> Point | None:
        return kind.cut if kind.cut is not None and strikes(request) else None

    site.proxy.cut_at = cut_at
    site.proxy.fault = fault


def write_down(
    context: UploadContext,
    client: Client,
    subject: Subject,
    path: Path,
    known: Sequence[str],
    options: UploadOptions,
) -> Job:
    """Plan a sheet, or the processing of records, and record its job."""
    if isinstance(subject, Processing):
        numbers = explicit_numbers(list(map(int, known)))
        return create_processing(context, client, find_kind(subject.resource), numbers, options)
    sheet = validate_workbook(path, context.catalogue, resource=subject.resource)
    return Uploads(context, client).create(sheet, options)


class _Course:
    """An upload through all its runs, on a clock of its own."""

    def __init__(
        self,
        site: Site,
        folder: Path,
        path: Path,
        spot: Spot,
        patience: float,
        known: Sequence[str],
    ) -> None:
        self._site, self._path, self._subject, self._known = site, path, spot.subject, known
        self._patience, self._trusting = patience, spot.trusting
        self._now = datetime(2026, 11, 2, 9, 0)
        settings = read_settings({"XLBRIDGE_HOME": str(folder / "home")})
        self._journal = Journal(settings.journal, now=lambda: self._now)
        self._context = UploadContext(settings, site.catalogue, self._journal)
        self._options = UploadOptions(
            consent=ApproveAll(),
            mode="auto" if spot.subject.mode in _NO_MODES else spot.subject.mode,  # type: ignore[arg-type]
            sleep=lambda _s: None,
            settle_seconds=_SETTLE,
        )

    def close(self) -> None:
        self._journal.close()

    def done(self) -> list[int]:
        """Return how often each row was taken in."""
        return self._site.counts(self._subject, list(self._known))

    def to_its_end(self) -> Job:
        """Run the job until it is over, or nothing changes any more."""
        job = self._write_down()
        for _ in range(_RUNS):
            with quick_client(self._site, self._patience, trusting=self._trusting) as client:
                job = self._run(client, job)
            if job.state.is_final:
                break
            self._site.counts(self._subject, [])
            self._now += timedelta(seconds=_SETTLE)
        return job

    def decide(self, job: Job, *, there: bool) -> None:
        """Say what a person sees in the database, and send again what is not there."""
        self._now += timedelta(seconds=_SETTLE)
        seen = Resolution.APPLIED if there else Resolution.NOT_APPLIED
        resolve_job(self._context, job, seen, "looked in the database")
        if not there:
            self.send_again()

    def send_again(self) -> None:
        """Upload the sheet anew; nothing goes wrong this time."""
        self._site.proxy.reset()
        job = self.to_its_end()
        if job.state is not State.DONE:
            raise WrongVerdict(f"sent again: {job.state}")

    def _run(self, client: Client, job: Job) -> Job:
        try:
            return Uploads(self._context, client).run(job, self._options)
        except ApiError:
            return self._journal.job(job.id)

    def _write_down(self) -> Job:
        """Plan the sheet and record its job; a system that cannot be asked is asked again later."""
        for _ in range(_RUNS):
            with quick_client(self._site, self._patience) as client:
                try:
                    return self.plan(client)
                except ApiError:
                    # Nothing was written, and no job is there yet.
                    time.sleep(_REFUSED)
        raise WrongVerdict("the system could not be asked for the records of the rows")

    def plan(self, client: Client) -> Job:
        """Plan what is to be done, and record its job."""
        return write_down(
            self._context, client, self._subject, self._path, self._known, self._options
        )


class _ChangeCourse(_Course):
    """An update or an undo of records that were uploaded before, through all its runs."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._undoes = self._subject.mode == "undo"
        mode, self._options = self._options, replace(self._options, mode="direct")
        self._first: Job | None = None
        self._first = self.to_its_end()
        self._options = replace(mode, mode="auto", update=not self._undoes)
        if not self._undoes:
            self._subject.write_keys(self._path, self._known, self._site.customer, _EDITED)
        self._site.proxy.reset()

    def plan(self, client: Client) -> Job:
        if self._undoes and self._first is not None:
            return Uploads(self._context, client).create_undo(self._first)
        return super().plan(client)

    def done(self) -> list[int]:
        """Return how often each record is as it is to be."""
        found = texts(self._site.database, self._subject, self._known)
        if self._undoes:
            return [int(not there) for there in found]
        said = [self._subject.saying(one, _EDITED) for one in self._known]
        return [there.count(one) for one, there in zip(said, found, strict=True)]


def _course(
    site: Site, folder: Path, path: Path, spot: Spot, patience: float, known: Sequence[str]
) -> _Course:
    kind = _ChangeCourse if spot.subject.way == "change" else _Course
    return kind(site, folder, path, spot, patience, known)
