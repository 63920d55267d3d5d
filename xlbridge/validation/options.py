"""Options for parsing text dates and numbers; None leaves the convention to the texts of each
column.
"""

from dataclasses import dataclass
from typing import Literal

DateOrder = Literal["dmy", "mdy"]
NumberStyle = Literal["pt", "en"]


@dataclass(frozen=True, slots=True)
class ParseOptions:
    """What the user declared; None leaves it to the evidence of each column.

    ``dates``: the order of day and month in text dates. ``numbers``: ``pt`` for 1.234,56,
    ``en`` for 1,234.56.
    """

    dates: DateOrder | None = None
    numbers: NumberStyle | None = None
