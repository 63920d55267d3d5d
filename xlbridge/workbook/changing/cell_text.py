"""Text that a workbook can carry."""

import re

_LONGEST = 32_767
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def cell_text(text: str) -> str:
    """Return the text with what XML forbids replaced, and cut to what a cell holds."""
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)[:_LONGEST]
