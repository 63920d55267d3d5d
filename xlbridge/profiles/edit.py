"""Edits of ``profiles.toml`` that keep the user's comments and order."""

from collections.abc import Callable
from pathlib import Path

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
    ProfileFile,
    parse_profile_file,
    profile_file_path,
    profiles_hint,
    read_profile_file,
)
from xlbridge.settings import DEFAULT_SETTLE_SECONDS

Edit = Callable[[TOMLDocument], TOMLDocument]


def check_profile(home: Path, profile: Profile) -> None:
    """Raise ``ConfigError`` if saving a profile would be refused; nothing is written."""
    _apply_edit(home, lambda document: _set_profile(document, profile))


def save_profile(home: Path, profile: Profile) -> None:
    """Add a profile, or replace the one of its name; keep its quirks if the new one has none.

    Raises ``ConfigError``, ``UsageError``.
    """
    _write_edit(home, lambda document: _set_profile(document, profile))


def remove_profile(home: Path, name: str) -> Profile:
    """Remove a profile and return it. Raises ``UsageError`` if it does not exist."""
    profile = _require_profile(home, name)

    def remove(document: TOMLDocument) -> TOMLDocument:
        del document["profiles"][name]
        if document.get("default") == name:
            del document["default"]
        return document

    _write_edit(home, remove)
    return profile


def set_default(home: Path, name: str) -> None:
    """Make a profile the default. Raises ``ConfigError`` for a production profile."""
    _require_profile(home, name)

    def change(document: TOMLDocument) -> TOMLDocument:
        if "default" not in document:
            # Appended to the file, it would belong to the last table.
            return tomlkit.parse(f'default = "{name}"\n{tomlkit.dumps(document)}')
        document["default"] = name
        return document

    _write_edit(home, change)


def _require_profile(home: Path, name: str) -> Profile:
    profiles = read_profile_file(home).profiles
    if name not in profiles:
        raise UsageError(NO_SUCH_PROFILE.format(name=name), profiles_hint(name, profiles))
    return profiles[name]


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


def _write_edit(home: Path, edit: Edit) -> None:
    with file_lock(home / "profiles.lock"):
        text, _ = _apply_edit(home, edit)
        write_private(profile_file_path(home), text)


def _apply_edit(home: Path, edit: Edit) -> tuple[str, ProfileFile]:
    """Return the edited text of the file, parsed to check it."""
    path = profile_file_path(home)
    read_profile_file(home)
    try:
        document = tomlkit.parse(path.read_text(encoding="utf-8-sig") if path.exists() else "")
        edited = edit(document)
    except TOMLKitError as error:
        raise ConfigError(
            Text(pt="{p}: {e}", en="{p}: {e}").format(p=path, e=error), HOW_TO_FIX
        ) from None
    text = tomlkit.dumps(edited)
    return text, parse_profile_file(path, text)
