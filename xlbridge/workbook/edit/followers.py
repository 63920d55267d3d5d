"""Parts of a workbook that follow a table whose number of rows changes.

Formulas, names, charts, formats, checks, filters and pivot tables keep their bytes, but for the
addresses in them. Stored results that the change makes stale are removed.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from html import unescape
from xml.sax.saxutils import escape

from xlbridge.workbook.address import range_text
from xlbridge.workbook.edit.editable_package import EditablePackage, SheetList
from xlbridge.workbook.edit.found_tables import FoundTable
from xlbridge.workbook.edit.references import (
    Reference,
    RowChange,
    moved_ranges,
    parse_range,
    replace_references,
)
from xlbridge.workbook.edit.sheet_rows import POSITION
from xlbridge.workbook.edit.xml_elements import without_comments

_FORMULA = re.compile(
    rb"<((?:[\w.-]+:)?(?:f|formula|formula1|formula2|calculatedColumnFormula|totalsRowFormula"
    rb"|FmlaLink|FmlaRange))(\s[^>]*)?>([^<]+)</\1\s*>"
)
_FORMULA_ATTRIBUTE = re.compile(rb"""(\s(?:location|fmlaLink|fmlaRange)=")([^"]+)\"""")
_RULE_FORMULA = re.compile(rb"<((?:[\w.-]+:)?formula[12]?)(\s[^>]*)?>([^<]+)</\1\s*>")
_OTHER_FORMULA = re.compile(rb"<([\w.-]+:f)(\s[^>]*)?>([^<]+)</\1\s*>")
_PLACES = re.compile(rb"""((?<![\w:])(?:ref|sqref)=["']|<(?:[\w.-]+:)?sqref>)([^"'<]*)""")
_BREAK = re.compile(rb"""(<(?:[\w.-]+:)?rowBreaks\b.*?</(?:[\w.-]+:)?rowBreaks\s*>)""", re.DOTALL)
_BREAK_ROW = re.compile(rb"""(\bid=["'])(\d+)""")
_COLUMN = re.compile(rb"<(?:[\w.-]+:)?col>\s*(\d+)")
_ANCHOR = re.compile(
    rb"<((?:[\w.-]+:)?(?:twoCellAnchor|oneCellAnchor|ClientData))\b.*?</\1\s*>", re.DOTALL
)
_SOURCE = re.compile(rb"<(?:[\w.-]+:)?(?:worksheetSource|rangeSet)\b[^>]*>")
_SOURCE_ATTRIBUTE = re.compile(rb"""\b(ref|sheet|name)=["']([^"']*)["']""")
_REFRESH = re.compile(rb"""\srefreshOnLoad=["'][^"']*["']""")
_CACHE = re.compile(rb"<(?:[\w.-]+:)?pivotCacheDefinition\b")

DRAWN_KINDS = frozenset({"drawing"})
"""Relations of a sheet to parts with pictures, charts and shapes at cells."""

_POSITIONED = DRAWN_KINDS | {"vmlDrawing"}
_ADDRESSED = frozenset({"table", "comments", "threadedComment", "pivotTable"})
_WITHOUT_FORMULAS = ("xl/sharedstrings.xml", "xl/styles.xml", "xl/theme/", "docprops/")


def moved_formulas(content: bytes, change: RowChange, *, own: bool) -> bytes:
    """Return a part with the formulas in it after a change; ``own``: they stand in the sheet."""
    if change.is_none:
        return content

    def moved(text: str) -> str:
        return change.formula(text, own=own, areas=not own)

    content = _FORMULA.sub(lambda found: _element(found, moved), content)
    return _FORMULA_ATTRIBUTE.sub(
        lambda found: found[1] + _changed(found[2], moved) + b'"', content
    )


def moved_attributes(content: bytes, change: RowChange) -> bytes:
    """Return a part of the sheet, but its rows, after a change: its ranges and the formulas of
    conditional formats, checks and sparklines."""
    if change.is_none:
        return content
    content = _with_places(content, change)
    content = _RULE_FORMULA.sub(
        lambda found: _element(found, lambda text: change.formula(text, own=True, rows=0)), content
    )
    content = _OTHER_FORMULA.sub(
        lambda found: _element(found, lambda text: change.formula(text, own=True)), content
    )
    return _BREAK.sub(
        lambda block: _BREAK_ROW.sub(
            lambda found: found[1] + b"%d" % change.moved(int(found[2])), block[0]
        ),
        content,
    )


def drawn_rows(content: bytes) -> Iterator[tuple[int, int]]:
    """Yield Excel's row number and the zero-based column at which each drawing begins."""
    for anchor in _ANCHOR.finditer(content):
        row, column = POSITION.search(anchor[0]), _COLUMN.search(anchor[0])
        if row and column:
            yield int(row[2]) + 1, int(column[1])


def follow(package: EditablePackage, found: FoundTable, change: RowChange) -> None:
    """Change all parts but the sheet itself, and have programs calculate and refresh on opening."""
    sheets = SheetList(package)
    names = sheets.change_names(lambda text: change.formula(text, own=False, areas=True))
    sheets.recalculate_on_load()
    sheets.save()
    stored = {name.lower(): name for name in package.parts()}
    related = {
        stored[target.lower()]: kind
        for kind, target in package.relations(found.part)
        if target.lower() in stored and kind in _ADDRESSED | _POSITIONED
    }
    for part in package.parts():
        lower = part.lower()
        if (
            not lower.endswith((".xml", ".vml"))
            or lower.startswith(_WITHOUT_FORMULAS)
            or part in {found.part, package.workbook}
        ):
            continue
        content = package.read(part)
        new = content
        if _CACHE.search(content):
            new = _refreshed_cache(content, found, change, names)
        elif not change.is_none and (part in related or _may_refer(content, change)):
            new = moved_formulas(without_comments(content), change, own=part in related)
            if part in related:
                new = _moved_part(new, related[part], change)
        if new != content:
            package.write(part, new)
    _forget_stale_results(package, sheets.by_name(), found.sheet, found.table, names)


def _may_refer(content: bytes, change: RowChange) -> bool:
    """Return whether the name of the sheet is in a part."""
    text = unescape(content.decode("utf-8", "replace")).casefold()
    names = change.sheet, change.sheet.replace("'", "''")
    return any(name.casefold() in text for name in names)


def _moved_part(content: bytes, kind: str, change: RowChange) -> bytes:
    """Return a part of the sheet's own, with the places in it after a change."""
    if kind in _ADDRESSED:
        are_cells = kind not in {"table", "pivotTable"}
        return _with_places(content, change, cells=are_cells)

    def moved(anchor: re.Match[bytes]) -> bytes:
        first = POSITION.search(anchor[0])
        if first is None or int(first[2]) + 1 <= change.last:
            return anchor[0]
        return POSITION.sub(
            lambda found: found[1] + b"%d" % (change.moved(int(found[2]) + 1) - 1), anchor[0]
        )

    return _ANCHOR.sub(moved, content)


def _refreshed_cache(
    content: bytes, found: FoundTable, change: RowChange, names: dict[str, str]
) -> bytes:
    """Return the definition of a pivot cache, with its source; one of the table is refreshed on
    opening."""
    is_ours = False

    def moved(source: re.Match[bytes]) -> bytes:
        nonlocal is_ours
        values = {name: value.decode() for name, value in _SOURCE_ATTRIBUTE.findall(source[0])}
        name = unescape(values.get(b"name", ""))
        is_ours = (
            is_ours
            or bool(name and name.casefold() == found.table.casefold())
            or _refers(names.get(name, ""), change)
        )
        area = parse_range(values.get(b"ref", ""))
        sheet = unescape(values.get(b"sheet", ""))
        if area is None or sheet.casefold() != change.sheet.casefold():
            return source[0]
        is_ours = is_ours or (area[0] <= change.last and area[2] >= change.first - 1)
        new = change.area(area)
        if new is None or new == area:
            return source[0]
        return _PLACES.sub(lambda place: place[1] + range_text(new).encode(), source[0])

    content = _SOURCE.sub(moved, content)
    if not is_ours:
        return content
    if _REFRESH.search(content):
        return _REFRESH.sub(b' refreshOnLoad="1"', content, count=1)
    return _CACHE.sub(lambda start: start[0] + b' refreshOnLoad="1"', content, count=1)


def _refers(formula: str, change: RowChange) -> bool:
    """Return whether a formula refers to the sheet."""
    found = False

    def look(reference: Reference) -> None:
        nonlocal found
        found = found or change.is_of_sheet(reference, own=False)

    replace_references(formula, look)
    return found


def _with_places(content: bytes, change: RowChange, *, cells: bool = False) -> bytes:
    """Return a part with its ranges after a change; one whose rows go stays as it is."""

    def moved(found: re.Match[bytes]) -> bytes:
        new = moved_ranges(found[2].decode(), change, cells=cells)
        return found[1] + (new.encode() or found[2])

    return _PLACES.sub(moved, content)


def _element(found: re.Match[bytes], moved: Callable[[str], str]) -> bytes:
    return b"<%s%s>%s</%s>" % (found[1], found[2] or b"", _changed(found[3], moved), found[1])


def _changed(escaped: bytes, moved: Callable[[str], str]) -> bytes:
    """Return an escaped formula after a change, with its bytes if it stays."""
    text = unescape(escaped.decode())
    new = moved(text)
    return escaped if new == text else escape(new, {'"': "&quot;"}).encode()


_FORMULA_CELL = re.compile(
    rb"(?P<start><(?:[\w.-]+:)?c\b[^>]*>)\s*"
    rb"(?P<formula><(?P<tag>(?:[\w.-]+:)?f)\b(?P<attributes>[^>]*?)"
    rb"(?:/>|>(?P<text>[^<]*)</(?P=tag)\s*>))"
    rb"\s*(?P<result><(?:[\w.-]+:)?v>[^<]+</(?:[\w.-]+:)?v>)?"
)
_SHARED_GROUP = re.compile(rb"""\bsi=["'](\d+)""")
_CELL_TYPE = re.compile(rb"""\st=["'][^"']*["']""")
_REFERS_ANYWHERE = re.compile(r"\b(?:INDIRECT|OFFSET)\(", re.IGNORECASE)


def _forget_stale_results(
    package: EditablePackage,
    sheets: Mapping[str, str],
    changed: str,
    table: str,
    names: Mapping[str, str],
) -> None:
    """Remove the results of formulas that depend on a changed sheet, also by way of others.

    Excel calculates them anew on opening. Programs that trust stored results, LibreOffice among
    them, would show the old ones; a formula without a result is calculated.

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
    texts = (found["text"] for found in _FORMULA_CELL.finditer(content))
    yield from dict.fromkeys(unescape(text.decode()) for text in texts if text)


def _depends(formula: str, own: str, sheets: set[str], words: set[str]) -> bool:
    """Return whether a formula of the sheet ``own`` refers to sheets, or to names or tables."""
    if _REFERS_ANYWHERE.search(formula):
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
        group = _SHARED_GROUP.search(found["attributes"])
        text = unescape((found["text"] or b"").decode())
        is_stale = depends(text) if text else bool(group and shared.get(group[1], True))
        if group and text:
            shared[group[1]] = is_stale
        if not is_stale or found["result"] is None:
            return found[0]
        return _CELL_TYPE.sub(b"", found["start"]) + found["formula"]

    return _FORMULA_CELL.sub(without, content)
