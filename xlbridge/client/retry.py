"""Retry policy: full jitter, ``Retry-After``, and which replies are retried. Source: the spec,
Errors (5xx).
"""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus

import httpx

from xlbridge.client.transport import NoAnswer, Reply


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Full jitter: before try n, a random pause of up to ``first`` · 2ⁿ⁻¹ seconds.

    ``longest`` bounds one pause, ``total`` all of them together with the tries, in seconds.
    A longer ``Retry-After`` is honoured; one that does not fit into ``total`` ends the trying.
    """

    first: float = 0.5
    longest: float = 20.0
    tries: int = 6
    total: float = 120.0
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    random: Callable[[], float] = random.random

    def repeat(self, attempt: Callable[[], Reply]) -> Reply:
        """Return the first reply that is not worth asking again for, or the last one."""
        end = self.clock() + self.total
        reply = attempt()
        for number in range(self.tries - 1):
            if not is_retryable(reply):
                break
            pause = max(self._jitter(number), retry_after(reply) or 0.0)
            if self.clock() + pause > end:
                break
            self.sleep(pause)
            reply = attempt()
        return reply

    def _jitter(self, number: int) -> float:
        return self.random() * min(self.longest, self.first * 2.0**number)


def is_retryable(reply: Reply) -> bool:
    """Say whether the same request may get a better reply later."""
    if isinstance(reply, NoAnswer):
        return not reply.hopeless
    return reply.is_server_error or reply.status_code == HTTPStatus.TOO_MANY_REQUESTS


def retry_after(reply: Reply) -> float | None:
    """Return how many seconds a reply asks to wait: ``Retry-After``, as seconds or as a date."""
    text = reply.headers.get("Retry-After", "") if isinstance(reply, httpx.Response) else ""
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (aware - datetime.now(UTC)).total_seconds())
