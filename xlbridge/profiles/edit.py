"""Edits of ``profiles.toml`` that keep the user's comments and order."""

from collections.abc import Callable

import tomlkit
from tomlkit import TOMLDocument
from tomlkit.exceptions import TOMLKitError

from xlbridge.errors import ConfigError, UsageError
from xlbridge.files import file_lock, write_private
from xlbridge.i18n import Text
from xlbridge.profiles.profile import (
    HOW_TO_FIX,
    NO_SUCH_PROFILE,
    Profile,
    ProfileSource,
    parse_profile_file,
    profile_file_path,
    profiles_hint,
    read_machine_profiles,
    read_profile_file,
    require_allowed,
)
from xlbridge.settings import DEFAULT_SETTLE_SECONDS, Settings

Edit = Callable[[TOMLDocument], TOMLDocument]


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

    def remove(document: TOMLDocument) -> TOMLDocument:
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

    def change(document: TOMLDocument) -> TOMLDocument:
        if "default" not in document:
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


def _set_profile(document: TOMLDocument, profile: Profile) -> TOMLDocument:
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
