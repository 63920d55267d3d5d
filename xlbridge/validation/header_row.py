"""Header row of a sheet: detection, matching to a resource's columns, and checks.

Headers are matched word by word, with typos, abbreviations and partial names. Also detects headers
in one unsplit cell, repeated headers, and headers of an earlier template.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from xlbridge.i18n import Text, joined
from xlbridge.resources import KEY, Column, Fingerprint, Resource, normalize_header, strip_accents
from xlbridge.resources.checks import CATALOGUE
from xlbridge.resources.findings import Finding
from xlbridge.resources.names import field_title, name_title, number_headers, registry_of
from xlbridge.resources.remote import record_fields
from xlbridge.settings import NumberStyle
from xlbridge.validation.cells.contents import display, quoted, repair_mojibake, strip_invisible
from xlbridge.workbook import REJECTS_COLUMNS, STATUS_COLUMNS, cell_address
from xlbridge.workbook.read import CellColumn, CellKind, SheetCells

__all__ = [
    "find_header_row",
    "header_key",
    "key_column",
    "match_header",
]

_UNIT = re.compile(r"\s*\([^()]*\)\s*\**\s*$")
_NUMBER_SIGN = re.compile(r"\bn(?:\.?[º°]\.?|o?\.)", re.IGNORECASE)
_INITIALS = re.compile(r"\b(?:\w\.)+\w\b\.?")
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
"""Word of a header or name: of small letters, of capitals, or digits."""
_STOP_WORDS = frozenset({"de", "do", "da", "dos", "das", "e", "of", "the", "and"})
_GENERIC_WORDS = frozenset(
    {"codigo", "code", "data", "date", "id", "nome", "name", "numero", "number", "valor", "value"}
)
"""Words in the names of many columns: only the other words distinguish them."""
_ABBREVIATIONS = {
    "cli": "cliente", "cod": "codigo", "doc": "documento", "dt": "data", "forn": "fornecedor",
    "hist": "historico", "nr": "numero", "nro": "numero", "num": "numero", "pagto": "pagamento",
    "pgto": "pagamento", "tel": "telefone", "vcto": "vencimento", "vencto": "vencimento",
    "vl": "valor", "vlr": "valor",
}  # fmt: skip
_LONG_WORD = 9
_SHORT_WORD = 3
_LONG_TEXT = 8
_MAX_TYPOS = 2

_Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HeaderMatch:
    """The column that a header means; ``is_certain`` if it only differs in spelling."""

    column: str
    is_certain: bool


@dataclass(frozen=True, slots=True)
class _Spelling:
    """A name of a column: its words and its letters; in Portuguese the general word comes first,
    in English last."""

    column: str
    words: _Words
    letters: str
    general_first: bool = True

    def typos(self, words: _Words) -> int:
        """Count the typos that distinguish words from a name, -1 for too many.

        Each word must be close to the name's: another word means something else.
        """
        if len(words) == len(self.words):
            typos = [_word_typos(word, name) for word, name in zip(words, self.words, strict=True)]
            return -1 if -1 in typos else sum(typos)
        if len(words) == 1 and len(words[0]) >= _LONG_TEXT:
            return _distance_within(words[0], self.letters, _MAX_TYPOS)
        return -1

    def begins_with(self, words: _Words) -> bool:
        """Return whether a name begins with the words, without generic words in either.

        "Vencimento" is part of "data de vencimento"; "código do cliente" is not part of "código do
        tipo de cliente", which is something else.
        """
        specific = tuple(word for word in words if word not in _GENERIC_WORDS)
        name = tuple(word for word in self.words if word not in _GENERIC_WORDS)
        compared = name[: len(specific)] if self.general_first else name
        if not specific or len(specific) != len(compared):
            return False
        near = (
            _word_typos(word, other) >= 0 for word, other in zip(specific, compared, strict=True)
        )
        return all(near) and set(words) - set(specific) <= set(self.words)


class HeaderMatcher:
    """Matcher of unknown headers to the missing columns of a sheet."""

    def __init__(self, resource: Resource, missing: Iterable[str]) -> None:
        self._resource = resource
        self._missing = frozenset(missing)
        columns = [resource.by_name[name] for name in sorted(self._missing)]
        self._spellings = [s for column in columns for s in _spellings(column)]

    def match(self, header: str) -> HeaderMatch | None:
        """Return the column that a header means, None if there is none or more than one."""
        header = repair_mojibake(header) or header
        words = header_words(strip_invisible(_UNIT.sub("", header))[0])
        if not words:
            return None
        near = [(s.column, typos) for s in self._spellings if (typos := s.typos(words)) >= 0]
        fewest = min((typos for _, typos in near), default=0)
        misspelt = {column for column, typos in near if typos == fewest}
        if misspelt:
            return HeaderMatch(misspelt.pop(), is_certain=True) if len(misspelt) == 1 else None
        parts = {s.column for s in self._spellings if s.begins_with(words)} or self._generic(words)
        return HeaderMatch(parts.pop(), is_certain=False) if len(parts) == 1 else None

    def _generic(self, words: _Words) -> set[str]:
        """Return the missing column that a generic word means: the only one whose name begins with
        it, or the amount among several."""
        if len(words) > 1 or words[0] not in _GENERIC_WORDS:
            return set()
        found = {
            column.name
            for column in self._resource.columns
            if any(s.general_first and s.words[:1] == words for s in _spellings(column))
        }
        amount = self._resource.totals.amount
        meant = {amount} if len(found) > 1 and amount in found else found
        return meant & self._missing if len(meant) == 1 else set()


def _spellings(column: Column) -> Sequence[_Spelling]:
    named = ((column.name, True), (column.title.pt, True), (column.title.en, False))
    return [
        _Spelling(
            column.name, header_words(name), normalize_header(name).replace(" ", ""), general_first
        )
        for name, general_first in named
    ]


def header_words(text: str) -> _Words:
    """Split a header into its words, without accents, abbreviations and stop words."""
    text = _INITIALS.sub(lambda found: found[0].replace(".", ""), text.replace("R$", ""))
    bare = strip_accents(_NUMBER_SIGN.sub("numero ", text))
    words = (word.casefold() for word in WORD.findall(bare))
    return tuple(_ABBREVIATIONS.get(word, word) for word in words if word not in _STOP_WORDS)


def _word_typos(word: str, expected: str) -> int:
    shorter = min(len(word), len(expected))
    if shorter <= _SHORT_WORD:
        return 0 if word == expected else -1
    return _distance_within(word, expected, _MAX_TYPOS if shorter >= _LONG_WORD else 1)


def _distance_within(word: str, expected: str, limit: int) -> int:
    """Count the letters added, left out, replaced or swapped with the next, -1 for too many."""
    if abs(len(word) - len(expected)) > limit or len({*word} - {*expected}) > limit:
        return -1
    before_last: Sequence[int] = ()
    last: Sequence[int] = ()
    row = [*range(len(expected) + 1)]
    for i, letter in enumerate(word):
        before_last, last, row = last, row, [i + 1]
        for j, other in enumerate(expected):
            typos = min(last[j] + (letter != other), last[j + 1] + 1, row[j] + 1)
            if i and j and letter == expected[j - 1] and word[i - 1] == other:
                typos = min(typos, before_last[j - 1] + 1)
            row.append(typos)
        if min(row) > limit:
            return -1
    return row[-1] if row[-1] <= limit else -1


# Cached, as the first rows are compared with the columns of each resource.
@lru_cache(maxsize=1_000)
def header_key(header: object) -> str:
    """Return the text of a header cell for comparisons: normalized, without invisible characters,
    empty if it is not a text."""
    return normalize_header(strip_invisible(header)[0]) if isinstance(header, str) else ""


def header_digest(header: Iterable[str]) -> str:
    """Return a digest of a header, the same in any order of its columns."""
    keys = sorted(map(header_key, header))
    return hashlib.blake2b("\0".join(keys).encode(), digest_size=6).hexdigest()


SEARCHED_ROWS = 50
"""Number of rows that are searched for the header."""


UnusableCell = tuple[str, Mapping[str, object]]
"""Code and details of the finding for a cell that a mapping has no value for."""


@dataclass(frozen=True, slots=True)
class Header:
    """Header row of a sheet.

    ``row``: Excel's row number; ``columns``: indexes in ``SheetCells.columns`` of the columns that
    are present exactly once; ``numbers``: the same for the system's own numbers of records, and
    for fields that say that these are closed;
    ``made_of``: columns that an exported listing has as other fields of its records, each with the
    indexes of these; ``findings``: findings of the layout.

    Only for mapped sheets and exported listings: ``sources``: indexes of the sources of added
    columns; ``converted``: columns with other values than the sheet's.

    Only for mapped sheets: ``names``: the sheet's own headers; ``unusable``: cells that could not
    be converted, by Excel's row number; ``constants``: typed values of absent columns; ``styles``:
    styles of text numbers; ``left_out``: Excel's numbers of the rows that the mapping leaves out;
    ``words``: words of columns and their values, which the rejects workbook has, too; ``dates``:
    indexes of the columns that have dates of records or lists; ``shares_rows``: true if the rows
    have columns of records and of lists.
    """

    row: int
    columns: dict[str, int]
    numbers: Mapping[str, int] = field(default_factory=dict)
    made_of: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    sources: dict[int, int] = field(default_factory=dict)
    converted: set[str] = field(default_factory=set)
    unusable: dict[str, Mapping[int, UnusableCell]] = field(default_factory=dict)
    constants: dict[str, object] = field(default_factory=dict)
    styles: dict[str, NumberStyle] = field(default_factory=dict)
    left_out: set[int] = field(default_factory=set)
    words: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    dates: frozenset[int] = frozenset()
    shares_rows: bool = False

    def source_columns(self) -> dict[str, int]:
        """Return the index of each column's own or source column in the sheet."""
        return {name: self.sources.get(index, index) for name, index in self.columns.items()}


