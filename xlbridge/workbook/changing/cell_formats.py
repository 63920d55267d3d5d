"""How changed cells are shown: the style that a cell has, with another number format if need be."""

import re

from xlbridge.workbook.changing.looks import Looks
from xlbridge.workbook.reading.number_formats import factor, format_of, shows_moment

_GENERAL, _DATE, _TEXT = 0, 14, 49
_DATES = frozenset({14, 15, 16, 17, 22})
_LITERAL = re.compile(r'"[^"]*"|\\.|\[[^\]]*\]')


class CellFormats:
    """The cell styles of a workbook, by their index as cells carry it."""

    def __init__(self, looks: Looks) -> None:
        self._looks = looks
        self._made: dict[tuple[int, int], int] = {}

    def for_date(self, style: int) -> int:
        """Return the style in which a date is shown as one."""
        return style if self._shows_date(style) else self._with(style, _DATE)

    def for_number(self, style: int) -> int:
        """Return the style in which a number is taken, and seen, for no other value."""
        code = format_of(*map(str, self._looks.number_format(style)))
        is_other = self._shows_text(style) or shows_moment(code) or factor(code) != 1
        return self._with(style, _GENERAL) if is_other else style

    def for_text(self, style: int) -> int:
        """Return the style in which digits stay text when they are typed again."""
        return style if self._shows_text(style) else self._with(style, _TEXT)

    def _shows_date(self, style: int) -> bool:
        number, code = self._looks.number_format(style)
        told = _LITERAL.sub("", code).lower()
        return number in _DATES or ("d" in told and "y" in told)

    def _shows_text(self, style: int) -> bool:
        number, code = self._looks.number_format(style)
        return number == _TEXT or code == "@"

    def _with(self, style: int, number: int) -> int:
        key = style, number
        if key not in self._made:
            self._made[key] = self._looks.with_number_format(style, number)
        return self._made[key]
