"""Saved logins: the profile, by edits of ``profiles.toml`` that keep the user's comments and order,
and its password, in the system's keyring or a private file.

tomlkit is imported by edits only: every command that sends reads the password.
"""

import importlib
import importlib.util
import json
import os
import re
import stat
import subprocess
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from xlbridge.errors import ConfigError, UsageError
from xlbridge.extras import install_hint
from xlbridge.files import (
    as_arguments,
    file_lock,
    make_private_folder,
    report_write_errors,
    write_private,
)
from xlbridge.i18n import Text, joined, untranslated
from xlbridge.processes import windows_program
from xlbridge.profiles import (
    HOW_TO_FIX,
    NO_SUCH_PROFILE,
    Profile,
    ProfileSource,
    are_credentials_for,
    parse_profile_file,
    profile_file_path,
    profiles_hint,
    read_machine_profiles,
    read_policy,
    read_profile_file,
    require_allowed,
)
from xlbridge.settings import DEFAULT_SETTLE_SECONDS, Settings

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

Edit = Callable[["TOMLDocument"], "TOMLDocument"]


def check_profile(settings: Settings, profile: Profile) -> None:
    """Raise ``ConfigError`` if saving a profile would be refused; nothing is written."""
    _apply_edit(settings, _setting(settings, profile))


def save_profile(settings: Settings, profile: Profile) -> None:
    """Add a profile, or replace the one of its name; keep its quirks if the new one has none.

    Raises ``ConfigError``, ``UsageError``.
    """
    _write_edit(settings, _setting(settings, profile))


def remove_profile(settings: Settings, name: str) -> Profile:
    """Remove a profile and return it.

    Raises ``UsageError`` if it does not exist, ``ConfigError`` if it is the machine's.
    """
    profile = _require_profile(settings, name)
    _require_own(profile)

    def remove(document: "TOMLDocument") -> "TOMLDocument":
        del document["profiles"][name]
        if document.get("default") == name:
            del document["default"]
        return document

    _write_edit(settings, remove)
    return profile


def set_default(settings: Settings, name: str) -> None:
    """Make a profile the default, which may be the machine's.

    Raises ``ConfigError`` for a production profile, and for one that the policy does not allow.
    """
    profile = _require_profile(settings, name)
    require_allowed(settings, profile, read_profile_file(settings).profiles)

    def change(document: "TOMLDocument") -> "TOMLDocument":
        if "default" not in document:
            import tomlkit

            # Appended to the file, it would belong to the last table.
            return tomlkit.parse(f'default = "{name}"\n{tomlkit.dumps(document)}')
        document["default"] = name
        return document

    _write_edit(settings, change)


def _require_profile(settings: Settings, name: str) -> Profile:
    profiles = read_profile_file(settings).profiles
    if name not in profiles:
        raise UsageError(NO_SUCH_PROFILE.format(name=name), profiles_hint(name, profiles))
    return profiles[name]


def _setting(settings: Settings, profile: Profile) -> Edit:
    """Return the edit that sets a profile. Raises ``ConfigError`` if it may not be set."""
    known = read_profile_file(settings).profiles
    _require_own(known.get(profile.name))
    require_allowed(settings, profile, known)
    return lambda document: _set_profile(document, profile)


def _require_own(profile: Profile | None) -> None:
    if profile is not None and profile.source is ProfileSource.MACHINE:
        raise ConfigError(
            Text(
                pt="O perfil {name} é da TI, que o mantém em {path}.",
                en="The profile {name} belongs to IT, which keeps it in {path}.",
            ).format(name=profile.name, path=profile.file),
            Text(
                pt="Peça a mudança à TI, ou use outro nome.",
                en="Ask IT for the change, or use another name.",
            ),
        )


def _set_profile(document: "TOMLDocument", profile: Profile) -> "TOMLDocument":
    import tomlkit

    tables = document.setdefault("profiles", tomlkit.table(is_super_table=True))
    table = tables.setdefault(profile.name, tomlkit.table())
    table["base_url"], table["email"] = profile.base_url, profile.email
    settle = profile.settle_seconds
    optional = {
        "production": profile.production or None,
        "settle_seconds": None if settle == DEFAULT_SETTLE_SECONDS else settle,
        "ca_bundle": None if profile.ca_bundle is None else str(profile.ca_bundle.resolve()),
    }
    for key, value in optional.items():
        if value is not None:
            table[key] = value
        else:
            table.pop(key, None)
    if profile.quirks is not None:
        table["quirks"] = tomlkit.item(dict(profile.quirks))
    return document


