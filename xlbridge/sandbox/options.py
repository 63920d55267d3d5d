"""Options of a sandbox: its seed, its planned faults, its behaviour."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from random import Random

from xlbridge.errors import UsageError
from xlbridge.i18n import Text

_FAULT_PATTERN = re.compile(
    r"(?P<kind>[a-z-]+)(?:=(?P<value>\d+(?:\.\d+)?))?(?:@(?P<share>0?\.\d+|0|1(?:\.0+)?))?"
)
_SEED_KEY = "seed"


class FaultKind(StrEnum):
    """Kinds of faults of a request.

    ``delay`` waits, ``throttle`` answers 429 with that ``Retry-After``, ``slow-queue`` makes each
    queued file wait; these three take a value in seconds. ``error`` is a 500, ``cut`` a connection
    closed without an answer, each before the request is executed or after it was. ``expire``
    answers 401, then and whenever the same token comes again.
    """

    DELAY = "delay"
    ERROR_BEFORE = "error-before"
    ERROR_AFTER = "error-after"
    CUT_BEFORE = "cut-before"
    CUT_AFTER = "cut-after"
    EXPIRE = "expire"
    THROTTLE = "throttle"
    SLOW_QUEUE = "slow-queue"


@dataclass(frozen=True, slots=True)
class Fault:
    """Fault of one kind: its seconds, and the share of requests that it applies to."""

    kind: FaultKind
    value: float = 1.0
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class FaultPlan:
    """Faults of a run, and the seed that decides which requests they apply to."""

    faults: tuple[Fault, ...] = ()
    seed: int = 0

    @property
    def slow_queue(self) -> float:
        """Seconds that each queued file waits."""
        return sum(fault.value for fault in self.faults if fault.kind is FaultKind.SLOW_QUEUE)

    def faults_of(self, number: int) -> Iterator[Fault]:
        """Yield the faults that apply to the request of that number."""
        chance = Random(f"{self.seed}:{number}")  # noqa: S311 - repeatable on purpose
        for fault in self.faults:
            if chance.random() < fault.share:
                yield fault


def parse_faults(text: str) -> FaultPlan:
    """Read a plan such as ``delay=0.5@0.2,cut-after@0.05,seed=7``.

    Each part is a kind, ``=`` its seconds, ``@`` the share of requests (from 0 to 1) that it
    applies to; without them one second, and every request. Raises ``UsageError``.
    """
    faults, seed = [], 0
    for part in filter(None, map(str.strip, text.split(","))):
        found = _FAULT_PATTERN.fullmatch(part)
        if found and found["kind"] == _SEED_KEY and found["value"]:
            seed = int(float(found["value"]))
        elif found and found["kind"] in tuple(FaultKind):
            value, share = float(found["value"] or 1), float(found["share"] or 1)
            faults.append(Fault(FaultKind(found["kind"]), value, share))
        else:
            raise UsageError(
                Text(
                    pt="--faults: {part!r} não é uma falha. Existem: {kinds}, seed=N.",
                    en="--faults: {part!r} is not a fault. There are: {kinds}, seed=N.",
                ).format(part=part, kinds=", ".join(FaultKind)),
                Text(
                    pt="Por exemplo: delay=0.5@0.2,cut-after@0.05,seed=7",
                    en="For example: delay=0.5@0.2,cut-after@0.05,seed=7",
                ),
            )
    return FaultPlan(tuple(faults), seed)


class SeedKind(StrEnum):
    """``empty`` has the supporting registries only, ``demo`` a small company's records too."""

    EMPTY = "empty"
    DEMO = "demo"


@dataclass(frozen=True, slots=True)
class Behaviour:
    """Behaviour of the sandbox.

    ``faults`` is what goes wrong on purpose, None for nothing. ``exposed`` says that it listens
    beyond loopback; it is then reached under ``host_names`` too. A connection whose client stands
    still in the middle of a request ends after ``request_timeout``. ``strict`` has requests spelled
    and formed exactly as the spec's samples.
    """

    token_lifetime: timedelta = timedelta(hours=1)
    request_timeout: timedelta = timedelta(seconds=30)
    faults: FaultPlan | None = None
    exposed: bool = False
    host_names: tuple[str, ...] = ()
    strict: bool = False

    @property
    def slow_queue(self) -> float:
        """Seconds that a queued file is running before it is processed."""
        return self.faults.slow_queue if self.faults else 0.0
