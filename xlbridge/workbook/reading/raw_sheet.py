"""What only the raw XML of a sheet shows."""

from dataclasses import dataclass, field

from xlbridge.workbook.reading.layout_marks import LayoutMarks

CellPlace = tuple[int, int]
"""A cell: Excel's row number and the zero-based column."""


@dataclass(slots=True)
class RawSheet:
    """What the raw XML of a sheet shows and a parser of its values would not.

    ``errors`` maps a cell to the error that it displays; ``unvalued`` are cells whose formula has
    no stored result. ``scaled`` maps a cell to how many times its number it shows: 100 times as a
    percentage. ``part`` is the name of the sheet's part, ``formats`` are the number formats of the
    workbook's styles that may show a number as something else. ``counts_from_1904`` tells how the
    workbook counts days.
    """

    errors: dict[CellPlace, str] = field(default_factory=dict)
    unvalued: set[CellPlace] = field(default_factory=set)
    scaled: dict[CellPlace, float] = field(default_factory=dict)
    layout: LayoutMarks = field(default_factory=LayoutMarks)
    part: str = ""
    formats: dict[int, str] = field(default_factory=dict)
    counts_from_1904: bool = False
