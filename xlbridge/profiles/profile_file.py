"""The profiles that the user's ``profiles.toml`` holds; passwords are never in it.

::

    default = "homologacao"

    [profiles.homologacao]
    base_url = "https://dev.erp.example.com"
    email = "integracao@example.com"
    settle_seconds = 60

    [profiles.producao]
    base_url = "https://erp.example.com"
    email = "integracao@example.com"
    production = true
    ca_bundle = "/etc/ssl/empresa.pem"
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from xlbridge.errors import ConfigError
from xlbridge.i18n import Text, reason_of
from xlbridge.profiles.profile import EMBEDDED_NAME, Profile, is_name
from xlbridge.settings import DEFAULT_SETTLE_SECONDS

_FIELDS: Mapping[str, type | tuple[type, ...]] = {
    "base_url": str,
    "email": str,
    "production": bool,
    "settle_seconds": (int, float),
    "ca_bundle": str,
}
_REQUIRED = ("base_url", "email")


@dataclass(frozen=True, slots=True)
class ProfileFile:
    """What ``profiles.toml`` says; ``default`` is used where no profile is named."""

    path: Path
    profiles: Mapping[str, Profile] = field(default_factory=dict)
    default: str | None = None


def profile_file_path(home: Path) -> Path:
    """Return where the profiles are."""
    return home / "profiles.toml"


def read_profile_file(home: Path) -> ProfileFile:
    """Read the profiles; without the file there are none.

    Raises ``ConfigError`` that names the file and the place for anything that cannot be: no TOML,
    an unknown or missing key, a wrong type, a production profile as the default, an address that
    is both production and not.
    """
    path = profile_file_path(home)
    try:
        return parse_profile_file(path, path.read_text(encoding="utf-8-sig"))
    except (FileNotFoundError, NotADirectoryError):
        return ProfileFile(path)
    except OSError as error:
        raise _wrong(path, reason_of(error)) from error
    except UnicodeDecodeError:
        raise _wrong(path, Text(pt="não está em UTF-8", en="is not UTF-8")) from None


def parse_profile_file(path: Path, text: str) -> ProfileFile:
    """Read the text of a profile file; ``path`` is for messages. Raises ``ConfigError``."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _wrong(path, _same(str(error))) from None
    default, tables = document.pop("default", None), document.pop("profiles", {})
    for key in document:
        raise _wrong(path, Text(pt="chave desconhecida {k}", en="unknown key {k}").format(k=key))
    if not isinstance(tables, dict):
        raise _wrong(path, Text(pt="profiles não é uma tabela", en="profiles is no table"))
    profiles = {name: _profile(path, name, table) for name, table in tables.items()}
    _check_default(path, profiles, default)
    _check_apart(path, profiles)
    return ProfileFile(path, profiles, default)


def _profile(path: Path, name: str, table: Any) -> Profile:
    place = f"profiles.{name}"
    if not is_name(name) or name == EMBEDDED_NAME:
        raise _wrong(
            path,
            Text(
                pt="{place}: um perfil se chama por letras minúsculas, dígitos, _ e -, não {name}",
                en="{place}: a profile's name is lower-case letters, digits, _ and -, not {name}",
            ).format(place=place, name=repr(name)),
        )
    if not isinstance(table, dict):
        raise _wrong(path, Text(pt="{p} não é uma tabela", en="{p} is no table").format(p=place))
    for key, value in table.items():
        _check_value(path, f"{place}.{key}", _FIELDS.get(key), value)
    for key in _REQUIRED:
        if not table.get(key):
            raise _wrong(
                path, Text(pt="falta {p}.{key}", en="{p}.{key} is missing").format(p=place, key=key)
            )
    bundle = table.get("ca_bundle")
    return Profile(
        name=name,
        base_url=table["base_url"],
        email=table["email"],
        production=table.get("production", False),
        settle_seconds=float(table.get("settle_seconds", DEFAULT_SETTLE_SECONDS)),
        ca_bundle=None if bundle is None else path.parent / Path(bundle).expanduser(),
    )


def _check_value(path: Path, place: str, kind: type | tuple[type, ...] | None, value: Any) -> None:
    if kind is None:
        told = Text(pt="chave desconhecida {place}", en="unknown key {place}")
        hint = None
        if place.endswith(".password"):
            hint = Text(
                pt="A senha não fica neste arquivo: use xlbridge login.",
                en="The password does not go into this file: use xlbridge login.",
            )
        raise _wrong(path, told.format(place=place), hint)
    wrong = not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool)
    negative = isinstance(value, int | float) and not 0 <= value < float("inf")
    if wrong or negative:
        told = Text(pt="{place} não pode ter esse valor", en="{place} cannot have that value")
        raise _wrong(path, told.format(place=place))


def _check_default(path: Path, profiles: Mapping[str, Profile], default: Any) -> None:
    if default is None:
        return
    if default not in profiles:
        told = Text(pt="default não é um dos perfis", en="default is none of the profiles")
        raise _wrong(path, told)
    if profiles[default].production:
        raise _wrong(
            path,
            Text(pt="default é um perfil de produção", en="default is a production profile"),
            Text(
                pt="Produção se escolhe a cada vez: --profile {name}",
                en="Production is chosen each time: --profile {name}",
            ).format(name=default),
        )


def _check_apart(path: Path, profiles: Mapping[str, Profile]) -> None:
    real = {profile.origin: profile.name for profile in profiles.values() if profile.production}
    for profile in profiles.values():
        if not profile.production and profile.origin in real:
            raise _wrong(
                path,
                Text(
                    pt="profiles.{one} e profiles.{other} têm o mesmo endereço, e só um é de "
                    "produção",
                    en="profiles.{one} and profiles.{other} have the same address, and only one "
                    "is production",
                ).format(one=real[profile.origin], other=profile.name),
            )


_USUAL_HINT = Text(
    pt="Corrija o arquivo. Um perfil pode ter: {fields}.",
    en="Mend the file. A profile may have: {fields}.",
).format(fields=", ".join(_FIELDS))


def _same(text: str) -> Text:
    return Text(pt=text, en=text)


def _wrong(path: Path, what: Text, hint: Text | None = None) -> ConfigError:
    told = Text(pt="{path}: {what}.", en="{path}: {what}.").format(path=path, what=what)
    return ConfigError(told, hint or _USUAL_HINT)
