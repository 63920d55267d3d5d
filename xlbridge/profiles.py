"""Profiles: the environments of a user, stored in ``profiles.toml``, and the choice of one, as far
as the policy of the computer's IT department allows it.

The machine's profiles, in files of the same form, come before them. Files never hold passwords::

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
    quirks = {first_line = 1, queue = {cliente = "waits"}}
"""

import os
import re
import time
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta, timezone, tzinfo
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from xlbridge.errors import ConfigError, os_error_reason, suggestion
from xlbridge.i18n import Text, untranslated
from xlbridge.settings import (
    DEFAULT_SETTLE_SECONDS,
    DEFAULT_TIMEOUT_SECONDS,
    Settings,
)

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_RESERVED = re.compile(r"con|prn|aux|nul|(?:com|lpt)\d")
"""Names that Windows does not allow for a folder."""

_DEFAULT_PORTS = {"http": 80, "https": 443}

NO_SUCH_PROFILE = Text(pt="Não existe o perfil {name!r}.", en="There is no profile {name!r}.")

EMBEDDED_NAME = "sandbox"
"""Name of the embedded sandbox, in the journal and in messages."""


class ProfileSource(StrEnum):
    """Places where an environment is configured."""

    FILE = "file"
    MACHINE = "machine"
    ENVIRONMENT = "environment"
    EMBEDDED = "embedded"


@dataclass(frozen=True, slots=True)
class Profile:
    """An environment, without its secrets.

    ``base_url`` and ``email`` are empty for the embedded sandbox. ``settle_seconds`` is how long
    an import whose answer was lost may still be in progress. ``ca_bundle`` is a PEM file with the
    certificate authorities to trust instead of the default ones. ``trust_429``: the system answers
    429 before it writes anything. ``exclusive``: nobody else writes there during an upload.
    ``timeout_seconds`` is how long to wait for an answer. ``time_zone`` is the name of its time
    zone, None for that of this computer. ``quirks`` is its section of quirks as in the file, not
    checked, None if it has none. ``file`` is the file that has the profile, None if none does.
    ``is_named``: it was chosen by its name, not as the default.

    Source: the spec, What the service does (two independent environments).
    """

    name: str
    base_url: str = field(repr=False)
    email: str
    production: bool = False
    settle_seconds: float = DEFAULT_SETTLE_SECONDS
    ca_bundle: Path | None = None
    trust_429: bool = False
    exclusive: bool = False
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS
    time_zone: str | None = None
    quirks: Mapping[str, Any] | None = field(default=None, hash=False, compare=False, repr=False)
    source: ProfileSource = ProfileSource.FILE
    file: Path | None = field(default=None, compare=False, repr=False)
    is_named: bool = field(default=False, compare=False)

    @property
    def is_stored(self) -> bool:
        """True if a file has it, the user's or the machine's."""
        return self.source in (ProfileSource.FILE, ProfileSource.MACHINE)

    @property
    def origin(self) -> str:
        """Normalised scheme, host and port, to which passwords and tokens belong."""
        return origin_of(self.base_url)

    def to_json(self) -> dict[str, object]:
        """Return what outcomes say about the environment, before there is a connection.

        The embedded sandbox has no address yet.
        """
        return {
            "profile": self.name,
            "base_url": self.base_url or None,
            "production": self.production,
        }

    @property
    def zone(self) -> tzinfo | None:
        """Its time zone, None for that of this computer; Brasília's if none was chosen for it."""
        if self.time_zone is None and (os.environ.get("TZ") or time.tzname != _NO_CHOICE):
            return None
        # Without a database of time zones Brasília's is known, as it has no daylight saving time.
        return _zone(self.time_zone or _BRASILIA) or timezone(timedelta(hours=-3))

    @property
    def today(self) -> date:
        """Today's date in its time zone."""
        return datetime.now(self.zone).date()

    @property
    def arguments(self) -> list[str]:
        """The option by which commands choose the profile again, if the settings name it."""
        return ["--profile", self.name] if self.is_stored and self.is_named else []


def origin_of(base_url: str) -> str:
    """Return an address's normalised scheme, host and port; "" if it is not an address."""
    try:
        url = urlsplit(base_url)
        port = url.port or _DEFAULT_PORTS.get(url.scheme)
    except ValueError:
        return ""
    return f"{url.scheme}://{url.hostname}:{port}" if url.hostname and port else ""


