"""The user's own schema files, for a worker that may not see their folder."""

import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from xlbridge.resources import Catalogue, load_catalogue


@dataclass(frozen=True, slots=True)
class OwnSchemas:
    """A folder of own schema files; with their contents for workers that do not see it."""

    folder: Path
    contents: tuple[tuple[str, bytes], ...] | None = None

    def packed(self) -> "OwnSchemas":
        """Return the same with the files' contents."""
        files = sorted(self.folder.glob("*.yaml"))
        return OwnSchemas(self.folder, tuple((path.name, path.read_bytes()) for path in files))

    def catalogue(self) -> Catalogue:
        """Return the catalogue that these files and the shipped ones make.

        Raises ``SchemaFileError`` when one is wrong.
        """
        return load_catalogue(self.folder if self.contents is None else _unpack_once(self).path)


class _UnpackedFolder:
    """A copy of the files that stays as long as this process: schemas are read when needed."""

    def __init__(self, contents: tuple[tuple[str, bytes], ...]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="xlbridge-", ignore_cleanup_errors=True)
        self.path = Path(self._folder.name)
        for name, content in contents:
            (self.path / name).write_bytes(content)


@cache
def _unpack_once(schemas: OwnSchemas) -> _UnpackedFolder:
    return _UnpackedFolder(schemas.contents or ())
