"""Folders of schema files: xlbridge's own, and those of installed packages.

An entry point of the group ``xlbridge.checks`` names a module that declares rules; one of the
group ``xlbridge.resources`` a package with schema files in its folder.
"""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import xlbridge
from xlbridge.errors import ConfigError
from xlbridge.i18n import Text

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_CHECKS, _RESOURCES = "xlbridge.checks", "xlbridge.resources"
_METADATA_FOLDERS = (".dist-info", ".egg-info")
_METADATA_OF_EGG = "egg-info"


def shipped_folder(folder: str) -> Path:
    """Return the folder ``schemas`` or ``templates`` of xlbridge, which is inside the package in an
    installed wheel, next to it in a checkout."""
    package = Path(xlbridge.__file__).parent
    packed = package / "_data" / folder
    return packed if packed.is_dir() else package.parent / folder


def import_installed_checks() -> None:
    """Import the modules that declare the rules of installed packages.

    Raises ``ConfigError`` with the module that cannot be imported and the reason.
    """
    for entry in _entry_points(_CHECKS):
        try:
            entry.load()
        except Exception as error:
            raise _not_loaded(entry, f"{type(error).__name__}: {error}") from error


def installed_schema_folders() -> list[Path]:
    """Return the folders of installed packages with schema files, without importing them.

    Raises ``ConfigError`` with the package that cannot be found.
    """
    folders = []
    for entry in _entry_points(_RESOURCES):
        try:
            found = find_spec(entry.module)
        except ImportError:
            found = None
        locations = found.submodule_search_locations if found else None
        if not locations:
            raise _not_loaded(entry, Text(pt="não é um pacote", en="it is not a package"))
        folders.append(Path(locations[0]))
    return folders


def _entry_points(group: str) -> "Iterable[EntryPoint]":
    if group not in _groups_named(tuple(sys.path)):
        return ()
    # Late: the import takes longer than reading the files, which rarely name a group of ours.
    from importlib.metadata import entry_points

    return entry_points(group=group)


@cache
def _groups_named(path: Sequence[str]) -> frozenset[str]:
    """Return the groups that files with entry points in the folders of ``sys.path`` may name."""
    groups = frozenset({_CHECKS, _RESOURCES})
    finders = (finder for finder in sys.meta_path if finder is not PathFinder)
    if any(hasattr(finder, "find_distributions") for finder in finders):
        return groups
    named: set[str] = set()
    for folder in path:
        if Path(folder).is_file():
            return groups  # Only importlib can read archives.
        for content in _entry_point_files(folder or os.curdir):
            named |= {group for group in groups if group.encode() in content}
    return frozenset(named)


def _entry_point_files(folder: str) -> Iterator[bytes]:
    """Yield the contents of the entry-point files of the packages installed in a folder."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            name = entry.name.lower()
            if name.endswith(_METADATA_FOLDERS) or name == _METADATA_OF_EGG:
                with suppress(OSError):
                    yield Path(entry.path, "entry_points.txt").read_bytes()


def _not_loaded(entry: "EntryPoint", why: Text | str) -> ConfigError:
    package = entry.dist.name if entry.dist else entry.module
    return ConfigError(
        Text(
            pt="{entry}, do pacote instalado {package}, não pôde ser carregado: {why}.",
            en="{entry}, of the installed package {package}, could not be loaded: {why}.",
        ).format(entry=entry.value, package=package, why=why),
        Text(
            pt="Corrija ou desinstale o pacote {package}.",
            en="Correct or uninstall the package {package}.",
        ).format(package=package),
    )
