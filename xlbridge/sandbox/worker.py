"""The background worker: processes queued files, one at a time."""

import logging
from datetime import datetime
from threading import Event, Thread
from typing import Any

from sqlalchemy import Row

from xlbridge.sandbox import queue
from xlbridge.sandbox.answers import RequestError
from xlbridge.sandbox.importing import read_upload, take_in
from xlbridge.sandbox.server import Sandbox
from xlbridge.sandbox.storage import TROUBLE

_log = logging.getLogger(__name__)

_IDLE_SECONDS = 5.0


class Worker:
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
            file = queue.next_file(connection, self._now())
        if file is None:
            return False
        if self._stopping.wait(self._sandbox.behaviour.slow_queue):
            return False
        try:
            self._process(file)
        except TROUBLE:
            # It may pass; the file is still running, and taken up again.
            raise
        except Exception as error:
            self._give_up(file, error)
        return True

    def _process(self, file: Row[Any]) -> None:
        sandbox = self._sandbox
        resource = sandbox.catalogue[file.resource]
        sheet = read_upload(file.content, resource, sandbox.catalogue, sandbox.limits)
        with sandbox.storage.transaction(writing=True) as connection:
            take_in(sheet, resource, connection, self._now())
            if not queue.finish(connection, file.id, sheet, self._now()):
                # Another process has applied this file: nothing of this run may stay.
                connection.rollback()

    def _give_up(self, file: Row[Any], error: Exception) -> None:
        message = "O arquivo não pôde ser processado."
        if isinstance(error, RequestError):
            message = "; ".join(value for _, value in error.problems)
        else:
            _log.exception("file %s could not be processed", file.id)
        with self._sandbox.storage.transaction(writing=True) as connection:
            queue.give_up(connection, file.id, message, self._now())

    def _now(self) -> datetime:
        return self._sandbox.clock().replace(microsecond=0)