def find_header_row(cells: SheetCells, resource: Resource) -> int | None:
    """Return the zero-based position of the first row that names the most columns, None if none of
    the first fifty names any."""
    names = resource.headers
    keys = (map(header_key, texts) for texts in cells.first_texts(SEARCHED_ROWS))
    return best_row(len({names[key] for key in row if key in names}) for row in keys)


def key_column(cells: SheetCells, header: int, resource: Resource) -> CellColumn | None:
    """Return the column of the key that joins sheets, None if the sheet has none."""
    names = (resource.headers.get(header_key(cell)) for cell in cells.row(header))
    return next((cells.columns[at] for at, name in enumerate(names) if name == KEY), None)


def find_similar_header_row(cells: SheetCells, resource: Resource) -> int | None:
    """Return the position of the row with the most fuzzy matches of columns, None if no row has
    two."""
    columns = HeaderMatcher(resource, resource.by_name)
    rows = (filter(None, map(columns.match, row)) for row in cells.first_texts(SEARCHED_ROWS))
    counts = (len({match.column for match in row}) for row in rows)
    return best_row(count if count > 1 else 0 for count in counts)


def searched_rows(cells: SheetCells) -> range:
    """Return the positions of the rows that are searched for the header."""
    return range(min(cells.height, SEARCHED_ROWS))


