"""Names of the columns of all shipped resources, and the words in them.

The resources themselves take many times longer to read than a small file.
"""

import json
import re
from functools import cache
from pathlib import Path

from xlbridge.resources.column import normalize_header

SHIPPED_FILE = Path(__file__).parents[1] / "shipped_schemas.json"
"""JSON of the shipped schema files by file name, completed from the models of their rows."""

_WORD = re.compile(r"[a-z]{2,}")
_LONG_WORD = re.compile(r"[a-z]{4}")
"""Start of a word that alone may be a name."""
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")


def is_column_name(header: str) -> bool:
    """Return whether a header is the name or the Portuguese title of a column of some resource, or
    consists of words of these."""
    names, words = _column_names()
    name = normalize_header(header)
    found = _WORD.findall(name)
    return name in names or (_LONG_WORD.search(name) is not None and words.issuperset(found))


@cache
def _column_names() -> tuple[frozenset[str], frozenset[str]]:
    """Return the names and titles, normalized, and the words in them."""
    files = json.loads(SHIPPED_FILE.read_text(encoding="utf-8")).values()
    written = {
        text
        for file in files
        for name, column in file["columns"].items()
        for text in (name, column["title"])
    }
    words = {
        word for text in written for word in _WORD.findall(normalize_header(_HUMP.sub(" ", text)))
    }
    return frozenset(map(normalize_header, written)), frozenset(words)
