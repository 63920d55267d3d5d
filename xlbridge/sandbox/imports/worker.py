"""The background worker: processes queued files, one at a time."""

import logging
from datetime import datetime
from threading import Event, Thread
from typing import Any

from sqlalchemy import Row

from xlbridge.resources import Resource
from xlbridge.sandbox.call import Sandbox
from xlbridge.sandbox.imports import queue
from xlbridge.sandbox.imports.intake import import_lines, read_again
from xlbridge.sandbox.imports.records import UploadedSheet
from xlbridge.sandbox.problems import RequestError
from xlbridge.sandbox.storage import TRANSIENT_ERRORS

_log = logging.getLogger(__name__)

LINES_AT_ONCE = 20_000
"""Number of lines that one transaction imports: a few seconds' work."""

_IDLE_SECONDS = 5.0


class ImportWorker:
    """A thread that processes released files until it is stopped."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._waiting = Event()
        self._stopping = Event()
        self._thread = Thread(target=self._run, name="import-worker", daemon=True)

    def start(self) -> None:
        """Begin with what an earlier run left."""
        self._thread.start()

    def wake(self) -> None:
        """Tell that a file was released."""
        self._waiting.set()

    def stop(self) -> None:
        """Stop; a file that is being processed is left for the next run."""
        self._stopping.set()
        self._waiting.set()
        self._thread.join(timeout=_IDLE_SECONDS)

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._waiting.clear()
            try:
                busy = self._process_next()
            except Exception:
                _log.exception("the import worker failed")
                busy = False
            if not busy:
                self._waiting.wait(_IDLE_SECONDS)

    def _process_next(self) -> bool:
        with self._sandbox.storage.transaction(writing=True) as connection:
            file = queue.start_next_file(connection, self._now())
        if file is None:
            return False
        if self._stopping.wait(self._sandbox.behaviour.slow_queue):
            return False
        try:
            self._process(file)
        except TRANSIENT_ERRORS:
            # It may pass; the file is still running, and taken up again.
            raise
        except Exception as error:
            self._give_up(file, error)
        return True

    def _process(self, file: Row[Any]) -> None:
        sandbox = self._sandbox
        resource = sandbox.catalogue[file.resource]
        sheet = read_again(file.content, resource, sandbox)
        sandbox.last_upload.kept = None
        while not self._stopping.is_set() and self._take_in_next(file.id, sheet, resource):
            pass

    def _take_in_next(self, log_id: int, sheet: UploadedSheet, resource: Resource) -> bool:
        """Take in the next lines, and say whether there are more; others may write in between."""
        with self._sandbox.storage.transaction(writing=True) as connection:
            done = queue.lines_done(connection, log_id)
            if done is None:
                return False
            piece = UploadedSheet(sheet.lines[done : done + LINES_AT_ONCE], [])
            import_lines(piece, resource, connection, self._now())
            queue.record_lines(connection, log_id, piece, len(sheet.lines))
            more = done + len(piece.lines) < len(sheet.lines)
            if not more:
                queue.finish_file(connection, log_id, self._now())
        return more

    def _give_up(self, file: Row[Any], error: Exception) -> None:
        message = "O arquivo não pôde ser processado."
        if isinstance(error, RequestError):
            message = "; ".join(value for _, value in error.problems)
        else:
            _log.exception("file %s could not be processed", file.id)
        with self._sandbox.storage.transaction(writing=True) as connection:
            queue.fail_file(connection, file.id, message, self._now())

    def _now(self) -> datetime:
        return self._sandbox.clock().replace(microsecond=0)
