"""What crosses a Dask cluster, and what its workers do with it.

The scheduler and the workers' logs and dashboard see nothing of it: tasks, items and outcomes are
sealed, for they may hold credentials and the content of workbooks.
"""

import pickle
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from typing import Any

from xlbridge.errors import ConfigError
from xlbridge.i18n import Text
from xlbridge.spreading.answer import Answer, Raised, answer, outcome_of
from xlbridge.spreading.carrier import Task

_DECISIVE = ("xlbridge", "pandas", "pandera", "python-calamine")
"""The packages that decide what is found in a workbook."""


@dataclass(frozen=True, slots=True)
class Sealed:
    """Something pickled; only whoever is meant to looks into it."""

    content: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Order:
    """A task with an item, and the versions that its outcome depends on."""

    versions: Mapping[str, str]
    sealed: Sealed


def order(task: Task[Any, Any], item: Any) -> Order:
    """Return what a worker is sent."""
    return Order(_versions(), Sealed(pickle.dumps((task, item), pickle.HIGHEST_PROTOCOL)))


def carry_out(ordered: Order) -> Sealed:
    """Do what was ordered: this runs on a worker of the cluster."""
    ours = _versions()
    if ours != ordered.versions:
        return Sealed(pickle.dumps(Raised(_other_versions(ordered.versions, ours), "")))
    task, item = pickle.loads(ordered.sealed.content)  # noqa: S301 - from the coordinator
    return Sealed(answer(task, item))


def outcome(sealed: Sealed) -> Any:
    """Return what the task returned. Raises what it raised, ``WorkerDefect`` for a defect."""
    answered: Answer = pickle.loads(sealed.content)  # noqa: S301 - from our own worker
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