def best_row(row_scores: Iterable[int]) -> int | None:
    """Return the position of the first row with the highest score, None if all scores are 0."""
    scores = list(row_scores)
    best = max(scores, default=0)
    return scores.index(best) if best else None


@dataclass(frozen=True, slots=True)
class ChosenSheet:
    """The sheet to validate, and its resource, None if nothing identifies it.

    ``hidden``: names of hidden sheets, one of which may be the right one; ``main``: resource
    of the main sheet of a child sheet.
    """

    cells: SheetCells
    resource: Resource | None
    hidden: Sequence[str] = ()
    main: Resource | None = None


def match_header(
    cells: SheetCells, position: int, resource: Resource, main: Resource | None = None
) -> Header:
    """Match the cells of the row at ``position`` to the resource's columns.

    ``main`` is the resource of the main sheet if the resource is a list of another.
    """
    names = resource.headers
    row = position + 1
    indexes: dict[str, list[int]] = {}
    numbers: dict[str, int] = {}
    others: list[tuple[str, int]] = []
    remarks = remark_columns(cells.row(position))
    declared = () if resource.read_back is None else resource.read_back.number_columns
    number_names = {header: name for name in declared for header in number_headers(name)}
    for name in () if resource.read_back is None else resource.read_back.closed_by:
        title = field_title(name)
        headers = {*map(header_key, (title.pt, title.en)), *number_headers(name)}
        number_names |= dict.fromkeys(headers, name)
    for index, cell in enumerate(cells.row(position)):
        text = header_key(cell)
        if text in names:
            indexes.setdefault(names[text], []).append(index)
        elif text in number_names:
            numbers.setdefault(number_names[text], index)
        elif text and index not in remarks:
            others.append((str(cell).strip(), index))

    def address(index: int) -> str:
        return cell_address(row, cells.first_column + index)

    findings = []
    for name, found in indexes.items():
        if len(found) > 1:
            details = {"column": name, "cells": ", ".join(map(address, found))}
            findings.append(_finding("column-duplicate", row, name, address(found[-1]), details))
    main = main or resource
    absent = [column.name for column in resource.columns if column.name not in indexes]
    made_of = _made_of_fields(cells.row(position), absent, resource, main)
    used = {index for fields in made_of.values() for index in fields.values()}
    split = {
        index: (name, text)
        for index, (name, text) in _split_names(cells, position, names).items()
        if name not in indexes
    }
    findings += [
        _header_finding("column-split", row, address(index), name, text)
        for index, (name, text) in split.items()
    ]
    present = {*indexes, *made_of, *(name for name, _ in split.values())}
    missing = [name for name in absent if name not in present]
    unknown = [
        (text, address(index)) for text, index in others if index not in split and index not in used
    ]
    # Other sheets need not import the interface.
    if any(_EXPORTED.search(text) for text, _ in unknown):
        read_only = _read_only_fields([text for text, _ in unknown], resource, main)
        if read_only:
            shown = ", ".join(cells.titles.get(text, text) for text in read_only)
            found_in = {"columns": shown, "resource": resource.title}
            findings.append(Finding(CATALOGUE["columns-read-only"], row, details=found_in))
        unknown = [one for one in unknown if one[0] not in read_only]
    required = {*resource.required}
    if declared and numbers.keys() >= {*declared}:
        # Existing records keep what the sheet does not show; new ones have findings of their rows.
        required &= {KEY}
    findings += _missing_and_unknown(row, resource, missing, unknown, required)
    return Header(
        row=row,
        columns={name: found[0] for name, found in indexes.items() if len(found) == 1},
        numbers=numbers,
        made_of=made_of,
        findings=findings,
    )


