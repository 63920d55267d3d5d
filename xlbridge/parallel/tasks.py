"""Interface of tasks and executors, and the custom schema files that tasks carry with them."""

import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

# The package, whose names are imported lazily: a large file is read in the meantime.
from xlbridge import resources

if TYPE_CHECKING:
    from xlbridge.resources import Catalogue

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")

Task = Callable[[Item], Outcome]
"""Function that is called for each item.

It, the items and the outcomes can be pickled. The outcome does not depend on where it runs, and it
may run again for an item whose worker was lost.
"""

OnDone = Callable[[int], None]
"""Callback with the index of each finished item, in any order, from any thread."""


@dataclass(frozen=True, slots=True)
class LostItem:
    """Outcome of an item whose worker was lost twice."""


class WorkerDied(Exception):
    """A worker ended before it answered."""


class Executor(Protocol):
    """Runs a task for many items in other processes; losing one of them affects only its item."""

    @property
    def shares_files(self) -> bool:
        """Return whether workers see the files of this machine under the same paths."""

    def run(
        self,
        task: Task[Item, Outcome],
        items: Iterable[Item],
        on_done: OnDone = lambda _index: None,
        *,
        retry: Task[Item, Outcome] | None = None,
    ) -> Iterator[Outcome | LostItem]:
        """Yield the outcome of the task for each item, in order.

        ``retry`` replaces the task for an item whose worker was lost. Items are consumed only a
        little ahead of the outcomes. An executor runs one task at a time.
        Raises the task's ``XlbridgeError``.
        """


@dataclass(frozen=True, slots=True)
class CustomSchemas:
    """A folder of custom schema files, with their contents for workers that do not see it."""

    folder: Path
    contents: tuple[tuple[str, bytes], ...] | None = None

    def packed(self) -> "CustomSchemas":
        """Return a copy with the contents of the files in the folder and its subfolders.

        Raises ``SchemaFileError`` if one is wrong.
        """
        contents = tuple(
            (path.relative_to(self.folder).as_posix(), path.read_bytes())
            for path in resources.schema_files(self.folder)
            if path.is_relative_to(self.folder)
        )
        return CustomSchemas(self.folder, contents)

    def catalogue(self) -> "Catalogue":
        """Return the catalogue of these and the shipped files.

        Raises ``SchemaFileError`` if one is wrong.
        """
        return resources.load_catalogue(
            self.folder if self.contents is None else Path(_unpack(self).name)
        )


@cache
def _unpack(schemas: CustomSchemas) -> tempfile.TemporaryDirectory[str]:
    """Write the files to a temporary folder, kept as long as this process."""
    folder = tempfile.TemporaryDirectory(prefix="xlbridge-", ignore_cleanup_errors=True)
    for name, content in schemas.contents or ():
        file = Path(folder.name, name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return folder
