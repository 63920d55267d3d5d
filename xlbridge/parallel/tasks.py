"""Tasks for executors: their interface, and the user's own schema files that they take along."""

import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

# As a room: what is in it takes its time to import, and a large file is to be read meanwhile.
from xlbridge import resources

if TYPE_CHECKING:
    from xlbridge.resources import Catalogue

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")

Task = Callable[[Item], Outcome]
"""Function that is called for each item.

It, the items and the outcomes can be pickled; what it returns does not depend on where it runs, and
it may run again for an item whose worker was lost.
"""

OnDone = Callable[[int], None]
"""Callback with the place of each item when it is done, in no order, from any thread."""


@dataclass(frozen=True, slots=True)
class LostItem:
    """Stands for the outcome of an item whose workers ended twice before they returned it."""


class WorkerDied(Exception):
    """A worker ended before it answered."""


class Executor(Protocol):
    """Runs a task for many items.

    A worker may be lost over an item without harm to anything else. ``shares_files`` says whether
    workers see the files of this machine under the same paths.
    """

    @property
    def shares_files(self) -> bool:
        """Return whether a path may stand for the file."""

    def run(
        self,
        task: Task[Item, Outcome],
        items: Iterable[Item],
        on_done: OnDone = lambda _place: None,
        *,
        again: Task[Item, Outcome] | None = None,
    ) -> Iterator[Outcome | LostItem]:
        """Yield what the task returns for each item, in the items' order.

        ``again`` is what is done in its place for an item whose worker was lost over it. Items are
        taken only a little ahead of what was yielded. An executor runs one task at a time.
        Raises the ``XlbridgeError`` that the task raised.
        """


@dataclass(frozen=True, slots=True)
class OwnSchemas:
    """A folder of own schema files; with their contents for workers that do not see it."""

    folder: Path
    contents: tuple[tuple[str, bytes], ...] | None = None

    def packed(self) -> "OwnSchemas":
        """Return the same with the contents of the files in the folder and below.

        Raises ``SchemaFileError`` when one is wrong.
        """
        contents = tuple(
            (path.relative_to(self.folder).as_posix(), path.read_bytes())
            for path in resources.schema_files(self.folder)
            if path.is_relative_to(self.folder)
        )
        return OwnSchemas(self.folder, contents)

    def catalogue(self) -> "Catalogue":
        """Return the catalogue that these files and the shipped ones make.

        Raises ``SchemaFileError`` when one is wrong.
        """
        return resources.load_catalogue(
            self.folder if self.contents is None else Path(_unpacked(self).name)
        )


@cache
def _unpacked(schemas: OwnSchemas) -> tempfile.TemporaryDirectory[str]:
    """Return a copy of the files that stays as long as this process: they are read when needed."""
    folder = tempfile.TemporaryDirectory(prefix="xlbridge-", ignore_cleanup_errors=True)
    for name, content in schemas.contents or ():
        file = Path(folder.name, name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return folder
