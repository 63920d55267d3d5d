"""One environment as a user knows it: its name, address, user, and whether it is production."""

import re
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from urllib.parse import urlsplit

from xlbridge.settings import DEFAULT_SETTLE_SECONDS

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_RESERVED = re.compile(r"con|prn|aux|nul|(?:com|lpt)\d")
"""What Windows lets no folder be called."""

_PORTS = {"http": 80, "https": 443}

EMBEDDED_NAME = "sandbox"
"""The embedded sandbox, in the journal and to the user."""


class Source(StrEnum):
    """Where an environment is configured."""

    FILE = "file"
    ENVIRONMENT = "environment"
    EMBEDDED = "embedded"


@dataclass(frozen=True, slots=True)
class Profile:
    """An environment, without its secrets.

    ``base_url`` and ``email`` are empty for the embedded sandbox. ``settle_seconds`` is how long
    an import whose answer was lost may still be on its way. ``ca_bundle`` is a PEM file with the
    certificate authorities to trust instead of the usual ones.

    Source: the spec, What the service does (two independent environments).
    """

    name: str
    base_url: str = field(repr=False)
    email: str
    production: bool = False
    settle_seconds: float = DEFAULT_SETTLE_SECONDS
    ca_bundle: Path | None = None
    source: Source = Source.FILE

    @property
    def origin(self) -> str:
        """Scheme, host and port, spelt one way: what credentials and tokens belong to."""
        return origin_of(self.base_url)

    def state_folder(self, home: Path) -> Path:
        """Where its journal and payloads are: named profiles have a folder of their own."""
        return home / "profiles" / self.name if self.source is Source.FILE else home


def origin_of(base_url: str) -> str:
    """Return an address's scheme, host and port, however it is spelt; "" for no address."""
    try:
        url = urlsplit(base_url)
        port = url.port or _PORTS.get(url.scheme)
    except ValueError:
        return ""
    return f"{url.scheme}://{url.hostname}:{port}" if url.hostname and port else ""


def is_name(text: str) -> bool:
    """Say whether a profile may be called so: lower-case letters, digits, ``_`` and ``-``.

    It names a folder too, on every system.
    """
    return _NAME.fullmatch(text) is not None and _RESERVED.fullmatch(text) is None
