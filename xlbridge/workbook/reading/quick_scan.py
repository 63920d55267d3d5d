"""The raw XML of a large sheet, searched for what is rare in it.

Literal beginnings keep the patterns at the speed of memory. They know the way in which programs
write large sheets; where a sheet is written in another way, the exact scan takes over.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

from xlbridge.workbook.address import column_index
from xlbridge.workbook.reading.raw_sheet import CellPlace, RawSheet

_REFERENCE = re.compile(rb'\br="([A-Z]{1,3})(\d{1,7})"')
# Atomic groups and possessive repeats: no way of writing XML lets these search back and back again.
ERROR_CELL = re.compile(
    rb'(<c\b(?>([^>]*?\st="e"[^>]*+))(?<!/)>(?:(?!</?c\b).)*?<v\b[^>]*+(?<!/)>)([^<]+)(?=<)',
    re.DOTALL,
)
"""A cell with an error: all before the error, the cell's attributes, the error."""

_BARE_FORMULA = re.compile(
    rb"<c\b([^>]*)>\s*+<f\b(?:[^>]*/>|[^>]*>[^<]*</f>)(?:\s*+(<v\s*+/>|<v></v>))?\s*+</c>"
)
# The letter is rarer than the mark before it, and what is rare is found faster.
_FORMULA_BEGINS = re.compile(rb"f(?<=<f)")
_TEXT_RESULT = re.compile(rb'\bt="str"')
_PREFIXED = re.compile(rb"""<\w+:worksheet|xmlns:\w+=["'][^"']*/spreadsheetml/(?:2006/)?main["']""")

_ROW = re.compile(rb"<row\b[^>]*>")
_CELL = re.compile(rb"<c\b[^>]*>")
_ADDRESSED = re.compile(rb'\sr="')


def scan_quickly(pieces: Iterable[bytes], scaling: Mapping[int, float]) -> RawSheet | None:
    """Scan a sheet's part, given piece by piece; None where only the exact scan can tell.

    ``scaling`` are the cell styles that show a number so many times.
    """
    raw = RawSheet()
    styled = _styled_cell(scaling)
    begun = False
    for number, block in enumerate(_blocks(pieces)):
        if number == 0 and _PREFIXED.search(block):
            return None
        if not begun and not _is_addressed(block):
            return None
        begun = begun or _ROW.search(block) is not None
        computed = _FORMULA_BEGINS.search(block) is not None
        if _is_unusual(block) or not _note(block, raw, computed=computed):
            return None
        if not raw.layout.note_block(block, computed=computed):
            return None
        if styled and not _note_styles(block, styled, scaling, raw):
            return None
    return raw


def _blocks(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the part in blocks that end where a row begins."""
    pending: list[bytes] = []
    for piece in pieces:
        cut = piece.rfind(b"<row")
        if cut < 0:
            pending.append(piece)
            continue
        yield b"".join((*pending, piece[:cut]))
        pending = [piece[cut:]]
    yield b"".join(pending)


def _is_addressed(block: bytes) -> bool:
    """Whether the first row and the first cell of the sheet say where they stand."""
    firsts = (_ROW.search(block), _CELL.search(block))
    return all(first is None or _ADDRESSED.search(first[0]) for first in firsts)


def _is_unusual(block: bytes) -> bool:
    # The single marks are rare and found many times faster than the pairs.
    return (b"'" in block and b"='" in block) or (b"!" in block and b"<!" in block)


def _note(block: bytes, raw: RawSheet, *, computed: bool) -> bool:
    """Note the block's error cells and formulas; False where one has no readable address."""
    if b't="e"' in block:
        for _, attributes, error in ERROR_CELL.findall(block):
            if (place := _place(attributes)) is None or b"&" in error:
                return False
            raw.errors[place] = error.decode("utf-8", "replace")
    if computed:
        for attributes, result in _BARE_FORMULA.findall(block):
            if (place := _place(attributes)) is None:
                return False
            if not (result and _TEXT_RESULT.search(attributes)):
                raw.unvalued.add(place)
    return True


def _styled_cell(scaling: Mapping[int, float]) -> re.Pattern[bytes] | None:
    if not scaling:
        return None
    either = "|".join(map(str, sorted(scaling)))
    return re.compile(rf'<c\b([^>]*\bs="({either})"[^>]*)>'.encode())


def _note_styles(
    block: bytes, styled: re.Pattern[bytes], scaling: Mapping[int, float], raw: RawSheet
) -> bool:
    for attributes, style in styled.findall(block):
        if (place := _place(attributes)) is None:
            return False
        raw.scaled[place] = scaling[int(style)]
    return True


def _place(attributes: bytes) -> CellPlace | None:
    reference = _REFERENCE.search(attributes)
    if reference is None:
        return None
    return int(reference[2]), column_index(reference[1].decode())
