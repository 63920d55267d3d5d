"""The sandbox's database: opened, made ready, and used one transaction at a time."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from sqlalchemy import URL, Connection

from xlbridge.sandbox.storage.address import SQLITE
from xlbridge.sandbox.storage.engines import Engines
from xlbridge.sandbox.storage.failures import other_layout, reporting_trouble
from xlbridge.sandbox.storage.layout import find_layout, make_layout
from xlbridge.sandbox.storage.postgresql import open_postgresql
from xlbridge.sandbox.storage.sqlite import open_sqlite
from xlbridge.sandbox.storage.writers import Writers


class Storage:
    """A database with the sandbox's tables.

    Opening an empty one makes them. Raises ``ConfigError`` when it cannot be opened, or has other
    tables.
    """

    def __init__(self, url: URL) -> None:
        self.url = url
        self._writers = Writers()
        with reporting_trouble(url):
            self._engines = _engines(url)
            try:
                self._make_ready()
            except BaseException:
                self.close()
                raise

    @contextmanager
    def transaction(self, *, writing: bool) -> Iterator[Connection]:
        """Open one transaction: committed at the end, undone when an exception passes.

        A writing one waits for those before it, so that what it reads stays true until it ends.
        Raises ``Busy`` where they take too long; of another process's, the database's own error.
        """
        with ExitStack() as stack:
            if writing:
                stack.enter_context(self._writers.turn())
            engine = self._engines.writing if writing else self._engines.reading
            yield stack.enter_context(engine.begin())

    def close(self) -> None:
        """Close all connections."""
        self._engines.writing.dispose()

    def _make_ready(self) -> None:
        with self.transaction(writing=False) as connection:
            found = find_layout(connection)
        if found.empty:
            # Looked at again under the lock: of two that open a new database, one makes it.
            with self.transaction(writing=True) as connection:
                found = find_layout(connection)
                if found.empty:
                    make_layout(connection)
                    return
        if not found.fits:
            raise other_layout(self.url, found.maker)


def _engines(url: URL) -> Engines:
    return open_sqlite(url) if url.drivername == SQLITE else open_postgresql(url)
