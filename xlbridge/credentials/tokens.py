"""A token that outlives the process: one private file for each address and user.

Source: the spec, Authentication. The file is of no use with another password, and is not used
once the token has expired.
"""

import hashlib
import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from xlbridge.credentials.file_lock import held
from xlbridge.profiles.profile import origin_of
from xlbridge.wire.authentication import TIMESTAMP_FORMAT, Authentication
from xlbridge.workbook.atomic import write_private

_MARGIN = timedelta(minutes=1)
_SCRYPT = {"n": 2**14, "r": 8, "p": 1}


class TokenFile:
    """The kept token of one user at one address, shared by all processes of this computer's user.

    ``locked`` is held while a token is looked up and renewed, so that several processes log in
    once.
    """

    def __init__(self, home: Path, base_url: str, email: str, password: str) -> None:
        self._who = {"origin": origin_of(base_url), "email": email}
        self._password = password.encode()
        name = hashlib.sha256("\n".join(self._who.values()).encode()).hexdigest()[:32]
        self._path = home / "tokens" / f"{name}.json"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from looking up and renewing for the length of the block.

        Raises ``UsageError`` where nothing can be written.
        """
        with held(self._path.with_suffix(".lock")):
            yield

    def read(self) -> str | None:
        """Return the token, None where there is none that is still good."""
        try:
            kept = json.loads(self._path.read_text(encoding="utf-8"))
            if not _is_good(kept["expiration"]) or kept["who"] != self._who:
                return None
            same = secrets.compare_digest(kept["proof"], self._proof(bytes.fromhex(kept["salt"])))
            return str(kept["token"]) if same else None
        except (OSError, ValueError, KeyError, TypeError):
            # Whatever is not what ``write`` leaves is no token; a login makes a new one.
            return None

    def write(self, answer: Authentication) -> None:
        """Keep a login's token; one that does not say how long it is good is not kept."""
        if answer.accessToken is None or not _is_good(answer.expiration):
            self.remove()
            return
        salt = secrets.token_bytes(16)
        kept: dict[str, Any] = {
            "who": self._who,
            "expiration": answer.expiration,
            "salt": salt.hex(),
            "proof": self._proof(salt),
            "token": answer.accessToken,
        }
        write_private(self._path, json.dumps(kept))

    def remove(self) -> None:
        """Keep no token."""
        self._path.unlink(missing_ok=True)

    def _proof(self, salt: bytes) -> str:
        return hashlib.scrypt(self._password, salt=salt, **_SCRYPT).hex()


def _is_good(expiration: str | None) -> bool:
    try:
        end = datetime.strptime(expiration or "", TIMESTAMP_FORMAT)
    except ValueError:
        return False
    return datetime.now() + _MARGIN < end