def _write_edit(settings: Settings, edit: Edit) -> None:
    with file_lock(settings.home / "profiles.lock"):
        write_private(profile_file_path(settings.home), _apply_edit(settings, edit))


def _apply_edit(settings: Settings, edit: Edit) -> str:
    """Return the edited text of the file, after a check."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    path = profile_file_path(settings.home)
    read_profile_file(settings)
    try:
        document = tomlkit.parse(path.read_text(encoding="utf-8-sig") if path.exists() else "")
        edited = edit(document)
    except TOMLKitError as error:
        raise ConfigError(
            Text(pt="{p}: {e}", en="{p}: {e}").format(p=path, e=error), HOW_TO_FIX
        ) from None
    text = tomlkit.dumps(edited)
    parse_profile_file(path, text, read_machine_profiles(settings))
    return text


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


def find_password(settings: Settings, profile: Profile, *, silently: bool = False) -> Password:
    """Return the password of a profile: from the environment, the keyring, or the private file.

    ``silently``: a keyring that may ask the user to unlock it counts as if it were not there.

    A password belongs to an address and a user, and is not used for any other; the private file is
    not used if the machine's policy does not allow it. Raises ``ConfigError`` for a password file
    that other users may read.
    """
    if settings.password and are_credentials_for(settings, profile):
        return Password(PasswordSource.ENVIRONMENT, settings.password)
    stored = _read_from_keyring(profile, silently=silently)
    if stored:
        return Password(PasswordSource.KEYRING, stored)
    if read_policy(settings.machine).passwords is not None:
        return Password(PasswordSource.NOWHERE)
    stored = _read_from_file(_password_path(settings.home, profile), profile)
    return Password(PasswordSource.FILE, stored) if stored else Password(PasswordSource.NOWHERE)


def store_password(
    settings: Settings, profile: Profile, password: str, source: PasswordSource | None
) -> PasswordSource:
    """Store a password in the keyring or a private file, and nowhere else; return where.

    Without a source the keyring is used if there is one, else the file. Raises ``ConfigError`` if
    the keyring is needed and cannot be used, if the machine's policy forbids the file, or if others
    may read files of the folder on Windows, where the file has its permissions.
    """
    policy = read_policy(settings.machine)
    if policy.passwords is not None and source is PasswordSource.FILE:
        raise ConfigError(
            _ONLY_KEYRING.format(path=policy.path),
            Text(
                pt="Use --store keyring.",
                en="Use --store keyring.",
                page=Text(
                    pt="Peça à TI que veja o cofre de senhas deste computador.",
                    en="Ask IT to see to the keyring of this computer.",
                ),
            ),
        )
    delete_password(settings.home, profile)
    keyring = None if source is PasswordSource.FILE else _keyring()
    if keyring is not None:
        with suppress(keyring.errors.KeyringError):
            keyring.set_password(_keyring_service(profile), profile.email, password)
            # A backend may accept everything and store nothing.
            if _read_from_keyring(profile) == password:
                return PasswordSource.KEYRING
    if source is PasswordSource.KEYRING or policy.passwords is not None:
        other = Text(
            pt="Ou use --store file.",
            en="Or use --store file.",
            page=Text(
                pt="Ou peça à TI que veja o cofre de senhas deste computador.",
                en="Or ask IT to see to the keyring of this computer.",
            ),
        )
        if policy.passwords is not None:
            other = _ONLY_KEYRING.format(path=policy.path)
        raise ConfigError(
            Text(
                pt="O cofre de senhas do computador não pode ser usado.",
                en="The system's keyring cannot be used.",
            ),
            joined([install_hint("keyring"), other], " "),
        )
    path = _password_path(settings.home, profile)
    if os.name == "nt":
        with report_write_errors(path, in_home=True):
            make_private_folder(path.parent)
        _require_private(path.parent)
    document = {"origin": profile.origin, "email": profile.email, "password": password}
    write_private(path, json.dumps(document))
    return PasswordSource.FILE


_ONLY_KEYRING = Text(
    pt="Neste computador a senha só pode ficar no cofre de senhas, conforme {path}.",
    en="On this computer passwords may only be in the system's keyring, according to {path}.",
)


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
        _require_private(path)
    except OSError:
        return ""
    try:
        stored = json.loads(text)
        belongs = (stored["origin"], stored["email"]) == (profile.origin, profile.email)
        return str(stored["password"]) if belongs else ""
    except (ValueError, KeyError, TypeError):
        return ""


def _require_private(path: Path) -> None:
    """Raise ``ConfigError`` if other users may read a file with a password, or its folder."""
    if os.name == "nt":
        own = _ACCOUNT.search(_windows_answer("whoami.exe", "/user", "/fo", "csv", "/nh"))
        others = others_let_in(_windows_permissions(path), own.group() if own else "")
        is_open = others is None or bool(others)
        accounts = [each for each in others or () if each not in _GROUPS]
        removed = "".join(f' /remove:g "*{each}"' for each in accounts)
        remedy = f'icacls {{folder}} /inheritance:r{removed} /grant:r "*S-1-3-4:(OI)(CI)F"'
    else:
        is_open = bool(path.stat().st_mode & _GROUP_AND_OTHERS)
        remedy = "chmod 600 {path}"
    if is_open:
        folder = path if path.is_dir() else path.parent
        raise ConfigError(
            Text(
                pt="Outros usuários podem ler {path}, onde fica uma senha.",
                en="Other users may read {path}, where a password is kept.",
            ).format(path=path),
            untranslated(remedy).format(path=as_arguments(path), folder=as_arguments(folder)),
        )


def _windows_permissions(path: Path) -> str:
    """Return what ``icacls`` saves of a path, empty if it cannot."""
    with TemporaryDirectory(prefix="xlbridge-") as folder, suppress(OSError):
        saved = Path(folder, "permissions")
        _windows_answer("icacls.exe", path, "/save", saved)
        # UTF-16, of which the permissions are the part in ASCII.
        return saved.read_bytes().replace(b"\0", b"").decode("latin-1")
    return ""


def _windows_answer(program: str, *arguments: str | Path) -> str:
    """Return what a program of Windows prints, empty if it cannot be started."""
    with suppress(OSError):
        return subprocess.run(  # noqa: S603 - the system's own command, no shell
            [windows_program(program), *arguments], capture_output=True, check=False
        ).stdout.decode("latin-1")
    return ""


_ACCOUNT = re.compile(r"S-1-(?:5-21|12-1)(?:-\d+)+")
_ENTRY = re.compile(r"\((?:A|XA|OA)(?:;[^;)]*){4};([^;)]+)[;)]")
"""Permission that is granted, with the account or group."""

_GROUPS = frozenset({"WD", "AN", "AU", "IU", "NU", "BU", "BG", "PU", "DU", "DG", "DC"})
"""Everyone, anonymous, authenticated, interactive, network, users, guests, power users, and the
domain's users, guests and computers."""

