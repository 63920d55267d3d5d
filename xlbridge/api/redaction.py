"""Keeping secrets out of everything that is shown."""

_SHORTEST = 4
"""A shorter secret is left alone: blotting out every "a" would hide the message, not the secret."""

_BLOT = "•••"


class Secrets:
    """The password and tokens of one client; no part of xlbridge shows a text that holds one."""

    def __init__(self, *secrets: str) -> None:
        self._known = set(secrets)

    def add(self, secret: str) -> None:
        """Hide ``secret`` from now on."""
        self._known.add(secret)

    def hide(self, text: str) -> str:
        """Return ``text`` with every known secret blotted out."""
        for secret in sorted(self._known, key=len, reverse=True):
            if len(secret) >= _SHORTEST:
                text = text.replace(secret, _BLOT)
        return text
