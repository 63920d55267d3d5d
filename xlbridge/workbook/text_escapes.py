"""Escape texts as workbooks hold them: ``_xHHHH_`` for a character that XML cannot hold.

Excel reads ``_x0041_`` as ``A``; a text that looks so has its underscore escaped, ``_x005F_``.

Source: ECMA-376, Part 1, 22.9.2.19 (``ST_Xstring``); [MS-OI29500], 2.1.1747.
"""

import re

_ESCAPED_CHARACTERS = "\x00-\x08\x0b-\x1f\ufffe\uffff"
_NEEDS_ESCAPE = re.compile(f"[{_ESCAPED_CHARACTERS}]")
# An escape that follows begins with an underscore, which would end what only looks like one.
_LOOKS_ESCAPED = re.compile(f"_(?=x[0-9A-Fa-f]{{4}}[_{_ESCAPED_CHARACTERS}])")


def escape_text(text: str) -> str:
    """Return a text as a workbook's XML holds it, before its markup is escaped.

    Line feeds and tabs stay: Excel does not escape them in the text of a cell.
    """
    literal = _LOOKS_ESCAPED.sub("_x005F_", text)
    return _NEEDS_ESCAPE.sub(lambda found: f"_x{ord(found[0]):04X}_", literal)
