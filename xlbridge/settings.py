"""What the environment configures."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import platformdirs

from xlbridge.errors import ConfigError
from xlbridge.i18n import Text
from xlbridge.limits import WorkbookLimits, read_limits

DEFAULT_SETTLE_SECONDS = 900.0
SCHEMAS_VARIABLE = "XLBRIDGE_SCHEMAS"


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that the environment says, read once per command.

    ``base_url``, ``email`` and ``password`` are None when nothing is configured: commands then
    work against a profile, or the embedded sandbox. ``ca_bundle`` is a PEM file with the
    certificate authorities to trust. ``settle`` is how long an import whose answer was lost may
    still be on its way, in seconds; None leaves it to the profile. ``state`` is the folder of the
    chosen profile's journal and payloads, the home where it has none of its own.
    ``own_schemas`` is a folder of the user's own schema files in place of the one under ``home``.
    """

    home: Path
    profile: str | None = None
    base_url: str | None = None
    email: str | None = None
    password: str | None = field(default=None, repr=False)
    ca_bundle: Path | None = None
    settle: float | None = None
    state: Path | None = None
    limits: WorkbookLimits = field(default_factory=WorkbookLimits)
    own_schemas: Path | None = None

    @property
    def settle_seconds(self) -> float:
        """How long an import whose answer was lost may still be on its way."""
        return DEFAULT_SETTLE_SECONDS if self.settle is None else self.settle

    @property
    def journal(self) -> Path:
        """The upload journal's file."""
        return (self.state or self.home) / "journal.db"

    @property
    def payloads(self) -> Path:
        """The folder of stored payloads, named by content."""
        return (self.state or self.home) / "payloads"

    @property
    def exports(self) -> Path:
        """The folder that remembers how far exports have come."""
        return (self.state or self.home) / "exports"

    @property
    def schemas(self) -> Path:
        """The folder of the user's own schema files."""
        return self.own_schemas or self.home / "schemas"


def read_settings(environment: Mapping[str, str] | None = None) -> Settings:
    """Read the settings from environment variables (``XLBRIDGE_…``).

    Raises ``ConfigError`` when a variable's value cannot be used.
    """
    env = os.environ if environment is None else environment
    home, bundle = env.get("XLBRIDGE_HOME"), env.get("XLBRIDGE_CA_BUNDLE")
    return Settings(
        home=Path(home) if home else Path(platformdirs.user_state_path("xlbridge")),
        profile=env.get("XLBRIDGE_PROFILE") or None,
        base_url=env.get("XLBRIDGE_BASE_URL") or None,
        email=env.get("XLBRIDGE_EMAIL") or None,
        password=env.get("XLBRIDGE_PASSWORD") or None,
        ca_bundle=Path(bundle) if bundle else None,
        settle=_seconds(env, "XLBRIDGE_SETTLE"),
        own_schemas=Path(env[SCHEMAS_VARIABLE]) if env.get(SCHEMAS_VARIABLE) else None,
        limits=read_limits(env),
    )


def _seconds(env: Mapping[str, str], name: str) -> float | None:
    text = env.get(name)
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise ConfigError(
            Text(
                pt="{name} deve ser um número de segundos, zero ou mais; não {text!r}.",
                en="{name} must be a number of seconds, zero or more; not {text!r}.",
            ).format(name=name, text=text)
        )
    return value