def is_profile_name(text: str) -> bool:
    """Return whether a text is a valid profile name: lower-case letters, digits, ``_``, ``-``.

    It also names a folder, on every system.
    """
    return _NAME.fullmatch(text) is not None and _RESERVED.fullmatch(text) is None


_NUMBER = (int, float)
_FIELDS: Mapping[str, type | tuple[type, ...]] = {
    "base_url": str,
    "email": str,
    "production": bool,
    "settle_seconds": _NUMBER,
    "ca_bundle": str,
    "trust_429": bool,
    "exclusive": bool,
    "timeout_seconds": _NUMBER,
    "time_zone": str,
    "quirks": dict,
}
_REQUIRED = ("base_url", "email")


@dataclass(frozen=True, slots=True)
class ProfileFile:
    """The profiles of ``profiles.toml`` and of the machine; ``default`` names the default."""

    profiles: Mapping[str, Profile] = field(default_factory=dict)
    default: str | None = None


def profile_file_path(home: Path) -> Path:
    """Return the path of the profile file."""
    return home / "profiles.toml"


def read_profile_file(settings: Settings) -> ProfileFile:
    """Read the machine's profiles and the user's; none if there are no files.

    Raises ``ConfigError``, naming the file and the key, for invalid TOML, an unknown or missing
    key, a wrong type, a name that two files have, a production profile as the default, or an
    address that is both production and not.
    """
    path = profile_file_path(settings.home)
    text = read_config_file(path, HOW_TO_FIX) or ""
    return parse_profile_file(path, text, read_machine_profiles(settings))


def read_machine_profiles(settings: Settings) -> ProfileFile:
    """Read the machine's profiles, in order of the files' names. Raises ``ConfigError``."""
    known = ProfileFile()
    if settings.machine is None:
        return known
    folder = settings.machine / "profiles.d"
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix == ".toml")
    except (FileNotFoundError, NotADirectoryError):
        return known
    except OSError as error:
        raise _profile_file_error(folder, os_error_reason(error)) from error
    for path in paths:
        text = read_config_file(path, HOW_TO_FIX) or ""
        known = parse_profile_file(path, text, known, ProfileSource.MACHINE)
    return known


def read_config_file(path: Path, hint: Text) -> str | None:
    """Return the text of a file, None if it does not exist. Raises ``ConfigError``."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise config_file_error(path, os_error_reason(error), hint) from error
    except UnicodeDecodeError:
        problem = Text(pt="não está em UTF-8", en="is not UTF-8")
        raise config_file_error(path, problem, hint) from None


def config_file_error(path: Path, problem: Text, hint: Text) -> ConfigError:
    """Return the error for a problem of a file."""
    return ConfigError(untranslated("{path}: {problem}.").format(path=path, problem=problem), hint)


def parse_profile_file(
    path: Path, text: str, known: ProfileFile, source: ProfileSource = ProfileSource.FILE
) -> ProfileFile:
    """Return the ``known`` profiles and those in the text of a file, whose default precedes.

    ``path`` is for messages. Raises ``ConfigError``.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _profile_file_error(path, untranslated(str(error))) from None
    default, tables = document.pop("default", None), document.pop("profiles", {})
    for key in document:
        raise _profile_file_error(
            path, Text(pt="chave desconhecida {k}", en="unknown key {k}").format(k=key)
        )
    if not isinstance(tables, dict):
        raise _profile_file_error(
            path, Text(pt="profiles não é uma tabela", en="profiles is not a table")
        )
    profiles = dict(known.profiles)
    for name, table in tables.items():
        if name in profiles:
            other = profiles[name].file
            problem = _SAME_NAME.format(name=name, other=other)
            raise _profile_file_error(path, problem, _RENAME.format(name=name, path=path))
        profiles[name] = replace(_parse_profile(path, name, table), source=source, file=path)
    if default is not None and default not in profiles:
        message = Text(pt="default não é um dos perfis", en="default is not one of the profiles")
        raise _profile_file_error(path, message)
    if default is not None and profiles[default].production:
        raise _profile_file_error(
            path,
            Text(pt="default é um perfil de produção", en="default is a production profile"),
            Text(
                pt="Produção se escolhe a cada vez: --profile {name}",
                en="Production is chosen each time: --profile {name}",
                page=Text(
                    pt="Escolha {name} em Ambientes.",
                    en="Choose {name} under Environments.",
                ),
            ).format(name=default),
        )
    production = {each.origin: each.name for each in profiles.values() if each.production}
    for profile in profiles.values():
        if not profile.production and profile.origin in production:
            names = {"one": production[profile.origin], "other": profile.name}
            raise _profile_file_error(path, _SAME_ADDRESS.format(**names))
    return ProfileFile(profiles, known.default if default is None else default)


