"""Signs of life on stderr while something takes its time; silent where nobody watches."""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass

from xlbridge.i18n import Text


@dataclass(frozen=True, slots=True)
class Activity:
    """What goes on: ``tell`` replaces the text that is shown, ``paused`` hides it for a block."""

    tell: Callable[[Text], None]
    paused: Callable[[], AbstractContextManager[None]]


@contextmanager
def working(text: Text) -> Iterator[Activity]:
    """Show ``text`` with a spinner and the elapsed time until the block ends.

    Shows nothing when stderr is no terminal.
    """
    if not sys.stderr.isatty():
        yield Activity(lambda _text: None, nullcontext)
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(escape(str(text)), total=None)

        @contextmanager
        def paused() -> Iterator[None]:
            progress.stop()
            try:
                yield
            finally:
                progress.start()

        yield Activity(lambda new: progress.update(task, description=escape(str(new))), paused)
