"""Retry policy of all requests: number of tries and pauses between them.

Source: the spec, Errors (5xx).
"""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Exponential backoff with full jitter: before try n + 1, up to ``first`` · 2ⁿ⁻¹ seconds.

    ``longest`` limits one pause, ``total`` all tries and pauses together, both in seconds. A longer
    ``Retry-After`` is honoured; one that exceeds ``total`` ends the retries.
    """

    first: float = 0.5
    longest: float = 20.0
    tries: int = 6
    total: float = 120.0
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    random: Callable[[], float] = random.random

    @classmethod
    def quick(cls) -> "RetryPolicy":
        """Return the policy of commands that check whether the system answers."""
        return cls(tries=2)

    def repeat(
        self,
        attempt: Callable[[], _Result],
        least_pause: Callable[[_Result], float | None],
    ) -> _Result:
        """Return the first result that needs no retry, or the last one.

        ``least_pause`` returns the minimum pause after a result, in seconds; None for no retry.
        """
        end = self.clock() + self.total
        result = attempt()
        for number in range(self.tries - 1):
            least = least_pause(result)
            if least is None:
                break
            jitter = self.random() * min(self.longest, self.first * 2.0**number)
            pause = max(jitter, least)
            if self.clock() + pause > end:
                break
            self.sleep(pause)
            result = attempt()
        return result