_SAME_NAME = Text(
    pt="profiles.{name} já está em {other}", en="profiles.{name} is already in {other}"
)
_RENAME = Text(
    pt="Renomeie ou apague [profiles.{name}] em {path}.",
    en="Rename or delete [profiles.{name}] in {path}.",
)

_SAME_ADDRESS = Text(
    pt="profiles.{one} e profiles.{other} têm o mesmo endereço, e só um é de produção",
    en="profiles.{one} and profiles.{other} have the same address, but only one is production",
)


def _parse_profile(path: Path, name: str, table: Any) -> Profile:
    place = f"profiles.{name}"
    if not is_profile_name(name) or name == EMBEDDED_NAME:
        raise _profile_file_error(
            path,
            Text(
                pt="{place}: o nome de um perfil tem só letras minúsculas, algarismos, _ e -, e "
                "não pode ser {name}",
                en="{place}: a profile's name has only lower-case letters, digits, _ and -, and "
                "cannot be {name}",
            ).format(place=place, name=repr(name)),
        )
    if not isinstance(table, dict):
        raise _profile_file_error(
            path, Text(pt="{p} não é uma tabela", en="{p} is not a table").format(p=place)
        )
    for key, value in table.items():
        _check_value(path, f"{place}.{key}", _FIELDS.get(key), value)
    for key in _REQUIRED:
        if not table.get(key):
            raise _profile_file_error(
                path, Text(pt="falta {p}.{key}", en="{p}.{key} is missing").format(p=place, key=key)
            )
    values: dict[str, Any] = {
        key: float(one) if _FIELDS[key] == _NUMBER else one for key, one in table.items()
    }
    if "ca_bundle" in table:
        values["ca_bundle"] = path.parent / Path(table["ca_bundle"]).expanduser()
    return Profile(name=name, **values)


def _check_value(path: Path, place: str, kind: type | tuple[type, ...] | None, value: Any) -> None:
    if kind is None:
        message = Text(pt="chave desconhecida {place}", en="unknown key {place}")
        hint = None
        if place.endswith(".password"):
            hint = Text(
                pt="A senha não fica neste arquivo: use xlbridge login.",
                en="The password does not go into this file: use xlbridge login.",
                page=Text(
                    pt="A senha não fica neste arquivo: adicione o ambiente de novo em Ambientes.",
                    en="The password does not go into this file: add the environment again under "
                    "Environments.",
                ),
            )
        raise _profile_file_error(path, message.format(place=place), hint)
    wrong = not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool)
    negative = isinstance(value, int | float) and not 0 <= value < float("inf")
    if place.endswith(".timeout_seconds"):
        wrong |= value == 0
    if place.endswith(".time_zone") and isinstance(value, str):
        wrong |= _zone(value) is None
    if wrong or negative:
        message = Text(pt="{place} não pode ter esse valor", en="{place} cannot have that value")
        raise _profile_file_error(path, message.format(place=place))


HOW_TO_FIX = Text(
    pt="Corrija o arquivo. Um perfil pode ter: {fields}.",
    en="Fix the file. A profile may have: {fields}.",
).format(fields=", ".join(_FIELDS))


def _profile_file_error(path: Path, problem: Text, hint: Text | None = None) -> ConfigError:
    return config_file_error(path, problem, hint or HOW_TO_FIX)


_BRASILIA = "America/Sao_Paulo"
_NO_CHOICE = ("UTC", "UTC")
"""Names of the time zone of a computer, such as a container, for which none was chosen."""


