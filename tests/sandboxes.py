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

from filelock import FileLock
from forked import shared_zygote
from other_shapes import SPELT_OTHERWISE, other_shapes
from processes_seen import awaited, lives
from sqlalchemy import Connection, text

from xlbridge.sandbox import RunningSandbox, SeedKind, open_database, prepare_account, seed_database
from xlbridge.sandbox.embedded import read_ready_file, sandbox_environment
from xlbridge.sandbox.storage import Storage, database_url
from xlbridge.sandbox.users import HashCost
from xlbridge.settings import Settings

_NEXT_TO_NOTHING = HashCost(n=2, r=1, p=1)
_TOO_MANY = {
    "sales_order_items": '"numeroDoPedido" % 20 > 0',
    "sales_order_installments": '"numeroDoPedido" % 20 > 0',
    "sales_orders": '"numeroDoPedido" % 20 > 0',
    "receivables": '"codigoDoCliente" > 1040',
}
"""Records of the demo company that slow tests down without testing more."""

_at_end = ExitStack()
_shared: list[Path] = []
_always: list[str] = []
_before_each: list[Callable[[str], AbstractContextManager[str]]] = []


def share_in(folder: Path) -> None:
    """Keep filled databases in a folder shared by all processes of the run."""
    _shared[:] = [folder]


def be_strict() -> None:
    """Start every sandbox of the run with ``--strict``."""
    _always.append("--strict")


def answer_in_other_shapes() -> None:
    """Put the proxy of ``other_shapes.py`` in front of every sandbox of the run."""
    _before_each.append(lambda address: other_shapes(address, SPELT_OTHERWISE))


@contextmanager
def sandbox_process(
    home: Path,
    options: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    *,
    as_it_is: bool = False,
    few: bool = False,
) -> Iterator[RunningSandbox]:
    """Run a sandbox in its own process for the block.

    With ``as_it_is`` the options of the run for all sandboxes are ignored. With ``few`` it has a
    twentieth of the demo company's orders, and some of its receivables.

    Like ``xlbridge.sandbox.embedded.sandbox_process``, but forked from a process that has already
    imported everything.
    """
    log = home / "sandbox.log"
    give_database(home, options, few=few)
    with tempfile.TemporaryDirectory(prefix="xlbridge-") as folder:
        ready = Path(folder) / "ready.json"
        command = ["sandbox", "--while-stdin-open", "--ready-file", str(ready)]
        command += [*([] if as_it_is else _always), *options]
        own = sandbox_environment(home, environment)
        with shared_zygote().running(own, command, log=log) as pid:
            found = awaited(lambda: read_ready_file(ready) or not lives(pid))
            assert isinstance(found, RunningSandbox), log.read_text("utf-8")
            with ExitStack() as stack:
                address = found.base_url
                for stand_in in [] if as_it_is else _before_each:
                    address = stack.enter_context(stand_in(address))
                yield replace(found, base_url=address)


def end() -> None:
    """Delete the filled databases."""
    _at_end.close()


def give_database(home: Path, options: Sequence[str], *, few: bool = False) -> None:
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
        prepare_account(storage, Settings(home=home), _NEXT_TO_NOTHING)


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
                        _leave_few(connection)
                    # Each copy is a system of its own.
                    connection.execute(text("drop table sandbox_system"))
            new.rename(database)
    return database


def _fill(storage: Storage, kind: SeedKind, scale: int, *, few: bool) -> None:
    with storage.transaction(writing=True) as connection:
        if seed_database(connection, kind, scale) and few:
            _leave_few(connection)


def _leave_few(connection: Connection) -> None:
    for table, condition in _TOO_MANY.items():
        connection.execute(text(f"delete from {table} where {condition}"))
