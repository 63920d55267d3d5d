"""Sandboxes that start quickly; ``test_embedded.py`` and others test the real start.

Inside: sandbox.
"""

import itertools
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path

from child_processes import is_alive, wait_until
from filelock import FileLock
from forked import shared_zygote
from other_shapes import OTHER_SPELLINGS, other_shapes
from sqlalchemy import Connection, text

from xlbridge.sandbox import RunningSandbox, SeedKind, open_database, prepare_account, seed_database
from xlbridge.sandbox.embedded import read_ready_file, sandbox_environment
from xlbridge.sandbox.storage import Storage, database_url
from xlbridge.sandbox.users import HashCost
from xlbridge.settings import Settings

_MINIMAL_COST = HashCost(n=2, r=1, p=1)
_REMOVED_RECORDS = {
    "sales_order_items": '"numeroDoPedido" % 20 > 0',
    "sales_order_installments": '"numeroDoPedido" % 20 > 0',
    "sales_orders": '"numeroDoPedido" % 20 > 0',
    "receivables": '"codigoDoCliente" > 1040',
}
"""Records of the demo company that slow tests down without testing more."""

_at_end = ExitStack()
_shared: list[Path] = []
_run_options: list[str] = []
_proxies: list[Callable[[str], AbstractContextManager[str]]] = []


def share_in(folder: Path) -> None:
    """Keep filled databases in a folder shared by all processes of the run."""
    _shared[:] = [folder]


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
) -> Iterator[RunningSandbox]:
    """Run a sandbox in its own process for the block.

    ``ignore_run_options`` omits the run's options for all sandboxes. With ``few`` it has a
    twentieth of the demo company's orders, and some of its receivables.

    Like ``xlbridge.sandbox.embedded.sandbox_process``, but forked from a process that has already
    imported everything.
    """
    log = home / "sandbox.log"
    create_database(home, options, few=few)
    with tempfile.TemporaryDirectory(prefix="xlbridge-") as folder:
        ready = Path(folder) / "ready.json"
        command = ["sandbox", "--while-stdin-open", "--ready-file", str(ready)]
        command += [*([] if ignore_run_options else _run_options), *options]
        own = sandbox_environment(home, environment)
        with shared_zygote().running(own, command, log=log) as pid:
            found = wait_until(lambda: read_ready_file(ready) or not is_alive(pid))
            assert isinstance(found, RunningSandbox), log.read_text("utf-8")
            with ExitStack() as stack:
                address = found.base_url
                for proxy in [] if ignore_run_options else _proxies:
                    address = stack.enter_context(proxy(address))
                yield replace(found, base_url=address)


def end() -> None:
    """Delete the filled databases."""
    _at_end.close()


def create_database(home: Path, options: Sequence[str], *, few: bool = False) -> None:
    """Create the database that the sandbox would create with these options.

    A file is copied from a filled one, and logins have minimal cost.
    """
    home.mkdir(parents=True, exist_ok=True)
    named = dict(itertools.pairwise(options))
    url = database_url(named.get("--db", str(home / "sandbox.db")))
    kind, scale = SeedKind(named.get("--seed", "demo")), int(named.get("--scale", "1"))
    if url.get_backend_name() == "sqlite":
        path = Path(str(url.database))
        if path.exists():
            return
        shutil.copyfile(_filled(kind, scale, few), path)
    with closing(open_database(url)) as storage:
        _fill(storage, kind, scale, few=few)
        prepare_account(storage, Settings(home=home), _MINIMAL_COST)


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
