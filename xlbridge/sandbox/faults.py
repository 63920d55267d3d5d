"""Misbehaviour on purpose, for rehearsals: the same for the same seed and order of requests."""

import asyncio
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from random import Random

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.sandbox import answers

_FAULT = re.compile(
    r"(?P<kind>[a-z-]+)(?:=(?P<value>\d+(?:\.\d+)?))?(?:@(?P<share>0?\.\d+|0|1(?:\.0+)?))?"
)
_SEED = "seed"


class FaultKind(StrEnum):
    """What may go wrong with a request.

    ``delay`` waits, ``throttle`` answers 429 with that ``Retry-After``, ``slow-queue`` makes each
    queued file wait; these three take a value in seconds. ``error`` is a 500, ``cut`` a connection
    closed without an answer, each before the request is executed or after it was. ``expire``
    answers 401.
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
    """One kind of fault: its seconds, and the share of the requests that it strikes."""

    kind: FaultKind
    value: float = 1.0
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class FaultPlan:
    """All faults of a run, and the seed that decides which requests they strike."""

    faults: tuple[Fault, ...] = ()
    seed: int = 0

    @property
    def slow_queue(self) -> float:
        """How many seconds each queued file waits."""
        return sum(fault.value for fault in self.faults if fault.kind is FaultKind.SLOW_QUEUE)

    def striking(self, number: int) -> Iterator[Fault]:
        """Yield the faults that strike the request of that number."""
        chance = Random(f"{self.seed}:{number}")  # noqa: S311 - repeatable on purpose
        for fault in self.faults:
            if chance.random() < fault.share:
                yield fault


def parse_faults(text: str) -> FaultPlan:
    """Read a plan such as ``delay=0.5@0.2,cut-after@0.05,seed=7``.

    Each part is a kind, ``=`` its seconds, ``@`` the share of requests (from 0 to 1) that it
    strikes; without them one second, and every request. Raises ``UsageError``.
    """
    faults, seed = [], 0
    for part in filter(None, map(str.strip, text.split(","))):
        found = _FAULT.fullmatch(part)
        if found and found["kind"] == _SEED and found["value"]:
            seed = int(float(found["value"]))
        elif found and found["kind"] in tuple(FaultKind):
            value, share = float(found["value"] or 1), float(found["share"] or 1)
            faults.append(Fault(FaultKind(found["kind"]), value, share))
        else:
            raise UsageError(
                Text(
                    pt="--faults: {part!r} não é uma falha. Existem: {kinds}, seed=N.",
                    en="--faults: {part!r} is no fault. There are: {kinds}, seed=N.",
                ).format(part=part, kinds=", ".join(FaultKind)),
                Text(
                    pt="Por exemplo: delay=0.5@0.2,cut-after@0.05,seed=7",
                    en="For example: delay=0.5@0.2,cut-after@0.05,seed=7",
                ),
            )
    return FaultPlan(tuple(faults), seed)


class Faulty:
    """Lets a plan's faults strike the requests for an application's operations."""

    def __init__(self, app: ASGIApp, plan: FaultPlan) -> None:
        self._app = app
        self._plan = plan
        self._numbers = itertools.count()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith("/v2/"):
            await self._app(scope, receive, send)
            return
        striking = list(self._plan.striking(next(self._numbers)))
        await asyncio.sleep(sum(f.value for f in striking if f.kind is FaultKind.DELAY))
        disturbing = [f for f in striking if f.kind not in _PATIENT]
        if disturbing:
            await self._disturb(disturbing[0], scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _disturb(self, fault: Fault, scope: Scope, receive: Receive, send: Send) -> None:
        if fault.kind in _AFTER:
            await self._app(scope, receive, _unheard)
        if fault.kind in _CUTS:
            _cut(send)
        elif fault.kind is FaultKind.EXPIRE:
            await self._expire(scope, receive, send)
        elif fault.kind is FaultKind.THROTTLE:
            wait = {"Retry-After": f"{fault.value:.0f}"}
            problem = ("", "Muitas chamadas; tente mais tarde.")
            await answers.failure(429, [problem], wait)(scope, receive, send)
        else:
            await answers.failure(500, [("", "Erro interno (falha de ensaio).")])(
                scope, receive, send
            )

    async def _expire(self, scope: Scope, receive: Receive, send: Send) -> None:
        if "authorization" not in Request(scope).headers:
            await self._app(scope, receive, send)
            return
        await answers.failure(401, [("Authorization", "Token expirado.")])(scope, receive, send)


_PATIENT = frozenset({FaultKind.DELAY, FaultKind.SLOW_QUEUE})
_AFTER = frozenset({FaultKind.ERROR_AFTER, FaultKind.CUT_AFTER})
_CUTS = frozenset({FaultKind.CUT_BEFORE, FaultKind.CUT_AFTER})


async def _unheard(_message: Message) -> None:
    """Take an answer that is lost on the way."""


def _cut(send: Send) -> None:
    """Close the connection at once. Only the server's own ``send`` leads to it."""
    send.__self__.transport.abort()  # type: ignore[attr-defined]
