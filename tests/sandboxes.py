"""Sandboxes that start quickly; ``test_embedded.py`` and others test the real start.

They listen on a real socket, in a thread of this process unless a test needs a process.

Inside: sandbox.
"""

import hashlib
import itertools
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from functools import cache
from pathlib import Path

import httpx
import in_process
from child_processes import is_alive, wait_until
from environment import ROOT
from filelock import FileLock
from forked import shared_zygote
from other_shapes import OTHER_SPELLINGS, other_shapes
from sqlalchemy import Connection, text

from xlbridge.sandbox import RunningSandbox, SeedKind, open_database, prepare_account, seed_database
from xlbridge.sandbox.embedded import read_ready_file, sandbox_environment
from xlbridge.sandbox.storage import Storage, database_url
from xlbridge.sandbox.users import Account, HashCost
from xlbridge.settings import Settings, read_settings

_MINIMAL_COST = HashCost(n=2, r=1, p=1)
_REMOVED_RECORDS = {
    "sales_order_items": '"numeroDoPedido" % 20 > 0',
    "sales_order_installments": '"numeroDoPedido" % 20 > 0',
    "sales_orders": '"numeroDoPedido" % 20 > 0',
    "receivables": '"codigoDoCliente" > 1040',
}
"""Records of the demo company that slow tests down without testing more."""

_FILLING = ("xlbridge/sandbox", "xlbridge/resources", "xlbridge/wire", "schemas")
"""Folders of what fills a database."""
_KEPT_SECONDS = 2 * 24 * 60 * 60

_at_end = ExitStack()
_shared: list[Path] = []
_run_options: list[str] = []
_proxies: list[Callable[[str], AbstractContextManager[str]]] = []


def share_in(folder: Path) -> None:
    """Keep filled databases in a folder for all processes of this run and of later ones.

    Each is filled anew after a day, as the demo company depends on the date, and once the code
    changes that fills it.
    """
    now = datetime.now()
    files = [Path(__file__), *(file for name in _FILLING for file in (ROOT / name).rglob("*.*"))]
    version = hashlib.sha256(str(now.date()).encode())
    for file in sorted(files):
        if file.suffix in {".py", ".yaml"}:
            version.update(file.read_bytes())
    _shared[:] = [folder / version.hexdigest()[:12]]
    _shared[0].mkdir(exist_ok=True)
    for other in folder.iterdir():
        # Another process may remove it meanwhile.
        with suppress(FileNotFoundError):
            is_old = other.stat().st_mtime < now.timestamp() - _KEPT_SECONDS
            if is_old and other != _shared[0]:
                shutil.rmtree(other, ignore_errors=True)


def make_all_strict() -> None:
    """Start every sandbox of the run with ``--strict``."""
    _run_options.append("--strict")


def use_other_shapes() -> None:
    """Put the proxy of ``other_shapes.py`` in front of every sandbox of the run."""
    _proxies.append(lambda address: other_shapes(address, OTHER_SPELLINGS))


@contextmanager
def sandbox_process(
    home: Path,
    options: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    *,
    ignore_run_options: bool = False,
    few: bool = False,
    own_process: bool = False,
) -> Iterator[RunningSandbox]:
    """Run a sandbox for the block, in a thread of this process if that has all its ``options``.

    ``ignore_run_options`` omits the run's options for all sandboxes. With ``few`` it has a
    twentieth of the demo company's orders, and some of its receivables. ``own_process`` starts a
    process that can be measured and killed, forked from one that has imported everything.
    """
    all_options = [*([] if ignore_run_options else _run_options), *options]
    behaviour = None if own_process else in_process.sandbox_behaviour(all_options)
    own = sandbox_environment(home, environment)
    with ExitStack() as stack:
        if behaviour is None:
            in_process.skip_if_excluded("a sandbox with these options")
            create_database(home, options, few=few)
            found = stack.enter_context(_forked_sandbox(home, all_options, own))
        else:
            storage, account = stack.enter_context(_filled_database(home, options, few=few))
            found = stack.enter_context(
                in_process.sandbox_thread(storage, account, read_settings(own), behaviour)
            )
        address = found.base_url
        for proxy in [] if ignore_run_options else _proxies:
            address = stack.enter_context(proxy(address))
        yield replace(found, base_url=address)


