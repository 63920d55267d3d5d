"""Which other currency than the real a number format shows."""

import re

_TAGGED = re.compile(r"\[\$([^\]-]*)(?:-([^\]]*))?\]")
"""A currency as Excel's list of them writes it, with the locale that it is of."""

_NAMED = re.compile(
    r"US\$|U\$S?|[€£¥]|\b(?:USD|EUR|GBP|JPY|CHF|CNY|CAD|AUD|ARS|BOB|CLP|COP|MXN|PEN|PYG|UYU)\b"
)
_REAL = frozenset({"", "R$", "BRL"})
_BRAZIL = frozenset({"", "416", "pt-br"})
_UNITED_STATES = frozenset({"409", "en-us"})


def foreign_currency(code: str) -> str | None:
    """Return the sign of the currency that a number format shows, None where that is the real.

    A ``$`` that no locale goes with tells nothing: which currency it is depends on the computer.
    """
    for sign, locale in _TAGGED.findall(code):
        place = locale.lower()
        if sign == "$" and place not in _BRAZIL:
            return "US$" if place in _UNITED_STATES else "$"
        if sign not in {"$", *_REAL}:
            return str(sign)
    named = _NAMED.search(re.sub(r'\[[^\]]*\]|["\\]', "", code))
    return named[0] if named else None
