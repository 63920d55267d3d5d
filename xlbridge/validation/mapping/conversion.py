"""Conversion of the cells of a foreign column: values by a list, documents by kind, joined texts.

A cell that the mapping has no value for is named with a finding, and never guessed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from xlbridge.resources.checks import bare_document, is_cnpj, is_cpf
from xlbridge.validation.headers.header_row import UnusableCell
from xlbridge.validation.mapping.mapping_file import DOCUMENT_KINDS, DocumentKind, value_key
from xlbridge.validation.text import display, quoted, strip_invisible
from xlbridge.workbook.read import CellColumn

_CNPJ_DIGITS, _CPF_DIGITS = 14, 11
_MOST_LISTED = 12
_BOOLEAN_WORDS = {True: ("verdadeiro", "true"), False: ("falso", "false")}


@dataclass(slots=True)
class ConvertedCells:
    """Cells of one column after conversion, one for each of Excel's rows; an empty one is ``""``.

    ``unusable`` are the cells that the mapping has no value for, by Excel's row number. ``taken``
    are the rows whose cells were taken as they stand.
    """

    values: list[object]
    unusable: dict[int, UnusableCell] = field(default_factory=dict)
    taken: frozenset[int] = frozenset()


def document_kind(value: object) -> DocumentKind | None:
    """Return which kind of document a cell holds, by its check digits, else by its length.

    A document that lost its leading zeros counts, where it can be of one kind only.
    """
    bare = bare_document(strip_invisible(display(value))[0].strip())
    fits: list[DocumentKind] = []
    if is_cpf(bare.zfill(_CPF_DIGITS)):
        fits.append("cpf")
    if is_cnpj(bare.zfill(_CNPJ_DIGITS)):
        fits.append("cnpj")
    if len(fits) == 1:
        return fits[0]
    return {_CPF_DIGITS: DOCUMENT_KINDS[0], _CNPJ_DIGITS: DOCUMENT_KINDS[1]}.get(len(bare))


def convert_values(
    column: CellColumn, rows: Iterable[int], targets: Mapping[str, object]
) -> ConvertedCells:
    """Convert the cells in ``rows``, Excel's numbers, by a list; the others stay as they are."""
    known = {value_key(text): value for text, value in targets.items()}
    by_kind = {kind: known[kind] for kind in DOCUMENT_KINDS if kind in known}
    shown = ", ".join(map(quoted, list(targets)[:_MOST_LISTED]))
    shown += " …" if len(targets) > _MOST_LISTED else ""
    unknown = UnusableCell("mapping-value-unknown", {"known": shown})
    cache: dict[object, object] = {}

    def convert(value: object) -> object:
        for key in _keys(value):
            if not key:
                return ""
            if key in known:
                return known[key]
        kind = document_kind(value) if by_kind else None
        return unknown if kind is None else by_kind.get(kind, unknown)

    converted = ConvertedCells([column.value(place) for place in range(len(column.kinds))])
    for row in rows:
        value = converted.values[row - 1]
        if value == "":
            continue
        key = type(value), value
        if key not in cache:
            cache[key] = convert(value)
        if cache[key] is unknown:
            converted.unusable[row] = unknown
        else:
            converted.values[row - 1] = cache[key]
    return converted


def _keys(value: object) -> Sequence[str]:
    """Return the texts by which a list may name a value."""
    if isinstance(value, bool):
        return _BOOLEAN_WORDS[value]
    return (value_key(strip_invisible(display(value))[0]),)


def split_documents(
    column: CellColumn, rows: Iterable[int], kinds: Sequence[DocumentKind]
) -> list[ConvertedCells]:
    """Split a column of documents into one for each of ``kinds``; what is of none is unusable in
    the first."""
    own = [column.value(place) for place in range(len(column.kinds))]
    split = [ConvertedCells(list(own)) for _ in kinds]
    taken: dict[DocumentKind, set[int]] = {kind: set() for kind in kinds}
    stray = UnusableCell("mapping-document-unknown", {"kinds": ", ".join(kinds).upper()})
    for row in rows:
        value = own[row - 1]
        if value == "" or not display(value).strip():
            continue
        kind = document_kind(value)
        if kind in taken:
            taken[kind].add(row)
        else:
            split[0].unusable[row] = stray
        for place, other in enumerate(kinds):
            if other != kind and (place or kind in taken):
                split[place].values[row - 1] = ""
    for converted, kind in zip(split, kinds, strict=True):
        converted.taken = frozenset(taken[kind])
    return split


def join_texts(
    columns: Sequence[CellColumn], rows: Iterable[int], separator: str
) -> ConvertedCells:
    """Join the texts of cells side by side; empty ones leave nothing behind."""
    first = columns[0]
    joined = ConvertedCells([first.value(place) for place in range(len(first.kinds))])
    for row in rows:
        texts = (display(column.value(row - 1)).strip() for column in columns)
        joined.values[row - 1] = separator.join(text for text in texts if text)
    return joined
