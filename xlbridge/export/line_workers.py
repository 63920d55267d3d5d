"""Processes that make lines of answers beside this one, as it sees them."""

import json
import pickle
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Lock
from types import TracebackType
from typing import Any, Self

from xlbridge.export.part import Part
from xlbridge.export.part_making import Recipe
from xlbridge.helper_process import HelperProcess, usable_cores

_WORTH_A_PROCESS = 2**20
"""So many bytes of answers are read before others are called: small exports need none."""

_PROCESS = "xlbridge.export.line_process"


class LineWorkers:
    """The processes of one export, for the length of a ``with`` block.

    They begin once the answers have shown to be large, one for each call that is made at once, and
    none where there is no second core. They get a recipe and answers, no credentials and no
    connection. An answer that one of them made nothing of, or was lost over, is left to this
    process, which can also tell what is wrong with it.
    """

    def __init__(self, recipe: Recipe, at_once: int) -> None:
        wanted = min(at_once, usable_cores())
        self.count = wanted if wanted > 1 else 0
        self._recipe = recipe
        self._bytes = 0
        self._begun: list[_Maker] = []
        self._idle: SimpleQueue[_Maker] = SimpleQueue()
        self._closed = not self.count
        self._lock = Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.stop()
        for maker in self._begun:
            maker.wait()

    def stop(self) -> None:
        """End them and what they are at."""
        with self._lock:
            self._closed = True
            for maker in self._begun:
                maker.kill()

    def see(self, size: int) -> None:
        """Count so many bytes of answers."""
        with self._lock:
            self._bytes += size
            if self._bytes < _WORTH_A_PROCESS or self._begun or self._closed:
                return
            try:
                for _ in range(self.count):
                    maker = _Maker(self._recipe)
                    self._begun.append(maker)
                    self._idle.put(maker)
            except OSError:
                # The system lets no more processes begin: what there are must do, or this one.
                self._closed = True

    @property
    def have_begun(self) -> bool:
        """Whether they are there to be asked."""
        return bool(self._begun)

    def make(self, part: Part, on_records: Callable[[int], None]) -> dict[str, Any] | None:
        """Have the lines of a part made of its answer, when one of the processes is free.

        ``on_records`` is told how many more records came. Returns the answer's envelope without
        the records, None where the part has to be made here.
        """
        maker = self._idle.get()
        try:
            return maker.envelope_of(part, on_records)
        finally:
            self._idle.put(maker)


class _Maker(HelperProcess):
    """One process."""

    def __init__(self, recipe: Recipe) -> None:
        super().__init__(_PROCESS)
        with suppress(OSError):
            self._send(pickle.dumps(recipe))

    def envelope_of(self, part: Part, on_records: Callable[[int], None]) -> dict[str, Any] | None:
        """Have a part made; None where the process made nothing of it, or is gone."""
        counted = 0
        with suppress(OSError):
            self._send(json.dumps(str(part.folder)).encode() + b"\n")
        while "records" in (told := self._told()):
            counted += told["records"]
            on_records(told["records"])
        made = told.get("made")
        if made is not None:
            part.take_in(made)
        on_records((0 if made is None else part.records) - counted)
        return None if made is None else dict(made["envelope"])

    def _told(self) -> dict[str, Any]:
        """Return what the process tells next, nothing where it is gone."""
        try:
            return dict(json.loads(self.pipes[1].readline()))
        except (OSError, ValueError):
            return {}

    def _send(self, what: bytes) -> None:
        orders, _ = self.pipes
        orders.write(what)
        orders.flush()
