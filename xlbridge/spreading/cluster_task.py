"""What crosses a Dask cluster, and what its workers do with it.

The scheduler and the workers' logs and dashboard see nothing of it: tasks, items and outcomes are
sealed, for they may hold credentials and the content of workbooks.
"""

import pickle
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from typing import Any

from xlbridge.errors import ConfigError
from xlbridge.i18n import Text
from xlbridge.spreading.answer import Answer, Raised, answer, outcome_of
from xlbridge.spreading.carrier import Task
from xlbridge.spreading.local import LocalWorkers
from xlbridge.spreading.plain import packed, unpacked

_DECISIVE = ("xlbridge", "pandas", "pandera", "python-calamine")
"""The packages that decide what is found in a workbook."""


_threads_own = threading.local()


@dataclass(frozen=True, slots=True)
class Sealed:
    """Something packed; only whoever is meant to looks into it."""

    content: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Order:
    """A task with an item, and the versions that its outcome depends on."""

    versions: Mapping[str, str]
    sealed: Sealed


def order(task: Task[Any, Any], again: Task[Any, Any] | None, item: Any) -> Order:
    """Return what a worker is sent."""
    return Order(_versions(), Sealed(packed((task, again, item))))


def carry_out(ordered: Order) -> Sealed:
    """Do what was ordered: this runs on a worker of the cluster.

    A process beside it does the work. So a hostile file harms nobody else's work there, and the
    threads of a worker do not wait for one another.
    """
    ours = _versions()
    if ours != ordered.versions:
        return Sealed(packed(Raised(_other_versions(ordered.versions, ours), "")))
    task, again, item = pickle.loads(ordered.sealed.content)  # noqa: S301 - from the coordinator
    return Sealed(answer(lambda one: next(_beside().run(task, [one], again=again)), item))


def _beside() -> LocalWorkers:
    """Return the process beside this thread, which stays for what comes next."""
    if not hasattr(_threads_own, "workers"):
        _threads_own.workers = LocalWorkers(1, "xlbridge.spreading.workbooks")
    workers: LocalWorkers = _threads_own.workers
    return workers


def outcome(sealed: Sealed) -> Any:
    """Return what the task returned. Raises what it raised, ``WorkerDefect`` for a defect."""
    answered: Answer = unpacked(sealed.content)
    return outcome_of(answered)


@cache
def _versions() -> Mapping[str, str]:
    return {name: version(name) for name in _DECISIVE}


def _other_versions(wanted: Mapping[str, str], found: Mapping[str, str]) -> ConfigError:
    differing = ", ".join(
        f"{name} {found.get(name)} ≠ {wanted[name]}"
        for name in wanted
        if found.get(name) != wanted[name]
    )
    return ConfigError(
        Text(
            pt="Um processo do cluster tem outras versões que este computador: {differing}.",
            en="A worker of the cluster has other versions than this computer: {differing}.",
        ).format(differing=differing),
        Text(
            pt="Instale as mesmas versões em toda parte: só assim o resultado é o mesmo.",
            en="Install the same versions everywhere: only then the outcome is the same.",
        ),
    )
