"""The library's own upload with a journal that kills the process at one of its writes."""

import os
import signal
import sys
from collections.abc import Callable
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

from xlbridge.client import Client, Target
from xlbridge.resources import load_catalogue
from xlbridge.settings import read_settings
from xlbridge.upload import ApproveAll, Journal, UploadContext, UploadOptions, Uploads
from xlbridge.validation import validate_workbook


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
        self.writes = 0
        self._number, self._before = number, before

    def create(self, *arguments: Any, **options: Any) -> Any:
        return self._write(lambda: super(KillingJournal, self).create(*arguments, **options))

    def create_split(self, *arguments: Any, **options: Any) -> Any:
        return self._write(lambda: super(KillingJournal, self).create_split(*arguments, **options))

    def record(self, *arguments: Any, **options: Any) -> Any:
        return self._write(lambda: super(KillingJournal, self).record(*arguments, **options))

    def store_snapshot(self, *arguments: Any, **options: Any) -> Any:
        return self._write(
            lambda: super(KillingJournal, self).store_snapshot(*arguments, **options)
        )

    def _write(self, write: Callable[[], Any]) -> Any:
        number, self.writes = self.writes, self.writes + 1
        if number == self._number and self._before:
            self._end()
        written = write()
        if number == self._number:
            self._end()
        return written

    def _end(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


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
    killing = KillingJournal(settings.journal, int(write), before=when == "before")
    with closing(killing) as journal, Client(target) as client:
        context = UploadContext(settings, catalogue, journal)
        options = UploadOptions(
            consent=ApproveAll(),
            mode=mode,  # type: ignore[arg-type]
            settle_seconds=0,
        )
        Uploads(context, client).send(sheet, options)
        os.write(1, str(killing.writes).encode())