def _zone(name: str) -> tzinfo | None:
    """Return the time zone with a name, None if there is none."""
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name)
    except (ValueError, OSError, LookupError):
        return None


def choose_profile(settings: Settings) -> Profile:
    """Return the named profile, else the environment's, the default, or the sandbox's.

    Raises ``ConfigError`` if the profile does not exist, if the environment's address or user
    contradicts it, if the environment has credentials without an address, if the machine's policy
    does not allow it, and for an invalid profile file.
    """
    file = read_profile_file(settings)
    name = settings.profile
    given = {"XLBRIDGE_EMAIL": settings.email, "XLBRIDGE_PASSWORD": settings.password}
    bound = settings.base_url or settings.credentials_profile or name == EMBEDDED_NAME
    if any(given.values()) and not bound:
        raise ConfigError(
            Text(
                pt="{variables} sem endereço: de que ambiente são?",
                en="{variables} without an address: which environment are they for?",
            ).format(variables=", ".join(filter(given.get, given))),
            _HOW_TO_BIND_CREDENTIALS,
        )
    if name is None and not settings.base_url:
        name = file.default
    if name is not None and name in file.profiles:
        profile = file.profiles[name]
        _require_agreement(settings, profile)
    elif settings.base_url and not settings.profile_must_exist:
        production = {each.origin for each in file.profiles.values() if each.production}
        profile = Profile(
            # An address with a password is refused later; the name must not contain it.
            name=name or settings.base_url.rpartition("@")[2],
            base_url=settings.base_url,
            email=settings.email or "",
            production=origin_of(settings.base_url) in production,
            source=ProfileSource.ENVIRONMENT,
        )
    elif name in (None, EMBEDDED_NAME):
        profile = Profile(EMBEDDED_NAME, "", "", source=ProfileSource.EMBEDDED)
        if settings.base_url:
            _require_agreement(settings, profile)
    else:
        hint = profiles_hint(name or "", file.profiles)
        raise ConfigError(NO_SUCH_PROFILE.format(name=name), hint)
    require_allowed(settings, profile, file.profiles)
    return replace(
        profile,
        settle_seconds=profile.settle_seconds if settings.settle is None else settings.settle,
        timeout_seconds=profile.timeout_seconds if settings.timeout is None else settings.timeout,
        ca_bundle=settings.ca_bundle or profile.ca_bundle,
        is_named=settings.profile is not None,
    )


_POLICY_VALUES: Mapping[str, tuple[object, ...]] = {
    "own_environments": (False, True),
    "passwords": ("keyring",),
}


@dataclass(frozen=True, slots=True)
class Policy:
    """Permissions that users of this computer have for their configuration, from ``policy.toml`` in
    the machine's folder. It guides honest users; one who can change the environment of a command
    can evade it.

    Without ``own_environments`` only profiles of the machine and the embedded sandbox may be used.
    ``passwords`` is the only place where passwords may be stored, None for any.
    """

    path: Path
    own_environments: bool = True
    passwords: Literal["keyring"] | None = None


def read_policy(machine: Path | None) -> Policy:
    """Read the policy in the machine's folder; without a file everything is allowed.

    Raises ``ConfigError``, naming the file, the line and the allowed keys.
    """
    path = (machine or Path()) / "policy.toml"
    text = None if machine is None else read_config_file(path, _HOW_TO_FIX_POLICY)
    if text is None:
        return Policy(path)
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise config_file_error(path, untranslated(str(error)), _HOW_TO_FIX_POLICY) from None
    for key, value in document.items():
        allowed = _POLICY_VALUES.get(key, ())
        # In Python 1 is True, too.
        if not any(type(value) is type(each) and value == each for each in allowed):
            begin = re.compile(rf"[\s\[\"']*{re.escape(key)}\b")
            numbers = (n for n, line in enumerate(text.splitlines(), 1) if begin.match(line))
            problem = _WRONG_VALUE if allowed else _UNKNOWN_KEY
            raise config_file_error(
                path, problem.format(line=next(numbers, 1), key=key), _HOW_TO_FIX_POLICY
            )
    return Policy(path, **document)


