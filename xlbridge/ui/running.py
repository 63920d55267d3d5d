"""Running page of a home, and the language and theme that its user chose.

A private file names the running page, so that ``xlbridge ui`` opens it again.

The file is readable by its owner only. Both sides prove that they know its secret, which is not
sent: another program may have got the port of a page that has ended.
"""

import hashlib
import hmac
import json
import os
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from xlbridge.files import write_private
from xlbridge.i18n import LANGUAGES, Language
from xlbridge.serving import LOOPBACK
from xlbridge.settings import Settings

AGAIN = "/again"
"""Path of the request for a new launch link."""

_FILE = "page.json"
_PREFERENCES = "page-preferences.json"
_NONCE, _PROOF, _BROWSER = "x-page-nonce", "x-page-proof", "x-page-browser"
_PATIENCE = 5  # seconds


@dataclass(frozen=True, slots=True)
class PageSecret:
    """Secret that a running page shares with its owner's other commands."""

    value: str

    @classmethod
    def new(cls) -> "PageSecret":
        """Return a new secret."""
        return cls(secrets.token_hex(32))

    def sign(self, text: str) -> str:
        """Return the proof that the signer of a text knows the secret."""
        return hmac.new(self.value.encode(), text.encode(), hashlib.sha256).hexdigest()

    def answer(self, headers: Any, link: str) -> dict[str, str]:
        """Return the answer to a request for a launch link, signed for it alone."""
        return {"url": link, "proof": self.sign(f"{headers.get(_NONCE, '')} {link}")}

    def asks(self, headers: Any) -> bool:
        """Return whether the headers of a request prove that it knows the secret."""
        return hmac.compare_digest(headers.get(_PROOF, ""), self.sign(headers.get(_NONCE, "")))


def wants_browser(headers: Any) -> bool:
    """Return whether a request for a launch link asks to open it in a browser."""
    return bool(headers.get(_BROWSER))


def record_running(settings: Settings, port: int, secret: PageSecret) -> None:
    """Record the running page of a home."""
    content = {"port": port, "pid": os.getpid(), "of": _digest(settings), "secret": secret.value}
    write_private(settings.home / _FILE, json.dumps(content))


def forget_running(settings: Settings) -> None:
    """Remove the record of this process's page."""
    if _recorded(settings.home).get("pid") == os.getpid():
        (settings.home / _FILE).unlink(missing_ok=True)


def ask_running(settings: Settings, *, browser: bool) -> str | None:
    """Return a new launch link of the page that runs with these settings, None if there is none.

    With ``browser`` the page opens it in a browser.
    """
    import httpx

    record = _recorded(settings.home)
    if record.get("of") != _digest(settings):
        return None
    secret, nonce = PageSecret(record["secret"]), secrets.token_hex(16)
    address = f"http://{LOOPBACK}:{record['port']}"
    headers = {"Origin": address, _NONCE: nonce, _PROOF: secret.sign(nonce)}
    if browser:
        headers[_BROWSER] = "1"
    try:
        with httpx.Client(trust_env=False, timeout=_PATIENCE, verify=False) as client:  # noqa: S501
            answer = client.post(f"{address}{AGAIN}", headers=headers).json()
    except (httpx.HTTPError, ValueError):
        return None  # The page has ended without removing its record.
    link = str(answer.get("url")) if isinstance(answer, dict) else ""
    proof = str(answer.get("proof")) if isinstance(answer, dict) else ""
    return link if hmac.compare_digest(proof, secret.sign(f"{nonce} {link}")) else None


def _recorded(home: Path) -> dict[str, Any]:
    return _read(home / _FILE)


def _read(file: Path) -> dict[str, Any]:
    try:
        content = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


Theme = Literal["", "light", "dark"]
"""Theme of the page; without a name it is the computer's."""


@dataclass(frozen=True, slots=True)
class Preferences:
    """Language and theme chosen on the page; without a language it is the command's."""

    language: Language | None = None
    theme: Theme = ""

    @classmethod
    def of_home(cls, home: Path) -> "Preferences":
        """Return the preferences that a home keeps."""
        stored = _read(home / _PREFERENCES)
        language, theme = stored.get("language"), stored.get("theme")
        return cls(
            language if language in LANGUAGES else None, theme if theme in {"light", "dark"} else ""
        )

    def save(self, home: Path) -> None:
        """Keep the preferences in a home."""
        write_private(home / _PREFERENCES, json.dumps(asdict(self)))


def _digest(settings: Settings) -> str:
    """Return a digest of what a page is started with."""
    parts = (settings.profile, settings.base_url, settings.email)
    return hashlib.sha256(repr(parts).encode()).hexdigest()
