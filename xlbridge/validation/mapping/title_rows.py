"""Rows of titles in foreign sheets: which of them are read, by the words of a column, and which of
two columns has their amounts, one for what comes in and one for what goes out; due dates by the
day of a month."""

from collections.abc import Mapping, Sequence

from xlbridge.validation.mapping.column_fit import ForeignColumn
from xlbridge.validation.mapping.header_names import PARTIES, mapping_words, says, vocabulary
from xlbridge.validation.mapping.mapping_file import TO_FILL_IN, value_key

_MOST_OF_ROWS, _BOTH_SIDES = 0.9, 1.02
_AMOUNT_WORDS = frozenset({"valor", "total", "r"})
_DAY, _DUE = frozenset({"dia"}), frozenset({"vencimento"})
_MONTHS = frozenset({"mes", "competencia", "referencia", "periodo"})


def selected_rows(foreign: ForeignColumn, party: str) -> Mapping[str, bool | str] | None:
    """Return which words of a column are those of open titles of the party, or of what comes from
    or goes to it, ``TO_FILL_IN`` for a word that is not known among those of settled titles; None
    unless most words are known and some rows are left out."""
    words, rows = {text: value_key(text) for text in foreign.texts}, vocabulary().row_words
    for kept, left in (("open", "settled"), PARTIES[party].sides):
        read, known = rows[kept], rows[kept] | rows[left]
        unknown = sum(word not in known for word in words.values())
        if unknown and (kept != "open" or 2 * unknown > len(words)):
            continue
        found: dict[str, bool | str] = {
            text: word in read if word in known else TO_FILL_IN for text, word in words.items()
        }
        if False in found.values() and len({*found.values()}) > 1:
            return found
    return None


def amounts_of_party(columns: Sequence[ForeignColumn], party: str) -> Sequence[ForeignColumn]:
    """Return the column with the amounts of the party, then the one with the others, if a sheet has
    one for what comes in and one for what goes out, of which each row fills one, and one may be
    empty; else nothing."""
    found: list[ForeignColumn] = []
    for side in PARTIES[party].sides:
        words = frozenset(
            word for text in vocabulary().row_words[side] for word in mapping_words(text)
        )
        named = []
        for one in columns:
            bare = {word.removesuffix("s") for word in mapping_words(one.header)}
            is_amount_or_empty = one.amounts or not one.cells.kinds
            if is_amount_or_empty and bare & words and bare <= words | _AMOUNT_WORDS:
                named.append(one)
        found += named if len(named) == 1 else []
    share = sum(one.amounts for one in found)
    return found if len(found) == 2 and _MOST_OF_ROWS <= share <= _BOTH_SIDES else ()


def due_day(
    columns: Sequence[ForeignColumn],
) -> tuple[ForeignColumn, ForeignColumn | None, bool] | None:
    """Return the column with the days of due dates, such as "todo dia 10", the only one with months
    if there is one, and whether that says that it is the month of the due date; None without
    days."""
    days = [
        one
        for one in columns
        if one.are_days
        and (words := mapping_words(one.header)) >= _DUE
        and (words & _DAY or any("dia" in value_key(text) for text in one.texts))
        and not says(one.header, vocabulary().amounts)
    ]
    if len(days) != 1:
        return None
    months = [one for one in columns if mapping_words(one.header) & _MONTHS and one.are_months]
    due = [one for one in months if mapping_words(one.header) >= _DUE]
    found = due if len(due) == 1 else months
    return days[0], found[0] if len(found) == 1 else None, len(due) == 1