_UNKNOWN_KEY = Text(
    pt="linha {line}: chave desconhecida {key}", en="line {line}: unknown key {key}"
)
_WRONG_VALUE = Text(
    pt="linha {line}: {key} não pode ter esse valor",
    en="line {line}: {key} cannot have that value",
)
_HOW_TO_FIX_POLICY = Text(
    pt="A TI deve corrigir o arquivo. Ele pode ter: {keys}.",
    en="IT must fix the file. It may have: {keys}.",
).format(keys='own_environments = false, passwords = "keyring"')


def require_allowed(settings: Settings, profile: Profile, known: Mapping[str, Profile]) -> None:
    """Raise ``ConfigError`` if the machine's policy does not allow a profile."""
    policy = read_policy(settings.machine)
    if policy.own_environments or profile.source in (
        ProfileSource.MACHINE,
        ProfileSource.EMBEDDED,
    ):
        return
    names = [one.name for one in known.values() if one.source is ProfileSource.MACHINE]
    raise ConfigError(
        Text(
            pt="{name}: este computador só permite os ambientes da TI, conforme {path}.",
            en="{name}: this computer allows only IT's environments, according to {path}.",
        ).format(name=profile.name, path=policy.path),
        Text(
            pt="Escolha um com --profile, sem XLBRIDGE_BASE_URL: {names}.",
            en="Choose one with --profile, without XLBRIDGE_BASE_URL: {names}.",
            page=Text(
                pt="Escolha um em Ambientes: {names}.",
                en="Choose one under Environments: {names}.",
            ),
        ).format(names=", ".join([*names, EMBEDDED_NAME])),
    )


def settings_for(settings: Settings, profile: Profile) -> Settings:
    """Return the settings for a profile: its settle time and state folder.

    Profiles of files have a folder each, the others share ``settings.home``.
    """
    return replace(
        settings,
        settle=profile.settle_seconds,
        state=settings.home / "profiles" / profile.name if profile.is_stored else settings.home,
    )


_HOW_TO_BIND_CREDENTIALS = Text(
    pt="Defina com elas XLBRIDGE_BASE_URL (o endereço) ou XLBRIDGE_PROFILE (o perfil): não são "
    "enviadas a nenhum outro.",
    en="Set XLBRIDGE_BASE_URL (the address) or XLBRIDGE_PROFILE (the profile) with them: they are "
    "sent to no other.",
    page=Text(
        pt="Peça a quem cuida do ambiente que confira como o acesso está definido neste "
        "computador.",
        en="Ask the person who looks after the environment to check how the access is set on this "
        "computer.",
    ),
)


def are_credentials_for(settings: Settings, profile: Profile) -> bool:
    """Return whether the environment's e-mail and password were given for a profile."""
    if settings.base_url:
        return origin_of(settings.base_url) == profile.origin
    return settings.credentials_profile == profile.name


def _require_agreement(settings: Settings, profile: Profile) -> None:
    email = settings.email if are_credentials_for(settings, profile) else None
    for variable, value, expected in (
        ("XLBRIDGE_BASE_URL", settings.base_url, profile.base_url),
        ("XLBRIDGE_EMAIL", email, profile.email),
    ):
        if value is not None and value.rstrip("/") != expected.rstrip("/"):
            raise ConfigError(
                Text(
                    pt="{variable} contradiz o perfil {name}.",
                    en="{variable} contradicts the profile {name}.",
                ).format(variable=variable, name=profile.name),
                Text(
                    pt="Remova a variável ou escolha outro perfil.",
                    en="Unset the variable, or choose another profile.",
                ),
            )


def profiles_hint(name: str, known: Collection[str]) -> Text:
    """Return the hint for an unknown profile: a similar name, all names, how to create one."""
    some = Text(pt="Existem: {names}.", en="Existing profiles: {names}.")
    none = Text(pt="Ainda não há nenhum perfil.", en="There is no profile yet.")
    return Text(
        pt="{suggestion}{existing} Para criar um: xlbridge login --profile NOME --url ENDEREÇO",
        en="{suggestion}{existing} To create one: xlbridge login --profile NAME --url ADDRESS",
        page=Text(
            pt="{suggestion}{existing} Para criar um, adicione o ambiente em Ambientes.",
            en="{suggestion}{existing} To create one, add the environment under Environments.",
        ),
    ).format(
        suggestion=suggestion(name, known),
        existing=some.format(names=", ".join(known)) if known else none,
    )