@contextmanager
def _forked_sandbox(
    home: Path, options: Sequence[str], environment: Mapping[str, str]
) -> Iterator[RunningSandbox]:
    log = home / "sandbox.log"
    with tempfile.TemporaryDirectory(prefix="xlbridge-") as folder:
        ready = Path(folder) / "ready.json"
        command = ["sandbox", "--while-stdin-open", "--ready-file", str(ready), *options]
        with shared_zygote().running(environment, command, log=log) as pid:
            found = wait_until(lambda: read_ready_file(ready) or not is_alive(pid))
            assert isinstance(found, RunningSandbox), log.read_text("utf-8")
            yield found


@contextmanager
def logged_in(running: RunningSandbox) -> Iterator[httpx.Client]:
    """Open a plain HTTP client of a sandbox, logged in."""
    with httpx.Client(base_url=running.base_url, timeout=120, verify=False) as http:
        login = {"email": running.email, "password": running.password}
        token = http.post("/v2/autenticar", json=login).json()["accessToken"]
        http.headers["Authorization"] = f"Bearer {token}"
        yield http


def end() -> None:
    """Delete the filled databases."""
    _at_end.close()


def create_database(home: Path, options: Sequence[str], *, few: bool = False) -> None:
    """Create the database that the sandbox would create with these options."""
    with _filled_database(home, options, few=few):
        pass


@contextmanager
def _filled_database(
    home: Path, options: Sequence[str], *, few: bool
) -> Iterator[tuple[Storage, Account]]:
    """Open the database of a sandbox with these options, created if it does not exist.

    A file is copied from a filled one, and logins have minimal cost.
    """
    home.mkdir(parents=True, exist_ok=True)
    named = dict(itertools.pairwise(options))
    url = database_url(named.get("--db", str(home / "sandbox.db")))
    kind, scale = SeedKind(named.get("--seed", "demo")), int(named.get("--scale", "1"))
    if url.get_backend_name() == "sqlite":
        path = Path(str(url.database))
        if not path.exists():
            shutil.copyfile(_filled(kind, scale, few), path)
    with closing(open_database(url)) as storage:
        _fill(storage, kind, scale, few=few)
        yield storage, prepare_account(storage, Settings(home=home), _MINIMAL_COST)


@cache
def _filled(kind: SeedKind, scale: int, few: bool) -> Path:
    """Return a filled database, created by one of the run's processes for all."""
    if not _shared:
        share_in(Path(_at_end.enter_context(tempfile.TemporaryDirectory(prefix="xlbridge-"))))
    database = _shared[0] / f"{kind}-{scale}{'-few' * few}.db"
    with FileLock(f"{database}.lock"):
        if not database.exists():
            new = database.with_suffix(".new")
            if few:
                shutil.copyfile(_filled(kind, scale, False), new)
            with closing(open_database(database_url(str(new)))) as storage:
                _fill(storage, kind, scale, few=False)
                with storage.transaction(writing=True) as connection:
                    if few:
                        _reduce_records(connection)
                    # Each copy is a system of its own.
                    connection.execute(text("drop table sandbox_system"))
            new.rename(database)
    return database


def _fill(storage: Storage, kind: SeedKind, scale: int, *, few: bool) -> None:
    with storage.transaction(writing=True) as connection:
        if seed_database(connection, kind, scale) and few:
            _reduce_records(connection)


def _reduce_records(connection: Connection) -> None:
    for table, condition in _REMOVED_RECORDS.items():
        connection.execute(text(f"delete from {table} where {condition}"))