def _made_of_fields(
    header: Iterable[object], missing: Iterable[str], resource: Resource, main: Resource
) -> dict[str, dict[str, int]]:
    """Return the missing columns that an exported listing has as other fields of its records, with
    the indexes of these.

    The key that joins sheets is made of the record's codes. A listing is recognised by the system's
    own number of a record.
    """
    declared = main.read_back
    if declared is None:
        return {}
    positions: dict[str, int] = {}
    for index, text in enumerate(map(header_key, header)):
        positions.setdefault(text, index)

    def find(names: Iterable[str]) -> dict[str, int]:
        headers = ((name, key) for name in names for key in number_headers(name))
        return {name: positions[key] for name, key in headers if key in positions}

    if not find(declared.number_columns):
        return {}
    found: dict[str, dict[str, int]] = {}
    for name in missing:
        if name == KEY:
            fields = needed = declared.codes
        elif resource is main and name in declared.renamed:
            fields = tuple(declared.as_row.sources(name))
            needed = fields[:1]
        else:
            continue
        indexes = find(fields)
        if indexes.keys() >= {*needed}:
            found[name] = indexes
    return found


def _read_only_fields(headers: Sequence[str], resource: Resource, main: Resource) -> list[str]:
    """Return the headers of what an export has and an import does not take: fields of the records,
    by their names, and the names beside codes."""
    declared = main.read_back
    if declared is None:
        return []
    if resource is main:
        fields = frozenset().union(*map(record_fields, declared.operation_names))
    else:
        fields = declared.item_columns(resource.sheet).union(declared.codes)
    titles = [name_title(name) for name in fields if registry_of(name)]
    names = {header_key(text) for title in titles for text in (title.pt, title.en)}
    return [text for text in headers if text in fields or header_key(text) in names]


