"""Sandboxes without the second of their start, which ``test_embedded.py`` and others see to."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from forked import shared_zygote
from processes_seen import awaited, lives

from xlbridge.sandbox.embedded import own_environment
from xlbridge.sandbox.running import RunningSandbox, read_ready_file


@contextmanager
def sandbox_process(
    home: Path, options: Sequence[str] = (), environment: Mapping[str, str] | None = None
) -> Iterator[RunningSandbox]:
    """Run a sandbox in a process of its own, and end it afterwards.

    Like ``xlbridge.sandbox.embedded.sandbox_process``, but forked from one that has imported
    everything.
    """
    home.mkdir(parents=True, exist_ok=True)
    log = home / "sandbox.log"
    with tempfile.TemporaryDirectory(prefix="xlbridge-") as folder:
        ready = Path(folder) / "ready.json"
        command = ["sandbox", "--while-stdin-open", "--ready-file", str(ready), *options]
        own = own_environment(home, environment)
        with shared_zygote().running(own, command, log=log) as pid:
            found = awaited(lambda: read_ready_file(ready) or not lives(pid))
            assert isinstance(found, RunningSandbox), log.read_text("utf-8")
            yield found
