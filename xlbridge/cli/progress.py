"""Progress of a command on stderr: a bar on a terminal, otherwise a line at intervals."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from threading import Event, Thread

from xlbridge.cli.output import is_bar_wanted, is_quiet, print_message, visible
from xlbridge.i18n import Text
from xlbridge.progress import WorkProgress
from xlbridge.settings import read_progress_seconds


@contextmanager
def show_progress(text: Text, total: int = 1, *, counts: bool = False) -> Iterator[WorkProgress]:
    """Show ``text`` with a spinner and the elapsed time until the block ends.

    With a ``total`` of several steps, or with ``counts`` once their number is known, a bar shows
    the steps done. If stderr is not a terminal, or has log lines, lines at intervals show the same;
    nothing does if the command is quiet.
    """
    if is_quiet():
        yield WorkProgress()
        return
    opened = _bar(text, total, counts=counts) if is_bar_wanted() else _lines(text, total)
    with opened as display:
        yield display


@contextmanager
def _lines(text: Text, total: int) -> Iterator[WorkProgress]:
    lines = _ProgressLines(text, total)

    def show(new: Text) -> None:
        lines.text = new

    def advance() -> None:
        lines.done += 1

    @contextmanager
    def paused() -> Iterator[None]:
        lines.hidden = True
        try:
            yield
        finally:
            lines.hidden = False

    display = WorkProgress(show, advance, paused=paused)
    seconds = read_progress_seconds(os.environ)
    if not seconds:
        yield display
        return
    writer = Thread(target=lines.write_every, args=[seconds], daemon=True)
    writer.start()
    try:
        yield display
    finally:
        lines.ended.set()
        writer.join()


@dataclass(slots=True)
class _ProgressLines:
    """Progress as lines of a log with text, steps and elapsed time."""

    text: Text
    total: int
    done: int = 0
    started_at: float = field(default_factory=time.monotonic)
    ended: Event = field(default_factory=Event)
    hidden: bool = False

    def write_every(self, seconds: float) -> None:
        """Write a line at an interval until the work has ended, or stderr is closed."""
        while not self.ended.wait(seconds):
            if self.hidden:
                continue
            steps = _STEPS.format(done=self.done, total=self.total) if self.total > 1 else ""
            elapsed = timedelta(seconds=round(time.monotonic() - self.started_at))
            try:
                print_message(_LINE.format(text=self.text, steps=steps, elapsed=elapsed))
            except OSError:
                return


_LINE = Text(pt="… {text}{steps} (há {elapsed})", en="… {text}{steps} ({elapsed} so far)")
_STEPS = Text(pt=" · {done} de {total}", en=" · {done} of {total}")


@contextmanager
def _bar(text: Text, total: int, *, counts: bool) -> Iterator[WorkProgress]:
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
    )
    from rich.table import Column

    bar = [BarColumn()] if counts or total > 1 else []
    steps = [MofNCompleteColumn()] if total > 1 else []
    description = TextColumn("{task.description}", table_column=Column())
    with Progress(
        *(SpinnerColumn(), description, *bar, *steps, TimeElapsedColumn()),
        console=Console(stderr=True),
        transient=True,
    ) as progress:
        task = progress.add_task(escape(visible(text)), total=total if total > 1 else None)

        @contextmanager
        def paused() -> Iterator[None]:
            progress.stop()
            try:
                yield
            finally:
                progress.start()

        yield WorkProgress(
            show=lambda new: progress.update(task, description=escape(visible(new))),
            paused=paused,
            advance=lambda: progress.update(task, advance=1, refresh=True),
            count=lambda done, all_: progress.update(task, completed=done, total=all_),
        )