def _missing_and_unknown(
    row: int,
    resource: Resource,
    missing: Sequence[str],
    unknown: Sequence[tuple[str, str]],
    required: Set[str],
) -> Iterator[Finding]:
    """Yield the findings of ``required`` columns that are missing, then those of ``unknown``
    headers, which have their addresses."""
    columns = HeaderMatcher(resource, missing)
    matches = [columns.match(text) for text, _ in unknown]
    reported = {match.column for match in matches if match is not None}
    for name in missing:
        if name in required and name not in reported:
            yield _finding("column-missing", row, name, None, {"column": name})
    for (text, cell), match in zip(unknown, matches, strict=True):
        if match is None:
            details = {"header": quoted(text), "resource": resource.title}
            yield _finding("column-unknown", row, text, cell, details)
            continue
        alike = "column-missing-alike" if match.column in required else "column-alike"
        code = "column-misspelt" if match.is_certain else alike
        yield _header_finding(code, row, cell, match.column, text)


def _split_names(
    cells: SheetCells, position: int, names: Mapping[str, str]
) -> dict[int, tuple[str, str]]:
    """Return the columns whose names span the row at ``position`` and an adjacent one, by index,
    with their headers. A text in the upper row also applies to empty cells to its right."""
    found: dict[int, tuple[str, str]] = {}
    for top in (position, position - 1) if position else (position,):
        above = ""
        for index, (upper, lower) in enumerate(
            zip(cells.row(top), cells.row(top + 1), strict=True)
        ):
            above = upper.strip() if isinstance(upper, str) and upper else above
            text = f"{above} {lower}" if isinstance(lower, str) and lower and above else ""
            if header_key(text) in names:
                found.setdefault(index, (names[header_key(text)], text))
    return found


_REMARK_COLUMNS = {
    header_key(first): frozenset(map(header_key, others))
    for columns in (REJECTS_COLUMNS, STATUS_COLUMNS)
    for first, *others in zip(*((column.pt, column.en) for column in columns), strict=True)
}
"""First column of those that xlbridge adds to copies, with the ones that may follow it."""

REMARK_HEADERS = frozenset(_REMARK_COLUMNS).union(*_REMARK_COLUMNS.values())
"""Keys of the headers that xlbridge adds to copies."""


def remark_columns(header: Iterable[object]) -> set[int]:
    """Return the indexes of the columns that xlbridge added.

    A column with such a name elsewhere is the analyst's own, such as the reason of a requisition.
    """
    found, followers = set(), frozenset[str]()
    for index, key in enumerate(map(header_key, header)):
        if key in _REMARK_COLUMNS:
            followers = _REMARK_COLUMNS[key]
        elif key not in followers:
            followers = frozenset()
            continue
        found.add(index)
    return found


def header_texts(cells: SheetCells, position: int) -> list[str]:
    """Return the texts of the cells of a header row with single spaces, empty for columns that
    xlbridge added."""
    values = cells.row(position)
    remarks = remark_columns(values)
    texts = (" ".join(display(value).split()) for value in values)
    return ["" if n in remarks else text for n, text in enumerate(texts)]


