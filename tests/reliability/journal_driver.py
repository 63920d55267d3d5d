"""The library's own upload with a journal that kills the process at one of its writes."""

import os
import signal
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from xlbridge.client import Client, Target
from xlbridge.resources import load_catalogue
from xlbridge.settings import read_settings
from xlbridge.upload import Journal, RunOptions, UploadContext, choose_mode, create_job, run_job
from xlbridge.validation import validate_workbook


class KillingJournal(Journal):
    """A journal whose ``number``-th write (from 0) ends the process, before or after it is made."""

    def __init__(self, path: Path, number: int, *, before: bool) -> None:
        super().__init__(path)
        self.writes = 0
        self._number, self._before = number, before

    def create(self, *arguments: Any, **options: Any) -> Any:
        return self._write(lambda: super(KillingJournal, self).create(*arguments, **options))

    def create_split(self, *arguments: Any, **options: Any) -> Any:
        return self._write(lambda: super(KillingJournal, self).create_split(*arguments, **options))

    def record(self, *arguments: Any, **options: Any) -> Any:
        return self._write(lambda: super(KillingJournal, self).record(*arguments, **options))

    def keep_reading(self, *arguments: Any, **options: Any) -> Any:
        return self._write(lambda: super(KillingJournal, self).keep_reading(*arguments, **options))

    def _write(self, write: Callable[[], Any]) -> Any:
        number, self.writes = self.writes, self.writes + 1
        if number == self._number and self._before:
            os.kill(os.getpid(), signal.SIGKILL)
        written = write()
        if number == self._number:
            os.kill(os.getpid(), signal.SIGKILL)
        return written


def run() -> None:
    """Upload the file that the arguments name, in the mode and killed at the write that they name.

    Prints how many writes there were.
    """
    file, mode, write, when = sys.argv[1:]
    settings = read_settings()
    catalogue = load_catalogue()
    environment = os.environ
    target = Target(
        environment["XLBRIDGE_PROFILE"],
        environment["XLBRIDGE_BASE_URL"],
        environment["XLBRIDGE_EMAIL"],
        environment["XLBRIDGE_PASSWORD"],
    )
    sheet = validate_workbook(Path(file), catalogue)
    if sheet.resource is None:
        raise AssertionError(sheet)
    plan = choose_mode(sheet.resource, mode)  # type: ignore[arg-type]
    killing = KillingJournal(settings.journal, int(write), before=when == "before")
    with closing(killing) as journal, Client(target) as client:
        desk = UploadContext(settings, catalogue, journal)
        job = create_job(desk, sheet, sheet.resource, plan, target.profile)
        run_job(desk, client, job, RunOptions(consent=lambda _job, _seen: True, settle_seconds=0))
        os.write(1, str(killing.writes).encode())
