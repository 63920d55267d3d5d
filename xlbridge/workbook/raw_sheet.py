"""What only the raw XML of a sheet shows."""

from dataclasses import dataclass, field

from xlbridge.workbook.layout_marks import LayoutMarks

CellPlace = tuple[int, int]
"""A cell: Excel's row number and the zero-based column."""


@dataclass(slots=True)
class RawSheet:
    """What the raw XML of a sheet shows and a parser of its values would not.

    ``errors`` maps a cell to the error that it displays; ``unvalued`` are cells whose formula has
    no stored result. ``percents`` are cells shown as a percentage, ``padded`` those shown with
    leading zeros, to so many digits. ``counts_from_1904`` tells how the workbook counts days.
    """

    errors: dict[CellPlace, str] = field(default_factory=dict)
    unvalued: set[CellPlace] = field(default_factory=set)
    percents: set[CellPlace] = field(default_factory=set)
    padded: dict[CellPlace, int] = field(default_factory=dict)
    layout: LayoutMarks = field(default_factory=LayoutMarks)
    counts_from_1904: bool = False
