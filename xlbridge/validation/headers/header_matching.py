"""Fuzzy matching of headers to columns, word by word: typos, abbreviations and partial names."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xlbridge.resources import Column, Resource, normalize_header, strip_accents
from xlbridge.validation.cells.text import repair_mojibake, strip_invisible

_UNIT = re.compile(r"\s*\([^()]*\)\s*\**\s*$")
_NUMBER_SIGN = re.compile(r"\bn(?:\.?[º°]\.?|o?\.)", re.IGNORECASE)
_INITIALS = re.compile(r"\b(?:\w\.)+\w\b\.?")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
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
        near = [(s.column, typos) for s in self._spellings if (typos := _typos(words, s)) >= 0]
        fewest = min((typos for _, typos in near), default=0)
        misspelt = {column for column, typos in near if typos == fewest}
        if misspelt:
            return HeaderMatch(misspelt.pop(), is_certain=True) if len(misspelt) == 1 else None
        parts = {s.column for s in self._spellings if _is_part(words, s)} or self._generic(words)
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
    words = (word.casefold() for word in _WORD.findall(bare))
    return tuple(_ABBREVIATIONS.get(word, word) for word in words if word not in _STOP_WORDS)


def _typos(words: _Words, spelling: _Spelling) -> int:
    """Count the typos that distinguish words from a name, -1 for too many.

    Each word must be close to the name's: another word means something else.
    """
    if len(words) == len(spelling.words):
        typos = [_word_typos(word, name) for word, name in zip(words, spelling.words, strict=True)]
        return -1 if -1 in typos else sum(typos)
    if len(words) == 1 and len(words[0]) >= _LONG_TEXT:
        return _distance_within(words[0], spelling.letters, _MAX_TYPOS)
    return -1


def _word_typos(word: str, expected: str) -> int:
    shorter = min(len(word), len(expected))
    if shorter <= _SHORT_WORD:
        return 0 if word == expected else -1
    return _distance_within(word, expected, _MAX_TYPOS if shorter >= _LONG_WORD else 1)


def _distance_within(word: str, expected: str, limit: int) -> int:
    # Late: most headers are spelled right.
    from rapidfuzz.distance import OSA

    typos = OSA.distance(word, expected, score_cutoff=limit)
    return typos if typos <= limit else -1


def _is_part(words: _Words, spelling: _Spelling) -> bool:
    """Return whether a name begins with the words, without generic words in either.

    "Vencimento" is part of "data de vencimento"; "código do cliente" is not part of "código do
    tipo de cliente", which is something else.
    """
    specific = tuple(word for word in words if word not in _GENERIC_WORDS)
    name = tuple(word for word in spelling.words if word not in _GENERIC_WORDS)
    compared = name[: len(specific)] if spelling.general_first else name
    if not specific or len(specific) != len(compared):
        return False
    near = (_word_typos(word, other) >= 0 for word, other in zip(specific, compared, strict=True))
    return all(near) and set(words) - set(specific) <= set(spelling.words)


def header_key(header: object) -> str:
    """Return the text of a header cell for comparisons: normalized, without invisible characters,
    empty if it is not a text."""
    return normalize_header(strip_invisible(header)[0]) if isinstance(header, str) else ""
