"""E-mail addresses: the form of one, for one text and for whole columns."""

import re

_LOCAL = r"[^\s@,;:<>()\[\]\\\"./]+"
_LETTERS = "A-Za-z\u00aa-\U0010ffff"
_LABEL = f"[0-9{_LETTERS}](?:[0-9{_LETTERS}-]*[0-9{_LETTERS}])?"
EMAIL = rf"{_LOCAL}(?:\.{_LOCAL})*@(?:{_LABEL}\.)+(?:[{_LETTERS}]{{2,}}|xn--[0-9A-Za-z-]+)"
"""One address, as a regular expression."""


def is_email(text: str) -> bool:
    """Tell whether ``text`` is one e-mail address."""
    return re.fullmatch(EMAIL, text) is not None
