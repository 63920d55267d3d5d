"""Stored results of formulas that a changed table makes stale.

Excel calculates them anew on opening. Programs that trust stored results, LibreOffice among them,
would show the old ones, so that these are removed: a formula without a result is calculated.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from html import unescape

from xlbridge.workbook.edit.editable_package import EditablePackage
from xlbridge.workbook.edit.refresh.references import Reference, replace_references

_CELL = re.compile(
    rb"(?P<start><(?:[\w.-]+:)?c\b[^>]*>)\s*"
    rb"(?P<formula><(?P<tag>(?:[\w.-]+:)?f)\b(?P<attributes>[^>]*?)"
    rb"(?:/>|>(?P<text>[^<]*)</(?P=tag)\s*>))"
    rb"\s*(?P<result><(?:[\w.-]+:)?v>[^<]+</(?:[\w.-]+:)?v>)?"
)
_GROUP = re.compile(rb"""\bsi=["'](\d+)""")
_TYPE = re.compile(rb"""\st=["'][^"']*["']""")
_ANYWHERE = re.compile(r"\b(?:INDIRECT|OFFSET)\(", re.IGNORECASE)


def forget_stale_results(
    package: EditablePackage,
    sheets: Mapping[str, str],
    changed: str,
    table: str,
    names: Mapping[str, str],
) -> None:
    """Remove the results of formulas that depend on a changed sheet, also by way of others.

    ``sheets`` are the parts by the sheets' names, ``table`` is the name of the changed table, and
    ``names`` are the formulas of the defined names.
    """
    stale = {changed.casefold()}
    words = {table.casefold()} if table else set[str]()
    formulas = {
        name: list(_formulas(package.read(part)))
        for name, part in sheets.items()
        if b"sheetData" in package.read(part)
    }
    while True:
        known = len(stale) + len(words)
        words |= {
            name.casefold() for name, text in names.items() if _depends(text, "", stale, words)
        }
        stale |= {
            name.casefold()
            for name, found in formulas.items()
            if any(_depends(text, name, stale, words) for text in found)
        }
        if len(stale) + len(words) == known:
            break
    for name in formulas:
        if name.casefold() in stale:
            content = package.read(sheets[name])
            depends = partial(_depends, own=name, sheets=stale, words=words)
            new = _without_results(content, depends)
            if new != content:
                package.write(sheets[name], new)


def _formulas(content: bytes) -> Iterator[str]:
    texts = (found["text"] for found in _CELL.finditer(content))
    yield from dict.fromkeys(unescape(text.decode()) for text in texts if text)


def _depends(formula: str, own: str, sheets: set[str], words: set[str]) -> bool:
    """Return whether a formula of the sheet ``own`` refers to sheets, or to names or tables."""
    if _ANYWHERE.search(formula):
        return True
    depends = False

    def look(reference: Reference) -> None:
        nonlocal depends
        name = reference.sheet_name
        depends = depends or ":" in name or (name or own).casefold() in sheets

    replace_references(formula, look)
    return depends or any(word in formula.casefold() for word in words)


def _without_results(content: bytes, depends: Callable[[str], bool]) -> bytes:
    shared: dict[bytes, bool] = {}

    def without(found: re.Match[bytes]) -> bytes:
        group = _GROUP.search(found["attributes"])
        text = unescape((found["text"] or b"").decode())
        is_stale = depends(text) if text else bool(group and shared.get(group[1], True))
        if group and text:
            shared[group[1]] = is_stale
        if not is_stale or found["result"] is None:
            return found[0]
        return _TYPE.sub(b"", found["start"]) + found["formula"]

    return _CELL.sub(without, content)
