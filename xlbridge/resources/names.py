"""Names and titles of the columns of all shipped resources and of the fields of records, and the
words in them.

The resources themselves take many times longer to read than a small file.
"""

import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Mapping
from datetime import date
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import xlbridge
from xlbridge.i18n import Text, untranslated

__all__ = [
    "coded_title",
    "field_title",
    "fields_called",
    "is_column_name",
    "name_title",
    "number_headers",
    "number_title",
    "registry_of",
]

SHIPPED_FILE = Path(__file__).with_name("shipped_schemas.json")
"""JSON of the shipped schema files by file name, completed from the models of their rows."""

SHARED_COLUMNS = "shared/columns.yaml"
"""Entry of that file with the titles of columns in several sheets and of fields of records."""

_WORD = re.compile(r"[a-z]{2,}")
_LONG_WORD = re.compile(r"[a-z]{4}")
"""Start of a word that alone may be a name."""
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")


def schemas_folder() -> Path:
    """Return the folder of the shipped schema files, which is inside the package in an installed
    wheel, next to it in a checkout."""
    package = Path(xlbridge.__file__).parent
    packed = package / "_data" / "schemas"
    return packed if packed.is_dir() else package.parent / "schemas"


@lru_cache(maxsize=4096)
def normalize_header(header: str) -> str:
    """Return a header without case, accents, and an asterisk or colon at its end, for comparison
    with others."""
    return " ".join(strip_accents(header).split()).rstrip(" *:").casefold()


def strip_accents(text: str) -> str:
    """Return a text without accents, with compatibility characters decomposed."""
    if text.isascii():
        return text
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(part for part in decomposed if not unicodedata.combining(part))


def is_column_name(header: str) -> bool:
    """Return whether a header is the name or the Portuguese title of a column of some resource, or
    consists of words of these."""
    names, words = _column_names()
    name = normalize_header(header)
    found = _WORD.findall(name)
    return name in names or (_LONG_WORD.search(name) is not None and words.issuperset(found))


def field_title(name: str) -> Text:
    """Return the title of a field of the interface, its name if it has none.

    A field of a list, ``list.field``, is titled with the list's name, the time in a date's field,
    ``date.time``, with the date's title.
    """
    within, _, field = name.rpartition(".")
    if field == "time":
        date = field_title(within)
        return Text(pt=f"{date.pt}: hora", en=f"{date.en}: time")
    title = _field_titles().get(field, untranslated(field))
    return Text(pt=f"{within}: {title.pt}", en=f"{within}: {title.en}") if within else title


def number_title(name: str) -> Text:
    """Return the title of a column with the system's own numbers of records, which differs from
    the header of numbers that another system may have given."""
    title = field_title(name)
    return Text(pt=f"{title.pt} (do sistema)", en=f"{title.en} (the system's)")


_OF_A_CODE = re.compile(
    r"^Código d[aeo] |^Número d[aeo] (?=.* no sistema$)| no sistema$| code$| number in the system$"
)
"""Words of a code in a title, such as *Código do* in *Código do cliente*."""


def coded_title(code: str) -> Text:
    """Return the title of what the codes in a field stand for: client, branch."""
    title = field_title(code)
    pt, en = (_OF_A_CODE.sub("", text) for text in (title.pt, title.en))
    return Text(pt=f"{pt[:1].upper()}{pt[1:]}", en=en)


def name_title(code: str) -> Text:
    """Return the title of the column with the names of what the codes in a field stand for."""
    title = coded_title(code)
    return Text(pt=f"{title.pt} (nome)", en=f"{title.en} (name)")


def registry_of(field: str) -> str | None:
    """Return the registry that the codes in a field belong to, None if it has no such codes."""
    return _field_registries().get(field)


@cache
def _field_registries() -> Mapping[str, str]:
    return {
        name: body["references"]
        for file in _sheets()
        for name, body in file["metadata"]["columns"].items()
        if "references" in body
    }


def number_headers(name: str) -> frozenset[str]:
    """Return the headers of a column with the system's own numbers, normalized."""
    title = number_title(name)
    return frozenset(map(normalize_header, (name, title.pt, title.en)))


def fields_called(header: str) -> frozenset[str]:
    """Return the fields of the interface that a header names, by their names or titles."""
    return _fields_by_header().get(normalize_header(header), frozenset())


@cache
def _fields_by_header() -> Mapping[str, frozenset[str]]:
    found = defaultdict[str, set[str]](set)
    for name, title in _field_titles().items():
        for text in (name, title.pt, title.en):
            found[normalize_header(text)].add(name)
    return {header: frozenset(names) for header, names in found.items()}


@cache
def _field_titles() -> Mapping[str, Text]:
    """Return the title of each field: the shared one, or that of the first sheet with the field."""
    shared = shipped_files()[SHARED_COLUMNS]
    titles = {name: Text(pt=body["title"], en=body["title_en"]) for name, body in shared.items()}
    for file in _sheets():
        extra = file["metadata"]["columns"]
        for name, body in file["columns"].items():
            titles.setdefault(name, Text(pt=body["title"], en=extra[name]["title_en"]))
    return titles


def shipped_files() -> dict[str, Any]:
    """Return the contents of the shipped schema files by their names, completed from the models of
    their rows, and titles under ``SHARED_COLUMNS``.

    They are read from the JSON of ``docs/generate_shipped_schemas.py``, as YAML and the models take
    many times longer.
    """
    files: dict[str, Any] = json.loads(
        SHIPPED_FILE.read_text(encoding="utf-8"),
        object_hook=lambda block: (
            date.fromisoformat(block["date"]) if block.keys() == {"date"} else block
        ),
    )
    return files


def _sheets() -> list[Mapping[str, Any]]:
    return [file for name, file in shipped_files().items() if name != SHARED_COLUMNS]


@cache
def _column_names() -> tuple[frozenset[str], frozenset[str]]:
    """Return the names and titles, normalized, and the words in them."""
    written = {
        text
        for file in _sheets()
        for name, column in file["columns"].items()
        for text in (name, column["title"])
    }
    words = {
        word for text in written for word in _WORD.findall(normalize_header(_HUMP.sub(" ", text)))
    }
    return frozenset(map(normalize_header, written)), frozenset(words)
