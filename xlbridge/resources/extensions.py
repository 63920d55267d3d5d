"""Rules and resources that other installed packages bring, which they name by entry points.

An entry point of the group ``xlbridge.checks`` names a module that declares rules; one of the
group ``xlbridge.resources`` a package with schema files in its folder.
"""

from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path

from xlbridge.errors import ConfigError
from xlbridge.i18n import Text

_CHECKS, _RESOURCES = "xlbridge.checks", "xlbridge.resources"


def import_installed_checks() -> None:
    """Import the modules that declare the rules of installed packages.

    Raises ``ConfigError`` naming the module that cannot be imported, and why.
    """
    for entry in entry_points(group=_CHECKS):
        try:
            entry.load()
        except Exception as error:
            raise _not_loaded(entry, f"{type(error).__name__}: {error}") from error


def installed_schema_folders() -> list[Path]:
    """Return the folders of the packages that bring schema files; the packages are not imported.

    Raises ``ConfigError`` naming the package that there is none of.
    """
    return [_folder(entry) for entry in entry_points(group=_RESOURCES)]


def _folder(entry: EntryPoint) -> Path:
    try:
        found = find_spec(entry.module)
    except ImportError:
        found = None
    folders = found.submodule_search_locations if found else None
    if not folders:
        raise _not_loaded(entry, Text(pt="não é um pacote", en="it is not a package"))
    return Path(folders[0])


def _not_loaded(entry: EntryPoint, why: Text | str) -> ConfigError:
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
