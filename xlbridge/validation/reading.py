"""How the text in a sheet is to be understood where it could be understood in two ways."""

from dataclasses import dataclass
from typing import Literal

DateOrder = Literal["dmy", "mdy"]
NumberStyle = Literal["pt", "en"]


@dataclass(frozen=True, slots=True)
class Reading:
    """What the user declared; None leaves it to the evidence of each column.

    ``dates``: the order of day and month in text dates. ``numbers``: ``pt`` for 1.234,56,
    ``en`` for 1,234.56.
    """

    dates: DateOrder | None = None
    numbers: NumberStyle | None = None
