"""Progress of work that takes a while, as the terminal, the page or nobody is shown it."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from xlbridge.i18n import Text


@dataclass(frozen=True, slots=True)
class WorkProgress:
    """Progress of work; by default nobody is shown it.

    ``show`` replaces the text or adds a line, ``advance`` completes one step, ``count`` sets the
    numbers of done and of all steps, ``paused`` hides a display for a block.
    """

    show: Callable[[Text], None] = lambda _text: None
    advance: Callable[[], None] = lambda: None
    count: Callable[[int, int], None] = lambda _done, _total: None
    paused: Callable[[], AbstractContextManager[None]] = nullcontext


OpenProgress = Callable[[Text, int], AbstractContextManager[WorkProgress]]
"""Shows the progress of a part of the work, from its title and number of steps."""
