"""PostgreSQL server started by the tests, from the system's packages."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

USER, PASSWORD = "sandbox", "p@ss:word/1"
_ESCAPED = "p%40ss%3Aword%2F1"
_DEBIAN = Path("/usr/lib/postgresql")
_OWNERS = ("postgres", "nobody")
_START_SECONDS = 60
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    # Tests kill processes but do not crash the computer, so that durability is not needed.
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "max_connections": "300",
}
# Portuguese, to reveal texts that are sorted in the database's own order.
_CLUSTER = ("--locale-provider=icu", "--icu-locale=pt-BR", "--locale=C.UTF-8", "--encoding=UTF8")


@dataclass(slots=True)
class PostgresqlServer:
    """A server on loopback with its data in ``folder``."""

    folder: Path
    port: int
    _process: "subprocess.Popen[bytes] | None" = field(default=None, repr=False)

    def url(self, database: str) -> str:
        """Return the address of one of its databases."""
        return f"postgresql+psycopg://{USER}:{_ESCAPED}@127.0.0.1:{self.port}/{database}"

    def database(self, name: str, options: str = "") -> str:
        """Return the address of a database, creating it if it does not exist."""
        with self.connect() as connection:
            found = connection.execute("select 1 from pg_database where datname = %s", [name])
            if found.fetchone() is None:
                statement = sql.SQL("create database {} " + options)
                connection.execute(statement.format(sql.Identifier(name)))
        return self.url(name)

    def database_of(self, home: Path) -> str:
        """Return the address of the database of a sandbox's home folder."""
        return self.database(f"home_{sha256(str(home.resolve()).encode()).hexdigest()[:16]}")

    def connect(self, database: str = "postgres") -> "psycopg.Connection[tuple[object, ...]]":
        """Connect as the administrator."""
        return psycopg.connect(
            host="127.0.0.1", port=self.port, user=USER, password=PASSWORD, dbname=database,
            autocommit=True,
        )  # fmt: skip

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        command = [*_unprivileged(), *_program("postgres"), "-D", str(self.folder / "data")]
        command += ["-p", str(self.port), *(f"-c{k}={v}" for k, v in _SETTINGS.items())]
        with (self.folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder)
        deadline = time.monotonic() + _START_SECONDS
        while True:
            try:
                self.connect().close()
            except psycopg.OperationalError:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
            else:
                return

    def stop(self) -> None:
        """Stop the server without waiting for its clients."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(_START_SECONDS)
            self._process = None


def is_installed() -> bool:
    """Return whether a server is installed."""
    return bool(_program("postgres"))


@contextmanager
def postgresql_server() -> Iterator[PostgresqlServer]:
    """Run a new server for the block."""
    # Not below pytest's folders, which other users may not enter.
    folder = Path(tempfile.mkdtemp(prefix="xlbridge-postgresql-"))
    try:
        _make_cluster(folder)
        server = PostgresqlServer(folder, _free_port())
        try:
            server.start()
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder)


def _make_cluster(folder: Path) -> None:
    password = folder / "password"
    password.write_text(PASSWORD)
    if owner := _owner():
        for path in (folder, password):
            os.chown(path, owner.pw_uid, owner.pw_gid)
    options = ["--username", USER, "--pwfile", str(password), "--auth=scram-sha-256", "--no-sync"]
    subprocess.run(
        [*_unprivileged(), *_program("initdb"), "-D", str(folder / "data"), *options, *_CLUSTER],
        cwd=folder,
        check=True,
        capture_output=True,
    )


def _program(name: str) -> list[str]:
    """Return the newest version of a server program, which Debian does not put on the path."""
    installed = sorted(_DEBIAN.glob(f"*/bin/{name}"), key=lambda path: float(path.parts[-3]))
    found = installed[-1] if installed else shutil.which(name)
    return [str(found)] if found else []


def _unprivileged() -> list[str]:
    """Return the command prefix that runs a program as another user than root, until we exit."""
    setpriv = ["setpriv", "--pdeathsig", "INT"]
    if owner := _owner():
        return [*setpriv, f"--reuid={owner.pw_uid}", f"--regid={owner.pw_gid}", "--clear-groups"]
    return setpriv


def _owner() -> Any:
    """Return the user that runs the server if root starts it, as it refuses to run as root."""
    if os.geteuid() != 0:
        return None
    import pwd  # Windows has none, nor such a user

    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    return next(known[name] for name in _OWNERS if name in known)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
