"""The running sandbox: its database, its catalogue, its settings and its worker."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from xlbridge.limits import WorkbookLimits
from xlbridge.resources.catalogue import Catalogue
from xlbridge.sandbox.faults import FaultPlan
from xlbridge.sandbox.storage import Storage

JSON_LIMIT = 10 * 2**20
"""Most bytes of a JSON body."""


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How the sandbox behaves.

    ``faults`` is what goes wrong on purpose, None for nothing. ``exposed`` says that it listens
    beyond loopback; it is then reached under ``host_names`` too.
    """

    token_lifetime: timedelta = timedelta(hours=1)
    faults: FaultPlan | None = None
    exposed: bool = False
    host_names: tuple[str, ...] = ()

    @property
    def slow_queue(self) -> float:
        """How many seconds a queued file waits, running, before it is processed."""
        return self.faults.slow_queue if self.faults else 0.0


@dataclass(frozen=True, slots=True)
class Sandbox:
    """What every call may need. ``wake_worker`` tells the worker that a file is waiting."""

    storage: Storage
    catalogue: Catalogue
    limits: WorkbookLimits = field(default_factory=WorkbookLimits)
    behaviour: Behaviour = field(default_factory=Behaviour)
    clock: Callable[[], datetime] = datetime.now
    wake_worker: Callable[[], None] = field(default=lambda: None)
