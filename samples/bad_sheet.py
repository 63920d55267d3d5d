"""Structure of the bad samples: the replaced cells and their contents."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class ErrorCell:
    """A cell that shows one of Excel's errors."""

    shown: str


@dataclass(frozen=True, slots=True)
class UncalculatedFormula:
    """A formula without a stored result."""

    formula: str


@dataclass(frozen=True, slots=True)
class CopyOf:
    """The content of the same column in another row."""

    row: int


@dataclass(frozen=True, slots=True)
class Damage:
    """A replaced cell. ``row`` counts records from 1; a code of None is harmless."""

    row: int
    column: str
    content: Any
    code: str | None


@dataclass(frozen=True, slots=True)
class BadSheet:
    """A bad sample: position of its table and its bad cells.

    ``blank_before`` lists the records with a blank row above. ``renamed`` changes headers,
    ``added`` appends columns; ``layout`` lists the findings of the header by column. ``noticed``
    are findings of unchanged cells: record, column and code. ``children`` are the child sheets,
    whose records are all items in order.
    """

    sheet: str
    title: str | None
    header_row: int
    first_column: int
    blank_before: tuple[int, ...]
    damages: tuple[Damage, ...]
    renamed: Mapping[str, str] = field(default_factory=dict)
    added: tuple[str, ...] = ()
    layout: Mapping[str, str] = field(default_factory=dict)
    noticed: tuple[tuple[int, str, str], ...] = ()
    children: Mapping[str, "BadSheet"] = field(default_factory=dict)
