"""The library's own upload with a journal that kills the process at one of its writes.

Inside: upload.
"""

import os
import signal
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from xlbridge.client import Client, Target
from xlbridge.files import LocalDatabase
from xlbridge.resources import load_catalogue
from xlbridge.settings import read_settings
from xlbridge.upload import ApproveAll, Journal, UploadContext, UploadOptions, Uploads, create_undo
from xlbridge.upload.claims import Claims
from xlbridge.upload.processing import create_processing, find_kind, numbers_in_sheet
from xlbridge.upload.records.writes import RecordWrites
from xlbridge.validation import validate_workbook


class _KillingWrites(RecordWrites):
    """Writes of single records of a journal, which count among its own."""

    def __init__(self, journal: "KillingJournal") -> None:
        super().__init__(*journal.database, journal.now)
        self._journal = journal

    def plan(self, *arguments: Any) -> None:
        self._journal.write(lambda: super(_KillingWrites, self).plan(*arguments))

    def record(self, *arguments: Any) -> None:
        self._journal.write(lambda: super(_KillingWrites, self).record(*arguments))


class KillingJournal(Journal):
    """A journal whose ``number``-th write (from 0) ends the process, before or after it is made."""

    def __init__(
        self,
        path: Path,
        number: int,
        *,
        before: bool,
        now: Callable[[], datetime] = datetime.now,
    ) -> None:
        super().__init__(path, now)
        self.made = 0
        self._number, self._before = number, before
        self.writes = _KillingWrites(self)

    @property
    def database(self) -> tuple[LocalDatabase, Claims]:
        """The journal's file, and what is claimed in it."""
        return self._db, self._claims

    def create(self, *arguments: Any, **options: Any) -> Any:
        return self.write(lambda: super(KillingJournal, self).create(*arguments, **options))

    def create_of_tasks(self, *arguments: Any, **options: Any) -> Any:
        return self.write(
            lambda: super(KillingJournal, self).create_of_tasks(*arguments, **options)
        )

    def record(self, *arguments: Any, **options: Any) -> Any:
        return self.write(lambda: super(KillingJournal, self).record(*arguments, **options))

    def store_snapshot(self, *arguments: Any, **options: Any) -> Any:
        return self.write(lambda: super(KillingJournal, self).store_snapshot(*arguments, **options))

    def write(self, write: Callable[[], Any]) -> Any:
        """Make a write, unless the process ends before it."""
        number, self.made = self.made, self.made + 1
        if number == self._number and self._before:
            self._end()
        written = write()
        if number == self._number:
            self._end()
        return written

    def _end(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


class Killed(BaseException):
    """End of a process."""


class DyingJournal(KillingJournal):
    """Journal of a process that ends at one of its writes: nothing is written after it."""

    _ended = False

    def write(self, write: Callable[[], object]) -> object:
        if self._ended:
            raise Killed
        return super().write(write)

    def _end(self) -> None:
        self._ended = True
        raise Killed


def run() -> None:
    """Do what the arguments name, killed at the write of the journal that they name.

    They are a file, the mode of its upload, ``update`` to change its records, ``undo`` to reverse
    its newest job or ``process LISTING`` for the records that it names, the number of the write,
    and the moment. Prints how many writes there were.
    """
    file, task, write, when = sys.argv[1:]
    settings = read_settings()
    catalogue = load_catalogue()
    environment = os.environ
    target = Target(
        environment["XLBRIDGE_PROFILE"],
        environment["XLBRIDGE_BASE_URL"],
        environment["XLBRIDGE_EMAIL"],
        environment["XLBRIDGE_PASSWORD"],
    )
    killing = KillingJournal(settings.journal, int(write), before=when == "before")
    with closing(killing) as journal, Client(target) as client:
        context = UploadContext(settings, catalogue, journal)
        # Of records that are written at the same time, it is chance which are recorded together.
        options = UploadOptions(consent=ApproveAll(), settle_seconds=0, at_once=1)
        uploads = Uploads(context, client)
        if task == "undo":
            uploads.run(create_undo(context, client, journal.jobs()[0]), options)
        elif task.startswith("process "):
            kind = find_kind(task.removeprefix("process "))
            numbers = numbers_in_sheet(Path(file), kind, settings.limits, None)
            uploads.run(create_processing(context, client, kind, numbers, options), options)
        else:
            update = task == "update"
            mode = "auto" if update else task
            options = replace(options, mode=mode, update=update)  # type: ignore[arg-type]
            uploads.send(validate_workbook(Path(file), catalogue), options)
        os.write(1, str(killing.made).encode())
