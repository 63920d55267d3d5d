"""Passwords of profiles: the environment, the system's keyring, or a private file."""

import importlib
import importlib.util
import json
import os
import stat
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from xlbridge.errors import ConfigError
from xlbridge.extras import install_hint
from xlbridge.files import as_arguments, write_private
from xlbridge.i18n import Text, untranslated
from xlbridge.profiles.profile import Profile, are_credentials_for
from xlbridge.settings import Settings

_GROUP_AND_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class PasswordSource(StrEnum):
    """Places where a password is stored."""

    ENVIRONMENT = "environment"
    KEYRING = "keyring"
    FILE = "file"
    NOWHERE = "missing"


@dataclass(frozen=True, slots=True)
class Password:
    """An environment's password, empty if there is none, and where it was found."""

    source: PasswordSource
    value: str = field(default="", repr=False)


def find_password(settings: Settings, profile: Profile) -> Password:
    """Return the password of a profile: from the environment, the keyring, or the private file.

    A password belongs to an address and a user, and is not used for any other. Raises
    ``ConfigError`` for a password file that other users may read.
    """
    if settings.password and are_credentials_for(settings, profile):
        return Password(PasswordSource.ENVIRONMENT, settings.password)
    stored = _read_from_keyring(profile)
    if stored:
        return Password(PasswordSource.KEYRING, stored)
    stored = _read_from_file(_password_path(settings.home, profile), profile)
    return Password(PasswordSource.FILE, stored) if stored else Password(PasswordSource.NOWHERE)


def store_password(
    home: Path, profile: Profile, password: str, source: PasswordSource | None
) -> PasswordSource:
    """Store a password in the keyring or a private file, and nowhere else; return where.

    Without a source the keyring is used if there is one, else the file. Raises ``ConfigError`` if
    the keyring is requested and cannot be used.
    """
    delete_password(home, profile)
    keyring = None if source is PasswordSource.FILE else _keyring()
    if keyring is not None:
        with suppress(keyring.errors.KeyringError):
            keyring.set_password(_keyring_service(profile), profile.email, password)
            # A backend may accept everything and store nothing.
            if _read_from_keyring(profile) == password:
                return PasswordSource.KEYRING
    if source is PasswordSource.KEYRING:
        raise ConfigError(
            Text(
                pt="O chaveiro do sistema não pode ser usado.",
                en="The system's keyring cannot be used.",
            ),
            Text(pt="{install} Ou use --store file.", en="{install} Or use --store file.").format(
                install=install_hint("keyring")
            ),
        )
    if os.name == "nt" and not _MAKES_PRIVATE_FOLDERS:
        raise ConfigError(
            Text(
                pt="Com este Python, outros usuários deste Windows poderiam ler a senha.",
                en="With this Python, other users of this Windows could read the password.",
            ),
            Text(
                pt="Use o Python 3.11.10, 3.12.4 ou mais novo, ou o cofre. {install}",
                en="Use Python 3.11.10, 3.12.4 or newer, or the keyring. {install}",
            ).format(install=install_hint("keyring")),
        )
    document = {"origin": profile.origin, "email": profile.email, "password": password}
    write_private(_password_path(home, profile), json.dumps(document))
    return PasswordSource.FILE


_MAKES_PRIVATE_FOLDERS = sys.version_info >= (
    (3, 11, 10) if sys.version_info < (3, 12) else (3, 12, 4)
)
"""True if a folder of mode 0700 is its owner's and the administrators' on Windows, too."""


def delete_password(home: Path, profile: Profile) -> None:
    """Delete a password from the keyring and the private file."""
    _password_path(home, profile).unlink(missing_ok=True)
    keyring = _keyring()
    if keyring is not None and _read_from_keyring(profile):
        keyring.delete_password(_keyring_service(profile), profile.email)


def _password_path(home: Path, profile: Profile) -> Path:
    return home / "secrets" / f"{profile.name}.json"


def _read_from_file(path: Path, profile: Profile) -> str:
    try:
        text = path.read_text(encoding="utf-8")
        open_to_others = os.name == "posix" and path.stat().st_mode & _GROUP_AND_OTHERS
    except OSError:
        return ""
    if open_to_others:
        raise ConfigError(
            Text(
                pt="Outros usuários podem ler {path}, que contém uma senha.",
                en="Other users may read {path}, which contains a password.",
            ).format(path=path),
            untranslated("chmod 600 {path}").format(path=as_arguments(path)),
        )
    try:
        stored = json.loads(text)
        belongs = (stored["origin"], stored["email"]) == (profile.origin, profile.email)
        return str(stored["password"]) if belongs else ""
    except (ValueError, KeyError, TypeError):
        return ""


def _keyring_service(profile: Profile) -> str:
    return f"xlbridge {profile.name} {profile.origin}"


def _read_from_keyring(profile: Profile) -> str:
    keyring = _keyring()
    if keyring is None:
        return ""
    try:
        return keyring.get_password(_keyring_service(profile), profile.email) or ""
    except keyring.errors.KeyringError:
        return ""  # The keyring is locked or missing.


def _keyring() -> Any:
    """Return the optional package, which is slow to load, or None if it is not installed."""
    if importlib.util.find_spec("keyring") is None:
        return None
    importlib.import_module("keyring.errors")
    return importlib.import_module("keyring")
