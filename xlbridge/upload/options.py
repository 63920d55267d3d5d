"""How a run goes about it."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from xlbridge.i18n import Text
from xlbridge.upload.journal.job import Job

LONGEST_SETTLE_WAIT = 30.0
"""How many seconds of settle time a run waits for itself; a longer one is left to a later run."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How a run goes about it.

    ``read_back`` reads the records of the rows before anything is written, ``preview`` asks the
    remote system to read the sheet; ``wait`` polls until the outcome is known. ``settle_seconds``
    is how long a request whose answer was lost may still be on its way. ``consent`` is asked once,
    right before the first write, with the job (of a split sheet the parent) and the number of rows
    that the preview read.
    """

    consent: Callable[[Job, int | None], bool]
    tell: Callable[[Text], None] = lambda _text: None
    read_back: bool = True
    preview: bool = True
    wait: bool = True
    settle_seconds: float = 900.0
    sleep: Callable[[float], None] = time.sleep