_ADMINISTRATORS = ("-500", "-512", "-518", "-519")
"""Ends of the accounts and groups that reach every file anyway."""


def others_let_in(descriptor: str, own: str) -> list[str] | None:
    """Return the accounts and groups of other users that saved permissions (SDDL, the same in each
    language) admit; None if everybody is admitted, as without any permissions.

    ``own``: the user's account; if it is unknown, a single one counts as it.
    """
    if "D:" not in descriptor or "NO_ACCESS_CONTROL" in descriptor:
        return None
    admitted = dict.fromkeys(_ENTRY.findall(descriptor))
    accounts = [
        one for one in admitted if _ACCOUNT.fullmatch(one) and not one.endswith(_ADMINISTRATORS)
    ]
    if not own and len(accounts) == 1 and not accounts[0].endswith(("-513", "-514", "-515")):
        own = accounts[0]
    return [one for one in admitted if one in _GROUPS or (one in accounts and one != own)]


def _keyring_service(profile: Profile) -> str:
    return f"xlbridge {profile.name} {profile.origin}"


def _read_from_keyring(profile: Profile, *, silently: bool = False) -> str:
    keyring = _keyring()
    if keyring is None or (silently and not _is_silent(keyring.get_keyring())):
        return ""
    try:
        return keyring.get_password(_keyring_service(profile), profile.email) or ""
    except keyring.errors.KeyringError:
        return ""  # The keyring is locked or missing.


def _is_silent(backend: object) -> bool:
    """Return whether a keyring never asks for anything: that of Windows is open with the session,
    those of other systems may be locked."""
    return type(backend).__module__ == "keyring.backends.Windows"


def _keyring() -> Any:
    """Return the optional package, which is slow to load, or None if it is not installed."""
    if importlib.util.find_spec("keyring") is None:
        return None
    importlib.import_module("keyring.errors")
    return importlib.import_module("keyring")
