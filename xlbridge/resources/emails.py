"""E-mail addresses."""

import re

_MARKS = "\u0300-\u036f\u0900-\u0eff"
_LETTER = f"(?:[^\\W\\d_]|[{_MARKS}])"
_SYMBOL = rf"(?:[^\W_]|[{_MARKS}])"
_ATOM = rf"(?!')[\w{_MARKS}!#$%&'*+=?^`{{|}}~-]+"
_LABEL = rf"{_SYMBOL}(?:(?:{_SYMBOL}|-)*{_SYMBOL})?"
_EMAIL = re.compile(rf"{_ATOM}(?:\.{_ATOM})*@(?:{_LABEL}\.)+(?:{_LETTER}{{2,}}|xn--[0-9A-Za-z-]+)")


def is_email(text: str) -> bool:
    """Tell whether ``text`` is one e-mail address, in letters and digits of any alphabet."""
    return _EMAIL.fullmatch(text) is not None
