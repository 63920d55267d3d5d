"""Signs of life on stderr while something takes its time; silent where nobody watches."""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xlbridge.i18n import Text

if TYPE_CHECKING:
    from rich.progress import ProgressColumn


@dataclass(frozen=True, slots=True)
class Activity:
    """What goes on.

    ``tell`` replaces the text that is shown, ``advance`` completes one of the steps, ``paused``
    hides it all for a block.
    """

    tell: Callable[[Text], None]
    paused: Callable[[], AbstractContextManager[None]]
    advance: Callable[[], None] = lambda: None


@contextmanager
def working(text: Text, total: int = 1) -> Iterator[Activity]:
    """Show ``text`` with a spinner and the elapsed time until the block ends.

    With a ``total`` of several steps a bar shows how many are done. Shows nothing when stderr is
    no terminal.
    """
    if not sys.stderr.isatty():
        yield Activity(lambda _text: None, nullcontext)
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import Progress

    with Progress(*_columns(total), console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(escape(str(text)), total=total if total > 1 else None)

        @contextmanager
        def paused() -> Iterator[None]:
            progress.stop()
            try:
                yield
            finally:
                progress.start()

        yield Activity(
            tell=lambda new: progress.update(task, description=escape(str(new))),
            paused=paused,
            advance=lambda: progress.update(task, advance=1, refresh=True),
        )


def _columns(total: int) -> "list[ProgressColumn]":
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
    )
    from rich.table import Column

    bar = [BarColumn(), MofNCompleteColumn()] if total > 1 else []
    text = TextColumn("{task.description}", table_column=Column())
    return [SpinnerColumn(), text, *bar, TimeElapsedColumn()]
