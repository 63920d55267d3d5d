"""Fit of a header to the name of a column: by its own names, usual words, earlier mappings."""

from collections.abc import Mapping
from dataclasses import dataclass

from xlbridge.i18n import Text
from xlbridge.resources import Column, Kind, Resource, columns_by_header
from xlbridge.validation.headers.header_matching import HeaderMatcher
from xlbridge.validation.mapping.model import header_key
from xlbridge.validation.mapping.synonyms import (
    OTHER_THINGS,
    PERSON_NAMES,
    Words,
    mapping_words,
    phrases,
    telling_words,
)

_EARLIER = Text(
    pt="um mapeamento anterior lê este cabeçalho assim",
    en="an earlier mapping reads this header so",
)
_OWN_NAME = Text(pt="é o nome da coluna", en="it is the column's own name")
_MISSPELT = Text(
    pt="é o nome da coluna escrito de outro modo", en="it is the column's name in another spelling"
)
_USUAL = Text(pt="é um nome usual da coluna", en="it is a usual name of the column")
_POSSIBLE = Text(
    pt="é um nome possível da coluna, e também de outras coisas",
    en="it is a possible name of the column, and of other things too",
)
_ALIKE = Text(
    pt="tem as palavras de um nome usual da coluna", en="it has the words of a usual name"
)
_PART = Text(pt="é parte do nome da coluna", en="it is a part of the column's name")
_NO_NAMES = frozenset({Kind.INTEGER, Kind.NUMBER, Kind.MONEY, Kind.DATE, Kind.BOOLEAN})


@dataclass(frozen=True, slots=True, order=True)
class NameFit:
    """How well a header fits a column, from 0 to 1, and why."""

    score: float
    reason: Text


class NameMatcher:
    """Tells how well headers fit the columns of a resource; ``earlier`` are those of mappings that
    a person confirmed, by their keys."""

    def __init__(self, resource: Resource, earlier: Mapping[str, str]) -> None:
        self._names = columns_by_header(resource.columns)
        self._matcher = HeaderMatcher(resource, resource.by_name)
        self._earlier = earlier

    def fit(self, header: str, column: Column) -> NameFit | None:
        """Return how well a header fits a column, None where it does not."""
        key = header_key(header)
        if self._earlier.get(key) == column.name:
            return NameFit(1.0, _EARLIER)
        if self._names.get(key) == column.name:
            return NameFit(0.98, _OWN_NAME)
        words = mapping_words(header)
        found = [
            fit for phrase, usual in phrases(column.name) if (fit := _fit(words, phrase, usual))
        ]
        match = self._matcher.of(header)
        if match is not None and match.column == column.name:
            found.append(NameFit(0.95, _MISSPELT) if match.surely else NameFit(0.62, _PART))
        best = max(found, key=lambda fit: fit.score, default=None)
        if best is None or best.score >= 0.9:
            return best
        return None if _is_other_thing(words, column) else best


def _fit(words: Words, phrase: Words, usual: bool) -> NameFit | None:
    """Compare a header with one of a column's names: the same, the same but for words such as
    "código", or with words more."""
    if words == phrase:
        return NameFit(0.92, _USUAL) if usual else NameFit(0.7, _POSSIBLE)
    telling, wanted = telling_words(words), telling_words(phrase)
    if not wanted or not telling:
        return None
    if telling == wanted:
        return NameFit(0.88, _USUAL) if usual else NameFit(0.66, _POSSIBLE)
    if wanted < telling:
        more = len(telling) - len(wanted)
        return NameFit((0.64 if usual else 0.5) - 0.05 * more, _ALIKE)
    return None


def _is_other_thing(words: Words, column: Column) -> bool:
    """Return whether a header names another thing that has to do with the column's."""
    named = set().union(*(phrase for phrase, _ in phrases(column.name)))
    if (words & OTHER_THINGS) - named:
        return True
    is_code = column.kind in _NO_NAMES or column.kind.is_code
    return is_code and bool((words & PERSON_NAMES) - named)
