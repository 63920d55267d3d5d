"""Executor interface: run one task for many items; and the executor that uses this process only."""

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

    ``shares_files`` says whether its workers see the files of this machine under the same paths,
    ``is_expendable`` whether a worker may be lost over an item without harm to anything else.
    """

    @property
    def shares_files(self) -> bool:
        """Return whether a path may stand for the file."""

    @property
    def is_expendable(self) -> bool:
        """Return whether a task may end its process."""

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


class SerialExecutor:
    """Executor that runs everything in this process, one item after the other."""

    shares_files = True
    is_expendable = False

    def run(
        self,
        task: Task[Item, Outcome],
        items: Iterable[Item],
        on_done: OnDone = lambda _place: None,
        *,
        again: Task[Item, Outcome] | None = None,
    ) -> Iterator[Outcome | LostItem]:
        """Yield what the task returns for each item; ``again`` is never needed."""
        for place, item in enumerate(items):
            outcome = task(item)
            on_done(place)
            yield outcome
