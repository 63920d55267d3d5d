"""Signs of life on stderr while something takes its time; silent where nobody watches."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from xlbridge.i18n import Text

Tell = Callable[[Text], None]
"""Replaces the text that is shown."""


@contextmanager
def working(text: Text) -> Iterator[Tell]:
    """Show ``text`` with a spinner and the elapsed time until the block ends.

    Gives a function that replaces the text. Shows nothing when stderr is no terminal.
    """
    if not sys.stderr.isatty():
        yield lambda _text: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(str(text), total=None)
        yield lambda new: progress.update(task, description=str(new))
