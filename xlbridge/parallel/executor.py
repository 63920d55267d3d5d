"""Executor interface: run one task for many items."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeVar

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")

Task = Callable[[Item], Outcome]
"""Function that is called for each item.

It, the items and the outcomes can be pickled; what it returns does not depend on where it runs, and
it may run again for an item whose worker was lost.
"""

OnDone = Callable[[int], None]
"""Callback with the place of each item when it is done, in no order, from any thread."""


@dataclass(frozen=True, slots=True)
class LostItem:
    """Stands for the outcome of an item whose workers ended twice before they returned it."""


class WorkerDied(Exception):
    """A worker ended before it answered."""


class Executor(Protocol):
    """Runs a task for many items.

    A worker may be lost over an item without harm to anything else. ``shares_files`` says whether
    workers see the files of this machine under the same paths.
    """

    @property
    def shares_files(self) -> bool:
        """Return whether a path may stand for the file."""

    def run(
        self,
        task: Task[Item, Outcome],
        items: Iterable[Item],
        on_done: OnDone = lambda _place: None,
        *,
        again: Task[Item, Outcome] | None = None,
    ) -> Iterator[Outcome | LostItem]:
        """Yield what the task returns for each item, in the items' order.

        ``again`` is what is done in its place for an item whose worker was lost over it. Items are
        taken only a little ahead of what was yielded. An executor runs one task at a time.
        Raises the ``XlbridgeError`` that the task raised.
        """
