"""The catalogue of importable resources."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import xlbridge
from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.resources.interface import wire_model
from xlbridge.resources.resource import Resource
from xlbridge.resources.schema_file import read_schema_file, read_shipped_file

if TYPE_CHECKING:
    from xlbridge.wire.model import WireModel

_PACKAGE = Path(xlbridge.__file__).parent


def shipped(folder: str) -> Path:
    """Return the folder ``schemas`` or ``templates`` that came with xlbridge.

    An installed wheel carries them inside the package; a checkout has them beside it.
    """
    packed = _PACKAGE / "_data" / folder
    return packed if packed.is_dir() else _PACKAGE.parent / folder


class Catalogue(Mapping[str, Resource]):
    """The resources by name, in the order of their files."""

    def __init__(self, resources: Sequence[Resource]) -> None:
        self._resources = MappingProxyType({resource.name: resource for resource in resources})

    def __getitem__(self, name: str) -> Resource:
        return self._resources[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._resources)

    def __len__(self) -> int:
        return len(self._resources)

    def named(self, name: str) -> Resource:
        """Return the resource of that name.

        Raises ``UsageError`` naming the known ones when there is none.
        """
        if name in self:
            return self[name]
        raise UsageError(
            Text(
                pt="O recurso {name!r} não existe. Existem: {known}.",
                en="There is no resource {name!r}. There are: {known}.",
            ).format(name=name, known=", ".join(self))
        )


def load_catalogue(*own_folders: Path) -> Catalogue:
    """Load the shipped resources and those in the user's own folders.

    A file in an own folder replaces a shipped resource of the same name, and one of an earlier
    folder. Folders that do not exist are passed over. Raises ``SchemaFileError`` when a file is
    wrong, or when two of a folder have the same resource.
    """
    resources = list(_shipped_resources())
    for folder in own_folders:
        own: list[Resource] = []
        for path in _own_files(folder):
            own.append(read_schema_file(path, own))
        resources += own
    return Catalogue(resources)


def _own_files(folder: Path) -> list[Path]:
    """Return the schema files of a folder, without what editors hide there."""
    files = folder.iterdir() if folder.is_dir() else ()
    return sorted(
        path
        for path in files
        if path.suffix.lower() in {".yaml", ".yml"} and not path.name.startswith(".")
    )


@cache
def _shipped_resources() -> tuple[Resource, ...]:
    return tuple(read_shipped_file(path) for path in sorted(shipped("schemas").glob("*.yaml")))


def record_model(resource: Resource) -> "type[WireModel] | None":
    """Return the wire model that a row of the resource becomes, None where it has none."""
    return None if resource.model is None else wire_model(resource.model)