def _finding(
    code: str, row: int, column: str, cell: str | None, details: Mapping[str, object]
) -> Finding:
    return Finding(CATALOGUE[code], row=row, column=column, cell=cell, details=details)


_EXPORTED = re.compile(r"[a-z][A-Z]|\((?:nome|name)\)$")
"""Part of the name of a field of the interface that no title has, or the end of a column of names
beside codes."""


def _header_finding(code: str, row: int, cell: str, column: str, header: str) -> Finding:
    return _finding(code, row, column, cell, {"header": quoted(header), "column": column})


_SEPARATORS = ";\t,|"
_MIN_JOINED = 2


def joined_columns(cells: SheetCells, resource: Resource) -> tuple[int, Finding] | None:
    """Return the number of names in the first cell that names all required columns, and its
    finding; None if there is no such cell."""
    names = resource.headers
    for position in searched_rows(cells):
        for index, text in enumerate(cells.row(position)):
            for separator in _SEPARATORS if isinstance(text, str) else ():
                parts = (header_key(part.strip(' "')) for part in str(text).split(separator))
                known = {names[part] for part in parts if part in names}
                if len(known) >= _MIN_JOINED and known.issuperset(resource.required):
                    cell = cell_address(position + 1, cells.first_column + index)
                    details = {"separator": quoted(separator)}
                    kind = CATALOGUE["columns-joined"]
                    return len(known), Finding(kind, position + 1, cell=cell, details=details)
    return None


def repeated_headers(cells: SheetCells, header_row: int, indexes: Iterable[int]) -> list[int]:
    """Return Excel's numbers of the rows in which each of the columns repeats its header."""
    columns = [cells.columns[index] for index in indexes]
    if not columns:
        return []
    names = [column.value(header_row - 1) for column in columns]
    fewest_texts = min(columns, key=lambda column: len(column.texts))
    wanted = fewest_texts.value(header_row - 1)
    indexes = [index for index, text in enumerate(fewest_texts.texts) if text == wanted]
    is_text = np.frombuffer(fewest_texts.kinds, dtype=np.uint8) == CellKind.TEXT
    is_wanted = is_text & np.isin(np.frombuffer(fewest_texts.content, dtype=np.int64), indexes)
    candidates = (np.flatnonzero(is_wanted[header_row:]) + header_row + 1).tolist()
    return [row for row in candidates if [c.value(row - 1) for c in columns] == names]


def outdated_template(
    fingerprint: str | None, resource: Resource, cells: SheetCells, position: int
) -> list[Finding]:
    """Return the finding that a workbook's template is outdated, with the changes of columns.

    ``position`` is the header's. Without a fingerprint of the resource there is no finding.
    """
    found = Fingerprint.parse(fingerprint)
    if found is None or found.resource != resource.name:
        return []
    if str(replace(found, listed=())) == resource.fingerprint:
        return []
    present = set(map(header_key, cells.row(position)))
    renamed, changes = set[str](), list[Text]()
    for old, new in resource.column_changes_since(found.layout).items():
        if header_key(old) not in present:
            continue
        if new is None:
            text = Text(pt="{old} não existe mais", en="{old} no longer exists").format(old=old)
        else:
            text = Text(pt="{old} agora é {new}", en="{old} is now {new}").format(old=old, new=new)
            renamed.add(new)
        changes.append(text)
    for column in resource.columns:
        names = map(header_key, (column.name, column.title.pt, column.title.en))
        if present.isdisjoint(names) and column.name not in renamed:
            changes.append(Text(pt="{name} é nova", en="{name} is new").format(name=column.name))
    details = {
        "resource": resource.name,
        "found": found.layout,
        "current": resource.layout,
        "changes": joined(changes)
        if changes
        else Text(pt="nenhuma coluna desta planilha mudou", en="no column of this sheet changed"),
    }
    return [Finding(CATALOGUE["template-outdated"], row=position + 1, details=details)]
