"""Write the manifests of a release for winget, Windows' package manager.

Run from the project's folder, with the zip of the application and the address of the repository
whose release it is a file of::

    python packaging/winget_manifests.py dist/xlbridge-windows.zip https://… out/winget

The zip holds the folder ``xlbridge`` that ``make app`` writes. Versions of the format:
``ManifestVersion``, whose JSON Schemas are in the repository of winget.
"""

import hashlib
import re
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "Xlbridge.Xlbridge"
PROGRAM = "xlbridge/xlbridge.exe"

_COMMON = """\
PackageIdentifier: {package}
PackageVersion: {version}
"""
_END = """\
ManifestType: {kind}
ManifestVersion: 1.10.0
"""
_VERSION = "DefaultLocale: en-US\n"
# The program needs the files beside it: its folder is put in the path, in place of a link to it.
_INSTALLER = """\
MinimumOSVersion: 10.0.17763.0
InstallerType: zip
NestedInstallerType: portable
NestedInstallerFiles:
- RelativeFilePath: {program}
  PortableCommandAlias: xlbridge
ArchiveBinariesDependOnPath: true
UpgradeBehavior: uninstallPrevious
Commands:
- xlbridge
Installers:
- Architecture: x64
  InstallerUrl: {repository}/releases/download/v{version}/{zip}
  InstallerSha256: {sha256}
"""
_LOCALE = """\
PackageLocale: {locale}
Publisher: The xlbridge maintainers
PublisherSupportUrl: {repository}/issues
PackageName: xlbridge
PackageUrl: {repository}
License: MIT
LicenseUrl: {repository}/blob/v{version}/LICENSE
ShortDescription: {description}
ReleaseNotesUrl: {repository}/blob/v{version}/CHANGELOG.md
"""
_DESCRIPTIONS = {
    "en-US": "Bulk import and export by spreadsheets, for the Business Management Integration "
    "API v2",
    "pt-BR": "Importação e exportação em massa por planilhas, para a Business Management "
    "Integration API v2",
}


def manifests(archive: Path, repository: str) -> Mapping[str, str]:
    """Return the manifests by file name. Raises ``SystemExit`` if the zip is not the program's."""
    with zipfile.ZipFile(archive) as packed:
        if PROGRAM not in packed.namelist():
            raise SystemExit(f"{archive}: {PROGRAM} is missing.")
    init = (ROOT / "xlbridge" / "__init__.py").read_text(encoding="utf-8")
    (version,) = re.findall(r'^__version__ = "([^"]+)"$', init, re.MULTILINE)
    values = {
        "package": PACKAGE,
        "version": version,
        "program": PROGRAM.replace("/", "\\"),
        "repository": repository.rstrip("/"),
        "zip": archive.name,
        "sha256": hashlib.sha256(archive.read_bytes()).hexdigest().upper(),
    }
    parts = {
        "": (_VERSION, "version", ""),
        ".installer": (_INSTALLER, "installer", ""),
        ".locale.en-US": (_LOCALE, "defaultLocale", "en-US"),
        ".locale.pt-BR": (_LOCALE, "locale", "pt-BR"),
    }
    return {
        f"{PACKAGE}{part}.yaml": (_COMMON + body + _END).format(
            **values, kind=kind, locale=locale, description=_DESCRIPTIONS.get(locale, "")
        )
        for part, (body, kind, locale) in parts.items()
    }


def main(archive: str, repository: str, folder: str) -> None:
    """Write the manifests into a folder."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    for name, text in manifests(Path(archive), repository).items():
        (target / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
