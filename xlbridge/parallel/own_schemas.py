"""The user's own schema files, for a worker that may not see their folder."""

import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from xlbridge.resources import Catalogue, load_catalogue, schema_files


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
            for path in schema_files(self.folder)
            if path.is_relative_to(self.folder)
        )
        return OwnSchemas(self.folder, contents)

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
            file = self.path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)


@cache
def _unpack_once(schemas: OwnSchemas) -> _UnpackedFolder:
    return _UnpackedFolder(schemas.contents or ())
