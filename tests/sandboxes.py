"""Sandboxes without the second of their start, which ``test_embedded.py`` and others see to."""

import itertools
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import cache
from pathlib import Path

from forked import shared_zygote
from processes_seen import awaited, lives

from xlbridge.sandbox.seed import Seed, seed
from xlbridge.sandbox.serving.embedded import own_environment
from xlbridge.sandbox.serving.running import RunningSandbox, read_ready_file
from xlbridge.sandbox.storage import Storage, database_url

_at_end = ExitStack()


@contextmanager
def sandbox_process(
    home: Path, options: Sequence[str] = (), environment: Mapping[str, str] | None = None
) -> Iterator[RunningSandbox]:
    """Run a sandbox in a process of its own, and end it afterwards.

    Like ``xlbridge.sandbox.serving.embedded.sandbox_process``, but forked from one that imported
    everything.
    """
    home.mkdir(parents=True, exist_ok=True)
    log = home / "sandbox.log"
    _give_demo(home, options)
    with tempfile.TemporaryDirectory(prefix="xlbridge-") as folder:
        ready = Path(folder) / "ready.json"
        command = ["sandbox", "--while-stdin-open", "--ready-file", str(ready), *options]
        own = own_environment(home, environment)
        with shared_zygote().running(own, command, log=log) as pid:
            found = awaited(lambda: read_ready_file(ready) or not lives(pid))
            assert isinstance(found, RunningSandbox), log.read_text("utf-8")
            yield found


def end() -> None:
    """Delete what was made."""
    _at_end.close()


def _give_demo(home: Path, options: Sequence[str]) -> None:
    """Copy the demo's records where a new file would be filled with them anew, for a second."""
    named = dict(itertools.pairwise(options))
    database = Path(named.get("--db", home / "sandbox.db"))
    asked = named.get("--seed", "demo") == "demo" and "--scale" not in named
    if asked and database.parent == home and not database.exists():
        shutil.copyfile(_demo(), database)


@cache
def _demo() -> Path:
    folder = Path(_at_end.enter_context(tempfile.TemporaryDirectory(prefix="xlbridge-demo-")))
    database = folder / "demo.db"
    with (
        closing(Storage(database_url(str(database)))) as storage,
        storage.transaction(writing=True) as connection,
    ):
        seed(connection, Seed.DEMO, 1)
    return database
