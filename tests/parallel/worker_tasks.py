"""Tasks for workers in tests."""

import os
import signal
from dataclasses import dataclass
from pathlib import Path

from xlbridge.errors import RemoteRejected
from xlbridge.i18n import Text


def double(number: int) -> int:
    print("this must not be mixed with the answers")
    return 2 * number


def own_pid(_item: object) -> int:
    return os.getpid()


def environment(name: str) -> str | None:
    return os.environ.get(name)


def refuse(_item: object) -> None:
    raise RemoteRejected(Text(pt="Não.", en="No."), status=409)


def fail(_item: object) -> None:
    raise ZeroDivisionError


@dataclass(frozen=True)
class DieAt:
    """Doubles numbers, and dies at one of them, ``times`` times."""

    number: int
    times: int
    marks: Path

    def __call__(self, number: int) -> int:
        marks = len(list(self.marks.iterdir()))
        if number == self.number and marks < self.times:
            (self.marks / str(marks)).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return 2 * number


@dataclass(frozen=True)
class Keep:
    """Returns its argument; carries a secret."""

    secret: str

    def __call__(self, item: object) -> object:
        return item
