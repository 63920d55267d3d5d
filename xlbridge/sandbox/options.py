"""Options of a sandbox: seed, planned faults, behaviour."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from random import Random

from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.wire.imports import NO_QUIRKS, Quirks

_FAULT_PATTERN = re.compile(
    r"(?P<kind>[a-z-]+)(?:=(?P<value>\d+(?:\.\d+)?))?(?:@(?P<share>0?\.\d+|0|1(?:\.0+)?))?"
)
_SEED_KEY = "seed"


class FaultKind(StrEnum):
    """Kinds of faults of a request.

    Three have a value in seconds: ``delay`` waits, ``throttle`` responds 429 with that
    ``Retry-After``, ``slow-queue`` delays each queued file. ``error`` is a 500, ``cut`` a
    connection closed without a response, before or after the request is executed. ``expire``
    responds 401, now and to every later request with the same token.
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
    """Fault of one kind: its seconds, and the share of requests affected."""

    kind: FaultKind
    value: float = 1.0
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class FaultPlan:
    """Faults of a run, and the random seed that selects the requests affected."""

    faults: tuple[Fault, ...] = ()
    seed: int = 0

    @property
    def slow_queue(self) -> float:
        """Seconds that each queued file waits."""
        return sum(fault.value for fault in self.faults if fault.kind is FaultKind.SLOW_QUEUE)

    def faults_of(self, number: int) -> Iterator[Fault]:
        """Yield the faults of the request with this number."""
        chance = Random(f"{self.seed}:{number}")  # noqa: S311 - repeatable on purpose
        for fault in self.faults:
            if chance.random() < fault.share:
                yield fault


def parse_faults(text: str) -> FaultPlan:
    """Parse a plan such as ``delay=0.5@0.2,cut-after@0.05,seed=7``.

    Each part is a kind, ``=`` seconds (default 1) and ``@`` share of requests (0 to 1, default 1).
    Raises ``UsageError``.
    """
    faults, seed = [], 0
    for part in filter(None, map(str.strip, text.split(","))):
        match = _FAULT_PATTERN.fullmatch(part)
        if match and match["kind"] == _SEED_KEY and match["value"]:
            seed = int(float(match["value"]))
        elif match and match["kind"] in tuple(FaultKind):
            value, share = float(match["value"] or 1), float(match["share"] or 1)
            faults.append(Fault(FaultKind(match["kind"]), value, share))
        else:
            raise UsageError(
                Text(
                    pt="--faults: {part!r} não é uma falha. Use: {kinds}, seed=N.",
                    en="--faults: {part!r} is not a fault. Use: {kinds}, seed=N.",
                ).format(part=part, kinds=", ".join(FaultKind)),
                Text(
                    pt="Por exemplo: delay=0.5@0.2,cut-after@0.05,seed=7",
                    en="For example: delay=0.5@0.2,cut-after@0.05,seed=7",
                ),
            )
    return FaultPlan(tuple(faults), seed)


class SeedKind(StrEnum):
    """``empty``: supporting registries only; ``demo``: also the records of a small company."""

    EMPTY = "empty"
    DEMO = "demo"


ProgressCallback = Callable[[int, int], None]
"""Callback with the number of sales orders that were seeded, and their total."""


@dataclass(frozen=True, slots=True)
class Behaviour:
    """Behaviour of the sandbox.

    ``faults``: planned faults. ``exposed``: it listens beyond loopback, also under
    ``host_names``. ``request_timeout``: time after which a stalled request is closed.
    ``strict``: names and values must be written exactly as in the spec's samples. ``quirks``: those
    of the installation that it stands for.
    """

    token_lifetime: timedelta = timedelta(hours=1)
    request_timeout: timedelta = timedelta(seconds=30)
    faults: FaultPlan = FaultPlan()
    exposed: bool = False
    host_names: tuple[str, ...] = ()
    strict: bool = False
    quirks: Quirks = NO_QUIRKS
