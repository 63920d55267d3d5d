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
"""Words that many columns are called by: the other words tell which of them is meant."""
_ABBREVIATIONS = {
    "cli": "cliente",
    "cod": "codigo",
    "doc": "documento",
    "dt": "data",
    "forn": "fornecedor",
    "hist": "historico",
    "nr": "numero",
    "nro": "numero",
    "num": "numero",
    "pagto": "pagamento",
    "pgto": "pagamento",
    "tel": "telefone",
    "vcto": "vencimento",
    "vencto": "vencimento",
    "vl": "valor",
    "vlr": "valor",
}
_LONG_WORD = 9
_SHORT_WORD = 3
_LONG_TEXT = 8
_MOST_TYPOS = 2

_Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HeaderMatch:
    """The column that a header means; ``surely`` where it is only written otherwise."""

    column: str
    surely: bool


@dataclass(frozen=True, slots=True)
class _Spelling:
    """A name of a column: its words, and its letters alone.

    In English, what the words tell more about stands last.
    """

    column: str
    words: _Words
    letters: str
    general_first: bool = True


class HeaderMatcher:
    """Tells which of the columns that a sheet lacks its strange headers mean."""

    def __init__(self, resource: Resource, lacking: Iterable[str]) -> None:
        self._resource = resource
        self._lacking = frozenset(lacking)
        columns = [resource.by_name[name] for name in sorted(self._lacking)]
        self._spellings = [s for column in columns for s in _spellings(column)]

    def of(self, header: str) -> HeaderMatch | None:
        """Return the one column that a header means, None where it means none or more than one."""
        header = repair_mojibake(header) or header
        words = header_words(strip_invisible(_UNIT.sub("", header))[0])
        if not words:
            return None
        near = [(s.column, slips) for s in self._spellings if (slips := _typos(words, s)) >= 0]
        fewest = min((slips for _, slips in near), default=0)
        misspelt = {column for column, slips in near if slips == fewest}
        if misspelt:
            return HeaderMatch(misspelt.pop(), surely=True) if len(misspelt) == 1 else None
        parts = {s.column for s in self._spellings if _is_part(words, s)} or self._general(words)
        return HeaderMatch(parts.pop(), surely=False) if len(parts) == 1 else None

    def _general(self, words: _Words) -> set[str]:
        """Return the one column that is called so, or the amount of those that are."""
        if len(words) > 1 or words[0] not in _GENERIC_WORDS:
            return set()
        called = {
            column.name
            for column in self._resource.columns
            if any(s.general_first and s.words[:1] == words for s in _spellings(column))
        }
        amount = self._resource.totals.amount
        meant = {amount} if len(called) > 1 and amount in called else called
        return meant & self._lacking if len(meant) == 1 else set()


def _spellings(column: Column) -> Sequence[_Spelling]:
    named = ((column.name, True), (column.title.pt, True), (column.title.en, False))
    return [
        _Spelling(
            column.name, header_words(name), normalize_header(name).replace(" ", ""), general_first
        )
        for name, general_first in named
    ]


def header_words(text: str) -> _Words:
    """Split a header into its words: plain, whole, and without those that only join others."""
    text = _INITIALS.sub(lambda found: found[0].replace(".", ""), text.replace("R$", ""))
    bare = strip_accents(_NUMBER_SIGN.sub("numero ", text))
    words = (word.casefold() for word in _WORD.findall(bare))
    return tuple(_ABBREVIATIONS.get(word, word) for word in words if word not in _STOP_WORDS)


def _typos(words: _Words, spelling: _Spelling) -> int:
    """Return with how many slips of the keys words are written for a name; -1 for too many.

    Each word must be nearly the name's: one that is another word means another thing.
    """
    if len(words) == len(spelling.words):
        slips = [
            _word_typos(word, meant) for word, meant in zip(words, spelling.words, strict=True)
        ]
        return -1 if -1 in slips else sum(slips)
    if len(words) == 1 and len(words[0]) >= _LONG_TEXT:
        return _distance_within(words[0], spelling.letters, _MOST_TYPOS)
    return -1


def _word_typos(word: str, meant: str) -> int:
    shorter = min(len(word), len(meant))
    if shorter <= _SHORT_WORD:
        return 0 if word == meant else -1
    return _distance_within(word, meant, _MOST_TYPOS if shorter >= _LONG_WORD else 1)


def _distance_within(word: str, meant: str, most: int) -> int:
    # Late: most headers are spelled right.
    from rapidfuzz.distance import OSA

    slips = OSA.distance(word, meant, score_cutoff=most)
    return slips if slips <= most else -1


def _is_part(words: _Words, spelling: _Spelling) -> bool:
    """Return whether a name begins with the words, once what is general is left out of both.

    "Vencimento" is a part of "data de vencimento"; "código do cliente" is none of "código do tipo
    de cliente", which is another thing.
    """
    telling = tuple(word for word in words if word not in _GENERIC_WORDS)
    whole = tuple(word for word in spelling.words if word not in _GENERIC_WORDS)
    compared = whole[: len(telling)] if spelling.general_first else whole
    if not telling or len(telling) != len(compared):
        return False
    near = (_word_typos(word, meant) >= 0 for word, meant in zip(telling, compared, strict=True))
    return all(near) and set(words) - set(telling) <= set(spelling.words)


def header_key(header: object) -> str:
    """Return a header cell's text as it is compared: plain, and without what cannot be seen."""
    return normalize_header(strip_invisible(header)[0]) if isinstance(header, str) else ""
